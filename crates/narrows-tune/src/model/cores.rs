//! The cores that messages are before, and how each passes the time until there is something to do:
//! as the stack's own ways of waiting do.

use narrows::strategy::Notification;

use super::notice::{PROMPT, SHORTEST_LOOK};
use super::parameters::Side;
use super::picos;

/// A core.
#[derive(Clone, Copy, Debug)]
pub(super) struct Core {
    /// It has done until then what was before it.
    pub at: u64,
    /// Its time that was taken until then.
    pub busy: u64,
    /// Whether a bell was rung that ends the next sleep that it may end.
    pub rung: bool,
    /// Whether a bell ended the last wait. One that was rung with it ends no other sleep.
    pub woken: bool,
    /// When one of the timers that always run ends. All others end with it, a number of periods
    /// before or later.
    pub ends: u64,
    /// How long it looks before it sleeps.
    window: u64,
}

impl Default for Core {
    fn default() -> Core {
        Core { at: 0, busy: 0, rung: false, woken: false, ends: 0, window: u64::MAX }
    }
}

/// What a core waits for: when the first message is there, when enough are that a bell rings for
/// several, and until when it waits at most. Not to be expected is [`u64::MAX`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaited {
    pub first: u64,
    pub enough: u64,
    pub until: u64,
}

/// The first tick that is not before a moment.
pub(super) fn up(time: u64, tick: u64) -> u64 {
    if tick == 0 { time } else { time.div_ceil(tick).saturating_mul(tick) }
}

/// When a core that looks every `apart` since `base` sees what is there from some moment on, and
/// how many looks that is.
fn seen(base: u64, there: u64, apart: u64, tick: u64) -> (u64, u64) {
    let first = up(base.saturating_add(apart), tick);
    let step = up(apart, tick).max(1);
    let more = there.saturating_sub(first).div_ceil(step);
    (first.saturating_add(more.saturating_mul(step)), more.saturating_add(1))
}

impl Core {
    /// Works for this time.
    pub fn work(&mut self, time: u64) {
        self.at = self.at.saturating_add(time);
        self.busy = self.busy.saturating_add(time);
    }

    /// Goes on at a moment, after it was `busy` for that much of its time.
    fn go_on(&mut self, at: u64, busy: u64) {
        self.at = at.saturating_add(busy);
        self.busy = self.busy.saturating_add(busy);
    }

    /// Does nothing but look until a moment.
    fn look(&mut self, until: u64) {
        self.work(until.saturating_sub(self.at));
    }

    /// Sleeps until a moment, with nothing to wait for. It goes on later than that, by `late`.
    pub fn sleep(&mut self, side: &Side<u64>, until: u64, late: u64) {
        let woken = up(until, side.tick).saturating_add(late);
        self.busy = self.busy.saturating_add(side.timer);
        self.at = self.at.max(woken);
    }

    /// Waits, `wake` being what passes until a bell is heard.
    pub fn wait(&mut self, side: &Side<u64>, wake: u64, how: Notification, on: Awaited) {
        // A core that sleeps without a look wakes at once: that is in the time of the
        // acknowledgement.
        if matches!(how, Notification::Interrupt | Notification::Coalesced { .. }) {
            self.rung = false;
        }
        self.woken = false;
        match how {
            Notification::Interrupt => self.told(side, wake, on.first, on.until),
            Notification::Spin => {
                self.spin(side, on.first, on.until);
                if on.first <= on.until && core::mem::take(&mut self.rung) {
                    self.work(side.rung);
                }
            }
            Notification::Hybrid { longest } => {
                let longest = picos(longest);
                let window = self.window.clamp(SHORTEST_LOOK.min(longest), longest);
                let (began, end) = (self.at, self.at.saturating_add(window));
                if on.first.min(on.until) <= end {
                    return self.spin(side, on.first, on.until);
                }
                self.look(end);
                // A bell that was rung before ends the sleep, as an answer would.
                if !core::mem::take(&mut self.rung) {
                    self.told(side, wake, on.first, on.until);
                }
                let waited = self.at - began;
                let prompt = waited <= longest.saturating_mul(PROMPT);
                let longer = waited.saturating_mul(2).max(window);
                self.window = if prompt { longer } else { window / 2 };
            }
            Notification::Timer { every } => self.timer(side, picos(every), on.first, on.until),
            Notification::Poll { every } => self.poll(side, picos(every), on.first, on.until),
            Notification::Coalesced { within, .. } => {
                let apart = picos(within);
                let step = apart.saturating_add(side.late);
                let (look, _) = seen(self.at, on.first, step, side.tick);
                if on.enough < look.min(on.until) {
                    self.go_on(on.enough.max(self.at).saturating_add(wake), side.interrupt);
                } else {
                    self.poll(side, apart, on.first, on.until);
                }
            }
        }
    }

    fn told(&mut self, side: &Side<u64>, wake: u64, first: u64, until: u64) {
        if first <= until {
            self.go_on(first.max(self.at).saturating_add(wake), side.interrupt);
            self.woken = true;
        } else {
            self.sleep(side, until, side.late);
        }
    }

    fn spin(&mut self, side: &Side<u64>, first: u64, until: u64) {
        self.look(first.min(until));
        if first <= until {
            self.work(side.look);
        }
    }

    /// As [`Core::poll`], by a timer that always runs. Looks in vain are not counted here: there
    /// are as many whatever is awaited.
    fn timer(&mut self, side: &Side<u64>, every: u64, first: u64, until: u64) {
        let every = every.max(1);
        let seen = first.max(self.at.saturating_add(1));
        let phase = self.ends % every;
        let ends = seen.saturating_sub(phase).div_ceil(every).saturating_mul(every);
        let look = up(ends.saturating_add(phase), side.tick).saturating_add(side.late);
        if look <= until {
            self.at = look.saturating_add(side.poll);
        } else {
            self.sleep(side, until, side.late);
        }
    }

    fn poll(&mut self, side: &Side<u64>, every: u64, first: u64, until: u64) {
        let apart = every.saturating_add(side.late);
        let (look, looks) = seen(self.at, first, apart, side.tick);
        if look <= until {
            let before = side.poll.saturating_mul(looks - 1);
            self.busy = self.busy.saturating_add(before);
            self.go_on(look, side.poll);
        } else {
            let looks = until.saturating_sub(self.at) / up(apart, side.tick).max(1);
            self.busy = self.busy.saturating_add(side.poll.saturating_mul(looks));
            let woken = up(until, side.tick).saturating_add(side.late);
            self.go_on(woken.max(self.at), side.poll);
        }
    }
}
