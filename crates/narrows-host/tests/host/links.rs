//! Two nodes of one machine: finding each other, seeing each other's words, hearing bells.

use std::thread;
use std::time::Duration;

use crate::common::{connected, link, name, next, no_words, open, pump, until};
use narrows::memory::Layout;
use narrows::platform::{
    Event, HuntError, Lost, Memory, OwnMemory, Platform, Wait, Watch, Woken, Words, WordsMut,
};

#[test]
fn two_threads_find_each_other_and_answer_each_others_words() {
    let directory = tempfile::tempdir().unwrap();
    for how in [Wait::Spin, Wait::Bell] {
        let (a, b) = (open(directory.path(), "a"), open(directory.path(), "b"));
        let play = move |host: narrows_host::Host, first: bool| {
            if first {
                host.hunt(&name("b")).unwrap();
            }
            let link = connected(next(&host, how));
            let at = link.own.size() - narrows_host::LINE;
            let (own, peer) = (link.own.words(at, 16).unwrap(), link.peer.words(at, 16).unwrap());
            let mut seen = 0;
            for round in 1..=200 {
                if first {
                    own.store_release(0, round);
                    host.ring(&link.bell);
                }
                while peer.load_acquire(0) == seen {
                    let watch = Watch { words: &peer, index: 0, value: seen, until: false };
                    let deadline = host.now() + crate::common::PATIENCE;
                    let woken = host.wait([watch].into_iter(), how, Some(deadline));
                    assert_ne!(woken, Woken::Deadline);
                }
                seen = peer.load_acquire(0);
                assert_eq!(seen, round);
                if !first {
                    own.store_release(0, round);
                    host.ring(&link.bell);
                }
            }
            // The other may need this node until it has seen the last word.
            (host, link)
        };
        let b = thread::spawn(move || play(b, false));
        let a = play(a, true);
        drop((a, b.join().unwrap()));
    }
}

/// A node looks at all its peers' rings, and each peer has only this one link.
#[test]
fn rings_of_different_peers_start_at_different_cache_sets() {
    const PEERS: usize = 32;
    /// Of the usual first-level cache: lines of a page, and lines that share a set.
    const SETS: u32 = 64;
    const WAYS: usize = 8;
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::new(
        narrows_host::LINE,
        256,
        &Layout::standard(narrows_host::LINE).unwrap().classes()[..1],
    )
    .unwrap();
    let open = |name: &str| {
        let options = narrows_host::Options::new(name).directory(directory.path()).layout(layout);
        options.open().unwrap()
    };
    let node = open("node");
    let mut sharing = [0; SETS as usize];
    let mut peers = Vec::new();
    for number in 0..PEERS {
        let name = format!("peer-{number}");
        let peer = open(&name);
        let (of_node, _) = link(&node, &peer, &name);
        peers.push(peer);
        let start = of_node.peer.words(0, 8).unwrap().load(4);
        sharing[(start % SETS) as usize] += 1;
    }
    // Spread at random, nine of them share one once in ten million times.
    assert!(sharing.iter().all(|lines| *lines <= WAYS), "{sharing:?}");
}

#[test]
fn what_the_owner_writes_the_peer_reads_and_the_header_is_the_owners() {
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::new(
        narrows_host::LINE,
        16,
        &Layout::standard(narrows_host::LINE).unwrap().classes()[..2],
    )
    .unwrap();
    let a = narrows_host::Options::new("a").directory(directory.path()).layout(layout);
    let (a, b) = (a.open().unwrap(), open(directory.path(), "b"));
    let (of_a, of_b) = link(&a, &b, "b");
    assert_eq!((of_a.name, of_b.name), (name("b"), name("a")));
    assert_eq!(of_b.peer.size(), layout.size());
    assert_eq!(Layout::read(&of_b.peer, narrows_host::LINE).unwrap().slots(), 16);
    assert_eq!(Layout::read(&of_a.peer, narrows_host::LINE).unwrap().slots(), 256);

    let at = layout.size() - 512;
    let own = of_a.own.words(at, 128).unwrap();
    let peer = of_b.peer.words(at, 128).unwrap();
    let bytes: Vec<u8> = (1..=200).collect();
    for len in 0..=200 {
        own.write_bytes(0, &[0; 256]);
        own.write_bytes(3, &bytes[..len]);
        let mut back = [0; 256];
        peer.read_bytes(3, &mut back[..len]);
        assert_eq!((&back[..len], back[len]), (&bytes[..len], 0), "{len} bytes");
        peer.read_bytes(3, &mut back);
        assert!(back[len..].iter().all(|b| *b == 0), "{len} bytes and no more");
        of_a.own.write(at + 1, &bytes[..len]).unwrap();
        of_b.peer.read(at + 1, &mut back[..len]).unwrap();
        assert_eq!(back[..len], bytes[..len]);
    }
    // An index wraps and bytes stop at the end.
    own.store(127, 0x0403_0201);
    assert_eq!(peer.load(127 + 128), 0x0403_0201);
    let mut back = [9; 8];
    peer.read_bytes(127, &mut back);
    assert_eq!(back, [1, 2, 3, 4, 9, 9, 9, 9]);

    for (offset, count) in [(0, 0), (0, 3), (2, 1), (layout.size(), 1), (4, 1 << 31), (u32::MAX, 1)]
    {
        assert!(of_a.own.words(offset, count).is_err(), "{count} words at {offset}");
        assert!(of_b.peer.words(offset, count).is_err(), "{count} words at {offset}");
    }
    assert!(of_a.own.write(layout.size() - 3, &[0; 4]).is_err());
    assert!(of_b.peer.read(u32::MAX, &mut [0]).is_err());
}

