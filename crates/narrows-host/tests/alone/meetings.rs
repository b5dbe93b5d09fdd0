//! How two processes meet, keep each other waiting, and part.

use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::process::{
    Peer, Role, alone, no_more_than, node, payload, possessions, rounds, take,
};
use crate::common::{Over, PATIENCE, name};
use narrows::endpoint::{Address, Limits, LinkError, Message, Select, SendError, What};
use narrows::link::LinkId;
use narrows::platform::Lost;
use narrows::strategy::{Notification, Placement, Strategy};
use narrows_host::{Node, OpenError, Options};

const WORK: u16 = 1;
const NEWS: u16 = 2;

#[test]
#[ignore = "what a peer runs; does nothing by itself"]
fn a_peer() {
    let Some(role) = Role::get() else { return };
    let mut node = node(&role.directory, "peer");
    node.open(WORK).unwrap();
    node.hunt(&name("a"), Some(PATIENCE)).unwrap();
    match role.name.as_str() {
        "slow" => return take_slowly(&mut node, &role),
        _ => drop(node.receive(WORK, &Select::default(), Some(PATIENCE))),
    }
    match role.name.as_str() {
        "return" => {}
        "unwind" => std::panic::resume_unwind(Box::new("as the test wants it")),
        "exit" => std::process::exit(0),
        "abort" => std::process::abort(),
        other => panic!("no role {other}"),
    }
}

/// Takes as many messages as it was told, and has to work on each.
fn take_slowly(node: &mut Node, role: &Role) {
    let count: u64 = role.words.parse().unwrap();
    for expected in 0..count {
        let message = node.receive(WORK, &Select::default(), Some(PATIENCE)).unwrap();
        assert_eq!(take(node, message), expected);
        role.report(expected + 1);
        std::thread::sleep(Duration::from_micros(300));
    }
}

/// A node that a peer of this role has hunted.
fn hunted(directory: &std::path::Path, role: &str, words: &str) -> (Node, LinkId, Peer) {
    let mut node = node(directory, "a");
    node.open(NEWS).unwrap();
    let peer = Peer::start(module_path!(), role, directory, words);
    let link = node.hunt(&name("peer"), Some(PATIENCE)).unwrap();
    node.link(link).attach(NEWS).unwrap();
    (node, link, peer)
}

#[test]
fn a_name_that_never_appears_is_given_up_at_the_deadline() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let mut a = node(directory.path(), "a");
    let (start, within) = (Instant::now(), Duration::from_millis(60));
    assert_eq!(a.hunt(&name("nobody"), Some(within)), Err(LinkError::Deadline));
    assert!(start.elapsed() >= within);
}

#[test]
fn a_name_is_taken_while_its_process_lives_and_free_when_that_was_killed() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let (node, _link, mut peer) = hunted(directory.path(), "slow", "1");
    let again = || Options::new("peer").directory(directory.path()).open();
    let Err(taken) = again() else { panic!("the name was taken") };
    assert!(matches!(taken, OpenError::Taken(_)));
    let text = taken.to_string();
    assert!(text.contains("is running") && text.contains("choose another name"), "{text}");
    peer.kill();
    peer.wait();
    again().expect("the dead leave their name");
    drop(node);
}

#[test]
fn a_slow_receiver_holds_its_sender_up_and_has_all_that_was_accepted_in_order() {
    const COUNT: u64 = 400;
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    for placement in [Placement::Internal, Placement::External] {
        let (mut node, link, mut peer) = hunted(directory.path(), "slow", &COUNT.to_string());
        node.set_strategy(Strategy { placement, ..Strategy::default() });
        let (mut sent, mut late, mut buffer) = (0, 0, [0; 4096]);
        let end = Instant::now() + PATIENCE;
        while sent < COUNT {
            let (to, within) = (Address { link, port: WORK }, Some(Duration::from_micros(50)));
            match node.send(NEWS, to, Message::new(payload(sent, &mut buffer)).priority(3), within)
            {
                Ok(()) => sent += 1,
                Err(SendError::Deadline) => late += 1,
                Err(error) => panic!("{error}"),
            }
            assert!(Instant::now() < end, "{sent} sent");
        }
        assert!(late > 0, "it was held up");
        assert!(peer.wait().success(), "all came in order");
        assert_eq!(peer.reported(), COUNT);
    }
}

