//! Operations that are not finished, and how they ended.

use std::collections::VecDeque;

use narrows::link::LinkId;

use super::foreign::{Buffer, Bytes, Output};
use super::id::{EndpointId, Handle, NodeId, Table};
use super::status::{Outcome, Status};
use super::transfer::{Incoming, Outgoing};

/// Requests that C may have at a time.
pub(super) const MAX_REQUESTS: usize = 1000;
/// More, for calls that wait: each thread has one at most.
const OF_CALLS: usize = Handle::PLACES - MAX_REQUESTS;

/// What a request waits for.
#[derive(Debug)]
pub(super) enum Operation {
    /// An endpoint of another node.
    Get { node: NodeId, port: u16, out: Output<u32>, asked: Option<LinkId> },
    /// The end of connecting two endpoints.
    Connect { asked: Option<LinkId> },
    /// An endpoint that is to be connected; where its channel's handle goes.
    Open { inner: u16, out: Output<u32> },
    /// The value of an attribute.
    Query { asked: LinkId },
    /// Room for a message.
    SendMessage { to: EndpointId, bytes: Bytes, priority: u8 },
    /// A message.
    ReceiveMessage { inner: u16, buffer: Buffer },
    /// Room in a channel for a packet or a scalar.
    Send { channel: Handle, what: Outgoing },
    /// A packet or a scalar of a channel.
    Receive { channel: Handle, what: Incoming },
}

impl Operation {
    /// The channel that it is for.
    pub fn channel(&self) -> Option<Handle> {
        match self {
            Operation::Send { channel, .. } | Operation::Receive { channel, .. } => Some(*channel),
            _ => None,
        }
    }

    /// Whether nobody says when it can be finished: it has to be tried.
    fn is_tried(&self) -> bool {
        !matches!(
            self,
            Operation::Connect { .. } | Operation::Open { .. } | Operation::Query { .. }
        )
    }
}

/// What a request came to: a size in bytes, or a value.
pub(super) type Done = Outcome<u64>;

/// In a size: that it is the buffer's, and the message was longer.
pub(super) const TRUNCATED: u64 = 1 << 29;

enum State {
    Pending(Operation),
    Done(Done),
}

struct Request {
    state: State,
    waited: bool,
    /// Made by a call that waits for it, and not known to C.
    of_call: bool,
}

/// What can be said of a request.
pub(super) enum Report {
    Pending,
    Done(Done),
    Unknown,
}

/// What C has instead of the number of a request that is finished as soon as it is made: nothing has
/// to be kept for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// A request that is kept.
    Kept(Handle),
    /// One that ended with a size, or an error.
    Ended(Outcome<u64>),
    /// None.
    None,
}

impl Named {
    /// What C has instead of a request.
    pub const NONE: u32 = u32::MAX;
    const ENDED_WELL: u32 = 0b10 << 30;
    const ENDED_BADLY: u32 = 0b11 << 30;

    pub fn of(number: u32) -> Named {
        let rest = number & !(0b11 << 30);
        match number >> 30 {
            0b00 => Named::Kept(Handle(number)),
            0b10 => Named::Ended(Ok(u64::from(rest))),
            0b11 => Status::of(rest).map_or(Named::None, |status| Named::Ended(Err(status))),
            _ => Named::None,
        }
    }

    pub fn ended(how: Done) -> u32 {
        match how {
            Ok(size) => Named::ENDED_WELL | size as u32 & 0x3fff_ffff,
            Err(status) => Named::ENDED_BADLY | status as u32,
        }
    }
}

/// The requests of a node.
pub(super) struct Requests {
    table: Table<Request>,
    /// Those that have to be tried, in the order they were made.
    pub tried: VecDeque<Handle>,
    kept: usize,
}

impl Requests {
    pub fn new(slot: u32, life: u16) -> Requests {
        Requests {
            table: Table::new(slot, life, Handle::PLACES),
            tried: VecDeque::with_capacity(Handle::PLACES),
            kept: 0,
        }
    }

    /// How many lives the places of requests have had at most.
    pub fn lives(&self) -> u16 {
        self.table.lives()
    }

    /// A new request.
    pub fn add(&mut self, operation: Operation, of_call: bool) -> Outcome<Handle> {
        const { assert!(OF_CALLS > 0) };
        if !of_call && self.kept == MAX_REQUESTS {
            return Err(Status::RequestLimit);
        }
        let tried = operation.is_tried();
        let request = Request { state: State::Pending(operation), waited: false, of_call };
        let handle = self.table.insert(request).ok_or(Status::RequestLimit)?;
        self.kept += usize::from(!of_call);
        if tried {
            self.tried.push_back(handle);
        }
        Ok(handle)
    }

    /// What a pending request waits for.
    #[inline(never)]
    pub fn pending(&mut self, handle: Handle) -> Option<&mut Operation> {
        match &mut self.table.get_mut(handle)?.state {
            State::Pending(operation) => Some(operation),
            _ => None,
        }
    }

