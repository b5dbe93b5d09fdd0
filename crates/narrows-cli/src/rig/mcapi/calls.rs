//! The C functions that the bench calls, as Rust.
//!
//! None of those that are measured is inlined into its caller: a program in C calls them, too.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fmt;
use std::ptr::{null, null_mut};

use narrows_capi::mcapi::Status;
use narrows_capi::mcapi::ffi::{Functions, Info};

use crate::rig::mcapi::home;

/// The domain that nodes of a bench are in.
const DOMAIN: u32 = 250;
const SUCCESS: u32 = Status::Success as u32;
const PENDING: u32 = Status::Pending as u32;
/// How long the other side may take to agree to something, in milliseconds.
const WITHIN: u32 = 5_000;

/// What a call ended with instead of a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    call: &'static str,
    status: u32,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refused { call, status } = self;
        let name = Status::named(*status).map_or("an unknown status", |(_, name)| name);
        write!(f, "{call} ended with {name} ({status})")?;
        if *status == Status::NodeInitFailed as u32 {
            f.write_str(": another program may have the node's number; run it again")?;
        }
        Ok(())
    }
}

#[cfg(test)]
impl Refused {
    /// The status.
    pub fn status(self) -> u32 {
        self.status
    }
}

/// A function that begins to connect endpoints.
type Connect = unsafe extern "C" fn(u32, u32, *mut u32, *mut u32);
/// A function that begins to open an end.
type Open = unsafe extern "C" fn(*mut u32, u32, *mut u32, *mut u32);

/// What a call ended with.
pub type Outcome<T> = Result<T, Refused>;

