//! Messages for all that subscribe: each is written once, and lent to all.

use std::marker::PhantomData;
use std::rc::Rc;

use crate::error::Error;
use crate::outlet::Outlet;
use crate::typed::Payload;

/// Publishes values of type `T` to all that subscribe. Subscribers are let in by its calls, and by
/// [`Node::run`](crate::Node::run), [`Node::turn`](crate::Node::turn) and
/// [`WaitSet::wait`](crate::WaitSet::wait) of its node: one that publishes seldom calls one of
/// these, or [`Publisher::attend`], now and then.
pub struct Publisher<T: ?Sized> {
    pub(crate) outlet: Rc<Outlet>,
    pub(crate) of: PhantomData<fn(&T)>,
}

impl<T: Payload + ?Sized> Publisher<T> {
    /// Publishes a value. Waits for subscribers that are to miss none.
    ///
    /// # Errors
    /// See [`Error`]; nothing was published.
    pub fn send(&self, value: &T) -> Result<(), Error> {
        self.outlet.send(value.bytes(), self.outlet.patience)
    }

    /// How many subscribe.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub fn subscribers(&self) -> Result<usize, Error> {
        self.outlet.subscribers()
    }

    /// Lets waiting subscribers in, and lets go those that are gone.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub fn attend(&self) -> Result<(), Error> {
        self.outlet.attend()
    }
}
