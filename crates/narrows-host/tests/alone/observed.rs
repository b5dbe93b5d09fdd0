//! Nodes in other processes, of other users, and such as lie, as an observer sees them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::process::{Peer, Random, Role, alone, no_more_than, possessions};
use crate::common::{PATIENCE, name, need_root};
use narrows::endpoint::{Address, Select};
use narrows::strategy::Strategy;
use narrows_host::observe::{LinkState, Observer, PageError, Pulse, Seen};
use narrows_host::{Node, Options};
use rustix::fd::{AsRawFd as _, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::process::Signal;

const SOON: Option<Duration> = Some(PATIENCE);
/// Bytes of a page's memory, and of the page in it: docs/WIRE.md.
const MEMORY: usize = 327_680;
const ROOM: usize = 65_536 - 8;

fn node(directory: &Path, name: &str) -> Node {
    let mut node = Options::new(name).directory(directory).node().unwrap();
    node.open(1).unwrap();
    node
}

fn look(directory: &Path) -> Vec<Seen> {
    Observer::new("default", Some(directory)).unwrap().look()
}

fn find<'a>(seen: &'a [Seen], name: &str) -> &'a Seen {
    seen.iter().find(|seen| seen.name.as_str() == name).expect(name)
}

/// Echoes messages, and keeps the last.
#[test]
#[ignore = "a process that other tests start"]
fn a_peer() {
    let Some(role) = Role::get() else { return };
    let mut node = node(&role.directory, &role.name);
    let mut kept = None;
    loop {
        let Some(message) = node.try_receive(1, &Select::default()).unwrap() else {
            node.wait_any(SOON);
            continue;
        };
        node.send(1, message.from, b"back", SOON).unwrap();
        if let Some(before) = kept.replace(message) {
            node.release(before);
        }
        role.report(1);
    }
}

#[test]
fn a_process_is_seen_at_work_and_dead_until_its_name_is_removed() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let mut node = node(directory.path(), "here");
    let mut peer = Peer::start(module_path!(), "there", directory.path(), "");
    let link = node.hunt(&name("there"), SOON).unwrap();
    let mut buffer = [0; 8];
    for _ in 0..1000 {
        node.send(1, Address { link, port: 1 }, &[5; 500], SOON).unwrap();
        node.receive_into(1, &mut buffer, SOON).unwrap();
    }
    let mut observer = Observer::new("default", Some(directory.path())).unwrap();
    // Its last receipts are under way.
    let end = Instant::now() + PATIENCE;
    loop {
        let seen = observer.look();
        let (here, there) = (find(&seen, "here"), find(&seen, "there"));
        let (here, there) = (here.status.as_ref().unwrap(), there.status.as_ref().unwrap());
        assert_ne!(here.process, there.process);
        let (ours, theirs) = (here.links[0].counts.unwrap(), there.links[0].counts.unwrap());
        assert_eq!((ours.sent, ours.received, theirs.received), (1000, 1000, 1000));
        let lent = ours.own.unwrap().lent;
        if lent == 1 && theirs.own.unwrap().sleeps {
            break;
        }
        assert!(
            Instant::now() < end,
            "its application has one, and it sleeps: {ours:?} {theirs:?}"
        );
    }
    // Stopped, it does not say whether it is: it is not asked.
    peer.signal(Signal::STOP);
    assert_eq!(find(&observer.look(), "there").pulse, Pulse::Alive);
    // While the one that would remove its name is stopped as well: here, it makes no call.
    let before = possessions();
    peer.kill();
    peer.wait();
    let end = Instant::now() + PATIENCE;
    loop {
        let seen = observer.look();
        let links = &find(&seen, "here").status.as_ref().unwrap().links;
        assert_eq!(links.len(), 1, "it is not closed");
        match seen.iter().find(|seen| seen.name == name("there")) {
            Some(there) if there.pulse == Pulse::Dead => {
                assert_eq!(there.status.as_ref().unwrap_err(), &PageError::Unreachable);
            }
            Some(_) => {}
            None if links[0].state == LinkState::Died => break,
            None => {}
        }
        assert!(Instant::now() < end, "{seen:?}");
    }
    drop(observer);
    no_more_than(before);
}

