//! Peers that break every rule of the rendezvous and of the memory behind it, by a seed: whatever
//! comes, no descriptor of it stays, an honest link never notices, and honest peers still meet.
//!
//! One test, because it counts the descriptors of the process. `NARROWS_CASES=50000 cargo test
//! --release -p narrows-host --test hostile -- --nocapture` runs so many cases instead of a few,
//! `NARROWS_SEED=7` begins with that seed.

mod common;
#[path = "../../narrows/tests/common/forge.rs"]
mod forge;

use std::collections::BTreeMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;

use common::process::possessions;
use common::stranger::{greeting, memory, seals, socket, try_send, try_stranger};
use common::{PATIENCE, no_words};
use forge::{Forger, Lies, Random};
use narrows::endpoint::{Address, Limits, LinkError, Message, Select};
use narrows::link::LinkId;
use narrows::memory::{Class, Layout};
use narrows::platform::{Connected, Event, Memory, Platform, Wait};
use narrows::strategy::Placement;
use narrows_host::{Host, Node, Options, PeerRegion, Region};
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::SealFlags;
use rustix::net::SocketAddrUnix;

const FEW: u64 = 600;
const LINKS: usize = 4;
/// Bytes of the largest region that there can be.
const MUCH: u32 = 1 << 30;
/// More than the node's tables and what the test itself holds; less than a case of 1 GiB regions.
const GROWTH: usize = 64 << 20;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not '{text}'")))
}

fn layout() -> Layout {
    let class = |placement, size, count| Class { placement, size, count };
    let classes = [class(Placement::Internal, 64, 4), class(Placement::External, 1024, 4)];
    Layout::new(64, 16, &classes).unwrap()
}

fn open(directory: &Path, name: &str) -> Host {
    Options::new(name).directory(directory).layout(layout()).open().unwrap()
}

fn node(directory: &Path, name: &str) -> Node {
    let limits = Limits { links: LINKS, inbox: 32, ..Limits::default() };
    let mut node = Node::new(open(directory, name), limits).unwrap();
    node.open(1).unwrap();
    node.open(2).unwrap();
    node
}

/// Bytes of memory that the process has in use.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// The link that a platform got, if it did.
fn connection(host: &Host) -> Option<Connected<Host>> {
    host.wait(no_words(), Wait::Timer, Some(host.now()));
    match host.event() {
        Some(Ok(Event::Connected(news))) => Some(news),
        _ => None,
    }
}

/// Lets a node do what it has to, without waiting.
fn turn(node: &mut Node) {
    node.platform().wait(no_words(), Wait::Timer, Some(node.platform().now()));
    node.poll();
    for port in [1, 2] {
        while let Some(lent) = node.try_receive(port, &Select::default()).unwrap() {
            let mut to = vec![0; lent.len];
            node.read(&lent, 0, &mut to).unwrap();
            node.release(lent);
        }
    }
    node.try_serve(&mut []);
}

/// The node, an honest peer of it and the link between them, and what else there is to break.
struct Scene<'a> {
    directory: &'a Path,
    a: Node,
    b: Node,
    to_a: LinkId,
    to_b: LinkId,
    exchanges: u16,
    /// A region that is as it should be.
    region: Vec<u8>,
    deeds: BTreeMap<&'static str, u64>,
}

