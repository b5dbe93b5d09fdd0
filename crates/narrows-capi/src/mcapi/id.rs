//! Numbers of nodes, endpoints and handles.

use narrows::link::Name;

pub(super) const MAX_DOMAIN: u32 = 255;
pub(super) const MAX_NODE: u32 = 4095;
pub(super) const MAX_PORT: u32 = 4095;

/// A node: domain and number in one word, below 2^20.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeId(pub u32);

impl NodeId {
    /// Both must be in range.
    pub fn new(domain: u32, node: u32) -> NodeId {
        NodeId(domain << 12 | node)
    }
    pub fn domain(self) -> u32 {
        self.0 >> 12
    }
    pub fn node(self) -> u32 {
        self.0 & MAX_NODE
    }
    pub fn endpoint(self, port: u16) -> EndpointId {
        EndpointId(self.0 << 12 | u32::from(port))
    }
}

impl NodeId {
    /// The name that a node has in Narrows.
    #[inline(never)]
    pub fn name(self) -> Option<Name> {
        // From the last digit to the first: formatting as such takes a multiple of the code.
        let mut text = *b"d255.n4095";
        let mut at = text.len();
        for (number, mark) in [(self.node(), &b".n"[..]), (self.domain(), b"d")] {
            let mut rest = number;
            loop {
                at -= 1;
                *text.get_mut(at)? = b'0' + (rest % 10) as u8;
                rest /= 10;
                if rest == 0 {
                    break;
                }
            }
            for letter in mark.iter().rev() {
                at -= 1;
                *text.get_mut(at)? = *letter;
            }
        }
        str::from_utf8(text.get(at..)?).ok()?.parse().ok()
    }

    /// The node that a name of Narrows stands for.
    #[inline(never)]
    pub fn named(name: &Name) -> Option<NodeId> {
        let (domain, rest) = number(name.as_str().as_bytes().strip_prefix(b"d")?, MAX_DOMAIN)?;
        let (node, rest) = number(rest.strip_prefix(b".n")?, MAX_NODE)?;
        rest.is_empty().then(|| NodeId::new(domain, node))
    }
}

/// The number that a text begins with, without leading zeros and no more than this, and what is
/// behind it.
#[inline(never)]
pub(super) fn number(text: &[u8], most: u32) -> Option<(u32, &[u8])> {
    let (mut number, mut rest) = (0_u64, text);
    while let Some((digit @ b'0'..=b'9', behind)) = rest.split_first() {
        // What is 0 so far and has digits began with a zero.
        if number == 0 && rest.len() < text.len() {
            return None;
        }
        number = number * 10 + u64::from(digit & 0xf);
        if number > most.into() {
            return None;
        }
        rest = behind;
    }
    (rest.len() < text.len()).then_some((number as u32, rest))
}

/// An endpoint, as C has it: domain, node and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EndpointId(pub u32);

impl EndpointId {
    #[inline]
    pub fn node(self) -> NodeId {
        NodeId(self.0 >> 12)
    }
    #[inline]
    pub fn port(self) -> u16 {
        (self.0 & MAX_PORT) as u16
    }
}

/// A place in a table of a node, as C has it: the node's slot, how often the place was used, and
/// which it is. The upper two bits are 0, so that other things can be told apart from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle(pub u32);

impl Handle {
    /// What no handle is.
    pub const NONE: Handle = Handle(u32::MAX);
    pub const SLOTS: u32 = 16;
    pub const PLACES: usize = 1024;
    const LIVES: u32 = 1 << 16;

    pub fn new(slot: u32, life: u16, place: usize) -> Handle {
        Handle((slot % Handle::SLOTS) << 26 | u32::from(life) << 10 | place as u32 & 0x3ff)
    }
    #[inline]
    pub fn slot(self) -> Option<usize> {
        (self.0 >> 30 == 0).then_some((self.0 >> 26 & 0xf) as usize)
    }
    #[inline]
    pub fn life(self) -> u16 {
        (self.0 >> 10 & (Handle::LIVES - 1)) as u16
    }
    #[inline]
    pub fn place(self) -> usize {
        (self.0 & 0x3ff) as usize
    }
}

/// The places of a table: whose turn it is, and which handle leads to one.
struct Places {
    /// The life of each and, while it is free, the place that became free after it, if one has.
    all: Box<[(u16, u16)]>,
    slot: u32,
    /// The life that all began with.
    first: u16,
    /// How many lives they have had, of whichever it was most.
    lives: u16,
    /// Free places: the one that has been so for longest, or what is no place, and the last.
    oldest: u16,
    newest: u16,
}

impl Places {
    #[inline(never)]
    fn new(slot: u32, first: u16, count: u16) -> Places {
        let all = (0..count).map(|at| (first, at + 1)).collect();
        Places { all, slot, first, lives: 0, oldest: 0, newest: count.wrapping_sub(1) }
    }

