//! How a node moves the bytes of frames, interrupts its peer, and tells the peer's engine what to
//! do.

use std::sync::Arc;

use narrows::driver::NotThere;
use narrows::driver::area::{self, ADMINISTRATION, Exposes, Mover};
use narrows::platform::OutOfRange;

use super::engine::{Engine, Post};
use super::{Block, Window};
use crate::Bell;
use crate::memory::{PeerRegion, Region};

/// A node's hand in a unit.
pub struct Hand {
    own: Region,
    peer: PeerRegion,
    bell: Arc<Bell>,
    /// What the peer's engine is told.
    post: Option<Post>,
    /// This end's own.
    engine: Option<Engine>,
}

impl Hand {
    pub(super) fn new(
        own: Region,
        peer: PeerRegion,
        bell: Arc<Bell>,
        chain: u32,
        engine: Option<Engine>,
    ) -> Hand {
        let post = engine.as_ref().and_then(|_| Post::new(&own, chain));
        Hand { own, peer, bell, post, engine }
    }

    /// Copies bytes from one block of this end to another.
    ///
    /// # Errors
    /// They are not inside both, or the blocks are one.
    pub fn copy(
        &self,
        (to, at): (&mut Block, usize),
        (from, offset): (&Block, usize),
        len: usize,
    ) -> Result<(), NotThere> {
        self.own.carry(to.find(at, len)?, from.find(offset, len)?, len).map_err(not_there)
    }
}

fn not_there(_: OutOfRange) -> NotThere {
    NotThere
}

impl Mover for Hand {
    type Own = Window<Region>;
    type Peer = Window<PeerRegion>;
    type Buffer = Block;

    fn put(
        &self,
        own: &Window<Region>,
        to: u32,
        from: &Block,
        at: usize,
        len: usize,
    ) -> Result<(), NotThere> {
        let to = own.find(to, len).map_err(not_there)?;
        self.own.carry(to, from.find(at, len)?, len).map_err(not_there)
    }

    fn get(
        &self,
        peer: &Window<PeerRegion>,
        from: u32,
        to: &mut Block,
        at: usize,
        len: usize,
    ) -> Result<(), NotThere> {
        let from = peer.find(from, len).map_err(not_there)?;
        self.own.fetch(to.find(at, len)?, &self.peer, from, len).map_err(not_there)
    }

    fn ring(&self) {
        self.bell.ring();
    }
}

impl Exposes for Hand {
    fn expose(&self, from: &Block, at: usize, len: usize) -> Result<u32, NotThere> {
        from.find(at, len)
    }

    fn fetch(&self, place: u32, to: &mut Block, at: usize, len: usize) -> Result<(), NotThere> {
        self.own.fetch(to.find(at, len)?, &self.peer, place, len).map_err(not_there)
    }
}

impl area::Engine for Hand {
    fn gather(
        &self,
        own: &Window<Region>,
        head: usize,
        payload: Option<(&Block, usize, usize)>,
        to: u32,
    ) -> Result<(), NotThere> {
        let first = own.find(ADMINISTRATION, head).map_err(not_there)?;
        let (from, len) = match payload {
            Some((from, at, len)) => (from.find(at, len)?, len),
            None => (0, 0),
        };
        let words = [first, head as u32, from, len as u32, to];
        self.post.as_ref().ok_or(NotThere)?.post(words);
        Ok(())
    }

    fn arrived(&self, number: u32) -> Result<bool, NotThere> {
        self.engine.as_ref().ok_or(NotThere)?.done(number)
    }

    fn take(
        &self,
        own: &Window<Region>,
        from: u32,
        to: &mut Block,
        at: usize,
        len: usize,
    ) -> Result<(), NotThere> {
        let from = own.find(from, len).map_err(not_there)?;
        self.own.carry(to.find(at, len)?, from, len).map_err(not_there)
    }
}
