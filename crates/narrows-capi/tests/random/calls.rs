//! Safe ways to call the functions of `mcapi.h`.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr::null_mut;

use super::ground::*;
use super::status::Status;

type Transfer = unsafe extern "C" fn(u32, *mut u32, *mut u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Packets,
    Scalars,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Send,
    Receive,
}

/// A request, with all the places that the library may write to until it has ended.
pub struct Begun {
    pub request: Box<u32>,
    /// An endpoint or a handle.
    pub word: Box<u32>,
    pub packet: Box<usize>,
    pub buffer: Box<[u8]>,
}

impl Begun {
    fn new(buffer: Vec<u8>) -> Begun {
        Begun {
            request: Box::new(0xdead_beef),
            word: Box::new(0xdead_beef),
            packet: Box::new(0),
            buffer: buffer.into(),
        }
    }

    /// The bytes of the packet that was received.
    pub fn packet(&self, len: usize) -> (usize, Vec<u8>) {
        packet(std::ptr::with_exposed_provenance_mut(*self.packet), len)
    }
}

/// The bytes of a packet that was received and not released.
pub fn held(at: usize, len: usize) -> Vec<u8> {
    packet(std::ptr::with_exposed_provenance_mut(at), len).1
}

fn packet(at: *mut c_void, len: usize) -> (usize, Vec<u8>) {
    assert!(!at.is_null(), "a packet has a place, even if it is empty");
    // SAFETY: a packet of that size that was not released.
    (at as usize, unsafe { std::slice::from_raw_parts(at.cast::<u8>(), len) }.to_vec())
}

fn status(call: impl FnOnce(*mut u32)) -> Status {
    let mut status = 0;
    call(&mut status);
    Status::of(status)
}

pub fn initialize(domain: u32, node: u32) -> Status {
    let mut info = [0; 9];
    let none = std::ptr::null();
    // SAFETY: the places are valid.
    status(|s| unsafe { mcapi_initialize(domain, node, none, none, &mut info, s) })
}

pub fn finalize() -> Status {
    // SAFETY: takes nothing.
    status(|s| unsafe { mcapi_finalize(s) })
}

pub fn create(port: u32) -> (Status, u32) {
    let mut endpoint = 0;
    // SAFETY: takes only numbers.
    (status(|s| endpoint = unsafe { mcapi_endpoint_create(port, s) }), endpoint)
}

pub fn get(domain: u32, node: u32, port: u32) -> (Status, Begun) {
    let mut b = Begun::new(Vec::new());
    // SAFETY: the places are the request's.
    let said = status(|s| unsafe {
        mcapi_endpoint_get_i(domain, node, port, &mut *b.word, &mut *b.request, s)
    });
    (said, b)
}

pub fn release(endpoint: u32) -> Status {
    // SAFETY: takes only numbers.
    status(|s| unsafe { mcapi_endpoint_release(endpoint, s) })
}

pub fn delete(endpoint: u32) -> Status {
    // SAFETY: takes only numbers.
    status(|s| unsafe { mcapi_endpoint_delete(endpoint, s) })
}

pub fn attribute(endpoint: u32, number: u32) -> (Status, u32) {
    let mut value = 0u32;
    let at = (&raw mut value).cast();
    // SAFETY: a place of that size.
    (status(|s| unsafe { mcapi_endpoint_get_attribute(endpoint, number, at, 4, s) }), value)
}

pub fn set_attribute(endpoint: u32, number: u32, value: u32, size: usize) -> Status {
    let value = [value, 0, 0, 0];
    assert!(size <= size_of_val(&value));
    // SAFETY: a value of that size.
    status(|s| unsafe {
        mcapi_endpoint_set_attribute(endpoint, number, value.as_ptr().cast(), size, s)
    })
}

pub fn send_message(from: u32, to: u32, bytes: &[u8], priority: u32) -> Status {
    let at = bytes.as_ptr().cast();
    // SAFETY: bytes that are there.
    status(|s| unsafe { mcapi_msg_send(from, to, at, bytes.len(), priority, s) })
}

pub fn begin_sending(from: u32, to: u32, bytes: Vec<u8>, priority: u32) -> (Status, Begun) {
    let mut b = Begun::new(bytes);
    let (at, len) = (b.buffer.as_ptr().cast(), b.buffer.len());
    // SAFETY: bytes of the request's.
    let said =
        status(|s| unsafe { mcapi_msg_send_i(from, to, at, len, priority, &mut *b.request, s) });
    (said, b)
}

pub fn receive_message(endpoint: u32, buffer: &mut [u8]) -> (Status, usize) {
    let mut size = usize::MAX;
    let at = buffer.as_mut_ptr().cast();
    // SAFETY: room that is there.
    (status(|s| unsafe { mcapi_msg_recv(endpoint, at, buffer.len(), &mut size, s) }), size)
}

pub fn begin_receiving(endpoint: u32, room: usize) -> (Status, Begun) {
    let mut b = Begun::new(vec![0xee; room]);
    let at = b.buffer.as_mut_ptr().cast();
    // SAFETY: room of the request's.
    let said = status(|s| unsafe { mcapi_msg_recv_i(endpoint, at, room, &mut *b.request, s) });
    (said, b)
}

pub fn messages(endpoint: u32) -> (Status, u32) {
    let mut count = 0;
    // SAFETY: takes only numbers.
    (status(|s| count = unsafe { mcapi_msg_available(endpoint, s) }), count)
}

