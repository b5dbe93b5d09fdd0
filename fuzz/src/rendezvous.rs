//! Packets of the rendezvous, with any descriptors: from a stranger that connects to a node, or
//! from one that the node hunts.

use std::cell::Cell;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::path::Path;
use std::time::Instant;

use narrows::memory::{Class, Layout};
use narrows::platform::{Event, Platform, Wait, Watch};
use narrows::strategy::Placement;
use narrows_host::{Host, Options, PeerWords};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
    recvmsg, sendmsg, socket_with,
};
use tempfile::TempDir;

use crate::common::heap::Heap;
use crate::common::world::name;
use crate::input::Input;

const HELLO: usize = 64;
const SHORT: usize = 16;
/// The most that are sent with one packet; a node has room for four.
const DESCRIPTORS: usize = 6;
/// Longer than anything here takes, in seconds.
const PATIENCE: u64 = 20;

/// A node, one that it may hunt and that is not one, and one that is honest.
struct Scene {
    node: Host,
    honest: Host,
    listener: OwnedFd,
    region: Vec<u8>,
    directory: TempDir,
    /// Descriptors of the process when nobody is linked.
    idle: Cell<Option<usize>>,
}

thread_local! {
    static SCENE: Scene = Scene::new();
}

/// The first byte says which side begins and whether an honest node links afterwards. Then each
/// packet.
pub fn run(data: &[u8]) {
    SCENE.with(|scene| scene.run(&mut Input::new(data)));
}

fn socket(flags: SocketFlags) -> OwnedFd {
    let flags = flags | SocketFlags::CLOEXEC;
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).expect("a socket")
}

fn address(directory: &Path, name: &str) -> SocketAddrUnix {
    SocketAddrUnix::new(directory.join("default").join(name)).expect("a short path")
}

