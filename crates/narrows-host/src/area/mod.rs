//! Memory, interrupts and copy engines for the frame drivers of
//! [`narrows::driver::area`] between two nodes of this host.
//!
//! A [`Unit`] is one node's end of a link: in its half lie the area that it sends by, the buffers
//! that its engine puts frames in, and the blocks that its signals are made and received in. So a
//! peer can read a signal where it is. An interrupt is the link's bell, a copy engine a thread of
//! the receiver's ([`Hand`]).
//!
//! ```
//! use narrows::driver::Frames;
//! use narrows::driver::area::{Acknowledges, Copies};
//! use narrows::platform::Platform;
//! use narrows_host::Options;
//! use narrows_host::area::{Shape, Unit};
//!
//! # let directory = tempfile::tempdir()?;
//! let shape = Shape::new(256, 256).expect("a size that can be");
//! let open = |name: &str|
//! Options::new(name).directory(directory.path()).layout(shape.layout()).open(); let hosts =
//! [open("gpp")?, open("dsp")?]; hosts[0].hunt(&"dsp".parse()?)?; let linked = |at: usize| loop {
//!     hosts.iter().for_each(|host| host.hear());
//!     if let Some(Ok(narrows::platform::Event::Connected(link))) = hosts[at].event() {
//!         return Unit::new(shape, link).expect("the same shape");
//!     }
//! };
//! let [mut gpp, mut dsp] = [linked(0), linked(1)];
//! let mut sends = gpp.copied(Copies::Receiver, Acknowledges::Interrupt).expect("room");
//! let mut receives = dsp.copied(Copies::Receiver, Acknowledges::Interrupt).expect("room");
//!
//! let signal = gpp.make().expect("one is free");
//! gpp.write(&signal, 0, b"hello").expect("it fits");
//! sends.try_send(&[7; 8], Some((&signal, 0, 5)))?;
//! let mut header = [0; 8];
//! assert_eq!(receives.try_receive(&mut header)?, 13);
//! let mut copy = dsp.make().expect("one is free");
//! receives.read(8, 5, &mut copy, 0).expect("they are there");
//! receives.release();
//! let mut text = [0; 5];
//! dsp.read(&copy, 0, &mut text).expect("they are there");
//! assert_eq!((&text, sends.holds()), (b"hello", false));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod engine;
mod hand;
mod window;

use std::sync::Arc;

use narrows::driver::NotThere;
use narrows::driver::area::{ADMINISTRATION, Acknowledges, Copied, Copies, Gathered};
use narrows::link::Name;
use narrows::memory::{Class, Layout};
use narrows::platform::{Connected, Memory, OutOfRange, OwnMemory, Platform};
use narrows::strategy::Placement;

pub use hand::Hand;
pub use window::Window;

use crate::memory::{PeerRegion, Region};
use crate::{Bell, Host};
use engine::Engine;

/// Buffers for frames that an engine has put and nobody has taken.
const BUFFERS: u32 = 16;
/// Bytes of the line in which a copy engine finds what it is to do.
const CHAIN: u32 = 64;
/// Bytes of all blocks, and how many there are at most.
const ROOM: u32 = 12 << 20;
const BLOCKS: u32 = 2048;

/// How large everything is that lies between two nodes. Both need the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    mtu: u32,
    block: u32,
    layout: Layout,
}

impl Shape {
    /// For frames of up to `mtu` bytes and signals of up to `longest`. None if frames have no room
    /// for 64 bytes, or either is over 128 KiB.
    #[must_use]
    pub fn new(mtu: usize, longest: usize) -> Option<Shape> {
        let block = mtu.max(longest).next_multiple_of(64);
        if mtu < 64 || block > 128 << 10 {
            return None;
        }
        let (mtu, block) = (u32::try_from(mtu).ok()?, u32::try_from(block).ok()?);
        let blocks = (ROOM / block).min(BLOCKS);
        let size = Shape::before(mtu)? + blocks * block;
        let class = Class { placement: Placement::External, size, count: 1 };
        Some(Shape { mtu, block, layout: Layout::new(Host::LINE, 2, &[class]).ok()? })
    }

    /// The layout that a node is opened with.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Bytes in front of the blocks.
    fn before(mtu: u32) -> Option<u32> {
        let gathered = Gathered::<Hand>::room(BUFFERS, mtu as usize)?;
        Some(gathered.max(ADMINISTRATION + mtu).next_multiple_of(64) + CHAIN)
    }

    /// Where the first of all that begins in a region.
    fn base(&self) -> u32 {
        self.layout.size() - self.layout.parts().last().map_or(0, |(_, len)| *len)
    }

