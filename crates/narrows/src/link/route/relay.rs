//! Messages that wait for room at the next node: store and forward without a circle.
//!
//! A message that has made `h` hops lies in a buffer of class `h`. A node keeps some buffers of
//! each class for each of its links, and tells the node at the other end how many are free: its
//! credit. A message goes onto a link only with credit of the next class, so it can always be taken
//! off, and no message stands in the way of one of another class. A buffer of class `h` waits for
//! one of class `h + 1` only, and one of the last class waits for none. So there is no circle in
//! which all wait, whatever the routes are. `models/src/relay.rs` searches this file for one.
//!
//! A message stays here until the next node says that it has taken it. If the link ends before, it
//! comes back to be sent another way.

use core::fmt;
use core::ops::DerefMut;

use super::{HOPS, InRow, LINKS, NONE, Row};

/// What the node at the other end said or did that cannot be: its link has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// A message without credit, or of a class that there is not.
    Credit,
    /// Less credit than it gave before.
    Grant,
    /// It took more messages than it was sent.
    Taken,
}

impl fmt::Display for Lie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lie::Credit => "it sent a message for which it had no credit",
            Lie::Grant => "it took back credit that it had given",
            Lie::Taken => "it says it took more messages than it was sent",
        })
    }
}

impl core::error::Error for Lie {}

/// A place for one message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Slot<T> {
    message: Option<Message<T>>,
    next: u16,
}

impl<T> Slot<T> {
    /// An empty place.
    pub const FREE: Slot<T> = Slot { message: None, next: NONE };
}

impl<T> InRow for Slot<T> {
    fn next(&mut self) -> &mut u16 {
        &mut self.next
    }

    fn urgency(&self) -> u8 {
        self.message.as_ref().map_or(0, |message| message.urgency)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Message<T> {
    token: T,
    class: u8,
    urgency: u8,
}

/// A message whose link ended before the next node said that it has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Orphan<T> {
    /// The message.
    pub token: T,
    /// Its class.
    pub class: u8,
    /// Its urgency.
    pub urgency: u8,
    /// Whether it was sent, so that the next node may have it.
    pub sent: bool,
}

/// What a node keeps for one link.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Lane {
    /// Messages that wait for credit, by their class.
    waiting: [Row; HOPS],
    /// Messages that were sent and are not known to have been taken.
    sent: Row,
    /// How many have been taken since the link came up.
    taken: u16,
    /// Of each class: messages sent since the link came up, and how many the peer allows.
    used: [u16; HOPS + 1],
    allowed: [u16; HOPS + 1],
    /// The class that comes last among equals.
    turn: u8,
    /// Of each class: buffers in use by messages that came over the link.
    held: [u16; HOPS + 1],
    /// Of each class: messages that came, that may come, and of which the peer knows that.
    came: [u16; HOPS + 1],
    may: [u16; HOPS + 1],
    told: [u16; HOPS + 1],
}

impl Lane {
    const NEW: Lane = Lane {
        waiting: [Row::EMPTY; HOPS],
        sent: Row::EMPTY,
        taken: 0,
        used: [0; HOPS + 1],
        allowed: [0; HOPS + 1],
        turn: 0,
        held: [0; HOPS + 1],
        came: [0; HOPS + 1],
        may: [0; HOPS + 1],
        told: [0; HOPS + 1],
    };
}

/// The messages of one node that go on, and the buffers of those that come. `T` names a message.
/// Links are numbered from 0 to [`LINKS`] - 1, classes from 1 to the hop limit; class 0 is what the
/// node sends itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Relay<T, S> {
    slots: S,
    free: u16,
    lanes: [Lane; LINKS],
    hops: u8,
    quota: u16,
    token: core::marker::PhantomData<T>,
}

impl<T: Copy, S: DerefMut<Target = [Slot<T>]>> Relay<T, S> {
    /// A relay with a hop limit of 1 to [`HOPS`], and `quota` buffers of each class for each link,
    /// at least one. It has a place for each message that goes on: as many as the buffers of all
    /// links, and those that the node sends itself.
    pub fn new(mut slots: S, hops: u8, quota: u16) -> Self {
        let count = slots.len().min(usize::from(NONE));
        for (n, slot) in slots.iter_mut().enumerate() {
            *slot = Slot { message: None, next: if n + 1 < count { n as u16 + 1 } else { NONE } };
        }
        Relay {
            free: if count > 0 { 0 } else { NONE },
            slots,
            lanes: [Lane::NEW; LINKS],
            hops: hops.clamp(1, HOPS as u8),
            quota: quota.clamp(1, 1 << 12),
            token: core::marker::PhantomData,
        }
    }

    /// The hop limit.
    pub fn hops(&self) -> u8 {
        self.hops
    }

    /// A link comes up. Credit of before is none any more, on either side.
    pub fn join(&mut self, link: usize) {
        let lane = &mut self.lanes[link];
        let (held, quota) = (lane.held, self.quota);
        *lane = Lane { held, may: held.map(|held| quota.saturating_sub(held)), ..Lane::NEW };
    }

