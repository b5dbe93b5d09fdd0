//! A region carried over frames: what stands in for memory that two nodes share where they share
//! none.
//!
//! Each word of a region has one writer, and the order of its stores is the order in which things
//! happened. So a copy of the region at the peer's side, its *replica*, is as good as the region if
//! what its owner publishes is stored there in the same order. Either end of a connection has a
//! replica of the other's region. The node beside it maps that read-only, as it maps a region that
//! it shares, and trusts it no more.
//!
//! What travels (docs/WIRE.md, "Frames of a replica"): each entry of a ring, behind the bytes of
//! its block, cut to the medium's MTU; what the owner gave credit for and what it took; the names
//! of the blocks that it returned; a sign of life; a farewell. The ring's credit is the window: no
//! more entries are under way than the ring has slots. The words *armed* and *want* do not travel.
//! The thread or routine that runs this end sets them in the replica when it is about to sleep
//! ([`Replica::arm`]), and rings its own node when that wants to be rung ([`Replica::rings`]).

mod send;
mod take;

use core::ops::DerefMut;
use core::time::Duration;

use super::frame::Closed;
use crate::driver::{Frames, NoFrame};
use crate::memory::{Corrupt, IN_SLOT, Layout, Producer, Ring};
use crate::platform::{Instant, OutOfRange, OwnMemory, Words as _, WordsMut as _};

/// Bytes of the longest header: an entry whose payload travels in its slot.
pub const LONGEST: usize = 16 + IN_SLOT;
/// Bytes before those of a block.
const BLOCK_HEADER: usize = 8;
/// Names of blocks that one frame gives back.
const NAMES: usize = 16;
/// Frames that are taken, or entries of one ring that are sent, before something else has its turn.
const TURN: usize = 32;

const ENTRY: u8 = 1;
const BLOCK: u8 = 2;
const COUNTS: u8 = 3;
const RETURNS: u8 = 4;
const ALIVE: u8 = 5;
const BYE: u8 = 6;

/// Whether a frame with this header publishes an entry, which is what a send of the node's is: for
/// a medium that is charged for each.
#[must_use]
pub fn is_entry(header: &[u8]) -> bool {
    header.first() == Some(&ENTRY)
}

/// Of which channel a frame with this header carries an entry or bytes of a block, if of any: for a
/// medium that has a way of its own for channels.
#[must_use]
pub fn channel_of(header: &[u8]) -> Option<u8> {
    let [ENTRY | BLOCK, lane, ..] = header else { return None };
    lane.checked_sub(1)
}

/// When an end that has nothing to say speaks all the same, and how long it waits for the other to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pulse {
    /// How often a frame is sent at least; none is for that reason alone if there is no time.
    pub heartbeat: Option<Duration>,
    /// How long the peer may be silent; for ever if there is no time.
    pub patience: Option<Duration>,
}

/// One ring of either region: that of messages, or a channel's.
pub struct Lane<O: OwnMemory> {
    ring: Ring,
    /// The own ring, and the number of the entry that is sent next.
    slots: O::Words,
    next: u32,
    /// What the own node gave credit for, and what it took.
    credit: O::Words,
    taken: O::Words,
    /// Both, as the peer was told.
    told: [u32; 2],
    /// Entries sent up to the last whose sender is to be rung when it has credit for it.
    rung_for: u32,
    /// The same words of the replica.
    their_credit: O::Words,
    their_taken: O::Words,
    their_armed: O::Words,
    /// Publishes in the replica what the peer published in its region.
    tx: Producer<O, O>,
}

impl<O: OwnMemory> Lane<O> {
    fn new(
        ring: Ring,
        (mine, own): (&Layout, &O),
        (theirs, replica): (&Layout, &O),
    ) -> Result<Lane<O>, OutOfRange> {
        Ok(Lane {
            ring,
            slots: mine.slots_in(own, ring)?,
            next: mine.start(ring).wrapping_add(1),
            credit: mine.credit_in(own, ring)?,
            taken: mine.taken_in(own, ring)?,
            told: [0; 2],
            rung_for: 0,
            their_credit: theirs.credit_in(replica, ring)?,
            their_taken: theirs.taken_in(replica, ring)?,
            their_armed: theirs.armed_in(replica, ring)?,
            tx: Producer::of(ring, theirs, replica, mine, own)?,
        })
    }

