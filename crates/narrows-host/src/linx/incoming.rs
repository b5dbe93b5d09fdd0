//! What comes over a node's links, and what is due when nothing comes.

use narrows::connection::{Arrived, Signal as Travelling};
use narrows::endpoint::{Address, Lent, Select, What};
use narrows::link::LinkId;
use narrows::linx::{Misled, Spid, Taken};
use narrows::strategy::Strategy;

use super::Stack;
use super::core::{Core, distinct};
use super::driver::{FRAMES, Frame};
use super::quick::HASTY;
use super::signal::{NUMBER, Signal};
use super::unit::{self, Unit};

/// Frames of one link that may wait for room on another, before those of all links do: more than a
/// peer that keeps to its window has under way.
const PUT_OFF: usize = 16384;
/// Frames that are looked at before the application has its turn again.
const BATCH: usize = 64;

impl Core {
    /// The unit of a link of the node, made if it is new.
    #[inline]
    pub fn unit_of(&mut self, link: LinkId) -> Option<u16> {
        let is = |unit: &Option<Unit>| unit.as_ref().is_some_and(|unit| unit.link == link);
        match self.around.units.iter().position(is) {
            Some(known) => Some(known as u16),
            None => self.new_unit(link),
        }
    }

    #[inline(never)]
    fn new_unit(&mut self, link: LinkId) -> Option<u16> {
        let node = &mut self.around.node;
        let (name, _) = node.link(link).peer().ok()?;
        let to = Address { link, port: FRAMES };
        let flow = node.begin_flow_to(to, Strategy::default()).ok()?;
        // Its end comes behind everything that the peer has sent.
        node.link(link).attach(FRAMES).ok()?;
        let Ok(at) = self.handler.add_link(name) else {
            node.link(link).close();
            return None;
        };
        let now = self.around.now();
        let manager = unit::manager(self.stack, self.around.settings, self.around.mtu, now);
        let unit = Unit::new(to, flow, manager);
        let units = &mut self.around.units;
        if units.len() <= usize::from(at) {
            units.resize_with(usize::from(at) + 1, || None);
        }
        units[usize::from(at)] = Some(unit);
        self.around.waits.stir();
        self.around.attend(at);
        Some(at)
    }

    /// The connection of a link has ended.
    pub fn lost(&mut self, at: u16) {
        self.handler.link_down(&mut self.around, at);
        // What was hunted through it is hunted anew.
        self.hunting = true;
        self.around.waits.stir();
        self.handler.remove_link(at);
        if let Some(unit) = self.around.units.get_mut(usize::from(at)).and_then(Option::take) {
            while let Some(frame) = unit.inner.next() {
                if let Frame::Lent(lent) = frame {
                    self.around.node.release(lent);
                }
            }
            self.around.node.link(unit.link).close();
        }
    }

    /// The peer of a link is gone: the link ends behind what waits for another.
    fn end_behind(&mut self, at: u16) {
        let unit = self.around.units.get_mut(usize::from(at)).and_then(Option::as_mut);
        if let Some(unit) = unit {
            unit.gone = true;
            if self.stack == Stack::Flat {
                self.drain(at);
            }
        }
    }

    /// Takes what has come off the driver, straight to where it belongs, and says what there is to
    /// say: all layers in the caller's own thread.
    pub fn pump(&mut self) {
        for _ in 0..BATCH {
            if !self.take_next() {
                break;
            }
        }
        self.see_to_the_rest();
    }

    /// As [`Core::pump`], until a signal that is wanted has come for an endpoint, behind those that
    /// are in its queue already: the signal. What else there is to do is done now and then.
    #[inline]
    pub fn pump_for(&mut self, spid: Spid, wanted: &impl Fn(&Signal) -> bool) -> Option<Signal> {
        for _ in 0..BATCH {
            if !self.take_next() {
                break;
            }
            let last = self.around.local(spid).and_then(|local| local.queue.back());
            if last.is_some_and(|last| wanted(&last.signal)) {
                self.hasty += 1;
                if self.hasty < HASTY {
                    return self.take(spid, wanted);
                }
                break;
            }
        }
        self.hasty = 0;
        self.see_to_the_rest();
        self.take(spid, wanted)
    }

