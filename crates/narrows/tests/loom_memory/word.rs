//! Memory under the model checker.
//!
//! Words that both sides look at without an order between them (sequence numbers, credit, armed,
//! taken, want) are atomics. Everything that the protocol hands over as a whole (descriptors,
//! payload, names of returned blocks) is in checked cells: an access that is not ordered against a
//! write of the other side fails the model even if it happened to see the right value.

use std::cell::Cell as Unshared;

use loom::cell::Cell as Checked;
use loom::sync::atomic::AtomicU32;
use narrows::memory::Layout;
use std::sync::atomic::Ordering;

/// First word of the slots.
pub const SLOTS: u32 = 256;
/// Armed, credit and blocks returned, taken, want, urgent.
const RACING: [u32; 6] = [128, 160, 161, 192, 224, 225];
/// Words between two control words of a channel.
const APART: u32 = 32;

/// A word of a region.
pub enum Word {
    /// One that both sides look at.
    Racing(AtomicU32),
    /// One that is handed over.
    Checked(Checked<u32>),
    /// One of the header, which is written before the other side exists, or that nobody uses.
    Plain(Unshared<u32>),
}

impl Word {
    /// Loads it; the ordering counts for those that race.
    pub fn load(&self, order: Ordering) -> u32 {
        match self {
            Word::Racing(word) => word.load(order),
            Word::Checked(word) => word.get(),
            Word::Plain(word) => word.get(),
        }
    }
    /// Stores it, as [`Word::load`] loads it.
    pub fn store(&self, value: u32, order: Ordering) {
        match self {
            Word::Racing(word) => word.store(value, order),
            Word::Checked(word) => word.set(value),
            Word::Plain(word) => word.set(value),
        }
    }
}

/// The words of a region of this layout.
pub fn words(layout: &Layout) -> Box<[Word]> {
    let line = layout.line() / 4;
    let blocks: u32 =
        layout.classes().iter().map(|c| c.count * c.size.next_multiple_of(layout.line())).sum();
    let mut end = 0;
    let [header, control, slots, returns, lines, rings, _] = layout.parts().map(|(_, size)| {
        end += size / 4;
        end
    });
    let word = |at: u32| {
        let (racing, checked) = if at < control {
            (at >= header && RACING.contains(&at), false)
        } else if at < slots || (lines..rings).contains(&at) {
            (at % line == 0, true)
        } else if (returns..lines).contains(&at) {
            ((at - returns) % APART == 0, false)
        } else {
            (false, at < rings + blocks / 4)
        };
        match (racing, checked) {
            (true, _) => Word::Racing(AtomicU32::new(0)),
            (_, true) => Word::Checked(Checked::new(0)),
            _ => Word::Plain(Unshared::new(0)),
        }
    };
    (0..layout.size() / 4).map(word).collect()
}

/// Copies bytes from where `words` begin.
pub fn read(words: &[Word], to: &mut [u8]) {
    for (word, bytes) in words.iter().zip(to.chunks_mut(4)) {
        bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes()[..bytes.len()]);
    }
}

/// Copies bytes to where `words` begin.
pub fn write(from: &[u8], words: &[Word]) {
    for (word, bytes) in words.iter().zip(from.chunks(4)) {
        let mut all = match bytes.len() {
            4 => [0; 4],
            _ => word.load(Ordering::Relaxed).to_le_bytes(),
        };
        all[..bytes.len()].copy_from_slice(bytes);
        word.store(u32::from_le_bytes(all), Ordering::Relaxed);
    }
}
