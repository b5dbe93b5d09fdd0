//! How latency is distributed: requests of several flows queue before the core that calls and the one
//! that is called.
//!
//! Arrivals are periodic, with jitter and in bursts, each core takes what is before it in the order in
//! which it comes. That has no formula, so the recursion of such a queue is worked through (Lindley's: a request
//! waits for what is left of those before it), with phases drawn anew every so often. The same seed
//! draws the same.

/// How the flows' first requests lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phases {
    /// All at once, and from then on as their periods have it.
    Together,
    /// Anyhow.
    Random,
}

/// A flow before both cores, times in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// From one burst to the next; 0 if each request is due when the one before has its response.
    pub period: u64,
    /// By how much its first request is due after those of others, where all begin together.
    pub after: u64,
    /// Requests of a burst, at least 1. Each is begun when the one before has its response.
    pub burst: u16,
    /// By how much a burst may be later than due.
    pub jitter: u64,
    /// From when a request is due until the calling core sees to it, beside a tick that ends its sleep.
    pub late: u64,
    /// Such ticks are so far apart; 0 if there are none, or it does not sleep.
    pub due_tick: u64,
    /// Time of the calling core until the request is handed over.
    pub send: u64,
    /// From then until the other core has it before it, beside a look.
    pub way: u64,
    /// From one look of the other core to the next, beside the tick that ends its sleep; 0 if it is told.
    pub told: u64,
    /// Such ticks are so far apart; 0 if there are none.
    pub told_tick: u64,
    /// Time of the other core for each request.
    pub service: u64,
    /// From the end of that until the calling core has the response before it, beside a look.
    pub back: u64,
    /// From one look of the calling core to the next, the first so long after what it did last, likewise;
    /// 0 if it is told.
    pub poll: u64,
    /// Ticks that end those sleeps are so far apart; 0 if there are none.
    pub poll_tick: u64,
    /// Time of the calling core for the response.
    pub receive: u64,
    /// What some requests take it more.
    pub more: u64,
    /// One of so many does; none if 0.
    pub one_in: u32,
    /// How far it is; its value before means nothing.
    pub turn: Turn,
}

/// How far a flow is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// When the request was due, and when the calling core next has something to do for it.
    due: u64,
    next: u64,
    /// Whether that is its response.
    answered: bool,
    left: u16,
}

/// Requests of the flow in question between two draws of phases, and those before them that do not
/// count.
const RUN: usize = 64;
const BEFORE: usize = 8;
/// The most turns of all flows for a latency of the one in question.
const MOST: usize = 1000;

/// Numbers that look random (xorshift, 64 bits).
struct Random(u64);

impl Random {
    /// A number from 0 to `most`.
    fn to(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        if most == u64::MAX { self.0 } else { self.0 % (most + 1) }
    }
}

impl Stream {
    fn begin(&mut self, phases: Phases, random: &mut Random) {
        self.turn = Turn::default();
        self.turn.due = match phases {
            Phases::Together => self.after,
            Phases::Random => random.to(self.period.saturating_sub(1)),
        };
        self.arrive(0, random);
    }

    /// Sets when the burst that is due arrives, which is not before the flow's last response.
    fn arrive(&mut self, last: u64, random: &mut Random) {
        self.turn.left = self.burst.max(1);
        let due = self.turn.due + random.to(self.jitter);
        self.turn.next = (up(due, self.due_tick) + self.late).max(last);
    }

    /// Time of the calling core for a request.
    fn caller(&self) -> u64 {
        self.send.saturating_add(self.receive)
    }

    /// Whether a core has less time than it is asked for by all.
    fn too_much(all: &[Stream], of: impl Fn(&Stream) -> u64) -> bool {
        const ALL: u128 = 1_000_000_000;
        let share = |one: &Stream| {
            let each = u128::from(of(one)) * u128::from(one.burst.max(1));
            each * ALL / u128::from(one.period.max(1))
        };
        // What has no period takes what is left.
        all.iter().filter(|one| one.period > 0).map(share).sum::<u128>() > ALL
    }
}

/// The first tick that is not before a moment.
fn up(time: u64, tick: u64) -> u64 {
    if tick == 0 { time } else { time.div_ceil(tick).saturating_mul(tick) }
}

