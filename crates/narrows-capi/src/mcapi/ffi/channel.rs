//! Channels of packets and of scalars: connected, opened and closed.

use super::super::control::Kind;
use super::super::endpoint::Direction;
use super::super::foreign::Output;
use super::super::id::{EndpointId, Handle};
use super::super::process::{self, Processes};
use super::super::request::Done;
use super::super::status::Status;
use super::{Verdict, begin};

const PACKETS_OUT: (Kind, Direction) = (Kind::Packet, Direction::Send);
const PACKETS_IN: (Kind, Direction) = (Kind::Packet, Direction::Receive);
const SCALARS_OUT: (Kind, Direction) = (Kind::Scalar, Direction::Send);
const SCALARS_IN: (Kind, Direction) = (Kind::Scalar, Direction::Receive);

unsafe fn connect<H: Processes>(
    from: u32,
    to: u32,
    kind: Kind,
    request: *mut u32,
    status: *mut u32,
) {
    let (from, to) = (EndpointId(from), EndpointId(to));
    let connect = || {
        let mut call = process::of_ends::<H>(from, to)?;
        let node = call.node();
        node.progress();
        let request = node.connect(from, to, kind)?;
        node.progress();
        Ok(Done::goes_on(request))
    };
    // Endpoints that were not got are looked for.
    let learn = |id| process::of_ends::<H>(from, to).is_ok_and(|call| call.learn(id));
    let work = || match connect() {
        Err(Status::EndpInvalid) if learn(from) | learn(to) => connect(),
        begun => begun,
    };
    // SAFETY: as was promised.
    unsafe { begin::<H>(request, status, work) };
}

unsafe fn open<H: Processes>(
    handle: *mut u32,
    endpoint: u32,
    (kind, way): (Kind, Direction),
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    let out = unsafe { Output::new(handle) };
    let id = EndpointId(endpoint);
    let work = || {
        let mut call = process::of_owner::<H>(id)?;
        if out.is_null() {
            return Err(Status::Parameter);
        }
        let slot = call.slot();
        let node = call.node();
        let (inner, _) = node.receiver(id)?;
        node.progress();
        let opened = node.open_channel(inner, kind, way, out);
        if (kind, way) == PACKETS_IN {
            // Whose packets will be given back next, most likely.
            H::released_by(slot);
        }
        Ok(opened?.map_or(Done::well(0), Done::goes_on))
    };
    // SAFETY: as was promised.
    unsafe { begin::<H>(request, status, work) };
}

unsafe fn close<H: Processes>(
    handle: u32,
    (kind, way): (Kind, Direction),
    request: *mut u32,
    status: *mut u32,
) {
    let handle = Handle(handle);
    let work = || {
        let mut call = process::with_handle::<H>(handle).ok_or(Status::ChanInvalid)?;
        let node = call.node();
        node.progress();
        node.close_channel(handle, kind, way)?;
        // The other end may be this node's, too.
        node.progress();
        Ok(Done::well(0))
    };
    // SAFETY: as was promised.
    unsafe { begin::<H>(request, status, work) };
}

unsafe fn available<H: Processes>(handle: u32, kind: Kind, status: *mut u32) -> u32 {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return 0 };
    verdict.value(0, || {
        process::any::<H>()?;
        let handle = Handle(handle);
        let mut call = process::with_handle::<H>(handle).ok_or(Status::ChanInvalid)?;
        call.node().entries_available(handle, kind)
    })
}

pub(super) unsafe extern "C" fn pktchan_connect_i<H: Processes>(
    send_endpoint: u32,
    receive_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    unsafe { connect::<H>(send_endpoint, receive_endpoint, Kind::Packet, request, status) };
}

pub(super) unsafe extern "C" fn sclchan_connect_i<H: Processes>(
    send_endpoint: u32,
    receive_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    unsafe { connect::<H>(send_endpoint, receive_endpoint, Kind::Scalar, request, status) };
}

pub(super) unsafe extern "C" fn pktchan_recv_open_i<H: Processes>(
    receive_handle: *mut u32,
    receive_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    unsafe { open::<H>(receive_handle, receive_endpoint, PACKETS_IN, request, status) };
}

pub(super) unsafe extern "C" fn pktchan_send_open_i<H: Processes>(
    send_handle: *mut u32,
    send_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    unsafe { open::<H>(send_handle, send_endpoint, PACKETS_OUT, request, status) };
}

pub(super) unsafe extern "C" fn sclchan_recv_open_i<H: Processes>(
    receive_handle: *mut u32,
    receive_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    unsafe { open::<H>(receive_handle, receive_endpoint, SCALARS_IN, request, status) };
}

pub(super) unsafe extern "C" fn sclchan_send_open_i<H: Processes>(
    send_handle: *mut u32,
    send_endpoint: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    unsafe { open::<H>(send_handle, send_endpoint, SCALARS_OUT, request, status) };
}

pub(super) unsafe extern "C" fn pktchan_recv_close_i<H: Processes>(
    receive_handle: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    unsafe { close::<H>(receive_handle, PACKETS_IN, request, status) };
}

pub(super) unsafe extern "C" fn pktchan_send_close_i<H: Processes>(
    send_handle: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    unsafe { close::<H>(send_handle, PACKETS_OUT, request, status) };
}

pub(super) unsafe extern "C" fn sclchan_recv_close_i<H: Processes>(
    receive_handle: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    unsafe { close::<H>(receive_handle, SCALARS_IN, request, status) };
}

pub(super) unsafe extern "C" fn sclchan_send_close_i<H: Processes>(
    send_handle: u32,
    request: *mut u32,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    unsafe { close::<H>(send_handle, SCALARS_OUT, request, status) };
}

pub(super) unsafe extern "C" fn pktchan_available<H: Processes>(
    receive_handle: u32,
    status: *mut u32,
) -> u32 {
    // SAFETY: as was promised.
    unsafe { available::<H>(receive_handle, Kind::Packet, status) }
}

pub(super) unsafe extern "C" fn sclchan_available<H: Processes>(
    receive_handle: u32,
    status: *mut u32,
) -> u32 {
    // SAFETY: as was promised.
    unsafe { available::<H>(receive_handle, Kind::Scalar, status) }
}
