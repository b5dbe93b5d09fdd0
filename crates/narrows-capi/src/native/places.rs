//! Tables of what a node has: by place, and by which life of the place is meant.

/// Things in places that are used again, each with the number of its life.
pub(super) struct Places<T>(Vec<Option<(u64, T)>>);

impl<T> Default for Places<T> {
    fn default() -> Places<T> {
        Places(Vec::new())
    }
}

impl<T> Places<T> {
    /// Puts something into a free place. None if all 65536 are taken.
    pub fn put(&mut self, serial: u64, value: T) -> Option<u16> {
        let free = self.0.iter().position(Option::is_none);
        let place = free.unwrap_or(self.0.len());
        let at = u16::try_from(place).ok()?;
        match self.0.get_mut(place) {
            Some(free) => *free = Some((serial, value)),
            None => self.0.push(Some((serial, value))),
        }
        Some(at)
    }

    /// What is there, if it is the one that is meant.
    #[inline]
    pub fn get(&mut self, place: u16, serial: u64) -> Option<&mut T> {
        let found = self.0.get_mut(usize::from(place))?.as_mut()?;
        (found.0 == serial).then_some(&mut found.1)
    }

    /// Takes it out.
    pub fn take(&mut self, place: u16, serial: u64) -> Option<T> {
        let found = self.0.get_mut(usize::from(place))?;
        let meant = found.as_ref().is_some_and(|(life, _)| *life == serial);
        if meant { found.take().map(|(_, value)| value) } else { None }
    }

    /// Takes out all that are not to be kept.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        for place in &mut self.0 {
            place.take_if(|(_, value)| !keep(value));
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.iter().flatten().count()
    }

    /// All of them.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flatten().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_used_again_is_not_what_it_was() {
        let mut places = Places::default();
        assert_eq!((places.put(5, 'a'), places.put(6, 'b')), (Some(0), Some(1)));
        assert_eq!(places.get(0, 5).copied(), Some('a'));
        assert!(places.get(0, 6).is_none() && places.get(9, 5).is_none());
        assert_eq!(
            (places.take(0, 6), places.take(0, 5), places.take(0, 5)),
            (None, Some('a'), None)
        );
        assert_eq!(places.put(7, 'c'), Some(0));
        assert_eq!(places.get(0, 5), None);
        places.retain(|value| *value == 'c');
        assert_eq!((places.count(), places.values().collect::<String>()), (1, "c".to_owned()));
    }
}
