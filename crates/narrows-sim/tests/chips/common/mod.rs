//! A small chip for tests.

pub mod dice;
pub mod rig;
pub mod written;

/// What the files of the endpoint's tests use, by the names that it has over the heap.
pub use crate::endpoint::{ground, world};

use narrows::memory::Class;
use narrows::strategy::Placement;
use narrows_sim::chip::{
    Arbitration, Bus, Cache, Chip, Copying, Core, Engine, Interrupt, Link, Memory, Ports, System,
    Timer,
};
use narrows_sim::time::{Cost, Frequency};

pub fn cache(size: u32, ways: u32) -> Cache {
    Cache { size, line: 32, ways, write_back: true, allocate: true }
}

/// A core of 100 MHz.
pub fn core(name: &str) -> Core {
    Core {
        name: name.into(),
        clock: Frequency(100_000_000),
        clocks: Vec::new(),
        instructions: Some(cache(1024, 1)),
        data: Some(cache(4096, 2)),
        second: None,
        home: 1,
        burst: 32,
        hit: Cost::Cycles(1),
        second_hit: Cost::Cycles(8),
        copy: Copying { start: Cost::Cycles(20), word: Cost::Cycles(2), private: false },
        poll: Cost::Cycles(4),
        fence: Cost::Cycles(3),
        upkeep: Cost::Cycles(2),
        timer: Timer {
            resolution: Frequency(100_000_000),
            read: Cost::Cycles(5),
            read_user: Cost::Cycles(50),
        },
        interrupt: Interrupt {
            ring: Cost::Cycles(4),
            latency: Cost::Cycles(12),
            entry: Cost::Cycles(30),
            service: Cost::Cycles(40),
            code: 128,
        },
        system: System {
            switch: Cost::Cycles(60),
            switch_words: 0,
            code: 0,
            entry_words: 0,
            sleep: Cost::Cycles(50),
            tick: Cost::NONE,
            tick_service: Cost::NONE,
            calls: Vec::new(),
            swapping: Vec::new(),
        },
        spans: Vec::new(),
        functions: Vec::new(),
        serve: Vec::new(),
    }
}

fn memory(name: &str, size: u32, read: u64, cached: bool) -> Memory {
    Memory {
        name: name.into(),
        bus: 0,
        size,
        width: 4,
        read: Cost::Cycles(read),
        write: Cost::Cycles(read),
        beat: Cost::Cycles(1),
        cached,
        cores: None,
        stream: Vec::new(),
    }
}

fn class(placement: Placement, size: u32, count: u32) -> Class {
    Class { placement, size, count }
}

/// Two cores, a bus, an internal and an external memory, an engine.
pub fn chip() -> Chip {
    Chip {
        name: "small".into(),
        about: "for tests".into(),
        buses: vec![Bus {
            name: "bus".into(),
            clock: Frequency(100_000_000),
            width: 4,
            burst: 32,
            overhead: Cost::Cycles(1),
            arbitration: Arbitration::RoundRobin,
        }],
        bridges: Vec::new(),
        memories: vec![memory("sram", 4 << 20, 1, false), memory("sdram", 32 << 20, 8, true)],
        cores: vec![core("gpp"), core("dsp")],
        engines: vec![Engine {
            name: "dma".into(),
            clock: Frequency(100_000_000),
            cores: vec![0, 1],
            setup: Cost::Cycles(30),
            descriptor: Cost::Cycles(10),
            fetch: Cost::Cycles(4),
            descriptor_bytes: 16,
            burst: 32,
            completion: Cost::Cycles(6),
            refill: Cost::NONE,
        }],
        link: Link {
            control: 0,
            internal: 0,
            external: 1,
            slots: 64,
            channels: 2,
            channel_slots: 16,
            classes: vec![
                class(Placement::Internal, 64, 16),
                class(Placement::Internal, 1024, 16),
                class(Placement::Internal, 65536, 4),
                class(Placement::External, 64, 64),
                class(Placement::External, 1024, 64),
                class(Placement::External, 8192, 16),
                class(Placement::External, 65536, 16),
            ],
        },
        ports: Ports::default(),
        clusters: None,
        model: Vec::new(),
    }
}