/// When who looks every `apart` since `base` sees what is there from some moment on.
fn seen(base: u64, there: u64, apart: u64, tick: u64) -> u64 {
    let first = up(base + apart, tick);
    if apart == 0 || there <= base {
        there
    } else {
        let step = up(apart, tick);
        first + there.saturating_sub(first).div_ceil(step) * step
    }
}

/// When the cores have done what was before them. From then on they look: whoever has anything to do
/// sees all that is there, so looks are those of all flows together.
#[derive(Default)]
struct Free {
    caller: u64,
    callee: u64,
}

impl Free {
    /// Sends a request; when its response will be there.
    fn send(&mut self, one: &Stream, random: &mut Random) -> u64 {
        let often = u64::from(one.one_in);
        let more = if often > 0 && random.to(often - 1) == 0 { one.more } else { 0 };
        let sent = one.turn.next.max(self.caller) + one.send + more;
        self.caller = sent;
        let there = seen(self.callee, sent + one.way, one.told, one.told_tick);
        // Another DSP's flow does not keep this one's.
        if one.service == 0 {
            return there + one.back;
        }
        self.callee = there.max(self.callee) + one.service;
        self.callee + one.back
    }

    /// When the calling core has something to do for a flow.
    fn next(&self, one: &Stream) -> u64 {
        match one.turn.answered {
            true => seen(self.caller, one.turn.next, one.poll, one.poll_tick),
            false => one.turn.next,
        }
    }

    /// Takes a response.
    fn receive(&mut self, one: &Stream) -> u64 {
        self.caller = self.next(one).max(self.caller) + one.receive;
        self.caller
    }
}

/// Fills `times` with latencies of the flow `of`, in picoseconds, from when requests are due to when
/// their responses are there, and sorts them: the 99th percentile is at 99 % of its length.
///
/// False, and nothing in `times` that means anything, if there is no such flow, or a core has less time
/// than it is asked for, so that the queue grows without end; or if the flow is so rare beside others
/// that it would take a thousand turns of theirs for one of its.
pub fn latencies(
    streams: &mut [Stream],
    of: usize,
    phases: Phases,
    seed: u64,
    times: &mut [u64],
) -> bool {
    let possible = |one: &Stream| {
        let trip = [one.send, one.way, one.service, one.back, one.receive];
        one.period < u64::MAX / 1024 && (one.period > 0 || trip.iter().any(|part| *part > 0))
    };
    let full =
        Stream::too_much(streams, Stream::caller) || Stream::too_much(streams, |one| one.service);
    if of >= streams.len() || !streams.iter().all(possible) || full {
        return false;
    }
    let mut random = Random(seed | 1);
    let mut free = Free::default();
    let (mut answers, mut filled) = (0, 0);
    let mut again = true;
    let mut left = times.len().saturating_mul(MOST);
    while filled < times.len() {
        left -= 1;
        if left == 0 {
            return false;
        }
        if again {
            streams.iter_mut().for_each(|one| one.begin(phases, &mut random));
            // Looks lie anyhow at first.
            let told = streams.iter().map(|one| one.told).max().unwrap_or(0);
            free = Free { caller: 0, callee: random.to(told) };
            (answers, again) = (0, false);
        }
        let next = streams.iter_mut().enumerate().min_by_key(|(_, one)| free.next(one));
        let Some((number, one)) = next else { return false };
        if !one.turn.answered {
            one.turn.next = free.send(one, &mut random);
            one.turn.answered = true;
            continue;
        }
        let end = free.receive(one);
        if number == of {
            answers += 1;
            if answers > BEFORE {
                if let Some(time) = times.get_mut(filled) {
                    *time = end - one.turn.due;
                }
                filled += 1;
            }
            again = phases == Phases::Random && answers == BEFORE + RUN;
        }
        one.turn.answered = false;
        one.turn.left -= 1;
        one.turn.next = end;
        if one.turn.left == 0 {
            one.turn.due = if one.period > 0 { one.turn.due + one.period } else { end };
            one.arrive(end, &mut random);
        }
    }
    times.sort_unstable();
    true
}
