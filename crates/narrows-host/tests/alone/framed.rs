//! Links that frames over a stream socket carry, between nodes that map nothing of each other. Most
//! of what nodes promise is tested over them by the other files, with `NARROWS_CARRIER=stream`.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::process::{
    Peer, Random, Role, alone, no_more_than, number, payload, possessions,
};
use crate::common::rig::Threads;
use crate::common::stranger::{self, greeting, stranger};
use crate::common::{Over, PATIENCE, name};
use narrows::conformance;
use narrows::endpoint::{Address, Limits, SendError};
use narrows::link::LinkId;
use narrows::memory::{Class, Layout};
use narrows::platform::Lost;
use narrows::strategy::{Notification, Placement};
use narrows_host::{Bell, Carrier, Node, Options};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};
use rustix::process::{Resource, Rlimit, Signal, setrlimit};

const PORT: u16 = 1;

fn node(directory: &Path, name: &str) -> Node {
    let layout =
        Layout::standard(narrows_host::LINE).and_then(|layout| layout.with_channels(2, 16));
    let options = Options::new(name).directory(directory).layout(layout.expect("possible"));
    let host = options.copy_engine(None).carrier(Carrier::Stream).open().expect("a new domain");
    Node::new(host, Limits::default()).expect("storage")
}

/// The same, with a port open.
fn open(directory: &Path, name: &str) -> Node {
    let mut node = node(directory, name);
    node.open(PORT).expect("free");
    node
}

#[test]
fn every_transfer_travels_in_frames() {
    let _alone = alone();
    let mut ran = 0;
    for strategy in conformance::strategies() {
        let hybrid = matches!(strategy.notification, Notification::Hybrid { .. });
        if hybrid && strategy.placement == Placement::External {
            conformance::run(&Threads(node), strategy);
            ran += 1;
        }
    }
    assert_eq!(ran, 6, "one for each transfer");
}

/// Two linked nodes of this process, and how the first names the link.
fn pair(directory: &Path) -> (Node, LinkId, Node) {
    let (mut a, mut b) = (open(directory, "a"), open(directory, "b"));
    let link = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            b.hunt(&name("a"), Some(PATIENCE)).expect("a link");
        });
        let link = a.hunt(&name("b"), Some(PATIENCE)).expect("a link");
        other.join().expect("linked");
        link
    });
    (a, link, b)
}

/// The number of the next message that comes.
fn next(node: &mut Node) -> Option<u64> {
    let mut buffer = [0; 4096];
    let received = node.receive_into(PORT, &mut buffer, Some(PATIENCE)).ok()?;
    Some(number(&buffer[..received.len]))
}

#[test]
fn what_was_sent_before_an_end_in_order_arrives() {
    let _alone = alone();
    let before = possessions();
    let directory = tempfile::tempdir().expect("a temporary directory");
    for _ in 0..20 {
        let (mut a, link, mut b) = pair(directory.path());
        let (to, mut buffer) = (Address { link, port: PORT }, [0; 4096]);
        for message in 0..100 {
            a.try_send(PORT, to, payload(message, &mut buffer)).expect("room for all");
        }
        drop(a);
        (0..100).for_each(|message| assert_eq!(next(&mut b), Some(message)));
    }
    no_more_than(before);
}

#[test]
#[ignore = "what a peer runs; does nothing by itself"]
fn a_peer() {
    let Some(role) = Role::get() else { return };
    if role.name == "small" {
        return hunt_with_small_files(&role);
    }
    let mut node = open(&role.directory, "peer");
    let mut count = 0;
    while next(&mut node) == Some(count) {
        count += 1;
        role.report(count);
    }
}

/// A node whose own region is within what its process may write to a file, and its peer's is not.
fn hunt_with_small_files(role: &Role) {
    let class = Class { placement: Placement::Internal, size: 64, count: 4 };
    let layout = Layout::new(narrows_host::LINE, 8, &[class]).expect("possible");
    let options = Options::new("peer").directory(&role.directory).layout(layout);
    let mut node = options.carrier(Carrier::Stream).node().expect("a node");
    let small = Rlimit { current: Some(64 << 10), maximum: Some(64 << 10) };
    setrlimit(Resource::Fsize, small).expect("less is allowed");
    let refused = node.hunt(&name("a"), Some(PATIENCE)).expect_err("no room for the peer's");
    assert!(refused.to_string().contains("has no room for one more"), "{refused}");
}

#[test]
fn a_peer_whose_region_is_too_large_for_this_process_is_an_error_and_not_its_end() {
    let _alone = alone();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut a = open(directory.path(), "a");
    let mut peer = Peer::start(module_path!(), "small", directory.path(), "");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                a.wait_any(Some(Duration::from_millis(5)));
            }
        });
        let _over = Over(&over);
        let status = peer.wait();
        assert!(status.success(), "{status}");
    });
}

