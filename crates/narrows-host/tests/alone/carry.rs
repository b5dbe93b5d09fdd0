//! What carries a link over frames: the node while it waits, a thread while it computes.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::process::alone;
use crate::common::{PATIENCE, name};
use narrows::endpoint::{Address, Message, Select};
use narrows::link::LinkId;
use narrows::strategy::Notification;
use narrows_host::{Carrier, Node, Options};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

const PORT: u16 = 1;

fn open(directory: &Path, name: &str, change: impl FnOnce(Options) -> Options) -> Node {
    let options = Options::new(name).directory(directory).carrier(Carrier::Stream);
    let mut node = change(options).node().unwrap();
    node.open(PORT).unwrap();
    node
}

/// Two nodes of this process and the link of each.
fn pair(directory: &Path, change: fn(Options) -> Options) -> [(Node, LinkId); 2] {
    let [mut one, mut other] = ["a", "b"].map(|name| open(directory, name, change));
    let [link, back] = std::thread::scope(|scope| {
        let hunted = scope.spawn(|| other.hunt(&name("a"), Some(PATIENCE)).unwrap());
        [one.hunt(&name("b"), Some(PATIENCE)).unwrap(), hunted.join().unwrap()]
    });
    [(one, link), (other, back)]
}

fn send(node: &mut Node, link: LinkId, number: u32) {
    let bytes = number.to_le_bytes();
    node.send(PORT, Address { link, port: PORT }, Message::new(&bytes[..]), Some(PATIENCE))
        .unwrap();
}

/// The next message, if it has come.
fn take(node: &mut Node) -> Option<u32> {
    let message = node.try_receive(PORT, &Select::default()).unwrap()?;
    let mut bytes = [0; 4];
    node.read(&message, 0, &mut bytes).unwrap();
    node.release(message);
    Some(u32::from_le_bytes(bytes))
}

/// The next message, which is waited for in this way.
fn wait(node: &mut Node, how: Notification) -> u32 {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(number) = take(node) {
            return number;
        }
        assert!(Instant::now() < end, "no message came");
        node.wait_by(how, Some(Duration::from_secs(1)));
    }
}

/// How often the threads that carry have slept.
fn sleeps() -> u64 {
    let mut all = 0;
    for task in fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path()) {
        let read = |file| fs::read_to_string(task.join(file)).unwrap_or_default();
        if read("comm").trim_end() == "narrows-frames" {
            let status = read("status");
            let slept = status.lines().find_map(|l| l.strip_prefix("voluntary_ctxt_switches:"));
            all += slept.unwrap().trim().parse::<u64>().unwrap();
        }
    }
    all
}

#[test]
fn a_node_that_waits_needs_no_thread_to_carry_its_messages() {
    let _alone = alone();
    const ROUNDS: u32 = 1000;
    for how in [Notification::Interrupt, Notification::Spin] {
        let directory = tempfile::tempdir().unwrap();
        let [(mut one, to), (mut other, back)] = pair(directory.path(), |options| options);
        let mut tries = Vec::new();
        // The threads' sleeps are counted, and no time. But a thread takes over from a node that
        // gets no core for a while beside other work, as it has to, and only the system knows how
        // often that was. So the least of five counts is looked at.
        let few = (0..5).any(|_| {
            let before = sleeps();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for number in 0..ROUNDS {
                        assert_eq!(wait(&mut other, how), number);
                        send(&mut other, back, number);
                    }
                });
                for number in 0..ROUNDS {
                    send(&mut one, to, number);
                    assert_eq!(wait(&mut one, how), number);
                }
            });
            tries.push(sleeps() - before);
            tries.last() < Some(&u64::from(ROUNDS / 4))
        });
        assert!(few, "{how:?}: in {ROUNDS} round trips the threads slept {tries:?} times");
    }
}

