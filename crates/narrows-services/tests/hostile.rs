//! Programs that die half-way, keep what they were lent, or are more than there is room for: an
//! error by name, and nothing for the others.

mod common;

use std::time::Duration;

use common::{Other, open, part};
use narrows::endpoint::Limits;
use narrows_services::{Error, Node, Options, Overflow, Publisher, Refusal, Subscriber};

const SOON: Option<Duration> = Some(Duration::from_secs(20));
const AT_ONCE: Option<Duration> = Some(Duration::ZERO);

fn has_ended(other: &mut Other) -> bool {
    other.0.try_wait().unwrap().is_some()
}

/// What those processes do; nothing as a test.
#[test]
fn plays_its_part() {
    let Some((part, node)) = part() else { return };
    match &*part {
        // Publishes, and dies between a loan and its message.
        "source" => {
            let numbers: Publisher<u64> = node.publisher("numbers").unwrap();
            while numbers.subscribers() == Ok(0) {
                numbers.attend().unwrap();
            }
            // More than wait: so it has been found when this dies.
            (0..20).for_each(|number| numbers.send(&number).unwrap());
            let mut loan = numbers.loan().unwrap();
            *loan = 99;
            std::process::abort();
        }
        // Takes as many as it may, and dies with them.
        "holder" => {
            let wish = node.subscribe("numbers").depth(2).holds(2).overflow(Overflow::Wait);
            let numbers: Subscriber<u64> = wish.subscriber().unwrap();
            let _held = [(); 2].map(|()| numbers.receive(SOON).unwrap());
            std::process::abort();
        }
        // Keeps them, and lives until it is killed.
        "keeper" => {
            let wish = node.subscribe("numbers").depth(2).holds(2);
            let numbers: Subscriber<u64> = wish.subscriber().unwrap();
            let held = [(); 2].map(|()| numbers.receive(SOON).unwrap());
            loop {
                let values = held.each_ref().map(|sample| sample.read().unwrap());
                assert_eq!(values, [0, 1], "what is held stays as it is");
                assert!(matches!(numbers.take().err(), None | Some(Error::Holds(_))));
            }
        }
        // Asks, and dies.
        "asker" => {
            let ask = node.find("slow").patience(SOON).client::<u64, u64>().unwrap();
            std::thread::spawn(|| {
                std::thread::sleep(Duration::from_millis(5));
                std::process::abort();
            });
            loop {
                let _ = ask.call(&1);
            }
        }
        part => panic!("no part is called {part}"),
    }
}

#[test]
fn a_publisher_that_dies_between_a_loan_and_its_message_published_nothing_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "sink");
    let numbers = {
        let mut source = Other::start("source", directory.path());
        let wish = node.subscribe("numbers").overflow(Overflow::Wait).patience(SOON);
        let numbers: Subscriber<u64> = wish.subscriber().unwrap();
        for number in 0..20 {
            assert_eq!(numbers.receive(SOON).unwrap().read(), Ok(number));
        }
        assert_eq!(numbers.receive(SOON).err(), Some(Error::Gone("numbers".into())));
        while !has_ended(&mut source) {}
        numbers
    };
    // The next has the name, and the same subscriber.
    let _source = Other::start("source", directory.path());
    for number in 0..20 {
        assert_eq!(numbers.receive(SOON).unwrap().read(), Ok(number));
    }
}

#[test]
fn a_subscriber_that_dies_with_what_it_was_lent_holds_nobody_up() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "source");
    let topic = node.topic("numbers").slots(5).limit(0).subscribers(1).patience(SOON);
    let numbers: Publisher<u64> = topic.publisher().unwrap();
    // There is no room for a second: each has the place and the slots of the one before.
    for _ in 0..3 {
        let mut holder = Other::start("holder", directory.path());
        while numbers.subscribers() == Ok(0) {
            numbers.attend().unwrap();
        }
        for number in 0..20 {
            assert_eq!(numbers.send(&number), Ok(()));
        }
        while numbers.subscribers() != Ok(0) {
            numbers.attend().unwrap();
        }
        while !has_ended(&mut holder) {}
    }
}

#[test]
fn a_subscriber_that_never_gives_back_keeps_its_slots_and_no_more() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "source");
    let topic = node.topic("numbers").slots(3).limit(0).subscribers(1).patience(AT_ONCE);
    let numbers: Publisher<u64> = topic.publisher().unwrap();
    let mut keeper = Other::start("keeper", directory.path());
    while numbers.subscribers() == Ok(0) {
        numbers.attend().unwrap();
    }
    let mut number = 0;
    // It takes these two whenever it comes to that.
    while number < 2 {
        numbers.send(&number).unwrap();
        number += 1;
    }
    std::thread::sleep(Duration::from_millis(50));
    for number in 2..10_000 {
        assert_eq!(numbers.send(&number), Ok(()));
    }
    assert!(!has_ended(&mut keeper), "it found what it holds as it was");
}

#[test]
fn a_caller_that_dies_in_a_call_holds_nobody_up() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "dsp");
    node.serve::<u64, u64>("slow", |wait| {
        std::thread::sleep(Duration::from_millis(*wait));
        *wait
    })
    .unwrap();
    let mut asker = Other::start("asker", directory.path());
    let path = directory.path().to_owned();
    let other = std::thread::spawn(move || {
        let node = open(&path, "gpp");
        let slow = node.find("slow").patience(SOON).client::<u64, u64>().unwrap();
        (0..50).map(|_| slow.call(&0)).collect::<Vec<_>>()
    });
    while !has_ended(&mut asker) || !other.is_finished() {
        node.run(Some(Duration::from_millis(5))).unwrap();
    }
    assert_eq!(other.join().unwrap(), vec![Ok(0); 50]);
}

/// Descriptors of this process.
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn a_thousand_subscribers_have_each_message_and_one_more_is_refused_by_name() {
    const MANY: usize = 1000;
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "source");
    let topic = node.topic("numbers").slots(MANY as u32 + 40).subscribers(MANY as u32);
    let numbers: Publisher<u64> = topic.patience(SOON).publisher().unwrap();
    let path = directory.path().to_owned();
    let sink = std::thread::spawn(move || {
        let limits = Limits { endpoints: MANY + 2, ..Limits::default() };
        let options = Options::new("sink").directory(&path).limits(limits);
        let node = Node::with(options).unwrap();
        let subscribe = || node.subscribe("numbers").depth(1).holds(1).patience(SOON).subscriber();
        let before = descriptors();
        let mut all: Vec<Subscriber<u64>> = Vec::new();
        while all.len() < MANY {
            match subscribe() {
                Ok(subscriber) => all.push(subscriber),
                // Where a process may not have `MANY` descriptors, that is said, and the
                // subscribers that there are go on.
                Err(Error::Memory(..)) if all.len() > 100 => break,
                Err(error) => panic!("{}: {error}", all.len()),
            }
        }
        if all.len() == MANY {
            let full = Error::Refused("numbers".into(), Refusal::Full);
            assert_eq!(subscribe().err(), Some(full));
        }
        for subscriber in &all {
            assert_eq!(subscriber.receive(SOON).unwrap().read(), Ok(7));
        }
        let some = all.len();
        drop(all);
        // Other tests come and go beside this one.
        assert!(descriptors() < before + some / 2, "their descriptors are left behind");
    });
    while !sink.is_finished() {
        numbers.attend().unwrap();
        if numbers.subscribers() != Ok(0) {
            numbers.send(&7).unwrap();
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    sink.join().unwrap();
    numbers.attend().unwrap();
    assert_eq!(numbers.subscribers(), Ok(0));
}
