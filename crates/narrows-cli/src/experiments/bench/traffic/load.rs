//! One side of the traffic.

use std::time::Duration;

use narrows::endpoint::{
    Address, CallError, Failure as CallFailure, FlowError, FlowId, Function, LinkError, Message,
    Node, Select, SendError, Sink, Source, What,
};
use narrows::link::LinkId;
use narrows::platform::{Instant, Lost, Woken};
use narrows::strategy::{Notification, Strategy};

use super::PATIENCE;
use super::linger::{LINGER, linger};
use super::payload::{LONGEST, Longest, Payloads, SHORT};
use super::record::{Count, Counts, agree};
use crate::base::latencies::Latencies;
use crate::rig::place::Place;

/// Where messages come from and go to on both sides.
pub const PORT: u16 = 1;
/// The tag of the message behind which its sender makes no more traffic, and asks for the same.
const QUIET: u16 = u16::MAX;
/// The tag of a message that is answered at once, by a side that sleeps until it comes.
pub(super) const KNOCK: u16 = u16::MAX - 1;
/// The tags of that answer: the message was seen before the side slept, or it had to be rung for.
const SEEN: u16 = u16::MAX - 2;
const RUNG: u16 = u16::MAX - 3;
/// Calls that may be outstanding.
const WINDOW: u64 = 16;
/// The longest run of messages without a look at anything else.
const BURST: usize = 512;
/// The longest wait for room before this side sees to its own receiving again.
pub(super) const ROOM: Duration = Duration::from_millis(2);
/// The longest wait for anything.
const IDLE: Duration = Duration::from_secs(1);

/// What a side sends of its own accord. Every side receives and serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Whether it sends messages and calls.
    pub active: bool,
    /// How everything travels.
    pub strategy: Strategy,
    /// What the sizes of bursts are drawn with.
    pub seed: u64,
}

/// Why the traffic ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The stack said that the peer is gone.
    Lost(Lost),
    /// The stack said what it must not say here.
    Defect(String),
}

impl Trouble {
    fn defect(what: &str, why: impl std::fmt::Display) -> Trouble {
        Trouble::Defect(format!("{what}: {why}"))
    }
}

/// One side of the traffic over one link.
pub struct Load {
    link: LinkId,
    flow: Option<FlowId>,
    random: fastrand::Rng,
    payloads: Payloads,
    longest: Longest,
    notification: Notification,
    into: Vec<u8>,
    /// When each outstanding call was started.
    begun: [Option<Instant>; WINDOW as usize],
    /// There was no room for what was to be sent last.
    full: bool,
    /// The last rest ended with a ring, and no message was answered since.
    rung: bool,
    /// How the last message to a side that sleeps was noticed, once it is answered: whether it was
    /// rung for.
    pub(super) answered: Option<bool>,
    /// The link's end, once it was told behind all messages.
    pub noticed: Option<Lost>,
    /// From the start of a call to its response.
    pub latencies: Latencies,
}

impl Load {
    /// Prepares a node for traffic over a link that is up.
    ///
    /// # Errors
    /// The link is lost already, or the stack refuses what is usual.
    pub fn new<P: Place>(
        node: &mut Node<P>,
        link: LinkId,
        profile: Profile,
    ) -> Result<Load, Trouble> {
        node.set_strategy(profile.strategy);
        node.set_notification(profile.strategy.notification);
        match node.link(link).attach(PORT) {
            Ok(()) => {}
            Err(LinkError::Gone(reason)) => return Err(Trouble::Lost(reason)),
            Err(error) => return Err(Trouble::defect("cannot attach to the link", error)),
        }
        let longest = Longest::of(node, link, profile.strategy.placement);
        let flow = match profile.active {
            false => None,
            true => Some(flow(node, link, profile.strategy, longest.call)?),
        };
        Ok(Load {
            link,
            flow,
            random: fastrand::Rng::with_seed(profile.seed),
            payloads: Payloads::default(),
            longest,
            notification: profile.strategy.notification,
            into: vec![0; LONGEST],
            begun: [None; WINDOW as usize],
            full: false,
            rung: false,
            answered: None,
            noticed: None,
            latencies: Latencies::default(),
        })
    }

