//! The two sides of a bench: batches of the limit and of the stack, between the same two.

mod messages;
pub mod parts;

use std::io;
use std::time::Duration;

use narrows::endpoint::{CallError, FlowError, FlowId, SendError};
use narrows::strategy::{Placement, Strategy};
use narrows_host::Host;

use super::limit::{Kind as Floor, Pace};
use crate::base::failure::{Failure, Kind};
use crate::base::options::{Cores, Global};
use crate::rig::pair::messages::in_laps;
use crate::rig::pair::parts::Parts;
use crate::rig::peer::{Options, Peer, cores_of};
use crate::rig::place::{Allowed, Place};
use crate::rig::service::Mode;

/// The longest wait for the other side to agree to something.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// How often an exchange of several calls is repeated in a batch.
const REPEATS: u64 = 8;
/// The caller's port, where messages come back to.
pub(super) const PORT: u16 = 3;

/// Two sides, each on its core.
pub struct Pair<P: Place = Host> {
    /// The other one.
    pub peer: Peer<P>,
    /// What the machine itself allows, where that can be measured.
    limits: Option<P::Allowed>,
    /// A payload; its first bytes are the message's number.
    pub(super) out: Vec<u8>,
    pub(super) back: Vec<u8>,
    measuring: bool,
    /// Whether both sides are on one core, where one of them sleeps or gives way while the other
    /// runs.
    one_core: bool,
}

impl Pair {
    /// Starts the other process and pins both. Payloads have up to `longest` bytes; the nodes have
    /// room for this many links, if that is said.
    ///
    /// # Errors
    /// What the machine refused.
    pub fn start(
        global: &Global,
        engine: bool,
        longest: usize,
        links: Option<usize>,
    ) -> Result<Pair, Failure> {
        let cores: Cores = cores_of(global)?;
        let options = Options {
            priority: global.priority,
            lock_memory: global.lock_memory,
            engine,
            limits: true,
            longest,
            links,
            ..Options::default()
        };
        let pair = Pair::new(Peer::start(cores, &options)?, longest)?;
        Ok(Pair { one_core: cores.are_one(), ..pair })
    }

    /// As [`Pair::limit`], which processes of this machine have.
    ///
    /// # Errors
    /// The other side is gone.
    pub fn floor(&mut self, floor: Floor, bytes: usize) -> Result<f64, Failure> {
        self.allowed(floor, bytes, Placement::External)
    }

    /// As [`Pair::floor`], at a pace of its own.
    ///
    /// # Errors
    /// The other side is gone.
    pub fn floor_at(&mut self, pace: Pace, floor: Floor, bytes: usize) -> Result<f64, Failure> {
        let iterations = floor.iterations(bytes);
        let limit = self.limited(|limits| limits.batch_at(pace, floor, bytes, iterations))?;
        limit.ok_or_else(no_limits)
    }
}

impl<P: Place> Pair<P> {
    /// With a peer, for payloads of up to `longest` bytes.
    pub(crate) fn new(mut peer: Peer<P>, longest: usize) -> Result<Pair<P>, Failure> {
        let limits = peer.limits.take();
        peer.node.open(PORT).map_err(|_| defect("a port is in use"))?;
        if peer.node.link(peer.link).attach(PORT).is_err() {
            return Err(peer.lost());
        }
        let out = (0..longest).map(|at| (at * 7) as u8).collect();
        Ok(Pair { peer, limits, out, back: vec![0; longest], measuring: false, one_core: false })
    }

    /// Time for laps.
    pub(super) fn timer(&self) -> P::Timer {
        self.peer.node.platform().timer()
    }

    /// Says on standard error what the machine refused.
    pub fn warn(&self) {
        for warning in &self.peer.warnings {
            eprintln!("narrows: {warning}");
        }
    }

    /// One batch of a limit, with payloads in memory of that placement: nanoseconds of an
    /// iteration; none where there are no limits to measure.
    ///
    /// # Errors
    /// The other side is gone.
    pub fn limit(
        &mut self,
        floor: Floor,
        bytes: usize,
        placement: Placement,
    ) -> Result<Option<f64>, Failure> {
        self.limited(|limits| limits.batch(floor, bytes, placement))
    }

