//! Nodes that have their addresses in common.

use narrows::connection::Signal;
use narrows::linx::{HandlerError, Limits, Misled, Spid, Taken};

use super::net::Net;
use crate::common::world::name;

const COMMON: Limits =
    Limits { endpoints: 64, links: 8, hunts: 16, attaches: 16, roaming: true, common: Some(7) };

fn open(net: &mut Net, node: usize, text: &str, spid: u32) -> Result<Spid, HandlerError> {
    let node = &mut net.nodes[node];
    let name = (!text.is_empty()).then(|| name(text));
    node.handler.open_as(&mut node.around, name, Spid(spid)).map(|()| Spid(spid))
}

/// Three nodes in a row, with an endpoint each.
fn row() -> (Net, [Spid; 3]) {
    let mut net = Net::new(3, COMMON);
    net.link(0, "n1", 1, "n0");
    net.link(1, "n2", 2, "n1");
    let spids = [0, 1, 2].map(|n| open(&mut net, n, "e", 0x8000_0001 + n as u32).expect("free"));
    (net, spids)
}

#[test]
fn an_endpoint_has_one_address_on_every_node() {
    let (mut net, [near, middle, far]) = row();
    net.hunt(0, near, "n1/n2/e").expect("room");
    assert_eq!(net.found(0, near), far);
    net.hunt(0, near, "n1/e").expect("room");
    assert_eq!(net.found(0, near), middle);
    net.send(0, near, far, "through").expect("it is known");
    assert_eq!(net.got(2), [(far, near, "through".into())]);
    net.send(2, far, near, "back").expect("it has sent");
    assert_eq!(net.got(0), [(near, far, "back".into())]);
    // A link has an address of the node's own.
    net.hunt(0, near, "n1/").expect("room");
    assert_eq!(net.found(0, near), Spid(8));
    net.attach(0, near, far).expect("room");
    net.close(2, far);
    assert_eq!(net.got(0), [(near, far, "attach".into())]);
    assert_eq!(net.send(0, near, far, "?"), Err(HandlerError::Gone));
}

#[test]
fn an_address_is_given_once_and_a_name_as_often_as_one_likes() {
    let (mut net, [near, ..]) = row();
    assert_eq!(open(&mut net, 0, "x", near.0), Err(HandlerError::Duplicate));
    assert_eq!(open(&mut net, 0, "x", 0), Err(HandlerError::Duplicate));
    let second = open(&mut net, 0, "e", 0x8000_0009).expect("names may be the same");
    net.close(0, near);
    net.hunt(0, second, "e").expect("room");
    assert_eq!(net.found(0, second), second);
    // What is gone stays gone.
    assert_eq!(open(&mut net, 0, "e", near.0), Err(HandlerError::Duplicate));
    assert_eq!(net.send(0, second, near, "?"), Err(HandlerError::Gone));
    // Nodes that give addresses of their own take none.
    let mut own = Net::new(1, Limits::default());
    assert_eq!(open(&mut own, 0, "e", 9), Err(HandlerError::Duplicate));
}

#[test]
fn an_endpoint_is_hunted_by_its_address_too() {
    let (mut net, [near, middle, _]) = row();
    let nameless = open(&mut net, 1, "", 0x9abc_def0).expect("free");
    let by_address = |spid: Spid| format!("n1/{}", spid.name().expect("a name"));
    net.hunt(0, near, &by_address(nameless)).expect("room");
    assert_eq!(net.found(0, near), nameless);
    net.hunt(0, near, &by_address(middle)).expect("room");
    assert_eq!(net.found(0, near), middle);
    // One that is another node's, or nobody's, is not there.
    net.hunt(0, near, &by_address(near)).expect("room");
    net.hunt(0, near, &by_address(Spid(0x8000_1234))).expect("room");
    assert_eq!(net.got(0), []);
}

