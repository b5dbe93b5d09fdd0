//! A program that waits for services or publishers that may come later is told of them.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use narrows::strategy::Notification;
use narrows_services::untyped::Reader;
use narrows_services::{Error, Node, Options, Subscriber, WaitSet, described};

const SOON: Option<Duration> = Some(Duration::from_secs(20));

fn open(directory: &Path, name: &str) -> Node {
    Node::with(Options::new(name).directory(directory)).unwrap()
}

/// The pipes of those that want to be told.
fn pipes(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory.join("default")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| Some(name.strip_prefix(".@watch@")?.to_owned())).collect()
}

/// Publishes in a thread of its own until it is dropped.
struct Source {
    over: mpsc::Sender<()>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Source {
    fn start(directory: &Path, name: &str) -> Source {
        let (over, is_over) = mpsc::channel();
        let (directory, name) = (directory.to_owned(), name.to_owned());
        let thread = std::thread::spawn(move || {
            let node = open(&directory, &name);
            let numbers = node.topic("numbers").history(1).publisher::<u64>().unwrap();
            numbers.send(&7).unwrap();
            while is_over.try_recv() == Err(mpsc::TryRecvError::Empty) {
                node.run(Some(Duration::from_millis(2))).unwrap();
            }
        });
        Source { over, thread: Some(thread) }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let _ = self.over.send(());
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

/// One of the numbers, of which it is known how long it sleeps.
fn reader(node: &Node) -> Reader {
    let reader = node.subscribe("numbers").history(1).reader(described::<u64>()).unwrap();
    reader.join(SOON).unwrap();
    reader
}

/// Goes on until there is nothing to do but to be told.
fn settle(node: &Node, numbers: &Reader) {
    let begin = Instant::now();
    loop {
        while numbers.take().unwrap().is_some() {}
        if !numbers.is_ready().unwrap() && numbers.due_in().is_none() {
            return;
        }
        assert!(begin.elapsed() < SOON.unwrap(), "it looks again and again");
        let due = numbers.due_in().unwrap_or_default();
        node.below().unwrap().wait_any(Some(due));
    }
}

#[test]
fn a_publisher_that_comes_while_a_subscriber_sleeps_without_an_end_is_heard() {
    for how in ["hybrid", "interrupt", "spin", "poll=5ms"] {
        let directory = tempfile::tempdir().unwrap();
        let first = Source::start(directory.path(), "a");
        let node = open(directory.path(), "sink");
        node.below().unwrap().set_notification(how.parse::<Notification>().unwrap());
        let numbers = reader(&node);
        settle(&node, &numbers);
        let path = directory.path().to_owned();
        let later = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            Source::start(&path, "b")
        });
        assert_eq!(numbers.receive(SOON).unwrap().publisher(), "b", "{how}");
        drop((first, later.join().unwrap()));
    }
}

#[test]
fn each_subscriber_of_a_set_is_told_whoever_looks_first() {
    let directory = tempfile::tempdir().unwrap();
    let first = Source::start(directory.path(), "a");
    let node = open(directory.path(), "sink");
    let all: [Subscriber<u64>; 3] =
        [(); 3].map(|()| node.subscribe("numbers").history(1).subscriber().unwrap());
    let mut others = Vec::new();
    for count in 2..6 {
        others.push(Source::start(directory.path(), &format!("b{count}")));
        let mut set = WaitSet::new(&node);
        let keys = all.each_ref().map(|numbers| set.subscriber(numbers).unwrap());
        while all.iter().any(|numbers| numbers.publishers() < count) {
            let ready = set.wait(SOON).unwrap();
            assert!(!ready.is_empty() || all.iter().all(|one| one.publishers() == count));
            for key in ready {
                let at = keys.iter().position(|one| one == key).unwrap();
                all[at].take().unwrap();
            }
        }
    }
    drop(first);
}

#[test]
fn with_many_files_that_come_and_go_nothing_is_missed() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "sink");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (over, directory) = (&over, directory.path());
            scope.spawn(move || {
                let noise = open(directory, &format!("noise{thread}"));
                for number in 0_u32.. {
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    let topic = format!("t{thread}-{}", number % 50);
                    drop(noise.publisher::<u64>(&topic).unwrap());
                }
            });
        }
        // However full its pipe is, it looks at everything.
        for _ in 0..20 {
            let wish = node.subscribe("numbers").history(1).patience(SOON);
            let path = directory.path().to_owned();
            let source = scope.spawn(move || Source::start(&path, "source"));
            let numbers: Subscriber<u64> = wish.subscriber().unwrap();
            assert_eq!(numbers.receive(SOON).unwrap().read(), Ok(7));
            drop(source.join().unwrap());
            assert_eq!(numbers.receive(SOON).err(), Some(Error::Gone("numbers".into())));
        }
        over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn who_wants_nothing_any_more_leaves_no_pipe_and_what_a_dead_node_left_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let source = Source::start(directory.path(), "source");
    let node = open(directory.path(), "sink");
    let one = node.subscribe("numbers").publishers(1).subscriber::<u64>().unwrap();
    assert_eq!(pipes(directory.path()), [""; 0], "it hears as many as it may");
    let many = [(); 2].map(|()| reader(&node));
    many.iter().for_each(|numbers| settle(&node, numbers));
    assert_eq!(pipes(directory.path()), ["sink"], "one for all of a node");
    drop(many);
    assert_eq!(pipes(directory.path()), [""; 0]);
    let none = node.hunt("nobody", Some(Duration::from_millis(5)));
    assert!(none.is_err());
    assert_eq!(pipes(directory.path()), [""; 0]);
    let left = directory.path().join("default/.@watch@dead");
    rustix::fs::mkfifoat(rustix::fs::CWD, &left, rustix::fs::Mode::RWXU).unwrap();
    // A node that offers something meanwhile does not wait for a reader.
    drop(node.publisher::<u64>("other").unwrap());
    drop(open(directory.path(), "next"));
    assert_eq!(pipes(directory.path()), [""; 0]);
    drop((one, source));
}

