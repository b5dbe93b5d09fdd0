//! This machine.

use narrows::endpoint::Source;
use narrows::strategy::Placement;
use narrows_host::{Host, Trace, system};
use std::hint::spin_loop;
use std::io;
use std::time::{Duration, Instant};

use super::{Allowed, Core, Place};
use crate::formats::functions::cost::Cost;
use crate::rig::limit::{Clock, Kind, Limits};
use crate::rig::phases::Stamps;
use crate::rig::place::Process;

impl Place for Host {
    type Core = ThisProcess;
    type Timer = Clock;
    type Other = Process;
    type Allowed = Limits;

    fn core(&self) -> ThisProcess {
        ThisProcess
    }

    fn timer(&self) -> Clock {
        Clock::get()
    }

    fn set_tracing(&mut self, on: bool) {
        Host::set_tracing(self, on);
    }

    fn take_trace(&self) -> Trace {
        Host::take_trace(self)
    }

    fn tick(&self) -> f64 {
        Host::nanos_per_tick()
    }

    fn stamps(&self) -> Stamps {
        Stamps::alike(Host::stamp_cost())
    }
}

impl Allowed for Limits {
    const SERVED: bool = true;

    /// There is one kind of memory.
    fn batch(&mut self, kind: Kind, bytes: usize, _: Placement) -> io::Result<f64> {
        self.caller_batch(kind, bytes, kind.iterations(bytes))
    }
}

/// The process that the node belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThisProcess;

impl Core for ThisProcess {
    /// Does not give the core away meanwhile.
    fn work(&self, time: Duration) {
        let start = Instant::now();
        while start.elapsed() < time {
            spin_loop();
        }
    }

    #[inline]
    fn charge(&self, _: &str, _: Option<Cost>, _: &dyn Source) {}

    fn used(&self) -> Duration {
        system::process_time()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_at_least_the_time_asked_for() {
        let start = Instant::now();
        ThisProcess.work(Duration::from_millis(2));
        assert!(start.elapsed() >= Duration::from_millis(2));
    }
}
