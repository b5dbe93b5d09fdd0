//! What calls of MCAPI execute: `ci/instructions` runs this under callgrind and reads the
//! instructions of each function of the library. Run by itself it only checks that all arrives.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr::{null, null_mut};

use narrows_capi::mcapi::ffi::*;

/// Calls of each function if the program is not told how many: so few that no ring comes round and
/// no call sees to everything as well.
const CALLS: u64 = 60;
const SUCCESS: u32 = 1;
const PENDING: u32 = 2;

/// Makes a call that ends well.
macro_rules! call {
    ($function:ident($($argument:expr),*)) => {{
        let mut status = 0;
        // SAFETY: what the arguments point to outlives the call.
        let value = unsafe { $function($($argument,)* &mut status) };
        assert!(matches!(status, SUCCESS | PENDING), "{}: {status}", stringify!($function));
        value
    }};
}

/// Ports of a node.
#[derive(Clone, Copy)]
struct Ends {
    messages: u32,
    scalars: u32,
    packets: u32,
}

fn node(number: u32) -> Ends {
    let mut info = Info::default();
    call!(mcapi_initialize(0, number, null(), null(), &mut info));
    let create = |port| call!(mcapi_endpoint_create(port));
    Ends { messages: create(1), scalars: create(2), packets: create(3) }
}

/// Begins to get an endpoint of the second node: where it will be, and the request.
fn get(port: u32) -> (&'static u32, u32) {
    let endpoint: *mut u32 = Box::leak(Box::default());
    let mut request = 0;
    call!(mcapi_endpoint_get_i(0, 2, port, endpoint, &mut request));
    // SAFETY: it is never freed, and nobody reads it before the request has ended.
    (unsafe { &*endpoint }, request)
}

/// Has both nodes work on a request until it has ended. In one thread, which is no node's, so that
/// both do the same number of calls each time: a node sees to everything once in a fixed number of
/// calls.
fn wait(mut request: u32, receiver: Ends) {
    let mut size = 0;
    while call!(mcapi_test(&mut request, &mut size)) == 0 {
        call!(mcapi_msg_available(receiver.messages));
    }
}

fn main() {
    let directory = tempfile::tempdir().expect("a directory");
    // SAFETY: there is no other thread yet.
    unsafe { std::env::set_var("NARROWS_DIR", directory.path()) };
    let receiver = std::thread::spawn(|| node(2)).join().expect("a node");
    let sender = std::thread::spawn(|| (node(1), [1, 2, 3].map(get)));
    let (sender, gets) = sender.join().expect("a node");
    let got = gets.map(|(endpoint, request)| {
        wait(request, receiver);
        *endpoint
    });
    assert_eq!(got, [receiver.messages, receiver.scalars, receiver.packets]);
    let (mut request, mut out, mut into) = (0, 0, 0);
    call!(mcapi_sclchan_connect_i(sender.scalars, receiver.scalars, &mut request));
    wait(request, receiver);
    call!(mcapi_sclchan_send_open_i(&mut out, sender.scalars, &mut request));
    wait(request, receiver);
    call!(mcapi_sclchan_recv_open_i(&mut into, receiver.scalars, &mut request));
    wait(request, receiver);
    let scalars = (out, into);
    call!(mcapi_pktchan_connect_i(sender.packets, receiver.packets, &mut request));
    wait(request, receiver);
    call!(mcapi_pktchan_send_open_i(&mut out, sender.packets, &mut request));
    wait(request, receiver);
    call!(mcapi_pktchan_recv_open_i(&mut into, receiver.packets, &mut request));
    wait(request, receiver);
    let packets = (out, into);

    let (sent, mut got) = ([7_u8; 48], [0_u8; 48]);
    let calls = match std::env::args().nth(1).as_deref() {
        // As Cargo calls it.
        None | Some("--bench") => CALLS,
        Some(calls) => calls.parse().expect("the number of calls"),
    };
    for n in 0..calls {
        msg_send(sender.messages, receiver.messages, black_box(&sent));
        assert_eq!(msg_recv(receiver.messages, black_box(&mut got)), 48);
        assert_eq!(got, sent);
        scalar_send(scalars.0, n);
        assert_eq!(scalar_recv(scalars.1), n);
        packet_send(packets.0, black_box(&sent));
        assert_eq!(packet_recv_release(packets.1), 48);
    }
    // Calls without a short way, apart from those: what they leave to be done is counted with them.
    for _ in 0..calls {
        let request = msg_recv_i(receiver.messages, black_box(&mut got));
        msg_send_i(sender.messages, receiver.messages, black_box(&sent));
        assert_eq!(wait_for(request), 48);
        assert_eq!(got, sent);
    }
    println!("{calls} calls of each function, each for 48 bytes or one scalar");
}

#[inline(never)]
fn msg_send(from: u32, to: u32, bytes: &[u8; 48]) {
    call!(mcapi_msg_send(from, to, bytes.as_ptr().cast(), 48, 1));
}

#[inline(never)]
fn msg_recv(at: u32, bytes: &mut [u8; 48]) -> usize {
    let mut size = 0;
    call!(mcapi_msg_recv(at, bytes.as_mut_ptr().cast(), 48, &mut size));
    size
}

#[inline(never)]
fn msg_send_i(from: u32, to: u32, bytes: &[u8; 48]) {
    let mut request = 0;
    call!(mcapi_msg_send_i(from, to, bytes.as_ptr().cast(), 48, 1, &mut request));
}

#[inline(never)]
fn msg_recv_i(at: u32, bytes: &mut [u8; 48]) -> u32 {
    let mut request = 0;
    call!(mcapi_msg_recv_i(at, bytes.as_mut_ptr().cast(), 48, &mut request));
    request
}

#[inline(never)]
fn wait_for(mut request: u32) -> usize {
    let mut size = 0;
    call!(mcapi_wait(&mut request, &mut size, u32::MAX));
    size
}

#[inline(never)]
fn scalar_send(handle: u32, value: u64) {
    call!(mcapi_sclchan_send_uint64(handle, value));
}

#[inline(never)]
fn scalar_recv(handle: u32) -> u64 {
    call!(mcapi_sclchan_recv_uint64(handle))
}

#[inline(never)]
fn packet_send(handle: u32, bytes: &[u8; 48]) {
    call!(mcapi_pktchan_send(handle, bytes.as_ptr().cast(), 48));
}

#[inline(never)]
fn packet_recv_release(handle: u32) -> usize {
    let (mut packet, mut size) = (null_mut::<c_void>(), 0);
    call!(mcapi_pktchan_recv(handle, &mut packet, &mut size));
    call!(mcapi_pktchan_release(packet));
    size
}
