//! Several publishers of one topic: each is heard, in its own order, whatever others come, go, are
//! slow or does not fit.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use common::{Other, open, part};
use narrows_services::{Error, Overflow, Publisher, Subscribe, Subscriber};

const SOON: Option<Duration> = Some(Duration::from_secs(20));
const AT_ONCE: Option<Duration> = Some(Duration::ZERO);

/// A process that publishes numbers until it is killed; nothing as a test.
#[test]
fn plays_its_part() {
    let Some((_, node)) = part() else { return };
    let status: Publisher<u64> = node.publisher("status").unwrap();
    for number in 0.. {
        status.send(&number).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Receives until each of these publishers was heard so often, and no other; each in its order.
fn hear(status: &Subscriber<u64>, of: &[&str], often: u32) {
    let mut heard: BTreeMap<String, (u64, u32)> = BTreeMap::new();
    while heard.len() < of.len() || heard.values().any(|(_, count)| *count < often) {
        let sample = status.receive(SOON).unwrap();
        let (from, number) = (sample.publisher().to_owned(), sample.read().unwrap());
        assert!(of.contains(&&*from), "{from}");
        let (last, count) = heard.entry(from).or_default();
        assert!(*count == 0 || number > *last, "{last} before {number}");
        (*last, *count) = (number, *count + 1);
    }
}

fn until(status: &Subscriber<u64>, publishers: usize) {
    while status.publishers() != publishers {
        status.receive(SOON).unwrap();
    }
}

#[test]
fn processes_that_come_die_and_come_again_are_heard_beside_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let start = |name| Other::start(name, directory.path());
    let (one, two) = (start("one"), start("two"));
    let node = open(directory.path(), "sink");
    let status: Subscriber<u64> = node.subscribe("status").patience(SOON).subscriber().unwrap();
    hear(&status, &["one", "two"], 20);
    drop(one);
    // That it has gone is no error while there is another.
    until(&status, 1);
    hear(&status, &["two"], 20);
    let three = start("three");
    hear(&status, &["two", "three"], 20);
    let one = start("one");
    hear(&status, &["one", "two", "three"], 20);
    drop((one, two, three));
    let gone = loop {
        if let Err(error) = status.receive(SOON) {
            break error;
        }
    };
    assert_eq!((gone, status.publishers()), (Error::Gone("status".into()), 0));
    let briefly = Some(Duration::from_millis(20));
    assert_eq!(status.receive(briefly).err(), Some(Error::NotFound("status".into())));
}

/// A publisher in a thread of its own, which sends what it is told.
struct Source {
    send: Option<mpsc::Sender<u64>>,
    sent: mpsc::Receiver<Result<(), Error>>,
    thread: Option<JoinHandle<()>>,
}

impl Source {
    fn start(directory: &Path, name: &str) -> Source {
        let (send, asked) = mpsc::channel();
        let (says, sent) = mpsc::channel();
        let (directory, name) = (directory.to_owned(), name.to_owned());
        let thread = std::thread::spawn(move || {
            let node = open(&directory, &name);
            let status = node.topic("status").patience(AT_ONCE).publisher::<u64>().unwrap();
            says.send(Ok(())).unwrap();
            loop {
                match asked.recv_timeout(Duration::from_millis(1)) {
                    Ok(number) => says.send(status.send(&number)).unwrap(),
                    Err(mpsc::RecvTimeoutError::Timeout) => status.attend().unwrap(),
                    Err(mpsc::RecvTimeoutError::Disconnected) => return,
                }
            }
        });
        sent.recv().unwrap().unwrap();
        Source { send: Some(send), sent, thread: Some(thread) }
    }

    fn send(&self, number: u64) -> Result<(), Error> {
        self.send.as_ref().unwrap().send(number).unwrap();
        self.sent.recv().unwrap()
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.send.take();
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

/// A subscriber that hears this number of publishers.
fn hearing(wish: Subscribe, publishers: usize) -> Subscriber<u64> {
    let status = wish.patience(SOON).subscriber().unwrap();
    while status.publishers() < publishers {
        assert!(status.take().unwrap().is_none());
    }
    status
}

fn taken(status: &Subscriber<u64>) -> Vec<(String, u64)> {
    let next = || status.take().unwrap();
    let all = std::iter::from_fn(next);
    all.map(|sample| (sample.publisher().to_owned(), sample.read().unwrap())).collect()
}

#[test]
fn a_slow_subscriber_holds_up_or_loses_of_each_publisher_apart() {
    let directory = tempfile::tempdir().unwrap();
    let (a, b) = (Source::start(directory.path(), "a"), Source::start(directory.path(), "b"));
    let node = open(directory.path(), "sink");
    let waits = node.subscribe("status").depth(4).overflow(Overflow::Wait);
    let waits = hearing(waits, 2);
    for number in 0..4 {
        a.send(number).unwrap();
    }
    assert_eq!(a.send(4), Err(Error::Full("status".into())));
    // The other is not held up by that.
    b.send(10).unwrap();
    b.send(11).unwrap();
    let each = |all: Vec<(String, u64)>, of: &str| -> Vec<u64> {
        all.into_iter().filter(|(from, _)| from == of).map(|(_, number)| number).collect()
    };
    let all = taken(&waits);
    // In turn, as long as there is something of both.
    assert_ne!(all[0].0, all[1].0);
    assert_eq!(each(all.clone(), "a"), [0, 1, 2, 3]);
    assert_eq!(each(all, "b"), [10, 11]);
    drop(waits);

    let latest = hearing(node.subscribe("status").depth(2), 2);
    for number in 0..5 {
        a.send(number).unwrap();
    }
    b.send(10).unwrap();
    let all = taken(&latest);
    assert_eq!((each(all.clone(), "a"), each(all, "b")), (vec![3, 4], vec![10]));
    assert_eq!(latest.lost(), 3);
    drop(a);
    while latest.publishers() == 2 {
        assert!(latest.take().unwrap().is_none());
    }
    assert_eq!(latest.lost(), 3, "what was lost stays lost");
}

#[test]
fn what_is_held_of_one_publisher_keeps_nothing_of_another_back() {
    let directory = tempfile::tempdir().unwrap();
    let (a, b) = (Source::start(directory.path(), "a"), Source::start(directory.path(), "b"));
    let node = open(directory.path(), "sink");
    let status = hearing(node.subscribe("status").holds(1), 2);
    a.send(1).unwrap();
    a.send(2).unwrap();
    let held = status.receive(SOON).unwrap();
    assert_eq!((held.publisher(), held.read()), ("a", Ok(1)));
    b.send(10).unwrap();
    let other = status.receive(SOON).unwrap();
    assert_eq!((other.publisher(), other.read()), ("b", Ok(10)));
    assert_eq!(status.take().err(), Some(Error::Holds("status".into())));
    drop(held);
    assert_eq!(status.receive(SOON).unwrap().read(), Ok(2));
}

#[test]
fn one_of_other_types_is_refused_by_name_and_disturbs_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let a = Source::start(directory.path(), "m");
    let odd = open(directory.path(), "a-odd");
    let refused = odd.publisher::<f32>("status").err().unwrap();
    let said = "status of m has other types: it is u64, and this program has f32";
    assert!(refused.to_string().contains(said), "{refused}");
    // Two that are opened at once do not see each other.
    odd.below().unwrap().platform().offer(&"status".parse().unwrap(), "publish f32 60").unwrap();
    let node = open(directory.path(), "sink");
    let status = hearing(node.subscribe("status"), 1);
    a.send(7).unwrap();
    assert_eq!(status.receive(SOON).unwrap().read(), Ok(7));
    for number in 0..1000 {
        a.send(number).unwrap();
        assert_eq!(taken(&status), [("m".to_owned(), number)]);
    }
    let other = node.subscriber::<i8>("status").err().unwrap();
    let said = "status of a-odd has other types: it is f32, and this program has i8";
    assert!(other.to_string().contains(said), "{other}");
}

#[test]
fn no_more_publishers_are_heard_than_were_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let (a, b) = (Source::start(directory.path(), "a"), Source::start(directory.path(), "b"));
    let node = open(directory.path(), "sink");
    let status = hearing(node.subscribe("status").publishers(1), 1);
    for number in 0..10 {
        a.send(number).unwrap();
        b.send(number).unwrap();
        assert_eq!(taken(&status), [("a".to_owned(), number)]);
    }
    drop(a);
    assert_eq!(status.receive(SOON).err(), Some(Error::Gone("status".into())));
    while status.publishers() == 0 {
        assert!(status.take().unwrap().is_none());
    }
    b.send(10).unwrap();
    assert_eq!(status.receive(SOON).unwrap().publisher(), "b");
    for count in [0, 65] {
        let none = node.subscribe("status").publishers(count).subscriber::<u64>();
        assert_eq!(none.err(), Some(Error::Terms("status".into())));
    }
}

#[test]
fn a_publisher_that_answers_late_is_heard_from_then_on_and_nobody_waits_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let late = open(directory.path(), "late");
    let late: Publisher<u64> = late.topic("status").history(1).publisher().unwrap();
    late.send(&70).unwrap();
    let prompt = Source::start(directory.path(), "prompt");
    let node = open(directory.path(), "sink");
    let status = hearing(node.subscribe("status").history(1), 1);
    for number in 0..50 {
        prompt.send(number).unwrap();
        assert_eq!(taken(&status), [("prompt".to_owned(), number)]);
        // Longer in all than an answer is waited for.
        std::thread::sleep(Duration::from_millis(5));
    }
    while status.publishers() == 1 {
        late.attend().unwrap();
        assert!(taken(&status).len() < 2);
    }
    late.send(&71).unwrap();
    assert_eq!(status.receive(SOON).unwrap().publisher(), "late");
}