#[test]
fn a_stopped_peer_keeps_nobody_waiting_and_goes_on_where_it_was() {
    let _alone = alone();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let peer = Peer::start(module_path!(), "receive", directory.path(), "");
    let mut node = open(directory.path(), "a");
    let link = node.hunt(&name("peer"), Some(PATIENCE)).expect("a link");
    let (to, mut buffer, mut sent) = (Address { link, port: PORT }, [0; 4096], 0);
    peer.signal(Signal::STOP);
    let full = loop {
        match node.try_send(PORT, to, payload(sent, &mut buffer)) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(full, SendError::RingFull | SendError::PoolEmpty), "{full}");
    assert!(sent >= 100, "as many as the ring or the pool has room for: {sent}");
    peer.signal(Signal::CONT);
    while sent < 2000 {
        node.send(PORT, to, payload(sent, &mut buffer), Some(PATIENCE)).expect("room again");
        sent += 1;
    }
    let end = Instant::now() + PATIENCE;
    while peer.reported() < sent {
        assert!(Instant::now() < end, "{} of {sent} came", peer.reported());
        node.poll();
    }
}

#[test]
fn what_a_killed_peer_did_not_take_is_handed_back_in_order() {
    let _alone = alone();
    for round in 0..5 {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let peer = Peer::start(module_path!(), "receive", directory.path(), "");
        let mut node = open(directory.path(), "a");
        let link = node.hunt(&name("peer"), Some(PATIENCE)).expect("a link");
        let (to, mut buffer, mut sent) = (Address { link, port: PORT }, [0; 4096], 0);
        while sent < 300 + 50 * round {
            node.send(PORT, to, payload(sent, &mut buffer), Some(PATIENCE)).expect("room");
            sent += 1;
        }
        peer.kill();
        let lost = loop {
            match node.send(PORT, to, payload(sent, &mut buffer), Some(PATIENCE)) {
                Ok(()) => sent += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(lost, SendError::Gone(Lost::Died));
        let mut back = Vec::new();
        node.link(link).undelivered(|_, source| back.push(number(source))).expect("it has ended");
        let taken = sent - back.len() as u64;
        assert!(back.iter().copied().eq(taken..sent), "all from the first on: {back:?}");
        // What it had taken and not used is lost with it, wherever memory or frames carry the link.
        let used = peer.reported();
        assert!(taken <= used + 64, "{taken} count as taken, {used} were used");
    }
}

/// What a region begins with.
fn header(layout: &Layout) -> Vec<u8> {
    let (offset, class) = layout.places().next().expect("a class");
    let fixed = [0x4e52_5731, 2, layout.line(), layout.slots(), 0, 1, layout.size(), 0, 0];
    let class = [0, class.size, class.count, offset];
    let mut words = [0; 128];
    words[..9].copy_from_slice(&fixed);
    words[16..20].copy_from_slice(&class);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Links with the node `a` as mallory. Its socket at the rendezvous, and its end of the stream.
fn liar(directory: &Path, layout: &Layout) -> (OwnedFd, OwnedFd) {
    let socket = stranger(directory);
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let ends = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let (mine, theirs) = ends.expect("two ends");
    send(&mine, &header(layout), SendFlags::empty()).expect("room");
    let mut packet = greeting(layout.size());
    packet[63] = 1;
    let bell = Bell::new().expect("a bell");
    stranger::send(&socket, &packet, &[theirs.as_fd(), bell.as_fd()]);
    (socket, mine)
}

#[test]
fn whatever_a_liar_sends_ends_its_link_and_no_other() {
    let _alone = alone();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (mut a, honest, mut b) = pair(directory.path());
    let class = Class { placement: Placement::Internal, size: 64, count: 4 };
    let layout = Layout::new(narrows_host::LINE, 8, &[class]).expect("possible");
    let (mut random, mut ends, mut buffer) = (Random::new(3), [0; 2], [0; 4096]);
    for round in 0..150 {
        let (socket, stream) = liar(directory.path(), &layout);
        let end = Instant::now() + PATIENCE;
        let link = loop {
            a.poll();
            if let Some((link, _)) = a.links().find(|(link, _)| *link != honest) {
                break link;
            }
            assert!(Instant::now() < end, "mallory is let in");
        };
        // Some begin as a frame does: a length that holds, a kind, a number that is the next.
        for number in 0..1 + random.below(4) as u16 {
            let len = 4 + random.below(80);
            let mut frame = (len as u32).to_le_bytes().to_vec();
            frame.extend([1 + random.below(6) as u8, random.below(2) as u8]);
            frame.extend(number.to_le_bytes());
            frame.extend((4..len).map(|_| random.below(256) as u8));
            let cut = if random.below(4) == 0 { random.below(frame.len() as u64) } else { len + 4 };
            let _ = send(&stream, &frame[..cut as usize], SendFlags::NOSIGNAL);
        }
        drop(stream);
        let lost = loop {
            a.poll();
            match a.try_send(PORT, Address { link, port: PORT }, b"x") {
                Err(SendError::Gone(lost)) => break lost,
                Err(SendError::Unknown) => break Lost::Died,
                _ => assert!(Instant::now() < end, "its link ends"),
            }
        };
        ends[usize::from(matches!(lost, Lost::Corrupt(_)))] += 1;
        assert!(matches!(lost, Lost::Died | Lost::Corrupt(_)), "{lost}");
        a.link(link).close();
        // Open until here: the end of the stream alone ends the link.
        drop(socket);
        let to = Address { link: honest, port: PORT };
        a.send(PORT, to, payload(round, &mut buffer), Some(PATIENCE)).expect("room");
        assert_eq!(next(&mut b), Some(round));
    }
    assert!(ends[1] > 20, "of 150 liars {} were found out by a frame", ends[1]);
}
