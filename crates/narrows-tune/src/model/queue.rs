//! How latency is distributed: requests of several flows queue before one core.
//!
//! Arrivals are periodic, with jitter and in bursts, the core takes them in the order in which they
//! come. That has no formula, so the recursion of such a queue is worked through (Lindley's: a request
//! waits for what is left of those before it), with phases drawn anew every so often. The same seed
//! draws the same.

/// How the flows' first requests lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phases {
    /// All at once.
    Together,
    /// Anyhow.
    Random,
}

/// A flow before a core, times in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// From one burst to the next, above zero.
    pub period: u64,
    /// Requests of a burst, at least 1.
    pub burst: u16,
    /// By how much a burst may be later than due.
    pub jitter: u64,
    /// Time of the core for each request.
    pub service: u64,
    /// From when a request is due until it is before the core, beside the jitter.
    pub before: u64,
    /// From the end of the service until the caller has the response, beside the look.
    pub after: u64,
    /// The caller looks so often; 0 if it is told.
    pub poll: u64,
    /// How far it is; its value before means nothing.
    pub turn: Turn,
}

/// How far a flow is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    due: u64,
    arrives: u64,
    left: u16,
}

/// Requests of the flow in question between two draws of phases, and those before them that do not
/// count.
const RUN: usize = 64;
const BEFORE: usize = 8;

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
        self.turn.due = match phases {
            Phases::Together => 0,
            Phases::Random => random.to(self.period - 1),
        };
        self.turn.arrives = 0;
        self.arrive(random);
    }

    /// Sets when the burst that is due arrives. Flows keep their order.
    fn arrive(&mut self, random: &mut Random) {
        self.turn.left = self.burst.max(1);
        self.turn.arrives =
            (self.turn.due + self.before + random.to(self.jitter)).max(self.turn.arrives);
    }
}

/// Fills `times` with latencies of the flow `of`, in picoseconds, from when requests are due to when
/// their responses are there, and sorts them: the 99th percentile is at 99 % of its length.
///
/// False, and nothing in `times`, if there is no such flow, a period is zero, or the core has less time
/// than it is asked for, so that the queue grows without end.
pub fn latencies(
    streams: &mut [Stream],
    of: usize,
    phases: Phases,
    seed: u64,
    times: &mut [u64],
) -> bool {
    let possible = |one: &Stream| one.period > 0 && one.period < u64::MAX / 1024;
    let mut share: u128 = 0;
    for one in streams.iter() {
        let each = u128::from(one.service) * u128::from(one.burst.max(1));
        share += each * 1_000_000_000 / u128::from(one.period.max(1));
    }
    if of >= streams.len() || !streams.iter().all(possible) || share > 1_000_000_000 {
        return false;
    }
    let mut random = Random(seed | 1);
    let (mut free, mut seen) = (0, 0);
    let mut filled = 0;
    let mut again = true;
    while filled < times.len() {
        if again {
            streams.iter_mut().for_each(|one| one.begin(phases, &mut random));
            (free, seen, again) = (0, 0, false);
        }
        let next = streams.iter_mut().enumerate().min_by_key(|(_, one)| one.turn.arrives);
        let Some((number, one)) = next else { return false };
        let done = one.turn.arrives.max(free) + one.service;
        free = done;
        if number == of {
            seen += 1;
            if seen > BEFORE {
                let look = if one.poll > 0 { random.to(one.poll) } else { 0 };
                if let Some(time) = times.get_mut(filled) {
                    *time = done + look + one.after - one.turn.due;
                }
                filled += 1;
            }
            again = seen == BEFORE + RUN;
        }
        one.turn.left -= 1;
        if one.turn.left == 0 {
            one.turn.due += one.period;
            one.arrive(&mut random);
        }
    }
    times.sort_unstable();
    true
}
