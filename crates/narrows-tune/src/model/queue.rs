//! How latency is distributed, and what all flows together take of the calling core: requests of
//! several flows queue before the core that calls and those that are called.
//!
//! Arrivals are periodic, with jitter and in bursts, each core takes what is before it in the order
//! in which it comes, and a wait or a look of a core is one of all flows. That has no formula, so
//! the queue is worked through, turn by turn as a run of the stack goes, with phases drawn anew
//! every so often. The same seed draws the same.

use core::time::Duration;

use narrows::notify;
use narrows::strategy::Notification;

use super::copies::{Copies, Work};
use super::cores::{Awaited, Core};
use super::parameters::{Costs, Side};
use super::share;
use super::stream::{Message, Random, Stream, UNDER_WAY};
use crate::optimise::MAX_DSPS;

/// How the flows' first requests lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phases {
    /// All at once, and from then on as their periods have it.
    Together,
    /// Anyhow.
    Random,
}

/// Requests of the flow in question between two draws of phases, and those before them that do not
/// count.
const RUN: usize = 64;
const BEFORE: usize = 8;
/// The most turns of all flows for a latency of the one in question.
const MOST: usize = 1000;

/// When the last of `count` is there.
fn last(times: impl Iterator<Item = u64> + Clone, of: u16) -> u64 {
    let (mut latest, mut counted) = (None, 0);
    loop {
        let later = times.clone().filter(|time| latest.is_none_or(|latest| *time > latest));
        let Some(next) = later.min() else { return u64::MAX };
        counted += times.clone().filter(|time| *time == next).count();
        if counted >= usize::from(of) {
            return next;
        }
        latest = Some(next);
    }
}

/// For how many messages a bell rings.
fn enough(how: Notification) -> u16 {
    match how {
        Notification::Coalesced { messages, .. } => messages,
        _ => 1,
    }
}

/// Flows on their way through the cores.
pub(super) struct Walk<'a> {
    costs: &'a Costs,
    streams: &'a mut [Stream],
    random: Random,
    pub(super) caller: Core,
    callees: [Core; MAX_DSPS],
    /// How those are told, each as the quickest of its flows is.
    told: [Notification; MAX_DSPS],
    /// Whether the calling core looks for requests that are due too, and does not sleep.
    spins: bool,
    /// The shortest timer of the calling core that always runs.
    timer: Option<Duration>,
    /// How many cores serve flows.
    dsps: usize,
    /// Messages that were sent, and of them those that have not been served.
    sent: usize,
    waiting: usize,
    /// The core that serves the next of them, as it is when it begins to, since nothing was sent.
    next: Option<(Core, usize)>,
    /// When the calling core last began one.
    began: u64,
    copies: Copies,
}

impl<'a> Walk<'a> {
    /// None if a flow is impossible, or a core has less time than it is asked for.
    pub(super) fn new(costs: &'a Costs, streams: &'a mut [Stream], seed: u64) -> Option<Walk<'a>> {
        let caller = |one: &Stream| one.send + one.send_wait + one.take + one.take_wait;
        let dsp = |dsp: usize| streams.iter().filter(move |one| usize::from(one.dsp) == dsp);
        if streams.is_empty()
            || !streams.iter().all(Stream::is_possible)
            || Stream::too_much(streams.iter(), caller)
            || (0..MAX_DSPS).any(|number| Stream::too_much(dsp(number), |one| one.service))
        {
            return None;
        }
        let mut told = [Notification::Interrupt; MAX_DSPS];
        for (number, told) in told.iter_mut().enumerate() {
            *told = notify::quickest(dsp(number).map(|one| one.callee)).unwrap_or(*told);
        }
        let dsps = streams.iter().map(|one| usize::from(one.dsp) + 1).max().unwrap_or(0);
        let spins = streams.iter().all(|one| one.how == Notification::Spin);
        let timers = streams.iter().filter_map(|one| match one.how {
            Notification::Timer { every } => Some(every),
            _ => None,
        });
        let timer = timers.min();
        Some(Walk {
            costs,
            streams,
            random: Random(seed | 1),
            caller: Core::default(),
            callees: [Core::default(); MAX_DSPS],
            told,
            spins,
            timer,
            dsps,
            sent: 0,
            waiting: 0,
            next: None,
            began: 0,
            copies: Copies::default(),
        })
    }

    /// What looks of a timer that always runs take of the calling core, in parts per million.
    pub(super) fn always(&self) -> u32 {
        self.timer.map_or(0, |every| share(self.costs.caller.poll, super::picos(every)))
    }
}

