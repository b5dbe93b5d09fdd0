//! Link handlers of several nodes in one thread, linked by queues that a test can look into.

mod in_common;
mod links;
mod net;

use crate::common::world::name;
use narrows::connection::Signal;
use narrows::linx::{HandlerError, Limits, Misled, Path, PathError, Spid, Taken};
use net::{Net, two};

#[test]
fn a_path_has_names_between_its_slashes() {
    for good in ["a", "a/b", "node1/", "a/b/c", "a/b/"] {
        assert_eq!(good.parse::<Path>().map(|path| path.as_str().to_owned()), Ok(good.to_owned()));
    }
    let long = "a/".repeat(64) + "b";
    for bad in ["", "/", "/a", "a//b", "a b", "a/b/c d", "//", &long] {
        assert_eq!(bad.parse::<Path>(), Err(PathError), "{bad}");
    }
    assert!(PathError.to_string().contains("at most 127 characters"));
    let path: Path = "a/b/c".parse().expect("a path");
    assert_eq!(path.split(), Some((name("a"), "b/c")));
    assert_eq!(path.plain(), None);
}

#[test]
fn a_hunt_finds_what_is_there_and_waits_for_what_is_not() {
    let mut net = two();
    let hunter = net.open(0, "hunter");
    let consumer = net.open(1, "consumer");
    net.hunt(0, hunter, "node1/consumer").expect("room");
    let found = net.found(0, hunter);

    net.hunt(0, hunter, "node1/late").expect("room");
    net.hunt(0, hunter, "near").expect("room");
    assert_eq!(net.got(0), []);
    net.open(1, "late");
    assert_ne!(net.found(0, hunter), found);
    let near = net.open(0, "near");
    assert_eq!(net.found(0, hunter), near);

    net.send(0, hunter, found, "signal").expect("room");
    let got = net.got(1);
    assert_eq!((got[0].0, got[0].2.as_str()), (consumer, "signal"));
    // Its sender has an address there, by which it is answered.
    net.send(1, consumer, got[0].1, "answer").expect("room");
    assert_eq!(net.got(0), [(hunter, found, "answer".into())]);
    assert_eq!(net.nodes[0].handler.way(found).map(|(link, _)| link), Some(0));
}

#[test]
fn a_name_is_opened_once_and_a_link_is_added_once() {
    let mut net = two();
    net.open(0, "one");
    let node = &mut net.nodes[0];
    let again = node.handler.open(&mut node.around, Some(name("one")));
    assert_eq!(again, Err(HandlerError::Duplicate));
    assert_eq!(node.handler.add_link(name("node1")), Err(HandlerError::Duplicate));
    let nameless = [(); 2].map(|()| node.handler.open(&mut node.around, None).expect("room"));
    assert_ne!(nameless[0], nameless[1]);
}

#[test]
fn a_path_through_an_unknown_link_is_refused_at_once_or_by_who_knows() {
    let mut net = two();
    let hunter = net.open(0, "hunter");
    assert_eq!(net.hunt(0, hunter, "nowhere/x"), Err(HandlerError::UnknownLink));
    net.hunt(0, hunter, "node1/nowhere/x").expect("the next node says so");
    assert_eq!(net.found(0, hunter), Spid::NONE);
}

#[test]
fn a_path_leads_through_several_links_and_signals_follow_it_both_ways() {
    let mut net = Net::new(3, Limits::default());
    net.link(0, "middle", 1, "left");
    net.link(1, "right", 2, "middle");
    let hunter = net.open(0, "hunter");
    net.hunt(0, hunter, "middle/right/far").expect("room");
    assert_eq!(net.got(0), []);
    let far = net.open(2, "far");
    let found = net.found(0, hunter);
    net.attach(0, hunter, found).expect("room");

    // A link without room stops what follows, and loses nothing.
    net.nodes[1].around.room = 0;
    for n in 0..3 {
        net.send(0, hunter, found, &n.to_string()).expect("room");
    }
    assert_eq!(net.got(2), []);
    net.nodes[1].around.room = 1;
    let got = net.got(2);
    assert_eq!(got.iter().map(|got| got.2.as_str()).collect::<Vec<_>>(), ["0", "1", "2"]);
    net.send(2, far, got[0].1, "back").expect("room");
    assert_eq!(net.got(0), [(hunter, found, "back".into())]);

    net.cut(1, 1);
    assert_eq!(net.got(0), [(hunter, found, "attach".into())]);
    assert_eq!(net.send(0, hunter, found, "?"), Err(HandlerError::Gone));
}

