//! What layered LINX nodes owe others: what was sent before they close, and what does not have to
//! wait for a link that is stalled.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use narrows_host::linx::{Endpoint, Options, Select, Signal, Spid, Stack};

const SOON: Option<Duration> = Some(Duration::from_secs(20));
const BRIEFLY: Option<Duration> = Some(Duration::from_millis(1));
const HUNT: u32 = 251;
const ATTACH: u32 = 252;
/// No signal has it.
const NEVER: u32 = 9999;

/// Looks for a name, while flat nodes live in calls of these endpoints.
fn hunt(endpoint: &Endpoint, path: &str, others: &[&Endpoint]) -> Spid {
    endpoint.hunt(path, Signal::with(HUNT, &[])).expect("room");
    (0..100_000)
        .find_map(|_| {
            others.iter().for_each(|other| live(other));
            endpoint.receive(&Select::only(&[HUNT]), BRIEFLY)
        })
        .expect("it is there")
        .sender()
}

fn live(endpoint: &Endpoint) {
    assert!(endpoint.receive(&Select::only(&[NEVER]), BRIEFLY).is_none());
}

#[test]
fn what_was_sent_before_a_node_closes_arrives_behind_its_end() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = |name: &str| Options::new(name).directory(directory.path());
    for whole_node in [true, false] {
        let server = options("server").open().expect("free");
        let node = options("client").stack(Stack::Layered).node().expect("free");
        let client = node.open(Some("client")).expect("free");
        let found = hunt(&client, "server", &[&server]);
        client.send(found, Signal::with(NEVER - 1, &[])).expect("room");
        let first = server.receive(&Select::any(), SOON).expect("it was sent");
        server.attach(first.sender(), Signal::with(ATTACH, &[])).expect("room");
        // More than the ring and the connection's queue hold, and nobody has received any of it.
        for n in 0..900 {
            client.send(found, Signal::with(n, &[7; 300])).expect("room");
        }
        let keeps = (!whole_node).then_some(node);
        let closing = thread::spawn(move || drop(client));
        for n in 0..900 {
            let signal = server.receive(&Select::any(), SOON).expect("the next in time");
            assert_eq!((signal.number(), signal.bytes().len()), (n, 304), "whole: {whole_node}");
        }
        let end = server.receive(&Select::any(), SOON).expect("its end");
        assert_eq!((end.number(), end.sender()), (ATTACH, first.sender()));
        closing.join().expect("it ended well");
        drop(keeps);
    }
}

#[test]
fn a_node_whose_peer_takes_nothing_closes_all_the_same() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = |name: &str| Options::new(name).directory(directory.path()).window(8);
    let server = options("server").open().expect("free");
    let client = options("client").stack(Stack::Layered).open().expect("free");
    let found = hunt(&client, "server", &[&server]);
    for n in 0..400 {
        client.send(found, Signal::with(n, &[])).expect("room");
    }
    drop(client);
    // What the window let through is there, and then an endpoint that asks hears that there is no
    // more.
    let first = server.receive(&Select::any(), SOON).expect("the first");
    server.attach(first.sender(), Signal::with(ATTACH, &[])).expect("room");
    let mut last = first.number();
    loop {
        let signal = server.receive(&Select::any(), SOON).expect("the next, or the end");
        if signal.number() == ATTACH {
            break;
        }
        assert_eq!(signal.number(), last + 1);
        last += 1;
    }
    assert!(last < 400, "the window held the rest");
}

#[test]
fn a_stalled_link_does_not_hold_up_what_comes_over_another() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = |name: &str| Options::new(name).directory(directory.path()).window(8);
    let middle = options("middle").stack(Stack::Layered).open().expect("free");
    let last = options("last").open().expect("free");
    let (first, second) = (options("first").open(), options("second").open());
    let (first, second) = (first.expect("free"), second.expect("free"));
    hunt(&middle, "last", &[&last]);
    let far = hunt(&first, "middle/last/last", &[&last]);
    let near = hunt(&second, "middle", &[]);
    // More than the windows and the queue between them let through, while `last` receives none.
    let sent = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&sent);
    let sender = thread::spawn(move || {
        for n in 0..300 {
            first.send(far, Signal::with(n, &[])).expect("room, sooner or later");
            count.store(n + 1, Ordering::SeqCst);
        }
        first
    });
    // 8 with `last`, 256 queued, 8 that wait for them.
    while sent.load(Ordering::SeqCst) < 272 {
        thread::yield_now();
    }
    for n in 0..100 {
        second.send(near, Signal::with(1000 + n, &[])).expect("room");
        let signal = middle.receive(&Select::any(), SOON).expect("it need not wait");
        assert_eq!(signal.number(), 1000 + n);
    }
    for n in 0..300 {
        let signal = last.receive(&Select::any(), SOON).expect("the next in time");
        assert_eq!(signal.number(), n);
    }
    sender.join().expect("it ended well");
}
