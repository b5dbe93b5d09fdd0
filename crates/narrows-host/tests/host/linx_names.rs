//! Names and addresses of LINX endpoints in a domain: handed on, held by several, noted and kept.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use narrows_host::linx::{Endpoint, Error, HandlerError, Options, Select, Signal, Spid, Stack};

const SOON: Option<Duration> = Some(Duration::from_secs(20));
const BRIEFLY: Option<Duration> = Some(Duration::from_millis(30));
const HUNT: u32 = 251;
const STACKS: [Stack; 2] = [Stack::Flat, Stack::Layered];

fn hunt(endpoint: &Endpoint, path: &str) -> Spid {
    endpoint.hunt(path, Signal::with(HUNT, &[])).expect("room");
    endpoint.receive(&Select::only(&[HUNT]), SOON).expect("it is there").sender()
}

/// What the domain's directory has in it.
fn files(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory.join("linx")).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

fn notes(directory: &Path) -> Vec<String> {
    // Those of endpoints; a node has one of its own.
    let of_endpoint = |file: &String| file.starts_with(".@") && !file.starts_with(".@status@");
    files(directory).into_iter().filter(of_endpoint).collect()
}

#[test]
fn whoever_was_handed_an_address_reaches_its_endpoint_and_no_other() {
    for (mine, theirs) in STACKS.into_iter().flat_map(|mine| STACKS.map(|theirs| (mine, theirs))) {
        let directory = tempfile::tempdir().expect("a directory");
        let options = |name: &str| Options::new(name).directory(directory.path());
        let one = options("one").stack(mine).open().expect("free");
        let two = options("two").stack(theirs).open().expect("free");
        let node = options("three").stack(theirs).node().expect("free");
        let three = ["a", "b"].map(|name| node.open(Some(name)).expect("free"));
        let all = [&one, &two, &three[0], &three[1]];
        for (at, from) in all.iter().enumerate() {
            for to in all {
                // Nobody has hunted anybody, and one thread is all there is.
                from.send(to.spid(), Signal::with(at as u32, &to.spid().0.to_le_bytes()))
                    .map_err(|(why, _)| why)
                    .expect("it lives");
            }
        }
        for to in all {
            let mut senders: Vec<_> = (0..all.len())
                .map(|_| {
                    let signal = to.receive(&Select::any(), SOON).expect("it was sent");
                    assert_eq!(signal.bytes()[4..], to.spid().0.to_le_bytes());
                    assert_eq!(signal.sender(), all[signal.number() as usize].spid());
                    signal.number()
                })
                .collect();
            senders.sort_unstable();
            assert_eq!(senders, [0, 1, 2, 3], "{mine:?} and {theirs:?}");
            assert!(to.receive(&Select::any(), BRIEFLY).is_none());
        }
    }
}

#[test]
fn an_address_that_nobody_has_or_has_any_more_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = |name: &str| Options::new(name).directory(directory.path());
    let one = options("one").open().expect("free");
    let node = options("node").node().expect("free");
    let (kept, closed) = (node.open(Some("kept")).expect("free"), node.open(None).expect("free"));
    let gone = closed.spid();
    drop(closed);
    for spid in [gone, Spid(u32::MAX), Spid(12345), Spid::NONE] {
        let refused = one.send(spid, Signal::with(1, &[])).expect_err("nobody has it");
        assert!(matches!(refused.0, Error::Handler(_)), "{spid:?}: {}", refused.0);
        assert_eq!(refused.1.number(), 1, "the signal comes back");
        assert!(one.attach(spid, Signal::with(1, &[])).is_err());
        assert!(one.about(spid).is_err());
    }
    // One whose end is awaited, known by its address alone.
    one.attach(kept.spid(), Signal::with(2, &[])).expect("it lives");
    let spid = kept.spid();
    drop((kept, node));
    let ended = one.receive(&Select::only(&[2]), SOON).expect("it ends");
    assert_eq!(ended.sender(), spid);
    let refused = one.send(spid, Signal::with(1, &[])).expect_err("it is gone");
    assert!(matches!(refused.0, Error::Handler(HandlerError::Gone)), "{}", refused.0);
}

