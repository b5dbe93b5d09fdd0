//! What the stack executes for one message, or packet, of 48 bytes, for one word of a channel, and
//! for one LINX signal: `ci/instructions` runs this under callgrind and reads each function's
//! instructions. Run by itself it only checks that messages arrive.

use std::hint::black_box;
use std::time::Duration;

use narrows::endpoint::{Address, Channel, Message, SendError};
use narrows::memory::Layout;
use narrows::strategy::Placement;
use narrows_host::linx::{self, Endpoint, Select, Signal, Spid};
use narrows_host::{Node, Options};

const WITHIN: Option<Duration> = Some(Duration::from_secs(60));
/// Messages; `ci/instructions` divides by it. So few that no look sees to the rendezvous as well,
/// which would take a number of instructions that depends on the time.
const MESSAGES: u32 = 120;
const PORT: u16 = 1;
/// Messages at a time where they are sent and received together; a part of [`MESSAGES`].
const TOGETHER: usize = 30;

#[inline(never)]
fn send(node: &mut Node, to: Address, bytes: &[u8; 48]) -> Result<(), SendError> {
    node.try_send(PORT, to, bytes)
}

#[inline(never)]
fn receive(node: &mut Node, bytes: &mut [u8; 48]) -> bool {
    matches!(node.try_receive_into(PORT, bytes), Ok(Some(_)))
}

#[inline(never)]
fn poll_empty(node: &mut Node, bytes: &mut [u8; 48]) -> bool {
    node.try_receive_into(PORT, bytes) == Ok(None)
}

/// A message that does not fit the first cache line of a slot.
#[inline(never)]
fn send_two_lines(node: &mut Node, to: Address, bytes: &[u8; 64]) -> bool {
    node.try_send(PORT, to, bytes).is_ok()
}

#[inline(never)]
fn receive_two_lines(node: &mut Node, bytes: &mut [u8; 64]) -> bool {
    matches!(node.try_receive_into(PORT, bytes), Ok(Some(_)))
}

/// A message that does not fit a slot.
#[inline(never)]
fn send_block(node: &mut Node, to: Address, bytes: &[u8; 128]) -> bool {
    node.try_send(PORT, to, bytes).is_ok()
}

#[inline(never)]
fn receive_block(node: &mut Node, bytes: &mut [u8; 128]) -> bool {
    matches!(node.try_receive_into(PORT, bytes), Ok(Some(_)))
}

