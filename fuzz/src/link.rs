//! A whole stack beside a peer that writes what it likes: descriptors, control words, blocks, and
//! raw words anywhere in its region, while the node sends, calls, serves and receives.

use std::time::Duration;

use narrows::endpoint::{Address, Message, Select};
use narrows::strategy::Strategy;

use crate::input::Input;
use crate::victim::{PORTS, Victim};

/// Strategies that take different ways through the stack.
const STRATEGIES: [&str; 8] = [
    "copy/hybrid/internal",
    "copy_lazy/spin/external",
    "copy_batched/interrupt/external",
    "single_copy/poll/internal",
    "in_place/coalesced/external/granularity=3",
    "copy_engine/interrupt/external",
    "in_place/poll/internal/callee=interrupt",
    "copy/spin/external/callee=poll/parts=3:2",
];

fn strategy(choice: u8) -> Strategy {
    STRATEGIES[usize::from(choice) % STRATEGIES.len()].parse().expect("possible")
}

/// A descriptor whose parts are of the right size, if not right.
fn plausible(input: &mut Input<'_>) -> [u32; 3] {
    let (form, len) = (input.byte(), input.byte());
    let (source, target, tag) = (input.byte(), input.byte(), input.byte());
    let kind = u32::from(form & 3) + 1;
    let ack = u32::from(form >> 2 & 3) % 3;
    let priority = u32::from(form >> 4 & 7);
    let block = if form & 0x80 == 0 { 0xffff } else { block(input) };
    [
        u32::from(len) << 8 | kind << 5 | priority << 2 | ack,
        u32::from(source) << 16 | u32::from(target),
        u32::from(block) << 16 | u32::from(tag),
    ]
}

/// The name of a block: its class in the top bits of a byte, its index below.
fn block(input: &mut Input<'_>) -> u16 {
    let byte = u16::from(input.byte());
    (byte >> 4) << 12 | byte & 15
}

/// The first byte chooses a strategy; then each step is a byte and what it asks for.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut victim = Victim::new(strategy(input.byte()));
    let mut held = Vec::new();
    let mut buffer = [0; 512];
    while !input.is_empty() {
        let (node, flows, link) = (&mut victim.node, victim.flows, victim.link);
        match input.byte() % 18 {
            0 => victim.poke(input.short(), input.word()),
            1 => {
                let words = [input.word(), input.word(), input.word()];
                victim.publish(words, input.counted());
            }
            2..=4 => victim.publish(plausible(&mut input), input.counted()),
            5 => victim.credit(input.byte() as i8),
            6 => victim.give_back(block(&mut input)),
            7 => victim.sleep(input.word(), input.byte().into()),
            8 => victim.honest_turn(),
            9 => {
                let len = usize::from(input.short()) % buffer.len();
                let to = Address { link, port: u16::from(input.byte()) };
                let _ = node.try_send(1, to, Message::new(&buffer[..len]));
            }
            10 => {
                let len = usize::from(input.short()) % buffer.len();
                let _ = node.flow(flows[1]).try_send(1, Message::new(&buffer[..len]));
            }
            11 => {
                let len = usize::from(input.byte());
                let _ = node.flow(flows[0]).start(&buffer[..len]);
                let _ = node.flow(flows[0]).flush();
            }
            12 => {
                let read = node.flow(flows[0]).complete(|completed, source| {
                    assert_eq!(completed.len, source.len());
                    let len = source.len().min(100);
                    let _ = source.read(0, &mut buffer[..len]);
                });
                let _ = read;
            }
            13 => {
                let port = 1 + u16::from(input.byte()) % PORTS;
                let got = node.try_receive(port, &Select::default()).expect("open");
                if let Some(got) = got {
                    let len = got.len.min(buffer.len());
                    let _ = node.read(&got, 0, &mut buffer[..len]);
                    held.push(got);
                }
            }
            14 => {
                if let Some(got) = held.pop() {
                    node.release(got);
                }
            }
            15 => {
                let _ = node.flow(flows[0]).begin_switch(strategy(input.byte()));
                node.poll();
            }
            16 => {
                if !node.arm() {
                    node.wait_any(Some(Duration::from_nanos(200)));
                }
                node.disarm();
            }
            _ => victim.serve(),
        }
    }
    while let Some(got) = held.pop() {
        victim.node.release(got);
    }
    victim.serve();
    victim.check_other_link();
}
