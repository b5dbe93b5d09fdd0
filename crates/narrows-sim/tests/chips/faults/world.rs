//! What each side has told the others and was told, for the accounts at the end.

use super::scene::Told;
use crate::common::dice::Dice;
use narrows::platform::Lost;
use narrows_sim::engine::{Faults, Outcome};
use narrows_sim::time::Time;
use std::cell::{Cell, RefCell};

/// *a*, which is linked with both others, *b* and *c*.
pub const SIDES: usize = 3;
/// Messages that a node's stack may have taken and not handed out: its inbox.
pub const INBOX: usize = 12;
/// From the end of supervision until the process that was told has received it: two operations that
/// run into their deadlines, and what is done in between.
const PROMPT: Time = Time::nanos(2_000_000);

/// The messages from one side to another, by their tags, which count up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    /// The sender was told that they are sent.
    pub sent: u16,
    /// The sender is about to be told of one more.
    pub trying: bool,
    pub delivered: u16,
    /// Came back as undelivered: the first, and how many.
    pub returned: Option<(u16, u16)>,
}

/// Why and when a side was told that a link has ended.
type End = Option<(Lost, Time)>;

#[derive(Default)]
pub struct World {
    faults: Faults,
    /// Of each link whether *a* is the one that calls. If both called, each could have all its
    /// blocks in requests that wait for a block of the other to be answered in.
    callers: [bool; 2],
    accounts: RefCell<[[Account; SIDES]; SIDES]>,
    /// Sides that have sent all that they want to.
    finished: [Cell<bool>; SIDES],
    /// Sides that have all that they can expect, and have given everything back.
    settled: [Cell<bool>; SIDES],
    over: Cell<bool>,
    left: [Cell<bool>; SIDES],
    /// Sides that never were linked to another, as far as they know.
    unlinked: [[Cell<bool>; SIDES]; SIDES],
    /// Sides that were told of the end of their link to another, why, and when.
    ends: RefCell<[[End; SIDES]; SIDES]>,
    pub answered: Cell<u64>,
    pub deadlines: Cell<u64>,
    pub notices: Cell<u64>,
    /// *a* has done with the dead *b*, and hunts its next life.
    pub buried: Cell<bool>,
    pub again: Cell<bool>,
}

impl World {
    pub fn new(faults: &Faults, dice: &Dice) -> World {
        let callers = [0, 1].map(|_| dice.one_in(2));
        World { faults: *faults, callers, ..World::default() }
    }