    /// The place that a handle leads to, if it is of its life.
    #[inline(never)]
    fn find(&self, handle: Handle) -> Option<usize> {
        let (life, _) = self.all.get(handle.place())?;
        (*life == handle.life()).then_some(handle.place())
    }

    /// The handle of the place that is used next.
    #[inline(never)]
    fn take(&mut self) -> Option<Handle> {
        let at = usize::from(self.oldest);
        let (life, next) = *self.all.get(at)?;
        self.oldest = next;
        self.lives = self.lives.max(life.wrapping_sub(self.first).saturating_add(1));
        Some(Handle::new(self.slot, life, at))
    }

    /// Makes a place free.
    #[inline(never)]
    fn free(&mut self, at: usize) {
        let none = self.all.len() as u16;
        if let Some((life, next)) = self.all.get_mut(at) {
            *life = life.wrapping_add(1);
            *next = none;
        }
        // Used next is the place that has been free for longest: a handle comes again late.
        if self.oldest == none {
            self.oldest = at as u16;
        } else if let Some((_, next)) = self.all.get_mut(usize::from(self.newest)) {
            *next = at as u16;
        }
        self.newest = at as u16;
    }
}

/// Things that have a [`Handle`].
pub(super) struct Table<T> {
    places: Places,
    entries: Box<[Option<T>]>,
}

impl<T> Table<T> {
    /// A table of `count` places for the node in `slot`, whose handles have this life or later
    /// ones.
    pub fn new(slot: u32, first: u16, count: usize) -> Table<T> {
        let count = count.min(Handle::PLACES);
        let entries = (0..count).map(|_| None).collect();
        Table { places: Places::new(slot, first, count as u16), entries }
    }
    /// How many lives its places have had, of whichever it was most.
    pub fn lives(&self) -> u16 {
        self.places.lives
    }
    pub fn insert(&mut self, value: T) -> Option<Handle> {
        let handle = self.places.take()?;
        *self.entries.get_mut(handle.place())? = Some(value);
        Some(handle)
    }
    #[inline(never)]
    pub fn get(&self, handle: Handle) -> Option<&T> {
        self.entries.get(self.places.find(handle)?)?.as_ref()
    }
    #[inline(never)]
    pub fn get_mut(&mut self, handle: Handle) -> Option<&mut T> {
        self.entries.get_mut(self.places.find(handle)?)?.as_mut()
    }
    #[inline(never)]
    pub fn remove(&mut self, handle: Handle) {
        let Some(at) = self.places.find(handle) else { return };
        if let Some(entry @ Some(_)) = self.entries.get_mut(at) {
            *entry = None;
            self.places.free(at);
        }
    }
    /// The handle of what is at a place.
    #[inline(never)]
    pub fn at(&self, at: usize) -> Option<Handle> {
        self.entries.get(at)?.as_ref()?;
        let (life, _) = self.places.all.get(at)?;
        Some(Handle::new(self.places.slot, *life, at))
    }
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_in_turn_and_a_handle_is_of_one_life() {
        let mut table = Table::new(3, 7, 3);
        let [a, b, c] = [10, 11, 12].map(|value| table.insert(value).unwrap());
        assert_eq!((table.insert(13), table.lives()), (None, 1));
        assert_eq!([a, b, c].map(|handle| table.get(handle).copied()), [10, 11, 12].map(Some));
        // The only free place is taken again; then two are free, the later first.
        table.remove(b);
        table.remove(b);
        let d = table.insert(13).unwrap();
        assert_eq!((d.place(), table.get(b)), (1, None));
        assert_eq!(table.get_mut(d), Some(&mut 13));
        table.remove(c);
        table.remove(a);
        let places = [14, 15].map(|value| table.insert(value).unwrap().place());
        assert_eq!((places, table.insert(16), table.lives()), ([2, 0], None, 2));
        assert_eq!(table.iter().copied().collect::<Vec<_>>(), [15, 13, 14]);
        assert_eq!((table.at(1), table.at(3)), (Some(d), None));
        table.remove(d);
        assert_eq!((table.at(1), Table::<u8>::new(0, 0, 0).insert(1)), (None, None));
    }

    #[test]
    fn a_node_has_one_name() {
        for domain in [0, 9, 10, 99, 100, MAX_DOMAIN] {
            for node in [0, 7, 10, 99, 123, 1000, MAX_NODE] {
                let id = NodeId::new(domain, node);
                let name = id.name().unwrap();
                assert_eq!(name.as_str(), format!("d{domain}.n{node}"));
                assert_eq!(NodeId::named(&name), Some(id));
            }
        }
        for other in [
            "d", "d1", "d1.n", "d.n1", "d01.n1", "d1.n00", "d256.n1", "d1.n4096", "e1.n1", "d1.n-1",
        ] {
            assert_eq!(NodeId::named(&other.parse().unwrap()), None, "{other}");
        }
    }
}
