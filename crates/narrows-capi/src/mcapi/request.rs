//! Operations that are not finished, and how they ended.

use std::ffi::c_void;

use narrows::link::LinkId;

use super::control::Kind;
use super::foreign::{Buffer, Bytes, Output};
use super::id::{EndpointId, Handle, NodeId, Table};
use super::status::{Outcome, Status};

/// Requests that C may have at a time.
pub(super) const MAX_REQUESTS: usize = 1000;
/// More, for calls that wait: each thread has one at most.
const OF_CALLS: usize = Handle::PLACES - MAX_REQUESTS;

/// What is sent on a channel.
#[derive(Clone, Copy, Debug)]
pub(in crate::mcapi) enum Outgoing {
    Packet(Bytes),
    /// The first bytes of a word.
    Scalar {
        value: u64,
        len: u32,
    },
}

/// What is to be received on a channel.
#[derive(Clone, Copy, Debug)]
pub(in crate::mcapi) enum Incoming {
    /// A packet; where its address goes.
    Packet(Output<*mut c_void>),
    /// A scalar of this many bytes.
    Scalar { len: u32 },
}

impl Outgoing {
    pub fn kind(&self) -> Kind {
        match self {
            Outgoing::Packet(_) => Kind::Packet,
            Outgoing::Scalar { .. } => Kind::Scalar,
        }
    }
}

impl Incoming {
    pub fn kind(&self) -> Kind {
        match self {
            Incoming::Packet(_) => Kind::Packet,
            Incoming::Scalar { .. } => Kind::Scalar,
        }
    }
}

/// What a request waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operation {
    /// An endpoint of another node; `counts` if it is got, and not only looked for.
    Get { node: NodeId, port: u16, out: Output<u32>, asked: Option<LinkId>, counts: bool },
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

/// What an operation came to: how it ended, and a size or a value with that. [`Status::Pending`] if
/// it has not ended, with the request that goes on, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Done {
    pub status: Status,
    pub value: u64,
}

impl From<Status> for Done {
    #[inline]
    fn from(status: Status) -> Done {
        Done { status, value: 0 }
    }
}

impl From<Outcome<()>> for Done {
    #[inline]
    fn from(how: Outcome<()>) -> Done {
        how.err().unwrap_or(Status::Success).into()
    }
}

impl From<Outcome<Done>> for Done {
    #[inline]
    fn from(how: Outcome<Done>) -> Done {
        how.unwrap_or_else(Done::from)
    }
}

impl Done {
    /// What C has instead of a request.
    pub const NONE: u32 = u32::MAX;
    /// The upper bits of what C has instead of the number of a request that is finished as soon as
    /// it is made: nothing has to be kept for it. Those of a request that is kept are 0.
    const ENDED_WELL: u32 = 0b10 << 30;
    const ENDED_BADLY: u32 = 0b11 << 30;
    /// In a size: that it is the buffer's, and the message was longer.
    const TRUNCATED: u32 = 1 << 29;

    #[inline]
    pub fn well(value: u64) -> Done {
        Done { status: Status::Success, value }
    }

    /// A request that goes on.
    #[inline]
    pub fn goes_on(request: Handle) -> Done {
        Done { status: Status::Pending, value: request.0.into() }
    }

    /// The value, if it ended well.
    #[inline]
    pub fn outcome(self) -> Outcome<u64> {
        match self.status {
            Status::Success => Ok(self.value),
            status => Err(status),
        }
    }

    #[inline]
    pub fn is_pending(&self) -> bool {
        self.status == Status::Pending
    }

    /// Whether there is a size.
    #[inline]
    pub fn has_size(&self) -> bool {
        matches!(self.status, Status::Success | Status::MsgTruncated)
    }

    /// What C has to find out about it.
    pub fn number(self) -> u32 {
        let value = self.value as u32;
        match self.status {
            Status::Pending => value,
            Status::Success => Done::ENDED_WELL | value & !(0b111 << 29),
            Status::MsgTruncated => Done::ENDED_WELL | Done::TRUNCATED | value & !(0b111 << 29),
            status => Done::ENDED_BADLY | status as u32,
        }
    }

