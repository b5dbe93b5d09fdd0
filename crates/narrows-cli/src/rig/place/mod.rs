//! What a measurement runs on: a core of this machine or of a simulated chip, with the stack on it.
//!
//! The stack needs a [`Platform`]; a measurement needs a little more: time that looking at does
//! not disturb, stamps, work that takes a given time, and processor time. The code of both sides of
//! a run and of a bench is written against [`Place`] and compiled for each kind of it.

mod host;
mod process;

pub use process::Process;
pub(crate) use process::{FAREWELL, ended};

use narrows::endpoint::{Node, Source};
use narrows::platform::{Instant, Platform, Wait};
use narrows::strategy::Placement;
use narrows_host::Trace;
use narrows_sim::engine::Usage;
use std::io;
use std::time::Duration;

use crate::formats::functions::cost::Cost;
use crate::rig::limit::{Kind, Timer};
use crate::rig::phases::Stamps;

/// A platform that measurements are made on.
pub trait Place: Platform {
    /// This core, apart from its node, which is borrowed while it serves.
    type Core: Core;
    /// Time for laps.
    type Timer: Timer;
    /// What the caller knows of the other side beside the link.
    type Other: Other;
    /// What there is to measure without the stack.
    type Allowed: Allowed;

    /// This core.
    fn core(&self) -> Self::Core;

    /// Time for laps.
    fn timer(&self) -> Self::Timer;

    /// The time, as the measurement takes it: on the scale of [`Platform::now`], and looking takes
    /// none of it where that is possible.
    #[inline]
    fn time(&self) -> Instant {
        self.now()
    }

    /// Turns stamps on or off.
    fn set_tracing(&mut self, on: bool);

    /// The stamps since the last time, and forgets them.
    fn take_trace(&self) -> Trace;

    /// Nanoseconds of a tick of the stamps.
    fn tick(&self) -> f64;

    /// What a stamp costs.
    fn stamps(&self) -> Stamps;

    /// What the cores and buses of the chip have done so far, where it is a simulated one.
    fn usage(&self) -> Option<Usage> {
        None
    }
}

/// A core that works.
pub trait Core: Clone {
    /// Keeps it busy for this time.
    fn work(&self, time: Duration);

    /// Keeps it busy for what a function and serving it took for a request, where running it has
    /// not. What the function took is its cost, or what the core is known to take for a function of
    /// that name.
    fn charge(&self, function: &str, cost: Option<Cost>, request: &dyn Source);

    /// Processor time that was used so far, of the copy engine too where that is a thread.
    fn used(&self) -> Duration;
}

/// What a place allows between two cores without the stack.
pub trait Allowed {
    /// Whether the other side's program takes part, and serves nothing else meanwhile.
    const SERVED: bool;

    /// A batch of a limit, with payloads of this many bytes in memory of that placement:
    /// nanoseconds of an iteration.
    ///
    /// # Errors
    /// The other side is gone, or there is no such payload.
    fn batch(&mut self, kind: Kind, bytes: usize, placement: Placement) -> io::Result<f64>;
}

/// The other side, beside the link.
pub trait Other {
    /// How it ended, if it does within that time.
    fn ended(&mut self, within: Duration) -> Option<String>;

    /// What its stamps cost; none if that is the same as here.
    fn stamps(&self) -> Option<Stamps> {
        None
    }

    /// Lets it go, once the link is closed.
    fn dismiss(&mut self);
}

/// Sleeps until a moment of [`Place::time`], whatever peers ring. What happens at the rendezvous
/// meanwhile is seen to.
pub fn sleep_until<P: Place>(node: &mut Node<P>, until: Instant) {
    while node.platform().time() < until {
        node.platform().wait(std::iter::empty(), Wait::Timer, Some(until));
        node.poll();
    }
}
