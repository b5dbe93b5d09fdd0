//! A process of a simulation as a place.

use std::time::Duration;

use narrows::endpoint::Source;
use narrows::platform::Instant;
use narrows_host::{Record, Trace};
use narrows_sim::chip::Chip;
use narrows_sim::cpu::{Cpu, Stamp};
use narrows_sim::engine::Usage;
use narrows_sim::time::Time;

use super::limits::Limits;
use crate::formats::functions::cost::{Cost, taken};
use crate::rig::limit::Timer;
use crate::rig::phases::Stamps;
use crate::rig::place::{Core, Other, Place};

/// Nanoseconds of a picosecond, in which the simulator counts.
const NANOS: f64 = 1e-3;

impl Place for Cpu {
    type Core = Cpu;
    type Timer = Cpu;
    type Other = Callee;
    type Allowed = Limits;

    fn core(&self) -> Cpu {
        self.clone()
    }

    fn timer(&self) -> Cpu {
        self.clone()
    }

    fn time(&self) -> Instant {
        Instant(Cpu::time(self).as_nanos())
    }

    fn set_tracing(&mut self, on: bool) {
        Cpu::set_tracing(self, on);
    }

    fn take_trace(&self) -> Trace {
        let record = |stamp: Stamp| Record {
            ticks: stamp.time.0,
            id: stamp.id,
            span: stamp.span,
            edge: stamp.edge,
        };
        Trace { records: Cpu::take_trace(self).into_iter().map(record).collect(), overwritten: 0 }
    }

    fn tick(&self) -> f64 {
        NANOS
    }

    fn stamps(&self) -> Stamps {
        stamps(self.chip(), Cpu::core(self))
    }

    fn usage(&self) -> Option<Usage> {
        Some(Cpu::usage(self))
    }
}

impl Core for Cpu {
    fn work(&self, time: Duration) {
        self.compute(time.into());
    }

    fn charge(&self, function: &str, cost: Option<Cost>, request: &dyn Source) {
        if let Some(core) = self.chip().cores.get(Cpu::core(self)) {
            let bytes = u32::try_from(request.len()).unwrap_or(u32::MAX);
            let serving = core.serving(bytes, request.in_place());
            self.compute(taken(core, function, cost, request.len()) + serving);
        }
    }

    fn used(&self) -> Duration {
        self.busy().into()
    }
}

impl Timer for Cpu {
    type Moment = Time;

    fn moment(&self) -> Time {
        Cpu::time(self)
    }

    fn nanos(&self, start: Time, end: Time) -> f64 {
        end.since(start).0 as f64 * NANOS
    }

    fn pass(&self, nanos: u64) {
        self.compute(Time::nanos(nanos));
    }
}

/// What a stamp costs on a core of a chip.
fn stamps(chip: &Chip, core: usize) -> Stamps {
    let Some(core) = chip.cores.get(core) else { return Stamps::default() };
    let nanos = |cost: narrows_sim::time::Cost| cost.at(core.clock).0 as f64 * NANOS;
    Stamps { usual: nanos(core.timer.read), outer: nanos(core.timer.read_user) }
}

/// The other side of a simulation. What becomes of it comes over the link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Callee {
    stamps: Stamps,
}

impl Callee {
    /// On a core of a chip.
    pub(super) fn new(chip: &Chip, core: usize) -> Callee {
        Callee { stamps: stamps(chip, core) }
    }
}

impl Other for Callee {
    fn ended(&mut self, _: Duration) -> Option<String> {
        None
    }

    fn stamps(&self) -> Option<Stamps> {
        Some(self.stamps)
    }

    fn dismiss(&mut self) {}
}
