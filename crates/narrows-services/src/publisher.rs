//! Messages for whoever subscribes: each is written once, and lent to all.

use std::marker::PhantomData;
use std::rc::Rc;

use narrows::platform::OwnMemory as _;

use crate::error::Error;
use crate::node::Published as _;
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
        let bytes = value.bytes();
        let outlet = &*self.outlet;
        let mut inner = outlet.inner()?;
        let slot = outlet.lend(&mut inner, bytes.len())?;
        if inner.memory.region().write(outlet.place(slot), bytes).is_err() {
            inner.stock.put_back(slot);
            return Err(outlet.size_error());
        }
        outlet.publish(&mut inner, slot, bytes.len())
    }

    /// How many subscribe.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub fn subscribers(&self) -> Result<usize, Error> {
        Ok(self.outlet.inner()?.subscribers.iter().flatten().count())
    }

    /// Lets in who wants to subscribe, and lets go who is gone.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub fn attend(&self) -> Result<(), Error> {
        self.outlet.attend()
    }
}
