//! How a process reaches memory through its core's caches.

use super::Cpu;
use super::access::{lines, pieces, words};
use super::rates::Traffic;
use crate::events::bus::BURST;
use crate::events::state::{Core, State};
use crate::part::cache::{Cache, Tag};
use crate::time::Time;

/// Which of a core's first-level caches.
type Level = fn(&mut Core) -> Option<&mut Cache>;

fn data(core: &mut Core) -> Option<&mut Cache> {
    core.data.as_mut()
}

fn instructions(core: &mut Core) -> Option<&mut Cache> {
    core.instructions.as_mut()
}

impl Cpu {
    fn with<T>(&self, level: Level, what: impl FnOnce(&mut Cache) -> T) -> Option<T> {
        let mut state = self.machine().state.borrow_mut();
        let core = self.shared.core;
        state.runs(self.shared.process).then(|| level(&mut state.cores[core]).map(what))?
    }

    pub(super) fn cached(&self, memory: usize) -> Option<u32> {
        let cached = self.machine().routes[memory].cached;
        cached.then(|| self.with(data, |cache| cache.shape.line))?
    }

    /// Loads bytes as the core's load instructions do, without what copying takes.
    pub fn read(&self, memory: usize, address: u32, to: &mut [u8]) {
        if !self.inside(memory, address, to.len()) {
            return;
        }
        let Some(line) = self.cached(memory) else {
            return self.load_bytes(memory, address, to);
        };
        let mut rest = to;
        for (at, len) in pieces(address, rest.len(), line) {
            let (part, behind) = rest.split_at_mut(len);
            rest = behind;
            let tag = Tag { memory, address: at - at % line };
            let offset = (at % line) as usize;
            let place = self.bring(data, tag);
            self.hits(len, |cache| {
                part.copy_from_slice(&cache.bytes(place)[offset..offset + len]);
            });
        }
    }

    /// Stores bytes as the core's store instructions do, without what copying takes.
    pub fn write(&self, memory: usize, address: u32, from: &[u8]) {
        if !self.inside(memory, address, from.len()) {
            return;
        }
        let Some(line) = self.cached(memory) else {
            return self.store_bytes(memory, address, from);
        };
        let mut rest = from;
        for (at, len) in pieces(address, rest.len(), line) {
            let (part, behind) = rest.split_at(len);
            rest = behind;
            let tag = Tag { memory, address: at - at % line };
            let (found, shape) =
                self.with(data, |cache| (cache.find(tag), Some(cache.shape))).unwrap_or_default();
            let Some(shape) = shape else { return };
            let place = match found {
                None if !shape.allocate => None,
                None => Some(self.bring(data, tag)),
                found => found,
            };
            if let Some(place) = place {
                let offset = (at % line) as usize;
                self.hits(len, |cache| cache.write(place, offset, part, shape.write_back));
            } else {
                self.with(data, |cache| {
                    cache.used.lookups += words(len);
                    cache.used.misses += words(len);
                });
            }
            if place.is_none() || !shape.write_back {
                self.write_below(memory, at, part);
            }
        }
    }

    /// Reads or writes words of a line that is in the cache, brought for them or not.
    fn hits(&self, len: usize, what: impl FnOnce(&mut Cache)) {
        let (core, count) = (self.shared.core, words(len));
        let time = self.rates().hit * count;
        self.act(|state, process| {
            if let Some(cache) = data(&mut state.cores[core]) {
                what(cache);
                cache.used.lookups += count;
            }
            state.counts.words += count;
            time > Time::ZERO && state.compute(process, time)
        });
    }

    /// Makes sure that a line is in a first-level cache; where.
    fn bring(&self, level: Level, tag: Tag) -> usize {
        loop {
            // Others of this core may run whenever this waits for the bus, so everything is looked
            // at again behind it.
            if let Some(place) = self.at_once(level, &mut self.machine().state.borrow_mut(), tag) {
                return place;
            }
            if self.with(level, |_| ()).is_none() {
                return 0;
            }
            self.evict(level, tag);
            let line = self.with(level, |cache| cache.shape.line as usize).unwrap_or(0);
            let mut bytes = [0; BURST];
            self.read_below(tag.memory, tag.address, &mut bytes[..line]);
            let installed = self.with(level, |cache| {
                let place = cache.place(tag);
                let free = cache.find(tag).is_none() && cache.dirty(place).is_none();
                free.then(|| cache.install(place, tag, &bytes[..line]))?;
                Some(place)
            });
            match installed {
                None => return 0,
                Some(Some(place)) => return place,
                Some(None) => {}
            }
        }
    }