#[test]
fn a_bell_ends_a_sleep_for_bells_even_if_rung_before_and_never_a_timed_one() {
    let directory = tempfile::tempdir().unwrap();
    let (a, b) = (open(directory.path(), "a"), open(directory.path(), "b"));
    let (of_a, _of_b) = link(&a, &b, "b");
    let soon = || Some(b.now() + Duration::from_millis(3));
    assert_eq!(b.wait(no_words(), Wait::Bell, soon()), Woken::Deadline);
    a.ring(&of_a.bell);
    a.ring(&of_a.bell);
    assert_eq!(b.wait(no_words(), Wait::Timer, soon()), Woken::Deadline);
    assert_eq!(b.wait(no_words(), Wait::Spin, soon()), Woken::Deadline);
    let late = b.now() + crate::common::PATIENCE;
    assert_eq!(b.wait(no_words(), Wait::Bell, Some(late)), Woken::Bell);
    assert_eq!(b.wait(no_words(), Wait::Bell, soon()), Woken::Deadline, "rings coalesce");
}

#[test]
fn a_hunt_finds_a_node_that_is_born_later_however_its_hunter_waits() {
    let directory = tempfile::tempdir().unwrap();
    for how in [Wait::Spin, Wait::Bell, Wait::Timer] {
        let a = open(directory.path(), "a");
        a.hunt(&name("late")).unwrap();
        a.hunt(&name("late")).unwrap();
        pump(&a);
        assert!(a.event().is_none());
        let path = directory.path().to_path_buf();
        let late = thread::spawn(move || {
            let late = open(&path, "late");
            (connected(next(&late, Wait::Bell)).name, late)
        });
        assert_eq!(connected(next(&a, how)).name, name("late"));
        assert_eq!(late.join().unwrap().0, name("a"));
    }
}

/// Closing such a descriptor takes the kernel 10 ms and more, in which its node serves nobody and
/// its process cannot even die.
#[test]
fn a_hunt_watches_no_directory() {
    let directory = tempfile::tempdir().unwrap();
    let a = open(directory.path(), "a");
    a.hunt(&name("nobody")).unwrap();
    pump(&a);
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let open = descriptors.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let watches = open.filter(|what| what.to_string_lossy().contains("inotify"));
    assert_eq!(watches.count(), 0);
}

#[test]
fn a_hunt_given_up_finds_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let a = open(directory.path(), "a");
    a.hunt(&name("b")).unwrap();
    a.give_up(&name("b"));
    let b = open(directory.path(), "b");
    let end = a.now() + Duration::from_millis(30);
    until(&[&a, &b], || a.now() > end);
    assert!(a.event().is_none() && b.event().is_none());
    // Given up after it greeted: the other must not keep half a link.
    a.hunt(&name("b")).unwrap();
    a.give_up(&name("b"));
    let end = a.now() + Duration::from_millis(10);
    until(&[&a, &b], || a.now() > end);
    assert!(b.event().is_none());
    // Given up after it was answered: the other learns that the link is closed.
    a.hunt(&name("b")).unwrap();
    connected(next(&b, Wait::Bell));
    a.give_up(&name("b"));
    assert!(matches!(next(&b, Wait::Bell), Ok(Event::Lost { reason: Lost::Closed, .. })));
    assert!(a.event().is_none());
}

