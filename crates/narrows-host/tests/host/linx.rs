//! LINX between nodes of this host, in threads of one process: flat, layered, and each with the
//! other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use narrows::connection::Refused;
use narrows_host::linx::{
    Endpoint, Error, HandlerError, LONGEST, Options, Select, Signal, Spid, Stack,
};

const SOON: Option<Duration> = Some(Duration::from_secs(20));
const BRIEFLY: Option<Duration> = Some(Duration::from_millis(30));
const NOW: Option<Duration> = Some(Duration::ZERO);
const HUNT: u32 = 251;
const ATTACH: u32 = 252;

const STACKS: [(Stack, Stack); 4] = [
    (Stack::Flat, Stack::Flat),
    (Stack::Layered, Stack::Layered),
    (Stack::Flat, Stack::Layered),
    (Stack::Layered, Stack::Flat),
];

fn hunt(endpoint: &Endpoint, path: &str) -> Spid {
    endpoint.hunt(path, Signal::with(HUNT, &[])).expect("room");
    endpoint.receive(&Select::only(&[HUNT]), SOON).expect("it is there").sender()
}

/// Answers what comes with itself, until signal 0 comes.
fn echo(endpoint: &Endpoint) {
    loop {
        let signal = endpoint.receive(&Select::any(), SOON).expect("the next in time");
        let (from, last) = (signal.sender(), signal.number() == 0);
        endpoint.send(from, signal).expect("it is there");
        if last {
            break;
        }
    }
}

/// A thread that answers so, and looks once more, so that its last answer is seen to.
fn answers(server: Endpoint) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        echo(&server);
        server.receive(&Select::any(), BRIEFLY);
    })
}

/// Ends a thread that answers like this.
fn end(client: &Endpoint, server: Spid, other: thread::JoinHandle<()>) {
    client.send(server, Signal::with(0, &[])).expect("room");
    client.receive(&Select::only(&[0]), SOON).expect("the last");
    other.join().expect("the server ends");
}

/// Until a peer is gone: what this endpoint has sent is received before its end is told.
fn outlive(endpoint: &Endpoint, peer: Spid) {
    endpoint.attach(peer, Signal::with(ATTACH, &[])).expect("room");
    endpoint.receive(&Select::only(&[ATTACH]), SOON).expect("it ends");
}

#[test]
fn signals_of_every_length_come_back_whole_whatever_the_stacks() {
    for (mine, theirs) in STACKS {
        let directory = tempfile::tempdir().expect("a directory");
        let options = |name: &str| Options::new(name).directory(directory.path());
        let server = options("server").stack(theirs).open().expect("free");
        let other = answers(server);
        let client = options("client").stack(mine).open().expect("free");
        let found = hunt(&client, "server");
        for len in [0, 1, 24, 25, 44, 45, 4000, 8000, 65000, LONGEST - 4] {
            let bytes: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
            client.send(found, Signal::with(1, &bytes)).expect("room");
            let back = client.receive(&Select::any(), SOON).expect("an answer");
            assert_eq!((back.number(), back.sender()), (1, found));
            assert_eq!(&back.bytes()[4..], bytes, "{len} bytes, {mine:?} and {theirs:?}");
        }
        end(&client, found, other);
    }
}

#[test]
fn who_sent_a_signal_is_known_whoever_sent_the_one_before() {
    for (mine, theirs) in STACKS {
        let directory = tempfile::tempdir().expect("a directory");
        let options = |name: &str| Options::new(name).directory(directory.path());
        let server = options("server").stack(theirs).open().expect("free");
        let other = answers(server);
        let node = options("node").stack(mine).node().expect("free");
        let pair = ["a", "b"].map(|name| node.open(Some(name)).expect("free"));
        let found = pair.each_ref().map(|endpoint| hunt(endpoint, "server"));
        // Runs of one, two and more, and words of the link handlers in between.
        for (round, run) in [1, 1, 2, 3, 1, 4, 2].into_iter().enumerate() {
            let (own, to) = (&pair[round % 2], found[round % 2]);
            for n in 0..run {
                let bytes = [round as u8; 44];
                own.send(to, Signal::with(n + 1, &bytes[..7 * n as usize])).expect("room");
            }
            own.hunt("server/no/such", Signal::with(HUNT, &[])).expect("room");
            for n in 0..run {
                let back = own.receive(&Select::except(&[HUNT]), SOON).expect("an answer");
                assert_eq!((back.number(), back.sender()), (n + 1, to), "{mine:?} and {theirs:?}");
                assert_eq!(back.bytes()[4..], [round as u8; 44][..7 * n as usize]);
            }
            assert!(pair[1 - round % 2].receive(&Select::except(&[HUNT]), NOW).is_none());
        }
        end(&pair[0], found[0], other);
    }
}

