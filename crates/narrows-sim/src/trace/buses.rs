//! Who has each bus, and each link of a network.

use super::tracer::{Tracer, below, counter};
use crate::time::Time;
use narrows_trace::{Category, Row};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The buses of a chip.
pub(super) struct Buses {
    pub group: Option<u64>,
    all: Vec<Bus>,
    /// Stages of a network's ways that packets have had.
    links: HashMap<String, Row>,
}

struct Bus {
    name: String,
    row: Option<Row>,
    /// How many wait for it.
    waiting: Option<Row>,
    /// Which process had it last, from when until when: one that goes on at once is one stretch.
    had: Option<(usize, u64, u64)>,
    /// The processes that look by it again and again, whenever nobody else has it, and since when.
    looks: Option<(Vec<usize>, u64)>,
}

impl Buses {
    pub fn new(names: Vec<String>) -> Buses {
        let bus = |name| Bus { name, row: None, waiting: None, had: None, looks: None };
        let all = names.into_iter().map(bus).collect();
        Buses { group: None, all, links: HashMap::new() }
    }
}

impl Tracer {
    /// A core has a bus.
    pub fn has_bus(&mut self, bus: usize, core: usize, from: Time, to: Time) {
        let (from, to) = (self.at(from), self.at(to));
        self.looked(bus, from, to);
        match &mut self.buses.all[bus].had {
            Some((before, _, end)) if *before == core && *end == from => *end = to,
            had => {
                if let Some(had) = had.replace((core, from, to)) {
                    self.had(bus, had);
                }
            }
        }
    }

    /// Cores look by a bus again and again from now on, or none does.
    pub fn looks_by(&mut self, bus: usize, cores: Vec<usize>, from: Time) {
        let from = self.at(from);
        self.looked(bus, from, from);
        self.buses.all[bus].looks = (!cores.is_empty()).then_some((cores, from));
    }

    /// The looks of a bus end at a moment, and go on at another.
    fn looked(&mut self, bus: usize, until: u64, again: u64) {
        let Some((cores, since)) = &mut self.buses.all[bus].looks else { return };
        let (cores, began) = (cores.clone(), *since);
        *since = again.max(*since);
        if until > began {
            if let Some(had) = self.buses.all[bus].had.take() {
                self.had(bus, had);
            }
            let names: Vec<&str> = cores.iter().map(|core| self.core_name(*core)).collect();
            let what =
                format!("{} look{}", names.join(", "), if names.len() > 1 { "" } else { "s" });
            self.stretch_of(bus, &what, (began, until));
        }
    }

    fn had(&mut self, bus: usize, (core, from, to): (usize, u64, u64)) {
        let name = self.core_name(core).to_owned();
        self.stretch_of(bus, &name, (from, to));
    }

    fn stretch_of(&mut self, bus: usize, name: &str, (from, to): (u64, u64)) {
        let group = self.shared_group();
        let file = self.file.clone();
        let one = &mut self.buses.all[bus];
        let row = *one.row.get_or_insert_with(|| below(&file, group, &one.name));
        file.stretch(row, (from, to), (Category::Bus, name));
    }

    /// A packet has a stage of a network's way.
    pub fn has_link(&mut self, stage: String, from: Time, to: Time) {
        let (from, to) = (self.at(from), self.at(to));
        let group = self.shared_group();
        let file = self.file.clone();
        let row = match self.buses.links.entry(stage) {
            Entry::Occupied(row) => *row.get(),
            Entry::Vacant(place) => {
                let row = below(&file, group, place.key());
                *place.insert(row)
            }
        };
        file.stretch(row, (from, to), (Category::Bus, "packet"));
    }

    /// `count` cores wait for a bus.
    pub fn bus_awaited(&mut self, bus: usize, count: usize, now: Time) {
        let (group, at) = (self.shared_group(), self.at(now));
        let file = self.file.clone();
        let one = &mut self.buses.all[bus];
        let row = *one.waiting.get_or_insert_with(|| {
            counter(&file, group, &format!("waiting for {}", one.name), "cores")
        });
        file.write(at, |out| out.count(row, at, count as i64));
    }

    pub(super) fn finish_buses(&mut self, now: Time) {
        for bus in 0..self.buses.all.len() {
            self.looks_by(bus, Vec::new(), now);
            if let Some(had) = self.buses.all[bus].had.take() {
                self.had(bus, had);
            }
        }
    }
}
