//! Notification: how a core passes the time until a message, credit or a block comes.
//!
//! It is the receiver's choice alone. A sender always does the same: after publishing it looks,
//! behind a full fence, whether the receiver has armed, and rings if so. A receiver that spins or
//! polls never arms, and costs its senders no bell.

mod coalesced;
mod hybrid;
mod interrupt;
mod timer;

pub use hybrid::Adaptive;
pub(crate) use timer::timer_end;

use core::time::Duration;

use crate::memory::{Bits, Shared};
use crate::platform::{Instant, PeerWords, Platform, Wait, Watch, Woken};
use crate::strategy::Notification;

/// What a core waits for on one link.
pub struct Awaited<'a, P: Platform> {
    /// The link.
    pub shared: &'a Shared<P>,
    /// Whether a message could be taken.
    pub messages: bool,
    /// Whether something is to be sent that needs credit or blocks.
    pub room: bool,
    /// Whether the channels that are watched count.
    pub channels: bool,
}

impl<P: Platform> Clone for Awaited<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<P: Platform> Copy for Awaited<'_, P> {}

impl<'a, P: Platform> Awaited<'a, P> {
    pub(crate) fn watches(self) -> Watches<'a, P> {
        self.watches_for(1)
    }

    /// As [`Awaited::watches`], for this many messages, or as many as a ring has room for: a ring
    /// that is shorter than the count would never ring.
    fn watches_for(self, messages: u32) -> Watches<'a, P> {
        let none = Bits::default();
        let [entries, rooms] = self.shared.watched_channels();
        Watches {
            shared: self.shared,
            messages,
            message: self.messages,
            given: if self.room { 2 } else { 0 },
            entries: if self.channels { entries } else { none },
            rooms: if self.room { rooms } else { none },
        }
    }

    pub(crate) fn arm(self, messages: u32) {
        if self.messages {
            self.shared.rx.arm(messages.min(self.shared.rx.slots()));
        }
        if self.channels {
            self.shared.arm_channels(messages);
        }
        if self.room {
            self.shared.tx.want(true);
        }
    }

    pub(crate) fn disarm(self) {
        if self.messages {
            self.shared.rx.disarm();
        }
        if self.channels {
            self.shared.disarm_channels();
        }
        if self.room {
            self.shared.tx.want(false);
        }
    }
}

/// The words of one link whose change ends a wait. Small and plain: a node that spins begins to
/// look only when it has been gone through.
pub(crate) struct Watches<'a, P: Platform> {
    shared: &'a Shared<P>,
    /// How many messages end the wait.
    messages: u32,
    /// Whether the word of the next message is still to come, how many of credit and blocks are,
    /// and which channels' words.
    message: bool,
    given: u8,
    entries: Bits,
    rooms: Bits,
}

impl<P: Platform> Clone for Watches<'_, P> {
    fn clone(&self) -> Self {
        Watches { ..*self }
    }
}

impl<'a, P: Platform> Iterator for Watches<'a, P> {
    type Item = Watch<'a, PeerWords<P>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let shared = self.shared;
        if core::mem::take(&mut self.message) {
            return Some(shared.rx.watched(self.messages.min(shared.rx.slots())));
        }
        if let Some(left) = self.given.checked_sub(1) {
            self.given = left;
            let [credit, blocks] = shared.starved();
            return Some(if left == 0 { blocks } else { credit });
        }
        let entry = self.entries.find_map(|channel| shared.entry_to_come(channel, self.messages));
        entry.or_else(|| self.rooms.find_map(|channel| shared.room_to_come(channel)))
    }
}

/// The words whose change ends the wait.
fn watches<'a, P, I>(
    awaited: &I,
) -> impl Iterator<Item = Watch<'a, PeerWords<P>>> + Clone + use<'a, P, I>
where
    P: Platform + 'a,
    I: Iterator<Item = Awaited<'a, P>> + Clone,
{
    awaited.clone().flat_map(Awaited::watches)
}

/// How a core looks that looks before it sleeps, or instead.
pub enum Looks<'a> {
    /// For as long as looking pays.
    Adapt(&'a mut Adaptive),
    /// Not at all, or with rests: what is waited for comes from this core.
    Crowded,
}

/// Waits as `notification` says, at most until the deadline. It may return early for no reason.
pub fn wait<'a, P, I>(
    platform: &P,
    awaited: &I,
    notification: Notification,
    looks: Looks<'_>,
    deadline: Option<Instant>,
) -> Woken
where
    P: Platform + 'a,
    I: Iterator<Item = Awaited<'a, P>> + Clone,
{
    match (notification, looks) {
        (Notification::Interrupt, _) | (Notification::Hybrid { .. }, Looks::Crowded) => {
            interrupt::wait(platform, awaited, deadline)
        }
        (Notification::Spin, Looks::Adapt(_)) => {
            platform.wait(watches(awaited), Wait::Spin, deadline)
        }
        (Notification::Spin, Looks::Crowded) => {
            platform.wait(watches(awaited), Wait::Yield, deadline)
        }
        (Notification::Poll { every }, _) => {
            let look = sooner(platform, deadline, every);
            platform.wait(watches(awaited), Wait::Timer, Some(look))
        }
        (Notification::Timer { every }, _) => {
            let look = timer_end(platform, deadline, every);
            platform.wait(watches(awaited), Wait::Timer, Some(look))
        }
        (Notification::Hybrid { longest }, Looks::Adapt(adaptive)) => {
            hybrid::wait(platform, awaited, longest, adaptive, deadline)
        }
        (Notification::Coalesced { messages, within }, _) => {
            coalesced::wait(platform, awaited, messages, within, deadline)
        }
    }
}

/// The earlier of a deadline and `after` from now.
fn sooner<P: Platform>(platform: &P, deadline: Option<Instant>, after: Duration) -> Instant {
    let then = platform.now() + after;
    deadline.map_or(then, |d| d.min(then))
}

/// The choice that serves all of `choices`: the flow that wants to be quickest decides. A timer
/// that always runs goes on beside whatever that is.
pub fn quickest(choices: impl Iterator<Item = Notification>) -> Option<Notification> {
    choices.reduce(|a, b| match (a, b) {
        (Notification::Spin, _) | (_, Notification::Spin) => Notification::Spin,
        (Notification::Hybrid { longest: x }, Notification::Hybrid { longest: y }) => {
            Notification::Hybrid { longest: x.max(y) }
        }
        (h @ Notification::Hybrid { .. }, _) | (_, h @ Notification::Hybrid { .. }) => h,
        (Notification::Interrupt, _) | (_, Notification::Interrupt) => Notification::Interrupt,
        (Notification::Poll { every: x }, Notification::Poll { every: y }) => {
            Notification::Poll { every: x.min(y) }
        }
        (
            Notification::Coalesced { messages: m, within: x },
            Notification::Coalesced { messages: n, within: y },
        ) => Notification::Coalesced { messages: m.min(n), within: x.min(y) },
        (Notification::Timer { every: x }, Notification::Timer { every: y }) => {
            Notification::Timer { every: x.min(y) }
        }
        (Notification::Poll { every: x }, Notification::Timer { every: y })
        | (Notification::Timer { every: y }, Notification::Poll { every: x }) => {
            Notification::Poll { every: x.min(y) }
        }
        (
            Notification::Poll { every: t } | Notification::Timer { every: t },
            Notification::Coalesced { messages, within },
        )
        | (
            Notification::Coalesced { messages, within },
            Notification::Poll { every: t } | Notification::Timer { every: t },
        ) => Notification::Coalesced { messages, within: within.min(t) },
    })
}
