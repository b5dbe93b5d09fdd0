//! What a process that was forked, and runs no other program, has of its parent's nodes: nothing.
#![allow(unsafe_code)]

mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use common::{PATIENCE, connected, link, name, next, open};
use narrows::endpoint::{
    Address, Function, LinkError, PortError, Select, SendError, ServeError, Sink, Source, What,
};
use narrows::link::LinkId;
use narrows::platform::{Event, HuntError, Lost, Platform, Wait};
use narrows_host::{Carrier, Node, OpenError, Options};

/// One test at a time: others would hold locks of the harness while this process forks.
static ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forks a process that runs `act`. Its number.
fn fork(act: impl FnOnce()) -> i32 {
    // SAFETY: the child runs on as a copy of this thread. What other threads of this process may
    // hold meanwhile it does not need: they are nodes of their own, and the harness's, which waits.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "{}", std::io::Error::last_os_error());
    if child == 0 {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        // SAFETY: ends the child at once, without what the parent's test has to do at its end.
        unsafe { libc::_exit(i32::from(done.is_err())) };
    }
    child
}

/// Whether a child came to the end of what it had to run.
fn ended_well(child: i32) -> bool {
    let mut status = 0;
    // SAFETY: the status is written to a variable of its type.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    status == 0
}

fn in_child(act: impl FnOnce()) -> bool {
    ended_well(fork(act))
}

#[test]
fn a_forked_copy_of_a_node_does_nothing_and_the_parents_goes_on() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let (a, b) = (open(directory.path(), "a"), open(directory.path(), "b"));
    let (of_a, of_b) = link(&a, &b, "b");
    let mut copy = Some(a);
    // It closes its links and drops its node, as a program does at its end.
    assert!(in_child(|| {
        let a = copy.take().unwrap();
        assert_eq!(a.hunt(&name("c")), Err(HuntError::Forked));
        match a.event() {
            Some(Ok(Event::Lost { key, reason: Lost::Forked })) if key == of_a.key => {}
            _ => panic!("the copy's link is not lost"),
        }
        a.close(of_a.key);
        drop(a);
    }));
    let a = copy.unwrap();
    let again = narrows_host::Options::new("a").directory(directory.path()).open();
    assert!(matches!(again, Err(OpenError::Taken(_))), "the name is still the parent's");
    let silent = Instant::now() + std::time::Duration::from_millis(50);
    while Instant::now() < silent {
        common::pump(&b);
        assert!(b.event().is_none(), "the link is still up");
    }

    // Nodes that a child opens meet each other. A copy of its parent's lets nobody in, and its
    // waits end when they should.
    assert!(in_child(|| {
        let (c, d) = (open(directory.path(), "c"), open(directory.path(), "d"));
        let _linked = link(&c, &d, "d");
        c.hunt(&name("b")).unwrap();
        for _ in 0..50 {
            b.wait(common::no_words(), Wait::Bell, Some(b.now()));
            common::pump(&c);
            assert!(c.event().is_none(), "a copy answered");
        }
    }));
    while b.event().is_some() || a.event().is_some() {}
    let c = open(directory.path(), "c");
    let _linked = link(&c, &b, "b");
    a.close(of_a.key);
    loop {
        match next(&b, Wait::Bell) {
            Ok(Event::Lost { key, reason }) if key == of_b.key => {
                break assert_eq!(reason, Lost::Closed);
            }
            news => drop(connected(news)),
        }
    }
}

const PORT: u16 = 1;

/// A payload that says which it is: short ones travel in slots, every fifth in a block.
fn payload(number: u32) -> Vec<u8> {
    let len = if number.is_multiple_of(5) { 3000 } else { 20 };
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.resize(len, number as u8);
    bytes
}

/// Answers every message, which has to be the one behind the last, until its peer is gone. How many
/// there were.
fn peer(mut node: Node) -> u32 {
    node.open(PORT).unwrap();
    let mut link = None;
    let mut buffer = [0; 4096];
    let mut number = 0;
    loop {
        if link.is_none() {
            link = node.links().next().map(|(link, _)| link);
            if let Some(link) = link {
                node.link(link).attach(PORT).unwrap();
            }
        }
        let received = match node.receive_into(PORT, &mut buffer, Some(Duration::from_millis(50))) {
            Ok(received) => received,
            Err(why) => {
                assert_eq!(why, PortError::Deadline);
                continue;
            }
        };
        match received.what {
            What::Message => {
                assert_eq!(received.bytes(&buffer), payload(number), "message {number}");
                node.send(PORT, received.from, &payload(number)[..], Some(PATIENCE)).unwrap();
                number += 1;
            }
            What::PeerGone(reason) => {
                assert_eq!(reason, Lost::Closed);
                return number;
            }
            what => panic!("{what:?}"),
        }
    }
}

