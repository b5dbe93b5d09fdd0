//! What a chip or a host takes for the parts of a request.

use super::{Idle, ModelError};

/// What copying takes, in a memory of some kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Access<T> {
    /// A byte written.
    pub write: T,
    /// A byte read.
    pub read: T,
    /// A payload that lies in a block, whatever its length.
    pub block: T,
}

/// The most spans of [`Pool`].
pub const SPANS: usize = 8;

/// Payloads up to some length.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Span<T> {
    /// Bytes of the longest.
    pub longest: u32,
    /// Copying them.
    pub access: Access<T>,
}

/// Copying into and out of the blocks of a memory. Blocks of one length may fall on other lines of
/// a small cache than those of another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pool<T> {
    /// Each with longer payloads than the one before; those behind the last used are all zero.
    pub spans: [Span<T>; SPANS],
}

impl<T: Copy + Default> Pool<T> {
    /// Blocks of all lengths take the same.
    pub fn even(access: Access<T>) -> Pool<T> {
        let mut pool = Pool::default();
        pool.spans[0] = Span { longest: u32::MAX, access };
        pool
    }

    /// Copying a payload of this many bytes. A longer one than was thought of is copied as the
    /// longest.
    pub fn of(&self, bytes: u32) -> Access<T> {
        let used = self.spans.iter().take_while(|span| span.longest > 0);
        let fits = used.clone().find(|span| span.longest >= bytes);
        fits.or_else(|| used.last()).map_or_else(Access::default, |span| span.access)
    }
}

/// One of the two sides of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Side<T> {
    /// A request and its response, beside all that follows (the source's O^R).
    pub request: T,
    /// Each request of a message but the first, and its response.
    pub further: T,
    /// Being told by an interrupt (O_I).
    pub interrupt: T,
    /// A look of a core that sleeps in between (O_P).
    pub poll: T,
    /// A look of a core that does nothing else.
    pub look: T,
    /// The bell of an acknowledgement by interrupt, while it does so.
    pub rung: T,
    /// What a request takes it more that sleeps while the other core looks all the time, beside its
    /// copies.
    pub looked: T,
    /// Timers end on multiples of this; zero if they end at any moment.
    pub tick: T,
    /// What a tick takes of the core.
    pub ticked: T,
    /// Going to sleep until a request is due, and being woken then.
    pub timer: T,
    /// From when a sleep is to end until the core goes on, beside the tick.
    pub late: T,
    /// Copying into and out of internal memory (R_I).
    pub internal: Pool<T>,
    /// Copying into and out of external memory (R_E).
    pub external: Pool<T>,
    /// What copying takes more while the other core spins, whose looks are on the bus as well:
    /// internal memory.
    pub internal_spin: Access<T>,
    /// Likewise in external memory.
    pub external_spin: Access<T>,
    /// Copying a request from the block that it was made in to the one that gathers several: in
    /// internal memory, and in external memory.
    pub gather: [T; 2],
    /// Copying into and out of a slot of the ring.
    pub slot: Access<T>,
    /// Keeping the cache right of a byte in external memory that the copy engine moves.
    pub upkeep: T,
    /// What a call takes more that finds nothing in the caches; `block` is what has no length:
    /// code, and tables. No part of the load: it comes once.
    pub cold: Access<T>,
    /// Bytes of its caches for data, if it has any: what a payload is longer it finds in none of
    /// them at any call, so its first call takes no more for that.
    pub caches: Option<u32>,
}

/// The copy engine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Engine<T> {
    /// Setting up a descriptor: time of the core.
    pub descriptor: T,
    /// A byte, while the core does something else.
    pub byte: T,
    /// From its end until the core goes on.
    pub completion: T,
}

/// How long a polling core goes on looking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Polling {
    /// Without end, whether or not a response is awaited, as the source has it.
    Always,
    /// While a response is awaited, as the stack does.
    #[default]
    WhileWaiting,
}

/// How many buffers a flow needs whose responses are polled for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Buffers {
    /// ceil(P / T), at least one: enough if looks and requests keep step. What the layouts of the
    /// source's gateway need.
    InStep,
    /// ceil(P / T) + 1, and ceil(D / T) more where requests queue: enough whenever looks come.
    #[default]
    Any,
}