    /// As [`Pair::limit`], where there are limits.
    ///
    /// # Errors
    /// The other side is gone.
    pub fn allowed(
        &mut self,
        floor: Floor,
        bytes: usize,
        placement: Placement,
    ) -> Result<f64, Failure> {
        self.limit(floor, bytes, placement)?.ok_or_else(no_limits)
    }

    fn limited(
        &mut self,
        measure: impl FnOnce(&mut P::Allowed) -> io::Result<f64>,
    ) -> Result<Option<f64>, Failure> {
        if self.limits.is_none() {
            return Ok(None);
        }
        if P::Allowed::SERVED {
            self.limit_mode(true)?;
        }
        let measured = self.limits.as_mut().map(measure).transpose();
        measured.map_err(|error| self.peer.broken(&error.to_string()))
    }

    /// Has the other side serve the limits, or calls again.
    pub(crate) fn limit_mode(&mut self, on: bool) -> Result<(), Failure> {
        if on != self.measuring {
            self.peer.mode(if on { Mode::Limits } else { Mode::Calls })?;
            self.measuring = on;
        }
        Ok(())
    }

    /// Opens a flow of calls that the other side echoes.
    ///
    /// # Errors
    /// The strategy cannot be had here, or the other side is gone.
    pub fn echo(&mut self, strategy: Strategy) -> Result<FlowId, Failure> {
        self.echo_up_to(strategy, self.out.len())
    }

    fn echo_up_to(&mut self, strategy: Strategy, longest: usize) -> Result<FlowId, Failure> {
        self.limit_mode(false)?;
        self.peer.flow("echo", strategy, u32::try_from(longest).unwrap_or(u32::MAX))
    }

    /// Whether a strategy can be had here, with payloads of this many bytes.
    ///
    /// # Errors
    /// [`Kind::Usage`] if it cannot; the other side is gone.
    pub fn check(&mut self, strategy: Strategy, bytes: usize) -> Result<(), Failure> {
        self.limit_mode(false)?;
        match self.peer.try_flow("echo", strategy, 64) {
            Ok(flow) => {
                self.close(flow, strategy)?;
                let layouts = self.peer.node.link(self.peer.link).layouts();
                let (own, theirs) = layouts.map_err(|_| self.peer.lost())?;
                let place = strategy.placement;
                let longest = own.longest(place).min(theirs.longest(place)) as usize;
                if bytes > longest {
                    let text = format!(
                        "{place} memory carries messages up to {longest} bytes here: choose \
                         smaller ones with --bytes than {bytes}, or another memory"
                    );
                    return Err(Failure::new(Kind::Usage, text));
                }
                Ok(())
            }
            Err(error @ (FlowError::Infeasible | FlowError::Strategy(_))) => {
                let text = format!("{strategy} cannot be had here: {}", error);
                Err(Failure::new(Kind::Usage, text))
            }
            Err(error) => Err(self.peer.explain_flow("echo", strategy, error)),
        }
    }

    /// Closes a flow.
    ///
    /// # Errors
    /// The other side is gone.
    pub fn close(&mut self, flow: FlowId, strategy: Strategy) -> Result<(), Failure> {
        let closed = self.peer.node.flow(flow).close();
        closed.map_err(|error| self.peer.explain_flow("echo", strategy, error))
    }

    /// A batch of calls, one after the other: nanoseconds of a round trip, the median.
    ///
    /// # Errors
    /// The other side is gone, or a response is not what was sent.
    pub fn calls(&mut self, strategy: Strategy, bytes: usize, count: u64) -> Result<f64, Failure> {
        let flow = self.echo(strategy)?;
        let ns = in_laps(self.timer(), self.lap(&strategy), count, |number| {
            self.trip(flow, &strategy, number, bytes)
        })?;
        self.intact(bytes)?;
        self.close(flow, strategy)?;
        Ok(ns)
    }

    /// One call, marked with a number.
    ///
    /// # Errors
    /// The other side is gone.
    #[inline(always)]
    pub(crate) fn trip(
        &mut self,
        flow: FlowId,
        strategy: &Strategy,
        number: u64,
        bytes: usize,
    ) -> Result<(), Failure> {
        self.number(number, bytes);
        let called = self.call(flow, strategy, bytes);
        called.map_err(|error| self.peer.explain_call(error))
    }