#[test]
fn a_peer_that_ends_in_order_says_so_whatever_ends_it() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    for (role, reason) in [
        ("return", Lost::Closed),
        ("unwind", Lost::Closed),
        ("exit", Lost::Died),
        ("abort", Lost::Died),
    ] {
        let (mut node, link, mut peer) = hunted(directory.path(), role, "");
        let to = Address { link, port: WORK };
        node.send(NEWS, to, Message::new(b"end now").priority(0), Some(PATIENCE)).unwrap();
        let notice =
            node.receive(NEWS, &Select::default(), Some(PATIENCE)).expect("word of the end");
        assert_eq!((notice.what, notice.from.link), (What::PeerGone(reason), link), "{role}");
        node.release(notice);
        peer.wait();
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// Hunts the other, sends it messages at once and takes its. Nothing of either may be lost.
fn greet_and_talk(directory: &std::path::Path, own: &str, other: &str, together: &Barrier) {
    const COUNT: u64 = 30;
    let mut node = node(directory, own);
    node.open(WORK).unwrap();
    together.wait();
    let link = node.hunt(&name(other), Some(PATIENCE)).unwrap();
    let mut buffer = [0; 4096];
    for number in 0..COUNT {
        let to = Address { link, port: WORK };
        node.send(WORK, to, Message::new(payload(number, &mut buffer)).priority(3), Some(PATIENCE))
            .unwrap();
    }
    for number in 0..COUNT {
        let message =
            node.receive(WORK, &Select::default(), Some(PATIENCE)).expect("a message in time");
        assert_eq!((message.what, message.from.link), (What::Message, link));
        assert_eq!(take(&mut node, message), number);
    }
    node.poll();
    assert_eq!(node.links().map(|(id, _)| id).collect::<Vec<_>>(), [link], "one link");
    together.wait();
}

#[test]
fn two_that_hunt_each_other_and_talk_at_once_have_one_link_and_lose_nothing() {
    let _alone = alone();
    let before = possessions();
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..25 * rounds() {
        let together = Barrier::new(2);
        std::thread::scope(|scope| {
            let a = scope.spawn(|| greet_and_talk(directory.path(), "a", "b", &together));
            greet_and_talk(directory.path(), "b", "a", &together);
            // By name: ThreadSanitizer sees the end of a thread that is joined.
            a.join().unwrap();
        });
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    no_more_than(before);
}

/// A node that has places for two links, in a thread, until `done`. Gives the most it had.
fn hub(directory: &std::path::Path, done: &AtomicBool) -> usize {
    let hub = Options::new("hub").directory(directory).open().unwrap();
    let mut hub = Node::new(hub, Limits { links: 2, ..Limits::default() }).unwrap();
    let mut links = 0;
    while !done.load(Ordering::Acquire) {
        hub.wait_any(Some(Duration::from_millis(5)));
        hub.poll();
        links = links.max(hub.links().count());
    }
    links
}

#[test]
fn a_full_node_turns_others_away_and_has_room_when_links_have_ended() {
    let _alone = alone();
    let before = possessions();
    let directory = tempfile::tempdir().unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let hub = scope.spawn(|| hub(directory.path(), &done));
        let over = Over(&done);
        let mut leaves = Vec::new();
        let mut turned_away = 0;
        for number in 0..20 {
            let mut leaf = node(directory.path(), &format!("leaf{number}"));
            match leaf.hunt(&name("hub"), Some(PATIENCE)) {
                Ok(link) => {
                    // Turned away as soon as the hub has looked.
                    let end = Instant::now() + PATIENCE;
                    while number >= 2 && leaf.link(link).check().is_ok() {
                        assert!(Instant::now() < end, "nobody turned it away");
                        leaf.wait_any(Some(Duration::from_millis(1)));
                        leaf.poll();
                    }
                    if let Err(error) = leaf.link(link).check() {
                        assert_eq!(error, LinkError::Gone(Lost::Full));
                        turned_away += 1;
                    }
                }
                Err(error) => {
                    assert_eq!(error, LinkError::Gone(Lost::Full));
                    turned_away += 1;
                }
            }
            leaves.push(leaf);
        }
        assert_eq!(turned_away, 18);
        drop(leaves);
        // Nodes that came and went are not in the way of nodes that come later.
        for number in 0..10 {
            let end = Instant::now() + PATIENCE;
            let mut leaf = node(directory.path(), &format!("later{number}"));
            leaf.open(WORK).unwrap();
            // The hub may not have noticed that the one before has gone.
            loop {
                assert!(Instant::now() < end, "there is no room for the {number}th");
                let Ok(link) = leaf.hunt(&name("hub"), Some(PATIENCE)) else { continue };
                let to = Address { link, port: 9 };
                leaf.send(WORK, to, Message::new(b"are you there").priority(0), Some(PATIENCE))
                    .unwrap();
                leaf.link(link).attach(WORK).unwrap();
                let answer = leaf
                    .receive(WORK, &Select::default(), Some(PATIENCE))
                    .expect("an answer, or word of the end");
                let refused = answer.what == What::Refused;
                leaf.release(answer);
                leaf.link(link).close();
                if refused {
                    break;
                }
            }
        }
        drop(over);
        assert_eq!(hub.join().unwrap(), 2);
    });
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    no_more_than(before);
}

