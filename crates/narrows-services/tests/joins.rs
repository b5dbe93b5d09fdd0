//! How subscribers come and go: what is said late, which subscriber leaves what behind, and names
//! that clash.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use narrows_host::Options;
use narrows_services::{Error, Node, Overflow, Publisher, Refusal, Subscriber};

const AT_ONCE: Option<Duration> = Some(Duration::ZERO);
const SOON: Option<Duration> = Some(Duration::from_secs(20));
/// Bytes of a join, and of the place of a note, which a join ends with.
const JOIN: usize = 44;
const PLACE: usize = 20;

fn open(directory: &Path, name: &str) -> Node {
    Node::with(Options::new(name).directory(directory)).unwrap()
}

/// Has a publisher let subscribers in, until a thread has ended.
fn attended<R: Send>(publisher: &Publisher<u64>, act: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let thread = scope.spawn(act);
        while !thread.is_finished() {
            publisher.attend().unwrap();
            std::thread::sleep(Duration::from_micros(200));
        }
        thread.join().unwrap()
    })
}

#[test]
fn an_answer_that_comes_late_is_taken_for_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let (ready, there) = mpsc::channel();
    let slow = std::thread::spawn(move || {
        let mut node = Options::new("source").directory(path).node().unwrap();
        node.open(5).unwrap();
        node.platform().offer(&"numbers".parse().unwrap(), "publish u64 5").unwrap();
        ready.send(()).unwrap();
        let mut asked = [[0; 128]; 2];
        let [first, second] = asked.each_mut().map(|bytes| {
            let message = node.receive_into(5, bytes, SOON).unwrap();
            assert_eq!(message.len, JOIN);
            (message.from, bytes[JOIN - PLACE..JOIN].to_vec())
        });
        // The first is answered when the second has been asked: that there are too many, and then
        // that its terms are refused.
        for ((from, note), why) in [(first, 1_u32), (second, 2)] {
            let mut answer = b"NsR2".to_vec();
            answer.extend(why.to_le_bytes());
            answer.extend(note);
            node.send(5, from, &answer, SOON).unwrap();
        }
        node.serve(&mut [], Some(Duration::from_millis(1))).ok();
        node
    });
    there.recv().unwrap();
    let node = open(directory.path(), "sink");
    let made = node.subscribe("numbers").patience(SOON).subscriber::<u64>();
    assert_eq!(made.err(), Some(Error::Refused("numbers".into(), Refusal::Terms)));
    drop(slow.join().unwrap());
}

#[test]
fn joins_that_time_out_leave_no_port_and_no_queue_behind() {
    let directory = tempfile::tempdir().unwrap();
    let source = open(directory.path(), "source");
    let numbers: Publisher<u64> = source.topic("numbers").subscribers(1).publisher().unwrap();
    let sink = open(directory.path(), "sink");
    // More often than a node has ports.
    for _ in 0..100 {
        let made = sink.subscribe("numbers").patience(AT_ONCE).subscriber::<u64>();
        assert_eq!(made.err(), Some(Error::NotFound("numbers".into())));
        numbers.attend().unwrap();
        assert_eq!(numbers.subscribers(), Ok(0));
    }
    let (node, path) = (sink, directory.path().to_owned());
    drop(node);
    let made = attended(&numbers, || open(&path, "next").subscriber::<u64>("numbers").err());
    assert_eq!(made, None);
}

/// A subscriber in a thread of its own, which does the one thing that is asked.
fn elsewhere<R: Send + 'static>(
    path: PathBuf,
    name: &'static str,
    act: impl FnOnce(Node) -> R + Send + 'static,
) -> std::thread::JoinHandle<R> {
    std::thread::spawn(move || act(open(&path, name)))
}

#[test]
fn a_sample_outlives_its_subscriber_and_its_node() {
    let directory = tempfile::tempdir().unwrap();
    let source = open(directory.path(), "source");
    let topic = source.topic("numbers").slots(3).limit(0).subscribers(1).patience(AT_ONCE);
    let numbers: Publisher<u64> = topic.publisher().unwrap();
    let (told, tell) = (mpsc::channel::<()>(), mpsc::channel::<()>());
    let (drops, dropped) = (told.1, tell.0);
    let sink = elsewhere(directory.path().into(), "sink", move |node| {
        let subscribe = node.subscribe("numbers").depth(1).holds(1);
        let subscriber: Subscriber<u64> = subscribe.subscriber().unwrap();
        let sample = subscriber.receive(SOON).unwrap();
        drop(subscriber);
        drop(node);
        dropped.send(()).unwrap();
        drops.recv().unwrap();
        assert_eq!(sample.read(), Ok(7));
    });
    while numbers.subscribers() == Ok(0) {
        numbers.attend().unwrap();
    }
    numbers.send(&7).unwrap();
    tell.1.recv().unwrap();
    for number in 100..200 {
        numbers.send(&number).unwrap();
    }
    numbers.attend().unwrap();
    assert_eq!(numbers.subscribers(), Ok(1), "what is held is not let go");
    told.0.send(()).unwrap();
    sink.join().unwrap();
    numbers.attend().unwrap();
    assert_eq!(numbers.subscribers(), Ok(0));
}