    pub fn name(&self, side: usize) -> &'static str {
        ["a", "b", "c"][side]
    }

    /// Whom a side is linked with.
    pub fn peers(&self, own: usize) -> &'static [usize] {
        if own == 0 { &[1, 2] } else { &[0] }
    }

    /// Whether what a side says may be anything.
    pub fn lies(&self, side: usize) -> bool {
        self.faults.lies.is_some_and(|lies| lies.process == side)
    }

    /// Whether a link is between two that do not lie.
    pub fn honest(&self, one: usize, other: usize) -> bool {
        !self.lies(one) && !self.lies(other)
    }

    pub fn calls(&self, own: usize, peer: usize) -> bool {
        self.callers[own.max(peer) - 1] == (own == 0)
    }

    pub fn account<T>(&self, from: usize, to: usize, what: impl FnOnce(&mut Account) -> T) -> T {
        what(&mut self.accounts.borrow_mut()[from][to])
    }

    pub fn finish(&self, own: usize) {
        self.finished[own].set(true);
    }

    /// Whether all that a side has sent and is going to send has arrived.
    pub fn arrived(&self, from: usize, to: usize) -> bool {
        let all = |account: &mut Account| account.delivered >= account.sent;
        self.finished[from].get() && (!self.honest(from, to) || self.account(from, to, all))
    }

    pub fn settle(&self, own: usize) {
        self.settled[own].set(true);
    }

    /// All are settled.
    pub fn end(&self) {
        self.over.set(true);
    }

    /// Whether nobody looks at what comes any more.
    pub fn is_over(&self) -> bool {
        self.over.get()
    }

    pub fn leave(&self, own: usize) {
        self.left[own].set(true);
    }

    pub fn has_left(&self, side: usize) -> bool {
        self.left[side].get()
    }

    pub fn is_settled(&self, side: usize) -> bool {
        self.settled[side].get()
    }

    pub fn unlinked(&self, own: usize, peer: usize) {
        self.unlinked[own][peer].set(true);
    }

    pub fn is_unlinked(&self, own: usize, peer: usize) -> bool {
        self.unlinked[own][peer].get()
    }

    /// A side has noticed that its link to another has ended.
    pub fn ended(&self, own: usize, peer: usize, why: Lost, at: Time) {
        let before = self.ends.borrow_mut()[own][peer].replace((why, at));
        assert_eq!(before, None, "told twice");
    }

    /// The accounts at the end.
    pub fn told(&self, outcome: &Outcome) -> Told {
        let died = outcome.died;
        let dead = self.faults.death.filter(|_| died.is_some()).map(|death| death.process);
        let mut told = Told {
            deaths: u64::from(dead.is_some()),
            lived: u64::from(dead.is_none()),
            bells_that_failed: outcome.counts.bells,
            lies: outcome.counts.lies,
            answered: self.answered.get(),
            deadlines: self.deadlines.get(),
            notices: self.notices.get(),
            again: u64::from(self.again.get()),
            longest: outcome.end.as_nanos(),
            ..Told::default()
        };
        for from in 0..SIDES {
            for to in self.peers(from).iter().copied() {
                self.settle_account(from, to, dead, &mut told);
                if let Some((why, at)) = self.ends.borrow()[from][to] {
                    self.justified((from, to), (why, at), dead.zip(died), &mut told);
                }
            }
        }
        told
    }

    fn settle_account(&self, from: usize, to: usize, dead: Option<usize>, told: &mut Told) {
        let account = self.account(from, to, |account| *account);
        told.delivered += u64::from(account.delivered);
        if self.is_unlinked(from, to) || self.is_unlinked(to, from) {
            assert!(dead.is_some() || !self.honest(from, to), "they could have met");
            return;
        }
        if !self.honest(from, to) {
            return;
        }
        let what = format!("{} to {}: {account:?}", self.name(from), self.name(to));
        let Account { sent, trying, delivered, returned } = account;
        if dead != Some(to) {
            // The process that died may not have been told of the last.
            let most = sent + u16::from(trying && dead == Some(from));
            assert!((sent..=most).contains(&delivered), "{what}");
            assert_eq!(returned, None, "{what}");
            return;
        }
        let (first, count) = returned.unwrap_or((sent, 0));
        assert_eq!(first + count, sent, "what came back is the end of what was sent: {what}");
        let lost = first.checked_sub(delivered);
        let lost = lost.unwrap_or_else(|| panic!("delivered and came back: {what}"));
        assert!(usize::from(lost) <= INBOX + 1, "{what}");
        told.returned += u64::from(count);
        told.died_with_it += u64::from(lost);
    }

    /// Whether there was reason for a link to end.
    fn justified(
        &self,
        (own, peer): (usize, usize),
        (why, at): (Lost, Time),
        dead: Option<(usize, Time)>,
        told: &mut Told,
    ) {
        let what = format!("{}: its link to {}: {why}", self.name(own), self.name(peer));
        *told.ends.entry(format!("{why:?}")).or_default() += 1;
        match why {
            Lost::Died => {
                let (dead, died) = dead.unwrap_or_else(|| panic!("nobody died: {what}"));
                assert_eq!(dead, peer, "{what}");
                let due = died + self.faults.supervision;
                assert!((due..=due + PROMPT).contains(&at), "{what}, at {at}, due at {due}");
                told.longest_notice = told.longest_notice.max(at.since(died).as_nanos());
            }
            _ => {
                assert!(!self.honest(own, peer), "{what}");
                told.corrupt += 1;
            }
        }
    }
}
