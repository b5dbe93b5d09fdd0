//! What things take on each core, worked out once from the chip's facts.

use crate::chip::Call;
use crate::chip::{self, CallCost, Chip, SpanCost};
use crate::time::{Cost, Time};
use narrows::span::Span;

/// What software fetches and touches: where that lies in the core's home memory, and how long it
/// is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    pub code: (u32, u32),
    /// Bytes of the code that are run through once more.
    pub again: u32,
    /// Its stack and control blocks.
    pub data: (u32, u32),
}

/// What a span takes on a core.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SpanTime {
    pub enter: Time,
    pub leave: Time,
    pub traffic: Traffic,
}

/// What a call of the system takes on a core.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallTime {
    pub takes: Time,
    pub traffic: Traffic,
}

/// What things take on a core.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rates {
    pub home: usize,
    /// Bytes of the longest transfer that its instructions make.
    pub burst: u32,
    pub hit: Time,
    pub second_hit: Time,
    pub copy_start: Time,
    pub copy_word: Time,
    pub poll: Time,
    pub fence: Time,
    pub upkeep: Time,
    pub timer_tick: u64,
    pub timer_read: Time,
    pub timer_read_user: Time,
    pub ring: Time,
    pub latency: Time,
    pub service: Time,
    pub service_code: (u32, u32),
    pub sleep: Time,
    pub tick: Time,
    pub tick_service: Time,
    pub calls: [CallTime; Call::ALL.len()],
    /// Of calls that give the core away.
    pub swapping: [CallTime; Call::ALL.len()],
    /// What a switch and an interrupt's entry fetch and touch.
    pub switch: Traffic,
    pub entry: Traffic,
    pub spans: [SpanTime; Span::ALL.len()],
    /// What bridges take on the way to each memory, of transfers that read and of those that write;
    /// empty where there is none.
    pub bridges: Vec<[Time; 2]>,
    /// Memories that this core does not reach: a bit for each.
    pub barred: u64,
}

impl Rates {
    /// Whether a core does not reach a memory.
    #[inline]
    pub fn bars(&self, memory: usize) -> bool {
        self.barred.checked_shr(memory as u32).is_some_and(|bits| bits & 1 == 1)
    }

    /// What bridges take on the way to a memory.
    #[inline]
    pub fn bridge(&self, memory: usize, write: bool) -> Time {
        self.bridges.get(memory).map_or(Time::ZERO, |bridge| bridge[usize::from(write)])
    }

    /// Those of a copy engine, which only moves bytes.
    pub fn engine(engine: &chip::Engine) -> Rates {
        let burst = engine.burst.clamp(4, crate::events::bus::BURST as u32);
        Rates { burst, ..Rates::default() }
    }

    /// Those of a part of the chip that moves bytes as the bus lets it.
    pub fn part() -> Rates {
        Rates { burst: crate::events::bus::BURST as u32, ..Rates::default() }
    }

