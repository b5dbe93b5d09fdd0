//! The node that is lied to: it does all that a node does with any node that links.

use std::time::{Duration, Instant};

use narrows::endpoint::{
    Address, Channel, Failure, FlowId, Function, LinkError, PortError, Select, SendError, Sink,
    Source,
};
use narrows::link::LinkId;
use narrows::platform::Lost;
use narrows::strategy::Placement;
use narrows_host::Node;

use super::honest::Totals;
use super::{HONEST, LIES};
use crate::common::process::{number, payload, rounds};
use crate::common::{PATIENCE, name};
use crate::forge::Random;

/// What one operation with a liar is given.
const WITHIN: Duration = Duration::from_millis(2);

const STRATEGIES: [&str; 4] = [
    "copy/interrupt",
    "in_place/spin",
    "single_copy/hybrid",
    "copy_batched/interrupt/granularity=4",
];

pub struct Victim {
    node: Node,
    random: Random,
    honest: Option<LinkId>,
    liar: Option<(LinkId, Option<FlowId>)>,
    /// Numbered messages to the honest peer and from it.
    sent: u64,
    came: u64,
    settling: bool,
    /// Links with the liar, and those that ended because a lie was found out.
    pub links: u64,
    pub found_out: u64,
    /// Messages of the liar that came as it sent them, and others; calls that ended one way or the
    /// other.
    pub whole: u64,
    pub garbage: u64,
    calls: u64,
}

/// What a service does with a request that may change while it is read.
fn echo(request: &dyn Source, response: &mut dyn Sink) -> Result<(), Failure> {
    let mut bytes = [0; 64];
    let bytes = bytes.get_mut(..request.len()).ok_or(Failure::NoRoom)?;
    request.read(0, bytes)?;
    response.write(0, bytes)
}

impl Victim {
    pub fn new(node: Node) -> Victim {
        Victim {
            node,
            random: Random::new(1),
            honest: None,
            liar: None,
            sent: 0,
            came: 0,
            settling: false,
            links: 0,
            found_out: 0,
            whole: 0,
            garbage: 0,
            calls: 0,
        }
    }

    fn find(&self, who: &str) -> Option<LinkId> {
        self.node.links().find(|(_, peer)| peer.as_str() == who).map(|(link, _)| link)
    }

    pub fn await_honest(&mut self) {
        let end = Instant::now() + PATIENCE;
        while self.honest.is_none() {
            self.node.wait_any(Some(WITHIN));
            self.node.poll();
            self.honest = self.find("honest");
            assert!(Instant::now() < end, "the honest peer does not come");
        }
    }

    /// Works with both until `done`.
    pub fn work_until(&mut self, mut done: impl FnMut(&Victim) -> bool) {
        let end = Instant::now() + PATIENCE * rounds() as u32;
        while !done(self) {
            self.with_the_honest();
            let begun = Instant::now();
            self.with_the_liar();
            // Each of its few operations had 2 ms.
            assert!(begun.elapsed() < PATIENCE, "an operation goes on beyond its deadline");
            assert!(Instant::now() < end, "it does not happen");
        }
    }

    fn with_the_honest(&mut self) {
        let Some(link) = self.honest else { return };
        let (mut bytes, mut buffer) = ([0; 4096], [0; 4096]);
        while let Some(received) = self.node.try_receive_into(HONEST, &mut bytes).unwrap() {
            if received.from.link != link {
                self.whole += 1;
                continue;
            }
            assert_eq!(number(&bytes[..received.len]), self.came, "in order, each once");
            self.came += 1;
        }
        if self.settling {
            return;
        }
        let to = Address { link, port: HONEST };
        match self.node.try_send(HONEST, to, payload(self.sent, &mut buffer)) {
            Ok(()) => self.sent += 1,
            Err(SendError::RingFull | SendError::PoolEmpty) => {}
            Err(error) => panic!("message {} to the honest peer: {error}", self.sent),
        }
    }