#[test]
fn a_killed_node_that_nobody_sweeps_is_dead_and_not_closed() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let mut peer = Peer::start(module_path!(), "there", directory.path(), "");
    let end = Instant::now() + PATIENCE;
    let there = || {
        let observer = Observer::new("default", Some(directory.path()));
        let seen = observer.map(|mut observer| observer.look()).unwrap_or_default();
        seen.into_iter().next()
    };
    while there().is_none_or(|seen| seen.status.is_err()) {
        assert!(Instant::now() < end, "it does not open");
    }
    peer.kill();
    peer.wait();
    let seen = there().unwrap();
    assert_eq!((seen.name.as_str(), seen.pulse), ("there", Pulse::Dead));
    // The next node removes what it left, the note included.
    let _node = node(directory.path(), "here");
    assert_eq!(there().unwrap().name.as_str(), "here");
    let files = fs::read_dir(directory.path().join("default")).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, [".@status@here", "here"]);
}

/// Memory with these bytes at its beginning.
fn forged(bytes: &[u8], size: usize, seals: SealFlags) -> OwnedFd {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = rustix::fs::memfd_create("forged", flags).unwrap();
    rustix::fs::ftruncate(&memory, size as u64).unwrap();
    rustix::io::pwrite(&memory, bytes, 0).unwrap();
    rustix::fs::fcntl_add_seals(&memory, seals).unwrap();
    memory
}

fn all() -> SealFlags {
    SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE | SealFlags::SEAL
}

/// Has a node's note lead to other memory.
fn misled(directory: &Path, name: &str, to: &str) {
    let note = directory.join(format!("default/.@status@{name}"));
    fs::remove_file(&note).unwrap();
    symlink(format!("{name}/{to}"), note).unwrap();
}

/// The page of a node of this process.
fn page_of(directory: &Path, name: &str) -> Vec<u8> {
    let note = fs::read_link(directory.join(format!("default/.@status@{name}"))).unwrap();
    let descriptor = note.to_str().unwrap().rsplit('/').next().unwrap().to_owned();
    fs::read(format!("/proc/self/fd/{descriptor}")).unwrap()
}

fn said(directory: &Path, bytes: &[u8]) -> Result<(), PageError> {
    let memory = forged(bytes, MEMORY, all());
    misled(directory, "liar", &format!("{}/{}", std::process::id(), memory.as_raw_fd()));
    let seen = look(directory);
    assert!(find(&seen, "honest").status.is_ok(), "the others are seen all the same");
    find(&seen, "liar").status.as_ref().map(drop).map_err(|error| *error)
}

#[test]
fn nonsense_on_a_page_is_a_sentence_and_the_others_are_seen() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (mut liar, honest) = (node(path, "liar"), node(path, "honest"));
    liar.hunt(&name("honest"), SOON).unwrap();
    let true_page = page_of(path, "liar");
    assert_eq!(said(path, &true_page[..ROOM + 8]), Ok(()));
    let changed = |at: usize, bytes: &[u8]| {
        let mut page = true_page.clone();
        page[at..at + bytes.len()].copy_from_slice(bytes);
        said(path, &page[..ROOM + 8])
    };
    let nonsense = |said: Result<(), PageError>| matches!(said, Err(PageError::Nonsense(_)));
    let word = |value: u32| value.to_le_bytes();
    assert_eq!(changed(0, &word(7)), Err(PageError::Unstable), "a version that stays odd");
    for length in [0, 1, 12, 103, 104, 65_528, 65_529, u32::MAX] {
        assert!(nonsense(changed(4, &word(length))), "{length} bytes");
    }
    assert!(nonsense(changed(8, &word(1))), "no status page");
    assert_eq!(changed(12, &word(9)), Err(PageError::Version(9)));
    let of_honest = page_of(path, "honest");
    assert!(nonsense(said(path, &of_honest[..ROOM + 8])), "another node's page");
    // The first link: its state, and the memory that it names.
    let link = 8 + 80;
    assert!(nonsense(changed(link + 4, &word(6))), "a state that is none");
    assert!(nonsense(changed(link + 4, &word(0x200))), "a carrier that is none");
    assert!(nonsense(changed(link + 36, &[0])), "a peer without a name");
    for at in [64, 72] {
        assert!(nonsense(changed(8 + at, &word(100_000))), "a count at {at}");
    }
    // Memory that is another than is said, or none, is not read: the link has no counts.
    for at in [16, 24, 28] {
        let said = changed(link + at, &word(3));
        assert!(said.is_ok() || matches!(said, Err(PageError::Unsealed)), "{at}: {said:?}");
    }
    assert_eq!(changed(link + 32, &word(u32::MAX)), Ok(()), "books that are outside");
    let mut random = Random::new(7);
    for _ in 0..300 {
        let mut page = true_page[..ROOM + 8].to_vec();
        for _ in 0..1 + random.below(20) {
            let end = if random.below(2) == 0 { 300 } else { page.len() as u64 };
            let at = random.below(end);
            page[at as usize] = random.below(256) as u8;
        }
        let _ = said(path, &page);
        let len = random.below(page.len() as u64) as usize;
        let noise: Vec<u8> = (0..len).map(|_| random.below(256) as u8).collect();
        let _ = said(path, &noise);
    }
    drop(honest);
}

