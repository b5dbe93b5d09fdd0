//! Waiting for many things at once, in whichever way the node waits.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use narrows::strategy::{Notification, Strategy};
use narrows_host::Options;
use narrows_services::{Error, Node, Overflow, Publisher, Subscriber, WaitSet};

const SOON: Option<Duration> = Some(Duration::from_secs(20));
const AT_ONCE: Option<Duration> = Some(Duration::ZERO);
const ROUNDS: u64 = 300;

fn open(directory: &Path, name: &str) -> Node {
    Node::with(Options::new(name).directory(directory)).unwrap()
}

/// A waiter is asked over a topic, a socket and a call in turns, and answers each over a socket
/// before the next is asked: so it has nothing to do but to wait, and whatever it misses ends all.
fn nothing_is_missed(how: Notification) {
    let directory = tempfile::tempdir().unwrap();
    let source = open(directory.path(), "source");
    let topic = source.topic("numbers").patience(SOON);
    let numbers: Publisher<u64> = topic.publisher().unwrap();
    let (mut asks, socket) = UnixStream::pair().unwrap();
    let (answers, answered) = mpsc::channel();
    let path = directory.path().to_owned();
    let waiter = std::thread::spawn(move || {
        let node = open(&path, "waiter");
        node.below().unwrap().set_notification(how);
        let says = answers.clone();
        node.serve::<u64, u64>("twice", move |number| {
            says.send(*number).unwrap();
            2 * number
        })
        .unwrap();
        let subscribe = node.subscribe("numbers").depth(1).overflow(Overflow::Wait);
        let subscriber: Subscriber<u64> = subscribe.subscriber().unwrap();
        let mut set = WaitSet::new(&node);
        let (numbers, socket_key) = (set.subscriber(&subscriber).unwrap(), set.fd(&socket));
        loop {
            let ready = set.wait(SOON).unwrap();
            assert!(!ready.is_empty(), "{how}: something was missed");
            if ready.contains(&numbers) {
                match subscriber.take() {
                    Ok(Some(sample)) => answers.send(sample.read().unwrap()).unwrap(),
                    Ok(None) => {}
                    Err(error) => return error,
                }
            }
            if ready.contains(&socket_key) {
                let mut number = [0; 8];
                (&socket).read_exact(&mut number).unwrap();
                answers.send(u64::from_le_bytes(number)).unwrap();
            }
        }
    });
    while numbers.subscribers() == Ok(0) {
        numbers.attend().unwrap();
    }
    let twice = source.client::<u64, u64>("twice").unwrap();
    for number in 0..ROUNDS {
        match number % 3 {
            0 => numbers.send(&number).unwrap(),
            1 => asks.write_all(&number.to_le_bytes()).unwrap(),
            _ => assert_eq!(twice.call(&number), Ok(2 * number)),
        }
        assert_eq!(answered.recv_timeout(SOON.unwrap()), Ok(number), "{how}");
        if number % 16 == 0 {
            // It sleeps by then, however long it looked before.
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    drop((numbers, twice, source));
    assert_eq!(waiter.join().unwrap(), Error::Gone("numbers".into()));
}

#[test]
fn a_set_misses_nothing_where_its_node_sleeps() {
    nothing_is_missed(Notification::Interrupt);
    nothing_is_missed(Notification::Coalesced { messages: 4, within: Duration::from_millis(1) });
}

#[test]
fn a_set_misses_nothing_where_its_node_looks_first() {
    nothing_is_missed(Strategy::default().notification);
}

#[test]
fn a_set_misses_nothing_where_its_node_spins() {
    nothing_is_missed(Notification::Spin);
}

#[test]
fn a_set_misses_nothing_where_its_node_looks_by_a_timer() {
    let every = Duration::from_micros(200);
    nothing_is_missed(Notification::Poll { every });
    nothing_is_missed(Notification::Timer { every });
}

#[test]
fn a_descriptor_whose_other_end_is_closed_is_ready_and_one_that_is_removed_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "waiter");
    let (other, socket) = UnixStream::pair().unwrap();
    let mut set = WaitSet::new(&node);
    let (reads, writes) = (set.fd(&socket), set.fd_to_write(&socket));
    assert_eq!(set.wait(SOON), Ok(&[writes][..]));
    set.remove(writes);
    assert_eq!(set.wait(AT_ONCE), Ok(&[][..]));
    drop(other);
    for _ in 0..3 {
        assert_eq!(set.wait(None), Ok(&[reads][..]));
    }
    set.remove(reads);
    assert_eq!(set.wait(AT_ONCE), Ok(&[][..]));
}

