//! Two users of one machine. One of them is root, so these tests fail for anybody else.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::common::process::alone;
use crate::common::stranger::{
    FORBIDDEN, REFUSED, answer, descriptors, descriptors_with_a_packet, greeting, memory, seals,
    send, socket, stranger, try_send, try_stranger,
};
use crate::common::{PATIENCE, connected, link, name, need_root, next, no_words, open, until};
use narrows::endpoint::Address;
use narrows::platform::{HuntError, Memory, Platform, Wait};
use narrows_host::{Host, Node, Options};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::AsFd as _;
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::SocketAddrUnix;
use rustix::process::Uid;

const OTHER: u32 = 65534;

/// What another user does meanwhile.
fn as_other<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    thread::spawn(move || {
        let uid = Uid::from_raw(OTHER);
        rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
        act()
    })
}

/// A directory that everybody may enter and write to, as /tmp is.
fn open_to_all() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let domain = directory.path().join("default");
    fs::create_dir(&domain).unwrap();
    for path in [directory.path(), &domain] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o1777)).unwrap();
    }
    directory
}

/// Lets a node do what it has to until the other user is done.
fn during<T>(host: &Host, other: JoinHandle<T>) -> T {
    until(&[host], || other.is_finished());
    other.join().unwrap()
}

/// The bytes of a region as another node would send it.
fn region(directory: &Path) -> Vec<u8> {
    let (a, b) = (open(directory, "x"), open(directory, "y"));
    let (of_a, _of_b) = link(&a, &b, "y");
    let mut bytes = vec![0; of_a.own.size() as usize];
    of_a.own.read(0, &mut bytes).unwrap();
    bytes
}

#[test]
fn another_user_links_only_if_each_allows_the_other() {
    let _alone = alone();
    need_root();
    let directory = open_to_all();
    for (root_allows, other_allows) in [(false, true), (true, false), (true, true)] {
        let mut root = Options::new("root").directory(directory.path());
        // Allowing anybody at all makes the socket one that others can connect to.
        root = root.allow_uid(if root_allows { OTHER } else { OTHER - 1 });
        let root = root.open().unwrap();
        let mut other = Options::new("other").directory(directory.path());
        if other_allows {
            other = other.allow_uid(0);
        }
        let other = as_other(move || {
            let other = other.open().unwrap();
            match other.hunt(&name("root")) {
                Ok(()) => next(&other, Wait::Bell).map(|news| connected(Ok(news)).name),
                Err(error) => Err((name("root"), error)),
            }
        });
        let outcome = during(&root, other);
        if root_allows && other_allows {
            assert_eq!(outcome, Ok(name("root")));
        } else {
            assert_eq!(outcome, Err((name("root"), HuntError::Forbidden)));
            assert!(root.event().is_none());
        }
    }
}

#[test]
fn another_user_who_comes_without_this_library_is_turned_away_by_the_kernel_or_the_node() {
    let _alone = alone();
    need_root();
    let directory = open_to_all();
    let path = directory.path().to_path_buf();
    // Where nobody else is allowed, the kernel does not let others near the socket.
    let a = open(&path, "a");
    let at = path.clone();
    let connected = during(&a, as_other(move || try_stranger(&at).map(drop)));
    assert_eq!(connected, Err(Errno::ACCESS));
    drop(a);

    let a = Options::new("a").directory(&path).allow_uid(OTHER - 1).open().unwrap();
    let before = descriptors();
    let at = path.clone();
    let answered = as_other(move || {
        let socket = stranger(&at);
        let (memory, bell) = (memory(&[], 4096, seals()), eventfd(0, EventfdFlags::CLOEXEC));
        // It may have been turned away before.
        let _ = try_send(&socket, &greeting(4096), &[memory.as_fd(), bell.unwrap().as_fd()]);
        poll(&mut [PollFd::new(&socket, PollFlags::IN)], None).unwrap();
        answer(&socket)
    });
    assert_eq!(during(&a, answered), Some((REFUSED, FORBIDDEN)));
    assert!(a.event().is_none());
    until(&[&a], || descriptors() <= before);
}