#[test]
fn a_flat_node_cuts_nothing_up_whatever_came_before() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = |name: &str| Options::new(name).directory(directory.path());
    let server = options("server").open().expect("free");
    let other = answers(server);
    let client = options("client").mtu(64).open().expect("free");
    let found = hunt(&client, "server");
    // Behind a header of 20 bytes 44 fit: a number and 40.
    let send = |len: usize| client.send(found, Signal::with(1, &vec![7; len]));
    for _ in 0..3 {
        let refused = send(41).expect_err("too long").0;
        let too_long = HandlerError::Refused(Refused::TooLong { limit: 44 });
        assert!(matches!(refused, Error::Handler(why) if why == too_long), "{refused}");
        send(40).expect("room");
        let back = client.receive(&Select::any(), SOON).expect("an answer");
        assert_eq!(back.bytes().len(), 44);
    }
    end(&client, found, other);
}

#[test]
fn a_flood_is_held_by_the_window_and_arrives_in_order() {
    for (mine, theirs) in STACKS {
        let directory = tempfile::tempdir().expect("a directory");
        let options = |name: &str| Options::new(name).directory(directory.path()).window(8);
        let server = options("server").stack(theirs).open().expect("free");
        let other = thread::spawn(move || {
            for n in 0..200 {
                let signal = server.receive(&Select::any(), SOON).expect("the next in time");
                assert_eq!(signal.number(), n);
            }
            let done = server.receive(&Select::any(), SOON).expect("the last");
            let from = done.sender();
            server.send(from, done).expect("room");
            outlive(&server, from);
        });
        let client = options("client").stack(mine).open().expect("free");
        let found = hunt(&client, "server");
        for n in 0..200_u32 {
            let rest = vec![n as u8; n as usize % 700];
            client.send(found, Signal::with(n, &rest)).expect("it waits for room");
        }
        client.send(found, Signal::with(7777, &[])).expect("room");
        client.receive(&Select::only(&[7777]), SOON).expect("all arrived");
        drop(client);
        other.join().expect("it ended well");
    }
}

#[test]
fn a_hunt_waits_and_an_attach_tells_of_the_end() {
    for (mine, theirs) in STACKS {
        let directory = tempfile::tempdir().expect("a directory");
        let options = |name: &str| Options::new(name).directory(directory.path());
        let client = options("client").stack(mine).open().expect("free");
        client.hunt("server", Signal::with(HUNT, &[])).expect("it waits");
        assert!(client.receive(&Select::any(), BRIEFLY).is_none());
        let server = options("server").stack(theirs).open().expect("free");
        let other = thread::spawn(move || {
            let signal = server.receive(&Select::any(), SOON).expect("a signal");
            let from = signal.sender();
            server.send(from, Signal::with(5, b"last words")).expect("room");
            // Closed by the end of this.
        });
        let found = client.receive(&Select::only(&[HUNT]), SOON).expect("it appears").sender();
        client.attach(found, Signal::with(77, &[])).expect("room");
        client.send(found, Signal::with(1, &[])).expect("room");
        // What it sent before comes first.
        let words = client.receive(&Select::any(), SOON).expect("its words");
        assert_eq!(words.number(), 5, "{mine:?} and {theirs:?}");
        let end = client.receive(&Select::any(), SOON).expect("its end");
        assert_eq!((end.number(), end.sender()), (77, found));
        assert_eq!(client.check(found), Err(HandlerError::Gone));
        let (why, signal) = client.send(found, Signal::with(9, &[])).expect_err("it is gone");
        assert!(matches!(why, Error::Handler(HandlerError::Gone)));
        assert_eq!(signal.number(), 9);
        other.join().expect("it ended well");
        // And its next life is found under the same name.
        client.hunt("server", Signal::with(HUNT, &[])).expect("it waits");
        let again = options("server").stack(theirs).open().expect("free");
        let other = thread::spawn(move || echo(&again));
        let anew = client.receive(&Select::only(&[HUNT]), SOON);
        let anew = anew.unwrap_or_else(|| panic!("{mine:?} and {theirs:?}")).sender();
        assert_ne!(anew, found);
        client.send(anew, Signal::with(0, &[])).expect("room");
        client.receive(&Select::only(&[0]), SOON).expect("an answer");
        other.join().expect("it ended well");
    }
}