    /// The words of the entry that is sent next, if it has been published.
    fn waiting(&self, line: u32) -> Option<[u32; 3]> {
        // Acquire: pairs with the release in `Producer::write`.
        self.slots.load_slot(self.next.wrapping_sub(1).wrapping_mul(line), self.next)
    }

    /// What the own node gave credit for and what it took.
    fn counts(&self) -> [u32; 2] {
        // Acquire: pair with the releases in `Consumer::give_credit` and `Consumer::pass`.
        [self.credit.load_acquire(0), self.taken.load_acquire(0)]
    }
}

/// One end of a connection: the own region, and the replica of the peer's. `L` stores the lanes.
pub struct Replica<O: OwnMemory, L> {
    own: O,
    replica: O,
    mine: Layout,
    theirs: Layout,
    lanes: L,
    /// Names of returned blocks and their count: the own, as told; the replica's.
    names: O::Words,
    told: u32,
    their_names: O::Words,
    their_count: O::Words,
    came: u32,
    /// Whether credit came for an entry whose sender is to be rung then.
    acknowledged: bool,
    /// The lane whose turn it is to send.
    turn: usize,
    /// Bytes of its next entry's block that are sent.
    cut: u32,
    /// Numbers of the next frames.
    out: u16,
    into: u16,
    /// The medium may still bring what a frame held, which is not released yet.
    brings: bool,
    pulse: Pulse,
    sent: Instant,
    heard: Instant,
}

/// The lanes of two regions: the own, and the replica of the peer's, which is formatted like it.
///
/// # Errors
/// One of them is no region.
pub fn lanes<'a, O: OwnMemory>(
    own: &'a O,
    replica: &'a O,
    line: u32,
) -> Result<impl Iterator<Item = Result<Lane<O>, OutOfRange>> + use<'a, O>, Corrupt> {
    let (mine, theirs) = (Layout::read(own, line)?, Layout::read(replica, line)?);
    let channels = (0..mine.channels().min(theirs.channels())).map(Ring::Channel);
    let rings = core::iter::once(Ring::Messages).chain(channels);
    Ok(rings.map(move |ring| Lane::new(ring, (&mine, own), (&theirs, replica))))
}

impl<O: OwnMemory, L: DerefMut<Target = [Lane<O>]>> Replica<O, L> {
    /// A connection over which nothing has travelled. `lanes` are [those](lanes) of the two
    /// regions.
    ///
    /// # Errors
    /// One of them is no region.
    pub fn new(
        (own, replica): (O, O),
        lanes: L,
        line: u32,
        pulse: Pulse,
        now: Instant,
    ) -> Result<Self, Corrupt> {
        let (mine, theirs) = (Layout::read(&own, line)?, Layout::read(&replica, line)?);
        let small = |_: OutOfRange| Corrupt::Header;
        Ok(Replica {
            names: mine.returns_in(&own).map_err(small)?,
            told: 0,
            their_names: theirs.returns_in(&replica).map_err(small)?,
            their_count: theirs.credit_in(&replica, Ring::Messages).map_err(small)?,
            came: 0,
            own,
            replica,
            mine,
            theirs,
            lanes,
            acknowledged: false,
            turn: 0,
            cut: 0,
            out: 0,
            into: 0,
            brings: false,
            pulse,
            sent: now,
            heard: now,
        })
    }

    /// Sends what the own node has published since the last time, as far as there is room. False if
    /// something is left.
    ///
    /// # Errors
    /// [`Closed::Lost`]: nothing will be sent any more. What the peer had sent is still received.
    pub fn send<F: Frames<Buffer = O>>(
        &mut self,
        frames: &mut F,
        now: Instant,
    ) -> Result<bool, Closed> {
        let mut all = true;
        for _ in 0..self.lanes.len() {
            let done = self.send_lane(frames, now)?;
            all &= done;
            if self.cut > 0 {
                // Another lane's block would be taken for the rest of this one.
                return Ok(false);
            }
            self.turn = (self.turn + 1) % self.lanes.len();
        }
        all &= self.send_returns(frames, now)?;
        let due = self.pulse.heartbeat.is_some_and(|every| now.since(self.sent) >= every);
        if due {
            self.say(frames, now, &mut [ALIVE, 0, 0, 0], None)?;
        }
        Ok(all)
    }

