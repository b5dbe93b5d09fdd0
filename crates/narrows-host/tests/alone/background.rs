//! What a node does while its application is in no call.

use std::time::{Duration, Instant};

use crate::common::process::{Peer, Role, alone, node};
use crate::common::{PATIENCE, name};
use narrows::endpoint::{Address, LinkError, SendError};
use narrows::link::LinkId;
use narrows::platform::{Lost, Platform as _};
use narrows::strategy::{Notification, Strategy};
use narrows_host::{Node, Options};

const WORK: u16 = 1;
/// Sends of a node that nobody told of its peer's end, while what it knows is a flag away.
const SENDS: usize = 64;

#[test]
#[ignore = "what a peer runs; does nothing by itself"]
fn a_peer() {
    let Some(role) = Role::get() else { return };
    let mut node = node(&role.directory, "peer");
    node.open(WORK).unwrap();
    if role.name == "spins" {
        node.set_notification(Notification::Spin);
    }
    role.report(1);
    let mut text = [0; 64];
    while node.receive_into(WORK, &mut text, Some(PATIENCE)).is_ok() {}
}

/// A node that has sent a message to a peer that takes what comes.
fn sender(directory: &std::path::Path, role: &str) -> (Node, LinkId, Peer) {
    let peer = Peer::start(module_path!(), role, directory, "");
    let mut node = node(directory, "sender");
    node.open(WORK).unwrap();
    let link = node.hunt(&name("peer"), Some(PATIENCE)).unwrap();
    node.send(WORK, Address { link, port: WORK }, b"there", Some(PATIENCE)).unwrap();
    (node, link, peer)
}

#[test]
fn a_node_in_no_call_is_found_and_told_later() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let options = |name: &str| Options::new(name).directory(directory.path());
    let mut busy = options("busy").node().unwrap();
    busy.open(WORK).unwrap();
    let mut seeker = options("seeker").node().unwrap();
    seeker.open(WORK).unwrap();
    // Both are this thread's: the one that is looked for is in no call.
    let link = seeker.hunt(&name("busy"), Some(PATIENCE)).expect("it is found");
    seeker.send(WORK, Address { link, port: WORK }, b"there", Some(PATIENCE)).unwrap();
    let mut text = [0; 64];
    let message = busy.receive_into(WORK, &mut text, Some(PATIENCE)).expect("a message");
    assert_eq!(message.bytes(&text), b"there");
    assert_eq!(busy.links().count(), 1);
}

#[test]
fn a_node_without_a_thread_is_found_in_its_calls_only() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let options = |name: &str| Options::new(name).directory(directory.path());
    let mut busy = options("busy").background(false).node().unwrap();
    let mut seeker = options("seeker").node().unwrap();
    let sought = seeker.hunt(&name("busy"), Some(Duration::from_millis(50)));
    assert_eq!(sought, Err(LinkError::Deadline));
    std::thread::scope(|scope| {
        scope.spawn(|| seeker.hunt(&name("busy"), Some(PATIENCE)).expect("it is found"));
        let end = Instant::now() + PATIENCE;
        while busy.links().count() == 0 && Instant::now() < end {
            busy.wait_any(Some(Duration::from_millis(1)));
            busy.poll();
        }
    });
    assert_eq!(busy.links().count(), 1);
}

/// Kills a peer, until the node's thread has heard of it. The node itself is asked nothing else.
fn kill(node: &Node, peer: &mut Peer) {
    peer.kill();
    peer.wait();
    let end = Instant::now() + PATIENCE;
    while !node.platform().has_event() {
        assert!(Instant::now() < end, "the thread has heard nothing");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sends until there is an error. How many were sent.
fn send_until_told(node: &mut Node, link: LinkId) -> (usize, SendError) {
    for sent in 0..=SENDS {
        if let Err(error) = node.try_send(WORK, Address { link, port: WORK }, b"still there?") {
            return (sent, error);
        }
    }
    panic!("{SENDS} messages were sent to the dead");
}

#[test]
fn a_node_that_only_sends_hears_of_a_death_with_its_second_message() {
    let _alone = alone();
    for role in ["spins", "sleeps"] {
        let directory = tempfile::tempdir().unwrap();
        let (mut node, link, mut peer) = sender(directory.path(), role);
        kill(&node, &mut peer);
        let (sent, error) = send_until_told(&mut node, link);
        assert_eq!(error, SendError::Gone(Lost::Died), "{role}");
        assert!(sent <= 1, "{role}: {sent} were sent before");
    }
}

/// What was reserved goes the long way, and a node that comes there may be told on it.
#[test]
fn a_send_that_is_told_of_the_end_on_its_way_says_so() {
    let _alone = alone();
    for over_flow in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let (mut node, link, mut peer) = sender(directory.path(), "sleeps");
        let to = Address { link, port: WORK };
        let flow = node.open_flow_to(to, Strategy::default(), Some(PATIENCE)).unwrap();
        let mut made = node.flow(flow).reserve(5).unwrap();
        assert_eq!(node.write(&mut made, 0, b"there"), Ok(()));
        kill(&node, &mut peer);
        let sent = match over_flow {
            true => node.flow(flow).try_send(WORK, &mut made),
            false => node.try_send(WORK, to, &mut made),
        };
        assert_eq!(sent, Err(SendError::Gone(Lost::Died)));
    }
}

/// The threads of this process that see to nodes, and the signals that each has blocked.
fn threads() -> Vec<u64> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let of = |task: std::fs::DirEntry| {
        let status = std::fs::read_to_string(task.path().join("status")).ok()?;
        let line = |key: &str| status.lines().find_map(|line| line.strip_prefix(key));
        let seen = line("Name:")?.trim() == "narrows-door";
        seen.then(|| u64::from_str_radix(line("SigBlk:")?.trim(), 16).ok()).flatten()
    };
    tasks.filter_map(|task| of(task.ok()?)).collect()
}

#[test]
fn the_thread_takes_no_signals_and_ends_with_its_node() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let node = Options::new("a").directory(directory.path()).node().unwrap();
    let end = Instant::now() + PATIENCE;
    // It says its name when it has begun.
    while threads().is_empty() {
        assert!(Instant::now() < end, "there is no thread");
        std::thread::yield_now();
    }
    let [blocked] = threads()[..] else { panic!("one thread for one node") };
    // All but those that cannot be (9 and 19), and two that the C library keeps to itself.
    assert_eq!(blocked & 0x7fff_ffff & !(1 << 8 | 1 << 18), 0x7fff_ffff & !(1 << 8 | 1 << 18));
    drop(node);
    assert!(threads().is_empty());
}