    /// As [`Cpu::bring`], if nothing comes between: there is no second level, bridges or streams.
    #[inline]
    fn at_once(&self, level: Level, state: &mut State, tag: Tag) -> Option<usize> {
        let (machine, process, core) = (self.machine(), self.shared.process, self.shared.core);
        if !state.runs(process) {
            return None;
        }
        let cache = level(&mut state.cores[core])?;
        if let Some(place) = cache.find(tag) {
            return Some(place);
        }
        let (place, line) = (cache.place(tag), cache.shape.line);
        let dirty = cache.dirty(place);
        let plain = |tag: Tag| {
            let route = machine.routes.get(tag.memory)?;
            let inside = u64::from(tag.address) + u64::from(line) <= u64::from(route.last_word) + 4;
            (inside && line <= route.burst && !self.is_barred(tag.memory)).then_some(route)
        };
        let simple = !machine.paths && !machine.streams && state.cores[core].second.is_none();
        if !simple || !state.plan.spares(process) || state.stands_still() {
            return None;
        }
        if let Some(old) = dirty {
            let route = plain(old)?;
            if !state.passes(process, route.bus, route.time(line, true), false) {
                return None;
            }
            let cache = level(&mut state.cores[core])?;
            let mut bytes = [0; BURST];
            bytes[..line as usize].copy_from_slice(cache.bytes(place));
            cache.cleaned(place);
            state.counts.words += words(line as usize);
            state.put(process, old.memory, old.address, &bytes[..line as usize]);
        }
        let route = plain(tag)?;
        if !state.passes(process, route.bus, route.time(line, false), false) {
            return None;
        }
        state.counts.words += words(line as usize);
        let State { cores, memories, .. } = state;
        let bytes = &memories[tag.memory][tag.address as usize..][..line as usize];
        level(&mut cores[core])?.install(place, tag, bytes);
        Some(place)
    }

    /// Writes back what lies where a line is to go.
    fn evict(&self, level: Level, tag: Tag) {
        let mut bytes = [0; BURST];
        let dirty = self.with(level, |cache| {
            let place = cache.place(tag);
            let dirty = cache.dirty(place)?;
            bytes[..cache.bytes(place).len()].copy_from_slice(cache.bytes(place));
            cache.cleaned(place);
            Some((dirty, cache.shape.line as usize))
        });
        if let Some(Some((dirty, line))) = dirty {
            self.write_below(dirty.memory, dirty.address, &bytes[..line]);
        }
    }

    fn second(core: &mut Core) -> Option<&mut Cache> {
        core.second.as_mut()
    }

    /// Loads part of a line from the second level, or from memory where there is none.
    fn read_below(&self, memory: usize, address: u32, to: &mut [u8]) {
        let Some(line) = self.with(Self::second, |cache| cache.shape.line) else {
            return self.load_line(memory, address, to);
        };
        let place = self.bring_second(Tag { memory, address: address - address % line });
        let offset = (address % line) as usize;
        let end = offset + to.len();
        self.with(Self::second, |cache| to.copy_from_slice(&cache.bytes(place)[offset..end]));
        self.compute(self.rates().second_hit);
    }

    fn write_below(&self, memory: usize, address: u32, from: &[u8]) {
        let Some(line) = self.with(Self::second, |cache| cache.shape.line) else {
            return self.store_line(memory, address, from);
        };
        let place = self.bring_second(Tag { memory, address: address - address % line });
        let offset = (address % line) as usize;
        self.with(Self::second, |cache| cache.write(place, offset, from, true));
        self.compute(self.rates().second_hit);
    }

