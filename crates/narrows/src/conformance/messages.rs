//! Messages between ports, over flows.

use core::time::Duration;

use super::{PATIENCE, Rig, SIZES, all_back, check, fill};
use crate::endpoint::{Address, FlowError, FlowId, Message, Node, Select, What};
use crate::platform::Platform;
use crate::strategy::Strategy;

const CALLER: u16 = 1;
const CALLEE: u16 = 2;

/// Opens a flow to a port that the other side may be about to open.
fn open<P: Platform>(node: &mut Node<P>, to: Address, strategy: Strategy) -> FlowId {
    for _ in 0..20_000 {
        match node.open_flow_to(to, strategy, PATIENCE) {
            Err(FlowError::NotFound) => node.wait_any(Some(Duration::from_millis(1))),
            opened => return opened.expect("a flow"),
        }
    }
    panic!("{strategy}: the other side did not open port {}", to.port);
}

/// What is held back for a batch goes back before a wait, and nothing waits on this side any more.
fn give_back<P: Platform>(node: &mut Node<P>) {
    node.arm();
    node.disarm();
}

/// Every size goes there and back, with its content, its port, its priority and its tag.
pub fn there_and_back<R: Rig>(rig: &R, strategy: Strategy) {
    let mut sent = [0; 65536];
    let mut echoed = [0; 65536];
    rig.run(
        &mut |node, link| {
            node.open(CALLER).expect("a free port");
            let to = Address { link, port: CALLEE };
            let flow = open(node, to, strategy);
            for (number, size) in SIZES.into_iter().enumerate() {
                let bytes = &mut sent[..size];
                fill(bytes, number);
                node.flow(flow)
                    .send(CALLER, Message::new(&*bytes).priority(5).tag(number as u16), PATIENCE)
                    .expect("sent");
                bytes.fill(0);
                let back = node.receive_into(CALLER, bytes, PATIENCE).expect("an answer");
                assert_eq!((back.what, back.len), (What::Message, size), "{strategy}");
                assert_eq!((back.priority, back.tag), (5, number as u16), "{strategy}");
                assert_eq!(back.from, to, "{strategy}");
                check(bytes, number, "there and back");
            }
            all_back(node, link, strategy);
        },
        &mut |node, link| {
            node.open(CALLEE).expect("a free port");
            let back = Address { link, port: CALLER };
            let flow = open(node, back, strategy);
            for _ in SIZES {
                let got = node.receive(CALLEE, &Select::default(), PATIENCE).expect("a message");
                let bytes = &mut echoed[..got.len];
                assert!(node.read(&got, 0, bytes).is_ok(), "{strategy}");
                let (priority, tag) = (got.priority, got.tag);
                node.release(got);
                node.flow(flow)
                    .send(CALLEE, Message::new(&*bytes).priority(priority).tag(tag), PATIENCE)
                    .expect("sent");
            }
            give_back(node);
        },
    );
}

/// More messages than rings, pools and inboxes hold: the sender is held back, nothing is lost,
/// doubled or out of order.
pub fn pressed<R: Rig>(rig: &R, strategy: Strategy) {
    const MESSAGES: usize = 1000;
    let size = |number: usize| [8, 40, 300, 5000][number % 4];
    rig.run(
        &mut |node, link| {
            node.open(CALLER).expect("a free port");
            let to = Address { link, port: CALLEE };
            let flow = open(node, to, strategy);
            let mut bytes = [0; 5000];
            for number in 0..MESSAGES {
                let bytes = &mut bytes[..size(number)];
                fill(bytes, number);
                let tag = number as u16;
                node.flow(flow)
                    .send(CALLER, Message::new(&*bytes).tag(tag), PATIENCE)
                    .expect("sent in the end");
            }
            let done = node.receive_into(CALLER, &mut [], PATIENCE).expect("the last word");
            assert_eq!(done.tag, MESSAGES as u16, "{strategy}");
            all_back(node, link, strategy);
        },
        &mut |node, link| {
            node.open(CALLEE).expect("a free port");
            let mut bytes = [0; 5000];
            for number in 0..MESSAGES {
                let got = node.receive_into(CALLEE, &mut bytes, PATIENCE).expect("a message");
                let expected = (number as u16, size(number));
                assert_eq!((got.tag, got.len), expected, "{strategy}");
                check(&bytes[..got.len], number, "pressed");
            }
            let back = Address { link, port: CALLER };
            node.send(CALLEE, back, Message::new(b"").priority(7).tag(MESSAGES as u16), PATIENCE)
                .expect("sent");
            give_back(node);
        },
    );
}