#[test]
fn timers_are_ready_in_their_order_and_again() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "waiter");
    let mut set = WaitSet::new(&node);
    let (hour, soon) = (set.every(Duration::from_secs(3600)), set.every(Duration::from_millis(1)));
    for _ in 0..5 {
        assert_eq!(set.wait(None), Ok(&[soon][..]));
    }
    let at_once = set.every(Duration::ZERO);
    let never = set.every(Duration::MAX);
    for _ in 0..5 {
        let ready = set.wait(None).unwrap();
        assert!(ready.contains(&at_once) && !ready.contains(&hour) && !ready.contains(&never));
    }
}

#[test]
fn a_set_waits_until_a_topic_is_there_and_is_told_when_it_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let source = open(directory.path(), "source");
    let first: Publisher<u64> = source.publisher("numbers").unwrap();
    let (taken, numbers) = mpsc::channel();
    let waiter = std::thread::spawn(move || {
        let node = open(&path, "waiter");
        let subscriber: Subscriber<u64> = node.subscriber("numbers").unwrap();
        let mut set = WaitSet::new(&node);
        set.subscriber(&subscriber).unwrap();
        loop {
            assert!(!set.wait(SOON).unwrap().is_empty());
            match subscriber.take() {
                Ok(Some(sample)) => taken.send(sample.read().ok()).unwrap(),
                Ok(None) => {}
                Err(Error::Gone(_)) => taken.send(None).unwrap(),
                Err(error) => return error,
            }
        }
    });
    while first.subscribers() == Ok(0) {
        first.attend().unwrap();
    }
    first.send(&1).unwrap();
    assert_eq!(numbers.recv_timeout(SOON.unwrap()), Ok(Some(1)));
    drop(first);
    assert_eq!(numbers.recv_timeout(SOON.unwrap()), Ok(None));
    let second: Publisher<u64> = source.topic("numbers").history(1).publisher().unwrap();
    while second.subscribers() == Ok(0) {
        second.attend().unwrap();
    }
    second.send(&2).unwrap();
    assert_eq!(numbers.recv_timeout(SOON.unwrap()), Ok(Some(2)));
    drop(second);
    assert_eq!(numbers.recv_timeout(SOON.unwrap()), Ok(None));
    let _other: Publisher<i8> = source.publisher("numbers").unwrap();
    assert!(matches!(waiter.join().unwrap(), Error::Types { .. }));
}

#[test]
fn a_set_lets_subscribers_in_and_takes_none_of_another_node() {
    let directory = tempfile::tempdir().unwrap();
    let source = open(directory.path(), "source");
    let numbers: Publisher<u64> = source.topic("numbers").history(1).publisher().unwrap();
    numbers.send(&3).unwrap();
    let path = directory.path().to_owned();
    let sink = std::thread::spawn(move || {
        let node = open(&path, "sink");
        let subscriber: Subscriber<u64> =
            node.subscribe("numbers").history(1).subscriber().unwrap();
        let other = open(&path, "other");
        assert_eq!(WaitSet::new(&other).subscriber(&subscriber), Err(Error::OtherNode));
        subscriber.receive(SOON).unwrap().read()
    });
    let mut set = WaitSet::new(&source);
    set.every(Duration::from_millis(5));
    while !sink.is_finished() {
        set.wait(SOON).unwrap();
    }
    assert_eq!(sink.join().unwrap(), Ok(3));
    // Nor does one wait in a function that the node serves.
    let own = source.clone();
    source
        .serve::<(), u8>("waits", move |()| {
            u8::from(WaitSet::new(&own).wait(AT_ONCE) == Err(Error::Busy))
        })
        .unwrap();
    let path = directory.path().to_owned();
    let asks = std::thread::spawn(move || {
        open(&path, "asker").client::<(), u8>("waits").unwrap().call(&())
    });
    while !asks.is_finished() {
        set.wait(SOON).unwrap();
    }
    assert_eq!(asks.join().unwrap(), Ok(1));
}