#[test]
fn a_thread_that_is_closed_to_stops_waiting() {
    for stack in STACKS {
        let directory = tempfile::tempdir().expect("a directory");
        let end = Options::new("one").directory(directory.path()).stack(stack).open();
        let end = end.expect("free");
        thread::scope(|scope| {
            let waits: Vec<_> = (0..3)
                .map(|_| scope.spawn(|| end.receive(&Select::any(), None).is_none()))
                .collect();
            end.close();
            for wait in waits {
                assert!(wait.join().expect("it ends"), "{stack:?}");
            }
        });
        assert!(end.is_closed() && end.receive(&Select::any(), None).is_none());
        assert!(end.send(end.spid(), Signal::with(1, &[])).is_err());
    }
}

#[test]
fn a_hunt_finds_another_holder_of_a_name_when_the_first_is_gone() {
    for stack in STACKS {
        let directory = tempfile::tempdir().expect("a directory");
        let options = |name: &str| Options::new(name).directory(directory.path()).stack(stack);
        let hunter = options("hunter").open().expect("free");
        let first = options("name").open().expect("free");
        // The node's name is taken, not the endpoint's.
        let second = options("other").node().and_then(|node| node.open(Some("name")));
        let second = second.expect("free");
        assert_eq!(hunt(&hunter, "name"), first.spid());
        drop(first);
        assert_eq!(hunt(&hunter, "name"), second.spid(), "{stack:?}");
        // A hunt that waits finds an endpoint that comes, wherever that is.
        hunter.hunt("late", Signal::with(HUNT, &[])).expect("room");
        assert!(hunter.receive(&Select::only(&[HUNT]), BRIEFLY).is_none());
        let late = second.node().open(Some("late")).expect("free");
        let found = hunter.receive(&Select::only(&[HUNT]), SOON).expect("it is there");
        assert_eq!(found.sender(), late.spid(), "{stack:?}");
    }
}

#[test]
fn what_an_endpoint_is_called_and_where_it_is_is_known_to_all() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = |name: &str| Options::new(name).directory(directory.path());
    let one = options("one").open().expect("free");
    let long = "long name/".replace('/', " ").repeat(50);
    let two = options("two").node().and_then(|node| node.open(Some(&long))).expect("free");
    let about = one.about(two.spid()).expect("it is there");
    assert_eq!((about.name, about.process), (long, std::process::id()));
    let nameless = one.node().open(None).expect("room");
    assert_eq!(two.about(nameless.spid()).expect("it is there").name, "");
    // Each has one note, which goes with it; and with the last node everything goes.
    assert_eq!(notes(directory.path()).len(), 3);
    drop(nameless);
    assert_eq!(notes(directory.path()).len(), 2);
    drop((one, two));
    assert!(!directory.path().join("linx").exists(), "{:?}", files(directory.path()));
}

#[test]
fn what_a_cleaner_removes_is_noted_again() {
    for stack in STACKS {
        let directory = tempfile::tempdir().expect("a directory");
        let options = Options::new("one").directory(directory.path()).stack(stack);
        let end = options.open().expect("free");
        let before = notes(directory.path());
        assert_eq!(before.len(), 1);
        let until = Instant::now() + Duration::from_secs(60);
        thread::scope(|scope| {
            let waits = scope.spawn(|| end.receive(&Select::any(), None).is_none());
            // Again and again, though nothing comes.
            for _ in 0..2 {
                fs::remove_file(directory.path().join("linx").join(&before[0]))
                    .expect("it is there");
                while notes(directory.path()) != before {
                    assert!(Instant::now() < until, "{stack:?}: it stays away");
                    thread::sleep(Duration::from_millis(20));
                }
            }
            end.close();
            assert!(waits.join().expect("it ends"));
        });
    }
}
