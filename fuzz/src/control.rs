//! Control messages: what a peer's stack may say to this one's, whatever was asked before.

use narrows::endpoint::Address;
use narrows::strategy::Strategy;

use crate::common::world::name;
use crate::input::Input;
use crate::victim::Victim;

/// Descriptor words of a control message.
fn words(len: usize, source: u16, target: u16, tag: u16) -> [u32; 3] {
    let ports = u32::from(source) << 16 | u32::from(target);
    [(len as u32) << 8 | 4 << 5, ports, 0xffff << 16 | u32::from(tag)]
}

/// Each step is a byte: what the node does, or that its peer says something.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut victim = Victim::new(Strategy::default());
    let mut begun = Vec::new();
    while !input.is_empty() {
        let (link, node) = (victim.link, &mut victim.node);
        match input.byte() % 8 {
            0..=3 => {
                let (source, target) = (input.byte().into(), input.byte().into());
                let (tag, bytes) = (u16::from(input.byte()), input.counted());
                // As many as fit count: a longer one is for the other targets.
                let bytes = &bytes[..bytes.len().min(48)];
                victim.publish(words(bytes.len(), source, target, tag), bytes);
                victim.serve();
            }
            4 => begun.extend(node.begin_flow(link, &name("long"), Strategy::default(), 64)),
            5 => {
                let to = Address { link, port: input.byte().into() };
                begun.extend(node.begin_flow_to(to, Strategy::default()));
            }
            6 => {
                let flow = begun.pop().unwrap_or(victim.flows[0]);
                let _ = node.flow(flow).is_ready();
                let _ = node.flow(flow).close();
            }
            _ => {
                let strategy = "in_place/spin/granularity=2".parse().expect("possible");
                let _ =
                    node.flow(victim.flows[usize::from(input.byte() % 2)]).begin_switch(strategy);
                node.poll();
            }
        }
    }
    victim.check_other_link();
}
