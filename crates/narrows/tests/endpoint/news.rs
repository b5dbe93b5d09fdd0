//! News of the rendezvous without end, beside messages and deadlines.

use std::time::Duration;

use crate::common::ground::inside;
use crate::common::world::{World, name};
use narrows::endpoint::{Address, Limits, PortError, Select};
use narrows::link::LinkId;
use narrows::platform::Platform as _;

/// Pieces of news that a node may take before it looks at the rings.
const FEW: usize = 16;
/// Those it may take besides while it looks for a moment, before its time begins to count, and
/// after.
const MOST: u32 = 40;

#[test]
fn a_message_comes_before_most_of_those_who_wait_to_link() {
    inside(|| {
        const WAITING: usize = 30;
        let world = World::new();
        let limits = Limits { links: WAITING + 2, ..Limits::default() };
        let mut hub = world.node("hub", limits);
        hub.open(1).expect("a port");
        let mut honest = world.node("honest", Limits::default());
        honest.open(1).expect("a port");
        let link = honest.hunt(&name("hub"), None).expect("a link");
        hub.hunt(&name("honest"), None).expect("the same");
        let peers: Vec<_> =
            (0..WAITING).map(|i| world.node(&format!("peer-{i}"), Limits::default())).collect();
        for peer in &peers {
            peer.platform().hunt(&name("hub")).expect("it begins");
        }
        honest.try_send(1, Address { link, port: 1 }, b"before all of them").expect("room");
        let message = hub.receive(1, &Select::default(), None).expect("a message");
        hub.release(message);
        let links = hub.links().count();
        assert!(links <= 1 + FEW, "{links} links were there before the message");
        // And none of them is forgotten, though the program only looks.
        for _ in 0..WAITING {
            assert_eq!(hub.try_receive(1, &Select::default()), Ok(None));
        }
        assert_eq!(hub.links().count(), 1 + WAITING);
    });
}

#[test]
fn news_without_end_puts_no_deadline_off() {
    inside(|| {
        const MUCH: u32 = 10_000;
        const SHORT: Duration = Duration::from_micros(20);
        let world = World::new();
        let mut node = world.node("a", Limits::default());
        node.open(1).expect("a port");
        let state = node.platform().state.clone();
        let mut late = |what, wait: &mut dyn FnMut(&mut narrows::endpoint::Node<_>)| {
            state.news.set(MUCH);
            wait(&mut node);
            let taken = MUCH - state.news.replace(0);
            assert!(taken <= SHORT.as_micros() as u32 + MOST, "{what}: {taken} pieces of news");
        };
        let mut buffer = [0; 8];
        late("receive_into", &mut |node| {
            assert_eq!(node.receive_into(1, &mut buffer, Some(SHORT)), Err(PortError::Deadline));
        });
        late("receive", &mut |node| {
            assert_eq!(node.receive(1, &Select::default(), Some(SHORT)), Err(PortError::Deadline));
        });
        late("hunt", &mut |node| {
            assert!(node.hunt(&name("nobody"), Some(SHORT)).is_err());
        });
        late("serve", &mut |node| _ = node.serve(&mut [], Some(SHORT)));
        late("send", &mut |node| {
            let to = Address { link: LinkId::NONE, port: 1 };
            assert!(node.send(1, to, b"to nobody", Some(SHORT)).is_err());
        });
        late("poll", &mut |node| node.poll());
        late("wait_any", &mut |node| node.wait_any(Some(SHORT)));
    });
}