impl Scene<'_> {
    fn did(&mut self, what: &'static str) {
        *self.deeds.entry(what).or_default() += 1;
    }

    /// What honest peers send each other comes through, whole and in order.
    fn exchange(&mut self) {
        self.exchanges = self.exchanges.wrapping_add(1);
        let payload = [self.exchanges as u8; 200];
        let len = if self.exchanges.is_multiple_of(2) { 30 } else { 200 };
        for to_b in [true, false] {
            let (from, to, over, back) = if to_b {
                (&mut self.a, &mut self.b, self.to_b, self.to_a)
            } else {
                (&mut self.b, &mut self.a, self.to_a, self.to_b)
            };
            let message = Message::new(&payload[..len]).tag(self.exchanges);
            from.try_send(2, Address { link: over, port: 2 }, message).unwrap();
            let of = Select { link: Some(back), ..Select::default() };
            let got = to.try_receive(2, &of).unwrap().expect("it came at once");
            let mut bytes = [0; 200];
            to.read(&got, 0, &mut bytes[..len]).unwrap();
            assert_eq!((got.tag, got.len, &bytes[..len]), (self.exchanges, len, &payload[..len]));
            to.release(got);
        }
    }

    /// Lets both do what they have to until `done`.
    #[track_caller]
    fn until(&mut self, mut done: impl FnMut(&mut Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !done(self) {
            turn(&mut self.a);
            turn(&mut self.b);
            assert!(Instant::now() < deadline, "it does not happen");
        }
    }

    /// Closes the links that are not the honest one's.
    fn close_others(&mut self) {
        let others: Vec<LinkId> =
            self.a.links().map(|(link, _)| link).filter(|link| *link != self.to_b).collect();
        others.into_iter().for_each(|link| self.a.close(link));
    }

    /// A descriptor of some kind.
    fn descriptor(&mut self, random: &Random) -> OwnedFd {
        let size = self.region.len() as u64;
        let region = &self.region;
        let any: Vec<u8> = (0..size).map(|_| random.word() as u8).collect();
        let some = SealFlags::from_bits_truncate(random.below(32)) - SealFlags::WRITE;
        let (what, descriptor) = match random.below(18) {
            0 | 1 => ("a good region", memory(region, size, seals())),
            2 => ("other seals", memory(region, size, some)),
            3 => ("a region of garbage", memory(&any, size, seals())),
            4 => ("short memory", memory(&region[..100], size / 2, seals())),
            5 => ("long memory", memory(region, size * 2, seals())),
            6 => ("no memory", memory(&[], 0, seals())),
            7 => ("a region that is nearly good", {
                let mut near = region.clone();
                near[random.below(96) as usize] ^= 1 << random.below(8);
                memory(&near, size, seals())
            }),
            8 => ("much memory", memory(region, MUCH.into(), seals())),
            9 | 10 => ("a bell", eventfd(0, EventfdFlags::CLOEXEC).unwrap()),
            11 => ("a full bell", {
                let bell = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
                rustix::io::write(&bell, &(u64::MAX - 1).to_ne_bytes()).unwrap();
                bell
            }),
            12 => ("a pipe", std::io::pipe().unwrap().1.into()),
            13 => ("an epoll set", epoll::create(epoll::CreateFlags::CLOEXEC).unwrap()),
            14 => ("a socket", socket()),
            15 => ("a directory", File::open("/").unwrap().into()),
            16 => ("a device", File::open("/dev/null").unwrap().into()),
            _ => ("a device", File::options().write(true).open("/dev/full").unwrap().into()),
        };
        self.did(what);
        descriptor
    }

    /// A packet, more or less, and what comes with it.
    fn packet(&mut self, random: &Random) -> (Vec<u8>, Vec<OwnedFd>) {
        let size = self.region.len() as u32;
        let size = random.pick(&[size, size, size, MUCH, size / 2, size * 2, 0, random.word()]);
        let mut packet = greeting(size);
        packet[32 + 6] = b'a' + random.below(26) as u8;
        let mut with = Vec::new();
        match random.below(8) {
            0 => {
                packet.truncate(random.below(65) as usize);
                self.did("a short packet");
            }
            1 => {
                packet.resize(64 + random.below(30_000) as usize, 7);
                self.did("a long packet");
            }
            2 => {
                packet.truncate(16);
                packet[8] = random.pick(&[2, 3]);
                packet[12] = random.below(6) as u8;
                self.did("a refusal or farewell");
            }
            3 => {
                let at = random.below(64) as usize;
                packet[at] = random.word() as u8;
                self.did("a packet with a wrong byte");
            }
            _ => {}
        }
        let count = random.pick(&[0, 1, 2, 2, 2, 2, 2, 2, 3, 4, 5, 30]);
        if random.one_in(2) {
            let there = if size == MUCH { MUCH } else { self.region.len() as u32 };
            with.push(memory(&self.region, there.into(), seals()));
            with.push(eventfd(0, EventfdFlags::CLOEXEC).unwrap());
        } else {
            (0..count).for_each(|_| with.push(self.descriptor(random)));
        }
        (packet, with)
    }

    /// Strangers that come, say something or nothing, and go.
    fn strangers(&mut self, random: &Random) {
        let count = random.pick(&[1, 1, 1, 2, 3, 40]);
        let mut here = Vec::new();
        for _ in 0..count {
            here.extend(try_stranger(self.directory));
        }
        for _ in 0..random.below(3) {
            for socket in &here {
                let (packet, with) = self.packet(random);
                let with: Vec<BorrowedFd<'_>> = with.iter().map(AsFd::as_fd).collect();
                let _ = try_send(socket, &packet, &with);
            }
            if random.one_in(2) {
                turn(&mut self.a);
            }
        }
        if random.one_in(4) {
            here.clear();
        }
        turn(&mut self.a);
        self.close_others();
        turn(&mut self.a);
        if count == 40 {
            self.did("a flood of connections");
        }
    }

    /// A node of that name answers this one's hunt, more or less.
    fn false_node(&mut self, random: &Random) {
        let path = self.directory.join("default/false");
        let listener = socket();
        rustix::net::bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        rustix::net::listen(&listener, 8).unwrap();
        let hunted = "false".parse().unwrap();
        self.a.platform().hunt(&hunted).unwrap();
        for _ in 0..=random.below(2) {
            if let Ok(socket) = rustix::net::accept(&listener) {
                let (mut packet, with) = self.packet(random);
                if packet.len() == 64 && random.one_in(2) {
                    packet[28] = 5;
                    packet[32..39].copy_from_slice(b"false\0\0");
                }
                let with: Vec<BorrowedFd<'_>> = with.iter().map(AsFd::as_fd).collect();
                let _ = try_send(&socket, &packet, &with);
                turn(&mut self.a);
                if self.a.links().any(|(_, name)| name.as_str() == "false") {
                    self.did("a link with a false node");
                }
            }
            turn(&mut self.a);
        }
        self.a.platform().give_up(&hunted);
        std::fs::remove_file(path).unwrap();
        self.did("a false node");
    }

    /// One that is linked as it should be, and lies into its memory, rings and floods.
    fn liar(&mut self, random: &Random) {
        let liar = open(self.directory, "liar");
        liar.hunt(&"a".parse().unwrap()).unwrap();
        let mut link = None;
        self.until(|_| {
            link = link.take().or_else(|| connection(&liar));
            link.is_some()
        });
        let link = link.expect("it came");
        turn(&mut self.a);
        let found = self.a.links().find(|(_, name)| name.as_str() == "liar");
        let bell = link.bell;
        let pen: Forger<Region, PeerRegion> =
            Forger::new(random.clone(), layout(), link.own, link.peer);
        for _ in 0..random.below(30) {
            pen.lie(random.pick(&[Lies::All, Lies::Messages]));
            if random.one_in(4) {
                (0..100).for_each(|_| liar.ring(&bell));
            }
            turn(&mut self.a);
            if let Some((link, _)) = found {
                let to = Address { link, port: 1 };
                let _ = self.a.try_send(1, to, &vec![1; random.below(1024) as usize]);
            }
        }
        if let Some((link, _)) = found {
            let what = match self.a.check(link) {
                Ok(()) => "lies that go on",
                Err(LinkError::Gone(_)) => "lies that are found out",
                Err(other) => panic!("{other:?}"),
            };
            self.did(what);
        }
        self.close_others();
    }

    /// An honest peer that was not there before finds this node.
    fn newcomer(&mut self) {
        let mut new = node(self.directory, "new");
        new.platform().hunt(&"a".parse().unwrap()).unwrap();
        self.until(|_| {
            turn(&mut new);
            new.links().next().is_some()
        });
        let (link, _) = new.links().next().expect("it came");
        self.until(|scene| scene.a.links().any(|(_, name)| name.as_str() == "new"));
        new.try_send(1, Address { link, port: 1 }, b"hello").unwrap();
        self.close_others();
        self.did("an honest newcomer");
    }
}

