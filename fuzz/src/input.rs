//! Bytes as choices, in the order in which they are asked for.

/// What is left of an input. Where it has ended there are zeros.
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    /// All of it.
    pub fn new(bytes: &'a [u8]) -> Input<'a> {
        Input(bytes)
    }
    /// Whether anything is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// Up to `len` bytes.
    pub fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (head, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        head
    }
    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let bytes = self.bytes(N);
        array[..bytes.len()].copy_from_slice(bytes);
        array
    }
    /// A byte.
    pub fn byte(&mut self) -> u8 {
        self.array::<1>()[0]
    }
    /// Two bytes, little-endian.
    pub fn short(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }
    /// A word, little-endian.
    pub fn word(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }
    /// A byte that says how many bytes follow, and those bytes.
    pub fn counted(&mut self) -> &'a [u8] {
        let len = self.byte();
        self.bytes(len.into())
    }
}
