//! A flow on its way through the cores: when its messages come, and those that are under way.

use narrows::strategy::Notification;

use super::Phases;
use crate::optimise::MAX_DSPS;

/// A flow before both cores, times in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// From one burst to the next; 0 if a request is due whenever there is room.
    pub period: u64,
    /// By how much its first request is due after those of others, where all begin together.
    pub after: u64,
    /// Requests of a burst, at least 1.
    pub burst: u16,
    /// By how much a burst may be later than due.
    pub jitter: u64,
    /// Requests that may be under way, at least 1.
    pub depth: u16,
    /// Requests of a message, at least 1.
    pub together: u16,
    /// Parts of a request that is cut, each a message; 1 if it is not.
    pub parts: u16,
    /// How its responses are awaited.
    pub how: Notification,
    /// How the other core awaits its requests.
    pub callee: Notification,
    /// The core that serves it.
    pub dsp: u8,
    /// Time of the calling core until a message is handed over.
    pub send: u64,
    /// What the calling core waits for its engine meanwhile.
    pub send_wait: u64,
    /// Time of the other core for each message, beside learning of it, waiting for its engine
    /// included.
    pub service: u64,
    /// Time of the calling core for the response, beside learning of it.
    pub take: u64,
    /// What it waits for its engine meanwhile.
    pub take_wait: u64,
    /// Whether the other core rings when it has answered, however the calling one waits: it does so
    /// to acknowledge.
    pub rings: bool,
    /// What either side copies in external memory of it, request and response.
    pub copied: [[u64; 2]; 2],
    /// What some messages take the calling core more.
    pub more: u64,
    /// One of this many does; none if 0.
    pub one_in: u32,
    /// How far it is; its value before means nothing.
    pub turn: Turn,
}

impl Default for Stream {
    fn default() -> Stream {
        Stream {
            period: 0,
            after: 0,
            burst: 1,
            jitter: 0,
            depth: 1,
            together: 1,
            parts: 1,
            how: Notification::Interrupt,
            callee: Notification::Interrupt,
            dsp: 0,
            send: 0,
            send_wait: 0,
            service: 0,
            take: 0,
            take_wait: 0,
            rings: false,
            copied: [[0; 2]; 2],
            more: 0,
            one_in: 0,
            turn: Turn::default(),
        }
    }
}

/// How far a flow is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// The burst that comes next or is being sent: when it is due, by how much it is later, and how
    /// many requests of it are left.
    pub(super) burst: Burst,
    pub(super) late: u64,
    /// How many messages are left until one takes more.
    until: u32,
    /// Messages that are under way, in a circle, the oldest at `first`; of them `served` have been.
    messages: [Message; UNDER_WAY],
    pub(super) first: u8,
    pub(super) count: u8,
    pub(super) served: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Burst {
    pub due: u64,
    pub left: u16,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Message {
    /// Where its first request was in its burst.
    pub burst: Burst,
    /// When it was handed over, and when its response was there.
    pub sent: u64,
    pub there: u64,
}

/// The most messages of a flow that are told apart while they are under way.
pub(super) const UNDER_WAY: usize = 16;
/// Numbers that look random (xorshift, 64 bits).
pub(super) struct Random(pub u64);

impl Random {
    /// A number from 0 to `most`.
    pub(super) fn to(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        if most == u64::MAX { self.0 } else { self.0 % (most + 1) }
    }
}

impl Turn {
    pub(super) fn get(&self, number: u8) -> Message {
        self.messages[usize::from(self.first + number) % UNDER_WAY]
    }

    pub(super) fn get_mut(&mut self, number: u8) -> &mut Message {
        &mut self.messages[usize::from(self.first + number) % UNDER_WAY]
    }
}

impl Burst {
    /// Takes a request of it, after which the next burst comes if it was the last.
    pub(super) fn take(&mut self, period: u64, burst: u16) {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            *self = Burst { due: self.due.saturating_add(period), left: burst };
        }
    }
}

impl Stream {
    pub(super) fn begin(&mut self, phases: Phases, random: &mut Random) {
        let due = match phases {
            Phases::Together => self.after,
            Phases::Random => random.to(self.period.saturating_sub(1)),
        };
        let burst = Burst { due, left: self.burst };
        let until = random.to(u64::from(self.one_in).saturating_sub(1)) as u32;
        self.turn = Turn { burst, late: random.to(self.jitter), until, ..Turn::default() };
    }

    /// What the message that is sent takes more: what comes back in batches does so evenly.
    pub(super) fn seldom(&mut self) -> u64 {
        if self.one_in == 0 {
            return 0;
        }
        let now = self.turn.until == 0;
        self.turn.until = if now { self.one_in } else { self.turn.until } - 1;
        if now { self.more } else { 0 }
    }

    /// When its next message can be sent; never while as many are under way as may be.
    pub(super) fn there(&self) -> u64 {
        let Turn { burst: Burst { due, left }, late, count, .. } = self.turn;
        // Divisions take most of the time of this, and mostly there is one request in a message.
        let (most, later) = match self.together {
            1 => (self.depth, 0),
            many => (self.depth / many, many.saturating_sub(left).div_ceil(self.burst)),
        };
        if u16::from(count) >= most.clamp(1, UNDER_WAY as u16) {
            return u64::MAX;
        }
        let later = u64::from(later);
        due.saturating_add(late).saturating_add(later.saturating_mul(self.period))
    }

    /// When messages were sent that have not been served.
    pub(super) fn waiting(&self) -> impl Iterator<Item = u64> + Clone {
        (self.turn.served..self.turn.count).map(|number| self.turn.get(number).sent)
    }

    /// When responses are there that have not been taken.
    pub(super) fn answered(&self) -> impl Iterator<Item = u64> + Clone {
        (0..self.turn.served).map(|number| self.turn.get(number).there)
    }

    /// Whether a core has less time than it is asked for by all.
    pub(super) fn too_much<'a>(
        all: impl Iterator<Item = &'a Stream>,
        of: impl Fn(&Stream) -> u64,
    ) -> bool {
        const ALL: u128 = 1_000_000_000;
        let part = |one: &Stream| {
            let each = u128::from(of(one)) * u128::from(one.burst);
            each * ALL / (u128::from(one.period) * u128::from(one.together))
        };
        // What has no period takes what is left.
        all.filter(|one| one.period > 0).map(part).sum::<u128>() > ALL
    }

    pub(super) fn is_possible(&self) -> bool {
        let trip = [self.send, self.service, self.take];
        let counts = self.burst.min(self.depth).min(self.together).min(self.parts) > 0;
        let time = self.period > 0 || trip.iter().any(|part| *part > 0);
        counts && time && self.period < u64::MAX / 1024 && usize::from(self.dsp) < MAX_DSPS
    }
}
