//! A message where its publisher made it.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;

use narrows::endpoint::{Address, Port};
use narrows::link::Name;
use narrows::memory::{self, NOTE_WORDS, Subscription};
use narrows::platform::Memory as _;
use narrows_host::{Exposed, OwnWords, PeerRegion, PeerWords, full_fence};

use crate::error::Error;
use crate::node::Node;
use crate::typed::{self, Payload};

/// A queue of a publisher that is there.
pub(crate) struct Joined {
    pub(crate) node: Node,
    /// The publisher's.
    pub(crate) of: Name,
    pub(crate) port: Port,
    pub(crate) topic: Name,
    pub(crate) publisher: Address,
    pub(crate) region: PeerRegion,
    pub(crate) queue: RefCell<Subscription<PeerWords, OwnWords>>,
    /// Whether the publisher has ended.
    pub(crate) ended: Cell<bool>,
    /// The note, which the publisher reads.
    pub(crate) note: Exposed,
}

/// Says in a note that its subscriber takes nothing any more.
pub(crate) fn leave(note: &Exposed) {
    if let Ok(words) = note.region().words(0, NOTE_WORDS) {
        memory::leave(&words);
    }
}

impl Joined {
    /// Takes nothing any more. What is held stays so until it is given back.
    pub(crate) fn leave(&self) {
        leave(&self.note);
        let wanted = self.queue.borrow().is_wanted(full_fence);
        if wanted {
            self.wake();
        }
    }

    /// Wakes the publisher, which sleeps until something is taken.
    #[cold]
    pub(crate) fn wake(&self) {
        // Where there is no room for it, other messages wake it; and where this node is being used,
        // the publisher looks by itself.
        if let Ok(mut node) = self.node.below() {
            let _ = node.try_send(self.port, self.publisher, &[]);
        }
    }
}

/// A message without its type, where its publisher made it. Dropped, it is the publisher's again.
pub struct Taken {
    pub(crate) joined: Rc<Joined>,
    pub(crate) sample: memory::Sample,
    /// Where it is in the publisher's memory, and bytes of it.
    pub(crate) at: u32,
    pub(crate) len: u32,
}

impl Taken {
    /// Bytes of it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The node of its publisher.
    #[must_use]
    pub fn publisher(&self) -> &str {
        self.joined.of.as_str()
    }

    /// Where it is, for as long as this is kept. A publisher that does not keep to what subscribers
    /// hold may write there meanwhile.
    ///
    /// # Errors
    /// [`Error::Length`] if it is not in the publisher's memory.
    pub fn place(&self) -> Result<*const u8, Error> {
        let place = self.joined.region.at(self.at, self.len);
        place.ok_or_else(|| self.no_value())
    }

    fn no_value(&self) -> Error {
        Error::Length(self.joined.topic.to_string())
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.joined.queue.borrow_mut().give_back(self.sample);
    }
}

/// A message of a topic, where its publisher made it. Dropped, it is the publisher's again.
pub struct Sample<T: ?Sized> {
    taken: Taken,
    of: PhantomData<fn() -> Box<T>>,
}

impl<T: Payload + ?Sized> Sample<T> {
    #[inline]
    pub(crate) fn new(taken: Taken) -> Sample<T> {
        Sample { taken, of: PhantomData }
    }

    /// A copy of the value.
    ///
    /// # Errors
    /// [`Error::Length`] if it is no value of the type.
    #[inline]
    pub fn read(&self) -> Result<T::Owned, Error> {
        let Taken { joined, at, .. } = &self.taken;
        let no_value = || self.taken.no_value();
        let copy = |to: &mut [u8]| joined.region.read(*at, to).map_err(|_| no_value());
        typed::read::<T, _>(self.len(), copy, no_value)
    }

    /// The node of its publisher.
    #[must_use]
    pub fn publisher(&self) -> &str {
        self.taken.publisher()
    }

    /// Bytes of it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.taken.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }

    /// The value where it is; none if it is no value of the type.
    ///
    /// # Safety
    /// The caller vouches for the publisher: that it is a program of this library that keeps to
    /// what subscribers hold. Another could write to the value while it is read.
    #[inline]
    #[must_use]
    pub unsafe fn trusted(&self) -> Option<&T> {
        let Taken { joined, at, len, .. } = &self.taken;
        // SAFETY: as the caller vouches, nobody writes there until this is dropped, which gives it
        // back.
        let bytes = unsafe { joined.region.slice(*at, *len) };
        T::of(bytes?)
    }
}