#[test]
fn a_name_is_free_when_its_node_has_ended_whoever_served_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = |name: &str| Options::new(name).directory(directory.path());
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for seeker in ["seeker", "another"] {
            let seeker = options(seeker).open().expect("free");
            seeker.hunt("nobody", Signal::with(HUNT, &[])).expect("it waits");
            let over = &over;
            // A thread that waits for a name serves the other nodes of the process.
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    seeker.receive(&Select::any(), Some(Duration::from_micros(1)));
                }
            });
        }
        let taken = (0..500).find_map(|_| options("server").open().map(drop).err());
        over.store(true, Ordering::Relaxed);
        assert!(taken.is_none(), "{taken:?}");
    });
}

#[test]
fn several_endpoints_share_a_node_and_are_found_through_its_link() {
    for stack in [Stack::Flat, Stack::Layered] {
        let directory = tempfile::tempdir().expect("a directory");
        let options = |name: &str| Options::new(name).directory(directory.path()).stack(stack);
        let node = options("node1").node().expect("free");
        let ends: Vec<_> =
            ["a", "b", "c"].iter().map(|name| node.open(Some(name)).expect("free")).collect();
        drop(node);
        let threads: Vec<_> =
            ends.into_iter().map(|end| thread::spawn(move || echo(&end))).collect();
        let client = options("client").open().expect("free");
        let found = ["a", "b", "c"].map(|name| hunt(&client, &format!("node1/{name}")));
        for n in (1..20_u32).chain([0]) {
            for to in found {
                client.send(to, Signal::with(n, &n.to_le_bytes())).expect("room");
            }
            for from in found {
                let back = client.receive(&Select::any().from(from), SOON);
                let back = back.unwrap_or_else(|| panic!("no answer {n}, {stack:?}"));
                assert_eq!(back.number(), n);
            }
        }
        threads.into_iter().for_each(|thread| thread.join().expect("it ended well"));
    }
}

#[test]
fn what_is_not_wanted_waits_and_what_was_asked_for_can_be_taken_back() {
    let directory = tempfile::tempdir().expect("a directory");
    let one = Options::new("one").directory(directory.path()).open().expect("free");
    let here = one.spid();
    for n in [3, 1, 4, 1, 5] {
        one.send(here, Signal::with(n, &[])).expect("room");
    }
    let now = Some(Duration::ZERO);
    let get = |select: &Select| one.receive(select, now).map(|signal| signal.number());
    assert_eq!(get(&Select::only(&[1, 4])), Some(1));
    assert_eq!(get(&Select::except(&[3, 1])), Some(4));
    assert_eq!(get(&Select::only(&[9])), None);
    assert_eq!(get(&Select::any()), Some(3));
    assert_eq!(get(&Select::any().from(Spid(99))), None);
    assert_eq!(
        (get(&Select::any()), get(&Select::any()), get(&Select::any())),
        (Some(1), Some(5), None)
    );

    let late = one.request(Duration::from_secs(3600), Signal::with(8, &[])).expect("memory");
    let soon = one.request(Duration::from_millis(1), Signal::with(9, &[])).expect("memory");
    let tmo = one.receive(&Select::any(), SOON).expect("it comes");
    assert_eq!((tmo.number(), tmo.sender()), (9, here));
    assert!(one.cancel(soon).is_none(), "it was received");
    assert_eq!(one.cancel(late).map(|signal| signal.number()), Some(8));
    assert!(one.cancel(late).is_none());
    let due = one.request(Duration::ZERO, Signal::with(7, &[])).expect("memory");
    assert!(one.receive(&Select::only(&[9]), now).is_none());
    assert_eq!(one.cancel(due).map(|signal| signal.number()), Some(7), "it had not been received");

    assert_eq!(hunt(&one, "one/one"), here, "by way of itself");
    let two = one.node().open(Some("two")).expect("free");
    let [first, second] =
        [(); 2].map(|()| one.attach(two.spid(), Signal::with(6, &[])).expect("room"));
    one.detach(first).expect("it waits");
    assert!(one.detach(first).is_err());
    drop(two);
    one.detach(second).expect("it is in the queue");
    assert!(one.receive(&Select::any(), now).is_none());
    assert!(matches!(
        one.attach(Spid(12345), Signal::with(6, &[])).err(),
        Some(Error::Handler(HandlerError::Unknown))
    ));
}