    fn with_the_liar(&mut self) {
        self.node.poll();
        let Some((link, flow)) = self.liar else {
            if let Some(link) = self.find("liar") {
                self.links += 1;
                self.liar = Some((link, None));
            }
            return;
        };
        match self.random.below(8) {
            0 => self.send(link),
            1 | 2 => self.receive(),
            3 => self.call(link, flow),
            4 => {
                let mut run = echo;
                let _ = self
                    .node
                    .serve(&mut [Function { name: name("echo"), run: &mut run }], Some(WITHIN));
            }
            5 => self.channels(link),
            6 => self.node.wait_any(Some(WITHIN)),
            _ => {
                let strategy = self.random.pick(&STRATEGIES).parse().unwrap();
                if let Some(flow) = flow {
                    let _ = self.node.flow(flow).switch(strategy, Some(WITHIN));
                }
            }
        }
        let flow = self.liar.and_then(|(_, flow)| flow);
        let ended = match self.node.link(link).check() {
            Ok(()) => self.random.one_in(2000),
            Err(LinkError::Gone(Lost::Corrupt(_))) => {
                self.found_out += 1;
                true
            }
            Err(_) => true,
        };
        if ended {
            let _ = self.node.link(link).undelivered(|_, source| {
                let mut bytes = [0; 4096];
                let len = source.len().min(bytes.len());
                let _ = source.read(0, &mut bytes[..len]);
            });
            if let Some(flow) = flow {
                let _ = self.node.flow(flow).close();
            }
            self.node.link(link).close();
            self.liar = None;
        }
    }

    fn send(&mut self, link: LinkId) {
        let (mut buffer, to) = ([0; 4096], Address { link, port: LIES });
        let bytes = payload(u64::from(self.random.word()), &mut buffer);
        let _ = self.node.send(LIES, to, bytes, Some(WITHIN));
    }

    /// Takes a message where it is, while its sender may change it.
    fn receive(&mut self) {
        let lent = match self.node.receive(LIES, &Select::default(), Some(WITHIN)) {
            Ok(lent) => lent,
            Err(why) => return assert_eq!(why, PortError::Deadline),
        };
        let whole = self.node.read_in_place(&lent, |source| {
            let (mut once, mut as_sent) = ([0; 4096], [0; 4096]);
            let len = source.len().min(once.len());
            // What is out of reach is refused.
            let beyond = source.read(source.len(), &mut [0]);
            assert!(beyond.is_err(), "a byte behind the payload");
            source.read(0, &mut once[..len]).ok()?;
            let number = once.first_chunk().map(|first| u64::from_le_bytes(*first));
            Some(once[..len] == *payload(number? % 1_000_000, &mut as_sent))
        });
        match whole {
            Some(Some(true)) => self.whole += 1,
            _ => self.garbage += 1,
        }
        self.node.release(lent);
    }

    fn call(&mut self, link: LinkId, flow: Option<FlowId>) {
        let Some(flow) = flow else {
            let strategy = self.random.pick(&STRATEGIES).parse().unwrap();
            let flow = self.node.open_flow(link, &name("echo"), strategy, 64, Some(WITHIN)).ok();
            self.liar = Some((link, flow));
            return;
        };
        let mut response = [0; 64];
        let _ = self.node.flow(flow).call(b"are you there", &mut response, Some(WITHIN));
        self.calls += 1;
    }

    fn channels(&mut self, link: LinkId) {
        let channel = Channel { link, ring: self.random.below(2) as u16 };
        let value = u64::from(self.random.word());
        let _ = self.node.channel(channel).try_send_word(value, 8, 1);
        let _ = self.node.channel(channel).try_send_packet(&[7; 300], Placement::External, 2);
        while let Ok(Some(arrival)) = self.node.channel(channel).try_take() {
            self.whole += 1;
            if let Some(block) = arrival.block {
                self.node.channel(channel).release(block);
            }
        }
    }

    /// Sends no more to the honest peer, and has all that it sent.
    pub fn settle(&mut self, totals: &Totals) {
        self.settling = true;
        totals.victim.get_or_init(|| self.sent);
        let end = Instant::now() + PATIENCE;
        while totals.honest.get() != Some(&self.came) {
            self.with_the_honest();
            self.with_the_liar();
            let sent = totals.honest.get();
            assert!(Instant::now() < end, "of {sent:?} honest messages {} came", self.came);
        }
    }

    pub fn summary(&self) -> String {
        let Victim { sent, came, links, found_out, whole, garbage, calls, .. } = self;
        format!(
            "{links} links with it, {found_out} ended by a lie, {whole} messages of it came whole and \
             {garbage} did not, {calls} calls to it; {sent} messages to the honest peer and \
             {came} from it"
        )
    }
}