    /// Does a bounded piece of everything. Whether there was anything to do.
    ///
    /// # Errors
    /// The traffic is over.
    pub fn turn<P: Place>(&mut self, node: &mut Node<P>, counts: &Counts) -> Result<bool, Trouble> {
        node.poll();
        up(node, self.link)?;
        let most = 1 + self.random.usize(..96);
        let mut busy = self.serve(node, counts) | (self.receive(node, counts, most)? > 0);
        busy |= self.finish(node, counts)?;
        if self.flow.is_some() && counts.get(Count::Quiet) == 0 {
            let burst = if self.random.bool() { BURST } else { self.random.usize(..64) };
            let before = counts.get(Count::Sent);
            while counts.get(Count::Sent) - before < burst as u64
                && self.send(node, counts, None)?
            {}
            busy |= counts.get(Count::Sent) > before;
            busy |= self.start(node, counts)?;
        }
        Ok(busy)
    }

    /// Waits until there is something to do: for room, if there was none, else for anything.
    ///
    /// # Errors
    /// The traffic is over.
    pub fn rest<P: Place>(&mut self, node: &mut Node<P>, counts: &Counts) -> Result<(), Trouble> {
        if self.full && counts.get(Count::Quiet) == 0 {
            return self.send(node, counts, Some(ROOM)).map(|_| ());
        }
        let woken = node.wait_by(self.notification, Some(IDLE));
        self.rung = woken == Woken::Bell;
        // A receiver that polls, or lets messages gather, is not rung for each.
        let rung_for = matches!(
            self.notification,
            Notification::Interrupt | Notification::Hybrid { .. } | Notification::Spin
        );
        if woken == Woken::Deadline && rung_for {
            if node.arm() {
                counts.add(Count::Unrung);
            }
            node.disarm();
        }
        Ok(())
    }

    /// Takes everything that had come before the link ended, up to the notice of its end; finishes
    /// the calls that were answered. False if the notice is not there yet.
    ///
    /// # Errors
    /// The stack said what it must not say here.
    pub fn drain<P: Place>(
        &mut self,
        node: &mut Node<P>,
        counts: &Counts,
    ) -> Result<bool, Trouble> {
        node.poll();
        self.receive(node, counts, usize::MAX)?;
        match self.finish(node, counts) {
            Ok(_) | Err(Trouble::Lost(_)) => Ok(self.noticed.is_some()),
            Err(defect) => Err(defect),
        }
    }

    /// Sends the next message, waiting for room if asked. False if there was none.
    ///
    /// # Errors
    /// The traffic is over.
    pub fn send<P: Place>(
        &mut self,
        node: &mut Node<P>,
        counts: &Counts,
        within: Option<Duration>,
    ) -> Result<bool, Trouble> {
        self.send_tagged(node, counts, within, 0)
    }

    /// Sends the last message, behind which the other side falls quiet as this one does. False if
    /// there was no room in time.
    ///
    /// # Errors
    /// The traffic is over.
    fn quiet<P: Place>(&mut self, node: &mut Node<P>, counts: &Counts) -> Result<bool, Trouble> {
        let said = self.send_tagged(node, counts, Some(ROOM), QUIET)?;
        if said {
            counts.set(Count::Quiet, 1);
        }
        Ok(said)
    }

    /// Lets both sides fall quiet, and works on until all that was sent has arrived and every block
    /// of this side is back, or patience is at an end. `meanwhile` is done in every turn.
    ///
    /// # Errors
    /// The traffic is over.
    pub fn settle<P: Place>(
        &mut self,
        node: &mut Node<P>,
        ours: &Counts,
        theirs: &Counts,
        mut meanwhile: impl FnMut(&mut Node<P>),
    ) -> Result<(), Trouble> {
        let deadline = node.platform().time() + PATIENCE;
        let both = |ours: &Counts| ours.get(Count::Quiet) + theirs.get(Count::Quiet) == 2;
        while node.platform().time() < deadline {
            if ours.get(Count::Quiet) == 0 {
                self.quiet(node, ours)?;
            }
            let busy = self.turn(node, ours)?;
            meanwhile(node);
            let back = node.link(self.link).blocks_in_use() == Ok((0, 0));
            if back && both(ours) && agree(ours, theirs) {
                return Ok(());
            }
            if !busy {
                node.wait_any(Some(ROOM));
            }
        }
        Ok(())
    }

