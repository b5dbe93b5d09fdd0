//! What a peer that breaks the rules writes to its own region, by a seed: garbage everywhere, and
//! words that are nearly right, which get further in.
#![allow(dead_code, reason = "each test that lies uses its part of it")]

use std::cell::Cell;

use narrows::memory::Layout;
use narrows::platform::{Memory, OwnMemory, Words, WordsMut};

/// Numbers that look random and are the same for the same seed.
#[derive(Clone)]
pub struct Random(Cell<u64>);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(Cell::new(seed))
    }
    pub fn word(&self) -> u32 {
        let sum = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(sum);
        let z = (sum ^ sum >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) as u32
    }
    pub fn below(&self, end: u32) -> u32 {
        ((u64::from(self.word()) * u64::from(end)) >> 32) as u32
    }
    pub fn one_in(&self, n: u32) -> bool {
        self.below(n) == 0
    }
    pub fn pick<T: Copy>(&self, of: &[T]) -> T {
        of[self.below(of.len() as u32) as usize]
    }
}

// By docs/WIRE.md, which other tests hold to the code.
const START: u32 = 4 * 4;
const ARMED: u32 = 512;
const CREDIT: u32 = 640;
const RETURNED: u32 = 644;
const TAKEN: u32 = 768;
const WANT: u32 = 896;
const URGENT: u32 = 900;
const SLOTS: u32 = 1024;
const IN_SLOT: u32 = 0xffff;

/// Which lies a peer tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lies {
    /// All of them.
    All,
    /// Messages that it makes up: no word is out of its place.
    Messages,
}

/// The peer's pen: its own region, which it writes, and its victim's, which it reads.
#[derive(Clone)]
pub struct Forger<O, Q> {
    pub random: Random,
    own: O,
    victim: Q,
    layout: Layout,
    start: u32,
    returns: u32,
    blocks: u32,
}

impl<O: OwnMemory, Q: Memory> Forger<O, Q> {
    /// For the region of this layout, with lines of 64 bytes.
    pub fn new(random: Random, layout: Layout, own: O, victim: Q) -> Self {
        let sizes = layout.parts().map(|(_, size)| size);
        let returns = sizes[..3].iter().sum();
        let start = own.words(START, 1).expect("a header").load(0);
        let blocks = sizes[..6].iter().sum();
        Forger { random, own, victim, layout, start, returns, blocks }
    }

    fn get(&self, at: u32) -> u32 {
        self.own.words(at, 1).map_or(0, |word| word.load(0))
    }
    fn put(&self, at: u32, value: u32) {
        let _ = self.own.words(at, 1).map(|word| word.store(0, value));
    }
    fn of_victim(&self, at: u32) -> u32 {
        self.victim.words(at, 1).map_or(0, |word| word.load(0))
    }
    fn slot(&self, sequence: u32) -> u32 {
        SLOTS + (sequence.wrapping_sub(1) & (self.layout.slots() - 1)) * 64
    }
    /// The number that the victim waits for.
    fn awaited(&self) -> u32 {
        self.start.wrapping_add(self.of_victim(TAKEN)).wrapping_add(1)
    }
    /// Messages that are published and not taken.
    fn published(&self) -> u32 {
        let awaited = self.awaited();
        let there = |n: &u32| {
            let sequence = awaited.wrapping_add(*n);
            self.get(self.slot(sequence)) == sequence
        };
        (0..self.layout.slots()).take_while(there).count() as u32
    }

