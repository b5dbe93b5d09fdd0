//! Peers in processes of their own: the test binary again, with a role.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use narrows::endpoint::{Lent, Limits, Source};
use narrows_host::{Node, Options};
use rustix::process::{Pid, Signal, kill_process};

use super::PATIENCE;

const ROLE: &str = "NARROWS_TEST_ROLE";
const DIRECTORY: &str = "NARROWS_TEST_DIRECTORY";
const WORDS: &str = "NARROWS_TEST_WORDS";

/// The ignored test of a module that plays the roles of its peers.
const PLAYER: &str = "a_peer";

/// A test as `--exact` wants it, by its module as `module_path!` has it.
pub fn test_of(module: &str, test: &str) -> String {
    module.split_once("::").map_or(test.into(), |(_, module)| format!("{module}::{test}"))
}

/// Held by tests that count what the process has, or measure.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many times as long as usual a test is to run.
pub fn rounds() -> u64 {
    std::env::var("NARROWS_ROUNDS").map_or(1, |text| text.parse().expect("a number of rounds"))
}

/// What a process has: descriptors, and mappings of regions.
pub fn possessions() -> (usize, usize) {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let regions = maps.lines().filter(|line| line.contains("memfd:")).count();
    (std::fs::read_dir("/proc/self/fd").unwrap().count(), regions)
}

/// Waits until the process has no more than it had before. Threads and descriptors end a moment
/// after their links, and what a test before this one was just closing may be gone as well.
pub fn no_more_than(before: (usize, usize)) {
    let end = Instant::now() + PATIENCE;
    loop {
        let now = possessions();
        if now.0 <= before.0 && now.1 <= before.1 {
            return;
        }
        assert!(Instant::now() < end, "{before:?} at first, {now:?} left");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A node with a copy engine and places for few messages.
pub fn node(directory: &Path, name: &str) -> Node {
    let host = Options::new(name).directory(directory).copy_engine(None).open().unwrap();
    Node::new(host, Limits { inbox: INBOX, ..Limits::default() }).unwrap()
}

/// Messages that such a node takes before its application does.
pub const INBOX: usize = 32;

/// A peer's process.
pub struct Peer {
    child: Child,
    report: PathBuf,
}

impl Peer {
    /// Starts the test binary again, to play a role of a module.
    pub fn start(module: &str, role: &str, directory: &Path, words: &str) -> Peer {
        Peer::behind(&[], module, role, directory, words)
    }

    /// As [`Peer::start`], by another program with its arguments.
    pub fn behind(
        program: &[&str],
        module: &str,
        role: &str,
        directory: &Path,
        words: &str,
    ) -> Peer {
        let report = directory.join("report");
        std::fs::write(&report, 0_u64.to_le_bytes()).unwrap();
        let this = std::env::current_exe().unwrap();
        let mut line = program.iter().map(Path::new).chain([this.as_path()]);
        let mut command = Command::new(line.next().unwrap());
        let player = test_of(module, PLAYER);
        command.args(line).args(["--exact", &player, "--ignored", "--nocapture"]);
        command.env(ROLE, role).env(DIRECTORY, directory).env(WORDS, words).stdout(Stdio::null());
        let child = command.spawn().unwrap_or_else(|e| panic!("this test needs {program:?}: {e}"));
        Peer { child, report }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Kills it without a word. When that was.
    pub fn kill(&self) -> Instant {
        let now = Instant::now();
        self.signal(Signal::KILL);
        now
    }

    /// The number that it last reported.
    pub fn reported(&self) -> u64 {
        let bytes = std::fs::read(&self.report).unwrap();
        u64::from_le_bytes(bytes.try_into().unwrap())
    }

    /// How it ended.
    pub fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the peer does not end");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.report);
    }
}

/// What a peer was told to be.
pub struct Role {
    pub name: String,
    pub directory: PathBuf,
    pub words: String,
    report: File,
}

impl Role {
    /// The role of this process, if it was started to play one.
    pub fn get() -> Option<Role> {
        let name = std::env::var(ROLE).ok()?;
        let directory = PathBuf::from(std::env::var_os(DIRECTORY)?);
        let report = File::options().write(true).open(directory.join("report")).ok()?;
        Some(Role { name, directory, words: std::env::var(WORDS).ok()?, report })
    }

    /// Says a number that is still there when this process is not.
    pub fn report(&self, number: u64) {
        self.report.write_all_at(&number.to_le_bytes(), 0).unwrap();
    }
}

/// Numbers that look random and are the same each time.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

fn byte(number: u64, at: usize) -> u8 {
    (number as usize * 31 + at) as u8
}

/// The payload of message `number`: some fit in a slot and some do not.
pub fn payload(number: u64, buffer: &mut [u8; 4096]) -> &[u8] {
    let len = 8 + (number * 397 % if number.is_multiple_of(3) { 3001 } else { 41 }) as usize;
    buffer[..len].iter_mut().enumerate().for_each(|(at, to)| *to = byte(number, at));
    buffer[..8].copy_from_slice(&number.to_le_bytes());
    &buffer[..len]
}

/// The number of a payload, which has to be whole.
pub fn number(source: &(impl Source + ?Sized)) -> u64 {
    let (mut expected, mut bytes) = ([0; 4096], [0; 4096]);
    assert!(source.read(0, &mut bytes[..8]).is_ok(), "the message has a number");
    let number = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    let expected = payload(number, &mut expected);
    assert_eq!(source.len(), expected.len(), "message {number}");
    assert!(source.read(0, &mut bytes[..expected.len()]).is_ok());
    assert!(bytes[..expected.len()] == *expected, "message {number} is whole");
    number
}

/// The number of a message, which is released.
pub fn take(node: &mut Node, lent: Lent) -> u64 {
    let number = node.read_in_place(&lent, |source| number(source)).expect("a message that waits");
    node.release(lent);
    number
}
