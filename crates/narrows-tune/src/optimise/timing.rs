//! Deadlines: what flows delay each other by, and how much of that each bears.
//!
//! A flow's choice delays the other flows, and how much the flow itself bears depends on its choice
//! too. Both depend on how the DSP waits, which its flows decide together: the quickest of them.

/// Requests in a row that a flow may be behind with.
const BEHIND: u64 = 1000;
/// All of a core's time, in parts per million.
const WHOLE: u128 = 1_000_000;

/// What flows delay another by, times in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// At most.
    pub most: u64,
    /// Again and again: without what comes once.
    pub lasting: u64,
    /// On average, in parts per million of the time that passes.
    pub rate: u64,
}

impl Delay {
    /// The delay by both together.
    #[must_use]
    pub fn and(self, more: Delay) -> Delay {
        Delay {
            most: self.most.saturating_add(more.most),
            lasting: self.lasting.saturating_add(more.lasting),
            rate: self.rate.saturating_add(more.rate),
        }
    }

    /// This delay `count` times.
    #[must_use]
    pub fn times(self, count: u64) -> Delay {
        Delay {
            most: self.most.saturating_mul(count),
            lasting: self.lasting.saturating_mul(count),
            rate: self.rate.saturating_mul(count),
        }
    }

    /// The less of both, of each figure.
    fn least(self, other: Delay) -> Delay {
        Delay {
            most: self.most.min(other.most),
            lasting: self.lasting.min(other.lasting),
            rate: self.rate.min(other.rate),
        }
    }

    fn within(&self, other: &Delay) -> bool {
        self.most <= other.most && self.lasting <= other.lasting && self.rate <= other.rate
    }
}

/// How long a response takes by a choice, and how long it may: times in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slack {
    /// The longest that a response takes if no other flow is in the way.
    pub bound: u64,
    /// That without what comes once.
    pub alone: u64,
    /// The longest that it may take; [`u64::MAX`] if any.
    pub deadline: u64,
    /// The longest that it may take again and again, so that requests do not pile up;
    /// [`u64::MAX`] if any.
    pub pace: u64,
    /// The period of a flow that may be slower than its pace for a while, if it catches up, and by
    /// how much requests of any flow may be late.
    pub behind: Option<[u64; 2]>,
    /// What delays it in any case.
    pub beside: Delay,
}

impl Default for Slack {
    /// Bears everything.
    fn default() -> Slack {
        Slack {
            bound: 0,
            alone: 0,
            deadline: u64::MAX,
            pace: u64::MAX,
            behind: None,
            beside: Delay::default(),
        }
    }
}

impl Slack {
    /// Whether the deadline holds and the flow keeps pace, if others delay it by `delay`. If it
    /// bears a delay, it bears any that is less.
    pub fn bears(&self, delay: Delay) -> bool {
        self.worst(delay).is_some_and(|worst| worst <= self.deadline)
    }

    /// The longest that a response takes if others delay the flow by `delay`; none if it does not
    /// keep pace. One that may fall behind for a while has to catch up: of the requests that come
    /// until then, each waits for those before it and for what others ask of the cores meanwhile.
    pub fn worst(&self, delay: Delay) -> Option<u64> {
        let delay = delay.and(self.beside);
        let first = self.bound.saturating_add(delay.most);
        let lasting = self.alone.saturating_add(delay.lasting);
        if lasting <= self.pace {
            return Some(first);
        }
        let [period, jitter] = self.behind?;
        let (mut worst, mut until) = (first, lasting);
        for before in 1..BEHIND {
            let due = period.saturating_mul(before);
            if until <= due {
                return Some(worst);
            }
            // Nothing will be in time any more.
            if worst > self.deadline {
                return None;
            }
            let passed = u128::from(until) + u128::from(jitter);
            let others = passed * u128::from(delay.rate) / WHOLE;
            let others = u64::try_from(others).unwrap_or(u64::MAX);
            until =
                lasting.saturating_add(self.alone.saturating_mul(before)).saturating_add(others);
            let late = until.saturating_sub(due).saturating_add(first.saturating_sub(lasting));
            worst = worst.max(late);
        }
        None
    }