    /// Tells the peer that this end ends the connection in order. False if there is no room to.
    pub fn part<F: Frames<Buffer = O>>(&mut self, frames: &mut F, now: Instant) -> bool {
        self.say(frames, now, &mut [BYE, 0, 0, 0], None) != Ok(false)
    }

    /// Takes frames that have come, at most some. True if something was stored in the replica, or
    /// is being brought there: behind a full fence, see whether the node is to be
    /// [rung](Replica::rings).
    ///
    /// # Errors
    /// Why the connection has ended. What came before is in the replica.
    pub fn receive<F: Frames<Buffer = O>>(
        &mut self,
        frames: &mut F,
        now: Instant,
    ) -> Result<bool, Closed> {
        let mut stored = false;
        for _ in 0..TURN {
            if !self.brings {
                let mut header = [0; LONGEST];
                let len = match frames.try_receive(&mut header) {
                    Ok(len) => len,
                    Err(NoFrame::Gone) => return Err(Closed::Lost),
                    Err(NoFrame::Empty) if self.is_silent(now) => return Err(Closed::TimedOut),
                    Err(NoFrame::Empty) => return Ok(stored),
                };
                if let Err(why) = self.take(frames, &header, len) {
                    frames.release();
                    return Err(why);
                }
                self.heard = now;
            }
            stored = true;
            // What is behind it waits: an entry comes behind the bytes of its block.
            self.brings = frames.brings();
            if self.brings {
                return if self.is_silent(now) { Err(Closed::TimedOut) } else { Ok(true) };
            }
            frames.release();
            self.into = self.into.wrapping_add(1);
            if frames.is_drained() {
                break;
            }
        }
        Ok(stored)
    }

    /// Whether nothing has come for longer than the peer may be silent.
    fn is_silent(&self, now: Instant) -> bool {
        self.pulse.patience.is_some_and(|patience| now.since(self.heard) >= patience)
    }

    /// Asks the own node to ring for the next thing it publishes, gives credit for, or returns.
    /// Then comes a full fence, and what it published meanwhile is [sent](Replica::send) before
    /// this end sleeps.
    pub fn arm(&self) {
        self.arm_for_entries();
        self.want(1);
    }

    /// Asks it to ring for the next entry it publishes. What it gives credit for and returns can go
    /// with that.
    pub fn arm_for_entries(&self) {
        for lane in self.lanes.iter() {
            lane.their_armed.store(0, if lane.next == 0 { u32::MAX } else { lane.next });
        }
    }

    /// Asks it not to ring.
    pub fn disarm(&self) {
        self.lanes.iter().for_each(|lane| lane.their_armed.store(0, 0));
        self.want(0);
    }

    fn want(&self, wanted: u32) {
        if let Ok(want) = self.theirs.want_in(&self.replica) {
            want.store(0, wanted);
        }
    }

    /// Whether the own node is to be rung for what was stored in the replica since the last time:
    /// because it sleeps and wants to be, or because it asked for acknowledgement by interrupt.
    /// Behind a full fence.
    pub fn rings(&mut self) -> bool {
        // Relaxed: the fence on each side orders it, as between nodes that share memory.
        let wants = self.mine.want_in(&self.own).is_ok_and(|want| want.load(0) != 0);
        let acknowledged = core::mem::take(&mut self.acknowledged);
        acknowledged || wants || self.lanes.iter().any(|lane| lane.tx.must_ring())
    }

    /// Whether the own node has published, given credit for and returned nothing since the last
    /// time. Behind a full fence after [`Replica::arm`].
    pub fn is_quiet(&self) -> bool {
        let line = self.mine.line() / 4;
        let quiet = |lane: &Lane<O>| lane.waiting(line).is_none() && lane.counts() == lane.told;
        let counts = self.mine.credit_in(&self.own, Ring::Messages);
        let returned = counts.is_ok_and(|counts| counts.load_acquire(1) != self.told);
        !returned && self.lanes.iter().all(quiet)
    }

    /// When this end has to be looked at next though nothing comes and nothing is published.
    pub fn next_look(&self) -> Option<Instant> {
        let beat = self.pulse.heartbeat.map(|every| self.sent + every);
        let end = self.pulse.patience.map(|patience| self.heard + patience);
        beat.into_iter().chain(end).min()
    }
}
