//! One publisher, several subscribers: what each of them gets, and where something is wrong.
#![allow(unsafe_code)]

use std::path::Path;
use std::time::Duration;

use narrows::platform::{Memory as _, OwnMemory as _};
use narrows_host::{Exposed, Options};
use narrows_services::{Error, Node, Overflow, Publisher, Refusal, Subscriber};

const AT_ONCE: Option<Duration> = Some(Duration::ZERO);
const SOON: Option<Duration> = Some(Duration::from_secs(20));

fn open(directory: &Path, name: &str) -> Node {
    Node::with(Options::new(name).directory(directory)).unwrap()
}

/// Has a publisher let subscribers in, until something is so.
fn attend_until<P>(publisher: &Publisher<P>, mut so: impl FnMut() -> bool)
where
    P: narrows_services::Payload + ?Sized,
{
    while !so() {
        publisher.attend().unwrap();
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Subscribes in a thread of its own while the publisher lets it in, and sends it back: both nodes
/// are used by one thread then.
fn subscribed<T, P>(publisher: &Publisher<P>, subscribe: impl FnOnce() -> T + Send) -> T
where
    T: Send,
    P: narrows_services::Payload + ?Sized,
{
    std::thread::scope(|scope| {
        let made = scope.spawn(subscribe);
        attend_until(publisher, || made.is_finished());
        made.join().unwrap()
    })
}

/// What a subscriber's thread does with what it gets, and what it is asked.
enum Ask {
    Take,
    Hold,
    Drop,
    Lost,
    End,
}

/// A subscriber in a thread of its own, which does what it is told.
struct Other {
    ask: std::sync::mpsc::Sender<Ask>,
    answer: std::sync::mpsc::Receiver<Vec<u64>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Other {
    fn new(
        publisher: &Publisher<u64>,
        directory: &Path,
        name: &str,
        make: impl FnOnce(&Node) -> Subscriber<u64> + Send + 'static,
    ) -> Other {
        let (ask, asked) = std::sync::mpsc::channel();
        let (says, answer) = std::sync::mpsc::channel();
        let (directory, name) = (directory.to_owned(), name.to_owned());
        let thread = std::thread::spawn(move || {
            let node = open(&directory, &name);
            let subscriber = make(&node);
            says.send(Vec::new()).unwrap();
            let mut held = Vec::new();
            for what in asked {
                let says_all = match what {
                    Ask::Take => {
                        let mut all = Vec::new();
                        while let Some(sample) = subscriber.take().unwrap() {
                            all.push(sample.read().unwrap());
                        }
                        all
                    }
                    Ask::Hold => match subscriber.take() {
                        Ok(Some(sample)) => {
                            let value = sample.read().unwrap();
                            held.push(sample);
                            vec![value]
                        }
                        Ok(None) => Vec::new(),
                        Err(error) => {
                            assert_eq!(error, Error::Holds("numbers".into()));
                            vec![u64::MAX]
                        }
                    },
                    Ask::Drop => {
                        let values = held.iter().map(|sample| sample.read().unwrap()).collect();
                        held.clear();
                        values
                    }
                    Ask::Lost => vec![subscriber.lost().into()],
                    Ask::End => return,
                };
                says.send(says_all).unwrap();
            }
        });
        // Meanwhile the publisher lets it in.
        attend_until(publisher, || answer.try_recv().is_ok());
        Other { ask, answer, thread: Some(thread) }
    }

    fn ask(&self, what: Ask) -> Vec<u64> {
        self.ask.send(what).unwrap();
        self.answer.recv().unwrap()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.ask.send(Ask::End);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

fn publisher(node: &Node, slots: u32) -> Publisher<u64> {
    node.topic("numbers").slots(slots).patience(AT_ONCE).publisher().unwrap()
}

#[test]
fn each_subscriber_meets_its_own_end_of_a_full_queue() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "source");
    let numbers = publisher(&node, 32);
    let make = |overflow| {
        move |node: &Node| {
            node.subscribe("numbers").depth(4).overflow(overflow).subscriber().unwrap()
        }
    };
    let other = |name, overflow| Other::new(&numbers, directory.path(), name, make(overflow));
    let oldest = other("oldest", Overflow::DropOldest);
    let newest = other("newest", Overflow::DropNewest);
    assert_eq!(numbers.subscribers(), Ok(2));
    for number in 0..100 {
        numbers.send(&number).unwrap();
    }
    assert_eq!(oldest.ask(Ask::Take), [96, 97, 98, 99]);
    assert_eq!(newest.ask(Ask::Take), [0, 1, 2, 3]);
    assert_eq!((oldest.ask(Ask::Lost), newest.ask(Ask::Lost)), (vec![96], vec![96]));
    let waits = other("waits", Overflow::Wait);
    for number in 100..104 {
        numbers.send(&number).unwrap();
    }
    assert_eq!(numbers.send(&104), Err(Error::Full("numbers".into())));
    assert_eq!(waits.ask(Ask::Take), [100, 101, 102, 103]);
    numbers.send(&104).unwrap();
    assert_eq!(waits.ask(Ask::Take), [104]);
    assert_eq!(waits.ask(Ask::Lost), [0]);
}

#[test]
fn what_is_held_stays_as_it_is_however_much_is_published() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "source");
    let numbers = publisher(&node, 6);
    let make = |node: &Node| node.subscribe("numbers").depth(2).holds(2).subscriber().unwrap();
    let [a, b] = ["a", "b"].map(|name| Other::new(&numbers, directory.path(), name, make));
    numbers.send(&1).unwrap();
    assert_eq!((a.ask(Ask::Hold), b.ask(Ask::Hold)), (vec![1], vec![1]));
    numbers.send(&2).unwrap();
    assert_eq!(a.ask(Ask::Hold), [2]);
    for number in 3..1000 {
        numbers.send(&number).unwrap();
        assert_eq!(a.ask(Ask::Hold), [u64::MAX], "no more than was agreed");
    }
    assert_eq!((a.ask(Ask::Drop), b.ask(Ask::Drop)), (vec![1, 2], vec![1]));
    assert_eq!((a.ask(Ask::Take), b.ask(Ask::Take)), (vec![998, 999], vec![998, 999]));
}

#[test]
fn a_slot_that_is_needed_is_taken_back_from_who_may_lose_it() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "source");
    // Of three slots one is kept, and one is written: two messages wait at most, where four may.
    let topic = node.topic("numbers").slots(3).limit(0).history(1).patience(AT_ONCE);
    let numbers: Publisher<u64> = topic.publisher().unwrap();
    let make = |node: &Node| node.subscribe("numbers").depth(4).holds(1).subscriber().unwrap();
    let other = Other::new(&numbers, directory.path(), "other", make);
    for number in 0..100 {
        assert_eq!(numbers.send(&number), Ok(()));
    }
    assert_eq!(other.ask(Ask::Take), [97, 98, 99]);
    assert_eq!(other.ask(Ask::Lost), [97]);
}