#[test]
fn whatever_comes_nothing_of_it_stays_and_honest_peers_meet() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let before = possessions();
    let (a, b) = (node(directory, "a"), node(directory, "b"));
    b.platform().hunt(&"a".parse().unwrap()).unwrap();
    let mut scene = {
        let (mut a, mut b) = (a, b);
        let deadline = Instant::now() + PATIENCE;
        while a.links().next().is_none() || b.links().next().is_none() {
            turn(&mut a);
            turn(&mut b);
            assert!(Instant::now() < deadline, "no link");
        }
        let ((to_b, _), (to_a, _)) = (a.links().next().unwrap(), b.links().next().unwrap());
        let mut region = vec![0; layout().size() as usize];
        let good = open(directory, "good");
        good.hunt(&"b".parse().unwrap()).unwrap();
        let mut link = None;
        while link.is_none() {
            turn(&mut b);
            link = connection(&good);
            assert!(Instant::now() < deadline, "no link");
        }
        link.expect("it came").own.read(0, &mut region).unwrap();
        let deeds = BTreeMap::new();
        Scene { directory, a, b, to_a, to_b, exchanges: 0, region, deeds }
    };
    scene.until(|scene| scene.b.links().count() == 1);
    let settled = possessions();
    let memory = resident();

    let first = number("NARROWS_SEED").unwrap_or(0);
    let count = number("NARROWS_CASES").unwrap_or(FEW);
    let start = Instant::now();
    for seed in first..first + count {
        let case = catch_unwind(AssertUnwindSafe(|| {
            let random = Random::new(seed);
            match random.below(8) {
                0..=3 => scene.strangers(&random),
                4 => scene.false_node(&random),
                _ => scene.liar(&random),
            }
            if random.one_in(16) {
                scene.newcomer();
            }
            scene.exchange();
            // A link that has ended keeps its memory and the peer's bell until its place is
            // needed; a stranger that is silent has a second.
            if random.one_in(64) {
                scene.until(|_| {
                    let now = possessions();
                    now.0 <= settled.0 + LINKS && now.1 <= settled.1 + 2 * LINKS
                });
            }
            assert!(resident() < memory + GROWTH, "{} bytes more", resident() - memory);
        }));
        assert!(case.is_ok(), "the case of seed {seed} failed: NARROWS_SEED={seed} begins with it");
    }
    println!("{count} cases in {:.1} s", start.elapsed().as_secs_f64());
    for (deed, times) in &scene.deeds {
        println!("  {deed:30} {times:8}");
    }
    if count >= FEW {
        assert!(scene.deeds.len() >= 24, "some things were never tried: {:?}", scene.deeds);
    }
    drop(scene);
    assert_eq!(possessions(), before);
}
