//! Topics of a node as C has them: what it publishes and subscribes to, and what of that is in C's
//! hands.

use std::rc::Rc;
use std::time::Duration;

use narrows_services::Error;
use narrows_services::untyped::{Lent, Outlet, Reader, Taken};

use super::code::{Code, Outcome, at_once};
use super::places::Places;

/// A topic that C publishes.
pub(super) struct Publishing {
    outlet: Rc<Outlet>,
    /// What C makes a message in.
    lent: Option<Lent>,
}

impl Publishing {
    pub fn new(outlet: Rc<Outlet>) -> Publishing {
        Publishing { outlet, lent: None }
    }

    /// It, unless C has memory of it.
    pub fn outlet(&self) -> Outcome<&Outlet> {
        if self.lent.is_some() { Err(Code::Outstanding.into()) } else { Ok(&self.outlet) }
    }

    /// Lends memory to C. Where it is.
    pub fn lend(&mut self, len: usize, within: Option<Duration>) -> Outcome<usize> {
        let lent = self.outlet()?.loan(len, within)?;
        Ok(self.lent.insert(lent).at().as_ptr() as usize)
    }

    /// The memory that C has, if it is at `at` and has at least `len` bytes.
    pub fn spend(&mut self, at: usize, len: usize) -> Outcome<(&Outlet, Lent)> {
        let meant = |lent: &Lent| lent.at().as_ptr() as usize == at && len <= lent.len();
        let lent = self.lent.take_if(|lent| meant(lent));
        Ok((&self.outlet, lent.ok_or(Code::Argument)?))
    }
}

/// A topic that C subscribes to.
pub(super) struct Subscribed {
    pub reader: Reader,
    /// What C looks at, and where it is.
    taken: Vec<(usize, Taken)>,
}

impl Subscribed {
    pub fn new(reader: Reader) -> Subscribed {
        Subscribed { reader, taken: Vec::new() }
    }

    /// Whether C has a message of it.
    pub fn is_out(&self) -> bool {
        !self.taken.is_empty()
    }

    /// Takes the next message. Where it is, and bytes of it.
    pub fn take(&mut self, within: Option<Duration>) -> Outcome<(usize, usize)> {
        let taken = match at_once(within) {
            true => self.reader.take()?.ok_or(Code::Again)?,
            false => self.reader.receive(within)?,
        };
        let (at, len) = (taken.place()? as usize, taken.len());
        self.taken.push((at, taken));
        Ok((at, len))
    }

    /// Who published a message that C has.
    pub fn publisher(&self, at: usize) -> Outcome<&str> {
        let found = self.taken.iter().find(|(place, _)| *place == at);
        Ok(found.ok_or(Code::Argument)?.1.publisher())
    }

    /// Gives a message back.
    pub fn give_back(&mut self, at: usize) -> Outcome {
        let found = self.taken.iter().position(|(place, _)| *place == at);
        self.taken.swap_remove(found.ok_or(Code::Argument)?);
        Ok(())
    }
}

/// Whether one has something. If none has, each wakes the node when that changes, and how long
/// until one has something to do is said.
pub(super) fn look(subscribers: &Places<Subscribed>) -> Result<(bool, Option<Duration>), Error> {
    let mut ready = false;
    for Subscribed { reader, .. } in subscribers.values() {
        ready |= reader.is_ready()?;
    }
    // When each has looked: what one has heard of another may wait for.
    let due = subscribers.values().filter_map(|one| one.reader.due_in()).min();
    Ok((ready, due))
}
