//! What a side does: whatever the dice say, then all that is left to be done.

use super::world::{INBOX, World};
use crate::common::dice::Dice;
use narrows::endpoint::{
    Address, CallError, Failure, FlowId, Function, Limits, LinkError, Message, Node, Received,
    SendError, Sink, Source, What,
};
use narrows::link::{LinkId, Name};
use narrows::platform::{HuntError, Lost};
use narrows::strategy::{Acknowledgement, Notification, Parts, Placement, Strategy, Transfer};
use narrows_sim::cpu::Cpu;
use narrows_sim::time::Time;
use std::time::Duration;

const PORT: u16 = 1;
/// The longest message, request and response.
pub const LONGEST: usize = 256;
const PATIENCE: Option<Duration> = Some(Duration::from_millis(20));

fn limits() -> Limits {
    Limits { links: 3, endpoints: 2, flows: 3, inbox: INBOX, longest: LONGEST }
}

pub fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

/// The content of a message: what it is of, told by its number.
pub fn content(number: u16) -> Vec<u8> {
    let len = [0, 8, 40, 48, 60, 64, 200, 256][usize::from(number) * 5 % 8];
    (0..len).map(|at: usize| (at * 31) as u8 ^ number as u8).collect()
}

fn echo(request: &dyn Source, response: &mut dyn Sink) -> Result<(), Failure> {
    let mut bytes = [0; LONGEST];
    let bytes = &mut bytes[..request.len()];
    request.read(0, bytes)?;
    response.write(0, bytes)
}

pub fn strategy(dice: &Dice) -> Strategy {
    let time = Duration::from_nanos(1 + dice.roll(100_000));
    let placement = dice.pick(&[Placement::Internal, Placement::External, Placement::External]);
    Strategy {
        placement,
        transfer: dice.pick(&[
            Transfer::Copy,
            Transfer::SingleCopy,
            Transfer::InPlace,
            Transfer::CopyEngine,
        ]),
        notification: dice.pick(&[
            Notification::Interrupt,
            Notification::Spin,
            Notification::Poll { every: time },
            Notification::Timer { every: time },
            Notification::Hybrid { longest: time },
            Notification::Coalesced { messages: 3, within: time },
        ]),
        callee: dice.pick(&[
            None,
            None,
            Some(Notification::Interrupt),
            Some(Notification::Spin),
            Some(Notification::Poll { every: time }),
        ]),
        acknowledgement: dice.pick(&[
            Acknowledgement::Interrupt,
            Acknowledgement::Lazy,
            Acknowledgement::Batched,
        ]),
        granularity: dice.pick(&[1, 1, 2]),
        parts: Parts::WHOLE,
        fragment: 64,
    }
}

pub struct Peer {
    pub side: usize,
    pub link: LinkId,
    attached: bool,
    pub flow: Option<FlowId>,
    /// The number of the next call, for its content.
    pub call: u16,
    /// Calls that were started and not finished: their numbers and requests.
    pub started: Vec<(u16, Vec<u8>)>,
}

pub struct Side<'a> {
    cpu: &'a Cpu,
    pub world: &'a World,
    pub own: usize,
    pub dice: &'a Dice,
    pub node: Node<Cpu>,
    pub peers: Vec<Peer>,
}

/// What one of the three does.
pub fn run(cpu: &Cpu, world: &World, own: usize, dice: &Dice) {
    let mut node = cpu.node(name(world.name(own)), limits()).expect("storage");
    node.open(PORT).expect("a free port");
    node.set_notification(strategy(dice).notification);
    let mut side = Side { cpu, world, own, dice, node, peers: Vec::new() };
    side.meet();
    for _ in 0..4 + dice.roll(28) {
        side.step();
        side.look();
    }
    world.finish(own);
    side.settle();
    world.settle(own);
    // Nobody's node ends before the others are done with it.
    while !side.is_over() {
        side.wait();
        side.look();
    }
    world.leave(own);
    while side.awaits_anybody() {
        side.node.poll();
        cpu.pause(Time::nanos(10_000));
    }
}