/// Where responses go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Results {
    /// Where the request was, as the source has it: a buffer is the longer of the two.
    Shared,
    /// Into memory of the other side's, as in the stack: a buffer is both.
    #[default]
    Own,
}

/// Whether the load has what an application itself does with payload in shared memory, where a
/// driver does not copy it: makes a request there, or reads one or a response there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InPool {
    /// It has, at the rates of that memory, as a run's processor time has it.
    #[default]
    Counted,
    /// It has not: that is the application's.
    Free,
}

/// What the model knows of a machine.
///
/// As `Parameters<f64>` in SI units: seconds, and for copying and the engine's bytes seconds a
/// byte. As [`Costs`] in picoseconds, and picoseconds for 1024 bytes: what the model computes with,
/// so that a board without a floating point unit needs none.
///
/// Where each comes from: a platform file's constants or a calibrating simulation, `narrows
/// calibrate` on a host, S1 section 3.2 and S0 section 3.6 for the source's own chip.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parameters<T> {
    /// The core that calls (GPP).
    pub caller: Side<T>,
    /// The core that is called (DSP), without the function's own time.
    pub callee: Side<T>,
    /// The copy engine, for payload in external memory.
    pub engine: Engine<T>,
    /// Likewise in internal memory.
    pub engine_internal: Engine<T>,
    /// The longest payload that travels in a slot of the ring, in bytes, where no driver made it in
    /// a block.
    pub in_slot: u32,
    /// From ringing a bell until the core that it wakes begins to take the interrupt: no core's
    /// time.
    pub wake: T,
    /// From when a request is due, which the calling core sleeps for, until it is begun, beside the
    /// tick; and what the call then takes longer for caches that are cold.
    pub rested: T,
    /// What a call takes more where cores have slept for long.
    pub idle: Idle<T>,
    /// What either side takes at most more for a call than on average: all blocks of a class that
    /// are taken back at once, ticks of the clock. No part of the load, whose parameters are means.
    pub seldom: T,
    /// Likewise of calls for which both cores look all the time.
    pub seldom_spin: T,
    /// What one of this many calls takes more than on average, for the same reasons; of none if 0.
    pub spike: T,
    /// How many calls have one such among them.
    pub one_in: u32,
    /// Acknowledgement by interrupt: time of the calling core for each request.
    pub ack_interrupt: T,
    /// The same where responses are looked for: the bell comes while the core sleeps until its
    /// next look.
    pub ack_polled: T,
    /// Lazy acknowledgement: likewise.
    pub ack_lazy: T,
    /// Acknowledgement in batches: likewise.
    pub ack_batched: T,
    /// What copies in external memory take more while a core of the other side copies there too, in
    /// parts per million of the time for which both would.
    pub contended: u32,
    /// What all else that a core does takes more while a core of the other side copies in external
    /// memory, likewise, and what the copy takes more.
    pub disturbed: u32,
    /// How long a polling core goes on looking.
    pub polling: Polling,
    /// How many buffers polling needs.
    pub buffers: Buffers,
    /// Where responses go.
    pub results: Results,
    /// Whether payload that is not copied takes any time.
    pub in_pool: InPool,
}

/// Parameters in picoseconds, and picoseconds for 1024 bytes.
pub type Costs = Parameters<u64>;

/// Picoseconds of a second.
const PICOS: f64 = 1e12;
/// The longest time, in seconds: an hour.
const LONGEST: f64 = 3600.0;

/// A time as picoseconds.
fn picos(seconds: f64, times: f64) -> Result<u64, ModelError> {
    if !(0.0..=LONGEST).contains(&seconds) {
        return Err(ModelError::Parameter);
    }
    // In range, so nothing is cut off but the fraction.
    Ok((seconds * times * PICOS + 0.5) as u64)
}

impl Access<u64> {
    /// Both of them together.
    pub(super) fn and(self, more: Access<u64>) -> Access<u64> {
        Access {
            write: self.write.saturating_add(more.write),
            read: self.read.saturating_add(more.read),
            block: self.block.saturating_add(more.block),
        }
    }
}

impl<T: Copy> Access<T> {
    fn convert<U>(
        &self,
        time: impl Fn(T) -> Result<U, ModelError>,
        rate: impl Fn(T) -> Result<U, ModelError>,
    ) -> Result<Access<U>, ModelError> {
        Ok(Access { write: rate(self.write)?, read: rate(self.read)?, block: time(self.block)? })
    }
}

