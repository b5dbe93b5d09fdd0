//! A queue in storage of its owner's.

use core::ops::DerefMut;

/// First in, first out, in as many places as its storage has.
pub struct Ring<T, S> {
    places: S,
    first: usize,
    count: usize,
    _of: core::marker::PhantomData<T>,
}

impl<T, S: DerefMut<Target = [Option<T>]>> Ring<T, S> {
    /// An empty one.
    pub fn new(places: S) -> Ring<T, S> {
        Ring { places, first: 0, count: 0, _of: core::marker::PhantomData }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether no place is free.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.count == self.places.len()
    }

    /// Adds one behind the others.
    ///
    /// # Errors
    /// No place is free: the one.
    pub fn push(&mut self, one: T) -> Result<(), T> {
        if self.is_full() {
            return Err(one);
        }
        let at = (self.first + self.count) % self.places.len();
        self.put(at, one)
    }

    /// Puts one before the others.
    ///
    /// # Errors
    /// No place is free: the one.
    pub fn put_back(&mut self, one: T) -> Result<(), T> {
        if self.is_full() {
            return Err(one);
        }
        self.first = (self.first + self.places.len() - 1) % self.places.len();
        self.put(self.first, one)
    }

    fn put(&mut self, at: usize, one: T) -> Result<(), T> {
        match self.places.get_mut(at) {
            Some(place) => {
                *place = Some(one);
                self.count += 1;
                Ok(())
            }
            None => Err(one),
        }
    }

    /// Takes the first.
    pub fn pop(&mut self) -> Option<T> {
        if self.count == 0 {
            return None;
        }
        let one = self.places.get_mut(self.first)?.take()?;
        self.first = (self.first + 1) % self.places.len();
        self.count -= 1;
        Some(one)
    }

    /// Moves all that is there to other places, which have to be more than those that are taken.
    ///
    /// # Errors
    /// They are fewer: the places.
    pub fn move_to(&mut self, places: S) -> Result<(), S> {
        if places.len() < self.count {
            return Err(places);
        }
        let mut moved = Ring::new(places);
        while let Some(one) = self.pop() {
            // There are as many places.
            let _ = moved.push(one);
        }
        *self = moved;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn what_comes_first_goes_first_and_what_is_put_back_before_it() {
        let places = |count| -> Vec<Option<u32>> { (0..count).map(|_| None).collect() };
        let mut ring = Ring::new(places(3));
        for round in 0..4 {
            assert!(ring.is_empty());
            assert_eq!((ring.push(round), ring.push(round + 1)), (Ok(()), Ok(())));
            assert!(!ring.is_empty());
            assert_eq!(ring.pop(), Some(round));
            assert_eq!((ring.push(7), ring.put_back(9)), (Ok(()), Ok(())));
            assert_eq!((ring.push(1), ring.put_back(2)), (Err(1), Err(2)), "full");
            assert_eq!(ring.move_to(places(2)), Err(vec![None; 2]));
            assert_eq!(ring.move_to(places(3 + round as usize)), Ok(()));
            assert_eq!([ring.pop(), ring.pop(), ring.pop()], [Some(9), Some(round + 1), Some(7)]);
            assert!(ring.pop().is_none() && ring.is_empty());
            ring = Ring::new(places(3));
        }
        let mut none = Ring::new(places(0));
        assert_eq!((none.push(1), none.put_back(1), none.pop()), (Err(1), Err(1), None));
    }
}