#[inline(never)]
fn send_all(node: &mut Node, to: Address, messages: &mut [Message<'_>; TOGETHER]) -> bool {
    matches!(node.send_all(PORT, to, messages, WITHIN), Ok(TOGETHER))
}

#[inline(never)]
fn receive_all(node: &mut Node, bytes: &mut [u8; 48], sum: &mut u64) -> bool {
    let received = node.try_receive_all(PORT, bytes, |_, bytes| {
        *sum += u64::from(*black_box(bytes).first().unwrap_or(&0));
    });
    matches!(received, Ok(TOGETHER))
}

#[inline(never)]
fn send_word(node: &mut Node, to: Channel, value: u64) -> bool {
    node.channel(to).try_send_word(value, 8, 0).is_ok()
}

#[inline(never)]
fn take_word(node: &mut Node, from: Channel, value: &mut u64) -> bool {
    match node.channel(from).try_take() {
        Ok(Some(arrival)) => {
            *value = arrival.word;
            true
        }
        _ => false,
    }
}

#[inline(never)]
fn take_nothing(node: &mut Node, from: Channel) -> bool {
    matches!(node.channel(from).try_take(), Ok(None))
}

#[inline(never)]
fn send_packet(node: &mut Node, to: Channel, bytes: &[u8]) -> bool {
    node.channel(to).try_send_packet(bytes, Placement::External, 0).is_ok()
}

#[inline(never)]
fn take_packet(node: &mut Node, from: Channel) -> bool {
    let Ok(Some(arrival)) = node.channel(from).try_take() else { return false };
    let Some(block) = arrival.block else { return false };
    node.channel(from).release(block);
    true
}

/// A signal that fits a slot.
#[inline(never)]
fn send_signal(from: &Endpoint, to: Spid, signal: Signal) -> bool {
    from.send(to, signal).is_ok()
}

#[inline(never)]
fn receive_signal(to: &Endpoint, wanted: &Select) -> Option<Signal> {
    to.receive(wanted, WITHIN)
}

/// A signal that travels in a block.
#[inline(never)]
fn send_long_signal(from: &Endpoint, to: Spid, signal: Signal) -> bool {
    signal.bytes().len() == 128 && from.send(to, signal).is_ok()
}

#[inline(never)]
fn receive_long_signal(to: &Endpoint, wanted: &Select) -> Option<Signal> {
    to.receive(wanted, WITHIN).filter(|signal| signal.bytes().len() == 128)
}

/// Signals between two flat nodes.
fn signals(directory: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    const HUNT: u32 = 1;
    let open = |name: &str| linx::Options::new(name).directory(directory).open();
    let (sender, receiver) = (open("a")?, open("b")?);
    sender.hunt("b", Signal::with(HUNT, &[]))?;
    let found = loop {
        // Each answers the other's words in its own calls.
        if let Some(found) = sender.receive(&Select::only(&[HUNT]), Some(Duration::ZERO)) {
            break found.sender();
        }
        assert!(receiver.receive(&Select::any(), Some(Duration::ZERO)).is_none(), "nothing sent");
    };
    let any = Select::any();
    let first = |to: &Endpoint, n| loop {
        match to.receive(&any, WITHIN) {
            Some(signal) if signal.number() == n => break signal,
            other => assert!(other.is_some(), "a signal was sent"),
        }
    };
    // What each has to see to once, before what counts.
    for n in 0..MESSAGES {
        sender.send(found, Signal::with(n, &[])).map_err(|(why, _)| why)?;
        let there = first(&receiver, n);
        receiver.send(there.sender(), there).map_err(|(why, _)| why)?;
        first(&sender, n);
    }
    let pass = |bytes: &[u8], send: fn(&_, _, _) -> bool, receive: fn(&_, &_) -> Option<Signal>| {
        let mut signal = Signal::with(9, bytes);
        for _ in 0..MESSAGES / 2 {
            assert!(send(black_box(&sender), found, signal), "there is room");
            let there = receive(black_box(&receiver), black_box(&any)).expect("it was sent");
            assert!(send(black_box(&receiver), there.sender(), there), "there is room");
            signal = receive(black_box(&sender), black_box(&any)).expect("it was sent");
            assert!(signal.number() == 9 && signal.bytes()[4..] == *bytes);
        }
    };
    pass(&[7; 20], send_signal, receive_signal);
    pass(&[7; 124], send_long_signal, receive_long_signal);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let layout = Layout::standard(narrows_host::LINE)?.with_channels(2, 64)?;
    let open = |name| Options::new(name).directory(directory.path()).layout(layout).node();
    let mut sender = open("sender")?;
    let mut receiver = open("receiver")?;
    sender.open(PORT)?;
    receiver.open(PORT)?;
    // The receiver answers the sender's hunt in a thread of its own.
    let receiver = std::thread::spawn(move || {
        let met = receiver.hunt(&"sender".parse().expect("a name"), WITHIN);
        met.map(|_| receiver)
    });
    let link = sender.hunt(&"receiver".parse()?, WITHIN)?;
    let mut receiver = receiver.join().map_err(|_| "the receiver panicked")??;
    let to = Address { link, port: PORT };

    let mut got = [0; 48];
    // The look that sees to everything, before those that count.
    assert!(receiver.try_receive_into(PORT, &mut got)?.is_none(), "nothing was sent");
    for n in 0..MESSAGES {
        let sent = black_box([n as u8; 48]);
        assert!(poll_empty(black_box(&mut receiver), black_box(&mut got)), "nothing was sent");
        assert_eq!(send(black_box(&mut sender), black_box(to), &sent), Ok(()), "there is room");
        assert!(receive(black_box(&mut receiver), black_box(&mut got)), "a message was sent");
        assert_eq!(sent, got);
    }
    for n in 0..MESSAGES {
        let (sent, mut got) = (black_box([n as u8; 64]), [0; 64]);
        assert!(send_two_lines(black_box(&mut sender), black_box(to), &sent), "there is room");
        assert!(
            receive_two_lines(black_box(&mut receiver), black_box(&mut got)),
            "a message was sent"
        );
        assert_eq!(got, sent);
    }
    for n in 0..MESSAGES {
        let (sent, mut got) = (black_box([n as u8; 128]), [0; 128]);
        assert!(send_block(black_box(&mut sender), black_box(to), &sent), "there is room");
        assert!(receive_block(black_box(&mut receiver), black_box(&mut got)), "a message was sent");
        assert_eq!(sent, got);
    }
    for _ in (0..MESSAGES).step_by(TOGETHER) {
        let payloads: [[u8; 48]; TOGETHER] = std::array::from_fn(|n| [n as u8; 48]);
        let mut messages = payloads.each_ref().map(Message::from);
        let mut sum = 0;
        assert!(send_all(black_box(&mut sender), to, black_box(&mut messages)), "there is room");
        assert!(receive_all(black_box(&mut receiver), black_box(&mut got), &mut sum), "all there");
        assert_eq!(sum, (0..TOGETHER as u64).sum());
    }
    let to = |ring| Channel { link, ring };
    let back = receiver.links().next().ok_or("there is no link")?.0;
    let from = |ring| Channel { link: back, ring };
    for n in 0..MESSAGES {
        let mut value = 0;
        assert!(take_nothing(black_box(&mut receiver), black_box(from(1))), "nothing was sent");
        assert!(send_word(black_box(&mut sender), black_box(to(1)), u64::from(n)), "there is room");
        assert!(take_word(black_box(&mut receiver), from(1), &mut value), "a word was sent");
        assert_eq!(value, u64::from(n));
        let sent = black_box([n as u8; 48]);
        assert!(send_packet(black_box(&mut sender), black_box(to(0)), &sent), "there is room");
        assert!(take_packet(black_box(&mut receiver), black_box(from(0))), "a packet was sent");
    }
    signals(directory.path())?;
    println!("{MESSAGES} messages of 48 bytes sent and received");
    Ok(())
}