/// Lets a node do what it has to, without waiting for anything.
fn pump(host: &Host) {
    host.wait(std::iter::empty::<Watch<'_, PeerWords>>(), Wait::Timer, Some(host.now()));
}

/// Descriptors of this process that a link has: memory, bells and sockets.
fn descriptors() -> usize {
    let entries = std::fs::read_dir("/proc/self/fd").expect("proc");
    let targets = entries.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let ours = |target: &Path| {
        let target = target.to_string_lossy();
        ["/memfd:", "anon_inode:[eventfd]", "socket:"].iter().any(|kind| target.starts_with(kind))
    };
    targets.filter(|target| ours(target)).count()
}

/// A memory file with these bytes and seals.
fn memory(bytes: &[u8], seals: SealFlags) -> OwnedFd {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = memfd_create("fuzz", flags).expect("memory");
    assert_eq!(rustix::io::pwrite(&memory, bytes, 0), Ok(bytes.len()));
    fcntl_add_seals(&memory, seals).expect("sealed");
    memory
}

/// A packet with its first words, and zeros behind them.
fn packet(len: usize, words: &[u32]) -> Vec<u8> {
    let mut packet: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    packet.resize(len, 0);
    packet
}

impl Scene {
    fn new() -> Scene {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let class = Class { placement: Placement::Internal, size: 64, count: 2 };
        let layout = Layout::new(narrows_host::LINE, 4, &[class]).expect("possible");
        let heap = Heap::new(layout.size());
        layout.format(&heap).expect("the region has the layout's size");
        let open = |name: &str| {
            let options = Options::new(name).directory(directory.path()).layout(layout);
            options.open().expect("a node of a new domain")
        };
        let (node, honest) = (open("a"), open("b"));
        let listener = socket(SocketFlags::NONBLOCK);
        bind(&listener, &address(directory.path(), "fake")).expect("a free name");
        listen(&listener, 4).expect("listening");
        Scene { node, honest, listener, region: heap.bytes(), directory, idle: Cell::new(None) }
    }

    fn run(&self, input: &mut Input<'_>) {
        let choice = input.byte();
        let other = if choice & 1 == 0 { self.connected() } else { self.hunted() };
        let Some(other) = other else { return };
        let mut links = Vec::new();
        while !input.is_empty() {
            self.send(&other, input);
            pump(&self.node);
            links.extend(self.news());
        }
        self.read_all(&other);
        drop(other);
        self.node.give_up(&name("fake"));
        self.end(links);
        if choice & 2 != 0 {
            self.check();
        }
    }

    /// A stranger's connection.
    fn connected(&self) -> Option<OwnedFd> {
        let socket = socket(SocketFlags::NONBLOCK);
        connect(&socket, &address(self.directory.path(), "a")).expect("the node listens");
        pump(&self.node);
        Some(socket)
    }

    /// A connection that the node made, hunting.
    fn hunted(&self) -> Option<OwnedFd> {
        self.node.hunt(&name("fake")).ok()?;
        accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK).ok()
    }

    /// A packet of any kind, and descriptors of any kind with it.
    fn send(&self, other: &OwnedFd, input: &mut Input<'_>) {
        let form = input.byte();
        let size = self.region.len() as u32;
        let magic = 0x4e52_5748;
        let mut bytes = match form % 4 {
            0 => input.counted().to_vec(),
            1 => packet(SHORT, &[magic, 1, 2, 4]),
            2 => packet(SHORT, &[magic, 1, 3]),
            _ => packet(HELLO, &[magic, 1, 1, 64, 7, 0, size, 4, u32::from_le_bytes(*b"fake")]),
        };
        // Some of it is then made wrong.
        for _ in 0..form >> 2 & 3 {
            let (at, value) = (usize::from(input.byte()), input.byte());
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        let with: Vec<OwnedFd> = match form >> 4 {
            // As it should be.
            0..=7 => vec![self.descriptor(0, input), self.descriptor(1, input)],
            8 => Vec::new(),
            _ => {
                let count = usize::from(input.byte()) % (DESCRIPTORS + 1);
                (0..count).map(|_| self.descriptor(input.byte() % 8, input)).collect()
            }
        };
        let with: Vec<_> = with.iter().map(|fd| fd.as_fd()).collect();
        let with = if form % 4 == 1 || form % 4 == 2 { &with[..0] } else { &with };
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !with.is_empty() {
            assert!(control.push(SendAncillaryMessage::ScmRights(with)));
        }
        // Refused where the node has closed.
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let _ = sendmsg(other, &[IoSlice::new(&bytes)], &mut control, flags);
    }

    fn descriptor(&self, kind: u8, input: &mut Input<'_>) -> OwnedFd {
        let all = SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE | SealFlags::SEAL;
        match kind {
            0 => memory(&self.region, all),
            1 => eventfd(0, EventfdFlags::CLOEXEC).expect("a bell"),
            2 => memory(&self.region, SealFlags::SHRINK),
            3 => memory(&self.region[..4096.min(self.region.len() - 1)], all),
            4 => std::fs::File::open("/dev/null").expect("it is everywhere").into(),
            5 => socket(SocketFlags::empty()),
            // A header that is wrong somewhere.
            6 => {
                let mut region = self.region.clone();
                let at = usize::from(input.byte() % 64) * 4;
                region[at..at + 4].copy_from_slice(&input.word().to_le_bytes());
                memory(&region, all)
            }
            _ => memory(b"", all),
        }
    }

    /// Links that came up.
    fn news(&self) -> Vec<narrows::platform::Connected<Host>> {
        let mut links = Vec::new();
        while let Some(news) = self.node.event() {
            if let Ok(Event::Connected(link)) = news {
                links.push(link);
            }
        }
        links
    }

    /// What the node says has the form of a packet.
    fn read_all(&self, other: &OwnedFd) {
        loop {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut bytes = [0; 100];
            let into = &mut [IoSliceMut::new(&mut bytes)];
            let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
            let Ok(got) = recvmsg(other, into, &mut control, flags) else { return };
            control.drain().for_each(drop);
            if got.bytes == 0 {
                return;
            }
            assert!(got.bytes == HELLO || got.bytes == SHORT, "a packet of {} bytes", got.bytes);
        }
    }

    /// Waits until the node knows that nobody is there any more.
    fn end(&self, links: Vec<narrows::platform::Connected<Host>>) {
        pump(&self.node);
        for link in links {
            self.node.close(link.key);
        }
        for link in self.news() {
            self.node.close(link.key);
        }
    }

    /// An honest node can link, and nothing is left of those that were not.
    fn check(&self) {
        let began = Instant::now();
        self.honest.hunt(&name("a")).expect("the node listens");
        let (mut here, mut there) = (None, None);
        while here.is_none() || there.is_none() {
            pump(&self.node);
            pump(&self.honest);
            while let Some(news) = self.node.event() {
                here = here.or(news.ok());
            }
            while let Some(news) = self.honest.event() {
                there = there.or(news.ok());
            }
            assert!(began.elapsed().as_secs() < PATIENCE, "an honest node is kept out");
        }
        let (Some(Event::Connected(here)), Some(Event::Connected(there))) = (here, there) else {
            panic!("an honest node's link is lost at once");
        };
        self.honest.close(there.key);
        self.node.close(here.key);
        drop((here, there));
        pump(&self.node);
        pump(&self.honest);
        while self.node.event().is_some() || self.honest.event().is_some() {}
        // What strangers sent is closed by threads of their own, a little later.
        let began = Instant::now();
        let (mut now, idle) = (descriptors(), self.idle.get().unwrap_or(usize::MAX));
        while now > idle && began.elapsed().as_secs() < PATIENCE {
            std::thread::yield_now();
            now = descriptors();
        }
        self.idle.set(Some(idle.min(now)));
        assert!(now <= idle, "{now} descriptors, {idle} when nobody was linked");
    }
}
