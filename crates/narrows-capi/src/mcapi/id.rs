//! Numbers of nodes, endpoints and handles.

use std::collections::VecDeque;

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

/// The number that a text begins with, without leading zeros and no more than this, and what is behind
/// it.
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

/// Things that have a [`Handle`].
pub(super) struct Table<T> {
    slot: u32,
    /// The life that all places began with.
    first: u16,
    places: Box<[(u16, Option<T>)]>,
    free: VecDeque<u16>,
}

impl<T> Table<T> {
    /// A table of `count` places for the node in `slot`, whose handles have this life or later ones.
    pub fn new(slot: u32, first: u16, count: usize) -> Table<T> {
        let count = count.min(Handle::PLACES);
        Table {
            slot,
            first,
            places: (0..count).map(|_| (first, None)).collect(),
            free: (0..count as u16).collect(),
        }
    }
    /// How many lives its places have had, of whichever it was most.
    pub fn lives(&self) -> u16 {
        let lives = |(life, entry): &(u16, Option<T>)| {
            life.wrapping_sub(self.first).saturating_add(u16::from(entry.is_some()))
        };
        self.places.iter().map(lives).max().unwrap_or(0)
    }
    pub fn insert(&mut self, value: T) -> Option<Handle> {
        let place = self.free.pop_front()?;
        let (life, entry) = self.places.get_mut(usize::from(place))?;
        *entry = Some(value);
        Some(Handle::new(self.slot, *life, usize::from(place)))
    }
    #[inline(never)]
    pub fn get(&self, handle: Handle) -> Option<&T> {
        let (life, entry) = self.places.get(handle.place())?;
        entry.as_ref().filter(|_| *life == handle.life())
    }
    #[inline(never)]
    pub fn get_mut(&mut self, handle: Handle) -> Option<&mut T> {
        let (life, entry) = self.places.get_mut(handle.place())?;
        entry.as_mut().filter(|_| *life == handle.life())
    }
    pub fn remove(&mut self, handle: Handle) -> Option<T> {
        self.get(handle)?;
        let (life, entry) = self.places.get_mut(handle.place())?;
        *life = life.wrapping_add(1);
        // Used next is the place that has been free for longest: a handle comes again late.
        self.free.push_back(handle.place() as u16);
        entry.take()
    }
    /// The handle of what is at a place.
    pub fn at(&self, place: usize) -> Option<Handle> {
        let (life, entry) = self.places.get(place)?;
        entry.as_ref().map(|_| Handle::new(self.slot, *life, place))
    }
    pub fn iter(&self) -> impl Iterator<Item = (Handle, &T)> {
        let slot = self.slot;
        self.places.iter().enumerate().filter_map(move |(place, (life, entry))| {
            Some((Handle::new(slot, *life, place), entry.as_ref()?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