impl Walk<'_> {
    pub(super) fn begin(&mut self, phases: Phases) {
        let random = &mut self.random;
        self.streams.iter_mut().for_each(|one| one.begin(phases, random));
        self.caller = Core::default();
        (self.waiting, self.next, self.began) = (0, None, 0);
        self.copies = Copies::default();
        // Looks lie anyhow at first.
        for (callee, told) in self.callees.iter_mut().zip(&self.told) {
            let look = match told {
                Notification::Poll { every: time }
                | Notification::Timer { every: time }
                | Notification::Coalesced { within: time, .. } => super::picos(*time),
                _ => 0,
            };
            *callee = Core::default();
            callee.at = random.to(look);
            callee.ends = callee.at;
        }
        if let Some(every) = self.timer {
            self.caller.ends = random.to(super::picos(every));
        }
    }

    /// The core that serves the next message, as it is when it begins to.
    fn next(&self) -> Option<(Core, usize)> {
        let mut next: Option<(Core, usize)> = None;
        for dsp in 0..self.dsps {
            let here = self.streams.iter().filter(|one| usize::from(one.dsp) == dsp);
            let waiting = here.flat_map(Stream::waiting);
            let Some(first) = waiting.clone().min() else { continue };
            let mut core = self.callees[dsp];
            if first > core.at {
                let how = self.told[dsp];
                let enough = match enough(how) {
                    1 => first,
                    of => last(waiting, of),
                };
                let on = Awaited { first, enough, until: u64::MAX };
                core.wait(&self.costs.callee, self.costs.wake, how, on);
            }
            if next.is_none_or(|(best, _)| core.at < best.at) {
                next = Some((core, dsp));
            }
        }
        next
    }

    /// Has a callee serve the next message, if one begins to by `limit`: nothing that is sent later
    /// changes that.
    fn serve(&mut self, limit: u64) -> bool {
        if self.waiting == 0 {
            return false;
        }
        if self.next.is_none() {
            self.next = self.next();
        }
        let next = self.next.filter(|(core, _)| core.at <= limit);
        next.is_some_and(|(core, dsp)| self.begin_to_serve(core, dsp))
    }

    /// Has a callee serve the next message, being as it is when it begins to.
    fn begin_to_serve(&mut self, mut core: Core, dsp: usize) -> bool {
        self.next = None;
        let here = self.streams.iter_mut().filter(|one| usize::from(one.dsp) == dsp);
        let sent = |one: &Stream| one.waiting().next().unwrap_or(u64::MAX);
        let Some(one) = here.min_by_key(|one| sent(one)) else { return false };
        let began = core.at;
        core.work(one.service);
        let [request, response] = one.copied[1];
        let copied = began.saturating_add(request);
        let copies = [[began, copied], [core.at.saturating_sub(response), core.at]];
        // The function works between both copies, and nobody is in its way.
        let own = [copied, copied.saturating_add(self.costs.callee.request)];
        core.work(self.copies.there(self.costs, Work { own, copies }));
        let tick = self.costs.callee.tick;
        let before = |time: u64| time.checked_div(tick).unwrap_or(0);
        core.work(self.costs.callee.ticked.saturating_mul(before(core.at) - before(began)));
        let number = one.turn.served;
        let message = one.turn.get_mut(number);
        // Even an answer that takes no time is not there while its request is handed over.
        message.there = core.at.max(message.sent.saturating_add(1));
        one.turn.served += 1;
        self.callees[dsp] = core;
        self.waiting -= 1;
        true
    }

    /// Goes through all flows once: begins what is due and takes one response of each. True if
    /// there was anything. Latencies of the flow `of` are given away.
    pub(super) fn turn(&mut self, of: usize, mut taken: impl FnMut(u64)) -> bool {
        let now = self.caller.at;
        let mut any = false;
        for number in 0..self.streams.len() {
            while self.streams[number].there() <= now {
                self.send(number);
                any = true;
            }
            while self.serve(self.caller.at) {}
            let one = &mut self.streams[number];
            if one.turn.served == 0 || one.turn.get(0).there > self.caller.at {
                continue;
            }
            let mut burst = one.turn.get(0).burst;
            one.turn.first = (one.turn.first + 1) % UNDER_WAY as u8;
            (one.turn.count, one.turn.served) = (one.turn.count - 1, one.turn.served - 1);
            let (take, take_wait, copied) = (one.take, one.take_wait, one.copied[0][1]);
            self.caller.at = self.caller.at.saturating_add(take_wait);
            let slower = self.slower(take, copied);
            let one = &mut self.streams[number];
            self.caller.work(take.saturating_add(slower));
            self.caller.rung |= one.rings && !self.caller.woken;
            any = true;
            for _ in 0..one.together {
                // A request is back when its last part is.
                if number == of && (burst.left - 1).is_multiple_of(one.parts) {
                    taken(self.caller.at - burst.due);
                }
                burst.take(one.period, one.burst);
            }
        }
        any
    }

    /// What the calling core works for longer, because the other ones copy meanwhile, or it copies.
    /// It begins now, would take `time` alone, and copies for the time `copied` at first.
    fn slower(&mut self, time: u64, copied: u64) -> u64 {
        if self.costs.disturbed == 0 && (self.costs.contended == 0 || copied == 0) {
            return 0;
        }
        let [copied, all] = [copied, time].map(|time| self.caller.at.saturating_add(time));
        let work = Work { own: [copied, all], copies: [[self.caller.at, copied], [0; 2]] };
        self.copies.here = work;
        while self.serve(copied.max(all)) {}
        self.copies.here = Work::default();
        self.copies.slower(self.costs, &work)
    }

    fn send(&mut self, number: usize) {
        let slower = self.slower(self.streams[number].send, self.streams[number].copied[0][0]);
        let one = &mut self.streams[number];
        let more = one.seldom();
        if one.period == 0 {
            one.turn.burst.due = self.caller.at;
        }
        let burst = one.turn.burst;
        let apart = self.caller.at.saturating_sub(self.began);
        self.began = self.caller.at;
        let idle = self.costs.idle.busy(one.how, apart);
        self.caller.busy = self.caller.busy.saturating_add(idle);
        self.caller.work(one.send.saturating_add(more).saturating_add(slower));
        self.caller.at = self.caller.at.saturating_add(one.send_wait);
        let count = one.turn.count;
        let later = self.costs.idle.later(self.told[usize::from(one.dsp)], apart);
        let sent = self.caller.at.saturating_add(later);
        *one.turn.get_mut(count) = Message { burst, sent, there: u64::MAX };
        one.turn.count += 1;
        for _ in 0..one.together {
            one.turn.burst.take(one.period, one.burst);
        }
        if one.turn.burst.due != burst.due {
            one.turn.late = self.random.to(one.jitter);
        }
        self.sent += 1;
        self.waiting += 1;
        self.next = None;
    }

    /// Waits until there is something to do. False if there never will be.
    pub(super) fn wait(&mut self) -> bool {
        let until = self.streams.iter().map(Stream::there).min().unwrap_or(u64::MAX);
        let awaited = self.streams.iter().filter(|one| one.turn.count > 0);
        let Some(how) = notify::quickest(awaited.map(|one| one.how)) else {
            match self.spins {
                true => self.caller.work(until.saturating_sub(self.caller.at)),
                false => self.caller.sleep(&self.costs.caller, until, self.costs.rested),
            }
            return until < u64::MAX;
        };
        loop {
            let answered = || self.streams.iter().flat_map(Stream::answered);
            let ringing = || self.streams.iter().filter(|one| one.rings);
            let first = answered().min().unwrap_or(u64::MAX);
            let enough = match enough(how) {
                1 => first,
                of => ringing().flat_map(Stream::answered).fold(last(answered(), of), u64::min),
            };
            let mut woken = self.caller;
            if first.min(until) < u64::MAX {
                woken.wait(
                    &self.costs.caller,
                    self.costs.wake,
                    how,
                    Awaited { first, enough, until },
                );
            } else {
                woken.at = u64::MAX;
            }
            if !self.serve(woken.at) {
                if woken.woken && self.costs.disturbed > 0 {
                    // All that the other cores begin until then is known.
                    let told = woken.at.saturating_sub(self.costs.caller.interrupt);
                    let work = Work { own: [told, woken.at], copies: [[0; 2]; 2] };
                    woken.work(self.copies.slower(self.costs, &work));
                }
                self.caller = woken;
                return woken.at < u64::MAX;
            }
        }
    }
}