#[test]
fn where_there_can_be_no_pipe_it_is_looked_at_times() {
    let directory = tempfile::tempdir().unwrap();
    let first = Source::start(directory.path(), "a");
    let node = open(directory.path(), "sink");
    std::fs::create_dir(directory.path().join("default/.@watch@sink")).unwrap();
    let numbers = reader(&node);
    assert_eq!(numbers.receive(SOON).unwrap().publisher(), "a");
    assert!(numbers.due_in().is_some());
    let other = Source::start(directory.path(), "b");
    assert_eq!(numbers.receive(SOON).unwrap().publisher(), "b");
    drop((first, other));
}

#[test]
fn a_client_and_a_hunt_that_wait_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let clients = std::thread::spawn(move || {
        let node = open(&path, "gpp");
        let square = node.find("square").patience(SOON).client::<u32, u64>().unwrap();
        let found = node.hunt("cub*", SOON).unwrap();
        (square.call(&12), found[0].service.to_string())
    });
    let node = open(directory.path(), "dsp");
    while pipes(directory.path()) != ["gpp"] {
        std::thread::sleep(Duration::from_millis(1));
    }
    node.serve::<u32, u64>("square", |number| u64::from(*number).pow(2)).unwrap();
    let mut rounds = 0;
    while !clients.is_finished() {
        node.run(Some(Duration::from_millis(10))).unwrap();
        rounds += 1;
        if rounds == 10 {
            node.serve::<u32, u64>("cube", |number| u64::from(*number).pow(3)).unwrap();
        }
    }
    assert_eq!(clients.join().unwrap(), (Ok(144), "cube".to_owned()));
}

#[test]
fn a_directory_that_was_removed_and_made_again_is_watched_again() {
    let directory = tempfile::tempdir().unwrap();
    let first = Source::start(directory.path(), "a");
    let node = open(directory.path(), "sink");
    let numbers = reader(&node);
    settle(&node, &numbers);
    std::fs::remove_dir_all(directory.path().join("default")).unwrap();
    let other = Source::start(directory.path(), "b");
    assert_eq!(numbers.receive(SOON).unwrap().publisher(), "b");
    drop((first, other));
}