impl Side<'_> {
    fn meet(&mut self) {
        for side in self.world.peers(self.own).iter().copied() {
            let wanted = name(self.world.name(side));
            // One of the two looks for the other, which is found however it waits.
            let found =
                if self.own == 0 { self.node.hunt(&wanted, PATIENCE) } else { self.found() };
            match found {
                Ok(link) => {
                    let attached = match self.node.link(link).attach(PORT) {
                        Ok(()) => true,
                        Err(LinkError::Gone(_)) => false,
                        Err(other) => panic!("attach: {other:?}"),
                    };
                    let peer =
                        Peer { side, link, attached, flow: None, call: 0, started: Vec::new() };
                    self.peers.push(peer);
                }
                Err(LinkError::Gone(_) | LinkError::Deadline) => {
                    self.world.unlinked(self.own, side)
                }
                // The header of one that lies was another before it was read.
                Err(LinkError::Hunt(HuntError::Incompatible)) if self.world.lies(side) => {
                    self.world.unlinked(self.own, side);
                }
                Err(other) => panic!("hunt: {other:?}"),
            }
        }
    }

    /// The link that the peer made.
    fn found(&mut self) -> Result<LinkId, LinkError> {
        let end = self.cpu.time() + PATIENCE.unwrap_or_default().into();
        while self.cpu.time() < end {
            if let Some((link, _)) = self.node.links().next() {
                return Ok(link);
            }
            self.node.wait_any(Some(Duration::from_micros(50)));
            self.node.poll();
        }
        Err(LinkError::Deadline)
    }

    pub fn within(&self) -> Option<Duration> {
        Some(Duration::from_nanos(self.dice.pick(&[0, 1000, 50_000, 300_000])))
    }

    fn wait(&mut self) {
        self.node.wait_any(Some(Duration::from_micros(100)));
    }

    /// Whether anything may come of what is done with a peer: one of the two lies.
    pub fn strange(&self, at: usize) -> bool {
        !self.world.honest(self.own, self.peers[at].side)
    }

    pub fn passed(&self) {
        self.world.deadlines.set(self.world.deadlines.get() + 1);
    }

    fn step(&mut self) {
        if self.peers.is_empty() {
            return self.cpu.compute(Time::nanos(10_000));
        }
        let at = self.dice.roll(self.peers.len() as u64) as usize;
        match self.dice.roll(12) {
            0..=4 => self.send(at),
            5 | 6 => self.call(at),
            7 => self.start(at),
            8 => {
                let within = self.within();
                let mut run = echo;
                let run = &mut run;
                let _ = self.node.serve(&mut [Function { name: name("echo"), run }], within);
            }
            9 => self.switch(at),
            10 => self.node.wait_any(self.within()),
            _ => self.cpu.compute(Time::nanos(self.dice.roll(20_000))),
        }
    }

    fn send(&mut self, at: usize) {
        let Peer { side, link, .. } = self.peers[at];
        let (own, within) = (self.own, self.within());
        let tag = self.world.account(own, side, |account| {
            account.trying = true;
            account.sent
        });
        if self.dice.one_in(3) {
            self.node.set_strategy(strategy(self.dice));
        }
        let bytes = content(tag);
        let message = Message::new(&bytes).tag(tag);
        let sent = self.node.send(PORT, Address { link, port: PORT }, message, within);
        self.world.account(own, side, |account| {
            account.trying = false;
            account.sent += u16::from(sent.is_ok());
        });
        match sent {
            Ok(()) | Err(SendError::Gone(_)) => {}
            Err(SendError::Deadline) => self.passed(),
            Err(other) => panic!("send: {other:?}"),
        }
    }

    /// Takes what has come, and serves.
    fn look(&mut self) {
        let mut run = echo;
        self.node.try_serve(&mut [Function { name: name("echo"), run: &mut run }]);
        for _ in 0..2 * INBOX {
            let mut bytes = [0; LONGEST];
            let got = self.node.try_receive_into(PORT, &mut bytes).expect("an open port");
            match got {
                None => break,
                Some(got) => self.got(&got, &bytes),
            }
        }
        // One that ended before its notice could be asked for is found out by looking.
        for at in (0..self.peers.len()).rev() {
            let Peer { link, attached, .. } = self.peers[at];
            if !attached && let Err(LinkError::Gone(why)) = self.node.link(link).check() {
                self.bury(at, why);
            }
        }
    }

    fn got(&mut self, got: &Received, bytes: &[u8]) {
        let at = self.peers.iter().position(|peer| peer.link == got.from.link);
        // It ended before it was known.
        let Some(at) = at else { return };
        let side = self.peers[at].side;
        match got.what {
            What::Message => {
                assert!(got.len <= LONGEST, "{} bytes", got.len);
                if self.world.honest(side, self.own) {
                    let expected = self.world.account(side, self.own, |a| a.delivered);
                    assert_eq!(got.tag, expected, "the next, and once");
                    assert_eq!(&bytes[..got.len], content(expected), "message {expected}");
                }
                self.world.account(side, self.own, |account| account.delivered += 1);
            }
            What::Refused => assert!(!self.world.honest(self.own, side), "its port is open"),
            What::PeerGone(why) => {
                self.world.notices.set(self.world.notices.get() + 1);
                self.bury(at, why);
            }
            what => panic!("{what:?}"),
        }
    }

    /// A link has ended: takes what is left of it, and closes it.
    fn bury(&mut self, at: usize, why: Lost) {
        let link = self.peers[at].link;
        assert_eq!(self.node.link(link).check(), Err(LinkError::Gone(why)));
        self.complete(at);
        let Peer { side, flow, .. } = self.peers.remove(at);
        assert_eq!(
            self.node.link(link).blocks_in_use(),
            Ok((0, 0)),
            "blocks of a link that has ended"
        );
        if let Some(flow) = flow {
            let done = self.node.flow(flow).call(b"x", &mut [], None);
            assert!(matches!(done, Err(CallError::Gone(_))), "{done:?}");
        }
        let (own, honest) = (self.own, self.world.honest(self.own, side));
        let mut tags = Vec::new();
        let count = self.node.link(link).undelivered(|descriptor, source| {
            let mut bytes = vec![0; source.len()];
            // Of one that lies, its own slots may say anything.
            let whole = source.read(0, &mut bytes).is_ok() || self.world.lies(own);
            assert!(whole, "what was sent is still there");
            if descriptor.kind == narrows::memory::Kind::Message {
                assert!(!honest || bytes == content(descriptor.tag), "message that came back");
                tags.push(descriptor.tag);
            }
        });
        assert!(count.is_ok_and(|count| count <= 8), "no more than the ring holds");
        if let Some(first) = tags.first().copied().filter(|_| honest) {
            let count = tags.len() as u16;
            assert!(tags.iter().copied().eq(first..first + count), "in order: {tags:?}");
            self.world.account(own, side, |account| account.returned = Some((first, count)));
        }
        self.node.link(link).close();
        self.world.ended(self.own, side, why, self.cpu.time());
        if side == 1 && why == Lost::Died && !self.world.lies(1) {
            self.meet_again();
        }
    }

    /// Until everything that was sent here has come and everything lent is back.
    fn settle(&mut self) {
        loop {
            self.look();
            for at in 0..self.peers.len() {
                self.complete(at);
            }
            if self.peers.iter().all(|peer| self.world.arrived(peer.side, self.own))
                && self.all_back()
            {
                return;
            }
            self.wait();
        }
    }

    fn all_back(&mut self) -> bool {
        let (world, own) = (self.world, self.own);
        let node = &mut self.node;
        let mut honest = self.peers.iter().filter(|peer| world.honest(own, peer.side));
        honest.all(|peer| {
            let idle = peer.flow.is_none_or(|flow| node.flow(flow).outstanding() == Some(0));
            // A link that has just ended is buried at the next look.
            idle && matches!(node.link(peer.link).blocks_in_use(), Ok((0, 0)))
        })
    }

    fn awaits_anybody(&mut self) -> bool {
        let Side { node, peers, world, .. } = self;
        let mut here = |peer: &Peer| node.link(peer.link).check().is_ok();
        peers.iter().any(|peer| !world.has_left(peer.side) && here(peer))
    }

    fn is_over(&self) -> bool {
        let settled = || self.peers.iter().all(|peer| self.world.is_settled(peer.side));
        if self.own == 0 && settled() {
            self.world.end();
        }
        self.world.is_over() || self.peers.is_empty()
    }

    /// The next life of a dead peer is found under the same name.
    fn meet_again(&mut self) {
        self.world.buried.set(true);
        let link = self.node.hunt(&name("b"), PATIENCE).expect("it lives again");
        let to = Address { link, port: PORT };
        self.node.send(PORT, to, Message::new(b"again").priority(7), PATIENCE).expect("room");
        for _ in 0..200 {
            let of = narrows::endpoint::Select { link: Some(link), ..Default::default() };
            let within = Some(Duration::from_micros(100));
            if let Ok(got) = self.node.receive(PORT, &of, within) {
                assert_eq!(got.what, What::Message);
                self.node.release(got);
                self.world.again.set(true);
                break;
            }
        }
        assert!(self.world.again.get(), "it answers");
        self.node.link(link).close();
    }
}

/// The next life of *b*, once the first is over and has been given up.
pub fn live_again(cpu: &Cpu, world: &World) {
    while !world.buried.get() {
        if world.is_over() || world.is_unlinked(0, 1) {
            return;
        }
        cpu.pause(Time::nanos(100_000));
    }
    let mut node = cpu.node(name("b"), limits()).expect("storage");
    node.open(PORT).expect("a free port");
    for _ in 0..400 {
        let mut bytes = [0; 8];
        let within = Some(Duration::from_micros(100));
        let got = node.receive_into(PORT, &mut bytes, within).ok();
        if let Some(got) = got.filter(|got| got.what == What::Message) {
            assert_eq!(&bytes[..got.len], b"again");
            node.send(PORT, got.from, b"here", PATIENCE).expect("room");
            break;
        }
    }
    while node.links().next().is_some() {
        node.wait_any(Some(Duration::from_micros(100)));
        node.poll();
    }
}