#[test]
fn what_comes_to_a_node_that_computes_is_there_when_it_looks() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let [(mut one, to), (mut other, back)] = pair(directory.path(), |options| options);
    for round in 0..20 {
        // It carries itself from here on.
        send(&mut one, to, round);
        assert_eq!(wait(&mut other, Notification::Interrupt), round);
        let end = Instant::now() + PATIENCE;
        send(&mut one, to, round + 100);
        let got = loop {
            assert!(Instant::now() < end, "nobody carries it");
            match take(&mut other) {
                Some(got) => break got,
                None => std::hint::spin_loop(),
            }
        };
        assert_eq!(got, round + 100);
        // The other way round: what it sends while it computes goes at once.
        send(&mut other, back, round);
        assert_eq!(wait(&mut one, Notification::Interrupt), round);
    }
}

#[test]
fn what_a_node_took_that_computes_then_makes_room_at_its_peer() {
    let _alone = alone();
    const COUNT: u32 = 10_000;
    let directory = tempfile::tempdir().unwrap();
    let [(mut one, to), (mut other, _)] = pair(directory.path(), |options| options);
    send(&mut one, to, COUNT);
    assert_eq!(wait(&mut other, Notification::Interrupt), COUNT);
    std::thread::scope(|scope| {
        scope.spawn(|| (0..COUNT).for_each(|number| send(&mut one, to, number)));
        let end = Instant::now() + PATIENCE;
        let mut next = 0;
        while next < COUNT {
            assert!(Instant::now() < end, "{next} messages came");
            if let Some(number) = take(&mut other) {
                assert_eq!(number, next);
                next += 1;
            }
        }
    });
}

#[test]
fn timers_applications_with_a_set_of_their_own_and_nodes_without_a_thread_hear_as_well() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let [(mut one, to), (mut other, _)] = pair(directory.path(), |options| options);
    let timer = Notification::Poll { every: Duration::from_millis(1) };
    for round in 0..20 {
        send(&mut one, to, round);
        assert_eq!(wait(&mut other, Notification::Interrupt), round);
        send(&mut one, to, round);
        assert_eq!(wait(&mut other, timer), round);
        send(&mut one, to, round);
        let end = Instant::now() + PATIENCE;
        let got = loop {
            assert!(Instant::now() < end, "its descriptor says nothing");
            other.platform().hear();
            if let Some(got) = take(&mut other) {
                break got;
            }
            if !other.arm() {
                let second = Timespec { tv_sec: 1, tv_nsec: 0 };
                let mut set = [PollFd::new(other.platform(), PollFlags::IN)];
                poll(&mut set, Some(&second)).unwrap();
            }
            other.disarm();
        };
        assert_eq!(got, round);
    }

    let directory = tempfile::tempdir().unwrap();
    let alone = |options: Options| options.background(false);
    let [(mut one, to), (mut other, back)] = pair(directory.path(), alone);
    for round in 0..20 {
        send(&mut one, to, round);
        assert_eq!(wait(&mut other, Notification::Interrupt), round);
        send(&mut other, back, round);
        assert_eq!(wait(&mut one, Notification::Spin), round);
    }
}

#[test]
fn a_message_longer_than_what_the_system_holds_goes_over_whoever_carries() {
    let _alone = alone();
    const LONG: usize = 3 << 20;
    let directory = tempfile::tempdir().unwrap();
    let [(mut one, to), (mut other, _)] = pair(directory.path(), |options| options);
    let long: Vec<u8> = (0..LONG).map(|at| ((at * 31) >> 3) as u8).collect();
    for round in 0..4 {
        // Before every other one it has just waited.
        if round % 2 == 0 {
            send(&mut one, to, round);
            assert_eq!(wait(&mut other, Notification::Interrupt), round);
        }
        for part in long.chunks(64 << 10) {
            let to = Address { link: to, port: PORT };
            std::thread::scope(|scope| {
                let sent = scope.spawn(|| one.send(PORT, to, part, Some(PATIENCE)));
                let message = other.receive(PORT, &Select::default(), Some(PATIENCE)).unwrap();
                let mut bytes = vec![0; part.len()];
                other.read(&message, 0, &mut bytes).unwrap();
                other.release(message);
                assert!(bytes == part);
                sent.join().unwrap().unwrap();
            });
        }
    }
}
