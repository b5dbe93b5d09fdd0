//! Several links of one node: what is said over one says nothing over another.

use super::net::{Net, two};
use crate::common::world::name;
use narrows::connection::{Refused, Signal};
use narrows::linx::{HandlerError, Limits, Spid, Taken};

/// A node in the middle of two, by its links 0 and 1.
fn three() -> Net {
    let mut net = Net::new(3, Limits::default());
    net.link(1, "left", 0, "middle");
    net.link(1, "right", 2, "middle");
    net
}

/// What a link handler says: its kind, the number of a hunt, and the rest.
fn word(kind: u8, number: u8, rest: &[u8]) -> Signal<Vec<u8>> {
    let buffer = [&[kind, 0, number, 0], rest].concat();
    Signal { from: 0, to: 0, len: buffer.len(), buffer }
}

/// Hands a signal to a node as if it came over a link.
fn comes(net: &mut Net, node: usize, link: u16, signal: Signal<Vec<u8>>) {
    let node = &mut net.nodes[node];
    assert_eq!(node.handler.receive(&mut node.around, link, signal), Ok(Taken::Used));
}

/// What a node has said over a link and is still on its way: the kinds.
fn said(net: &Net, node: usize, link: usize) -> Vec<u8> {
    net.nodes[node].around.out[link].iter().map(|signal| signal.buffer[0]).collect()
}

#[test]
fn a_link_that_a_peer_hunts_is_answered_at_once() {
    let mut net = three();
    comes(&mut net, 1, 0, word(1, 7, b"right/"));
    assert_eq!(said(&net, 1, 0), [2], "it is there, and there is room to say so");
    let hunter = net.open(2, "hunter");
    net.hunt(2, hunter, "middle/left/").expect("room");
    assert_ne!(net.found(2, hunter), Spid::NONE);
}

#[test]
fn a_link_is_removed_when_it_is_down_and_its_name_is_free_then() {
    let mut net = two();
    net.nodes[0].handler.remove_link(0);
    assert_eq!(net.nodes[0].handler.add_link(name("node1")), Err(HandlerError::Duplicate));
    net.cut(0, 0);
    assert_eq!(net.nodes[0].handler.add_link(name("node1")), Err(HandlerError::Duplicate));
    net.nodes[0].handler.remove_link(0);
    assert_eq!(net.nodes[0].handler.add_link(name("node1")), Ok(0));
}

#[test]
fn a_hunt_through_a_link_that_is_down_waits_for_it() {
    let mut net = two();
    let hunter = net.open(0, "hunter");
    net.open(1, "far");
    net.cut(0, 0);
    net.hunt(0, hunter, "node1/far").expect("the link is known");
    assert_eq!(net.got(0), []);
    for node in [0, 1] {
        let node = &mut net.nodes[node];
        node.handler.link_up(&mut node.around, 0);
    }
    assert_ne!(net.found(0, hunter), Spid::NONE);
}

#[test]
fn a_peers_hunt_through_a_link_that_is_down_is_not_refused() {
    let mut net = three();
    net.cut(1, 1);
    let hunter = net.open(0, "hunter");
    net.hunt(0, hunter, "middle/right/far").expect("room");
    assert_eq!(net.got(0), []);
    for (node, link) in [(1, 1), (2, 0)] {
        let node = &mut net.nodes[node];
        node.handler.link_up(&mut node.around, link);
    }
    net.open(2, "far");
    assert_ne!(net.found(0, hunter), Spid::NONE);
}

#[test]
fn a_signal_for_what_is_behind_the_link_that_it_came_over_goes_nowhere() {
    let mut net = three();
    let far = net.open(0, "far");
    let hunter = net.open(1, "hunter");
    net.hunt(1, hunter, "left/far").expect("room");
    let here = net.found(1, hunter);
    let freed = net.nodes[1].around.freed;
    let signal = Signal { from: far.0, to: here.0, len: 1, buffer: vec![1] };
    comes(&mut net, 1, 0, signal);
    assert_eq!(said(&net, 1, 0), [], "it is not sent back");
    assert_eq!(net.nodes[1].around.freed, freed + 1);
}

