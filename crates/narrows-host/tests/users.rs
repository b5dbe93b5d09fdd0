//! Two users of one machine. Needs root to be one of them; without it, the check behind it is
//! tested beside its code only.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::thread;

use common::{connected, name, next};
use narrows::platform::{HuntError, Platform, Wait};
use narrows_host::Options;
use rustix::process::Uid;

const OTHER: u32 = 65534;

#[test]
fn another_user_links_only_if_each_allows_the_other() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: only root can play two users");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let domain = directory.path().join("default");
    fs::create_dir(&domain).unwrap();
    for path in [directory.path(), &domain] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    for (root_allows, other_allows) in [(false, true), (true, false), (true, true)] {
        let mut root = Options::new("root").directory(directory.path());
        // Allowing anybody at all makes the socket one that others can connect to.
        root = root.allow_uid(if root_allows { OTHER } else { OTHER - 1 });
        let root = root.open().unwrap();
        let mut other = Options::new("other").directory(directory.path());
        if other_allows {
            other = other.allow_uid(0);
        }
        let other = thread::spawn(move || {
            let uid = Uid::from_raw(OTHER);
            rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
            let other = other.open().unwrap();
            match other.hunt(&name("root")) {
                Ok(()) => next(&other, Wait::Bell).map(|news| connected(Ok(news)).name),
                Err(error) => Err((name("root"), error)),
            }
        });
        let deadline = root.now() + common::PATIENCE;
        while !other.is_finished() && root.now() < deadline {
            let soon = root.now() + std::time::Duration::from_millis(1);
            root.wait(common::no_words(), Wait::Timer, Some(soon));
        }
        let outcome = other.join().unwrap();
        if root_allows && other_allows {
            assert_eq!(outcome, Ok(name("root")));
        } else {
            assert_eq!(outcome, Err((name("root"), HuntError::Forbidden)));
            assert!(root.event().is_none());
        }
    }
}