    pub(super) fn send_tagged<P: Place>(
        &mut self,
        node: &mut Node<P>,
        counts: &Counts,
        within: Option<Duration>,
        tag: u16,
    ) -> Result<bool, Trouble> {
        let number = counts.get(Count::Sent);
        let message = Message::new(self.payloads.make(number, self.longest(tag))).tag(tag);
        let to = Address { link: self.link, port: PORT };
        counts.set(Count::Tried, number + 1);
        let sent = match within {
            None => node.try_send(PORT, to, message),
            Some(_) => node.send(PORT, to, message, within),
        };
        self.full = sent.is_err();
        match sent {
            Ok(()) => counts.set(Count::Sent, number + 1),
            Err(_) => counts.set(Count::Tried, number),
        }
        match sent {
            Ok(()) => Ok(true),
            Err(SendError::RingFull | SendError::PoolEmpty | SendError::Deadline) => {
                counts.add(Count::Full);
                Ok(false)
            }
            Err(SendError::Gone(reason)) => Err(Trouble::Lost(reason)),
            Err(error) => Err(Trouble::defect("a message cannot be sent", error)),
        }
    }

    /// The longest payload of a message with this tag. Those of a lull are in a slot: how long it
    /// takes to write one is always the same.
    fn longest(&self, tag: u16) -> usize {
        match tag {
            KNOCK | SEEN | RUNG => SHORT,
            _ => self.longest.message,
        }
    }

    fn serve<P: Place>(&mut self, node: &mut Node<P>, counts: &Counts) -> bool {
        let (into, payloads, longest) = (&mut self.into, &self.payloads, self.longest.call);
        let mut echo = |request: &dyn Source, response: &mut dyn Sink| {
            let number = counts.get(Count::Begun);
            counts.set(Count::Begun, number + 1);
            let bytes = into.get_mut(..request.len()).ok_or(CallFailure::NoRoom)?;
            request.read(0, bytes)?;
            if !payloads.is(number, longest, bytes) {
                counts.add(Count::Wrong);
            }
            response.write(0, bytes)?;
            counts.set(Count::Served, number + 1);
            Ok(())
        };
        let Ok(name) = ECHO.parse() else { return false };
        node.try_serve(&mut [Function { name, run: &mut echo }]) > 0
    }

    /// Takes messages, at most this many. How many there were.
    fn receive<P: Place>(
        &mut self,
        node: &mut Node<P>,
        counts: &Counts,
        most: usize,
    ) -> Result<usize, Trouble> {
        let select = Select { link: Some(self.link), ..Select::default() };
        for taken in 0..most {
            let lent = node.try_receive(PORT, &select);
            let lent = lent.map_err(|error| Trouble::defect("cannot receive", error))?;
            let Some(lent) = lent else { return Ok(taken) };
            let mut knocked = false;
            let longest = self.longest(lent.tag);
            match lent.what {
                What::PeerGone(reason) => self.noticed = Some(reason),
                What::Message => {
                    let number = counts.get(Count::Received);
                    let bytes = self.into.get_mut(..lent.len);
                    let whole = bytes.is_some_and(|bytes| {
                        node.read(&lent, 0, bytes).is_ok()
                            && self.payloads.is(number, longest, bytes)
                    });
                    // Nothing comes behind the notice.
                    if !whole || self.noticed.is_some() {
                        counts.add(Count::Wrong);
                    }
                    // Before it is released: until then it is in the inbox, so that no more
                    // messages than that holds are taken and not counted.
                    counts.set(Count::Received, number + 1);
                    match lent.tag {
                        QUIET => counts.set(Count::Quiet, 1),
                        KNOCK => knocked = true,
                        SEEN => self.answered = Some(false),
                        RUNG => self.answered = Some(true),
                        _ => {}
                    }
                }
                _ => counts.add(Count::Wrong),
            }
            node.release(lent);
            if knocked {
                self.notification = Notification::Interrupt;
                let how = if std::mem::take(&mut self.rung) { RUNG } else { SEEN };
                while !self.send_tagged(node, counts, Some(ROOM), how)? {}
                linger(node, LINGER);
            }
        }
        Ok(most)
    }

