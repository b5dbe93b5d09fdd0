//! Memory of a publisher, lent to make a value in.
#![allow(unsafe_code)]

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::time::Duration;

use narrows::platform::OwnMemory as _;

use crate::error::Error;
use crate::outlet::Outlet;
use crate::publisher::Publisher;
use crate::typed::{Payload, Typed};

/// A slot that is being written: it is published, or put back.
#[must_use]
#[derive(Debug)]
pub struct Lent {
    slot: usize,
    at: NonNull<u8>,
    len: usize,
}

impl Lent {
    /// Where its bytes are, which nobody else reads or writes meanwhile. They have what was there
    /// before.
    #[must_use]
    pub fn at(&self) -> NonNull<u8> {
        self.at
    }

    /// How many there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "what is lent has bytes")]
    pub fn len(&self) -> usize {
        self.len
    }
}

impl Outlet {
    /// Lends memory for `len` bytes. Until it is published or put back, the publisher does nothing
    /// else: [`Error::Busy`].
    ///
    /// # Errors
    /// See [`Error`].
    pub fn loan(&self, len: usize, within: Option<Duration>) -> Result<Lent, Error> {
        let mut inner = self.inner()?;
        let slot = self.lend(&mut inner, len, within)?;
        let at = inner.stock.place(slot);
        let region = inner.memory.region_mut();
        // SAFETY: the slot is lent, and is nobody else's until it is published: no subscriber has
        // it, and whatever else could write it is behind `inner`, which is kept from all but `end`.
        let bytes = unsafe { region.slice_mut(at, len as u32) };
        match bytes.map(|bytes| NonNull::from(bytes).cast()) {
            Some(at) => {
                inner.lent = true;
                Ok(Lent { slot, at, len })
            }
            None => {
                inner.stock.put_back(slot);
                Err(self.limit_error(&inner, len))
            }
        }
    }

    /// Publishes the first `len` bytes of what was lent by this publisher, and no more than was
    /// lent.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn send_lent(&self, lent: Lent, len: usize) -> Result<(), Error> {
        let mut inner = self.inner.try_borrow_mut().map_err(|_| Error::Busy)?;
        inner.lent = false;
        self.publish(&mut inner, lent.slot, len.min(lent.len))
    }

    /// Takes back what was lent by this publisher.
    pub fn put_back(&self, lent: &Lent) {
        if let Ok(mut inner) = self.inner.try_borrow_mut() {
            inner.lent = false;
            inner.stock.put_back(lent.slot);
        }
    }
}

/// Memory of a publisher to make a value in, which has what was there before. Dropped, it is
/// published by nobody.
pub struct Loan<'a, T: Payload + ?Sized> {
    outlet: &'a Outlet,
    /// None once it was published.
    lent: Option<Lent>,
    value: NonNull<T>,
}

impl<T: Typed> Publisher<T> {
    /// Lends memory to make a value in, which subscribers read where it is. Meanwhile the publisher
    /// does nothing else: [`Error::Busy`].
    ///
    /// # Errors
    /// See [`Error`].
    pub fn loan(&self) -> Result<Loan<'_, T>, Error> {
        Loan::new(self, size_of::<T>())
    }
}

impl<T: Typed> Publisher<[T]> {
    /// As [`loan`](Publisher::loan) of one value, for this many values.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn loan(&self, values: usize) -> Result<Loan<'_, [T]>, Error> {
        Loan::new(self, size_of::<T>().saturating_mul(values))
    }
}

impl<'a, T: Payload + ?Sized> Loan<'a, T> {
    fn new(publisher: &'a Publisher<T>, len: usize) -> Result<Loan<'a, T>, Error> {
        let outlet = &*publisher.outlet;
        let lent = outlet.loan(len, outlet.patience)?;
        let bytes = NonNull::slice_from_raw_parts(lent.at, len);
        // SAFETY: they are this loan's alone until it is published or put back.
        match T::of_mut(unsafe { &mut *bytes.as_ptr() }).map(NonNull::from) {
            Some(value) => Ok(Loan { outlet, lent: Some(lent), value }),
            None => {
                outlet.put_back(&lent);
                Err(Error::Length(outlet.name.to_string()))
            }
        }
    }

    /// Publishes what was made.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn send(mut self) -> Result<(), Error> {
        let len = size_of_val(&*self);
        self.lent.take().map_or(Ok(()), |lent| self.outlet.send_lent(lent, len))
    }
}

impl<T: Payload + ?Sized> Drop for Loan<'_, T> {
    fn drop(&mut self) {
        if let Some(lent) = &self.lent {
            self.outlet.put_back(lent);
        }
    }
}

impl<T: Payload + ?Sized> Deref for Loan<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: `new` found it in memory that stays mapped while the publisher is kept, and which
        // nobody but this loan reads or writes.
        unsafe { self.value.as_ref() }
    }
}

impl<T: Payload + ?Sized> DerefMut for Loan<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        unsafe { self.value.as_mut() }
    }
}
