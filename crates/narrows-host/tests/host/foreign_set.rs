//! A node whose descriptor sits in a set of the application's own.

use std::time::{Duration, Instant};

use narrows::endpoint::{Address, Select};
use narrows::platform::Platform as _;
use narrows_host::{Node, Options};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd as _;

const SOON: Duration = Duration::from_secs(5);

/// Whether a node's descriptor is readable, or becomes so within a time.
fn readable(node: &Node, within: Duration) -> bool {
    let descriptor = node.platform().as_fd();
    let mut set = [PollFd::new(&descriptor, PollFlags::IN)];
    let within = Timespec { tv_sec: within.as_secs() as i64, tv_nsec: 0 };
    poll(&mut set, Some(&within)).unwrap() == 1
}

#[test]
fn the_descriptor_tells_of_links_messages_and_deaths_and_falls_silent_when_heard() {
    let directory = tempfile::tempdir().unwrap();
    let open = |name| {
        let mut node = Options::new(name).directory(directory.path()).node().unwrap();
        node.open(1).unwrap();
        node
    };
    let (mut a, mut b) = (open("a"), open("b"));
    for node in [&a, &b] {
        node.platform().hear();
        assert!(!readable(node, Duration::ZERO));
    }

    b.platform().hunt(&"a".parse().unwrap()).unwrap();
    let deadline = Instant::now() + SOON;
    while a.links().next().is_none() || b.links().next().is_none() {
        assert!(Instant::now() < deadline, "no link");
        for node in [&mut a, &mut b] {
            if readable(node, Duration::ZERO) {
                node.platform().hear();
                node.poll();
            }
        }
    }
    for node in [&a, &b] {
        node.platform().hear();
        assert!(!readable(node, Duration::ZERO));
    }

    let (link, _) = b.links().next().unwrap();
    for _ in 0..3 {
        a.arm();
        assert!(!a.arm(), "nothing has come since it was last asked");
        b.try_send(1, Address { link, port: 1 }, b"here").unwrap();
        assert!(readable(&a, SOON));
        a.disarm();
        a.platform().hear();
        assert!(!readable(&a, Duration::ZERO), "it was heard");
        let message = a.try_receive(1, &Select::default()).unwrap().expect("a message");
        a.release(message);
    }
    b.try_send(1, Address { link, port: 1 }, b"before arming").unwrap();
    assert!(a.arm(), "who waits now would wait in vain");
    a.disarm();

    drop(b);
    assert!(readable(&a, SOON));
    a.platform().hear();
    assert!(!readable(&a, Duration::ZERO));
    a.poll();
    assert!(a.links().next().is_none());
}