#[test]
fn only_the_link_that_was_asked_answers_a_hunt() {
    for answer in [word(2, 0, &9_u32.to_le_bytes()), word(3, 0, b"")] {
        let mut net = three();
        let hunter = net.open(1, "hunter");
        net.hunt(1, hunter, "right/late").expect("room");
        assert_eq!(net.got(1), []);
        comes(&mut net, 1, 0, answer);
        assert_eq!(net.got(1), [], "the link on the left was not asked");
        net.open(2, "late");
        assert_ne!(net.found(1, hunter), Spid::NONE);
    }
    // And it does not answer with nobody.
    let mut net = three();
    let hunter = net.open(1, "hunter");
    net.hunt(1, hunter, "right/late").expect("room");
    assert_eq!(net.got(1), []);
    comes(&mut net, 1, 1, word(2, 0, &0_u32.to_le_bytes()));
    assert_eq!(net.got(1), []);
}

#[test]
fn a_hunt_that_a_peer_gives_up_is_that_peers() {
    let mut net = three();
    let [left, right] = [0, 2].map(|node| net.open(node, "hunter"));
    net.hunt(0, left, "middle/late").expect("room");
    net.hunt(2, right, "middle/late").expect("room");
    net.settle();
    net.close(0, left);
    net.settle();
    net.open(1, "late");
    assert_ne!(net.found(2, right), Spid::NONE);
}

#[test]
fn each_link_is_told_of_an_end_when_it_has_room_and_a_link_that_is_down_is_not() {
    for cut in [false, true] {
        let mut net = three();
        let near = net.open(1, "near");
        let watchers = [0, 2].map(|node| {
            let watcher = net.open(node, "watcher");
            net.hunt(node, watcher, "middle/near").expect("room");
            let found = net.found(node, watcher);
            net.attach(node, watcher, found).expect("room");
            (watcher, found)
        });
        net.nodes[1].around.room = 0;
        net.close(1, near);
        assert_eq!((net.got(0), net.got(2)), (vec![], vec![]));
        if cut {
            net.cut(1, 0);
            net.got(0);
        }
        net.nodes[1].around.room = 1;
        let node = &mut net.nodes[1];
        assert!(node.handler.attend(&mut node.around), "all is said that was to be said");
        let [left, right] = [0, 1].map(|link| said(&net, 1, link));
        assert_eq!(left, if cut { vec![] } else { vec![5] });
        assert_eq!(right, [5]);
        let (watcher, found) = watchers[1];
        assert_eq!(net.got(2), [(watcher, found, "attach".into())]);
        // Nothing is said twice, whatever else is to be said.
        net.nodes[1].around.room = 10;
        let hunter = net.open(1, "hunter");
        net.hunt(1, hunter, "right/late").expect("room");
        assert_eq!(said(&net, 1, 1), [1]);
    }
}

#[test]
fn a_handler_says_whether_something_is_left_to_be_said() {
    let mut net = two();
    let hunter = net.open(0, "hunter");
    net.nodes[0].around.room = 0;
    net.hunt(0, hunter, "node1/far").expect("it waits");
    let attend = |net: &mut Net| {
        let node = &mut net.nodes[0];
        node.handler.attend(&mut node.around)
    };
    assert!(!attend(&mut net) && !attend(&mut net), "there is no room");
    net.nodes[0].around.room = 1;
    assert!(attend(&mut net));
    assert_eq!(said(&net, 0, 0), [1]);
}