/// Fills `times` with latencies of the flow `of`, in picoseconds, from when requests are due to
/// when their responses are there, and sorts them, so that percentiles can be taken of them.
/// Gives what all flows and its ticks take of the calling core meanwhile, in parts per million.
///
/// None, and nothing in `times` that means anything, if there is no such flow, or a core has less
/// time than it is asked for, so that the queue grows without end; or if the flow is so rare beside
/// others that it would take a thousand turns of theirs for one of its.
pub fn latencies(
    costs: &Costs,
    streams: &mut [Stream],
    of: usize,
    phases: Phases,
    seed: u64,
    times: &mut [u64],
) -> Option<u32> {
    if of >= streams.len() {
        return None;
    }
    let mut walk = Walk::new(costs, streams, seed)?;
    let most = times.len().saturating_mul(MOST);
    let (mut filled, mut busy, mut all) = (0, 0, 0);
    while filled < times.len() {
        walk.begin(phases);
        let (mut answers, mut counted) = (0, None);
        while filled < times.len() && !(phases == Phases::Random && answers >= BEFORE + RUN) {
            if walk.sent > most {
                return None;
            }
            let moved = walk.turn(of, |latency| {
                answers += 1;
                if answers > BEFORE {
                    if let Some(time) = times.get_mut(filled) {
                        *time = latency;
                    }
                    filled += 1;
                }
            });
            if answers >= BEFORE && counted.is_none() {
                counted = Some(walk.caller);
            }
            if !moved && !walk.wait() {
                return None;
            }
        }
        let from = counted.unwrap_or(walk.caller);
        busy += walk.caller.busy - from.busy;
        all += walk.caller.at - from.at;
    }
    times.sort_unstable();
    let Side { tick, ticked, .. } = costs.caller;
    let ticks = if tick == 0 { 0 } else { share(ticked, tick) };
    Some(share(busy, all).saturating_add(walk.always()).saturating_add(ticks))
}
