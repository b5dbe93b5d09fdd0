//! The caller's memory. A function that makes one of these has the caller's word that the memory is
//! there and nobody else's for as long as the call, or the request that it makes, lasts.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// A place for a result; null if the caller does not want it.
#[derive(Debug)]
pub(super) struct Output<T>(Option<NonNull<T>>);

impl<T> Clone for Output<T> {
    fn clone(&self) -> Output<T> {
        *self
    }
}

impl<T> Copy for Output<T> {}

// SAFETY: the caller has handed the memory over, to whichever thread finishes what it is for.
unsafe impl<T> Send for Output<T> {}

impl<T> Output<T> {
    /// # Safety
    /// Null, or valid for writes until the call or the request that it is for ends.
    pub unsafe fn new(to: *mut T) -> Output<T> {
        Output(NonNull::new(to))
    }

    /// None that the caller wants.
    pub fn nowhere() -> Output<T> {
        Output(None)
    }

    pub fn is_null(&self) -> bool {
        self.0.is_none()
    }

    /// Writes the result.
    #[inline]
    pub fn put(&self, value: T) {
        if let Some(to) = self.0 {
            // SAFETY: valid for writes, as was promised to `new`; C may not have aligned it.
            unsafe { to.write_unaligned(value) };
        }
    }
}

/// Bytes that the caller sends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes {
    from: Option<NonNull<u8>>,
    len: usize,
}

// SAFETY: as for `Output`; it is read only.
unsafe impl Send for Bytes {}

impl Bytes {
    /// # Safety
    /// Null, or valid for reads of `len` bytes until the call or request that it is for ends.
    #[inline]
    pub unsafe fn new(from: *const u8, len: usize) -> Bytes {
        Bytes { from: NonNull::new(from.cast_mut()), len }
    }

    /// Whether there should be bytes and are none.
    #[inline]
    pub fn missing(&self) -> bool {
        self.from.is_none() && self.len > 0
    }

    /// The bytes, unless there is no address.
    #[inline(always)]
    pub fn there(&self) -> Option<&[u8]> {
        // SAFETY: as in `get`.
        self.from.map(|from| unsafe { std::slice::from_raw_parts(from.as_ptr(), self.len) })
    }

    #[inline]
    pub fn get(&self) -> &[u8] {
        match self.from {
            // SAFETY: valid for reads of that many bytes, as was promised to `new`.
            Some(from) => unsafe { std::slice::from_raw_parts(from.as_ptr(), self.len) },
            None => &[],
        }
    }
}

/// Room of the caller's for what it receives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    to: Option<NonNull<u8>>,
    len: usize,
}

// SAFETY: as for `Output`.
unsafe impl Send for Buffer {}

impl Buffer {
    /// # Safety
    /// Null, or valid for reads and writes of `len` bytes, of which nobody else makes use, until
    /// the call or request that it is for ends.
    #[inline]
    pub unsafe fn new(to: *mut u8, len: usize) -> Buffer {
        Buffer { to: NonNull::new(to), len }
    }

    #[inline]
    pub fn missing(&self) -> bool {
        self.to.is_none() && self.len > 0
    }

    /// The room, unless there is no address.
    #[inline(always)]
    pub fn there(&mut self) -> Option<&mut [u8]> {
        // SAFETY: as in `get`.
        self.to.map(|to| unsafe { std::slice::from_raw_parts_mut(to.as_ptr(), self.len) })
    }

    #[inline]
    pub fn get(&mut self) -> &mut [u8] {
        match self.to {
            // SAFETY: nobody else's memory of that many bytes, as was promised to `new`.
            Some(to) => unsafe { std::slice::from_raw_parts_mut(to.as_ptr(), self.len) },
            None => &mut [],
        }
    }
}

/// The caller's variable that holds a request. Other threads may have it too, and cancel it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variable(NonNull<u32>);

impl Variable {
    /// None if null.
    ///
    /// # Safety
    /// Null, or aligned and valid for reads and writes during the call.
    pub unsafe fn new(at: *mut u32) -> Option<Variable> {
        NonNull::new(at).map(Variable)
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: aligned and valid during the call, as was promised to `new`; whatever else of
        // this library has it uses it as an atomic too.
        unsafe { AtomicU32::from_ptr(self.0.as_ptr()) }
    }

    pub fn get(&self) -> u32 {
        // Relaxed: what the number stands for is behind the node's lock.
        self.word().load(Ordering::Relaxed)
    }

    pub fn put(&self, value: u32) {
        // Relaxed: see `get`.
        self.word().store(value, Ordering::Relaxed);
    }
}

/// An array of the caller's of pointers to its variables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variables {
    first: NonNull<*mut u32>,
    count: usize,
}

impl Variables {
    /// None if there are none, or one of the pointers is null.
    ///
    /// # Safety
    /// Null, or valid for reads of `count` pointers during the call, each of them as
    /// [`Variable::new`] wants it.
    pub unsafe fn new(first: *mut *mut u32, count: usize) -> Option<Variables> {
        let all = Variables { first: NonNull::new(first).filter(|_| count > 0)?, count };
        (0..count).all(|at| all.get(at).is_some()).then_some(all)
    }

    /// One of them.
    pub fn get(&self, at: usize) -> Option<Variable> {
        if at >= self.count {
            return None;
        }
        // SAFETY: that number of pointers is there, as was promised to `new`, each as it should be.
        unsafe { Variable::new(self.first.add(at).read_unaligned()) }
    }

    pub fn iter(self) -> impl Iterator<Item = Variable> {
        (0..self.count).map_while(move |at| self.get(at))
    }
}