#[test]
fn a_name_is_one_nodes_and_what_is_no_path_is_not_hunted() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = |name: &str| Options::new(name).directory(directory.path());
    let one = options("one").open().expect("free");
    let twice = options("one").open().err().expect("taken");
    assert!(matches!(twice, Error::Open(narrows_host::OpenError::Taken(_))), "{twice}");
    for bad in ["", "a//b", "a\0b", "/a"] {
        let refused = one.hunt(bad, Signal::with(HUNT, &[]));
        assert!(matches!(refused, Err(Error::Path(_))), "{bad}");
    }
    assert!(matches!(one.node().open(Some("a/b")).err(), Some(Error::Open(_))));
    // A node that has no such link says so.
    let _two = options("two").node().and_then(|node| node.open(Some("x"))).map(|end| {
        thread::spawn(move || end.receive(&Select::any(), Some(Duration::from_millis(500))))
    });
    assert_eq!(hunt(&one, "two/nowhere/x"), Spid::NONE);
}

#[test]
fn a_silent_peer_is_given_up_where_heartbeats_were_asked_for() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = |name: &str| Options::new(name).directory(directory.path());
    let beat = Duration::from_millis(20);
    // This one's stack runs in nobody: it never says that it lives.
    let silent = options("silent").open().expect("free");
    let watcher = options("watcher").stack(Stack::Layered).heartbeat(beat).open().expect("free");
    watcher.hunt("silent", Signal::with(HUNT, &[])).expect("room");
    // For as long as it takes to be found.
    let found = loop {
        silent.receive(&Select::any(), Some(beat));
        if let Some(signal) = watcher.receive(&Select::only(&[HUNT]), Some(Duration::ZERO)) {
            break signal.sender();
        }
    };
    watcher.attach(found, Signal::with(ATTACH, &[])).expect("room");
    let end = watcher.receive(&Select::any(), SOON).expect("it is given up");
    assert_eq!((end.number(), end.sender()), (ATTACH, found));
    drop(silent);
}

#[test]
fn a_descriptor_is_readable_while_something_waits() {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let directory = tempfile::tempdir().expect("a directory");
    let options = |name: &str| Options::new(name).directory(directory.path());
    let one = options("one").open().expect("free");
    let two = options("two").open().expect("free");
    let raw = one.descriptor().expect("there is room");
    let readable = |within: i64| {
        let stream = descriptor(raw);
        let mut set = [PollFd::new(&stream, PollFlags::IN)];
        let within = Timespec { tv_sec: within, tv_nsec: 0 };
        poll(&mut set, Some(&within)).expect("it polls") == 1
    };
    assert!(!readable(0));
    let found = hunt(&two, "one");
    two.send(found, Signal::with(5, &[])).expect("room");
    assert!(readable(20));
    assert!(one.receive(&Select::any(), Some(Duration::ZERO)).is_some());
    assert!(!readable(0));
    one.request(Duration::from_millis(1), Signal::with(6, &[])).expect("memory");
    assert!(readable(20));
}

/// A copy of a descriptor, by its number.
fn descriptor(raw: i32) -> rustix::fd::OwnedFd {
    let own = rustix::process::getpid();
    let process = rustix::process::pidfd_open(own, rustix::process::PidfdFlags::empty());
    let process = process.expect("this process is there");
    let flags = rustix::process::PidfdGetfdFlags::empty();
    rustix::process::pidfd_getfd(process, raw, flags).expect("it is open")
}

/// Rounds of a signal to each of some endpoints, which threads of their own answer, and the time
/// that took: on one node, or on a node each.
fn rounds(count: u32, shared: bool) -> Duration {
    let directory = tempfile::tempdir().expect("a directory");
    let options = |name: &str| Options::new(name).directory(directory.path());
    let names = ["a", "b", "c", "d"];
    let ends: Vec<Endpoint> = if shared {
        let node = options("node1").node().expect("free");
        names.iter().map(|name| node.open(Some(name)).expect("free")).collect()
    } else {
        names.iter().map(|name| options(name).open().expect("free")).collect()
    };
    let threads: Vec<_> = ends.into_iter().map(|end| thread::spawn(move || echo(&end))).collect();
    let client = options("client").open().expect("free");
    let found = names
        .map(|name| hunt(&client, &if shared { format!("node1/{name}") } else { name.to_owned() }));
    let began = Instant::now();
    for round in (0..count).rev() {
        for to in found {
            client.send(to, Signal::with(round, &[])).expect("room");
        }
        for from in found {
            client.receive(&Select::any().from(from), SOON).expect("an answer");
        }
    }
    let took = began.elapsed();
    threads.into_iter().for_each(|thread| thread.join().expect("it ended well"));
    took
}

