//! What the C functions that have no short way are: a few words each that say what it needs.

use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};

use super::super::control::Kind;
use super::super::endpoint::Direction;
use super::super::foreign::{Bytes, Output, Variable};

/// An argument: a pointer, or a number as one.
pub(super) type Word = *mut c_void;

/// Arguments of a function, as many as there are and nulls.
pub(super) struct Args(pub [Word; 8]);

impl Args {
    #[inline(always)]
    pub fn get(&self, at: u8) -> Word {
        // Masked, it need not be compared.
        self.0.get(usize::from(at & 7)).copied().unwrap_or(null_mut())
    }
    #[inline(always)]
    pub fn word(&self, at: u8) -> u32 {
        self.size(at) as u32
    }
    #[inline(always)]
    pub fn size(&self, at: u8) -> usize {
        self.get(at).addr()
    }
    /// # Safety
    /// See the module page.
    #[inline(always)]
    pub unsafe fn output<T>(&self, at: u8) -> Output<T> {
        // SAFETY: as was promised.
        unsafe { Output::new(self.get(at).cast()) }
    }
    /// Bytes whose address and length are arguments.
    ///
    /// # Safety
    /// See the module page.
    #[inline(always)]
    pub unsafe fn bytes(&self, at: u8) -> Bytes {
        // SAFETY: as was promised.
        unsafe { Bytes::new(self.get(at).cast(), self.size(at + 1)) }
    }
    /// A variable that holds a request, if there is one.
    ///
    /// # Safety
    /// See the module page.
    #[inline(always)]
    pub unsafe fn variable(&self, at: u8) -> Option<Variable> {
        // SAFETY: as was promised.
        unsafe { Variable::new(self.get(at).cast()) }
    }
}

/// What can be an argument.
pub(super) trait Argument {
    fn word(self) -> Word;
}

impl Argument for u32 {
    #[inline(always)]
    fn word(self) -> Word {
        without_provenance_mut(self as usize)
    }
}

impl Argument for usize {
    #[inline(always)]
    fn word(self) -> Word {
        without_provenance_mut(self)
    }
}

impl<T> Argument for *mut T {
    #[inline(always)]
    fn word(self) -> Word {
        self.cast()
    }
}

impl<T> Argument for *const T {
    #[inline(always)]
    fn word(self) -> Word {
        self.cast_mut().cast()
    }
}

/// What a function does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Finalize,
    DomainId,
    NodeId,
    NodeAttribute,
    Create,
    Get,
    Release,
    Delete,
    GetAttribute,
    SetAttribute,
    SendMessage,
    ReceiveMessage,
    MessagesAvailable,
    Connect,
    Open,
    Close,
    SendPacket,
    ReceivePacket,
    SendScalar,
    ReceiveScalar,
    Available,
    ReleasePacket,
    ReleaseTest,
    Test,
    Wait,
    WaitAny,
    Cancel,
}

/// Which node a function is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// Any of the process's.
    Process,
    /// The thread's.
    Thread,
    /// That of an endpoint, if it is of this process; else the thread's.
    Endpoint,
    /// That of the one endpoint which is of this process, of two to be connected.
    Ends,
    /// That of the handle which the first argument is.
    Handle,
    /// That of the request which the first argument points to.
    Request,
}

/// A function.
pub(super) struct Entry {
    pub what: What,
    pub of: Of,
    pub kind: Kind,
    pub way: Direction,
    /// The argument that is an endpoint, if one is.
    pub endpoint: u8,
    /// The last argument, where it says how it ended.
    pub status: u8,
    /// Arguments that must not be null, or `status`, which is looked at before.
    pub needs: [u8; 2],
    /// It does not wait: whatever it comes to, there is a request that says so, where the argument before
    /// the last points to.
    pub begins: bool,
    /// Whether what it came to is given by pointers.
    pub gives: bool,
    /// Whether the node sees to everything first.
    pub moves: bool,
    /// What it returns if it fails; what it is to return is the rest beside that.
    pub failed: i8,
}

impl Entry {
    pub const fn new(what: What, of: Of, status: u8) -> Entry {
        let (kind, way) = (Kind::Packet, Direction::Send);
        let needs = [status; 2];
        let gives = matches!(
            what,
            What::NodeAttribute
                | What::Get
                | What::GetAttribute
                | What::ReceiveMessage
                | What::ReceivePacket
                | What::Test
                | What::Wait
        );
        Entry {
            what,
            of,
            kind,
            way,
            endpoint: 0,
            status,
            needs,
            begins: false,
            gives,
            moves: false,
            failed: 0,
        }
    }
    pub const fn begins(self) -> Entry {
        Entry { begins: true, gives: false, ..self }
    }
    pub const fn moves(self) -> Entry {
        Entry { moves: true, ..self }
    }
    pub const fn needs(self, one: u8, other: u8) -> Entry {
        Entry { needs: [one, other], ..self }
    }
    pub const fn fails_with(self, failed: i8) -> Entry {
        Entry { failed, ..self }
    }
    pub const fn on(self, kind: Kind, way: Direction) -> Entry {
        Entry { kind, way, ..self }
    }
    /// The endpoint is not the first argument but this one.
    pub const fn endpoint(self, endpoint: u8) -> Entry {
        Entry { endpoint, ..self }
    }
}