#[test]
fn whoever_is_attached_is_told_once_when_an_endpoint_closes_or_its_link_goes() {
    let mut net = two();
    let watcher = net.open(0, "watcher");
    let near = net.open(0, "near");
    let far = net.open(1, "far");
    net.hunt(0, watcher, "node1/far").expect("room");
    let far_here = net.found(0, watcher);
    net.hunt(0, watcher, "node1/").expect("room");
    let link = net.found(0, watcher);

    net.attach(0, watcher, near).expect("room");
    net.attach(0, watcher, far_here).expect("room");
    net.attach(0, watcher, link).expect("room");
    let off = net.attach(0, watcher, far_here).expect("room");
    let detach = |net: &mut Net, number| net.nodes[0].handler.detach(watcher, number);
    assert_eq!(detach(&mut net, off), Ok(b"attach".to_vec()));
    assert_eq!(detach(&mut net, off), Err(HandlerError::Unknown));
    assert_eq!(net.send(0, watcher, link, "?"), Err(HandlerError::Unknown));

    net.close(0, near);
    net.close(1, far);
    let attach = |from| (watcher, from, String::from("attach"));
    assert_eq!(net.got(0), [attach(near), attach(far_here)]);
    net.cut(0, 0);
    assert_eq!(net.got(0), [attach(link)]);
    // To what is gone, it is too late for anything but to hear so.
    net.attach(0, watcher, far_here).expect("room");
    assert_eq!(net.got(0), [attach(far_here)]);
    assert_eq!(net.attach(0, watcher, Spid(77)), Err(HandlerError::Unknown));
    assert_eq!(net.send(0, watcher, far_here, "?"), Err(HandlerError::Gone));
}

#[test]
fn a_hunt_outlives_its_link_and_ends_with_its_owner() {
    let mut net = two();
    let hunter = net.open(0, "hunter");
    net.hunt(0, hunter, "node1/late").expect("room");
    net.settle();
    net.cut(0, 0);
    net.settle();
    for node in [0, 1] {
        let node = &mut net.nodes[node];
        node.handler.link_up(&mut node.around, 0);
    }
    net.settle();
    net.open(1, "late");
    net.found(0, hunter);

    net.hunt(0, hunter, "node1/never").expect("room");
    net.settle();
    net.close(0, hunter);
    net.open(1, "never");
    assert_eq!(net.got(0), []);
}

#[test]
fn what_a_link_has_no_room_for_is_said_later() {
    let mut net = two();
    let hunter = net.open(0, "hunter");
    let far = net.open(1, "far");
    net.nodes[0].around.room = 0;
    net.hunt(0, hunter, "node1/far").expect("it waits");
    assert_eq!(net.got(0), []);
    net.nodes[0].around.room = 1;
    let found = net.found(0, hunter);
    net.attach(0, hunter, found).expect("room");
    net.nodes[1].around.room = 0;
    net.close(1, far);
    assert_eq!(net.got(0), []);
    net.nodes[1].around.room = 1;
    assert_eq!(net.got(0), [(hunter, found, "attach".into())]);
    assert_eq!(net.send(0, hunter, Spid(3), "?"), Err(HandlerError::Unknown));
}

#[test]
fn addresses_are_used_again_and_old_ones_stay_dead() {
    let mut net = Net::new(1, Limits { endpoints: 4, ..Limits::default() });
    let first = net.open(0, "e0");
    net.close(0, first);
    let mut seen = vec![first];
    for n in 1..50 {
        let next = net.open(0, &format!("e{n}"));
        assert!(!seen.contains(&next));
        assert_ne!(net.send(0, next, first, "?"), Ok(()));
        net.close(0, next);
        seen.push(next);
    }
}

#[test]
fn names_without_links_are_nodes_where_links_are_made_on_demand() {
    let mut net = Net::new(2, Limits { roaming: true, ..Limits::default() });
    let hunter = net.open(0, "hunter");
    net.hunt(0, hunter, "server").expect("it waits");
    net.hunt(0, hunter, "node2/x").expect("it waits");
    let wanted: Vec<_> = net.nodes[0].handler.wanted().collect();
    assert_eq!(wanted, [name("server"), name("node2")]);
    net.link(0, "server", 1, "hunter");
    net.open(1, "server");
    net.found(0, hunter);
    assert_eq!(net.nodes[0].handler.wanted().collect::<Vec<_>>(), [name("node2")]);
}

