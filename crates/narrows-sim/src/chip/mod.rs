//! A chip as a table of facts: what a platform file says.
//!
//! [`Chip::parse`] reads a file, [`shipped`] has those that come with the program. What each key
//! means, and when its cost is charged, is in `docs/PLATFORMS.md`.

mod accelerator;
mod bridge;
mod call;
mod check;
mod clock;
mod cluster;
#[cfg(test)]
mod cluster_tests;
mod link;
#[cfg(test)]
mod mistake_tests;
mod parse;
mod port;
mod read;
mod route;
#[cfg(test)]
mod route_tests;
mod shipped;
#[cfg(test)]
mod shipped_tests;
mod system;
#[cfg(test)]
mod tests;
mod units;

pub use accelerator::Accelerator;
pub use bridge::Bridge;
pub use call::Call;
pub use cluster::{BlockDma, BufferManager, Calls, Cluster, Clusters, Noc, Partitioning};
pub use link::Link;
pub use port::{Dma, DmaMode, Port, PortKind, Ports, Rate, Service};
pub use route::{Net, ROUTE, Route, number};
pub use shipped::{SHIPPED, shipped};
pub use system::{CallCost, System};

use crate::file::{Mistake, Text};
use crate::time::{Cost, Frequency, Time};
use narrows::span::Span;
use std::path::Path;

/// The functions that a platform file may say the cost of: those that every node of `narrows`
/// offers. A name that is none of them would be charged to nobody.
pub const FUNCTIONS: [&str; 7] =
    ["echo", "busy", "g711.encode.a", "g711.encode.mu", "g711.decode.a", "g711.decode.mu", "log"];

/// A chip.
#[derive(Clone, Debug, PartialEq)]
pub struct Chip {
    /// Its name, which is that of its file.
    pub name: String,
    /// One line about it.
    pub about: String,
    /// Buses. Every memory is on one.
    pub buses: Vec<Bus>,
    /// Memories.
    pub memories: Vec<Memory>,
    /// Bridges between cores and buses.
    pub bridges: Vec<Bridge>,
    /// Cores.
    pub cores: Vec<Core>,
    /// Copy engines.
    pub engines: Vec<Engine>,
    /// Where links between cores lie.
    pub link: Link,
    /// Ports between cores, and what serves them.
    pub ports: Ports,
    /// Clusters of its cores, and the network that joins them.
    pub clusters: Option<Clusters>,
    /// How near the model of what strategies cost comes to this chip, where that was measured.
    pub model: Vec<Within>,
}

/// A bus: one transfer at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Bus {
    /// Its name.
    pub name: String,
    /// Its clock.
    pub clock: Frequency,
    /// Bytes of a beat.
    pub width: u32,
    /// Bytes of the longest transfer; a longer one is several, and others may come between.
    pub burst: u32,
    /// What a transfer takes beside its beats: arbitration and address.
    pub overhead: Cost,
    /// Who is next among those that wait.
    pub arbitration: Arbitration,
}

/// Who is next on a bus.
#[derive(Clone, Debug, PartialEq)]
pub enum Arbitration {
    /// Each in turn.
    RoundRobin,
    /// Each in turn, for its own number of transfers in a row: a number for each core and then each
    /// engine, in the order of the file.
    Weighted(Vec<u32>),
}

/// A memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Its name.
    pub name: String,
    /// The bus it is on, by its place in [`Chip::buses`].
    pub bus: usize,
    /// Its size in bytes.
    pub size: u32,
    /// Bytes it takes or gives in a beat, if fewer than the bus.
    pub width: u32,
    /// Before the first beat of a transfer that reads.
    pub read: Cost,
    /// Before the first beat of a transfer that writes.
    pub write: Cost,
    /// For each beat, in place of one bus cycle.
    pub beat: Cost,
    /// Whether cores' data caches keep what lies in it.
    pub cached: bool,
    /// The cores that reach it, by their places in [`Chip::cores`], if not all do.
    pub cores: Option<Vec<usize>>,
    /// What transfers take instead that go on where the one before ended, from how many bytes on;
    /// rising.
    pub stream: Vec<Stream>,
}

/// A stretch of bytes that is read, or written, one transfer behind the other, beyond its
/// beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Bytes of the stretch before this holds.
    pub from: u32,
    /// Before the first beat of a transfer that reads.
    pub read: Cost,
    /// Before the first beat of a transfer that writes.
    pub write: Cost,
}

