//! A name in a domain: taken, left behind, given back.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;

use common::{link, open};
use narrows_host::{OpenError, Options};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, accept, socket};
use rustix::time::Timespec;

fn sockets(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory.join("default")).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    // Not a node's: what this user locks in a directory that others can open.
    names.retain(|name| !name.starts_with(".lock-"));
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

#[test]
fn a_birth_asks_few_of_the_nodes_whether_they_live_and_removes_all_that_it_finds_dead() {
    const MANY: usize = 60;
    const FEW: usize = 16;
    let directory = tempfile::tempdir().unwrap();
    let domain = directory.path().join("default");
    fs::create_dir(&domain).unwrap();
    // As a node makes it: then one that ends looks as well.
    fs::set_permissions(&domain, fs::Permissions::from_mode(0o700)).unwrap();
    let bind = |kind: &str, number| {
        let address = SocketAddrUnix::new(domain.join(format!("{kind}-{number}"))).unwrap();
        let socket = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
        rustix::net::bind(&socket, &address).unwrap();
        rustix::net::listen(&socket, 128).unwrap();
        socket
    };
    let live: Vec<_> = (0..MANY).map(|number| bind("live", number)).collect();
    let asked = || {
        let asked = live.iter().filter(|socket| {
            let mut one = [PollFd::new(socket, PollFlags::IN)];
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            let ready = poll(&mut one, Some(&at_once)).unwrap() > 0;
            if ready {
                drop(accept(socket).unwrap());
            }
            ready
        });
        asked.count()
    };
    let a = open(directory.path(), "a");
    assert_eq!(asked(), FEW);
    drop(a);
    assert_eq!(asked(), FEW);
    // Others each time, so that one that died is found after some.
    (0..MANY).for_each(|number| drop(bind("dead", number)));
    for _ in 0..100 {
        drop(open(directory.path(), "a"));
    }
    assert_eq!(sockets(directory.path()).len(), MANY);
}