    /// Has a message wait for a link, behind those of its class that are as urgent.
    ///
    /// # Errors
    /// There is no place, or the class is the last, which goes nowhere: the message.
    pub fn push(&mut self, link: usize, class: u8, urgency: u8, token: T) -> Result<(), T> {
        let place = self.free;
        if class >= self.hops || place == NONE {
            return Err(token);
        }
        let slot = &mut self.slots[usize::from(place)];
        self.free = slot.next;
        slot.message = Some(Message { token, class, urgency });
        self.lanes[link].waiting[usize::from(class)].insert(&mut self.slots, place);
        Ok(())
    }

    /// The class whose first message goes next: the most urgent for which there is credit, and
    /// among equals each class in turn.
    fn next_class(&self, link: usize) -> Option<u8> {
        let lane = &self.lanes[link];
        let mut best: Option<(u8, u8)> = None;
        for n in 1..=self.hops {
            let class = (lane.turn + n) % self.hops;
            let next = usize::from(class) + 1;
            let Some(first) = lane.waiting[usize::from(class)].first() else { continue };
            if lane.used[next] == lane.allowed[next] {
                continue;
            }
            let urgency = self.slots[usize::from(first)].urgency();
            if best.is_none_or(|(most, _)| urgency > most) {
                best = Some((urgency, class));
            }
        }
        best.map(|(_, class)| class)
    }

    /// Whether a message could go now.
    pub fn is_ready(&self, link: usize) -> bool {
        self.next_class(link).is_some()
    }

    /// The message that goes next, if one can. It is on its way with [`Relay::begin`].
    pub fn next(&self, link: usize) -> Option<T> {
        let first = self.lanes[link].waiting[usize::from(self.next_class(link)?)].first()?;
        Some(self.slots[usize::from(first)].message.as_ref()?.token)
    }

    /// Takes the message that goes next off those that wait: it is being sent.
    pub fn begin(&mut self, link: usize) -> Option<T> {
        let class = self.next_class(link)?;
        let lane = &mut self.lanes[link];
        let place = lane.waiting[usize::from(class)].pop(&mut self.slots)?;
        lane.sent.append(&mut self.slots, place);
        let used = &mut lane.used[usize::from(class) + 1];
        *used = used.wrapping_add(1);
        lane.turn = class;
        Some(self.slots[usize::from(place)].message.as_ref()?.token)
    }

    /// The peer says how many messages of the link it has taken in all. The next of those that it
    /// had not taken before: its buffer can be used again. To be asked until there is none.
    ///
    /// # Errors
    /// [`Lie::Taken`].
    pub fn taken(&mut self, link: usize, taken: u16) -> Result<Option<T>, Lie> {
        let lane = &mut self.lanes[link];
        if lane.taken == taken {
            return Ok(None);
        }
        lane.taken = lane.taken.wrapping_add(1);
        self.pop_sent(link).map(|message| Some(message.token)).ok_or(Lie::Taken)
    }

    fn pop_sent(&mut self, link: usize) -> Option<Message<T>> {
        let row = &mut self.lanes[link].sent;
        Self::pop(&mut self.slots, &mut self.free, row)
    }

    /// Takes the first message of a row, and frees its place.
    fn pop(slots: &mut S, free: &mut u16, row: &mut Row) -> Option<Message<T>> {
        let place = row.pop(slots)?;
        let slot = &mut slots[usize::from(place)];
        slot.next = core::mem::replace(free, place);
        slot.message.take()
    }

    /// The peer says how many messages of a class it lets come in all.
    ///
    /// # Errors
    /// [`Lie::Grant`]; nothing was changed.
    pub fn allow(&mut self, link: usize, class: u8, allowed: u16) -> Result<(), Lie> {
        let known = self.lanes[link].allowed.get_mut(usize::from(class)).ok_or(Lie::Grant)?;
        if allowed.wrapping_sub(*known) > u16::MAX / 2 {
            return Err(Lie::Grant);
        }
        *known = allowed;
        Ok(())
    }

    /// How many messages of a class may come over a link in all: what its peer is told next.
    pub fn may(&self, link: usize, class: u8) -> u16 {
        self.lanes[link].may[usize::from(class)]
    }

    /// The peer of a link was told of all credit.
    pub fn told(&mut self, link: usize) {
        let lane = &mut self.lanes[link];
        lane.told = lane.may;
    }

    /// Whether the peer has to be told of credit: of some class it has half of the buffers or less,
    /// and more are free. So what is not told yet never stops it.
    pub fn owes(&self, link: usize) -> bool {
        let lane = &self.lanes[link];
        (1..=usize::from(self.hops)).any(|class| {
            let left = lane.told[class].wrapping_sub(lane.came[class]);
            left <= self.quota / 2 && lane.told[class] != lane.may[class]
        })
    }

    /// Whether less than half of the buffers are left for what comes over a link in a class: the
    /// peer that gets the next message of them has to say at once that it took it.
    pub fn is_low(&self, link: usize, class: u8) -> bool {
        let held = self.lanes[link].held[usize::from(class)];
        self.quota.saturating_sub(held) < self.quota.div_ceil(2)
    }