#[test]
fn two_that_hunt_each_other_at_once_get_one_link() {
    let directory = tempfile::tempdir().unwrap();
    let (a, b) = (open(directory.path(), "a"), open(directory.path(), "b"));
    for a_first in [true, false] {
        a.hunt(&name("b")).unwrap();
        b.hunt(&name("a")).unwrap();
        let order = if a_first { [&a, &b] } else { [&b, &a] };
        let (mut links_a, mut links_b) = (Vec::new(), Vec::new());
        let mut end = None;
        until(&order, || {
            links_a.extend(a.event().map(connected));
            links_b.extend(b.event().map(connected));
            if !links_a.is_empty() && !links_b.is_empty() && end.is_none() {
                end = Some(a.now() + Duration::from_millis(50));
            }
            end.is_some_and(|end| a.now() > end)
        });
        assert_eq!((links_a.len(), links_b.len()), (1, 1));
        let (link_a, link_b) = (links_a.remove(0), links_b.remove(0));
        let at = link_a.own.size() - narrows_host::LINE;
        link_a.own.words(at, 1).unwrap().store_release(0, 77);
        assert_eq!(link_b.peer.words(at, 1).unwrap().load_acquire(0), 77);
        a.close(link_a.key);
        assert!(matches!(next(&b, Wait::Bell), Ok(Event::Lost { reason: Lost::Closed, .. })));
    }
}

#[test]
fn closing_tells_the_peer_which_can_be_hunted_again() {
    let directory = tempfile::tempdir().unwrap();
    let (a, b) = (open(directory.path(), "a"), open(directory.path(), "b"));
    let mut incarnation = None;
    for _ in 0..3 {
        let (of_a, of_b) = link(&a, &b, "b");
        assert_eq!(*incarnation.get_or_insert(of_a.incarnation), of_a.incarnation);
        a.close(of_a.key);
        // Hunted again before the other has noticed.
        a.hunt(&name("b")).unwrap();
        match next(&b, Wait::Bell) {
            Ok(Event::Lost { key, reason }) => assert_eq!((key, reason), (of_b.key, Lost::Closed)),
            _ => panic!("something else"),
        }
        let again = connected(next(&b, Wait::Bell));
        a.close(connected(next(&a, Wait::Bell)).key);
        assert!(matches!(next(&b, Wait::Bell), Ok(Event::Lost { key, .. }) if key == again.key));
    }
    let (_, of_b) = link(&a, &b, "b");
    drop(a);
    match next(&b, Wait::Spin) {
        Ok(Event::Lost { key, reason }) => assert_eq!((key, reason), (of_b.key, Lost::Closed)),
        _ => panic!("something else"),
    }
}

#[test]
fn many_links_deliver_each_bell_to_its_node() {
    let directory = tempfile::tempdir().unwrap();
    let hub = open(directory.path(), "hub");
    let mut leaves = Vec::new();
    for i in 0..40 {
        let leaf = open(directory.path(), &format!("leaf{i}"));
        let (of_leaf, of_hub) = link(&leaf, &hub, "hub");
        leaves.push((leaf, of_leaf, of_hub));
    }
    for (leaf, _, of_hub) in &leaves {
        hub.ring(&of_hub.bell);
        let late = leaf.now() + crate::common::PATIENCE;
        assert_eq!(leaf.wait(no_words(), Wait::Bell, Some(late)), Woken::Bell);
    }
    for (leaf, of_leaf, _) in &leaves {
        leaf.ring(&of_leaf.bell);
        let late = hub.now() + crate::common::PATIENCE;
        assert_eq!(hub.wait(no_words(), Wait::Bell, Some(late)), Woken::Bell);
    }
}

#[test]
fn a_peer_brings_no_larger_region_than_is_allowed() {
    let directory = tempfile::tempdir().unwrap();
    let small = Layout::new(
        narrows_host::LINE,
        16,
        &Layout::standard(narrows_host::LINE).unwrap().classes()[..2],
    )
    .unwrap();
    let usual = Layout::standard(narrows_host::LINE).unwrap().size();
    let b = open(directory.path(), "b");
    for (most, fits) in [(1, false), (usual - 1, false), (usual, true)] {
        let a = narrows_host::Options::new("a").directory(directory.path()).layout(small);
        let a = a.largest_region(most).open().unwrap();
        for hunter_is_small in [false, true] {
            let (one, other, to) = if hunter_is_small { (&a, &b, "b") } else { (&b, &a, "a") };
            one.hunt(&name(to)).unwrap();
            let mut news = None;
            until(&[one, other], || {
                news = news.take().or_else(|| one.event());
                news.is_some()
            });
            match news.expect("it came") {
                Ok(Event::Connected(link)) if fits => one.close(link.key),
                Err((_, HuntError::Incompatible)) if !fits => {}
                _ => panic!("something else where {most} bytes are allowed"),
            }
            // What the other has heard of it.
            let end = a.now() + Duration::from_millis(20);
            until(&[one, other], || other.event().is_none() && a.now() > end);
        }
    }
}