    /// What others may delay it by at most and, where it may not fall behind, again and again.
    pub(super) fn room(&self) -> [u64; 2] {
        let lasting = match self.behind {
            None => self.pace.saturating_sub(self.alone).saturating_sub(self.beside.lasting),
            Some(_) => u64::MAX,
        };
        [self.deadline.saturating_sub(self.bound).saturating_sub(self.beside.most), lasting]
    }

    /// The better of both, of each figure.
    fn best(self, other: Slack) -> Slack {
        Slack {
            bound: self.bound.min(other.bound),
            alone: self.alone.min(other.alone),
            deadline: self.deadline.max(other.deadline),
            pace: self.pace.max(other.pace),
            behind: self.behind.or(other.behind),
            beside: self.beside.least(other.beside),
        }
    }

    /// Whether it bears whatever another bears, of the same flow.
    fn within(&self, other: &Slack) -> bool {
        self.bound <= other.bound
            && self.alone <= other.alone
            && self.deadline >= other.deadline
            && self.pace >= other.pace
            && self.behind == other.behind
            && self.beside.within(&other.beside)
    }
}

/// What a choice means for deadlines, if the DSP waits in a certain way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// What the flow delays each other flow of its DSP by.
    pub here: Delay,
    /// What it delays each flow of another DSP by.
    pub elsewhere: Delay,
    /// What others may delay it by.
    pub slack: Slack,
}

impl Timing {
    /// The better of both, of each figure.
    pub(super) fn best(self, other: Timing) -> Timing {
        Timing {
            here: self.here.least(other.here),
            elsewhere: self.elsewhere.least(other.elsewhere),
            slack: self.slack.best(other.slack),
        }
    }

    /// Whether it is as good as another in everything.
    pub(super) fn within(&self, other: &Timing) -> bool {
        self.here.within(&other.here)
            && self.elsewhere.within(&other.elsewhere)
            && self.slack.within(&other.slack)
    }
}

/// The deadlines of a problem.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deadlines<'a> {
    /// In how many ways DSPs may wait; 0 if no deadline counts.
    pub ways: usize,
    /// Of a way and a way (`one * ways + other`), that in which a DSP waits that has a flow of
    /// each. It is the same whichever comes first, and of a way and itself that way.
    pub joined: &'a [u16],
    /// Of each choice, the way in which its DSP waits without other flows; empty if there is but
    /// one way.
    pub own: &'a [u16],
    /// Of each choice and each way in which its DSP may wait (`choice * ways + way`), what it means
    /// then.
    pub timings: &'a [Timing],
}

impl Deadlines<'_> {
    /// Whether any counts.
    pub fn any(&self) -> bool {
        self.ways > 0
    }

    /// The way in which a DSP waits that has a flow of each.
    pub(super) fn join(&self, one: u16, other: u16) -> u16 {
        let at = usize::from(one) * self.ways + usize::from(other);
        self.joined.get(at).copied().unwrap_or(one)
    }

    /// What a choice means if its DSP waits so.
    pub(crate) fn of(&self, choice: usize, wait: u16) -> Timing {
        let at = choice * self.ways + usize::from(wait);
        self.timings.get(at).copied().unwrap_or_default()
    }

    /// The best that it may mean if flows come that have the DSP wait otherwise.
    pub(super) fn hoped(&self, choice: usize, wait: u16) -> Timing {
        let may = (0..self.ways as u16).filter(|other| self.join(wait, *other) == *other);
        may.map(|other| self.of(choice, other)).reduce(Timing::best).unwrap_or_default()
    }

    /// The way in which the DSP of a choice waits without other flows.
    pub(super) fn own(&self, choice: usize) -> u16 {
        self.own.get(choice).copied().unwrap_or_default()
    }

    /// Whether they are those of this number of choices.
    pub(super) fn are_of(&self, choices: usize) -> bool {
        let ways = self.ways;
        let known = |all: &[u16]| all.iter().all(|way| usize::from(*way) < ways);
        ways == 0
            || (self.joined.len() == ways * ways
                && (self.own.len() == choices || (ways == 1 && self.own.is_empty()))
                && self.timings.len() == choices * ways
                && known(self.joined)
                && known(self.own))
    }
}
