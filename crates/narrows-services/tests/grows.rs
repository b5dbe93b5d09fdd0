//! Topics whose messages get longer, or of which more are kept, than there was memory for at first.

mod common;

use std::sync::mpsc;
use std::time::Duration;

use common::{Other, open, part};
use narrows_host::Exposed;
use narrows_services::{Error, Node, Options, Overflow, Publisher, Refusal, Subscriber};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const SOON: Option<Duration> = Some(Duration::from_secs(20));
const AT_ONCE: Option<Duration> = Some(Duration::ZERO);
const EACH: [Overflow; 3] = [Overflow::DropOldest, Overflow::DropNewest, Overflow::Wait];

/// A message of `len` bytes, all of which say which it is.
fn message(number: usize, len: usize) -> Vec<u8> {
    vec![number as u8; len]
}

/// How long each of a row of messages is: longer and longer, and short ones in between.
fn len(number: usize) -> usize {
    if number.is_multiple_of(3) { number % 50 } else { 1 << (number / 8).min(20) }
}

const MESSAGES: usize = 170;

/// Lets subscribers in until it is so.
fn attended<T: narrows_services::Payload + ?Sized>(publisher: &Publisher<T>, count: usize) {
    while publisher.subscribers() != Ok(count) {
        publisher.attend().unwrap();
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// What those processes do; nothing as a test.
#[test]
fn plays_its_part() {
    let Some((part, node)) = part() else { return };
    match &*part {
        // Publishes what grows, and dies.
        "source" => {
            let frames: Publisher<[u8]> = node.topic("frames").longest(8).publisher().unwrap();
            attended(&frames, 1);
            for number in 0..MESSAGES {
                frames.send(&message(number, len(number))).unwrap();
            }
            std::process::abort();
        }
        // Takes until it is killed.
        "taker" => {
            let frames: Subscriber<[u8]> = node.subscriber("frames").unwrap();
            loop {
                let _ = frames.receive(SOON).map(|frame| frame.read());
            }
        }
        // Has no addresses for what might come.
        "poor" => {
            let memory = std::fs::read_to_string("/proc/self/statm").unwrap();
            let pages: u64 = memory.split(' ').next().unwrap().parse().unwrap();
            let current = Some(pages * 4096 + (256 << 20));
            let maximum = getrlimit(Resource::As).maximum;
            setrlimit(Resource::As, Rlimit { current, maximum }).unwrap();
            let frames = node.subscribe("frames").patience(SOON).subscriber::<[u8]>();
            let Err(Error::Memory(topic, why)) = frames else { panic!("it has no room") };
            assert!(topic == "frames" && why.contains("memory"), "{why}");
        }
        part => panic!("no part is called {part}"),
    }
}

#[test]
fn longer_and_longer_messages_come_in_their_order_to_slow_subscribers_of_each_kind() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "source");
    let topic = node.topic("frames").longest(8).slots(16).history(4).patience(SOON);
    let frames: Publisher<[u8]> = topic.publisher().unwrap();
    let threads = EACH.map(|overflow| {
        let path = directory.path().to_owned();
        std::thread::spawn(move || {
            let node = open(&path, &format!("{overflow:?}"));
            let wish = node.subscribe("frames").depth(8).holds(2).overflow(overflow);
            let frames: Subscriber<[u8]> = wish.patience(SOON).subscriber().unwrap();
            let (mut heard, mut before) = (Vec::new(), None);
            loop {
                std::thread::sleep(Duration::from_micros(300));
                let frame = match frames.receive(SOON) {
                    Ok(frame) => frame,
                    Err(Error::Gone(_)) => return (heard, frames.lost() as usize),
                    Err(error) => panic!("{error}"),
                };
                let bytes = frame.read().unwrap();
                // What is held stays as it is, wherever it lies.
                if let Some((before, held)) = before.replace((bytes.clone(), frame)) {
                    assert!(narrows_services::Sample::<[u8]>::read(&held).unwrap() == before);
                }
                heard.push(bytes);
            }
        })
    });
    attended(&frames, 3);
    for number in 0..MESSAGES {
        frames.send(&message(number, len(number))).unwrap();
    }
    // A subscriber that joins now has what was kept, whatever it was kept in.
    let path = directory.path().to_owned();
    let (told, late) = mpsc::channel();
    let later = std::thread::spawn(move || {
        let node = open(&path, "later");
        let frames: Subscriber<[u8]> =
            node.subscribe("frames").history(4).patience(SOON).subscriber().unwrap();
        let kept = [(); 4].map(|()| frames.receive(SOON).unwrap().read().unwrap());
        told.send(()).unwrap();
        kept
    });
    while late.try_recv().is_err() {
        frames.attend().unwrap();
    }
    drop(frames);
    let all: Vec<Vec<u8>> = (0..MESSAGES).map(|number| message(number, len(number))).collect();
    assert!(later.join().unwrap() == all[MESSAGES - 4..]);
    for (thread, overflow) in threads.into_iter().zip(EACH) {
        let (heard, lost) = thread.join().unwrap();
        assert_eq!(heard.len() + lost, MESSAGES, "{overflow:?}");
        let mut rest = all.iter();
        assert!(heard.iter().all(|one| rest.any(|other| one == other)), "{overflow:?}: in order");
        if overflow == Overflow::Wait {
            assert_eq!(lost, 0);
        }
        if overflow == Overflow::DropOldest {
            assert!(heard.last() == all.last(), "the latest is there");
        }
    }
}