/// A core.
#[derive(Clone, Debug, PartialEq)]
pub struct Core {
    /// Its name.
    pub name: String,
    /// Its clock.
    pub clock: Frequency,
    /// The clocks that it can have, rising, its own among them; nothing is said if there are none.
    pub clocks: Vec<Frequency>,
    /// The instruction cache; without one, fetching is not simulated.
    pub instructions: Option<Cache>,
    /// The data cache; without one, every access goes over the bus.
    pub data: Option<Cache>,
    /// The second level behind both.
    pub second: Option<Cache>,
    /// The memory that code and private data are fetched from, by its place in [`Chip::memories`].
    pub home: usize,
    /// Bytes of the longest transfer that copying past the caches makes.
    pub burst: u32,
    /// What an access that hits the first-level data cache takes, for each word.
    pub hit: Cost,
    /// What an access that hits the second level takes, for each line.
    pub second_hit: Cost,
    /// What copying takes beside the access to shared memory: once, and for each word.
    pub copy: Copying,
    /// Between two looks of a waiting loop.
    pub poll: Cost,
    /// A full fence.
    pub fence: Cost,
    /// Cleaning or invalidating a line, beside what goes over the bus.
    pub upkeep: Cost,
    /// The clock that software reads.
    pub timer: Timer,
    /// Doorbells of this core.
    pub interrupt: Interrupt,
    /// The operating system.
    pub system: System,
    /// What each stretch of the way takes beside its accesses to shared memory.
    pub spans: Vec<(Span, SpanCost)>,
    /// What functions of applications take for every four bytes of a request, each by its name; one
    /// that is left out takes nothing.
    pub functions: Vec<(String, Cost)>,
    /// What serving a request takes beside its function, from how many of its bytes on; rising.
    pub serve: Vec<Serve>,
}

/// How near the model of what strategies cost comes to the simulation of this chip: of flows by a
/// notification (`mixed` for several), 95 of 100 figures are within these parts of the simulated
/// ones, in percent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Within {
    /// The notification, without its times.
    pub notification: String,
    /// Time of the calling core.
    pub load: u32,
    /// The 99th percentile of latencies.
    pub p99: u32,
}

/// Serving a request beyond its beginning: what every four bytes take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serve {
    /// Bytes of the request before this holds.
    pub from: u32,
    /// Of a request that was copied to memory of the core's own.
    pub copied: Cost,
    /// Of one that is read where its sender made it.
    pub in_place: Cost,
}

/// A cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Bytes.
    pub size: u32,
    /// Bytes of a line.
    pub line: u32,
    /// Lines that an address can be in. One: direct mapped.
    pub ways: u32,
    /// Whether writes stay in it until the line has to go.
    pub write_back: bool,
    /// Whether a write that misses brings the line in.
    pub allocate: bool,
}

/// What copying takes beside the access to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copying {
    /// Once for each copy.
    pub start: Cost,
    /// For each word of four bytes: the loop, and the private side unless that is simulated.
    pub word: Cost,
    /// Whether the private side goes through the data cache, to a buffer of the process's own in
    /// the core's home memory.
    pub private: bool,
}

/// The clock that software reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer {
    /// What it counts in.
    pub resolution: Frequency,
    /// What reading it takes.
    pub read: Cost,
    /// What a stamp takes where the application makes it (A begins, E ends), as opposed to the
    /// system's side: the thesis's user and kernel.
    pub read_user: Cost,
}

/// Doorbells of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// What ringing takes of the core that rings: writing the mailbox.
    pub ring: Cost,
    /// From ringing until the core is interrupted.
    pub latency: Cost,
    /// What the interrupted core takes until its service routine runs, and to return from it.
    pub entry: Cost,
    /// The service routine.
    pub service: Cost,
    /// The code of entry and service, in bytes, for the instruction cache.
    pub code: u32,
}

/// What a stretch of the way takes beside its accesses to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanCost {
    /// When it begins.
    pub enter: Cost,
    /// When it ends.
    pub leave: Cost,
    /// Bytes of code it runs through, for the instruction cache.
    pub code: u32,
    /// Bytes of that, from its beginning on, that it runs through once more.
    pub again: u32,
    /// Words of its stack and of control blocks, for the data cache.
    pub words: u32,
}