#[test]
fn an_allowed_user_whose_bell_blocks_keeps_nobody_waiting() {
    let _alone = alone();
    need_root();
    let directory = open_to_all();
    let path = directory.path().to_path_buf();
    let mut region = region(tempfile::tempdir().unwrap().path());
    let mut a: Node = Options::new("a").directory(&path).allow_uid(OTHER).node().unwrap();
    a.open(1).unwrap();
    let bell = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
    let theirs = bell.try_clone().unwrap();
    let listener = socket();
    let address = SocketAddrUnix::new(path.join("default/mallory")).unwrap();
    let bound = rustix::net::bind(&listener, &address).map(|()| listener);
    let other = as_other(move || {
        let listener = bound.unwrap();
        rustix::net::listen(&listener, 1).unwrap();
        poll(&mut [PollFd::new(&listener, PollFlags::IN)], None).unwrap();
        let socket = rustix::net::accept(&listener).unwrap();
        poll(&mut [PollFd::new(&socket, PollFlags::IN)], None).unwrap();
        // It asks to be rung for each message, from the first on.
        let mut start = [0; 4];
        rustix::io::pread(&descriptors_with_a_packet(&socket)[0], &mut start, 16).unwrap();
        let first = u32::from_le_bytes(start).wrapping_add(1);
        region[512..516].copy_from_slice(&first.max(1).to_le_bytes());
        let memory = memory(&region, region.len() as u64, seals());
        send(&socket, &greeting(region.len() as u32), &[memory.as_fd(), theirs.as_fd()]);
        socket
    });
    let link = a.hunt(&name("mallory"), Some(PATIENCE)).unwrap();
    let socket = other.join().unwrap();
    rustix::fs::fcntl_setfl(&bell, OFlags::empty()).unwrap();
    rustix::io::write(&bell, &(u64::MAX - 1).to_ne_bytes()).unwrap();
    let (told, sent) = mpsc::channel();
    let sender = thread::spawn(move || {
        for _ in 0..100 {
            a.try_send(1, Address { link, port: 1 }, b"ring").unwrap();
        }
        told.send(()).unwrap();
    });
    sent.recv_timeout(PATIENCE).expect("ringing came back");
    sender.join().unwrap();
    let mut count = [0; 8];
    rustix::io::read(&bell, &mut count).unwrap();
    assert_eq!(u64::from_ne_bytes(count), u64::MAX, "it was rung");
    drop(socket);
}

#[test]
fn what_another_user_keeps_of_links_that_ended_is_little() {
    const LINKS: usize = 30;
    const EACH: u64 = 256 << 10;
    let _alone = alone();
    need_root();
    let directory = open_to_all();
    let path = directory.path().to_path_buf();
    let region = region(tempfile::tempdir().unwrap().path());
    let a = Options::new("a").directory(&path).allow_uid(OTHER).open().unwrap();
    let mut kept = Vec::new();
    for _ in 0..LINKS {
        let (region, path) = (region.clone(), path.clone());
        let other = as_other(move || {
            let socket = stranger(&path);
            let bell = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
            let memory = memory(&region, region.len() as u64, seals());
            send(&socket, &greeting(region.len() as u32), &[memory.as_fd(), bell.as_fd()]);
            socket
        });
        let socket = other.join().unwrap();
        let link = connected(next(&a, Wait::Bell));
        // Time enough to make every page.
        for _ in 0..100 {
            a.wait(no_words(), Wait::Bell, Some(a.now() + Duration::from_micros(100)));
        }
        kept.push(descriptors_with_a_packet(&socket).remove(0));
        a.close(link.key);
    }
    let made = kept.iter().map(|kept| rustix::fs::fstat(kept).unwrap().st_blocks as u64 * 512);
    let made: u64 = made.sum();
    assert!(made <= LINKS as u64 * EACH, "{made} bytes");
}
