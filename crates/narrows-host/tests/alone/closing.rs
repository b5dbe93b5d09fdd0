//! Descriptors that keep a process waiting that closes them: here sockets with bytes that nobody
//! takes, which linger for an hour. Files of a hostile file system are in `fuse.rs`.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::common::process::alone;
use crate::common::stranger::{
    AGAIN, MALFORMED, REFUSED, answer, greeting, memory, seals, send, stranger, try_stranger,
};
use crate::common::{PATIENCE, link, need_root, no_words, open, until};
use narrows::platform::{Platform as _, Wait};
use narrows_host::{Host, Options};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::net::sockopt::set_socket_linger;
use rustix::process::Uid;

/// Another user than the one that runs the tests.
const OTHER: u32 = 12345;

/// One end that lingers, and the other.
fn lingering() -> (OwnedFd, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (other, _) = listener.accept().unwrap();
    one.set_nonblocking(true).unwrap();
    let full = loop {
        if let Err(error) = one.write(&[0; 65536]) {
            break error.kind();
        }
    };
    assert_eq!(full, ErrorKind::WouldBlock);
    set_socket_linger(&one, Some(Duration::from_secs(3600))).unwrap();
    (one.into(), other)
}

/// Sends a greeting whose memory is what `other` is the other end of, and forgets that.
fn send_lingering(socket: &OwnedFd) -> TcpStream {
    let (one, other) = lingering();
    let bell = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
    send(socket, &greeting(4096), &[one.as_fd(), bell.as_fd()]);
    other
}

/// Has nodes work in a thread of their own, which has to come back.
fn turns(host: Host) -> Host {
    let (told, ended) = mpsc::channel();
    thread::spawn(move || {
        for _ in 0..8 {
            host.wait(no_words(), Wait::Timer, Some(host.now()));
        }
        let _ = told.send(host);
    });
    ended.recv_timeout(PATIENCE).expect("the node's thread came back")
}

#[test]
fn a_descriptor_that_hangs_who_closes_it_does_not_hang_the_node() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let a = open(directory.path(), "a");
    let socket = stranger(directory.path());
    let mut other = send_lingering(&socket);
    let a = turns(a);
    assert_eq!(answer(&socket), Some((REFUSED, MALFORMED)));
    // It is closed, and the process that does that is rid of it once the bytes are taken.
    other.set_read_timeout(Some(PATIENCE)).unwrap();
    other.read_to_end(&mut Vec::new()).unwrap();
    drop(a);
}

#[test]
fn while_too_many_hang_other_users_wait_and_this_one_does_not() {
    /// More than there are threads that close.
    const MANY: usize = 6;
    let _alone = alone();
    need_root();
    let directory = tempfile::tempdir().unwrap();
    let domain = directory.path().join("default");
    std::fs::create_dir(&domain).unwrap();
    for path in [directory.path(), &domain] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o1777)).unwrap();
    }
    let options = |name: &str| Options::new(name).directory(directory.path()).background(false);
    let mut a = options("a").allow_uid(OTHER).open().unwrap();
    let as_other = |act: &(dyn Fn() -> OwnedFd + Sync)| {
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                let uid = Uid::from_raw(OTHER);
                rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
                act()
            });
            other.join().unwrap()
        })
    };
    let mut others = Vec::new();
    for _ in 0..MANY {
        let socket = as_other(&|| try_stranger(directory.path()).unwrap());
        others.push(send_lingering(&socket));
        a = turns(a);
    }
    // One more of theirs is asked to come again, and this user's own is let in.
    let socket = as_other(&|| try_stranger(directory.path()).unwrap());
    let (memory, bell) = (memory(&[], 4096, seals()), eventfd(0, EventfdFlags::CLOEXEC).unwrap());
    send(&socket, &greeting(4096), &[memory.as_fd(), bell.as_fd()]);
    a = turns(a);
    assert_eq!(answer(&socket), Some((REFUSED, AGAIN)));
    let b = open(directory.path(), "b");
    let _link = link(&b, &a, "a");
    // Nothing is for ever: whichever thread is free closes what came first of what waits, and once
    // all are closed, the other user is heard again.
    others.swap(1, MANY - 2);
    for mut other in others {
        other.set_read_timeout(Some(PATIENCE)).unwrap();
        other.read_to_end(&mut Vec::new()).unwrap();
    }
    until(&[&a], || {
        let socket = as_other(&|| try_stranger(directory.path()).unwrap());
        send(&socket, b"rubbish", &[]);
        crate::common::pump(&a);
        answer(&socket) == Some((REFUSED, MALFORMED))
    });
}
