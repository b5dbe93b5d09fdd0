//! Memory of a publisher, lent to make a value in.
#![allow(unsafe_code)]

use std::cell::RefMut;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use narrows::platform::OwnMemory as _;

use crate::error::Error;
use crate::outlet::{Inner, Outlet};
use crate::publisher::Publisher;
use crate::typed::{Payload, Typed};

/// Memory of a publisher to make a value in, which has what was there before. Dropped, it is
/// published by nobody.
pub struct Loan<'a, T: Payload + ?Sized> {
    outlet: &'a Outlet,
    inner: RefMut<'a, Inner>,
    /// None once it was published.
    slot: Option<usize>,
    value: NonNull<T>,
}

impl<T: Typed> Publisher<T> {
    /// Lends memory to make a value in, which whoever subscribes reads where it is. Meanwhile the
    /// publisher does nothing else: [`Error::Busy`].
    ///
    /// # Errors
    /// See [`Error`].
    pub fn loan(&self) -> Result<Loan<'_, T>, Error> {
        Loan::new(self, size_of::<T>())
    }
}

impl<T: Typed> Publisher<[T]> {
    /// As that of one value, for so many.
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
        let mut inner = outlet.inner()?;
        let slot = outlet.lend(&mut inner, len)?;
        let (at, region) = (outlet.place(slot), inner.memory.region_mut());
        // SAFETY: the slot is lent to this loan, and to nobody else until it is published: no
        // subscriber has it, and whatever else could write it is behind `inner`.
        let bytes = unsafe { region.slice_mut(at, len as u32) };
        match bytes.and_then(T::of_mut).map(NonNull::from) {
            Some(value) => Ok(Loan { outlet, inner, slot: Some(slot), value }),
            None => {
                inner.stock.put_back(slot);
                Err(outlet.size_error())
            }
        }
    }

    /// Publishes what was made.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn send(mut self) -> Result<(), Error> {
        let len = size_of_val(&*self);
        match self.slot.take() {
            Some(slot) => self.outlet.publish(&mut self.inner, slot, len),
            None => Ok(()),
        }
    }
}

impl<T: Payload + ?Sized> Drop for Loan<'_, T> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            self.inner.stock.put_back(slot);
        }
    }
}

impl<T: Payload + ?Sized> Deref for Loan<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: `new` found it in memory that stays mapped while `inner` is kept, and which
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