    /// Notes how a pending request ended. Returns what it was.
    pub fn end(&mut self, handle: Handle, how: Done) -> Option<Operation> {
        let request = self.table.get_mut(handle)?;
        if !matches!(request.state, State::Pending(_)) {
            return None;
        }
        let State::Pending(operation) = std::mem::replace(&mut request.state, State::Done(how))
        else {
            return None;
        };
        if operation.is_tried()
            && let Some(at) = self.tried.iter().position(|tried| *tried == handle)
        {
            self.tried.remove(at);
        }
        Some(operation)
    }

    /// Says how a request is, and forgets it if it is finished.
    pub fn report(&mut self, handle: Handle) -> Report {
        let done = match self.table.get(handle).map(|request| &request.state) {
            None => return Report::Unknown,
            Some(State::Pending(_)) => return Report::Pending,
            Some(State::Done(done)) => *done,
        };
        self.forget(handle);
        Report::Done(done)
    }

    fn forget(&mut self, handle: Handle) {
        if let Some(request) = self.table.remove(handle) {
            self.kept -= usize::from(!request.of_call);
        }
    }

    /// Forgets a request that is pending; returns what it was. Who waits for it finds that it is none
    /// any more.
    pub fn cancel(&mut self, handle: Handle) -> Option<Operation> {
        let operation = self.end(handle, Err(Status::RequestCancelled))?;
        self.forget(handle);
        Some(operation)
    }

    /// Notes that a thread waits for a request.
    pub fn wait(&mut self, handle: Handle) -> Outcome<()> {
        let request = self.table.get_mut(handle).ok_or(Status::RequestInvalid)?;
        match std::mem::replace(&mut request.waited, true) {
            false => Ok(()),
            true => Err(Status::WaitPending),
        }
    }

    /// Notes that the thread waits no longer.
    pub fn wait_no_more(&mut self, handle: Handle) {
        if let Some(request) = self.table.get_mut(handle) {
            request.waited = false;
        }
    }

    /// The request at a place of the table, if it is pending: for who sees to all of them.
    pub fn pending_at(&mut self, place: usize) -> Option<(Handle, &mut Operation)> {
        let handle = self.table.at(place)?;
        Some((handle, self.pending(handle)?))
    }

    /// Every request that is pending.
    pub fn all_pending(&self) -> impl Iterator<Item = (Handle, &Operation)> {
        self.table.iter().filter_map(|(handle, request)| match &request.state {
            State::Pending(operation) => Some((handle, operation)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar() -> Operation {
        Operation::Receive { channel: Handle(0), what: Incoming::Scalar { len: 1 } }
    }

    #[test]
    fn what_ended_at_once_is_told_from_what_is_kept() {
        assert_eq!(Named::of(Named::ended(Ok(65536))), Named::Ended(Ok(65536)));
        let error = Status::RequestCancelled;
        assert_eq!(Named::of(Named::ended(Err(error))), Named::Ended(Err(error)));
        assert_eq!(Named::of(Named::NONE), Named::None);
        assert_eq!(Named::of(1 << 30), Named::None);
        assert_eq!(Named::of(0), Named::Kept(Handle(0)), "zero is a request as any other");
    }

    #[test]
    fn a_request_is_reported_once_and_there_are_so_many() {
        let mut all = Requests::new(3, 0);
        let some: Vec<_> = (0..MAX_REQUESTS).map(|_| all.add(scalar(), false).unwrap()).collect();
        assert!(matches!(all.add(scalar(), false), Err(Status::RequestLimit)));
        assert!(all.add(scalar(), true).is_ok(), "a call still has one");
        assert!(matches!(all.report(some[7]), Report::Pending));
        assert!(all.end(some[7], Ok(8)).is_some() && all.end(some[7], Ok(9)).is_none());
        assert!(!all.tried.contains(&some[7]) && all.cancel(some[7]).is_none());
        assert!(matches!(all.report(some[7]), Report::Done(Ok(8))));
        assert!(matches!(all.report(some[7]), Report::Unknown));
        assert!(all.add(scalar(), false).is_ok());
    }

    #[test]
    fn one_waits_and_is_told_of_a_cancel() {
        let mut all = Requests::new(0, 0);
        let one = all.add(scalar(), false).unwrap();
        assert_eq!((all.wait(one), all.wait(one)), (Ok(()), Err(Status::WaitPending)));
        assert!(all.cancel(one).is_some() && all.cancel(one).is_none());
        assert!(matches!(all.report(one), Report::Unknown));
        assert_eq!(all.wait(one), Err(Status::RequestInvalid));
        let two = all.add(scalar(), false).unwrap();
        assert_eq!(all.wait(two), Ok(()));
        all.wait_no_more(two);
        assert_eq!(all.wait(two), Ok(()));
    }
}
