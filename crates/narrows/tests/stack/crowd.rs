//! One node with many links.

use crate::common::heap::looked;
use crate::common::world::{Side, World, name};
use narrows::endpoint::{Address, Limits, Message, Node};
use narrows::link::LinkId;
use std::rc::Rc;

const CLIENTS: usize = 160;
/// So few that a node looks at all its rings before each message.
const FEW: usize = 10;
/// A node looks at all its rings behind as many messages as it has links in 16.
const TRUSTED: usize = CLIENTS / 16;

/// A node that is a client of the server, and the link.
type Client = (Node<Side>, LinkId);

/// A server and `count` clients, each with the port 1 open.
fn crowd(count: usize) -> (Rc<World>, Node<Side>, Vec<Client>) {
    let world = World::new();
    let limits = |links| Limits { links, endpoints: 2, flows: 1, inbox: 8, longest: 64 };
    let mut server = world.node("server", limits(count));
    server.open(1).expect("free");
    let clients = (0..count).map(|number| {
        let mut client = world.node(&format!("client-{number}"), limits(1));
        client.open(1).expect("free");
        let link = client.hunt(&name("server"), None).expect("it is there");
        server.poll();
        (client, link)
    });
    let clients = clients.collect();
    (world, server, clients)
}

fn send((client, link): &mut Client, priority: u8, tag: u16) {
    let message = Message::new(b"x").priority(priority).tag(tag);
    client.try_send(1, Address { link: *link, port: 1 }, message).expect("room");
}

/// The tag of the next message.
fn next(server: &mut Node<Side>) -> Option<u16> {
    Some(server.try_receive_into(1, &mut [0; 8]).expect("open")?.tag)
}

#[test]
fn what_a_message_takes_does_not_grow_with_the_links() {
    let (_world, mut server, mut clients) = crowd(CLIENTS);
    let mut each = [0; 3];
    for looks in &mut each {
        for (tag, client) in (0..).zip(&mut clients) {
            send(client, 4, tag);
        }
        looked();
        let mut tags: Vec<u16> = std::iter::from_fn(|| next(&mut server)).collect();
        *looks = looked() / CLIENTS as u32;
        tags.sort_unstable();
        assert_eq!(tags, (0..CLIENTS as u16).collect::<Vec<_>>());
    }
    assert!(each.iter().all(|looks| *looks < CLIENTS as u32 / 3), "looks a message: {each:?}");
}

#[test]
fn links_take_turns_and_the_messages_of_each_stay_in_order() {
    let (_world, mut server, mut clients) = crowd(FEW);
    for round in 0..3 {
        for (number, client) in (0..).zip(&mut clients) {
            send(client, 4, 10 * round + number);
        }
    }
    let tags: Vec<u16> = std::iter::from_fn(|| next(&mut server)).collect();
    for (round, tags) in (0..).zip(tags.chunks(FEW)) {
        let mut tags = tags.to_vec();
        tags.sort_unstable();
        assert_eq!(tags, (10 * round..10 * round + 10).collect::<Vec<_>>());
    }
    assert_eq!(tags.len(), 3 * FEW);
}

#[test]
fn of_few_links_the_most_urgent_message_comes_first_wherever_it_is() {
    let (_world, mut server, mut clients) = crowd(FEW);
    for place in 0..FEW {
        for behind in [0, 1, 5] {
            for (number, client) in (0..).zip(&mut clients) {
                send(client, 4, number);
            }
            let urgent = &mut clients[place];
            (0..behind).for_each(|_| send(urgent, 5, 50));
            send(urgent, 3, 100);
            (0..behind).for_each(|_| send(urgent, 3, 101));
            assert_eq!(next(&mut server), Some(100), "client {place}, behind {behind}");
            // One that comes while others are taken.
            send(&mut clients[(place + 3) % FEW], 2, 200);
            assert_eq!(next(&mut server), Some(200), "client {place}, behind {behind}");
            let rest: Vec<u16> = std::iter::from_fn(|| next(&mut server)).collect();
            let (most, least) = rest.split_at(behind);
            assert!(most.iter().all(|tag| *tag == 101), "{rest:?}");
            let (middle, least) = least.split_at(FEW);
            assert!(middle.iter().all(|tag| *tag < 50), "{rest:?}");
            assert!(least.len() == behind && least.iter().all(|tag| *tag == 50), "{rest:?}");
        }
    }
}

#[test]
fn an_urgent_message_of_one_link_waits_for_few_of_the_others() {
    let (_world, mut server, mut clients) = crowd(CLIENTS);
    for (tag, client) in (0..).zip(&mut clients) {
        send(client, 4, tag);
    }
    assert!(next(&mut server).is_some_and(|tag| tag < 1000));
    // Whichever client it is, and however far the node has come in its turn.
    for (tag, before) in (1000..).zip([0, 1, 5, 3, 11]) {
        (0..before).for_each(|_| assert!(next(&mut server).is_some_and(|tag| tag < 1000)));
        send(&mut clients[usize::from(tag) % CLIENTS], 0, tag);
        let came = (0..=TRUSTED).find(|_| next(&mut server) == Some(tag));
        assert!(came.is_some(), "{tag} did not come within {TRUSTED} messages");
    }
}
