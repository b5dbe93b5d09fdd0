//! How a process reaches memory: over the bus, or through its core's caches.

use super::Cpu;
use crate::engine::Stuck;
use crate::engine::bus::{Act, BURST};
use crate::engine::state::{Core, State};
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

/// The parts of a range that lie on one line of `line` bytes each: where, and how many bytes.
fn pieces(address: u32, len: usize, line: u32) -> impl Iterator<Item = (u32, usize)> {
    let end = u64::from(address) + len as u64;
    let mut at = u64::from(address);
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let next = ((at / u64::from(line) + 1) * u64::from(line)).min(end);
            let piece = (at as u32, (next - at) as usize);
            at = next;
            piece
        })
    })
}

fn words(len: usize) -> u64 {
    len.div_ceil(4) as u64
}

impl Cpu {
    /// Has the engine do something for this process if it is the one that runs, and leaves if that
    /// takes time which others use.
    #[inline]
    pub(crate) fn act(&self, what: impl FnOnce(&mut State, usize) -> bool) {
        let process = self.shared.process;
        let leave = {
            let mut state = self.machine().state.borrow_mut();
            state.runs(process) && (what(&mut state, process) | !state.tick())
        };
        if leave && !self.shared.door.leave() {
            // It panics: what it holds is dropped, and nothing takes time any more.
            self.machine().state.borrow_mut().current = None;
        }
    }

    /// Whether a range is inside a memory. If not, the simulation ends with that, and this process
    /// does not come back from here.
    #[inline]
    fn inside(&self, memory: usize, address: u32, len: usize) -> bool {
        let size = self.chip().memories.get(memory).map_or(0, |memory| u64::from(memory.size));
        let inside = u64::from(address) + len as u64 <= size;
        if !inside {
            self.stray(memory, address, len, size);
        }
        inside
    }

    #[cold]
    fn stray(&self, memory: usize, address: u32, len: usize, size: u64) {
        self.act(|state, process| {
            let named = self.chip().memories.get(memory).map(|memory| memory.name.clone());
            state.stuck = Some(Stuck::OutOfRange {
                at: state.now,
                process: state.processes[process].name.clone(),
                memory: named.unwrap_or_else(|| format!("memory {memory}, which is none")),
                offset: u64::from(address),
                len: len as u64,
                size,
            });
            true
        });
    }

    /// A transfer of a word over the bus of a memory.
    #[inline]
    pub(super) fn transfer_word(&self, memory: usize, address: u32, act: Act) {
        if self.inside(memory, address, 4) {
            self.transfer(memory, address, 4, act);
        }
    }

    /// A transfer over the bus of a memory, inside it.
    #[inline]
    fn transfer(&self, memory: usize, address: u32, len: u32, act: Act) {
        let route = &self.machine().routes[memory];
        let time = match act {
            Act::Store(_) | Act::Write => route.time(len, true),
            Act::Claim(_) => route.time(len, false) + route.time(len, true),
            Act::Nothing | Act::Load | Act::Read => route.time(len, false),
        };
        let bus = route.bus;
        self.act(|state, process| {
            let transfer = &mut state.processes[process].transfer;
            (transfer.memory, transfer.bus, transfer.time) = (memory, bus, time);
            (transfer.address, transfer.len, transfer.act) = (address, len, act);
            state.request(process)
        });
    }

    /// Loads a word of a memory, past all caches.
    #[must_use]
    pub fn load(&self, memory: usize, address: u32) -> u32 {
        self.transfer_word(memory, address, Act::Load);
        let mut word = 0;
        self.act(|state, process| {
            state.counts.words += 1;
            word = state.processes[process].latch.take().unwrap_or(0);
            false
        });
        word
    }

    /// Stores a word to a memory, past all caches.
    pub fn store(&self, memory: usize, address: u32, value: u32) {
        self.machine().state.borrow_mut().counts.words += 1;
        self.transfer_word(memory, address, Act::Store(value));
    }

    /// Bytes of the longest transfer that instructions of this core make.
    fn burst(&self, memory: usize) -> u32 {
        let route = self.machine().routes.get(memory);
        self.rates().burst.min(route.map_or(4, |route| route.burst))
    }

    /// Loads bytes, past all caches, in transfers as long as the core makes them.
    pub fn load_bytes(&self, memory: usize, address: u32, to: &mut [u8]) {
        self.fetch(memory, address, to, self.burst(memory));
    }

    /// Stores bytes, past all caches, in transfers as long as the core makes them.
    pub fn store_bytes(&self, memory: usize, address: u32, from: &[u8]) {
        self.put(memory, address, from, self.burst(memory));
    }

    /// Loads a line, or part of one, in transfers as long as the bus lets them be.
    fn load_line(&self, memory: usize, address: u32, to: &mut [u8]) {
        self.fetch(memory, address, to, self.machine().routes[memory].burst);
    }

    fn store_line(&self, memory: usize, address: u32, from: &[u8]) {
        self.put(memory, address, from, self.machine().routes[memory].burst);
    }

    fn fetch(&self, memory: usize, address: u32, to: &mut [u8], burst: u32) {
        if !self.inside(memory, address, to.len()) {
            return;
        }
        let mut rest = to;
        for (at, len) in pieces(address, rest.len(), burst) {
            let (part, behind) = rest.split_at_mut(len);
            rest = behind;
            self.transfer(memory, at, len as u32, Act::Read);
            self.act(|state, process| {
                state.counts.words += words(len);
                part.copy_from_slice(&state.processes[process].transfer.bytes[..len]);
                false
            });
        }
    }