#[test]
fn who_joins_later_has_what_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "source");
    let numbers: Publisher<u64> = node.topic("numbers").slots(16).history(3).publisher().unwrap();
    for number in 0..10 {
        numbers.send(&number).unwrap();
    }
    let make =
        |count| move |node: &Node| node.subscribe("numbers").history(count).subscriber().unwrap();
    let other = |name, count| Other::new(&numbers, directory.path(), name, make(count));
    assert_eq!(other("none", 0).ask(Ask::Take), [0; 0]);
    assert_eq!(other("one", 1).ask(Ask::Take), [9]);
    let many = other("many", 8);
    assert_eq!(many.ask(Ask::Take), [7, 8, 9]);
    numbers.send(&10).unwrap();
    assert_eq!(many.ask(Ask::Take), [10]);
}

#[test]
fn the_latest_alone_is_a_queue_of_one() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "source");
    let numbers: Publisher<u64> = node.topic("numbers").history(1).publisher().unwrap();
    let make = |node: &Node| node.subscribe("numbers").depth(1).history(1).subscriber().unwrap();
    numbers.send(&7).unwrap();
    let state = Other::new(&numbers, directory.path(), "state", make);
    assert_eq!(state.ask(Ask::Take), [7]);
    for number in 0..50 {
        numbers.send(&number).unwrap();
    }
    assert_eq!(state.ask(Ask::Take), [49]);
}