    /// The line of the engine, and the first block.
    fn chain(&self) -> u32 {
        self.base() + Shape::before(self.mtu).unwrap_or(0) - CHAIN
    }

    fn blocks(&self) -> impl DoubleEndedIterator<Item = u32> {
        let (first, block) = (self.chain() + CHAIN, self.block);
        (0..(self.layout.size() - first) / block).map(move |at| first + at * block)
    }
}

/// Memory for a signal or a frame, in a node's half of a link.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    at: u32,
    len: u32,
}

impl Block {
    /// Where bytes of it are in the half.
    fn find(&self, at: usize, len: usize) -> Result<u32, NotThere> {
        let inside = at.checked_add(len).is_some_and(|end| end <= self.len as usize);
        inside.then_some(self.at + at as u32).ok_or(NotThere)
    }
}

/// A node's end of a link.
pub struct Unit {
    /// The platform's name for the link.
    pub key: u32,
    /// The peer's name.
    pub name: Name,
    shape: Shape,
    own: Region,
    peer: PeerRegion,
    bell: Arc<Bell>,
    free: Vec<u32>,
}

impl Unit {
    /// One end of a link that is up. None if the peer's half has another shape.
    #[must_use]
    pub fn new(shape: Shape, link: Connected<Host>) -> Option<Unit> {
        let fits = |size: u32| size == shape.layout.size();
        if !fits(link.own.size()) || !fits(link.peer.size()) {
            return None;
        }
        let Connected { key, name, own, peer, bell, .. } = link;
        // What came back last goes first.
        let free = shape.blocks().rev().collect();
        Some(Unit { key, name, shape, own, peer, bell: Arc::new(bell), free })
    }

    /// A block that is free.
    pub fn make(&mut self) -> Option<Block> {
        Some(Block { at: self.free.pop()?, len: self.shape.block })
    }

    /// Gives a block back.
    pub fn give(&mut self, block: Block) {
        self.free.push(block.at);
    }

    /// Writes bytes of a block.
    ///
    /// # Errors
    /// They are not inside.
    pub fn write(&self, block: &Block, at: usize, from: &[u8]) -> Result<(), NotThere> {
        let to = block.find(at, from.len())?;
        self.own.write(to, from).map_err(|OutOfRange| NotThere)
    }

    /// Reads bytes of a block.
    ///
    /// # Errors
    /// They are not inside.
    pub fn read(&self, block: &Block, at: usize, to: &mut [u8]) -> Result<(), NotThere> {
        let from = block.find(at, to.len())?;
        self.own.read(from, to).map_err(|OutOfRange| NotThere)
    }

    /// This end's driver, where cores copy.
    ///
    /// # Errors
    /// Never, for a shape that could be made.
    pub fn copied(
        &self,
        copies: Copies,
        acknowledges: Acknowledges,
    ) -> Result<Copied<Hand>, OutOfRange> {
        let (own, peer) = self.windows(ADMINISTRATION + self.shape.mtu);
        Copied::new(self.hand(None), own, peer, copies, acknowledges)
    }

    /// This end's driver, where the receiver's engine copies; with it, the engine of this end
    /// starts. It interrupts `host`, whose link this is.
    ///
    /// # Errors
    /// There is no room for a thread.
    pub fn gathered(
        &self,
        host: &Host,
        acknowledges: Acknowledges,
    ) -> std::io::Result<Gathered<Hand>> {
        let bell = Bell::new()?;
        host.listen(&bell)?;
        let (own, peer) = self.windows(self.chain() - self.shape.base());
        let buffers = (BUFFERS, self.shape.mtu as usize);
        let engine = Engine::start(&self.own, &self.peer, &self.shape, bell)?;
        Gathered::new(self.hand(Some(engine)), own, peer, buffers, acknowledges)
            .map_err(|OutOfRange| std::io::ErrorKind::InvalidInput.into())
    }

    fn chain(&self) -> u32 {
        self.shape.chain()
    }

    fn windows(&self, len: u32) -> (Window<Region>, Window<PeerRegion>) {
        let base = self.shape.base();
        let (own, peer) = (self.own.share(), self.peer.clone());
        (Window::new(own, base, len), Window::new(peer, base, len))
    }

