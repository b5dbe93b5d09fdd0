//! An allowed user who runs a file system of its own, and hands over files of it: a process that
//! closes one waits for that user, and the user never answers. Needs root, to play two users and to
//! mount, a kernel with FUSE, and `unshare` of util-linux.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::process::{Peer, Role, alone, test_of};
use crate::common::stranger::{MALFORMED, REFUSED, answer, greeting, send, try_stranger};
use crate::common::{PATIENCE, name, need_root};
use narrows::endpoint::{Address, PortError};
use narrows_host::{Node, Options};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::AsFd as _;
use rustix::mount::MountFlags;
use rustix::process::{Signal, Uid, set_parent_process_death_signal};

/// Another user than the one that runs the tests.
const OTHER: u32 = 12345;
const PORT: u16 = 1;
/// Strangers that come with two descriptors each: as many as a process has threads that close.
const STRANGERS: u64 = 2;

/// Bytes of what requests and answers of the protocol begin with.
const REQUEST: usize = 40;
const LOOKUP: u32 = 1;
const GETATTR: u32 = 3;
const OPEN: u32 = 14;
const FLUSH: u32 = 25;
const INIT: u32 = 26;

/// What a file system says of its root, or of the one file that has every name.
fn attributes(node: u64) -> Vec<u8> {
    let mode: u32 = if node == 1 { 0o40_755 } else { 0o100_666 };
    // Number, size, blocks and three times; their nanoseconds; mode, links; owners and the rest.
    let long = [node, 0, 0, 0, 0, 0].map(u64::to_le_bytes).concat();
    let short = [0, 0, 0, mode, 1, 0, 0, 0, 4096, 0].map(u32::to_le_bytes).concat();
    [long, short].concat()
}