#[test]
fn threads_that_share_a_node_are_not_in_each_others_way() {
    // The best of a few: the machine has other things to do.
    let best = |shared| (0..3).map(|_| rounds(50, shared)).min().expect("some");
    let (own, shared) = (best(false), best(true));
    // With a lock that is handed over by looking again and again it was hundreds of times as long.
    assert!(shared < own * 30, "{shared:?} with a node shared, {own:?} with a node each");
}

#[test]
fn what_a_layered_sender_queues_is_sent_when_there_is_room() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = |name: &str| Options::new(name).directory(directory.path());
    let server = options("server").open().expect("free");
    let client = options("client").stack(Stack::Layered).open().expect("free");
    client.hunt("server", Signal::with(HUNT, &[])).expect("room");
    let found = loop {
        server.receive(&Select::any(), BRIEFLY);
        if let Some(signal) = client.receive(&Select::any(), Some(Duration::ZERO)) {
            break signal.sender();
        }
    };
    // More than the ring between them holds, all of them while nobody receives.
    for n in 0..400 {
        client.send(found, Signal::with(n, &[])).expect("room");
    }
    for n in 0..400 {
        let signal = server.receive(&Select::any(), SOON).unwrap_or_else(|| panic!("{n} is lost"));
        assert_eq!(signal.number(), n);
    }
}

#[test]
fn what_a_dead_sender_left_for_another_link_is_passed_on() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = |name: &str| Options::new(name).directory(directory.path()).window(8);
    for stack in [Stack::Flat, Stack::Layered] {
        let middle = options("middle").stack(stack).open().expect("free");
        let last = options("last").open().expect("free");
        let first = options("first").open().expect("free");
        // Flat nodes live while they are in a call.
        let turn = || {
            middle.receive(&Select::only(&[9999]), Some(Duration::from_millis(1)));
            last.receive(&Select::only(&[9999]), Some(Duration::ZERO));
        };
        middle.hunt("last", Signal::with(HUNT, &[])).expect("room");
        while middle.receive(&Select::only(&[HUNT]), Some(Duration::from_millis(1))).is_none() {
            turn();
        }
        first.hunt("middle/last/last", Signal::with(HUNT, &[])).expect("room");
        let to = loop {
            turn();
            if let Some(found) = first.receive(&Select::only(&[HUNT]), Some(Duration::ZERO)) {
                break found.sender();
            }
        };
        // More than the window between the other two lets through, and then it is gone.
        for n in 0..8 {
            first.send(to, Signal::with(n, &[])).expect("room");
        }
        turn();
        first.receive(&Select::any(), Some(Duration::from_millis(20)));
        for n in 8..12 {
            first.send(to, Signal::with(n, &[])).expect("the middle one has passed some on");
        }
        drop(first);
        for n in 0..12 {
            let next = (0..1000).find_map(|_| {
                middle.receive(&Select::only(&[9999]), Some(Duration::from_millis(1)));
                last.receive(&Select::any(), Some(Duration::from_millis(10)))
            });
            assert_eq!(next.map(|signal| signal.number()), Some(n), "{stack:?}");
        }
    }
}

/// As many as `NARROWS_CLIENTS` says, or 64: each of them needs some 20 descriptors here, where all
/// are in one process.
#[test]
fn all_of_many_clients_that_hunt_at_once_are_found_and_answered() {
    let count = std::env::var("NARROWS_CLIENTS");
    let count = count.map_or(64, |text| text.parse::<usize>().expect("a number"));
    let directory = tempfile::tempdir().expect("a directory");
    let options = |name: &str| Options::new(name).directory(directory.path());
    let server = options("server").open().expect("free");
    let other = answers(server);
    let clients: Vec<Endpoint> = (0..count)
        .map(|number| options(&format!("client-{number}")).open().expect("descriptors"))
        .collect();
    for client in &clients {
        client.hunt("server", Signal::with(HUNT, &[])).expect("room");
    }
    let found: Vec<Spid> = clients
        .iter()
        .map(|client| client.receive(&Select::only(&[HUNT]), SOON).expect("a place").sender())
        .collect();
    for round in 1..4 {
        for (client, server) in clients.iter().zip(&found) {
            client.send(*server, Signal::with(round, &[])).expect("room");
        }
        for client in &clients {
            let back = client.receive(&Select::only(&[round]), SOON);
            assert!(back.is_some(), "no answer in round {round}");
        }
    }
    end(&clients[0], found[0], other);
}