#[test]
fn what_could_hang_or_be_cut_short_is_not_opened() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (_liar, _honest) = (node(path, "liar"), node(path, "honest"));
    let page = page_of(path, "liar");
    let status = || *find(&look(path), "liar").status.as_ref().unwrap_err();
    let process = std::process::id();
    for missing in all().iter() {
        let memory = forged(&page[..ROOM + 8], MEMORY, all() - missing);
        misled(path, "liar", &format!("{process}/{}", memory.as_raw_fd()));
        assert_eq!(status(), PageError::Unsealed, "without {missing:?}");
    }
    let memory = forged(&page[..ROOM + 8], MEMORY - 4096, all());
    misled(path, "liar", &format!("{process}/{}", memory.as_raw_fd()));
    assert_eq!(status(), PageError::Unsealed, "too short");
    let fifo = path.join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
    let both = fs::File::options().read(true).write(true).open(&fifo).unwrap();
    let file = tempfile::tempfile().unwrap();
    file.set_len(MEMORY as u64).unwrap();
    for descriptor in [both.as_raw_fd(), file.as_raw_fd()] {
        misled(path, "liar", &format!("{process}/{descriptor}"));
        assert_eq!(status(), PageError::Unreachable);
    }
    for text in ["", "x", "1/", "/1", "1/1/1", "-1/1", "4294967296/1", "1/99999999999"] {
        misled(path, "liar", text);
        assert!(matches!(status(), PageError::NoPage | PageError::Unreachable), "{text}");
    }
}

#[test]
fn a_page_is_read_whole_while_its_node_writes_it() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_path_buf();
    let (mut a, b) = (node(&path, "a"), node(&path, "b"));
    let link = a.hunt(&name("b"), SOON).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut rounds = 0;
            while !over.load(Ordering::Acquire) {
                // Half-opened flows come and go.
                let flows: Vec<_> = (0..4)
                    .map_while(|port| {
                        let to = Address { link, port };
                        a.begin_flow_to(to, Strategy::default()).ok()
                    })
                    .collect();
                for flow in flows {
                    let _ = a.flow(flow).close();
                }
                a.poll();
                rounds += 1;
            }
            rounds
        });
        let mut observer = Observer::new("default", Some(&path)).unwrap();
        let end = Instant::now() + Duration::from_millis(300);
        let mut read = 0;
        while Instant::now() < end {
            match &find(&observer.look(), "a").status {
                Ok(_) => read += 1,
                // The writer never waits for a reader.
                Err(PageError::Unstable) => {}
                Err(error) => panic!("{error}"),
            }
        }
        over.store(true, Ordering::Release);
        let rounds = writer.join().unwrap();
        assert!(read > 0 && rounds > 0, "{read} of {rounds}");
    });
    drop(b);
}

#[test]
fn another_user_sees_that_a_node_is_there_and_nothing_of_it() {
    const OTHER: u32 = 65534;
    let _alone = alone();
    need_root();
    let directory = tempfile::tempdir().unwrap();
    let domain = directory.path().join("default");
    fs::create_dir(&domain).unwrap();
    for path in [directory.path(), &domain] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o1777)).unwrap();
    }
    let _closed = node(directory.path(), "closed");
    let _open = Options::new("open").directory(directory.path()).allow_uid(OTHER).node().unwrap();
    let path = directory.path().to_path_buf();
    // A process of its own: threads of this one would have its rights to /proc.
    let this = std::env::current_exe().unwrap();
    let player = crate::common::process::test_of(module_path!(), "another_user");
    let shown = tempfile::tempdir().unwrap();
    fs::set_permissions(shown.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = shown.path().join("observer");
    fs::copy(this, &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    let output = std::os::unix::process::CommandExt::uid(&mut Command::new(&copy), OTHER)
        .args(["--exact", &player, "--ignored", "--nocapture"])
        .env("NARROWS_TEST_OBSERVED", &path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("closed: Unknown Some(Forbidden)"), "{text}");
    assert!(text.contains("open: Alive Some(Forbidden)"), "{text}");
    // Root sees both.
    assert!(look(directory.path()).iter().all(|seen| seen.status.is_ok()));
}

#[test]
#[ignore = "a process that another test starts as another user"]
fn another_user() {
    let Some(path) = std::env::var_os("NARROWS_TEST_OBSERVED") else { return };
    for seen in look(Path::new(&path)) {
        println!("{}: {:?} {:?}", seen.name, seen.pulse, seen.status.err());
    }
}
