//! How a node waits: for what, on which links, and in which way.

use core::time::Duration;

use super::{Node, PortError};
use crate::link::{LinkId, Links};
use crate::notify::{self, Awaited, Looks};
use crate::platform::{Instant, Platform, Woken};
use crate::strategy::Notification;

/// A wait that gives up sooner does not glance.
const GLANCE: Duration = Duration::from_micros(100);

/// Waiting for everything at once.
impl<P: Platform> Node<P> {
    /// Asks to be rung for the next message, for channels as [`Node::wait_any`] does, before this
    /// thread waits in a loop of its own on the platform's descriptor. True if something is there
    /// already, or came since the last time this was asked: look at everything once more then, and
    /// do not wait.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) {
    /// if !node.arm() {
    ///     // Sleep on the platform's descriptor here.
    /// }
    /// node.disarm();
    /// node.poll();
    /// # }
    /// ```
    pub fn arm(&mut self) -> bool {
        self.arm_by(1)
    }

    /// As [`Node::arm`], for this many messages at a time on a link: with fewer the thread waits
    /// on, and looks for itself when it has waited for long enough.
    pub(super) fn arm_by(&mut self, messages: u32) -> bool {
        self.links.flush(&self.platform);
        if self.prepare(self.blocked) {
            return true;
        }
        self.awaited().for_each(|on| on.arm(messages));
        // Pairs with the fence in `Shared::ring_if_armed`.
        self.platform.fence();
        let changed = self.awaited().flat_map(Awaited::watches).any(|watch| watch.changed());
        core::mem::take(&mut self.fresh) || changed
    }

    /// Asks not to be rung any more.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) {
    /// let look = node.arm();
    /// # let _ = look;
    /// node.disarm();
    /// # }
    /// ```
    pub fn disarm(&mut self) {
        self.awaited().for_each(Awaited::disarm);
    }

    /// Waits for a message, for a channel that is [watched](super::ChannelView::watch) or whose
    /// room is [wanted](super::ChannelView::want_room), for news of a link or for the deadline, in
    /// the way that was agreed for what is served here. A [timer](Notification::Timer) of any flow
    /// of this node's ends the wait too. Does not wait if something came since the last time: a
    /// program that looks at everything between its waits misses nothing.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) {
    /// node.wait_any(Some(Duration::from_millis(5)));
    /// node.poll();
    /// # }
    /// ```
    pub fn wait_any(&mut self, within: Option<Duration>) {
        self.wait_once(self.agreed(), within);
    }

    /// As [`Node::wait_any`], in a way of the caller's choice. Returns what ended the wait.
    #[inline(never)]
    pub(super) fn wait_once(&mut self, how: Notification, within: Option<Duration>) -> Woken {
        if core::mem::take(&mut self.fresh) {
            return Woken::Event;
        }
        let deadline = self.deadline(within);
        self.wait_for(how, deadline, self.blocked, true)
    }

    pub(super) fn deadline(&self, within: Option<Duration>) -> Option<Instant> {
        within.map(|d| self.platform.now() + d)
    }

    pub(super) fn passed(&self, deadline: Option<Instant>) -> bool {
        deadline.is_some_and(|d| self.platform.now() >= d)
    }

    /// Why a receive ended without a message.
    pub(super) fn ended_in_vain(&self) -> PortError {
        if self.platform.is_copy() { PortError::Forked } else { PortError::Deadline }
    }

    /// How [`Node::wait_any`] waits: in the way that was agreed for what peers have opened here.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform, strategy::Notification};
    /// # fn example<P: Platform>(node: &mut Node<P>) {
    /// node.set_notification(Notification::Spin);
    /// assert_eq!(node.agreed(), Notification::Spin);
    /// # }
    /// ```
    #[must_use]
    pub fn agreed(&self) -> Notification {
        self.agreed
    }

    /// Notes how to wait, after what peers have opened here has changed.
    pub(super) fn agree(&mut self) {
        // A peer that has opened nothing sends messages of no flow: it does not have to wait for
        // them to be noticed as long as another peer would.
        let each = self.links.up().map(|link| {
            let agreed = notify::quickest(link.notifications());
            agreed.unwrap_or(self.notification)
        });
        let agreed = notify::quickest(each);
        self.agreed = agreed.unwrap_or(self.notification);
        self.note_timers();
    }

    /// Notes which timers always run, after what this node's flows are agreed on, or what peers
    /// have opened here, may have changed.
    pub(super) fn note_timers(&mut self) {
        let own = self.flows.iter().flatten().filter(|flow| flow.agreed && flow.phase.lasts());
        let own = own.map(|flow| flow.strategy.notification);
        let peers = self.links.up().flat_map(|link| link.notifications());
        let all = own.chain(peers).chain([self.notification]);
        self.timer = all.filter_map(timer).min();
    }