#[test]
fn what_no_link_handler_says_is_answered_with_the_end_of_the_link() {
    let mut net = two();
    net.open(1, "far");
    let node = &mut net.nodes[1];
    let mut said = |bytes: &[u8]| {
        let signal = Signal { from: 9, to: 0, len: bytes.len(), buffer: bytes.to_vec() };
        node.handler.receive(&mut node.around, 0, signal)
    };
    for bytes in [&b""[..], b"\x01", b"\x07\0\0\0", b"\x01\0\0\0", b"\x02\0\0\0\0", &[1; 500]] {
        assert_eq!(said(bytes), Err(Misled::Word), "{bytes:?}");
    }
    // What was not asked for is heard and does nothing.
    for bytes in
        [&b"\x02\0\0\0\x01\0\0\0"[..], b"\x03\0\xff\xff", b"\x04\0\0\0", b"\x05\0\0\0\x01\0\x01\0"]
    {
        assert_eq!(said(bytes), Ok(Taken::Used), "{bytes:?}");
    }
    let mut hunts = 0;
    while said(b"\x01\0\0\0x").is_ok() {
        hunts += 1;
        assert!(hunts < 1000, "a peer has as many hunts as it likes");
    }
    let mut senders = 0_u32;
    let far = Spid(1 << 16).0;
    loop {
        let signal = Signal { from: senders, to: far, len: 0, buffer: Vec::new() };
        match node.handler.receive(&mut node.around, 0, signal) {
            Ok(_) => senders += 1,
            Err(error) => break assert_eq!(error, Misled::Endpoints),
        }
        assert!(senders < 10_000, "a peer brings as many endpoints as it likes");
    }
    assert!(senders > 0);
    // The node has room for endpoints of its own all the same.
    net.open(1, "own");
    // Another link still has room for all it may.
    net.link(1, "other", 0, "back");
    net.open(0, "late");
}

#[test]
fn a_peer_looks_for_a_share_of_what_is_looked_for_and_leaves_the_rest_to_others() {
    let limits = Limits { hunts: 16, ..Limits::default() };
    let mut net = Net::new(2, limits);
    net.link(0, "node1", 1, "node0");
    net.link(0, "other", 1, "back");
    let hunter = net.open(0, "hunter");
    for link in [0, 1] {
        let node = &mut net.nodes[0];
        let mut said = |number: u8| {
            let bytes = [1, 0, number, 0, b'x'];
            let signal = Signal { from: 9, to: 0, len: bytes.len(), buffer: bytes.to_vec() };
            node.handler.receive(&mut node.around, link, signal)
        };
        let taken = (0..16).take_while(|number| said(*number) == Ok(Taken::Used)).count();
        assert_eq!(taken, limits.hunts / 4 + 1, "link {link}");
    }
    for n in 0..4 {
        assert_eq!(net.hunt(0, hunter, &format!("late{n}")), Ok(()));
    }
}

#[test]
fn a_node_asks_a_peer_for_no_more_at_once_than_that_takes() {
    let mut net = Net::new(2, Limits { hunts: 16, ..Limits::default() });
    net.link(0, "node1", 1, "node0");
    let hunter = net.open(0, "hunter");
    for n in 0..16 {
        net.hunt(0, hunter, &format!("node1/late{n}")).expect("room");
    }
    assert_eq!(net.hunt(0, hunter, "node1/late"), Err(HandlerError::Full));
    // No link ends, and each is asked for in its turn.
    assert_eq!(net.got(0), []);
    for n in 0..16 {
        net.open(1, &format!("late{n}"));
    }
    assert_eq!(net.got(0).len(), 16);
}

#[test]
fn a_name_without_links_is_looked_for_here_where_links_are_not_made_on_demand() {
    let mut net = two();
    let hunter = net.open(0, "hunter");
    net.open(1, "node1");
    net.hunt(0, hunter, "node1").expect("it waits");
    assert_eq!(net.got(0), []);
    let here = net.open(0, "node1");
    assert_eq!(net.found(0, hunter), here);
}

#[test]
fn who_sends_again_after_it_was_said_to_be_gone_is_somebody_new() {
    let mut net = two();
    let near = net.open(0, "near");
    let far = net.open(1, "far");
    net.hunt(1, far, "node0/near").expect("room");
    let to_near = net.found(1, far);
    net.send(1, far, to_near, "first").expect("room");
    let old = net.got(0)[0].1;
    let node = &mut net.nodes[0];
    let mut say = |from: u32, to: u32, bytes: &[u8]| {
        let signal = Signal { from, to, len: bytes.len(), buffer: bytes.to_vec() };
        let taken = node.handler.receive(&mut node.around, 0, signal);
        assert!(matches!(taken, Ok(Taken::Used | Taken::Delivered)), "{taken:?}");
    };
    say(0, 0, &[&[5, 0, 0, 0][..], &far.0.to_le_bytes()].concat());
    say(far.0, near.0, b"second");
    let got = net.got(0);
    assert_eq!((got[0].0, got[0].2.as_str()), (near, "second"));
    assert_ne!(got[0].1, old);
    assert_eq!(net.nodes[0].handler.check(old), Err(HandlerError::Gone));
}