    /// What such a number stands for.
    #[inline(never)]
    pub fn of(number: u32) -> Done {
        let rest = number & !(0b11 << 30);
        match number >> 30 {
            0b00 => Done::goes_on(Handle(number)),
            0b10 if rest & Done::TRUNCATED != 0 => {
                let value = (rest & !Done::TRUNCATED).into();
                Done { status: Status::MsgTruncated, value }
            }
            0b10 => Done::well(rest.into()),
            0b11 => Status::of(rest).unwrap_or(Status::RequestInvalid).into(),
            _ => Status::RequestInvalid.into(),
        }
    }
}

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

/// The requests of a node.
pub(super) struct Requests {
    table: Table<Request>,
    /// Those that have to be tried, in the order they were made.
    pub tried: Vec<Handle>,
    kept: usize,
}

impl Requests {
    pub fn new(slot: u32, life: u16) -> Requests {
        Requests {
            table: Table::new(slot, life, Handle::PLACES),
            tried: Vec::with_capacity(Handle::PLACES),
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
            self.tried.push(handle);
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
    #[inline(never)]
    pub fn report(&mut self, handle: Handle) -> Done {
        let done = match self.table.get(handle).map(|request| &request.state) {
            None => return Status::RequestInvalid.into(),
            Some(State::Pending(_)) => return Done::goes_on(handle),
            Some(State::Done(done)) => *done,
        };
        self.forget(handle);
        done
    }

    fn forget(&mut self, handle: Handle) {
        if let Some(request) = self.table.get(handle) {
            self.kept -= usize::from(!request.of_call);
            self.table.remove(handle);
        }
    }

    /// Forgets a request that is pending; returns what it was. A caller that waits for it finds
    /// that it is none any more.
    pub fn cancel(&mut self, handle: Handle) -> Option<Operation> {
        let operation = self.end(handle, Status::RequestCancelled.into())?;
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

    /// The request at a place of the table, if it is pending: for a caller that sees to all of
    /// them.
    pub fn pending_at(&mut self, place: usize) -> Option<(Handle, &mut Operation)> {
        let handle = self.table.at(place)?;
        Some((handle, self.pending(handle)?))
    }

    /// Every request that is pending.
    pub fn all_pending(&self) -> impl Iterator<Item = &Operation> {
        self.table.iter().filter_map(|request| match &request.state {
            State::Pending(operation) => Some(operation),
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
        for done in [
            Done::well(0),
            Done::well(65536),
            Done { status: Status::MsgTruncated, value: 65536 },
            Status::RequestCancelled.into(),
            Done::goes_on(Handle(0x3fff_ffff)),
            // Zero is a request as any other.
            Done::goes_on(Handle(0)),
        ] {
            assert_eq!(Done::of(done.number()), done);
        }
        for none in [Done::NONE, 1 << 30, 0b11 << 30] {
            assert_eq!(Done::of(none), Status::RequestInvalid.into(), "{none:#x}");
        }
    }

    #[test]
    fn a_request_is_reported_once_and_there_are_so_many() {
        let mut all = Requests::new(3, 0);
        let some: Vec<_> = (0..MAX_REQUESTS).map(|_| all.add(scalar(), false).unwrap()).collect();
        assert!(matches!(all.add(scalar(), false), Err(Status::RequestLimit)));
        assert!(all.add(scalar(), true).is_ok(), "a call still has one");
        assert!(all.report(some[7]).is_pending());
        let (eight, nine) = (Done::well(8), Done::well(9));
        assert!(all.end(some[7], eight).is_some() && all.end(some[7], nine).is_none());
        assert!(!all.tried.contains(&some[7]) && all.cancel(some[7]).is_none());
        assert_eq!(all.report(some[7]), eight);
        assert_eq!(all.report(some[7]), Status::RequestInvalid.into());
        assert!(all.add(scalar(), false).is_ok());
    }

    #[test]
    fn one_waits_and_is_told_of_a_cancel() {
        let mut all = Requests::new(0, 0);
        let one = all.add(scalar(), false).unwrap();
        assert_eq!((all.wait(one), all.wait(one)), (Ok(()), Err(Status::WaitPending)));
        assert!(all.cancel(one).is_some() && all.cancel(one).is_none());
        assert_eq!(all.report(one), Status::RequestInvalid.into());
        assert_eq!(all.wait(one), Err(Status::RequestInvalid));
        let two = all.add(scalar(), false).unwrap();
        assert_eq!(all.wait(two), Ok(()));
        all.wait_no_more(two);
        assert_eq!(all.wait(two), Ok(()));
    }
}
