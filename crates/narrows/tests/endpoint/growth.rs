//! Tables that grow with the links, and ended links that nobody closes.

use std::rc::Rc;

use crate::common::ground::{bury, inside};
use crate::common::world::{SECOND, Side, World, name};
use narrows::endpoint::{Address, Limits, LinkError, Message, Node, Select};
use narrows::link::LinkId;
use narrows::platform::Lost;

/// Ended links that a node keeps though they left nothing.
const KEPT: usize = 8;

/// A node that has found `hub`, and the hub's link to it.
struct Guest {
    name: String,
    node: Node<Side>,
    hub: LinkId,
    link: LinkId,
}

fn hub(world: &Rc<World>, limits: Limits) -> Node<Side> {
    let mut hub = world.node("hub", limits);
    hub.open(1).expect("a port");
    hub
}

/// Has one more node link with `hub`.
fn guest(world: &Rc<World>, hub: &mut Node<Side>, number: usize) -> Guest {
    let text = format!("guest-{number}");
    let mut node = world.node(&text, Limits::default());
    node.open(1).expect("a port");
    let link = node.hunt(&name("hub"), SECOND).expect("a link");
    hub.poll();
    let found = hub.links().find(|(_, peer)| *peer == name(&text));
    Guest { name: text, node, link: found.expect("a place").0, hub: link }
}

/// Has a node die.
fn die(world: &Rc<World>, hub: &mut Node<Side>, guest: Guest) -> LinkId {
    bury(world, &guest.name, guest.node);
    hub.poll();
    guest.link
}

#[test]
fn a_node_links_with_more_peers_than_its_tables_begin_with() {
    inside(|| {
        const MANY: usize = 40;
        let world = World::new();
        let mut hub = hub(&world, Limits::default());
        let mut guests: Vec<_> = (0..MANY).map(|i| guest(&world, &mut hub, i)).collect();
        // Each can be told from the others in either direction, those before a move included.
        for (tag, guest) in guests.iter_mut().enumerate() {
            let to = Address { link: guest.hub, port: 1 };
            guest.node.try_send(1, to, Message::new(b"in").tag(tag as u16)).expect("room");
            let came = hub.receive_into(1, &mut [0; 8], SECOND).expect("a message");
            assert_eq!((came.from.link, came.tag), (guest.link, tag as u16));
            hub.try_send(1, came.from, Message::new(b"out").tag(tag as u16)).expect("room");
            let came = guest.node.receive_into(1, &mut [0; 8], SECOND).expect("an answer");
            assert_eq!(came.tag, tag as u16);
        }
    });
}

#[test]
fn without_storage_for_a_larger_table_a_peer_is_told_that_the_node_is_full() {
    inside(|| {
        // The tables of links are the first of their kind to grow beyond this.
        const ROOM: usize = 8;
        let world = World::new();
        let mut hub = hub(&world, Limits { inbox: 1, flows: 1, ..Limits::default() });
        let guests: Vec<_> = (0..ROOM).map(|i| guest(&world, &mut hub, i)).collect();
        hub.platform().state.longest.set(ROOM);
        let mut late = world.node("late", Limits::default());
        let link = late.hunt(&name("hub"), SECOND).expect("its own end comes up");
        hub.poll();
        late.poll();
        let ended = late.link(link).check();
        assert!(matches!(ended, Err(LinkError::Gone(Lost::Full | Lost::Closed))), "{ended:?}");
        assert_eq!(hub.links().count(), ROOM);
        // With storage there is a place.
        hub.platform().state.longest.set(usize::MAX);
        assert!(guest(&world, &mut hub, ROOM).node.links().count() > 0);
        assert_eq!(hub.links().count(), ROOM + 1);
        drop(guests);
    });
}

#[test]
fn of_links_that_ended_and_left_nothing_the_last_few_are_kept() {
    inside(|| {
        const MANY: usize = 30;
        let world = World::new();
        let mut hub = hub(&world, Limits::default());
        let guests: Vec<_> = (0..MANY).map(|i| guest(&world, &mut hub, i)).collect();
        let ended: Vec<_> = guests.into_iter().map(|g| die(&world, &mut hub, g)).collect();
        let (first, last) = ended.split_at(MANY - KEPT);
        for link in first {
            assert_eq!(hub.link(*link).check(), Err(LinkError::Unknown));
        }
        for link in last {
            assert_eq!(hub.link(*link).check(), Err(LinkError::Gone(Lost::Died)));
        }
    });
}

#[test]
fn a_link_that_ended_is_kept_while_it_has_something_to_take_or_to_take_back() {
    inside(|| {
        const MANY: usize = 30;
        let world = World::new();
        let mut hub = hub(&world, Limits::default());
        let mut sent = guest(&world, &mut hub, 0);
        let to = Address { link: sent.hub, port: 1 };
        sent.node.try_send(1, to, Message::new(b"last").tag(7)).expect("room");
        let sent = die(&world, &mut hub, sent);
        let untaken = guest(&world, &mut hub, 1);
        let to = Address { link: untaken.link, port: 1 };
        hub.try_send(1, to, Message::new(b"never taken")).expect("room");
        let untaken = die(&world, &mut hub, untaken);
        let others: Vec<_> = (2..MANY).map(|i| guest(&world, &mut hub, i)).collect();
        for other in others {
            die(&world, &mut hub, other);
        }
        assert_eq!(hub.link(untaken).undelivered(|_, _| ()), Ok(1));
        let last = hub.try_receive(1, &Select::default()).expect("open").expect("it waits");
        assert_eq!((last.from.link, last.tag), (sent, 7));
        hub.release(last);
    });
}

#[test]
fn ended_links_are_let_go_when_the_last_message_of_each_was_released() {
    inside(|| {
        const MANY: usize = 20;
        let world = World::new();
        let mut hub = hub(&world, Limits::default());
        let mut ended = Vec::new();
        for number in 0..MANY {
            let mut guest = guest(&world, &mut hub, number);
            let to = Address { link: guest.hub, port: 1 };
            guest.node.try_send(1, to, Message::new(b"last")).expect("room");
            ended.push(die(&world, &mut hub, guest));
        }
        let there = |hub: &mut Node<Side>| {
            ended.iter().filter(|link| hub.link(**link).peer().is_ok()).count()
        };
        assert_eq!(there(&mut hub), MANY);
        for released in 1..=MANY {
            let last = hub.try_receive(1, &Select::default()).expect("open").expect("it waits");
            assert!(hub.link(last.from.link).peer().is_ok());
            hub.release(last);
            assert_eq!(there(&mut hub), MANY - released.saturating_sub(KEPT));
        }
    });
}
