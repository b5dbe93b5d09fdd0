//! How a process reaches memory over the bus, copies, and looks at words.

use super::{Cpu, Run};
use crate::events::bus::{Act, Transfer, Watch};
use crate::events::state::{State, Vain};
use crate::time::Time;

/// The parts of a range that lie on one line of `line` bytes each: where, and how many bytes.
pub(super) fn pieces(address: u32, len: usize, line: u32) -> impl Iterator<Item = (u32, usize)> {
    let line = u64::from(line);
    let end = u64::from(address) + len as u64;
    let mut at = u64::from(address);
    let mut next = (at / line + 1) * line;
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let behind = next.min(end);
            let piece = (at as u32, (behind - at) as usize);
            (at, next) = (behind, behind + line);
            piece
        })
    })
}

/// How many lines of `line` bytes a range lies on.
pub(super) fn lines(address: u32, len: usize, line: u32) -> u64 {
    let (address, line) = (u64::from(address), u64::from(line));
    let Some(last) = (len as u64).checked_sub(1) else { return 0 };
    (address + last) / line - address / line + 1
}

pub(super) fn words(len: usize) -> u64 {
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
            state.runs(process)
                && (what(&mut state, process) | !state.tick())
                && !state.leaves(process)
        };
        if leave && !self.shared.door.leave() {
            // It panics: what it holds is dropped, and nothing takes time any more.
            self.machine().state.borrow_mut().current = None;
        }
    }

    /// Loads or stores a word if nothing comes between; what a load brought.
    #[inline]
    fn word_at_once(&self, memory: usize, address: u32, store: Option<u32>) -> Option<u32> {
        let (machine, process) = (self.machine(), self.shared.process);
        let route = machine.routes.get(memory)?;
        let mut state = machine.state.borrow_mut();
        let state = &mut *state;
        let time = route.word(store.is_some());
        let quick = address <= route.last_word
            && !self.is_barred(memory)
            && state.runs(process)
            && state.plan.spares(process)
            && !state.stands_still()
            && state.passes(process, route.bus, time, false);
        if !quick {
            return None;
        }
        state.tick();
        state.counts.words += 1;
        if machine.streams {
            self.shared.runs.set(Default::default());
        }
        match store {
            Some(word) => {
                state.put_word(process, memory, address, word);
                Some(word)
            }
            None => Some(state.word(memory, address)),
        }
    }

    /// A transfer of a word that others may come between; what a load brought.
    pub(super) fn transfer_word(&self, memory: usize, address: u32, act: Act) -> u32 {
        let mut word = 0;
        if self.inside(memory, address, 4) {
            self.transfer(
                memory,
                address,
                4,
                act,
                |_| {},
                |state, process, _| {
                    state.counts.words += 1;
                    word = state.processes[process].latch.take().unwrap_or(0);
                },
            );
        }
        word
    }

    /// A transfer over the bus of a memory, inside it. What is `before` it, and `behind` it, takes
    /// no time. If nothing comes between, what is behind has to load or store as well.
    #[inline]
    fn transfer(
        &self,
        memory: usize,
        address: u32,
        len: u32,
        act: Act,
        before: impl FnOnce(&mut Transfer),
        mut behind: impl FnMut(&mut State, usize, bool),
    ) {
        // A word ends a stretch, whichever memory it is in.
        if self.machine().streams
            && matches!(act, Act::Store(_) | Act::Claim(_) | Act::Load | Act::Look(_))
        {
            self.shared.runs.set(Default::default());
        }
        let route = &self.machine().routes[memory];
        let time = match act {
            Act::Read | Act::Write if route.streams() => {
                route.time_behind(self.behind(&act, (memory, address), len), len, act == Act::Write)
            }
            Act::Store(_) | Act::Write => route.time(len, true),
            Act::Claim(_) => route.time(len, false) + route.time(len, true),
            Act::Nothing | Act::Load | Act::Look(_) | Act::Read => route.time(len, false),
        };
        let bus = route.bus;
        let mut done = false;
        // Words that nothing comes between have gone another way.
        let plain = matches!(act, Act::Nothing | Act::Read | Act::Write);
        self.act(|state, process| {
            if plain && state.plan.spares(process) && state.passes(process, bus, time, false) {
                behind(state, process, true);
                done = true;
                return false;
            }
            let transfer = &mut state.processes[process].transfer;
            (transfer.memory, transfer.bus, transfer.time) = (memory, bus, time);
            (transfer.address, transfer.len, transfer.act) = (address, len, act);
            before(transfer);
            let leave = state.request(process);
            if !leave {
                behind(state, process, false);
                done = true;
            }
            leave
        });
        if !done {
            self.act(|state, process| {
                behind(state, process, false);
                false
            });
        }
    }

    /// How many bytes of its stretch are behind a transfer, which joins it.
    fn behind(&self, act: &Act, at: (usize, u32), len: u32) -> u32 {
        let mut runs = self.shared.runs.get();
        let run = &mut runs[usize::from(*act == Act::Write)];
        let done = if run.next == Some(at) { run.done } else { 0 };
        *run = Run { next: Some((at.0, at.1 + len)), done: done.saturating_add(len) };
        self.shared.runs.set(runs);
        done
    }

    /// Loads a word of a memory, past all caches.
    #[must_use]
    pub fn load(&self, memory: usize, address: u32) -> u32 {
        self.cross(memory, false);
        let word = self.word_at_once(memory, address, None);
        word.unwrap_or_else(|| self.transfer_word(memory, address, Act::Load))
    }

    /// Stores a word to a memory, past all caches.
    pub fn store(&self, memory: usize, address: u32, value: u32) {
        self.cross(memory, true);
        if self.word_at_once(memory, address, Some(value)).is_none() {
            self.transfer_word(memory, address, Act::Store(value));
        }
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
    pub(super) fn load_line(&self, memory: usize, address: u32, to: &mut [u8]) {
        self.fetch(memory, address, to, self.machine().routes[memory].burst);
    }

    pub(super) fn store_line(&self, memory: usize, address: u32, from: &[u8]) {
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
            self.cross(memory, false);
            self.transfer(
                memory,
                at,
                len as u32,
                Act::Read,
                |_| {},
                |state, process, at_once| {
                    state.counts.words += words(len);
                    part.copy_from_slice(if at_once {
                        state.bytes(memory, at, len)
                    } else {
                        &state.processes[process].transfer.bytes[..len]
                    });
                },
            );
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
            let fill = |transfer: &mut Transfer| transfer.bytes[..len].copy_from_slice(part);
            self.cross(memory, true);
            self.transfer(memory, at, len as u32, Act::Write, fill, |state, process, at_once| {
                state.counts.words += words(len);
                if at_once {
                    state.put(process, memory, at, part);
                }
            });
        }
    }

    /// Loads bytes and throws them away: what private data or descriptors cost.
    pub(super) fn load_nothing(&self, memory: usize, address: u32, len: u32) {
        if !self.inside(memory, address, len as usize) {
            return;
        }
        let burst = self.machine().routes[memory].burst;
        for (at, len) in pieces(address, len as usize, burst) {
            self.cross(memory, false);
            self.transfer(memory, at, len as u32, Act::Nothing, |_| {}, |_, _, _| {});
        }
    }

    /// Looks at a word until it holds `value`, or, if not `until`, another. The word if it does;
    /// none if there is something else to see to, or `end` has come. The first look has crossed
    /// bridges already; each look in vain lasts until the next one has.
    pub(super) fn look(
        &self,
        (memory, address): (usize, u32),
        (value, until): (u32, bool),
        end: Time,
    ) -> Option<u32> {
        let rates = self.rates();
        let watch = Watch { value, until, poll: rates.poll + rates.bridge(memory, false), end };
        let mut latch = None;
        if self.inside(memory, address, 4) {
            self.transfer(
                memory,
                address,
                4,
                Act::Look(watch),
                |_| {},
                |state, process, _| {
                    state.counts.words += 1;
                    latch = state.processes[process].latch.take();
                },
            );
        }
        let word = latch.filter(|word| watch.found(*word));
        // If looks were made for it, it has computed already, unless the last was in vain.
        if word.is_none() && latch.is_some() {
            self.compute(watch.poll);
        }
        word
    }

    /// Has looked again, from `began` on, at one word or several, and goes on until `end`.
    pub(super) fn look_again(&self, began: Time, word: Option<(usize, u32)>, end: Time) {
        if end == Time::NEVER {
            self.act(|state, process| state.in_vain(process, Vain { began, word }));
        }
        self.compute(self.rates().poll);
    }

    /// Something that takes no time has happened once more.
    pub(super) fn tick(&self) {
        self.act(|_, _| false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_lies_on_as_many_lines_as_it_has_pieces() {
        for line in [4, 32] {
            for address in 0..70 {
                for len in 0..70 {
                    let count = pieces(address, len, line).count() as u64;
                    assert_eq!(lines(address, len, line), count, "{address} {len} {line}");
                }
            }
        }
        assert_eq!(lines(u32::MAX, 2, 32), 2);
    }
}