    /// Takes the next frame off the driver. False if there is none.
    #[inline]
    fn take_next(&mut self) -> bool {
        let Some((at, lent)) = self.next_frame() else { return false };
        let unit = self.around.units.get_mut(usize::from(at)).and_then(Option::as_mut);
        if let Some(unit) = unit {
            unit.put(Frame::Lent(lent));
            self.drain(at);
            let unit = self.around.units.get(usize::from(at)).and_then(Option::as_ref);
            self.held |= unit.is_some_and(Unit::waits);
        }
        true
    }

    /// The next frame, and its link.
    fn next_frame(&mut self) -> Option<(u16, Lent)> {
        loop {
            let lent = self.around.node.try_receive(FRAMES, &Select::default()).ok()??;
            let link = lent.from.link;
            match lent.what {
                What::Message => match self.unit_of(link) {
                    Some(at) => return Some((at, lent)),
                    None => self.around.node.release(lent),
                },
                What::PeerGone(_) => {
                    self.around.node.release(lent);
                    let is = |unit: &Option<Unit>| unit.as_ref().is_some_and(|u| u.link == link);
                    let at = self.around.units.iter().position(is).map(|at| at as u16);
                    if let Some(at) = at {
                        self.end_behind(at);
                    }
                }
                _ => self.around.node.release(lent),
            }
        }
    }

    /// Takes the frames of a link that have come off the driver.
    fn drain(&mut self, at: u16) {
        loop {
            let unit = self.around.units.get_mut(usize::from(at)).and_then(Option::as_mut);
            let Some(unit) = unit else { return };
            if !unit.waits() {
                if unit.gone {
                    self.lost(at);
                }
                return;
            }
            if !self.take_frame(at) {
                return;
            }
        }
    }

    /// Has the connection of a link see whether its peer is silent for too long. What waits was
    /// heard.
    fn look_at_time(&mut self, at: u16) {
        let waits = self.around.units.get(usize::from(at)).and_then(Option::as_ref);
        if waits.is_none_or(Unit::waits) {
            return;
        }
        let Some((unit, mut driver, now)) = self.around.unit(at) else { return };
        let arrived = unit.receive(&mut driver, now, None);
        self.arrived(at, arrived);
    }

    /// Takes the first frame of a link that waits. False if there is none, or it has to wait.
    pub fn take_frame(&mut self, at: u16) -> bool {
        let unit = self.around.units.get(usize::from(at)).and_then(Option::as_ref);
        if let Some(signal) = unit.and_then(|unit| unit.inner.resume()) {
            return self.pass_on(at, signal);
        }
        let Some((unit, mut driver, now)) = self.around.unit(at) else { return false };
        let arrived = unit.receive(&mut driver, now, unit.next());
        self.arrived(at, arrived)
    }

    /// Does what there is to do with a frame that was taken. False if none was, or no more can be.
    #[inline]
    pub fn arrived(&mut self, at: u16, arrived: Arrived<Signal>) -> bool {
        match arrived {
            Arrived::Nothing | Arrived::NoBuffer => false,
            Arrived::Part => {
                // The peer may have given room back.
                self.around.attend(at);
                true
            }
            Arrived::Up => {
                self.around.attend(at);
                self.handler.link_up(&mut self.around, at);
                true
            }
            Arrived::Signal(signal) => self.pass_on(at, signal),
            Arrived::Down(_) => {
                self.around.attend(at);
                self.lost(at);
                false
            }
        }
    }

    /// Hands a signal that came over a link to the link handler. False if it has to wait.
    #[inline]
    fn pass_on(&mut self, at: u16, signal: Travelling<Signal>) -> bool {
        let (to, len) = (signal.to, signal.len);
        // Every signal of an endpoint has a number.
        if to != 0 && len < NUMBER {
            self.end(at);
            return false;
        }
        match self.handler.receive(&mut self.around, at, signal) {
            Ok(Taken::Delivered) => true,
            other => self.not_delivered(at, to, other),
        }
    }