pub fn connect(kind: Kind, from: u32, to: u32) -> (Status, Begun) {
    let call = match kind {
        Kind::Packets => mcapi_pktchan_connect_i,
        Kind::Scalars => mcapi_sclchan_connect_i,
    };
    let mut b = Begun::new(Vec::new());
    // SAFETY: a place of the request's.
    (status(|s| unsafe { call(from, to, &mut *b.request, s) }), b)
}

pub fn open(kind: Kind, way: Way, endpoint: u32) -> (Status, Begun) {
    let call = match (kind, way) {
        (Kind::Packets, Way::Send) => mcapi_pktchan_send_open_i,
        (Kind::Packets, Way::Receive) => mcapi_pktchan_recv_open_i,
        (Kind::Scalars, Way::Send) => mcapi_sclchan_send_open_i,
        (Kind::Scalars, Way::Receive) => mcapi_sclchan_recv_open_i,
    };
    let mut b = Begun::new(Vec::new());
    // SAFETY: the places are the request's.
    (status(|s| unsafe { call(&mut *b.word, endpoint, &mut *b.request, s) }), b)
}

pub fn close(kind: Kind, way: Way, handle: u32) -> (Status, Begun) {
    let call: Transfer = match (kind, way) {
        (Kind::Packets, Way::Send) => mcapi_pktchan_send_close_i,
        (Kind::Packets, Way::Receive) => mcapi_pktchan_recv_close_i,
        (Kind::Scalars, Way::Send) => mcapi_sclchan_send_close_i,
        (Kind::Scalars, Way::Receive) => mcapi_sclchan_recv_close_i,
    };
    let mut b = Begun::new(Vec::new());
    // SAFETY: a place of the request's.
    (status(|s| unsafe { call(handle, &mut *b.request, s) }), b)
}

pub fn send_packet(handle: u32, bytes: &[u8]) -> Status {
    // SAFETY: bytes that are there.
    status(|s| unsafe { mcapi_pktchan_send(handle, bytes.as_ptr().cast(), bytes.len(), s) })
}

/// The packet's address and bytes, if there is one.
pub fn receive_packet(handle: u32) -> (Status, Option<(usize, Vec<u8>)>) {
    let (mut at, mut size) = (null_mut(), usize::MAX);
    // SAFETY: the places are valid.
    let said = status(|s| unsafe { mcapi_pktchan_recv(handle, &mut at, &mut size, s) });
    (said, (said == Status::Success).then(|| packet(at, size)))
}

pub fn begin_receiving_packet(handle: u32) -> (Status, Begun) {
    let mut b = Begun::new(Vec::new());
    // SAFETY: the places are the request's.
    let at = (&raw mut *b.packet).cast();
    // SAFETY: the places are the request's.
    let said = status(|s| unsafe { mcapi_pktchan_recv_i(handle, at, &mut *b.request, s) });
    (said, b)
}

pub fn release_packet(at: usize) -> Status {
    let at = std::ptr::without_provenance::<c_void>(at);
    // SAFETY: an address that is only compared.
    status(|s| unsafe { mcapi_pktchan_release(at, s) })
}

pub fn available(kind: Kind, handle: u32) -> (Status, u32) {
    let call = match kind {
        Kind::Packets => mcapi_pktchan_available,
        Kind::Scalars => mcapi_sclchan_available,
    };
    let mut count = 0;
    // SAFETY: takes only numbers.
    (status(|s| count = unsafe { call(handle, s) }), count)
}

/// Sends the lowest `bytes` bytes of a word.
pub fn send_scalar(handle: u32, word: u64, bytes: u32) -> Status {
    // SAFETY: takes only numbers.
    status(|s| unsafe {
        match bytes {
            1 => mcapi_sclchan_send_uint8(handle, word as u8, s),
            2 => mcapi_sclchan_send_uint16(handle, word as u16, s),
            4 => mcapi_sclchan_send_uint32(handle, word as u32, s),
            _ => mcapi_sclchan_send_uint64(handle, word, s),
        }
    })
}

pub fn receive_scalar(handle: u32, bytes: u32) -> (Status, u64) {
    let mut word = 0;
    // SAFETY: takes only numbers.
    let said = status(|s| unsafe {
        word = match bytes {
            1 => mcapi_sclchan_recv_uint8(handle, s).into(),
            2 => mcapi_sclchan_recv_uint16(handle, s).into(),
            4 => mcapi_sclchan_recv_uint32(handle, s).into(),
            _ => mcapi_sclchan_recv_uint64(handle, s),
        }
    });
    (said, word)
}

pub fn test(request: &mut u32) -> (Status, bool, usize) {
    let (mut size, mut ended) = (usize::MAX, 0);
    // SAFETY: the places are valid.
    let said = status(|s| ended = unsafe { mcapi_test(request, &mut size, s) });
    (said, ended != 0, size)
}

pub fn wait(request: &mut u32, timeout: u32) -> (Status, bool, usize) {
    let (mut size, mut ended) = (usize::MAX, 0);
    // SAFETY: the places are valid.
    let said = status(|s| ended = unsafe { mcapi_wait(request, &mut size, timeout, s) });
    (said, ended != 0, size)
}

pub fn wait_any(requests: &mut [&mut u32], timeout: u32) -> (Status, u32, usize) {
    let (mut size, mut which) = (usize::MAX, 0);
    let mut all: Vec<*mut u32> = requests.iter_mut().map(|request| &raw mut **request).collect();
    let said = status(|s| {
        // SAFETY: `all` has that length, and each place in it is valid.
        which = unsafe { mcapi_wait_any(all.len(), all.as_mut_ptr(), &mut size, timeout, s) }
    });
    (said, which, size)
}

pub fn cancel(request: &mut u32) -> Status {
    // SAFETY: the place is valid.
    status(|s| unsafe { mcapi_cancel(request, s) })
}