/// A node with a port that has found the node "here".
fn linked(directory: &Path) -> (Node, LinkId) {
    let mut there = node(directory, "there");
    there.open(WORK).unwrap();
    let link = there.hunt(&name("here"), Some(PATIENCE)).unwrap();
    (there, link)
}

#[test]
fn a_glance_sees_what_has_come_and_comes_back_if_nothing_has() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let mut here = node(directory.path(), "here");
    here.open(WORK).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut there, link) = linked(directory.path());
            there.link(link).attach(WORK).unwrap();
            let (to, mut bytes) = (Address { link, port: WORK }, [0; 8]);
            // Until the other has gone.
            while there.send(WORK, to, b"one", Some(PATIENCE)).is_ok() {
                let _ = there.receive_into(WORK, &mut bytes, Some(PATIENCE));
            }
        });
        // Moved here, so that it goes when the test fails.
        let (mut here, mut bytes) = (here, [0; 8]);
        for glances in [false, false, true] {
            let end = Instant::now() + PATIENCE;
            while glances && !here.glance() {
                assert!(Instant::now() < end, "it was sent");
            }
            let got = here.receive_into(WORK, &mut bytes, Some(PATIENCE)).unwrap();
            assert_eq!((got.len, &bytes[..3]), (3, &b"one"[..]));
            assert!(!here.glance(), "it has been taken");
            here.send(WORK, got.from, b"", Some(PATIENCE)).unwrap();
        }
    });
}

#[test]
fn who_was_rung_awake_and_only_looks_from_then_on_hears_of_an_end() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let mut here = node(directory.path(), "here");
    here.open(WORK).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut there, link) = linked(directory.path());
            let to = Address { link, port: WORK };
            there.send(WORK, to, b"one", Some(PATIENCE)).unwrap();
            // Long enough for the other to be asleep.
            std::thread::sleep(Duration::from_millis(50));
            there.send(WORK, to, b"two", Some(PATIENCE)).unwrap();
        });
        let (mut here, mut bytes) = (here, [0; 8]);
        here.set_notification(Notification::Interrupt);
        let one = here.receive_into(WORK, &mut bytes, Some(PATIENCE)).unwrap();
        here.receive_into(WORK, &mut bytes, Some(PATIENCE)).unwrap();
        let end = Instant::now() + PATIENCE;
        while here.link(one.from.link).check().is_ok() {
            assert!(Instant::now() < end, "it has ended");
            here.poll();
        }
    });
}