    /// What there is to do with a signal that is not for an endpoint of this node.
    #[inline(never)]
    fn not_delivered(&mut self, at: u16, to: u32, taken: Result<Taken<Signal>, Misled>) -> bool {
        match taken {
            Ok(Taken::Delivered) => true,
            Ok(Taken::Used) => {
                let unit = self.around.units.get(usize::from(at)).and_then(Option::as_ref);
                if let Some(link) = unit.map(|unit| unit.link).filter(|_| to != 0) {
                    self.around.give_back(at, link);
                }
                true
            }
            Ok(Taken::Stalled(signal)) => {
                if let Some(Some(unit)) = self.around.units.get(usize::from(at)) {
                    unit.inner.stall(signal);
                    self.held = true;
                }
                false
            }
            Err(_) => {
                self.end(at);
                false
            }
        }
    }

    /// Ends a link whose peer breaks the rules.
    fn end(&mut self, at: u16) {
        if let Some((unit, ..)) = self.around.unit(at) {
            unit.close();
        }
        self.around.attend(at);
        self.lost(at);
    }

    #[cold]
    fn link_what_is_hunted(&mut self) {
        let wanted = distinct(self.handler.wanted());
        self.hunting = !wanted.is_empty();
        let own = self.name;
        // It needs no link to itself.
        for name in wanted.into_iter().filter(|name| *name != own) {
            // A name that cannot be linked to now may be later: the hunt goes on.
            if let Ok(Some(link)) = self.around.node.try_hunt(&name) {
                self.unit_of(link);
            }
        }
    }

    /// What is due besides frames: links that are hunted, words that had no room, heartbeats.
    pub fn see_to_the_rest(&mut self) {
        self.look_at_names();
        if self.hunting {
            self.link_what_is_hunted();
        }
        let timed = self.around.settings.heartbeat.or(self.around.settings.patience).is_some();
        for at in 0..self.around.units.len() as u16 {
            let Some(unit) = self.around.units.get(usize::from(at)).and_then(Option::as_ref) else {
                continue;
            };
            let (waits, owes) = (unit.waits(), unit.owes);
            if owes || timed {
                self.around.attend(at);
            }
            // Layered, the receiver takes what waits.
            if waits && self.stack == Stack::Flat {
                self.drain(at);
            }
            if timed {
                self.look_at_time(at);
            }
        }
        self.handler.attend(&mut self.around);
        self.held = self.around.units.iter().flatten().any(Unit::waits);
    }

    /// Takes a frame off the driver to memory of its own, as an interrupt routine does.
    pub fn copy_frame(&mut self) -> bool {
        let Some((at, lent)) = self.next_frame() else { return false };
        let frame = Frame::copy(&self.around.node, &lent);
        self.around.node.release(lent);
        let unit = self.around.units.get(usize::from(at)).and_then(Option::as_ref);
        if let Some((unit, frame)) = unit.zip(frame) {
            unit.put(frame);
        }
        true
    }

    /// Frames that wait for nothing but the receiver.
    pub fn ready(&self) -> usize {
        self.around.units.iter().flatten().map(Unit::ready).sum()
    }

    /// Whether at least [`PUT_OFF`] frames of a link wait: then those of all links have to.
    pub fn is_clogged(&self) -> bool {
        self.around.units.iter().flatten().any(|unit| unit.inner.waiting() >= PUT_OFF)
    }

    /// Takes the first frame of each link, as far as there is room for what they bring. Whether
    /// there were any.
    pub fn work_off(&mut self) -> bool {
        let mut any = false;
        for at in 0..self.around.units.len() as u16 {
            any |= self.work_off_one(at);
        }
        any
    }

    /// Takes the first frame of a link. False if there is none, or it has to wait.
    fn work_off_one(&mut self, at: u16) -> bool {
        let Some(Some(unit)) = self.around.units.get(usize::from(at)) else { return false };
        if unit.waits() {
            return self.take_frame(at);
        }
        if unit.gone {
            self.lost(at);
        }
        false
    }

    /// Whether all that was sent is where its receivers read it, as far as they are there.
    pub fn is_all_sent(&self) -> bool {
        let queues = |unit: &Unit| !unit.gone && unit.inner.queues();
        self.outbox.is_empty() && !self.around.units.iter().flatten().any(queues)
    }
}