#[test]
fn every_address_is_found_however_many_there_are_and_those_gone_make_room() {
    let mut net = Net::new(2, COMMON);
    net.link(0, "n1", 1, "n0");
    let own = open(&mut net, 0, "own", u32::MAX).expect("free");
    // Some of them follow each other.
    let address = |n: u32| 0x8000_0000 | if n.is_multiple_of(2) { n } else { n << 16 };
    for turn in 0..20 {
        let all: Vec<u32> = (1..30).map(|n| address(turn * 30 + n)).collect();
        for spid in &all {
            open(&mut net, 0, "e", *spid).expect("room");
        }
        for spid in &all {
            net.send(0, own, Spid(*spid), "here").expect("it is there");
        }
        assert_eq!(net.got(0).len(), all.len());
        for spid in &all {
            net.close(0, Spid(*spid));
            assert_eq!(net.nodes[0].handler.check(Spid(*spid)), Err(HandlerError::Gone));
        }
        net.settle();
        assert_eq!(net.nodes[0].handler.check(own), Ok(()));
    }
    // All of them live: no more fit, and each is still found.
    let full: Vec<u32> = (1..200)
        .map(|n| address(5000 + n))
        .take_while(|n| open(&mut net, 0, "", *n).is_ok())
        .collect();
    assert_eq!(full.len(), COMMON.endpoints - 1);
    assert!(full.iter().all(|spid| net.nodes[0].handler.check(Spid(*spid)).is_ok()));
    assert_eq!(open(&mut net, 0, "", 0xffff_0000), Err(HandlerError::Full));
    assert_eq!(net.nodes[0].handler.check(Spid(0xffff_0000)), Err(HandlerError::Unknown));
}

#[test]
fn an_endpoint_is_there_again_when_a_link_to_it_is() {
    let (mut net, [near, middle, _]) = row();
    net.hunt(0, near, "n1/e").expect("room");
    assert_eq!(net.found(0, near), middle);
    net.attach(0, near, middle).expect("room");
    net.cut(0, 0);
    assert_eq!(net.got(0), [(near, middle, "attach".into())]);
    assert_eq!(net.send(0, near, middle, "?"), Err(HandlerError::Gone));
    for (node, link) in [(0, 0), (1, 0)] {
        let node = &mut net.nodes[node];
        node.handler.link_up(&mut node.around, link);
    }
    net.hunt(0, near, "n1/e").expect("room");
    assert_eq!(net.found(0, near), middle);
    net.send(0, near, middle, "again").expect("it is there");
    assert_eq!(net.got(1), [(middle, near, "again".into())]);
}

#[test]
fn an_endpoint_is_there_again_when_all_were_told_that_it_was_gone() {
    let mut net = Net::new(3, COMMON);
    net.link(0, "n1", 1, "n0");
    net.link(0, "n2", 2, "n0");
    let near = open(&mut net, 0, "e", 0x8000_0001).expect("free");
    let far = Spid(0x8000_0002);
    let say = |net: &mut Net, from: u32, to: u32, bytes: &[u8]| {
        let signal = Signal { from, to, len: bytes.len(), buffer: bytes.to_vec() };
        let node = &mut net.nodes[0];
        let taken = node.handler.receive(&mut node.around, 0, signal);
        assert!(matches!(taken, Ok(Taken::Used | Taken::Delivered)), "{taken:?}");
        net.nodes[0].handler.check(far)
    };
    assert_eq!(say(&mut net, far.0, near.0, b"first"), Ok(()));
    net.nodes[0].around.room = 0;
    let gone = [&[5, 0, 0, 0][..], &far.0.to_le_bytes()].concat();
    assert_eq!(say(&mut net, 0, 0, &gone), Err(HandlerError::Gone));
    assert_eq!(say(&mut net, far.0, near.0, b"untold"), Err(HandlerError::Gone));
    net.nodes[0].around.room = 100;
    net.settle();
    assert_eq!(say(&mut net, far.0, near.0, b"told"), Ok(()));
}