impl<T: Copy> Pool<T> {
    fn convert<U: Copy + Default>(
        &self,
        time: impl Fn(T) -> Result<U, ModelError> + Copy,
        rate: impl Fn(T) -> Result<U, ModelError> + Copy,
    ) -> Result<Pool<U>, ModelError> {
        let mut pool = Pool::default();
        for (span, was) in pool.spans.iter_mut().zip(&self.spans) {
            *span = Span { longest: was.longest, access: was.access.convert(time, rate)? };
        }
        Ok(pool)
    }
}

impl<T: Copy> Engine<T> {
    fn convert<U>(
        &self,
        time: impl Fn(T) -> Result<U, ModelError>,
        rate: impl Fn(T) -> Result<U, ModelError>,
    ) -> Result<Engine<U>, ModelError> {
        Ok(Engine {
            descriptor: time(self.descriptor)?,
            byte: rate(self.byte)?,
            completion: time(self.completion)?,
        })
    }
}

impl<T> Side<T> {
    /// Of this many bytes of a payload those that a call may find in the caches.
    #[must_use]
    pub fn cached(&self, bytes: u32) -> u32 {
        self.caches.map_or(bytes, |most| bytes.min(most))
    }
}

impl<T: Copy> Side<T> {
    fn convert<U: Copy + Default>(
        &self,
        time: impl Fn(T) -> Result<U, ModelError> + Copy,
        rate: impl Fn(T) -> Result<U, ModelError> + Copy,
    ) -> Result<Side<U>, ModelError> {
        Ok(Side {
            request: time(self.request)?,
            further: time(self.further)?,
            interrupt: time(self.interrupt)?,
            poll: time(self.poll)?,
            look: time(self.look)?,
            rung: time(self.rung)?,
            looked: time(self.looked)?,
            tick: time(self.tick)?,
            ticked: time(self.ticked)?,
            timer: time(self.timer)?,
            late: time(self.late)?,
            internal: self.internal.convert(time, rate)?,
            external: self.external.convert(time, rate)?,
            internal_spin: self.internal_spin.convert(time, rate)?,
            external_spin: self.external_spin.convert(time, rate)?,
            gather: [rate(self.gather[0])?, rate(self.gather[1])?],
            slot: self.slot.convert(time, rate)?,
            upkeep: rate(self.upkeep)?,
            cold: self.cold.convert(time, rate)?,
            caches: self.caches,
        })
    }
}

impl Access<f64> {
    /// What two payloads of this many bytes take, one written and one read, in seconds.
    pub fn both(&self, bytes: u32) -> f64 {
        2.0 * self.block + (self.write + self.read) * f64::from(bytes)
    }
}

impl Pool<f64> {
    /// What two payloads of this many bytes take, as of [`Access::both`].
    pub fn both(&self, bytes: u32) -> f64 {
        self.of(bytes).both(bytes)
    }
}

impl Parameters<f64> {
    /// The same in picoseconds.
    ///
    /// # Errors
    /// [`ModelError::Parameter`] for one that is not a number, below zero or over an hour. Nothing
    /// but other parameters helps.
    pub fn costs(&self) -> Result<Costs, ModelError> {
        let time = |seconds| picos(seconds, 1.0);
        let rate = |seconds| picos(seconds, 1024.0);
        Ok(Parameters {
            caller: self.caller.convert(time, rate)?,
            callee: self.callee.convert(time, rate)?,
            engine: self.engine.convert(time, rate)?,
            engine_internal: self.engine_internal.convert(time, rate)?,
            in_slot: self.in_slot,
            wake: time(self.wake)?,
            rested: time(self.rested)?,
            idle: self.idle.convert(time)?,
            seldom: time(self.seldom)?,
            seldom_spin: time(self.seldom_spin)?,
            spike: time(self.spike)?,
            one_in: self.one_in,
            ack_interrupt: time(self.ack_interrupt)?,
            ack_polled: time(self.ack_polled)?,
            ack_lazy: time(self.ack_lazy)?,
            ack_batched: time(self.ack_batched)?,
            contended: self.contended,
            disturbed: self.disturbed,
            polling: self.polling,
            buffers: self.buffers,
            results: self.results,
            in_pool: self.in_pool,
        })
    }
}
