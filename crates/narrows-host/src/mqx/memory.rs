//! Memory of the heap: a processor's tables, and the bytes of its messages.

use narrows::driver::NotThere;
use narrows::mqx::Supply;
use narrows::platform::NoStorage;

/// Bytes in front of a message's own, for a caller that wants a header there.
pub const HEAD: usize = 8;
/// What the first byte in front of a message is aligned to: what C has nothing larger than.
const ALIGNED: usize = 16;

/// The memory of one message.
#[derive(Default)]
pub(super) struct Memory {
    // Not a box: C may keep where it is and write there while this is moved about.
    all: Vec<u8>,
    /// Where the bytes in front of the message begin.
    at: usize,
}

impl Memory {
    fn new(bytes: usize) -> Option<Memory> {
        let mut all: Vec<u8> = Vec::new();
        all.try_reserve_exact(bytes.checked_add(HEAD + ALIGNED)?).ok()?;
        let at = all.as_ptr().align_offset(ALIGNED).min(ALIGNED);
        all.resize(at + HEAD + bytes, 0);
        Some(Memory { all, at })
    }

    /// The bytes in front of the message, and the message.
    pub fn whole(&mut self) -> &mut [u8] {
        self.all.get_mut(self.at..).unwrap_or_default()
    }

    /// The message.
    pub fn bytes(&self) -> &[u8] {
        self.all.get(self.at + HEAD..).unwrap_or_default()
    }

    /// The message, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.all.get_mut(self.at + HEAD..).unwrap_or_default()
    }
}

/// Memory of the heap. While a task has a message, its bytes are with the task.
pub(super) struct Heap;

impl Supply for Heap {
    type Slice<T> = Box<[T]>;
    type Buffer = Memory;
    fn storage<T>(
        &mut self,
        len: usize,
        make: impl FnMut(usize) -> T,
    ) -> Result<Box<[T]>, NoStorage> {
        Ok((0..len).map(make).collect())
    }
    fn make(&mut self, bytes: usize) -> Option<Memory> {
        Memory::new(bytes)
    }
    fn copy(&mut self, from: &Memory, to: &mut Memory, bytes: usize) -> Result<(), NotThere> {
        let part = from.bytes().get(..bytes).ok_or(NotThere)?;
        to.bytes_mut().get_mut(..bytes).ok_or(NotThere)?.copy_from_slice(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_front_of_a_message_is_aligned_and_not_the_messages() {
        for bytes in [0, 1, 15, 4096] {
            let mut memory = Memory::new(bytes).expect("memory");
            let whole = memory.whole();
            assert_eq!((whole.as_ptr() as usize % ALIGNED, whole.len()), (0, HEAD + bytes));
            whole[..HEAD].fill(1);
            assert_eq!(memory.bytes(), vec![0; bytes]);
            memory.bytes_mut().fill(2);
            assert_eq!(memory.whole()[..HEAD], [1; HEAD]);
        }
        assert!(Memory::new(usize::MAX - 3).is_none());
        assert!(Memory::default().whole().is_empty());
    }
}