#[test]
fn a_publisher_that_is_dropped_is_told_of_though_its_node_lives() {
    let directory = tempfile::tempdir().unwrap();
    let source = open(directory.path(), "source");
    let (taken, numbers) = mpsc::channel();
    let sink = elsewhere(directory.path().into(), "sink", move |node| {
        let subscriber: Subscriber<u64> = node.subscriber("numbers").unwrap();
        let mut gone = 0;
        while gone < 3 {
            let received = subscriber.receive(SOON).and_then(|sample| sample.read());
            gone += u32::from(received.is_err());
            taken.send(received).unwrap();
        }
    });
    for life in 0..3 {
        let publisher: Publisher<u64> = source.publisher("numbers").unwrap();
        let first = loop {
            // Until it has joined, nothing is published to it.
            publisher.send(&life).unwrap();
            publisher.attend().unwrap();
            if let Ok(received) = numbers.recv_timeout(Duration::from_millis(1)) {
                break received;
            }
        };
        drop(publisher);
        let rest = std::iter::repeat_with(|| numbers.recv_timeout(SOON.unwrap()).unwrap());
        let mut received = std::iter::once(first).chain(rest).skip_while(|one| *one == Ok(life));
        assert_eq!(received.next(), Some(Err(Error::Gone("numbers".into()))));
    }
    sink.join().unwrap();
}

#[test]
fn who_waits_for_a_subscriber_goes_on_when_it_leaves_or_takes() {
    let directory = tempfile::tempdir().unwrap();
    let source = open(directory.path(), "source");
    let topic = source.topic("numbers").slots(8).subscribers(2).patience(SOON);
    let numbers: Publisher<u64> = topic.publisher().unwrap();
    let make = |take: u64| {
        elsewhere(
            directory.path().into(),
            if take == 2 { "leaver" } else { "reader" },
            move |node| {
                let subscribe =
                    node.subscribe("numbers").depth(1).holds(1).overflow(Overflow::Wait);
                let subscriber: Subscriber<u64> = subscribe.subscriber().unwrap();
                for number in 0..take {
                    assert_eq!(subscriber.receive(SOON).unwrap().read(), Ok(number));
                }
            },
        )
    };
    let [leaver, reader] = [2, 3000].map(make);
    while numbers.subscribers() != Ok(2) {
        numbers.attend().unwrap();
    }
    // Nobody reads the last of them for the one that has left.
    for number in 0..3000 {
        numbers.send(&number).unwrap();
    }
    leaver.join().unwrap();
    reader.join().unwrap();
}

#[test]
fn a_node_that_runs_lets_subscribers_in() {
    let directory = tempfile::tempdir().unwrap();
    let source = open(directory.path(), "source");
    source.serve::<(), u8>("seven", |()| 7).unwrap();
    let numbers: Publisher<u64> = source.topic("numbers").history(1).publisher().unwrap();
    numbers.send(&5).unwrap();
    let path = directory.path().to_owned();
    let sink = std::thread::spawn(move || {
        let node = open(&path, "sink");
        let subscriber: Subscriber<u64> =
            node.subscribe("numbers").history(100).subscriber().unwrap();
        assert_eq!(subscriber.receive(SOON).unwrap().read(), Ok(5));
        assert_eq!(node.client::<(), u8>("seven").unwrap().call(&()), Ok(7));
    });
    while !sink.is_finished() {
        source.run(Some(Duration::from_millis(20))).unwrap();
    }
    sink.join().unwrap();
}

#[test]
fn one_name_is_one_thing_and_terms_that_cannot_be_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| open(directory.path(), name));
    let offered = Error::Offered("both".into());
    one.serve::<u8, u8>("both", |number| *number).unwrap();
    assert_eq!(one.publisher::<u8>("both").err(), Some(offered.clone()));
    one.withdraw("both").unwrap();
    let topic = one.publisher::<u8>("both").unwrap();
    assert_eq!(one.serve::<u8, u8>("both", |number| *number), Err(offered.clone()));
    assert_eq!(one.publisher::<u16>("both").err(), Some(offered));
    // Another node's publishers of it have its type.
    assert!(matches!(other.publisher::<u16>("both").err(), Some(Error::Types { .. })));
    drop(other.publisher::<u8>("both").unwrap());
    // A subscriber of another type, and a client, are told what it is.
    assert!(matches!(other.subscriber::<u16>("both").err(), Some(Error::Types { .. })));
    assert!(matches!(other.client::<u8, u8>("both").err(), Some(Error::Types { .. })));
    drop(topic);
    one.serve::<u8, u8>("both", |number| *number).unwrap();
    for (holds, depth) in [(0, 1), (16, 1), (1, 1 << 17), (1, u32::MAX)] {
        let made = other.subscribe("both").holds(holds).depth(depth).subscriber::<u8>();
        assert_eq!(made.err(), Some(Error::Terms("both".into())));
    }
}
