//! A name in a domain: taken, left behind, given back.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;

use crate::common::{link, open};
use narrows_host::{OpenError, Options};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

fn sockets(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory.join("default")).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    // No sockets: what this user locks in a directory that others can open, and where pages are.
    names.retain(|name| !name.starts_with(".lock-") && !name.starts_with(".@status@"));
    names.sort();
    names
}

#[test]
fn a_live_node_keeps_its_name_and_a_dropped_one_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let first = open(directory.path(), "a");
    let second = Options::new("a").directory(directory.path()).open();
    let Err(OpenError::Taken(path)) = second else { panic!("the name was taken") };
    assert_eq!(path, directory.path().join("default/a"));
    let elsewhere = Options::new("a").domain("other").directory(directory.path()).open().unwrap();
    let b = open(directory.path(), "b");
    assert_eq!(sockets(directory.path()), ["a", "b"]);
    drop(elsewhere);
    drop(first);
    assert_eq!(sockets(directory.path()), ["b"]);
    let again = open(directory.path(), "a");
    link(&b, &again, "a");
    drop((b, again));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "the domain is gone too");
}

#[test]
fn sockets_that_nobody_accepts_on_are_replaced_and_swept_and_other_files_left() {
    let directory = tempfile::tempdir().unwrap();
    let domain = directory.path().join("default");
    fs::create_dir(&domain).unwrap();
    for left in ["a", "b", ".unborn"] {
        drop(UnixListener::bind(domain.join(left)).unwrap());
    }
    fs::write(domain.join("notes"), "mine").unwrap();
    assert_eq!(sockets(directory.path()), [".unborn", "a", "b", "notes"]);
    let a = open(directory.path(), "a");
    assert_eq!(sockets(directory.path()), ["a", "notes"]);
    let notes = Options::new("notes").directory(directory.path()).open();
    assert!(matches!(notes, Err(OpenError::Occupied(_))));
    assert_eq!(fs::read_to_string(domain.join("notes")).unwrap(), "mine");
    // A live socket of another kind is somebody's, too.
    let _stream = UnixListener::bind(domain.join("stream")).unwrap();
    let stream = Options::new("stream").directory(directory.path()).open();
    assert!(matches!(stream, Err(OpenError::Occupied(_))));
    drop(a);
    assert_eq!(sockets(directory.path()), ["notes", "stream"]);
}

#[test]
fn nodes_that_come_and_go_wake_no_other() {
    let directory = tempfile::tempdir().unwrap();
    // Without a thread that would take what wakes it.
    let a = Options::new("a").directory(directory.path()).background(false).open().unwrap();
    for _ in 0..3 {
        drop(open(directory.path(), "b"));
    }
    let woken = poll(&mut [PollFd::new(&a, PollFlags::IN)], Some(&Timespec::default()));
    assert_eq!(woken, Ok(0), "somebody connected to it");
    assert_eq!(sockets(directory.path()), ["a"]);
}

#[test]
fn many_that_open_and_close_at_once_never_meet_a_directory_that_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        let path = directory.path();
        let threads = [0, 1, 2, 3].map(|thread| {
            scope.spawn(move || {
                for _ in 0..30 {
                    drop(open(path, &format!("node{thread}")));
                }
            })
        });
        // By name: ThreadSanitizer sees the end of a thread that is joined.
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_path_far_longer_than_a_socket_address_will_do() {
    let directory = tempfile::tempdir().unwrap();
    let deep = directory.path().join("d".repeat(100)).join("e".repeat(100));
    let (a, b) = (open(&deep, "a"), open(&deep, "b"));
    link(&a, &b, "b");
}

#[test]
fn what_cannot_be_opened_is_said_in_a_sentence() {
    let directory = tempfile::tempdir().unwrap();
    let said = |options: Options| options.open().err().unwrap().to_string();
    let at = |name: &str| Options::new(name).directory(directory.path());
    assert!(said(at("a/b")).contains("'a/b' cannot name a node"));
    assert!(said(at("a").domain("..")).contains("'..' cannot name"));
    assert!(said(at("a").core(99_999)).contains("there is no core 99999"));
    assert!(said(at("a").copy_engine(Some(99_999))).contains("copy engine"));
    let wrong = narrows::memory::Layout::standard(32).unwrap();
    assert!(said(at("a").layout(wrong)).contains("lines of 32 bytes"));
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let text = said(Options::new("a").directory(&file));
    assert!(text.contains("cannot meet other nodes at") && text.contains("NARROWS_DIR"), "{text}");
    assert!(text.contains("Not a directory"), "{text}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn a_domain_is_made_for_its_user_alone() {
    let directory = tempfile::tempdir().unwrap();
    let _a = open(directory.path(), "a");
    let mode = |path: &str| {
        fs::metadata(directory.path().join(path)).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode("default"), mode("default/a")), (0o700, 0o600));
}