#[test]
fn a_sleeping_subscriber_is_woken_and_told_when_the_publisher_goes_and_finds_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let (taken, numbers) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let node = open(&path, "sink");
        let wish = node.subscribe("numbers").overflow(Overflow::Wait).patience(SOON);
        let subscriber: Subscriber<u64> = wish.subscriber().unwrap();
        let mut gone = 0;
        while gone < 3 {
            match subscriber.receive(SOON) {
                Ok(sample) => taken.send(sample.read().unwrap()).unwrap(),
                Err(Error::Gone(_)) => gone += 1,
                Err(error) => panic!("{error}"),
            }
        }
    });
    for life in 0..3 {
        let node = open(directory.path(), "source");
        let publisher: Publisher<u64> = node.publisher("numbers").unwrap();
        attend_until(&publisher, || publisher.subscribers() == Ok(1));
        for number in 0..100 {
            publisher.send(&(life * 1000 + number)).unwrap();
            if number % 10 == 0 {
                // It sleeps meanwhile.
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        for number in 0..100 {
            assert_eq!(numbers.recv_timeout(Duration::from_secs(20)), Ok(life * 1000 + number));
        }
    }
    reader.join().unwrap();
}

#[test]
fn a_loan_is_made_where_it_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "camera");
    let frames: Publisher<[u8]> =
        node.topic("frames").slots(8).longest(1 << 20).limit(0).publisher().unwrap();
    let path = directory.path().to_owned();
    let reader = std::thread::spawn(move || {
        let node = open(&path, "viewer");
        let frames: Subscriber<[u8]> = node.subscriber("frames").unwrap();
        for number in 0..3_u8 {
            let frame = frames.receive(SOON).unwrap();
            // SAFETY: the publisher is this test's.
            let pixels = unsafe { frame.trusted() }.unwrap();
            assert_eq!(pixels.len(), 1000 << number);
            assert!(pixels.iter().all(|pixel| *pixel == number + 1));
        }
    });
    attend_until(&frames, || frames.subscribers() == Ok(1));
    for number in 0..3_u8 {
        // One that is not sent is no one's.
        frames.loan(10).unwrap().fill(99);
        let mut frame = frames.loan(1000 << number).unwrap();
        frame.fill(number + 1);
        assert_eq!(frames.send(&[]), Err(Error::Busy));
        frame.send().unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    reader.join().unwrap();
    let long = frames.loan((1 << 20) + 65).err().unwrap().to_string();
    let said = "has 1048641 bytes and is larger than its slots, and slots for it are more than the \
                8388608 bytes";
    assert!(long.contains(said), "{long}");
}

#[test]
fn who_does_not_fit_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "source");
    let numbers: Publisher<u64> =
        node.topic("numbers").slots(16).limit(0).subscribers(2).publisher().unwrap();
    let refused = |name: &'static str, make: fn(&Node) -> Result<Subscriber<u64>, Error>| {
        let path = directory.path().to_owned();
        subscribed(&numbers, move || make(&open(&path, name)).err())
    };
    let other = subscribed(&numbers, || {
        let node = open(directory.path(), "typed");
        node.subscriber::<i64>("numbers").err()
    });
    assert!(matches!(other, Some(Error::Types { .. })), "{other:?}");
    let terms = Some(Error::Refused("numbers".into(), Refusal::Terms));
    let deep = refused("deep", |node| node.subscribe("numbers").depth(512).subscriber());
    assert_eq!(deep, terms);
    let waits = |node: &Node| {
        node.subscribe("numbers").depth(16).overflow(Overflow::Wait).subscriber::<u64>()
    };
    assert_eq!(refused("waits", waits), terms);
    let make = |node: &Node| node.subscribe("numbers").depth(2).subscriber().unwrap();
    let some: Vec<Other> =
        ["a", "b"].map(|name| Other::new(&numbers, directory.path(), name, make)).into();
    let full = refused("c", |node| node.subscribe("numbers").depth(2).subscriber());
    assert_eq!(full, Some(Error::Refused("numbers".into(), Refusal::Full)));
    drop(some);
    // Those that have gone make room.
    let make = |node: &Node| node.subscribe("numbers").depth(2).subscriber().unwrap();
    let next = Other::new(&numbers, directory.path(), "d", make);
    numbers.send(&5).unwrap();
    assert_eq!(next.ask(Ask::Take), [5]);
    for (slots, history) in [(0, 0), (1 << 17, 0), (4, 4)] {
        let made = node.topic("odd").slots(slots).history(history).publisher::<u64>();
        assert_eq!(made.err(), Some(Error::Slots("odd".into(), slots)));
    }
    let made = node.publisher::<u64>("numbers").err();
    assert_eq!(made, Some(Error::Offered("numbers".into())));
}