/// The functions of a place.
#[derive(Clone, Copy, Debug)]
pub struct Calls(&'static Functions);

/// Makes a call that does not leave anything behind that points to its arguments.
macro_rules! call {
    ($calls:ident.$function:ident($($argument:expr),*)) => {{
        let mut status = 0;
        // SAFETY: what the arguments point to outlives the call, and the function keeps none of it:
        // it is none of those that end in `_i`.
        let value = unsafe { ($calls.0.$function)($($argument,)* &mut status) };
        checked(stringify!($function), status).map(|()| value)
    }};
}

#[inline(always)]
fn checked(call: &'static str, status: u32) -> Outcome<()> {
    match status {
        SUCCESS => Ok(()),
        status => Err(Refused { call, status }),
    }
}

impl Calls {
    /// Of this machine.
    pub const HERE: Calls = Calls(&Functions::HERE);
    /// Of processes of a simulated chip.
    pub(crate) const SIMULATED: Calls = Calls(&home::FUNCTIONS);

    /// Makes this thread a node's, in which waits look for this many microseconds before they
    /// sleep.
    pub fn initialize(self, node: u32, look: u32) -> Outcome<()> {
        // SAFETY: of the other threads of both sides of a bench none looks at the environment but
        // through the standard library.
        unsafe { std::env::set_var("NARROWS_MCAPI_LOOK", look.to_string()) };
        let mut info = Info::default();
        call!(self.mcapi_initialize(DOMAIN, node, null(), null(), &mut info))
    }

    /// Ends this thread's node.
    pub fn finalize(self) -> Outcome<()> {
        call!(self.mcapi_finalize())
    }

    /// Makes an endpoint.
    pub fn create(self, port: u32) -> Outcome<u32> {
        call!(self.mcapi_endpoint_create(port))
    }

    /// Gets an endpoint of another node, waiting for it.
    pub fn get(self, node: u32, port: u32) -> Outcome<u32> {
        call!(self.mcapi_endpoint_get(DOMAIN, node, port, WITHIN))
    }

    /// Connects two endpoints by a scalar channel.
    pub fn connect_scalars(self, from: u32, to: u32) -> Outcome<()> {
        self.connect("mcapi_sclchan_connect_i", self.0.mcapi_sclchan_connect_i, from, to)
    }

    /// Connects two endpoints by a packet channel.
    pub fn connect_packets(self, from: u32, to: u32) -> Outcome<()> {
        self.connect("mcapi_pktchan_connect_i", self.0.mcapi_pktchan_connect_i, from, to)
    }

    /// Opens the sending end of a scalar channel.
    pub fn open_scalars_out(self, endpoint: u32) -> Outcome<u32> {
        self.open("mcapi_sclchan_send_open_i", self.0.mcapi_sclchan_send_open_i, endpoint)
    }

    /// Opens the receiving end of a scalar channel.
    pub fn open_scalars_in(self, endpoint: u32) -> Outcome<u32> {
        self.open("mcapi_sclchan_recv_open_i", self.0.mcapi_sclchan_recv_open_i, endpoint)
    }

    /// Opens the sending end of a packet channel.
    pub fn open_packets_out(self, endpoint: u32) -> Outcome<u32> {
        self.open("mcapi_pktchan_send_open_i", self.0.mcapi_pktchan_send_open_i, endpoint)
    }

    /// Opens the receiving end of a packet channel.
    pub fn open_packets_in(self, endpoint: u32) -> Outcome<u32> {
        self.open("mcapi_pktchan_recv_open_i", self.0.mcapi_pktchan_recv_open_i, endpoint)
    }

    fn connect(self, name: &'static str, connect: Connect, from: u32, to: u32) -> Outcome<()> {
        let (mut request, mut status) = (0, 0);
        // SAFETY: both pointers are for this call only.
        unsafe { connect(from, to, &mut request, &mut status) };
        self.finished(name, request, status)
    }

    fn open(self, name: &'static str, open: Open, endpoint: u32) -> Outcome<u32> {
        let (mut handle, mut request, mut status) = (0, 0, 0);
        // SAFETY: the handle is there until `finished` returns, and there is no request any more
        // then.
        unsafe { open(&mut handle, endpoint, &mut request, &mut status) };
        self.finished(name, request, status)?;
        Ok(handle)
    }

    /// Waits for a request; one that does not end in time is cancelled.
    fn finished(self, name: &'static str, mut request: u32, status: u32) -> Outcome<()> {
        if status != PENDING {
            return checked(name, status);
        }
        let mut size = 0;
        let ended = call!(self.mcapi_wait(&mut request, &mut size, WITHIN));
        ended.map(|_| ()).map_err(|refused| {
            // Of one that ended with an error there is nothing left to cancel.
            let _ = call!(self.mcapi_cancel(&mut request));
            Refused { call: name, ..refused }
        })
    }

    /// Sends a message.
    #[inline(never)]
    pub fn send_message(self, from: u32, to: u32, bytes: &[u8]) -> Outcome<()> {
        call!(self.mcapi_msg_send(from, to, bytes.as_ptr().cast(), bytes.len(), 1))
    }

    /// How many messages wait at an endpoint.
    #[cfg(test)]
    pub fn messages(self, at: u32) -> Outcome<u32> {
        call!(self.mcapi_msg_available(at))
    }

    /// Receives a message: how long it is.
    #[inline(never)]
    pub fn receive_message(self, at: u32, bytes: &mut [u8]) -> Outcome<usize> {
        let mut size = 0;
        call!(self.mcapi_msg_recv(at, bytes.as_mut_ptr().cast(), bytes.len(), &mut size))?;
        Ok(size)
    }

    /// Sends a scalar.
    #[inline(never)]
    pub fn send_scalar(self, out: u32, value: u64) -> Outcome<()> {
        call!(self.mcapi_sclchan_send_uint64(out, value))
    }

    /// Receives a scalar.
    #[inline(never)]
    pub fn receive_scalar(self, into: u32) -> Outcome<u64> {
        call!(self.mcapi_sclchan_recv_uint64(into))
    }

    /// Sends a packet.
    #[inline(never)]
    pub fn send_packet(self, out: u32, bytes: &[u8]) -> Outcome<()> {
        call!(self.mcapi_pktchan_send(out, bytes.as_ptr().cast(), bytes.len()))
    }

    /// Receives a packet, reads it by copying as much as there is room for, and releases it: how
    /// long it is.
    #[inline(never)]
    pub fn receive_packet(self, into: u32, bytes: &mut [u8]) -> Outcome<usize> {
        let (packet, size) = self.packet(into)?;
        let len = size.min(bytes.len());
        // SAFETY: there are `size` bytes until it is released, and `bytes` has room for `len`. They
        // are in memory of the library, which `bytes` is not.
        unsafe { packet.cast::<u8>().copy_to_nonoverlapping(bytes.as_mut_ptr(), len) };
        call!(self.mcapi_pktchan_release(packet))?;
        Ok(size)
    }

    /// Receives a packet, sends it back from where it lies, and releases it.
    #[inline(never)]
    pub fn return_packet(self, into: u32, out: u32) -> Outcome<()> {
        let (packet, size) = self.packet(into)?;
        call!(self.mcapi_pktchan_send(out, packet, size))?;
        call!(self.mcapi_pktchan_release(packet))
    }

    #[inline(always)]
    fn packet(self, into: u32) -> Outcome<(*mut c_void, usize)> {
        let (mut packet, mut size) = (null_mut(), 0);
        call!(self.mcapi_pktchan_recv(into, &mut packet, &mut size))?;
        Ok((packet, size))
    }
}
