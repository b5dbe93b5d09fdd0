//! Notification: how a core passes the time until a message, credit or a block comes.
//!
//! It is the receiver's choice alone. A sender always does the same: after publishing it looks,
//! behind a full fence, whether the receiver has armed, and rings if so. A receiver that spins or
//! polls never arms, and costs its senders no bell.

mod coalesced;
mod hybrid;
mod interrupt;
mod periodic;
mod spin;

pub use hybrid::Adaptive;

use core::time::Duration;

use crate::memory::Shared;
use crate::platform::{Instant, PeerWords, Platform, Watch, Woken};
use crate::strategy::Notification;

/// What a core waits for: messages on any of its links and, if it starves, credit or blocks on
/// one.
pub struct Awaited<'a, P: Platform, I> {
    /// The links that are up.
    pub links: I,
    /// The link whose credit or blocks a sender needs.
    pub starved: Option<&'a Shared<P>>,
}

impl<'a, P, I> Awaited<'a, P, I>
where
    P: Platform + 'a,
    I: Iterator<Item = &'a Shared<P>> + Clone,
{
    /// The words whose change ends the wait.
    fn watches(&self) -> impl Iterator<Item = Watch<'a, PeerWords<P>>> + Clone + use<'a, P, I> {
        let starved = self.starved.into_iter().flat_map(|shared| shared.starved());
        self.links.clone().map(|shared| shared.rx.watched(1)).chain(starved)
    }

    fn arm(&self, messages: u32) {
        for shared in self.links.clone() {
            shared.rx.arm(messages);
        }
        if let Some(shared) = self.starved {
            shared.tx.want(true);
        }
    }

    fn disarm(&self) {
        for shared in self.links.clone() {
            shared.rx.disarm();
        }
        if let Some(shared) = self.starved {
            shared.tx.want(false);
        }
    }
}

/// Waits as `notification` says, at most until the deadline. It may return early for no reason.
pub fn wait<'a, P, I>(
    platform: &P,
    awaited: &Awaited<'a, P, I>,
    notification: Notification,
    adaptive: &mut Adaptive,
    deadline: Option<Instant>,
) -> Woken
where
    P: Platform + 'a,
    I: Iterator<Item = &'a Shared<P>> + Clone,
{
    match notification {
        Notification::Interrupt => interrupt::wait(platform, awaited, deadline),
        Notification::Spin => spin::wait(platform, awaited, deadline),
        Notification::Poll { every } => periodic::wait(platform, awaited, every, deadline),
        Notification::Hybrid { longest } => {
            hybrid::wait(platform, awaited, longest, adaptive, deadline)
        }
        Notification::Coalesced { messages, within } => {
            coalesced::wait(platform, awaited, messages, within, deadline)
        }
    }
}

/// The earlier of a deadline and `after` from now.
fn sooner<P: Platform>(platform: &P, deadline: Option<Instant>, after: Duration) -> Instant {
    let then = platform.now() + after;
    deadline.map_or(then, |d| d.min(then))
}

/// The choice that serves all of `choices`: whoever wants to be quickest decides.
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
        (Notification::Poll { every: t }, Notification::Coalesced { messages, within })
        | (Notification::Coalesced { messages, within }, Notification::Poll { every: t }) => {
            Notification::Coalesced { messages, within: within.min(t) }
        }
    })
}
