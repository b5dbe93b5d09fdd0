//! What a process that was forked, and runs no other program, has of its parent's nodes: nothing.
//!
//! One test, and so one thread that could hold a lock while the process forks.
#![allow(unsafe_code)]

mod common;

use std::time::Instant;

use common::{connected, link, name, next, open};
use narrows::platform::{Event, HuntError, Lost, Platform, Wait};
use narrows_host::OpenError;

/// Runs `act` in a forked process; whether it came to its end.
fn in_child(act: impl FnOnce()) -> bool {
    // SAFETY: the child runs on as a copy of this thread. This process's only other thread is the
    // test harness's own, which waits for this one and holds no lock that the child needs.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "{}", std::io::Error::last_os_error());
    if child == 0 {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        // SAFETY: ends the child at once, without what the parent's test has to do at its end.
        unsafe { libc::_exit(i32::from(done.is_err())) };
    }
    let mut status = 0;
    // SAFETY: the status is written to a variable of its type.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    status == 0
}

#[test]
fn a_forked_copy_of_a_node_does_nothing_and_the_parents_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let (a, b) = (open(directory.path(), "a"), open(directory.path(), "b"));
    let (of_a, of_b) = link(&a, &b, "b");
    let mut copy = Some(a);
    // It closes its links and drops its node, as a program does at its end.
    assert!(in_child(|| {
        let a = copy.take().unwrap();
        assert_eq!(a.hunt(&name("c")), Err(HuntError::System(libc::ECHILD)));
        a.close(of_a.key);
        drop(a);
    }));
    let a = copy.unwrap();
    let again = narrows_host::Options::new("a").directory(directory.path()).open();
    assert!(matches!(again, Err(OpenError::Taken(_))), "the name is still the parent's");
    let silent = Instant::now() + std::time::Duration::from_millis(50);
    while Instant::now() < silent {
        common::pump(&b);
        assert!(b.event().is_none(), "the link is still up");
    }

    // Nodes that a child opens meet each other. A copy of its parent's lets nobody in, and its
    // waits end when they should.
    assert!(in_child(|| {
        let (c, d) = (open(directory.path(), "c"), open(directory.path(), "d"));
        let _linked = link(&c, &d, "d");
        c.hunt(&name("b")).unwrap();
        for _ in 0..50 {
            b.wait(common::no_words(), Wait::Bell, Some(b.now()));
            common::pump(&c);
            assert!(c.event().is_none(), "a copy answered");
        }
    }));
    while b.event().is_some() || a.event().is_some() {}
    let c = open(directory.path(), "c");
    let _linked = link(&c, &b, "b");
    a.close(of_a.key);
    loop {
        match next(&b, Wait::Bell) {
            Ok(Event::Lost { key, reason }) if key == of_b.key => {
                break assert_eq!(reason, Lost::Closed);
            }
            news => drop(connected(news)),
        }
    }
}
