//! Packets that were received and not released.

/// Packets that an application can have at a time.
const MOST: usize = 4096;
const PLACES: usize = 2 * MOST;

/// A packet of the application's. None is at address 0.
#[derive(Clone, Copy, Debug)]
struct Packet<T> {
    at: usize,
    of: Option<T>,
}

/// The packets, found by their addresses, and whose block each is.
pub(super) struct Held<T> {
    places: Box<[Packet<T>; PLACES]>,
    count: usize,
}

impl<T: Copy> Held<T> {
    const NONE: Packet<T> = Packet { at: 0, of: None };

    pub fn new() -> Option<Held<T>> {
        let places = vec![Self::NONE; PLACES].into_boxed_slice();
        Some(Held { places: places.try_into().ok()?, count: 0 })
    }

    /// Whether one more can be had.
    #[inline(always)]
    pub fn room(&self) -> bool {
        self.count < MOST
    }

    #[inline(always)]
    fn first(at: usize) -> usize {
        // Blocks are multiples of a line apart.
        (at >> 6).wrapping_mul(0x9e37_79b9) >> 7 & (PLACES - 1)
    }

    #[inline(always)]
    fn place(&mut self, at: usize) -> Option<&mut Packet<T>> {
        self.places.get_mut(at & (PLACES - 1))
    }

    /// Notes one, for which there is [room](Held::room).
    #[inline(always)]
    pub fn insert(&mut self, at: usize, of: T) {
        self.count += 1;
        match self.place(Self::first(at)) {
            Some(place) if place.at == 0 => {
                place.at = at;
                place.of = Some(of);
            }
            _ => self.insert_behind(at, of),
        }
    }

    #[cold]
    #[inline(never)]
    fn insert_behind(&mut self, at: usize, of: T) {
        let first = Self::first(at);
        let free = (1..PLACES).find(|i| self.place(first + i).is_some_and(|place| place.at == 0));
        if let Some(place) = free.and_then(|i| self.place(first + i)) {
            *place = Packet { at, of: Some(of) };
        }
    }

    pub fn has(&mut self, at: usize) -> bool {
        self.find(at).is_some()
    }

    fn find(&mut self, at: usize) -> Option<usize> {
        let first = Self::first(at);
        let end = (first..first + PLACES)
            .find(|i| self.place(*i).is_none_or(|place| place.at == at || place.at == 0))?;
        self.place(end).is_some_and(|place| place.at != 0).then_some(end)
    }

    /// Takes a packet out that is in its first place with none behind it: whose block it is.
    #[inline(always)]
    pub fn remove(&mut self, at: usize) -> Option<T> {
        let first = Self::first(at);
        let alone = self.place(first + 1)?.at == 0;
        let place = self.place(first).filter(|place| place.at == at && alone)?;
        let of = place.of?;
        *place = Self::NONE;
        self.count -= 1;
        Some(of)
    }

    /// As [`Held::remove`], wherever it is.
    pub fn remove_any(&mut self, at: usize) -> Option<T> {
        let mut hole = self.find(at)?;
        let of = std::mem::replace(self.place(hole)?, Self::NONE).of;
        self.count -= 1;
        // What lies behind and could be nearer to its place fills the hole.
        let mut next = hole;
        loop {
            next += 1;
            let Some(other) = self.place(next).copied().filter(|other| other.at != 0) else {
                break;
            };
            let from = Self::first(other.at);
            let distance = |to: usize| to.wrapping_sub(from) & (PLACES - 1);
            if distance(hole) < distance(next) {
                self.places.swap(hole & (PLACES - 1), next & (PLACES - 1));
                hole = next;
            }
        }
        of
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_found_until_they_are_taken_out_however_close_their_places_are() {
        let mut held = Held::new().unwrap();
        // Three with the same first place, and one whose first place is the next.
        let first = |at: &usize| Held::<u32>::first(*at);
        let wanted = first(&(1 << 20));
        let all = || (1 << 20..).step_by(64);
        let mut at: Vec<usize> = all().filter(|at| first(at) == wanted).take(3).collect();
        at.extend(all().find(|at| first(at) == (wanted + 1) % PLACES));
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [0, 3, 2, 1]] {
            for (n, at) in at.iter().enumerate() {
                held.insert(*at, n as u32);
            }
            for (gone, n) in order.iter().enumerate() {
                let at = |n: &usize| at[*n];
                assert_eq!(held.remove(at(n)).or_else(|| held.remove_any(at(n))), Some(*n as u32));
                assert_eq!((held.remove(at(n)), held.remove_any(at(n))), (None, None));
                assert!(order.iter().skip(gone + 1).all(|n| held.has(at(n))), "{order:?}");
            }
        }
        assert_eq!((held.remove(0), held.remove_any(0), held.count), (None, None, 0));
    }

    #[test]
    fn there_is_room_for_so_many() {
        let mut held = Held::new().unwrap();
        for n in 0..MOST {
            assert!(held.room());
            held.insert((n + 1) * 64, n);
        }
        assert!(!held.room());
        assert!((0..MOST).all(|n| held.remove_any((n + 1) * 64) == Some(n)));
        assert!(held.room());
    }
}
