//! Copies that a core makes.

use super::Cpu;
use super::access::{pieces, words};
use super::chain::Place;
use crate::events::bus::BURST;
use crate::part::cache::{Cache, Tag};
use crate::trace::Doing;

/// What a word is that is copied by way of the cache on both sides.
const WORD: u32 = 4;

/// Two lines of the data cache, and the bytes of each that a copy has come to.
struct Both<'a> {
    cache: &'a mut Cache,
    from: (usize, usize),
    to: (usize, usize),
    len: usize,
}

impl Both<'_> {
    fn read(&self) -> &[u8] {
        &self.cache.bytes(self.from.0)[self.from.1..][..self.len]
    }

    fn write(&mut self, bytes: &[u8]) {
        self.cache.write(self.to.0, self.to.1, bytes, true);
    }
}

impl Cpu {
    /// Copies bytes from one place to another, word by word: what each word takes is
    /// [`Copying::word`](crate::chip::Copying::word), beside both accesses. With `past`, it reads
    /// past the cache.
    pub fn copy(&self, from: Place, to: Place, len: usize, past: bool) {
        let mut word = [0; WORD as usize];
        self.does(Doing::Copy);
        self.compute(self.rates().copy_start);
        let mut done = 0;
        while done < len {
            let at = done as u32;
            let (source, target) = ((from.0, from.1 + at), (to.0, to.1 + at));
            if !past {
                let quick = self.in_turn(source, target, len - done, |both| {
                    let mut bytes = [0; BURST];
                    bytes[..both.len].copy_from_slice(both.read());
                    both.write(&bytes[..both.len]);
                });
                if quick > 0 {
                    done += quick;
                    continue;
                }
            }
            let part = &mut word[..(len - done).min(WORD as usize)];
            if past {
                self.load_bytes(source.0, source.1, part);
            } else {
                self.read(source.0, source.1, part);
            }
            self.compute(self.rates().copy_word);
            self.write(target.0, target.1, part);
            done += part.len();
        }
        self.does(Doing::Work);
    }

    /// Copies from private memory to shared memory.
    pub(super) fn copy_out(&self, memory: usize, address: u32, from: &[u8]) {
        self.does(Doing::Copy);
        self.compute(self.rates().copy_start);
        let mut done = 0;
        while done < from.len() {
            let (at, rest) = (address + done as u32, &from[done..]);
            let quick = self.private_at(done).map_or(0, |(private, left)| {
                self.in_turn(private, (memory, at), rest.len().min(left), |both| {
                    both.write(&rest[..both.len]);
                })
            });
            if quick > 0 {
                done += quick;
                continue;
            }
            let part = &rest[..self.part(memory, at, rest.len())];
            self.private(done, part.len(), false);
            self.compute(self.rates().copy_word * words(part.len()));
            self.write(memory, at, part);
            done += part.len();
        }
        self.does(Doing::Work);
    }

    /// Copies from shared memory to private memory.
    pub(super) fn copy_in(&self, memory: usize, address: u32, to: &mut [u8]) {
        self.does(Doing::Copy);
        self.compute(self.rates().copy_start);
        let mut done = 0;
        while done < to.len() {
            let (at, rest) = (address + done as u32, &mut to[done..]);
            let quick = self.private_at(done).map_or(0, |(private, left)| {
                self.in_turn((memory, at), private, rest.len().min(left), |both| {
                    rest[..both.len].copy_from_slice(both.read());
                    both.write(&[0; BURST][..both.len]);
                })
            });
            if quick > 0 {
                done += quick;
                continue;
            }
            let part = self.part(memory, at, rest.len());
            let part = &mut rest[..part];
            self.read(memory, at, part);
            self.compute(self.rates().copy_word * words(part.len()));
            self.private(done, part.len(), true);
            done += part.len();
        }
        self.does(Doing::Work);
    }

    /// Bytes that are copied at a time: a word where the other side goes through the cache too and
    /// may be on the same lines; else to the end of a line, or as many as fit a transfer.
    fn part(&self, memory: usize, address: u32, rest: usize) -> usize {
        let grain = match self.shared.private.get() {
            Some(_) => WORD,
            None => self.cached(memory).unwrap_or(BURST as u32),
        };
        pieces(address, rest, grain).next().map_or(0, |(_, len)| len)
    }

    /// Where the private side of a copy has come to, if it goes through the cache, and how many
    /// bytes it has from there on.
    fn private_at(&self, done: usize) -> Option<(Place, usize)> {
        let base = self.shared.private.get()?;
        let offset = done as u32 % super::PRIVATE;
        Some(((self.rates().home, base + offset), (super::PRIVATE - offset) as usize))
    }

    /// The private side of a copy.
    fn private(&self, done: usize, len: usize, write: bool) {
        let Some(((home, address), left)) = self.private_at(done) else { return };
        let mut bytes = [0; BURST];
        let len = len.min(left);
        if write {
            self.write(home, address, &bytes[..len]);
        } else {
            self.read(home, address, &mut bytes[..len]);
        }
    }

    /// Copies words from one line to another, as many as both have from these places on, if the
    /// data cache has both lines and nothing comes between. How many bytes. It takes what reading,
    /// copying and writing them one by one takes.
    fn in_turn(
        &self,
        from: Place,
        to: Place,
        len: usize,
        what: impl FnOnce(&mut Both<'_>),
    ) -> usize {
        let machine = self.machine();
        let rates = self.rates();
        let through = |(memory, address): Place| {
            address.is_multiple_of(WORD)
                && machine.routes.get(memory).is_some_and(|route| route.cached)
        };
        if !through(from) || !through(to) {
            return 0;
        }
        let mut state = machine.state.borrow_mut();
        let process = self.shared.process;
        if !state.runs(process) {
            return 0;
        }
        let core = self.shared.core;
        let Some(cache) = &mut state.cores[core].data else { return 0 };
        let line = cache.shape.line;
        let left = |address: u32| (line - address % line) as usize;
        let len = len.min(left(from.1)).min(left(to.1)) / WORD as usize * WORD as usize;
        let tags = [from, to].map(|(memory, at)| Tag { memory, address: at - at % line });
        let there = tags.iter().all(|tag| cache.has(*tag).is_some());
        if !cache.shape.write_back || len == 0 || tags[0] == tags[1] || !there {
            return 0;
        }
        let count = words(len);
        let time = (rates.hit * 2 + rates.copy_word) * count;
        if !state.computes(process, time) {
            return 0;
        }
        let Some(cache) = &mut state.cores[core].data else { return 0 };
        let [Some(source), Some(target)] = tags.map(|tag| cache.find(tag)) else { return 0 };
        let place = |address: u32| (address % line) as usize;
        what(&mut Both { cache, from: (source, place(from.1)), to: (target, place(to.1)), len });
        cache.used.lookups += 2 * count;
        state.counts.words += 2 * count;
        len
    }
}