#[test]
fn a_full_table_keeps_what_it_has_and_what_is_gone_makes_room() {
    let mut net = Net::new(1, Limits { endpoints: 4, ..Limits::default() });
    let mut all = Vec::new();
    let full = loop {
        let node = &mut net.nodes[0];
        match node.handler.open(&mut node.around, Some(name(&format!("e{}", all.len())))) {
            Ok(spid) => all.push(spid),
            Err(error) => break error,
        }
        assert!(all.len() < 100, "there is no end");
    };
    assert_eq!(full, HandlerError::Full);
    for (at, spid) in all.iter().enumerate() {
        assert_eq!(net.nodes[0].handler.check(*spid), Ok(()));
        assert_eq!(net.nodes[0].handler.name(*spid), Some(name(&format!("e{at}"))));
    }
    // Somebody is attached to another than the one that goes.
    net.attach(0, all[0], all[1]).expect("room");
    net.close(0, all[2]);
    assert_eq!(net.nodes[0].handler.check(all[2]), Err(HandlerError::Gone));
    assert_eq!(net.nodes[0].handler.name(all[2]), None);
    let again = net.open(0, "again");
    assert_eq!(net.nodes[0].handler.check(again), Ok(()));
    assert_eq!(net.nodes[0].handler.check(all[2]), Err(HandlerError::Unknown));
    assert_eq!(net.nodes[0].handler.check(all[1]), Ok(()));
}

#[test]
fn only_an_endpoint_of_the_node_asks_for_anything() {
    let mut net = two();
    let near = net.open(0, "near");
    let far = net.open(1, "far");
    net.hunt(0, near, "node1/far").expect("room");
    let here = net.found(0, near);
    for stranger in [Spid(77), here, Spid::NONE] {
        assert_eq!(net.hunt(0, stranger, "near"), Err(HandlerError::Unknown));
        assert_eq!(net.attach(0, stranger, near), Err(HandlerError::Unknown));
    }
    assert_eq!(net.nodes[0].handler.name(here), None, "it is another node's");
    assert_eq!(net.nodes[1].handler.name(far), Some(name("far")));
}

#[test]
fn each_refusal_is_a_sentence_of_its_own() {
    use narrows::linx::Misled;
    let mut said = [
        HandlerError::Duplicate.to_string(),
        HandlerError::Full.to_string(),
        HandlerError::UnknownLink.to_string(),
        HandlerError::Unknown.to_string(),
        HandlerError::Gone.to_string(),
        HandlerError::Refused(Refused::Full).to_string(),
        Misled::Word.to_string(),
        Misled::Hunts.to_string(),
        Misled::Endpoints.to_string(),
    ]
    .to_vec();
    let count = said.len();
    assert!(said.iter().all(|text| text.len() > 10), "{said:?}");
    said.sort();
    said.dedup();
    assert_eq!(said.len(), count);
}

#[test]
fn of_many_peers_each_is_told_what_is_gone_once_and_in_order_however_late_it_has_room() {
    const PEERS: usize = 40;
    let mut net = Net::new(PEERS + 1, Limits { links: PEERS, ..Limits::default() });
    for peer in 1..=PEERS {
        net.link(0, &format!("node{peer}"), peer, "hub");
    }
    let ends: Vec<Spid> = (0..3).map(|end| net.open(0, &format!("end{end}"))).collect();
    let watchers: Vec<(Spid, Vec<Spid>)> = (1..=PEERS)
        .map(|peer| {
            let watcher = net.open(peer, "watcher");
            let there = ["hub/end0", "hub/end1", "hub/end2"].map(|path| {
                net.hunt(peer, watcher, path).expect("room");
                net.found(peer, watcher)
            });
            for end in there {
                net.attach(peer, watcher, end).expect("room");
            }
            (watcher, there.to_vec())
        })
        .collect();
    // There is room for one word on each link until it is carried off.
    net.nodes[0].around.room = 1;
    for end in [2, 0, 1] {
        net.close(0, ends[end]);
    }
    for (peer, (watcher, there)) in (1..).zip(&watchers) {
        let got = net.got(peer);
        let expected = [2, 0, 1].map(|end| (*watcher, there[end], String::from("attach")));
        assert_eq!(got, expected, "peer {peer}");
    }
    // What ends between a link's end and its next life concerns that link no more.
    net.cut(0, 0);
    let late = net.open(0, "late");
    net.close(0, late);
    let node = &mut net.nodes[0];
    node.handler.link_up(&mut node.around, 0);
    assert!(node.handler.attend(&mut node.around));
    assert!(node.around.out[0].is_empty());
}