#[test]
fn a_queue_is_kept_and_a_subscriber_let_in_though_there_were_too_few_slots() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "source");
    let numbers: Publisher<u64> =
        node.topic("numbers").slots(8).patience(AT_ONCE).publisher().unwrap();
    let path = directory.path().to_owned();
    let (told, tell) = (mpsc::channel::<()>(), mpsc::channel::<()>());
    let (goes, go) = (told.0, told.1);
    let sink = std::thread::spawn(move || {
        // Of each as deep as there may be: 24 wait, 40 at most are in memory.
        let some: Vec<(Node, Subscriber<u64>)> = EACH
            .into_iter()
            .map(|overflow| {
                let node = open(&path, &format!("{overflow:?}"));
                let wish = node.subscribe("numbers").depth(8).holds(4).overflow(overflow);
                let made = wish.patience(SOON).subscriber().unwrap();
                (node, made)
            })
            .collect();
        tell.0.send(()).unwrap();
        go.recv().unwrap();
        some.iter()
            .map(|(_, numbers)| {
                std::iter::from_fn(|| numbers.take().unwrap())
                    .map(|sample| sample.read().unwrap())
                    .collect()
            })
            .collect::<Vec<Vec<u64>>>()
    });
    while tell.1.try_recv().is_err() {
        numbers.attend().unwrap();
        std::thread::sleep(Duration::from_micros(200));
    }
    for number in 0..8 {
        numbers.send(&number).unwrap();
    }
    assert_eq!(numbers.send(&8), Err(Error::Full("numbers".into())));
    goes.send(()).unwrap();
    assert_eq!(sink.join().unwrap(), vec![(0..8).collect::<Vec<u64>>(); 3]);
}

#[test]
fn the_limit_is_an_error_by_name_and_shorter_messages_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "source");
    let topic = node.topic("frames").longest(8).slots(4).limit(1 << 16).patience(AT_ONCE);
    let frames: Publisher<[u8]> = topic.publisher().unwrap();
    frames.send(&[1; 10_000]).unwrap();
    let long = frames.send(&[1; 1 << 16]).err().unwrap();
    let expected = Error::Limit { topic: "frames".into(), bytes: 1 << 16, limit: 1 << 16 };
    assert_eq!(long, expected);
    assert!(long.to_string().contains("Topic::limit"), "{long}");
    assert!(frames.loan(1 << 20).is_err());
    frames.send(&[1; 10_000]).unwrap();
    // There is no room for 4 such messages that wait and 15 that are held.
    let path = directory.path().to_owned();
    let refused = std::thread::spawn(move || {
        let node = open(&path, "sink");
        let wish = node.subscribe("frames").depth(4).holds(15).overflow(Overflow::Wait);
        wish.patience(SOON).subscriber::<[u8]>().err()
    });
    while !refused.is_finished() {
        frames.attend().unwrap();
    }
    let refusal = Some(Error::Refused("frames".into(), Refusal::Terms));
    assert_eq!(refused.join().unwrap(), refusal);
}

#[test]
fn what_grew_is_taken_after_its_publisher_died() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "sink");
    let mut source = Other::start("source", directory.path());
    let wish = node.subscribe("frames").depth(32).holds(2).patience(SOON);
    let frames: Subscriber<[u8]> = wish.subscriber().unwrap();
    source.0.wait().unwrap();
    for number in MESSAGES - 32..MESSAGES {
        assert!(frames.receive(SOON).unwrap().read() == Ok(message(number, len(number))));
    }
    assert_eq!(frames.receive(SOON).err(), Some(Error::Gone("frames".into())));
}

#[test]
fn a_subscriber_that_is_killed_while_the_topic_grows_holds_nobody_up() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "source");
    let frames: Publisher<[u8]> =
        node.topic("frames").longest(8).slots(4).subscribers(1).patience(SOON).publisher().unwrap();
    for round in 0..6 {
        let taker = Other::start("taker", directory.path());
        attended(&frames, 1);
        let mut taker = Some(taker);
        for number in 0..200 {
            frames.send(&message(number, number << round)).unwrap();
            if number == 20 * round {
                drop(taker.take());
            }
        }
        attended(&frames, 0);
    }
}

#[test]
fn who_has_no_room_for_it_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "source");
    let frames: Publisher<[u8]> = node.topic("frames").limit(1 << 30).publisher().unwrap();
    let mut poor = Other::start("poor", directory.path());
    let ended = loop {
        frames.attend().unwrap();
        if let Some(ended) = poor.0.try_wait().unwrap() {
            break ended;
        }
    };
    assert!(ended.success());
    attended(&frames, 0);
    frames.send(&[1; 1 << 20]).unwrap();
}

#[test]
fn a_subscriber_that_lies_makes_it_grow_by_what_it_may_hold_and_no_more() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "source");
    let topic = node.topic("numbers").slots(4).limit(20 * 64).patience(AT_ONCE);
    let numbers: Publisher<u64> = topic.publisher().unwrap();
    let note = Exposed::new(4096).unwrap();
    let mut liar = Options::new("liar").directory(directory.path()).node().unwrap();
    let offer = &liar.platform().offers()[0];
    let port = offer.text.rsplit_once(' ').unwrap().1.parse().unwrap();
    let source = offer.node;
    let types = "u64"
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    liar.open(1).unwrap();
    let link = liar.hunt(&source, SOON).unwrap();
    let words = [u32::from_le_bytes(*b"NsJ2"), types, 4, 4, 2, 0];
    let mut wish: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    wish.extend(note.place().encode());
    liar.send(1, narrows::endpoint::Address { link, port }, &wish, SOON).unwrap();
    attended(&numbers, 1);
    use narrows::platform::{Memory as _, WordsMut as _};
    let lies = note.region().words(0, 32).unwrap();
    for round in 0..5000_u32 {
        (0..16).for_each(|word| lies.store(word, round.wrapping_mul(0x9e37_79b9) % 23));
        // It waits for nobody's lie: what is said to be held is no more than what may be.
        numbers.send(&round.into()).unwrap();
    }
}