    fn put(&self, memory: usize, address: u32, from: &[u8], burst: u32) {
        if !self.inside(memory, address, from.len()) {
            return;
        }
        let mut rest = from;
        for (at, len) in pieces(address, rest.len(), burst) {
            let (part, behind) = rest.split_at(len);
            rest = behind;
            self.act(|state, process| {
                state.counts.words += words(len);
                state.processes[process].transfer.bytes[..len].copy_from_slice(part);
                false
            });
            self.transfer(memory, at, len as u32, Act::Write);
        }
    }

    /// Loads bytes and throws them away: what private data or descriptors cost.
    pub(super) fn load_nothing(&self, memory: usize, address: u32, len: u32) {
        if !self.inside(memory, address, len as usize) {
            return;
        }
        let burst = self.machine().routes[memory].burst;
        for (at, len) in pieces(address, len as usize, burst) {
            self.transfer(memory, at, len as u32, Act::Nothing);
        }
    }

    fn with<T>(&self, level: Level, what: impl FnOnce(&mut Cache) -> T) -> Option<T> {
        let mut state = self.machine().state.borrow_mut();
        let core = self.shared.core;
        state.runs(self.shared.process).then(|| level(&mut state.cores[core]).map(what))?
    }

    fn cached(&self, memory: usize) -> Option<u32> {
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
            self.with(data, |cache| {
                part.copy_from_slice(&cache.bytes(place)[offset..offset + len]);
            });
            self.hits(len);
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
                self.with(data, |cache| cache.write(place, offset, part, shape.write_back));
                self.hits(len);
            }
            if place.is_none() || !shape.write_back {
                self.write_below(memory, at, part);
            }
        }
    }

    fn hits(&self, len: usize) {
        self.machine().state.borrow_mut().counts.words += words(len);
        self.compute(self.rates().hit * words(len));
    }

    /// Makes sure that a line is in a first-level cache; where.
    fn bring(&self, level: Level, tag: Tag) -> usize {
        loop {
            // Others of this core may run whenever this waits for the bus, so everything is looked
            // at again behind it.
            let Some(found) = self.with(level, |cache| cache.find(tag)) else { return 0 };
            if let Some(place) = found {
                return place;
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
        for (at, _) in pieces(start, len as usize, line) {
            self.bring(instructions, Tag { memory, address: at - at % line });
        }
    }

    /// Copies from private memory to shared memory.
    pub(super) fn copy_out(&self, memory: usize, address: u32, from: &[u8]) {
        self.compute(self.rates().copy_start);
        let mut rest = from;
        for (at, len) in pieces(address, rest.len(), self.grain(memory)) {
            let (part, behind) = rest.split_at(len);
            rest = behind;
            self.private(at - address, len, false);
            self.compute(self.rates().copy_word * words(len));
            self.write(memory, at, part);
        }
    }

    /// Copies from shared memory to private memory.
    pub(super) fn copy_in(&self, memory: usize, address: u32, to: &mut [u8]) {
        self.compute(self.rates().copy_start);
        let mut rest = to;
        for (at, len) in pieces(address, rest.len(), self.grain(memory)) {
            let (part, behind) = rest.split_at_mut(len);
            rest = behind;
            self.read(memory, at, part);
            self.compute(self.rates().copy_word * words(len));
            self.private(at - address, len, true);
        }
    }

    /// Bytes that are copied at a time: a word where the other side goes through the cache too and
    /// may be on the same lines; else a line, or as much as fits a transfer.
    fn grain(&self, memory: usize) -> u32 {
        if self.shared.private.get().is_some() {
            return 4;
        }
        self.cached(memory).unwrap_or(BURST as u32)
    }

    /// The private side of a copy.
    fn private(&self, offset: u32, len: usize, write: bool) {
        let Some(base) = self.shared.private.get() else { return };
        let home = self.rates().home;
        let mut bytes = [0; BURST];
        let address = base + offset % super::PRIVATE;
        let len = len.min((base + super::PRIVATE - address) as usize);
        if write {
            self.write(home, address, &bytes[..len]);
        } else {
            self.read(home, address, &mut bytes[..len]);
        }
    }

    /// Looks at a word until it holds `value`, or, if not `until`, another. The word if it does;
    /// none if there is something else to see to, or `end` has come.
    pub(super) fn look(
        &self,
        (memory, address): (usize, u32),
        (value, until): (u32, bool),
        end: Time,
    ) -> Option<u32> {
        let found = |word: &u32| (*word == value) == until;
        let word = Some(self.load(memory, address)).filter(found);
        if word.is_some() {
            return word;
        }
        let poll = self.rates().poll;
        let mut parked = false;
        self.act(|state, process| {
            // What has come while it looked would not come again.
            let nothing = state.now < end && !state.processes[process].news;
            parked = nothing && state.spin(process, poll, value, until);
            parked
        });
        let mut latch = None;
        self.act(|state, process| {
            latch = state.processes[process].latch.take();
            false
        });
        let word = latch.filter(found);
        // Parked, it has computed already, unless a look was made for it, in vain.
        if word.is_none() && (latch.is_some() || !parked) {
            self.compute(poll);
        }
        word
    }

    /// Something that takes no time has happened once more.
    pub(super) fn tick(&self) {
        self.act(|_, _| false);
    }
}