    fn bring_second(&self, tag: Tag) -> usize {
        self.with(Self::second, |cache| cache.used.lookups += 1);
        loop {
            let Some(found) = self.with(Self::second, |cache| cache.find(tag)) else { return 0 };
            if let Some(place) = found {
                return place;
            }
            let mut bytes = [0; BURST];
            let line = self.with(Self::second, |cache| cache.shape.line as usize).unwrap_or(0);
            let dirty = self.with(Self::second, |cache| {
                let place = cache.place(tag);
                let dirty = cache.dirty(place)?;
                bytes[..line].copy_from_slice(cache.bytes(place));
                cache.cleaned(place);
                Some(dirty)
            });
            if let Some(Some(dirty)) = dirty {
                self.store_line(dirty.memory, dirty.address, &bytes[..line]);
            }
            self.load_line(tag.memory, tag.address, &mut bytes[..line]);
            self.with(Self::second, |cache| {
                let place = cache.place(tag);
                if cache.find(tag).is_none() && cache.dirty(place).is_none() {
                    cache.install(place, tag, &bytes[..line]);
                }
            });
        }
    }

    /// Writes cached changes of a range back to memory.
    pub fn clean(&self, memory: usize, address: u32, len: usize) {
        self.keep_up(memory, address, len, false);
    }

    /// Forgets cached copies of a range, changes included.
    pub fn invalidate(&self, memory: usize, address: u32, len: usize) {
        self.keep_up(memory, address, len, true);
    }

    fn keep_up(&self, memory: usize, address: u32, len: usize, forget: bool) {
        if !self.inside(memory, address, len) || !self.machine().routes[memory].cached {
            return;
        }
        for level in [data as Level, Self::second] {
            let Some(line) = self.with(level, |cache| cache.shape.line) else { continue };
            for (at, _) in pieces(address, len, line) {
                let tag = Tag { memory, address: at - at % line };
                let mut bytes = [0; BURST];
                let written = self.with(level, |cache| {
                    let place = cache.find(tag)?;
                    if forget {
                        cache.forget(place);
                        return None;
                    }
                    cache.dirty(place)?;
                    bytes[..line as usize].copy_from_slice(cache.bytes(place));
                    cache.cleaned(place);
                    Some(())
                });
                if written.flatten().is_some() {
                    let bytes = &bytes[..line as usize];
                    if level as usize == data as Level as usize {
                        self.write_below(memory, tag.address, bytes);
                    } else {
                        self.store_line(memory, tag.address, bytes);
                    }
                }
                self.compute(self.rates().upkeep);
            }
        }
    }

    /// Fetches the code of a stretch, as far as it is not in the instruction cache.
    pub(super) fn run_code(&self, (start, len): (u32, u32)) {
        let Some(line) = self.with(instructions, |cache| cache.shape.line) else { return };
        let memory = self.rates().home;
        let count = lines(start, len as usize, line);
        self.with(instructions, |cache| cache.used.lookups += count);
        let mut tags = pieces(start, len as usize, line)
            .map(|(at, _)| Tag { memory, address: at - at % line });
        loop {
            let missing = {
                let state = &mut self.machine().state.borrow_mut();
                tags.find(|tag| self.at_once(instructions, state, *tag).is_none())
            };
            let Some(missing) = missing else { return };
            self.bring(instructions, missing);
        }
    }

    /// Fetches what software runs through, and touches its data, as far as the caches do not have
    /// it. Every other line of the data is written.
    pub(crate) fn run_through(&self, Traffic { code, again, data: (start, len) }: &Traffic) {
        self.run_code(*code);
        self.run_code((code.0, *again));
        let home = self.rates().home;
        let Some(line) = self.cached(home).filter(|_| *len > 0) else { return };
        for (at, len) in pieces(*start, *len as usize, line) {
            let place = self.bring(data, Tag { memory: home, address: at - at % line });
            self.with(data, |cache| {
                cache.used.lookups += words(len);
                if (at / line).is_multiple_of(2) {
                    let dirty = cache.shape.write_back;
                    cache.write(place, 0, &[], dirty);
                }
            });
        }
    }
}