    fn hand(&self, engine: Option<Engine>) -> Hand {
        Hand::new(self.own.share(), self.peer.clone(), Arc::clone(&self.bell), self.chain(), engine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows::driver::area::Engine as _;
    use narrows::driver::{Frames, NoFrame};
    use narrows::platform::Event;

    fn pair(shape: Shape) -> ([Host; 2], [Unit; 2]) {
        let directory = tempfile::tempdir().unwrap();
        let hosts = ["one", "other"].map(|name| {
            let options = crate::Options::new(name).directory(directory.path());
            options.layout(shape.layout()).open().unwrap()
        });
        hosts[0].hunt(&"other".parse().unwrap()).unwrap();
        let linked = |host: &Host| loop {
            hosts.iter().for_each(Host::hear);
            if let Some(Ok(Event::Connected(link))) = host.event() {
                return Unit::new(shape, link).unwrap();
            }
        };
        let units = hosts.each_ref().map(linked);
        (hosts, units)
    }

    #[test]
    fn an_engine_writes_only_where_its_node_waits_for_a_frame() {
        let shape = Shape::new(256, 256).unwrap();
        for (place, head, len) in [(0, 20, 0), (64, 20, 0), (128, 400, 0), (128, 20, 400)] {
            let (hosts, [one, mut other]) = pair(shape);
            let sends = one.gathered(&hosts[0], Acknowledges::Lazily).unwrap();
            let mut receives = other.gathered(&hosts[1], Acknowledges::Lazily).unwrap();
            let block = other.make().unwrap();
            other.write(&block, 0, &[7; 256]).unwrap();
            // As a sender that says it has written and then tells the engine anything.
            let own = Window::new(one.own.share(), shape.base(), one.chain() - shape.base());
            let words = own.words(0, 16).unwrap();
            narrows::platform::WordsMut::store_release(&words, 0, 2);
            let from = Block { at: one.chain() + CHAIN, len: 1024 };
            let payload = (len > 0).then_some((&from, 0, len));
            sends.mover().gather(&own, head, payload, place).unwrap();
            let refused = loop {
                match receives.try_receive(&mut [0; 20]) {
                    Err(NoFrame::Empty) => std::thread::yield_now(),
                    other => break other,
                }
            };
            assert_eq!(refused, Err(NoFrame::Gone), "{head} + {len} bytes at {place}");
            let mut bytes = [0; 256];
            other.read(&block, 0, &mut bytes).unwrap();
            assert_eq!(bytes, [7; 256]);
        }
    }

    #[test]
    fn a_frame_that_its_sender_died_in_the_middle_of_is_none() {
        let shape = Shape::new(256, 256).unwrap();
        let (hosts, [one, other]) = pair(shape);
        let mut receives = other.copied(Copies::Both, Acknowledges::Interrupt).unwrap();
        let own = Window::new(one.own.share(), shape.base(), ADMINISTRATION);
        narrows::platform::WordsMut::store(&own.words(0, 16).unwrap(), 0, 1);
        drop((hosts, one));
        assert_eq!(receives.try_receive(&mut [0; 20]), Err(NoFrame::Empty));
    }

    #[test]
    fn blocks_end_where_they_end_and_halves_of_another_shape_are_refused() {
        let shape = Shape::new(256, 1000).unwrap();
        assert!(Shape::new(63, 64).is_none() && Shape::new(64, 1 << 20).is_none());
        let (_, [mut unit, _]) = pair(shape);
        let (mut to, from) = (unit.make().unwrap(), unit.make().unwrap());
        assert_eq!(unit.write(&from, 1023, &[1]), Ok(()));
        assert_eq!(unit.write(&from, 1024, &[1]), Err(NotThere));
        assert_eq!(unit.read(&from, 1000, &mut [0; 25]), Err(NotThere));
        let driver = unit.copied(Copies::Both, Acknowledges::Lazily).unwrap();
        assert_eq!(driver.mover().copy((&mut to, 0), (&from, 0), 1024), Ok(()));
        assert_eq!(driver.mover().copy((&mut to, 1), (&from, 0), 1024), Err(NotThere));
        let mut last = [0];
        unit.read(&to, 1023, &mut last).unwrap();
        assert_eq!(last, [1]);
        let (ends, count) = (to.at.max(from.at), shape.blocks().count());
        unit.give(to);
        unit.give(from);
        let all: Vec<Block> = std::iter::from_fn(|| unit.make()).collect();
        assert_eq!(all.len(), count);
        assert!(all.iter().all(|block| block.at + block.len <= shape.layout.size()));
        assert!(ends < shape.layout.size());

        let directory = tempfile::tempdir().unwrap();
        let open = |name: &str, shape: Shape| {
            let options = crate::Options::new(name).directory(directory.path());
            options.layout(shape.layout()).open().unwrap()
        };
        let other = Shape::new(512, 1000).unwrap();
        let hosts = [open("one", shape), open("other", other)];
        hosts[0].hunt(&"other".parse().unwrap()).unwrap();
        let refused = loop {
            hosts.iter().for_each(Host::hear);
            if let Some(Ok(Event::Connected(link))) = hosts[0].event() {
                break Unit::new(shape, link).is_none();
            }
        };
        assert!(refused);
    }
}
