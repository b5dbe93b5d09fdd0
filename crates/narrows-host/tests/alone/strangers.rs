//! What comes over the socket is untrusted: it is refused, and no descriptor of it stays.
//!
//! The first test counts the descriptors of the process, so the other waits for it.

use std::io::pipe;

use crate::common::process::alone;
use crate::common::stranger::{
    AGAIN, INCOMPATIBLE, MALFORMED, REFUSED, answer, descriptors, descriptors_with_a_packet,
    greeting, memory, seals, send, socket, stranger,
};
use crate::common::{link, name, next, open, pump, until};
use narrows::platform::{Event, HuntError, Lost, Memory, Platform, Wait};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::SealFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketAddrUnix, recv};
use rustix::time::Timespec;

const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

#[test]
fn strangers_are_turned_away_and_nothing_of_theirs_stays() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let before = descriptors();
    let a = open(directory.path(), "a");
    let alone = descriptors();
    {
        let (good, unsealed) = (memory(&[], 4096, seals()), memory(&[], 4096, SealFlags::SHRINK));
        let bell = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        let (_, pipe) = pipe().unwrap();
        let (good, unsealed) = (good.as_fd(), unsealed.as_fd());
        let (bell, pipe) = (bell.as_fd(), pipe.as_fd());
        let hello = greeting(4096);
        let change = |at: usize, to: u8| {
            let mut hello = hello.clone();
            hello[at] = to;
            hello
        };
        let long = [hello.clone(), vec![0]].concat();
        let refuse = [&hello[..8], &[2, 0, 0, 0, 1, 0, 0, 0]].concat();
        let many = [bell; 40];
        let two: &[BorrowedFd<'_>] = &[good, bell];
        let cases: &[(&str, &[u8], &[BorrowedFd<'_>], u32)] = &[
            ("an empty region", &hello, two, INCOMPATIBLE),
            ("no descriptor", &hello, &[], MALFORMED),
            ("one descriptor", &hello, &[good], MALFORMED),
            ("three descriptors", &hello, &[good, bell, bell], MALFORMED),
            ("forty descriptors", &hello, &many, MALFORMED),
            ("memory that is not sealed", &hello, &[unsealed, bell], MALFORMED),
            ("a pipe for memory", &hello, &[pipe, bell], MALFORMED),
            ("a pipe for a bell", &hello, &[good, pipe], MALFORMED),
            ("another size", &greeting(8192), two, MALFORMED),
            ("a cut greeting", &hello[..63], two, MALFORMED),
            ("a long greeting", &long, two, MALFORMED),
            ("one byte", &[1], two, MALFORMED),
            ("another magic", &change(0, 0), two, MALFORMED),
            ("another version", &change(4, 9), two, INCOMPATIBLE),
            ("another kind", &change(8, 9), two, MALFORMED),
            ("another line size", &change(12, 32), two, INCOMPATIBLE),
            ("a name of no length", &change(28, 0), two, MALFORMED),
            ("a name that is too long", &change(28, 33), two, MALFORMED),
            ("a name with a slash", &change(33, b'/'), two, MALFORMED),
            ("a refusal", &refuse, &[], MALFORMED),
        ];
        for (what, packet, with, code) in cases {
            let socket = stranger(directory.path());
            send(&socket, packet, with);
            pump(&a);
            assert_eq!(answer(&socket), Some((REFUSED, *code)), "{what}");
            assert_eq!(answer(&socket), None, "{what}: closed");
            assert!(a.event().is_none());
        }
    }
    // All of it is closed: what is neither memory nor a bell, by another thread.
    until(&[&a], || descriptors() <= alone);

    // Many that say nothing: a few may wait, for a while.
    let silent: Vec<OwnedFd> = (0..40).map(|_| stranger(directory.path())).collect();
    (0..3).for_each(|_| pump(&a));
    assert_eq!(descriptors(), alone + silent.len() + 16);
    let turned_away = silent.iter().rev().take(24).filter(|s| answer(s) == Some((2, AGAIN)));
    assert_eq!(turned_away.count(), 24);
    until(&[&a], || descriptors() == alone + silent.len());
    drop(silent);

    // However many silent callers come again and again, one that speaks at once is heard.
    let mut silent: Vec<OwnedFd> = Vec::new();
    let mut flood = || {
        silent
            .retain(|s| recv(s, &mut [0; 64][..], RecvFlags::empty()).err() == Some(Errno::AGAIN));
        while silent.len() < 40 {
            silent.push(stranger(directory.path()));
        }
    };
    let talker = open(directory.path(), "talker");
    flood();
    pump(&a);
    flood();
    talker.hunt(&name("a")).unwrap();
    until(&[&a, &talker], || {
        flood();
        talker.event().map(crate::common::connected).is_some()
    });
    crate::common::connected(next(&a, Wait::Bell));
    drop((silent, talker));
    assert!(matches!(next(&a, Wait::Bell), Ok(Event::Lost { reason: Lost::Closed, .. })));
    until(&[&a], || descriptors() <= alone);

    let b = open(directory.path(), "b");
    let linked = link(&b, &a, "a");
    let both = descriptors();
    // One that greets as it should, and then forgets its manners.
    let mut region = vec![0; linked.0.own.size() as usize];
    linked.0.own.read(0, &mut region).unwrap();
    let impostor = stranger(directory.path());
    {
        let memory = memory(&region, region.len() as u64, seals());
        let bell = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        send(&impostor, &greeting(region.len() as u32), &[memory.as_fd(), bell.as_fd()]);
    }
    let news = crate::common::connected(next(&a, Wait::Bell));
    assert_eq!(news.name, name("mallory"));
    send(&impostor, &greeting(4096), &[]);
    match next(&a, Wait::Bell) {
        Ok(Event::Lost { key, reason }) => assert_eq!((key, reason), (news.key, Lost::Died)),
        _ => panic!("something else"),
    }
    drop((impostor, news));
    assert_eq!(descriptors(), both);
    drop(linked);
    assert!(descriptors() <= both, "a link's memory has no descriptor");
    drop(b);
    assert!(matches!(next(&a, Wait::Bell), Ok(Event::Lost { reason: Lost::Closed, .. })));
    until(&[&a], || descriptors() <= alone);

    // A node that answers with rubbish.
    let false_node = socket();
    let address = SocketAddrUnix::new(directory.path().join("default/c")).unwrap();
    rustix::net::bind(&false_node, &address).unwrap();
    rustix::net::listen(&false_node, 8).unwrap();
    a.hunt(&name("c")).unwrap();
    let accepted = rustix::net::accept(&false_node).unwrap();
    send(&accepted, b"rubbish", &[]);
    assert!(matches!(next(&a, Wait::Bell), Err((_, HuntError::Incompatible))));
    drop((accepted, false_node));

    drop(a);
    assert_eq!(descriptors(), before);
}

/// A greeting of a node's dead life, or of a stranger that calls itself so.
#[test]
fn a_greeting_that_leads_to_nothing_leaves_the_nodes_own_greeting_alone() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let zoe = open(directory.path(), "zoe");
    let listener = socket();
    let address = |name: &str| SocketAddrUnix::new(directory.path().join("default").join(name));
    rustix::net::bind(&listener, &address("mallory").unwrap()).unwrap();
    rustix::net::listen(&listener, 4).unwrap();
    zoe.hunt(&name("mallory")).unwrap();
    let greeted = rustix::net::accept(&listener).unwrap();
    assert_eq!(descriptors_with_a_packet(&greeted).len(), 2, "its own greeting");
    let region = memory(&[], 4096, seals());
    let bell = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
    let stranger = socket();
    rustix::net::connect(&stranger, &address("zoe").unwrap()).unwrap();
    send(&stranger, &greeting(4096), &[region.as_fd(), bell.as_fd()]);
    until(&[&zoe], || poll(&mut [PollFd::new(&stranger, PollFlags::IN)], Some(&AT_ONCE)) == Ok(1));
    assert_eq!(answer(&stranger), Some((REFUSED, INCOMPATIBLE)));
    let there = recv(&greeted, &mut [0; 64][..], RecvFlags::DONTWAIT);
    assert_eq!(there.err(), Some(Errno::AGAIN), "its own greeting waits for its answer");
}