    /// A message came over a link. It has a buffer of its class, which is in use until
    /// [`Relay::free`].
    ///
    /// # Errors
    /// [`Lie::Credit`]; nothing was changed.
    pub fn take(&mut self, link: usize, class: u8) -> Result<(), Lie> {
        let lane = &mut self.lanes[link];
        let at = usize::from(class);
        if class == 0 || class > self.hops || lane.came[at] == lane.told[at] {
            return Err(Lie::Credit);
        }
        lane.came[at] = lane.came[at].wrapping_add(1);
        lane.held[at] += 1;
        Ok(())
    }

    /// The buffer of a message that came over a link is free again.
    pub fn free(&mut self, link: usize, class: u8) {
        let lane = &mut self.lanes[link];
        let at = usize::from(class);
        lane.held[at] = lane.held[at].saturating_sub(1);
        lane.may[at] = lane.may[at].wrapping_add(1);
    }

    /// A link ended: the next of its messages that the peer is not known to have, those that were
    /// sent first. To be asked until there is none.
    pub fn orphan(&mut self, link: usize) -> Option<Orphan<T>> {
        let (message, sent) = match self.pop_sent(link) {
            Some(message) => (message, true),
            None => {
                let lane = &mut self.lanes[link];
                let row = lane.waiting.iter_mut().find(|row| row.first().is_some())?;
                (Self::pop(&mut self.slots, &mut self.free, row)?, false)
            }
        };
        let Message { token, class, urgency } = message;
        Some(Orphan { token, class, urgency, sent })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec;
    use std::vec::Vec;

    fn relay(places: usize, quota: u16) -> Relay<u8, Vec<Slot<u8>>> {
        let mut relay = Relay::new(vec![Slot::FREE; places], 3, quota);
        relay.join(0);
        (1..=3).for_each(|class| relay.allow(0, class, 100).expect("more than before"));
        relay
    }

    #[test]
    fn classes_take_turns_and_the_urgent_come_first() {
        let mut relay = relay(20, 1);
        for n in 0..4 {
            for class in 0..3 {
                relay.push(0, class, 0, 10 * n + class).expect("a place");
            }
        }
        relay.push(0, 1, 5, 99).expect("a place");
        let order: Vec<u8> = core::iter::from_fn(|| relay.begin(0)).collect();
        assert_eq!(order[0], 99);
        for (n, three) in order[1..].chunks(3).enumerate() {
            let mut three = three.to_vec();
            three.sort_unstable();
            assert_eq!(three, [0, 1, 2].map(|class| 10 * n as u8 + class));
        }
        assert_eq!(relay.push(0, 3, 0, 1), Err(1), "the last class goes nowhere");
    }

    #[test]
    fn without_credit_of_its_class_a_message_waits_and_no_other_does() {
        let mut relay = relay(4, 1);
        relay.join(0);
        relay.push(0, 0, 9, 0).expect("a place");
        relay.push(0, 1, 0, 1).expect("a place");
        assert_eq!(relay.next(0), None);
        relay.allow(0, 2, 1).expect("more than before");
        assert_eq!((relay.begin(0), relay.begin(0)), (Some(1), None));
        assert_eq!(relay.allow(0, 2, 0), Err(Lie::Grant));
        assert_eq!(relay.allow(0, 1, u16::MAX / 2 + 1), Err(Lie::Grant));
        assert_eq!(relay.taken(0, 1), Ok(Some(1)));
        assert_eq!(relay.taken(0, 2), Err(Lie::Taken));
    }

    #[test]
    fn what_a_link_leaves_behind_comes_back_and_its_places_are_used_again() {
        let mut relay = relay(3, 2);
        for _ in 0..5 {
            (0..3).for_each(|n| relay.push(0, n % 2, 0, n).expect("a place"));
            assert_eq!(relay.push(0, 0, 0, 9), Err(9));
            let first = relay.begin(0).expect("credit");
            let all: Vec<_> = core::iter::from_fn(|| relay.orphan(0)).collect();
            assert_eq!(all.iter().filter(|orphan| orphan.sent).count(), 1);
            assert_eq!((all[0].token, all[0].sent, all.len()), (first, true, 3));
        }
    }

    #[test]
    fn credit_of_a_new_link_leaves_out_what_the_last_one_still_holds() {
        let mut relay = relay(3, 2);
        relay.told(0);
        relay.take(0, 1).expect("credit");
        assert!(!relay.is_low(0, 1));
        relay.take(0, 1).expect("credit");
        assert!(relay.is_low(0, 1));
        assert_eq!(relay.take(0, 1), Err(Lie::Credit));
        assert_eq!(relay.take(0, 0), Err(Lie::Credit));
        assert_eq!(relay.take(0, 4), Err(Lie::Credit));
        relay.join(0);
        assert_eq!((relay.may(0, 1), relay.may(0, 2)), (0, 2));
        relay.free(0, 1);
        assert_eq!(relay.may(0, 1), 1);
        assert!(relay.owes(0));
    }
}