/// Serves a file system: answers what opening a file needs, and nothing else. Counts the processes
/// that wait because they close one.
fn serve(mut device: File, closing: &AtomicU64) {
    let mut request = vec![0; 1 << 17];
    loop {
        let len = device.read(&mut request).expect("a request");
        let word = |at: usize| u32::from_le_bytes(request[at..at + 4].try_into().unwrap());
        let long = |at: usize| u64::from_le_bytes(request[at..at + 8].try_into().unwrap());
        assert!(len >= REQUEST);
        let (unique, node) = (long(8), long(16));
        let body = match word(4) {
            // Version 7.31, and the longest write.
            INIT => {
                [7, 31, 0, 0, 0, 4096, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0].map(u32::to_le_bytes).concat()
            }
            // Node, generation, and for how long that holds.
            LOOKUP => [[2, 0, 0, 0, 0].map(u64::to_le_bytes).concat(), attributes(2)].concat(),
            GETATTR => [[0; 2].map(u64::to_le_bytes).concat(), attributes(node)].concat(),
            OPEN => vec![0; 16],
            FLUSH => {
                closing.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            _ => continue,
        };
        let len = (16 + body.len()) as u32;
        let head = [&len.to_le_bytes()[..], &[0; 4], &unique.to_le_bytes()].concat();
        device.write_all(&[head, body].concat()).expect("an answer");
    }
}

/// Mounts a file system that is then served.
fn mount(at: &Path, closing: &Arc<AtomicU64>) {
    let device = File::options().read(true).write(true).open("/dev/fuse");
    let device =
        device.unwrap_or_else(|e| panic!("/dev/fuse: {e}: this test needs a kernel with FUSE"));
    fs::create_dir(at).unwrap();
    let data =
        format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other\0", device.as_raw_fd());
    let data = std::ffi::CStr::from_bytes_with_nul(data.as_bytes()).unwrap();
    rustix::mount::mount("mallory", at, "fuse", MountFlags::empty(), data).unwrap();
    let closing = Arc::clone(closing);
    thread::spawn(move || serve(device, &closing));
}

/// Comes to the node with two files, and is refused. They are not closed: that would wait here.
fn come(directory: &Path, files: &Path) {
    let file = File::open(files.join("file")).unwrap();
    let socket = try_stranger(directory).unwrap();
    send(&socket, &greeting(4096), &[file.as_fd(), file.as_fd()]);
    poll(&mut [PollFd::new(&socket, PollFlags::IN)], None).unwrap();
    assert_eq!(answer(&socket), Some((REFUSED, MALFORMED)));
    std::mem::forget(file);
}

/// A process that waits for a file system cannot be killed, and the file system ends with its
/// process. So that has none of its files, and ends with the test.
#[test]
#[ignore = "what another process runs; does nothing by itself"]
fn a_peer() {
    let Some(role) = Role::get() else { return };
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let closing = Arc::new(AtomicU64::new(0));
    mount(&role.directory.join("files"), &closing);
    // In the same mount namespace, and with the same environment.
    let mut strangers = Command::new(std::env::current_exe().unwrap());
    strangers
        .args(["--exact", &test_of(module_path!(), "strangers"), "--ignored", "--nocapture"])
        .stdout(Stdio::null());
    let mut strangers = strangers.spawn().unwrap();
    loop {
        // They hold files, and end when these are closed.
        assert_eq!(strangers.try_wait().unwrap(), None);
        role.report(closing.load(Ordering::Relaxed));
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
#[ignore = "what another process runs; does nothing by itself"]
fn strangers() {
    let Some(role) = Role::get() else { return };
    let uid = Uid::from_raw(OTHER);
    rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
    // As another user: becoming one takes this back.
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    (0..STRANGERS).for_each(|_| come(&role.directory, &role.directory.join("files")));
    thread::sleep(2 * PATIENCE);
}

/// Answers every message until the other end of `until` is dropped.
fn echo(mut node: Node, until: mpsc::Receiver<()>) {
    let mut text = [0; 8];
    while until.try_recv() != Err(TryRecvError::Disconnected) {
        match node.receive_into(PORT, &mut text, Some(Duration::from_millis(10))) {
            Ok(message) => node.send(PORT, message.from, &text[..], Some(PATIENCE)).unwrap(),
            Err(why) => assert_eq!(why, PortError::Deadline),
        }
    }
}

/// Calls a node that answers, which has to do so in time.
fn exchange(node: &mut Node, to: Address) {
    let mut text = [0; 8];
    node.send(PORT, to, b"are you?", Some(PATIENCE)).unwrap();
    node.receive_into(PORT, &mut text, Some(PATIENCE)).expect("the node answers");
    assert_eq!(&text, b"are you?");
}

/// Threads of this process that close what others sent.
fn waiting() -> u64 {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.trim() == "narrows-closing").count() as u64
}

fn linked(directory: &Path, own: &str) -> (Node, Address) {
    let mut node = Options::new(own).directory(directory).node().unwrap();
    node.open(PORT).unwrap();
    let link = node.hunt(&name("a"), Some(PATIENCE)).unwrap();
    (node, Address { link, port: PORT })
}

#[test]
fn files_whose_closing_never_ends_keep_no_node_from_answering() {
    let _alone = alone();
    need_root();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::create_dir(path.join("default")).unwrap();
    for open_to_all in [path, &path.join("default")] {
        fs::set_permissions(open_to_all, fs::Permissions::from_mode(0o1777)).unwrap();
    }
    let mut a = Options::new("a").directory(path).allow_uid(OTHER).node().unwrap();
    a.open(PORT).unwrap();
    thread::scope(|scope| {
        let (go_on, until) = mpsc::channel();
        let answering = scope.spawn(|| echo(a, until));
        let (mut b, to) = linked(path, "b");
        exchange(&mut b, to);
        let mut mallory =
            Peer::behind(&["unshare", "--mount"], module_path!(), "mallory", path, "");
        let end = Instant::now() + PATIENCE;
        while mallory.reported() < 2 * STRANGERS {
            exchange(&mut b, to);
            assert!(Instant::now() < end, "{} files are being closed", mallory.reported());
        }
        // All of them hang. The node has what it needs, for those it knows and for others.
        (0..1000).for_each(|_| exchange(&mut b, to));
        let (mut c, there) = linked(path, "c");
        exchange(&mut c, there);
        drop(c);
        assert_eq!((mallory.reported(), waiting()), (2 * STRANGERS, 2 * STRANGERS));
        mallory.kill();
        mallory.wait();
        // The kernel answers for a file system that is gone.
        while waiting() > 0 {
            exchange(&mut b, to);
            assert!(Instant::now() < end + PATIENCE, "{} wait for ever", waiting());
        }
        drop(go_on);
        answering.join().unwrap();
    });
}