    /// How to wait, and until when at most, while timers always run.
    #[cold]
    fn timed(
        &self,
        how: Notification,
        every: Duration,
        deadline: Option<Instant>,
    ) -> (Notification, Option<Instant>) {
        match how {
            Notification::Timer { every: other } => {
                (Notification::Timer { every: every.min(other) }, deadline)
            }
            how => (how, Some(notify::timer_end(&self.platform, deadline, every))),
        }
    }

    /// Waits once. Credit held back for a batch is given first, so that nobody starves while this
    /// core sleeps.
    pub(super) fn wait(
        &mut self,
        how: Notification,
        deadline: Option<Instant>,
        starved: Option<LinkId>,
    ) -> Woken {
        self.wait_for(how, deadline, starved, false)
    }

    /// As [`Node::wait`], for the channels that are watched too if so asked: a caller that does not
    /// hand out what comes over them would find the same entry at every turn.
    pub(super) fn wait_for(
        &mut self,
        how: Notification,
        deadline: Option<Instant>,
        starved: Option<LinkId>,
        channels: bool,
    ) -> Woken {
        self.links.flush(&self.platform);
        if self.prepare(starved) {
            return Woken::Word;
        }
        let (how, deadline) = match self.timer {
            Some(every) => self.timed(how, every, deadline),
            None => (how, deadline),
        };
        let crowded = self.links.crowd(self.platform.core_number());
        let awaited = awaited(&self.links, channels);
        let looks = if crowded { Looks::Crowded } else { Looks::Adapt(&mut self.adaptive) };
        let woken = notify::wait(&self.platform, &awaited, how, looks, deadline);
        if woken == Woken::Word {
            self.links.expect_answer();
        }
        woken
    }

    /// As [`Node::glance_once`], for a caller that waits for that long in the way that was agreed
    /// and may answer what comes.
    #[inline]
    pub(super) fn glance_within(&mut self, within: Option<Duration>) -> bool {
        let looks = matches!(self.agreed(), Notification::Spin | Notification::Hybrid { .. });
        let seen = looks && within.is_none_or(|within| within >= GLANCE) && self.glance_once();
        if seen {
            self.links.expect_answer();
        }
        seen
    }

    /// Looks for a message for a moment (see [`Platform::LOOKS`]), for less of one if there are
    /// several links, before the clock is read for a wait: an answer that is on its way is met
    /// while the wait would still be prepared. For a caller that looks anyway and has the time.
    /// True if a message is there.
    #[inline]
    pub(super) fn glance_once(&mut self) -> bool {
        if !self.known.is_calm() {
            return false;
        }
        let seen = self.links.glance(if self.links.is_crowded() { 1 } else { P::LOOKS });
        if !seen {
            self.links.flush(&self.platform);
        }
        seen
    }

    /// Looks at everything and then waits for room on a link, unless it was found to have ended:
    /// nothing would end the wait.
    pub(super) fn wait_on(&mut self, link: LinkId, how: Notification, deadline: Option<Instant>) {
        self.poll();
        if self.gone(link).is_none() {
            self.wait(how, deadline, Some(link));
            self.attend();
        }
    }

    /// Finds out which links are waited for and for what. True if there is something to do before
    /// a wait.
    fn prepare(&mut self, starved: Option<LinkId>) -> bool {
        if self.known.is_calm() && !self.starving && starved.is_none() {
            return false;
        }
        let mut ready = false;
        self.starving = false;
        if self.pending > 0 {
            for flow in self.flows.iter().flatten().filter(|flow| flow.phase.pending()) {
                if let Some(link) = self.links.get_mut(flow.link) {
                    link.unsaid = true;
                }
            }
        }
        for index in 0..self.links.places() {
            let id = self.links.id(index);
            let Some(link) = self.links.at_mut(index) else { continue };
            let unsaid = core::mem::take(&mut link.unsaid);
            if link.lost.is_some() {
                ready |= !link.told && link.inbox.room();
                continue;
            }
            link.starved = unsaid
                || link.replies > 0
                || link.wanting
                || link.shared.wants_channel_room()
                || (starved.is_some() && starved == id);
            self.starving |= link.starved;
            let given = if link.starved { link.shared.catch_up() } else { Ok(false) };
            match (given, id) {
                (Ok(given), _) => ready |= given,
                (Err(what), Some(id)) => {
                    self.fail(id, what);
                    ready = true;
                }
                (Err(_), None) => {}
            }
        }
        ready
    }

    /// What is waited for on each link. Where the inbox is full nothing can be taken, so nothing
    /// is waited for.
    fn awaited(&self) -> impl Iterator<Item = Awaited<'_, P>> + Clone {
        awaited(&self.links, true)
    }
}

/// From one end of the timer to the next, of those that look by one that always runs.
fn timer(how: Notification) -> Option<Duration> {
    match how {
        Notification::Timer { every } => Some(every),
        _ => None,
    }
}

fn awaited<P: Platform>(
    links: &Links<P>,
    channels: bool,
) -> impl Iterator<Item = Awaited<'_, P>> + Clone {
    links.up().map(move |link| Awaited {
        shared: &link.shared,
        messages: link.inbox.room(),
        room: link.starved,
        channels,
    })
}