    /// As [`Pair::calls`], with stamps on; also the median of each phase in nanoseconds.
    ///
    /// # Errors
    /// As [`Pair::calls`]; or the stamps do not tell a single call.
    pub fn traced(
        &mut self,
        strategy: Strategy,
        bytes: usize,
        count: u64,
    ) -> Result<(f64, Parts), Failure> {
        self.limit_mode(false)?;
        self.peer.trace()?;
        let ns = self.calls(strategy, bytes, count)?;
        let (own, theirs) = self.peer.take_trace()?;
        let parts = Parts::of(&own, &theirs, self.peer.scale());
        let parts = parts.ok_or_else(|| defect("the stamps of a batch do not tell one call"))?;
        Ok((ns, parts))
    }

    /// An exchange in several calls, one after the other: nanoseconds for all of them.
    ///
    /// # Errors
    /// As [`Pair::calls`].
    pub fn exchange(
        &mut self,
        strategy: Strategy,
        bytes: usize,
        count: u16,
    ) -> Result<f64, Failure> {
        let ns = self.calls(strategy, bytes, u64::from(count) * REPEATS)?;
        Ok(ns * f64::from(count))
    }

    /// Requests started together, gathered into one message and finished together: nanoseconds for
    /// all of them.
    ///
    /// # Errors
    /// As [`Pair::calls`].
    pub fn together(
        &mut self,
        strategy: Strategy,
        bytes: usize,
        count: u16,
    ) -> Result<f64, Failure> {
        let strategy = Strategy { granularity: count.max(1), ..strategy };
        let flow = self.echo_up_to(strategy, bytes)?;
        let Pair { peer, out, back, .. } = self;
        let request = out.get(..bytes).unwrap_or_default();
        let start = peer.node.platform().time();
        for _ in 0..REPEATS {
            for _ in 0..count {
                if let Err(error) = peer.node.flow(flow).start(request) {
                    return Err(peer.explain_send(error));
                }
            }
            for _ in 0..count {
                if let Err(error) = peer.node.flow(flow).finish(back, None) {
                    return Err(peer.explain_call(error));
                }
            }
        }
        let took = peer.node.platform().time().since(start);
        let ns = took.as_nanos() as f64 / REPEATS as f64;
        self.intact(bytes)?;
        self.close(flow, strategy)?;
        Ok(ns)
    }

    fn call(&mut self, flow: FlowId, strategy: &Strategy, bytes: usize) -> Result<(), CallError> {
        let Pair { peer, out, back, .. } = self;
        let request = out.get(..bytes).unwrap_or_default();
        if strategy.transfer.made_in_pool() {
            let mut block = peer.node.flow(flow).reserve(bytes).map_err(CallError::Start)?;
            let made = peer.node.write(&mut block, 0, request);
            made.map_err(|_| CallError::Start(SendError::NotReserved))?;
            let called = peer.node.flow(flow).call(&mut block, back, None);
            called.map(|_| ())
        } else {
            peer.node.flow(flow).call(request, back, None).map(|_| ())
        }
    }

    /// Marks the payload, so that no two messages are alike.
    pub(super) fn number(&mut self, number: u64, bytes: usize) {
        mark(number, self.out.get_mut(..bytes).unwrap_or_default());
    }

    pub(super) fn payload(&self, bytes: usize) -> &[u8] {
        self.out.get(..bytes).unwrap_or_default()
    }

    /// Whether the last payload came back as it was sent.
    pub(crate) fn intact(&self, bytes: usize) -> Result<(), Failure> {
        match self.back.get(..bytes) == Some(self.payload(bytes)) {
            true => Ok(()),
            false => Err(corrupted()),
        }
    }
}

fn no_limits() -> Failure {
    defect("the other process has no limits to measure")
}

pub(crate) fn corrupted() -> Failure {
    Failure::new(
        Kind::Peer,
        "a payload did not arrive as it was sent, so the figures would be worthless: start both \
         sides from one build, and report this if it happens again",
    )
}

pub(crate) fn defect(what: &str) -> Failure {
    Failure::new(Kind::Internal, format!("{what}: report this defect"))
}

/// Writes a message's number to the start of its payload.
#[inline]
pub(super) fn mark(number: u64, payload: &mut [u8]) {
    let number = number.to_le_bytes();
    if let Some(to) = payload.first_chunk_mut() {
        *to = number;
    } else {
        for (to, from) in payload.iter_mut().zip(number) {
            *to = from;
        }
    }
}