    /// Starts calls until enough are outstanding or there is no room.
    fn start<P: Place>(&mut self, node: &mut Node<P>, counts: &Counts) -> Result<bool, Trouble> {
        let Some(flow) = self.flow else { return Ok(false) };
        match node.flow(flow).is_ready() {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(FlowError::Gone(reason)) => return Err(Trouble::Lost(reason)),
            Err(error) => return Err(Trouble::defect("the flow cannot be opened", error)),
        }
        let mut any = false;
        while counts.get(Count::Started) - counts.get(Count::Finished) < WINDOW {
            let number = counts.get(Count::Started);
            counts.set(Count::CallsTried, number + 1);
            let started = node.flow(flow).start(self.payloads.make(number, self.longest.call));
            match started {
                Ok(_) => counts.set(Count::Started, number + 1),
                Err(_) => counts.set(Count::CallsTried, number),
            }
            match started {
                Ok(_) => {
                    if let Some(begun) = self.begun.get_mut((number % WINDOW) as usize) {
                        *begun = Some(node.platform().time());
                    }
                    any = true;
                }
                Err(SendError::RingFull | SendError::PoolEmpty) => {
                    self.full = true;
                    break;
                }
                Err(SendError::Gone(reason)) => return Err(Trouble::Lost(reason)),
                Err(error) => return Err(Trouble::defect("a call cannot be started", error)),
            }
        }
        Ok(any)
    }

    fn finish<P: Place>(&mut self, node: &mut Node<P>, counts: &Counts) -> Result<bool, Trouble> {
        let Some(flow) = self.flow else { return Ok(false) };
        let mut any = false;
        while counts.get(Count::Finished) < counts.get(Count::Started) {
            let number = counts.get(Count::Finished);
            let len = match node.flow(flow).try_finish(&mut self.into) {
                Ok(Some(done)) => done.len,
                Ok(None) => break,
                Err(CallError::Gone(reason)) => return Err(Trouble::Lost(reason)),
                Err(error) => return Err(Trouble::defect("a call failed", error)),
            };
            let bytes = self.into.get(..len).unwrap_or_default();
            if !self.payloads.is(number, self.longest.call, bytes) {
                counts.add(Count::Wrong);
            }
            counts.set(Count::Finished, number + 1);
            let begun = self.begun.get_mut((number % WINDOW) as usize).and_then(Option::take);
            if let Some(begun) = begun {
                self.latencies.add(node.platform().time().since(begun));
            }
            any = true;
        }
        Ok(any)
    }
}

/// The function that both sides serve.
pub const ECHO: &str = "echo";

fn flow<P: Place>(
    node: &mut Node<P>,
    link: LinkId,
    strategy: Strategy,
    longest: usize,
) -> Result<FlowId, Trouble> {
    let name = ECHO.parse().map_err(|error| Trouble::defect("no name", error))?;
    // Not waited for: the other side may be opening one at the same time.
    match node.begin_flow(link, &name, strategy, longest as u32) {
        Ok(flow) => Ok(flow),
        Err(FlowError::Gone(reason)) => Err(Trouble::Lost(reason)),
        Err(error) => Err(Trouble::defect("a flow cannot be opened", error)),
    }
}