/// Everything that an application may do with the copy of a node, until each says why not.
fn misuse(node: &mut Node, link: LinkId) {
    let to = Address { link, port: PORT };
    let mut refused = None;
    // As many as fit the ring go nowhere, and no more than that.
    let (own, _) = node.link(link).layouts().unwrap();
    for _ in 0..=own.slots() {
        refused = node.try_send(PORT, to, &[0xee; 48][..]).err();
        if refused.is_some() {
            break;
        }
    }
    assert_eq!(refused, Some(SendError::Gone(Lost::Forked)));
    let mut buffer = [0; 64];
    // The port is attached, so it is told once; then there is nothing to wait for.
    let told = node.receive_into(PORT, &mut buffer, None).unwrap();
    assert_eq!(told.what, What::PeerGone(Lost::Forked));
    assert_eq!(node.receive_into(PORT, &mut buffer, None), Err(PortError::Forked));
    assert!(matches!(node.receive(PORT, &Select::default(), None), Err(PortError::Forked)));
    let long = node.send(PORT, to, &[0xee; 3000][..], None);
    assert_eq!(long, Err(SendError::Gone(Lost::Forked)));
    assert_eq!(node.link(link).undelivered(|_, _| panic!("nothing comes back")), Ok(0));
    let mut run = |_: &dyn Source, _: &mut dyn Sink| Ok(());
    let mut library = [Function { name: name("f"), run: &mut run }];
    assert_eq!(node.serve(&mut library, None), Err(ServeError::Forked));
    let hunted = node.hunt(&name("third"), None);
    assert_eq!(hunted, Err(LinkError::Hunt(HuntError::Forked)));
    node.link(link).close();
}

fn exchange(node: &mut Node, to: Address, numbers: std::ops::Range<u32>) {
    let mut buffer = [0; 4096];
    for number in numbers {
        node.send(PORT, to, &payload(number)[..], Some(PATIENCE)).unwrap();
        let answer = node.receive_into(PORT, &mut buffer, Some(PATIENCE)).unwrap();
        assert_eq!((answer.what, answer.bytes(&buffer)), (What::Message, &payload(number)[..]));
    }
}

/// The peer is a thread, which works while this process forks.
#[test]
fn what_a_forked_copy_sends_reaches_nobody_while_the_parents_node_goes_on() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let options = |name: &str| Options::new(name).directory(directory.path());
    let theirs = options("peer").node().unwrap();
    let peer = thread::spawn(move || peer(theirs));
    let mut node = options("parent").node().unwrap();
    node.open(PORT).unwrap();
    let link = node.hunt(&name("peer"), Some(PATIENCE)).unwrap();
    node.link(link).attach(PORT).unwrap();
    let to = Address { link, port: PORT };
    let mut number = 0;
    for _ in 0..20 {
        exchange(&mut node, to, number..number + 100);
        // With the peer at work: it may be about to answer.
        node.send(PORT, to, &payload(number + 100)[..], None).unwrap();
        let child = fork(|| misuse(&mut node, link));
        let answer = node.receive(PORT, &Select::default(), Some(PATIENCE)).unwrap();
        node.release(answer);
        exchange(&mut node, to, number + 101..number + 400);
        assert!(ended_well(child));
        number += 400;
        exchange(&mut node, to, number..number + 10);
        number += 10;
    }
    drop(node);
    assert_eq!(peer.join().unwrap(), number);
}

/// A copy engine and the carrier of frames are threads, and a child has its parent's threads no
/// more.
#[test]
fn a_forked_copy_waits_for_no_thread_of_its_parents() {
    let _alone = alone();
    for carrier in [Carrier::Memory, Carrier::Stream] {
        let directory = tempfile::tempdir().unwrap();
        let options = |name: &str| Options::new(name).directory(directory.path());
        let theirs = options("peer").node().unwrap();
        let peer = thread::spawn(move || peer(theirs));
        let mut node = options("parent").copy_engine(None).carrier(carrier).node().unwrap();
        node.open(PORT).unwrap();
        node.set_strategy("copy_engine/hybrid/external".parse().unwrap());
        let link = node.hunt(&name("peer"), Some(PATIENCE)).unwrap();
        let to = Address { link, port: PORT };
        exchange(&mut node, to, 0..20);
        let mut copy = Some(node);
        assert!(in_child(|| {
            let mut node = copy.take().unwrap();
            let sent = node.try_send(PORT, to, &[0xee; 3000][..]);
            assert_eq!(sent, Err(SendError::NoEngine));
            node.poll();
            let sent = node.try_send(PORT, to, &[0xee; 3000][..]);
            assert_eq!(sent, Err(SendError::Gone(Lost::Forked)));
            drop(node);
        }));
        let mut node = copy.unwrap();
        exchange(&mut node, to, 20..40);
        drop(node);
        assert_eq!(peer.join().unwrap(), 40);
    }
}