impl SpanCost {
    /// Nothing.
    pub const NONE: SpanCost =
        SpanCost { enter: Cost::NONE, leave: Cost::NONE, code: 0, again: 0, words: 0 };
}

/// A copy engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Engine {
    /// Its name.
    pub name: String,
    /// Its clock.
    pub clock: Frequency,
    /// Cores it works for, by their places in [`Chip::cores`].
    pub cores: Vec<usize>,
    /// What a core takes to set up a transfer.
    pub setup: Cost,
    /// What a core takes to write each descriptor of a chain.
    pub descriptor: Cost,
    /// What the engine takes to fetch a descriptor.
    pub fetch: Cost,
    /// Bytes of a descriptor in memory: fetched over the bus; 0: it has registers of its own.
    pub descriptor_bytes: u32,
    /// Bytes it moves in one bus transfer.
    pub burst: u32,
    /// From its last beat until its bell interrupts the core.
    pub completion: Cost,
    /// What a core takes to have the next chain come to another buffer, where chains come to it.
    pub refill: Cost,
}

impl Chip {
    /// Reads a platform file. The chip's name is that of the file, without its ending.
    ///
    /// # Errors
    /// The first mistake in it, with the file's name and its place.
    pub fn parse(file: impl AsRef<Path>, text: &str) -> Result<Chip, Mistake> {
        parse::chip(Text { path: file.as_ref(), text })
    }

    /// The same chip with timers that take no time to read: what stamps cost is not in what is
    /// measured.
    #[must_use]
    pub fn with_free_timers(mut self) -> Chip {
        for core in &mut self.cores {
            (core.timer.read, core.timer.read_user) = (Cost::NONE, Cost::NONE);
        }
        self
    }

    /// The same with another clock of a core: all its own times go with it, those of memories and
    /// buses do not.
    #[must_use]
    pub fn with_clock(mut self, core: usize, clock: Frequency) -> Chip {
        if let Some(core) = self.cores.get_mut(core) {
            core.slow(core.clock.0 as f64 / clock.0.max(1) as f64);
            core.clock = clock;
        }
        self
    }

    /// The chip that is shipped under this name.
    #[must_use]
    pub fn shipped(name: &str) -> Option<Chip> {
        Chip::parse(name, shipped(name)?).ok()
    }
}

impl Chip {
    /// What words of a core's own data take more than in the data cache, alone on the bus, where it
    /// has none.
    pub(crate) fn words(&self, number: usize, words: u32) -> Time {
        let Some(core) = self.cores.get(number) else { return Time::ZERO };
        let memory = self.memories.get(core.home).filter(|_| core.data.is_none());
        let Some(memory) = memory else { return Time::ZERO };
        let bus = &self.buses[memory.bus];
        let at = |cost: Cost| cost.at(bus.clock);
        let beats = u64::from(4_u32.div_ceil(memory.width));
        let word = at(bus.overhead) + at(memory.read) + at(memory.beat) * beats;
        let word = word + self.bridged(number, memory.bus, false);
        word.since(core.hit.at(core.clock)) * u64::from(words)
    }
}

impl Memory {
    /// Whether a core reaches it.
    #[must_use]
    pub fn is_reached(&self, core: usize) -> bool {
        self.cores.as_ref().is_none_or(|cores| cores.contains(&core))
    }
}

impl Core {
    /// What a span takes.
    #[must_use]
    pub fn span(&self, span: Span) -> Option<&SpanCost> {
        self.spans.iter().find(|(of, _)| *of == span).map(|(_, cost)| cost)
    }

    /// What a function of an application takes for every four bytes of a request.
    #[must_use]
    pub fn function(&self, name: &str) -> Cost {
        self.functions.iter().find(|(of, _)| of == name).map_or(Cost::NONE, |(_, cost)| *cost)
    }

    /// What serving a request of `bytes` bytes takes beside its function.
    #[must_use]
    pub fn serving(&self, bytes: u32, in_place: bool) -> Time {
        let (mut all, mut end) = (Time::ZERO, bytes);
        for step in self.serve.iter().rev() {
            let words = end.saturating_sub(step.from).div_ceil(4);
            let word = if in_place { step.in_place } else { step.copied };
            all += word.at(self.clock) * u64::from(words);
            end = end.min(step.from);
        }
        all
    }
}