fn up<P: Place>(node: &mut Node<P>, link: LinkId) -> Result<(), Trouble> {
    match node.link(link).check() {
        Ok(()) => Ok(()),
        Err(LinkError::Gone(reason)) => Err(Trouble::Lost(reason)),
        Err(error) => Err(Trouble::defect("the link is not there", error)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::chips;
    use super::*;
    use crate::experiments::bench::choice;
    use narrows_sim::chip::{Chip, shipped};
    use narrows_sim::engine::{Bells, Faults, Settings, Simulation};
    use narrows_sim::time::Time;
    use std::cell::Cell;

    /// The first may end at once, by a ring that came before.
    const RESTS: u32 = 4;

    #[test]
    fn who_has_no_room_for_a_call_waits_for_room() {
        let chip = Chip::parse("amp", shipped("generic-amp").unwrap()).unwrap();
        let strategy = choice::strategy("copy/interrupt/external").unwrap();
        let profile = |active| Profile { active, strategy, seed: 1 };
        let (filling, rested) = (Cell::new(false), Cell::new(None));
        let mut simulation = Simulation::new(&chip, Settings::default());
        simulation.process(0, "full", 1, |cpu| {
            let (mut node, link) = chips::linked(&cpu, "full", "away", true).unwrap();
            let (mut load, counts) =
                (Load::new(&mut node, link, profile(true)).unwrap(), Counts::default());
            while node.flow(load.flow.unwrap()).is_ready() == Ok(false) {
                node.wait_any(Some(ROOM));
                node.poll();
            }
            filling.set(true);
            let to = Address { link, port: PORT };
            while node.try_send(PORT, to, Message::new(&[1])).is_ok() {}
            let began = cpu.time();
            for _ in 0..RESTS {
                assert_eq!(load.start(&mut node, &counts), Ok(false));
                load.rest(&mut node, &counts).unwrap();
            }
            rested.set(Some(cpu.time().since(began)));
        });
        simulation.process(1, "away", 1, |cpu| {
            let (mut node, link) = chips::linked(&cpu, "away", "full", false).unwrap();
            let mut load = Load::new(&mut node, link, profile(false)).unwrap();
            while rested.get().is_none() {
                if !filling.get() {
                    load.turn(&mut node, &Counts::default()).unwrap();
                }
                cpu.pause(Time::nanos(10_000));
            }
        });
        simulation.run().unwrap();
        assert!(Duration::from(rested.get().unwrap()) < 2 * RESTS * ROOM);
    }

    /// What a sleeper counts to which something is sent now and then, by a core of which this many
    /// bells of 1000 are lost.
    fn unrung(lost: u16) -> u64 {
        let chip = Chip::parse("amp", shipped("generic-amp").unwrap()).unwrap();
        let strategy = choice::strategy("copy/interrupt/external").unwrap();
        let profile = Profile { active: false, strategy, seed: 1 };
        let faults = Faults { bells: Bells { lost, ..Bells::default() }, ..Faults::default() };
        let mut simulation = Simulation::new(&chip, Settings { faults, ..Settings::default() });
        let counts = Counts::default();
        simulation.process(0, "asleep", 1, |cpu| {
            let (mut node, link) = chips::linked(&cpu, "asleep", "sends", false).unwrap();
            let mut load = Load::new(&mut node, link, profile).unwrap();
            while counts.get(Count::Wrong) < 20 {
                if !load.turn(&mut node, &counts).unwrap() {
                    load.rest(&mut node, &counts).unwrap();
                }
            }
        });
        simulation.process(1, "sends", 1, |cpu| {
            let (mut node, link) = chips::linked(&cpu, "sends", "asleep", true).unwrap();
            for _ in 0..20 {
                // Of no payload: it is counted as wrong.
                while node.try_send(PORT, Address { link, port: PORT }, Message::new(&[1])).is_err()
                {
                }
                cpu.pause(Time::nanos(300_000_000));
            }
            while cpu.time() < Time::nanos(30_000_000_000) {
                cpu.pause(Time::nanos(300_000_000));
            }
        });
        simulation.run().unwrap();
        counts.get(Count::Unrung)
    }

    #[test]
    fn a_sleeper_that_was_not_rung_for_what_was_there_counts_it() {
        assert_eq!(unrung(0), 0);
        assert!(unrung(700) > 0);
    }
}
