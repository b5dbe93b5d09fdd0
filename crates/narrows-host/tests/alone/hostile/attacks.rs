//! What is done to the node, by the seed, and what has to work in spite of it.

use std::fs::File;

use narrows::endpoint::{Address, LinkError};
use narrows::platform::Platform;
use narrows_host::{PeerRegion, Region};
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::SealFlags;
use rustix::net::SocketAddrUnix;

use super::scene::{Scene, connection, layout, node, open, turn};
use crate::common::stranger::{greeting, memory, seals, socket, try_send, try_stranger};
use crate::forge::{Forger, Lies, Random};

/// Bytes of the largest region that there can be.
const MUCH: u32 = 1 << 30;

impl Scene<'_> {
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
    pub fn strangers(&mut self, random: &Random) {
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
    pub fn false_node(&mut self, random: &Random) {
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
    pub fn liar(&mut self, random: &Random) {
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
            let what = match self.a.link(link).check() {
                Ok(()) => "lies that go on",
                Err(LinkError::Gone(_)) => "lies that are found out",
                Err(other) => panic!("{other:?}"),
            };
            self.did(what);
        }
        self.close_others();
    }

    /// An honest peer that was not there before finds this node.
    pub fn newcomer(&mut self) {
        let mut new = node(self.directory, "new");
        // There may be no place for it until links that have ended are noticed: it asks again.
        self.until(|_| {
            new.platform().hunt(&"a".parse().unwrap()).unwrap();
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