    /// Those of a core. `code` is where its code begins in its home memory; it is moved behind it.
    pub fn new(chip: &Chip, number: usize, code: &mut u32) -> Rates {
        let core = &chip.cores[number];
        let bridged = chip.bridges.iter().any(|bridge| bridge.cores.contains(&number));
        let bridges = |memory: &chip::Memory| {
            [false, true].map(|write| chip.bridged(number, memory.bus, write))
        };
        let at = |cost: Cost| cost.at(core.clock);
        let system = &core.system;
        let span = |span: Span| *core.span(span).unwrap_or(&SpanCost::NONE);
        let ways = |call: Call| [system.call(call), system.swapping(call)];
        let code_of = |cost: Cost| {
            let cycles = at(cost).micros() * core.clock.0 as f64 / 1e6;
            (cycles * f64::from(system.code)) as u32
        };
        let mut place = |len: u32| {
            let start = *code;
            *code = start.saturating_add(len.next_multiple_of(32));
            start
        };
        let longest = |[a, b]: [u32; 2]| a.max(b);
        // Code lies together and data behind it, as linkers lay them.
        let span_code = Span::ALL.map(|one| place(span(one).code));
        let service_code = (place(core.interrupt.code), core.interrupt.code);
        let switch_code = place(code_of(system.switch));
        let call_code =
            Call::ALL.map(|one| place(longest(ways(one).map(|way| code_of(way.takes)))));
        let span_data = Span::ALL.map(|one| place(span(one).words * 4));
        let switch_data = place(system.switch_words * 4);
        let entry_data = place(system.entry_words * 4);
        let call_data = Call::ALL.map(|one| place(longest(ways(one).map(|way| way.words)) * 4));

        let spans = Span::ALL.map(|one| {
            let SpanCost { enter, leave, code, again, words } = span(one);
            let (code, data) = ((span_code[one as usize], code), span_data[one as usize]);
            let traffic = Traffic { code, again, data: (data, words * 4) };
            SpanTime { enter: at(enter), leave: at(leave), traffic }
        });
        let taking = |(code, data), takes: Cost, words: u32| Traffic {
            code: (code, code_of(takes)),
            again: 0,
            data: (data, words * 4),
        };
        let call = |one: Call, CallCost { takes, words }: CallCost| CallTime {
            takes: at(takes) + chip.words(number, words),
            traffic: taking((call_code[one as usize], call_data[one as usize]), takes, words),
        };
        Rates {
            home: core.home,
            burst: core.burst.clamp(4, crate::events::bus::BURST as u32),
            hit: at(core.hit),
            second_hit: at(core.second_hit),
            copy_start: at(core.copy.start),
            copy_word: at(core.copy.word),
            poll: at(core.poll),
            fence: at(core.fence),
            upkeep: at(core.upkeep),
            timer_tick: core.timer.resolution.0,
            timer_read: at(core.timer.read),
            timer_read_user: at(core.timer.read_user),
            ring: at(core.interrupt.ring),
            latency: at(core.interrupt.latency),
            service: at(core.interrupt.service),
            service_code,
            sleep: at(system.sleep),
            tick: at(system.tick),
            tick_service: at(system.tick_service),
            calls: Call::ALL.map(|one| call(one, system.call(one))),
            swapping: Call::ALL.map(|one| call(one, system.swapping(one))),
            switch: taking((switch_code, switch_data), system.switch, system.switch_words),
            entry: Traffic {
                code: service_code,
                again: 0,
                data: (entry_data, system.entry_words * 4),
            },
            barred: (chip.memories.iter().zip(0..u64::BITS))
                .filter(|(memory, _)| !memory.is_reached(number))
                .fold(0, |bits, (_, at)| bits | 1 << at),
            bridges: chip.memories.iter().filter(|_| bridged).map(bridges).collect(),
            spans,
        }
    }
}

/// What transfers to and from a memory take.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub bus: usize,
    pub cached: bool,
    /// Bytes of the longest transfer.
    pub burst: u32,
    /// Where the last word of the memory begins.
    pub last_word: u32,
    read: Time,
    write: Time,
    /// What each number of bytes takes beyond that, up to the longest transfer.
    beats: Vec<Time>,
    /// What a word takes, read and written.
    word: [Time; 2],
    /// How many bytes of a stretch come first, and what reading and writing begins with beyond.
    stream: Vec<(u32, Time, Time)>,
}

impl Route {
    pub fn new(chip: &Chip, memory: &chip::Memory) -> Route {
        let bus = &chip.buses[memory.bus];
        let overhead = bus.overhead.at(bus.clock);
        let width = memory.width.min(bus.width).max(1);
        let (read, write) =
            (overhead + memory.read.at(bus.clock), overhead + memory.write.at(bus.clock));
        let beat = memory.beat.at(bus.clock);
        let beats = |len: u32| beat * u64::from(len.div_ceil(width).max(1));
        Route {
            bus: memory.bus,
            cached: memory.cached,
            burst: bus.burst.clamp(4, crate::events::bus::BURST as u32),
            last_word: memory.size.saturating_sub(4),
            read,
            write,
            beats: (0..=crate::events::bus::BURST as u32).map(beats).collect(),
            word: [read + beats(4), write + beats(4)],
            stream: memory
                .stream
                .iter()
                .map(|one| {
                    let [read, write] = [one.read, one.write].map(|cost| cost.at(bus.clock));
                    (one.from, overhead + read, overhead + write)
                })
                .collect(),
        }
    }

    /// How long a word has the bus.
    #[inline]
    pub fn word(&self, write: bool) -> Time {
        self.word[usize::from(write)]
    }

    /// How long a transfer has the bus.
    #[inline]
    pub fn time(&self, len: u32, write: bool) -> Time {
        if len == 4 {
            return self.word(write);
        }
        self.with_beats(if write { self.write } else { self.read }, len)
    }

    /// Whether it matters what a transfer goes on from.
    #[inline]
    pub fn streams(&self) -> bool {
        !self.stream.is_empty()
    }

    /// How long a transfer has the bus that goes on with a stretch, behind `done` bytes of it.
    pub fn time_behind(&self, done: u32, len: u32, write: bool) -> Time {
        match self.stream.iter().rev().find(|(from, _, _)| *from <= done) {
            None => self.time(len, write),
            Some((_, read, other)) => self.with_beats(if write { *other } else { *read }, len),
        }
    }

    #[inline]
    fn with_beats(&self, first: Time, len: u32) -> Time {
        first + self.beats[len as usize]
    }
}