    /// Writes a header that is wrong in a word or more, or is another one's.
    pub fn header(&self) {
        for _ in 0..=self.random.below(2) {
            let at =
                self.random.pick(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 17, 18, 19, 20, 21, 22, 24]) * 4;
            let near = self.near(self.get(at));
            self.put(at, near);
        }
    }

    /// Tells one lie, or a few.
    pub fn lie(&self, lies: Lies) {
        let all = lies == Lies::All;
        let channels = u32::from(self.layout.channels() > 0);
        match self.random.below(if all { 16 + 2 * channels } else { 6 }) {
            16 => self.entry(),
            17 => {
                let lines = self.blocks - self.channel_bytes();
                let channel = self.random.below(self.layout.channels().into());
                let line = self.random.pick(&[0, 128, 256]);
                self.near_word(lines + channel * 384 + line);
            }
            0..=2 => self.message(true),
            3 | 4 => self.message(false),
            5 => (0..self.random.below(20)).for_each(|_| self.message(false)),
            6 | 7 => self.descriptor(),
            8 => self.near_word(CREDIT),
            9 | 10 => self.give_back(),
            11 => self.sequence(),
            12 => self.replay(),
            13 => {
                let at = self.random.pick(&[ARMED, TAKEN, WANT, URGENT, RETURNED]);
                self.near_word(at);
            }
            14 => (0..8).for_each(|_| self.block_word()),
            _ => {
                for _ in 0..=self.random.below(8) {
                    let at = self.random.below(self.layout.size() / 4) * 4;
                    let any = self.random.word();
                    self.put(at, any);
                }
            }
        }
    }

    /// Bytes of the channels' control lines and slots.
    fn channel_bytes(&self) -> u32 {
        self.layout.parts()[4..6].iter().map(|part| part.1).sum()
    }

    /// Makes up the next entry of a channel, or spoils it.
    fn entry(&self) {
        let channel = self.random.below(self.layout.channels().into());
        let lines = self.blocks - self.channel_bytes();
        let slots = lines + self.layout.parts()[4].1;
        let count = self.layout.channel_slots();
        let taken = self.of_victim(lines + channel * 384 + 256);
        let before = self.start.wrapping_add(channel + 1).wrapping_add(taken);
        let slot = slots + (channel * count + (before & (count - 1))) * 64;
        let kind = self.random.pick(&[1, 1, 1, 1, 1, 1, 1, self.random.below(8)]);
        let ack = u32::from(self.random.one_in(8));
        let len = self.random.pick(&[0, 4, 8, 9, 64, 256, 257, self.random.below(1 << 24)]);
        let block = self.random.pick(&[IN_SLOT, IN_SLOT, self.block()]);
        self.put(slot + 4, len << 8 | kind << 5 | ack);
        self.put(slot + 8, self.random.word());
        self.put(slot + 12, block << 16 | self.random.below(9));
        self.put(slot + 16, self.random.word());
        let number = before.wrapping_add(1);
        self.put(slot, self.random.pick(&[number, number, number, self.near(number)]));
    }

    /// A number that is a little off, or a lot.
    fn near(&self, value: u32) -> u32 {
        let slots = self.layout.slots();
        let any = self.random.word();
        let off = [1, 1, 2, slots, slots + 1, u32::MAX, u32::MAX - 1, 1 << 31, any];
        value.wrapping_add(self.random.pick(&off))
    }
    fn near_word(&self, at: u32) {
        let any = self.near(self.get(at));
        let value = self.random.pick(&[any, any, 0, 1]);
        self.put(at, value);
    }

    /// Returns a block: one that is lent perhaps, or was returned before, or is none.
    fn give_back(&self) {
        let words = self.layout.blocks().next_power_of_two().max(2);
        let count = self.get(RETURNED);
        let entry = |k: u32| self.returns + (k & (words - 1)) * 4;
        let again = self.get(entry(count.wrapping_sub(1 + self.random.below(3))));
        let (block, any) = (self.block(), self.random.word());
        let name = self.random.pick(&[again, block, block, block, any, 0xffff, block | 1 << 16]);
        self.put(entry(count), name);
        if !self.random.one_in(4) {
            self.put(RETURNED, count.wrapping_add(1));
        }
    }

    /// A block's name; sometimes there is none of it.
    fn block(&self) -> u32 {
        let classes = self.layout.classes();
        let class = self.random.below(classes.len() as u32 + u32::from(self.random.one_in(8)));
        let count = classes.get(class as usize).map_or(1, |class| class.count);
        class << 12 | self.random.below(count + u32::from(self.random.one_in(8)))
    }

    fn block_word(&self) {
        let words = (self.layout.size() - self.blocks) / 4;
        let at = self.blocks + self.random.below(words) * 4;
        let (small, any) = (self.random.below(80), self.random.word());
        let value = self.random.pick(&[small, small, any]);
        self.put(at, value);
    }

    /// Sets a slot's number forward or back.
    fn sequence(&self) {
        let number = self.near(self.awaited());
        let slot = self.slot(self.random.word());
        let value = self.random.pick(&[number, self.awaited(), self.start]);
        self.put(slot, value);
    }

    /// Publishes what is in some slot once more.
    fn replay(&self) {
        let from = self.slot(self.random.word());
        let sequence = self.awaited().wrapping_add(self.published());
        let to = self.slot(sequence);
        (4..64).step_by(4).for_each(|at| self.put(to + at, self.get(from + at)));
        self.put(to, sequence);
    }

    /// Changes a field of a descriptor that is published, or a word of its payload.
    fn descriptor(&self) {
        let sequence = self.awaited().wrapping_add(self.random.below(self.published().max(1)));
        let slot = self.slot(sequence);
        let (at, mask) = self.random.pick(&[
            (4, 0xe0),
            (4, 0x1c),
            (4, 0x3),
            (4, 0x7f00),
            (4, 0xffff_ff00),
            (8, 0x3_0000),
            (8, 0x3),
            (8, 0xffff_ffff),
            (12, 0x7),
            (12, 0xffff),
            (12, 0xffff_0000),
            (16, 0xffff_ffff),
            (20, 0xffff_ffff),
        ]);
        let value = self.get(slot + at) & !mask | self.random.word() & mask;
        self.put(slot + at, value);
    }

    /// Publishes a message of its own making, behind what is published or in place of the last.
    fn message(&self, instead: bool) {
        let published = self.published();
        let behind = published.saturating_sub(u32::from(instead));
        let sequence = self.awaited().wrapping_add(behind);
        // What it answers, perhaps.
        let theirs = self.of_victim(START).wrapping_add(self.random.word());
        let theirs = SLOTS + (theirs & 7) * 64;
        let (ports, last) = (self.of_victim(theirs + 8), self.of_victim(theirs + 12));
        let kind = self.random.pick(&[1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5]);
        let small = |random: &Random| random.below(5);
        let asked = small(&self.random) << 16 | small(&self.random);
        let answered = ports.rotate_left(16);
        let ports = match kind {
            2 => self.random.pick(&[asked, asked & 0x1_0000]),
            3 => answered,
            _ => self.random.pick(&[asked, answered]),
        };
        let tag = self.random.pick(&[last & 0xffff, last & 0xffff, asked & 7]);
        let framed = kind != 4 && self.random.one_in(3);
        let priority = if framed { 7 } else { self.random.pick(&[0, 0, 1, 4, 7]) };
        let mut payload = [0; 12];
        let mut len = self.random.pick(&[0, 4, 8, 20, 47, 48]);
        if kind == 4 {
            len = self.control(&mut payload);
        } else {
            for word in &mut payload {
                let short = self.random.below(24) | self.random.below(4) << 24;
                *word = self.random.pick(&[short, short, self.random.word()]);
            }
        }
        let mut block = IN_SLOT;
        if self.random.one_in(3) {
            block = self.block();
            let class = self.layout.classes().get((block >> 12) as usize);
            let size = class.map_or(64, |class| class.size);
            if kind != 4 {
                len = self.random.pick(&[len, size, size, size / 2, self.random.below(size)]);
            }
            (0..6).for_each(|_| self.block_word());
        }
        if self.random.one_in(32) {
            len = self.random.pick(&[49, 65, 257, 0xff_ffff]);
        }
        let ack = self.random.pick(&[0, 0, 0, 0, 0, 1, 1, 2, 2, 3 * self.random.below(2)]);
        let slot = self.slot(sequence);
        self.put(slot + 4, len << 8 | kind << 5 | priority << 2 | ack);
        self.put(slot + 8, ports);
        self.put(slot + 12, block << 16 | tag);
        (0..12).for_each(|i| self.put(slot + 16 + i * 4, payload[i as usize]));
        self.put(slot, sequence);
    }

    /// Publishes one descriptor behind what is published, into every slot that is free.
    pub fn fill(&self, words: [u32; 3]) {
        let published = self.published();
        (published..self.layout.slots()).for_each(|behind| self.publish(behind, words));
    }

    fn publish(&self, behind: u32, words: [u32; 3]) {
        let sequence = self.awaited().wrapping_add(behind);
        let slot = self.slot(sequence);
        for (at, word) in (1..).zip(words) {
            self.put(slot + at * 4, word);
        }
        self.put(slot, sequence);
    }

    /// A control message; gives its length.
    fn control(&self, payload: &mut [u32; 12]) -> u32 {
        let r = &self.random;
        let flag = r.pick(&[0, 1, 1, 1, 1, 1, 1, 1, 1, 2]) << 8;
        let small = r.below(5) << 16;
        let len = match r.pick(&[1, 1, 2, 3, 3, 4, 4, 4, 5, 5, 6, 7, 1, 4, 4, 0]) {
            1 => {
                let name = r.pick(&[*b"echo", *b"echo", *b"echo", *b"none", *b"../x"]);
                let count = r.pick(&[4, 4, 4, 4, 4, 3, 1]);
                payload[0] = 1 | count << 8 | u32::from(name[0]) << 16 | u32::from(name[1]) << 24;
                payload[1] = u32::from(name[2]) | u32::from(name[3]) << 8;
                6
            }
            2 => {
                payload[0] = 2 | small;
                4
            }
            3 => {
                payload[0] = 3 | flag | small;
                4
            }
            4 => {
                payload[0] = 4;
                payload[1] = r.pick(&[0, 8, 64, 64, 256, 256, u32::MAX]);
                let transfer = r.below(4) + u32::from(r.one_in(64)) * 4;
                let placement = r.below(2) + u32::from(r.one_in(16)) * 7;
                let notification = r.below(5) + u32::from(r.one_in(64)) * 5;
                payload[2] = transfer | placement << 8 | r.below(3) << 16 | notification << 24;
                payload[3] = r.pick(&[1, 8, 64]) | r.pick(&[1, 1, 1, 2, 4, 60, 0xffff]) << 16;
                payload[4] = r.pick(&[64, 64, 100, 8192, u32::MAX]);
                // A time that is possible, mostly.
                let hour = 3_600_000_000_000_u64;
                let time = r.pick(&[1, 1000, 50_000, hour, hour, hour, hour + r.below(2) as u64]);
                (payload[6], payload[7]) = (time as u32, (time >> 32) as u32);
                32
            }
            5 => {
                payload[0] = 5 | flag;
                4
            }
            op @ (6 | 7) => {
                payload[0] = op;
                4
            }
            _ => {
                payload.iter_mut().for_each(|word| *word = r.word());
                48
            }
        };
        if r.one_in(32) { r.below(49) } else { len }
    }
}