#[test]
fn a_peer_neither_ends_nor_takes_over_what_another_link_leads_to() {
    let mut net = Net::new(3, COMMON);
    net.link(0, "n1", 1, "n0");
    net.link(0, "n2", 2, "n0");
    let [near, far] =
        [(0, 1), (1, 2)].map(|(node, n)| open(&mut net, node, "e", 0x8000_0000 + n).expect("free"));
    net.hunt(0, near, "n1/e").expect("room");
    assert_eq!(net.found(0, near), far);
    net.attach(0, near, far).expect("room");
    let node = &mut net.nodes[0];
    let mut say = |from: u32, to: u32, bytes: &[u8]| {
        let signal = Signal { from, to, len: bytes.len(), buffer: bytes.to_vec() };
        node.handler.receive(&mut node.around, 1, signal)
    };
    // It says that the other's endpoint is gone, and sends in its name and in nobody's.
    assert_eq!(say(0, 0, &[&[5, 0, 0, 0][..], &far.0.to_le_bytes()].concat()), Ok(Taken::Used));
    assert_eq!(say(far.0, near.0, b"false"), Ok(Taken::Delivered));
    assert_eq!(say(near.0, near.0, b"false"), Ok(Taken::Delivered));
    assert_eq!(say(0, near.0, b"false"), Ok(Taken::Delivered));
    let senders: Vec<Spid> = net.got(0).into_iter().map(|(_, from, _)| from).collect();
    assert_eq!(senders, [far, near, Spid::NONE]);
    net.send(0, near, far, "true").expect("it is there");
    assert_eq!(net.got(1), [(far, near, "true".into())]);
    assert_eq!(net.got(2), []);
    // It brings as many as it may and no more.
    let node = &mut net.nodes[0];
    let refused = (0..1000).map(|n| {
        let signal = Signal { from: 0x9000_0000 + n, to: near.0, len: 0, buffer: Vec::new() };
        node.handler.receive(&mut node.around, 1, signal)
    });
    assert_eq!(refused.filter_map(Result::err).next(), Some(Misled::Endpoints));
    assert!(open(&mut net, 0, "late", 0x8000_0100).is_ok());
}

#[test]
fn a_name_is_looked_for_where_one_is_led_and_nowhere_else_any_more() {
    let mut net = Net::new(3, COMMON);
    net.link(0, "n1", 1, "n0");
    net.link(0, "n2", 2, "n0");
    let hunter = open(&mut net, 0, "hunter", 0x8000_0001).expect("free");
    net.hunt(0, hunter, "server").expect("room");
    let handler = |net: &Net| {
        let handler = &net.nodes[0].handler;
        (handler.is_hunting(), handler.sought().next(), handler.wanted().next())
    };
    assert_eq!(handler(&net), (true, Some(name("server")), Some(name("server"))));
    let lead = |net: &mut Net, node: &str| {
        let here = &mut net.nodes[0];
        here.handler.lead(&mut here.around, &name("server"), Some(name(node)));
        net.settle();
    };
    lead(&mut net, "elsewhere");
    assert_eq!(handler(&net).2, Some(name("elsewhere")));
    lead(&mut net, "n1");
    assert_eq!(handler(&net).2, None);
    // Each is told that it is not asked any more: a peer has few hunts at a time.
    for _ in 0..COMMON.hunts {
        lead(&mut net, "n2");
        lead(&mut net, "n1");
    }
    lead(&mut net, "n2");
    // The first is not asked any more, so its answer would be of a hunt that is over.
    open(&mut net, 1, "server", 0x8000_0002).expect("free");
    assert_eq!(net.got(0), []);
    let found = open(&mut net, 2, "server", 0x8000_0003).expect("free");
    assert_eq!(net.found(0, hunter), found);
    assert_eq!(handler(&net), (false, None, None));
}