#[test]
fn a_subscriber_that_lies_hurts_nobody_else() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "source");
    let numbers = publisher(&node, 8);
    let make = |node: &Node| node.subscribe("numbers").depth(2).holds(1).subscriber().unwrap();
    let honest = Other::new(&numbers, directory.path(), "honest", make);
    // Says what it likes in its note: that it holds slots, and has taken what there is not.
    let note = Exposed::new(4096).unwrap();
    let mut liar = Options::new("liar").directory(directory.path()).node().unwrap();
    let offer = &liar.platform().offers()[0];
    let port = offer.text.rsplit_once(' ').unwrap().1.parse().unwrap();
    let (source, hash) = (offer.node, 0x811c_9dc5_u32);
    let types =
        "u64".bytes().fold(hash, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    liar.open(1).unwrap();
    let link = liar.hunt(&source, SOON).unwrap();
    let to = narrows::endpoint::Address { link, port };
    let words = [u32::from_le_bytes(*b"NsJ2"), types, 2, 1, 2, 0];
    let mut wish: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    wish.extend(note.place().encode());
    // Nonsense before it, of every length.
    for len in 0..wish.len() {
        liar.send(1, to, &wish[..len], SOON).unwrap();
    }
    liar.send(1, to, &wish, SOON).unwrap();
    numbers.attend().unwrap();
    assert_eq!(numbers.subscribers(), Ok(2));
    let lies = note.region().words(0, 32).unwrap();
    for round in 0..2000_u32 {
        use narrows::platform::WordsMut as _;
        (0..32).for_each(|word| lies.store(word, round.wrapping_mul(0x9e37_79b9) % 11));
        numbers.send(&round.into()).unwrap();
        assert_eq!(honest.ask(Ask::Take), [u64::from(round)]);
    }
    note.region().write(0, &[255; 128]).unwrap();
    numbers.send(&7).unwrap();
    assert_eq!(honest.ask(Ask::Take), [7]);
}

/// A subscriber that has slept is woken by each message until it looks again: those alone may fill
/// the ring.
#[test]
fn that_a_publisher_has_gone_is_heard_where_its_link_has_no_room() {
    let directory = tempfile::tempdir().unwrap();
    let source = open(directory.path(), "source");
    let numbers = publisher(&source, 8);
    let path = directory.path().to_owned();
    let (slept, sleeps) = std::sync::mpsc::channel();
    let (ended, ends) = std::sync::mpsc::channel();
    let sink = std::thread::spawn(move || {
        let node = open(&path, "sink");
        let wish = node.subscribe("numbers").depth(4).overflow(Overflow::DropNewest);
        let numbers: Subscriber<u64> = wish.patience(SOON).subscriber().unwrap();
        assert_eq!(numbers.receive(AT_ONCE).err(), Some(Error::Nothing("numbers".into())));
        slept.send(()).unwrap();
        ends.recv().unwrap();
        for number in 0..4 {
            assert_eq!(numbers.receive(SOON).unwrap().read(), Ok(number));
        }
        assert_eq!(numbers.receive(SOON).err(), Some(Error::Gone("numbers".into())));
    });
    attend_until(&numbers, || sleeps.try_recv().is_ok());
    for number in 0..1000 {
        numbers.send(&number).unwrap();
    }
    drop(numbers);
    ended.send(()).unwrap();
    sink.join().unwrap();
}
