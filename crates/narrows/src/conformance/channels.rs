//! Words and packets over channels.

use super::{PATIENCE, Rig, all_back, check, fill};
use crate::endpoint::{Arrival, Channel, LinkError, Node, SendError};
use crate::platform::Platform;
use crate::strategy::Strategy;

/// The channel of packets and words, and the one for the last word back.
const THERE: u16 = 1;
const BACK: u16 = 0;

/// Sends in the end.
fn sent<P: Platform>(
    node: &mut Node<P>,
    to: Channel,
    mut send: impl FnMut(&mut Node<P>) -> Result<(), SendError>,
) {
    loop {
        match send(node) {
            Ok(()) => return,
            Err(SendError::RingFull | SendError::PoolEmpty) => {
                assert_ne!(node.channel(to).wait_for_room(PATIENCE), Err(LinkError::Deadline));
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// Takes what comes in the end.
fn taken<P: Platform>(node: &mut Node<P>, from: Channel) -> Arrival {
    loop {
        if let Some(arrival) = node.channel(from).try_take().expect("up") {
            return arrival;
        }
        let deadline = PATIENCE.map(|within| node.platform().now() + within);
        node.wait_any(PATIENCE);
        let slept_through = deadline.is_some_and(|deadline| node.platform().now() >= deadline);
        assert!(!slept_through, "nothing woke this side");
    }
}

/// More than rings and pools hold of packets, read where they are, with a word behind each: nothing
/// is lost, doubled, out of order or old, though blocks are used again and again.
pub fn pressed<R: Rig>(rig: &R, strategy: Strategy) {
    const PACKETS: usize = 200;
    let size = |number: usize| [0, 3, 64, 700][number % 4];
    rig.run(
        &mut |node, link| {
            let (to, from) = (Channel { link, ring: THERE }, Channel { link, ring: BACK });
            assert_eq!(node.link(link).channels(), Ok((2, 2)), "a rig's links have two channels");
            node.set_notification(strategy.notification);
            node.channel(from).watch(true).expect("a channel");
            let mut bytes = [0; 700];
            for number in 0..PACKETS {
                let (bytes, tag) = (&mut bytes[..size(number)], number as u16);
                fill(bytes, number);
                sent(node, to, |node| {
                    node.channel(to).try_send_packet(bytes, strategy.placement, tag)
                });
                sent(node, to, |node| node.channel(to).try_send_word(!(number as u64), 8, tag));
            }
            let last = taken(node, from);
            assert_eq!((last.word, last.len), (PACKETS as u64, 4), "{strategy}");
            all_back(node, link, strategy);
            assert_eq!(node.channel(to).unsent(), 0);
        },
        &mut |node, link| {
            let (to, from) = (Channel { link, ring: BACK }, Channel { link, ring: THERE });
            node.set_notification(strategy.notification);
            node.channel(from).watch(true).expect("a channel");
            let mut bytes = [0; 700];
            for number in 0..PACKETS {
                let packet = taken(node, from);
                assert_eq!((packet.len as usize, packet.tag), (size(number), number as u16));
                let block = packet.block.expect("a packet is in a block");
                let bytes = &mut bytes[..size(number)];
                node.channel(from).read(block, 0, bytes).expect("inside");
                check(bytes, number, "packet");
                node.channel(from).release(block);
                let word = taken(node, from);
                assert_eq!((word.word, word.block), (!(number as u64), None), "{strategy}");
            }
            sent(node, to, |node| node.channel(to).try_send_word(PACKETS as u64, 4, 0));
            // What is held back for a batch goes back.
            node.arm();
            node.disarm();
        },
    );
}
