//! Once endpoints are got and channels open, no call of MCAPI allocates: neither those that find
//! what they want, nor those that wait for it, nor requests.
//!
//! The allocator counts for each thread, so the calls and nothing else are looked at.
#![allow(unsafe_code, reason = "an allocator that counts, and the C functions")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::{null, null_mut};

use narrows_capi::mcapi::ffi::*;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

fn count() {
    // A thread that ends has no counter any more, and is not looked at.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SUCCESS: u32 = 1;
const PENDING: u32 = 2;
const TIMEOUT: u32 = 3;
const WITHIN: u32 = 20_000;
const ROUNDS: usize = 300;

/// Makes a call that ends well, or waits.
macro_rules! call {
    ($function:ident($($argument:expr),*)) => {{
        let mut status = 0;
        // SAFETY: what the arguments point to outlives the call, and the request if there is one.
        let value = unsafe { $function($($argument,)* &mut status) };
        assert!(matches!(status, SUCCESS | PENDING), "{}: {status}", stringify!($function));
        value
    }};
}

fn wait(request: &mut u32) -> usize {
    let mut size = 0;
    call!(mcapi_wait(request, &mut size, WITHIN));
    size
}

/// One of two nodes: 1, which begins, or 2, which answers. Returns what it allocated in the end.
fn node(own: u32) -> u64 {
    let peer = 3 - own;
    let mut info = Info::default();
    call!(mcapi_initialize(7, own, null(), null(), &mut info));
    let [messages, scalars_out, scalars_in, packets_out, packets_in] =
        [1, 2, 3, 4, 5].map(|port| call!(mcapi_endpoint_create(port)));
    let get = |port| call!(mcapi_endpoint_get(7, peer, port, WITHIN));
    let (to, scalars_to, packets_to) = (get(1), get(3), get(5));
    let mut request = 0;
    call!(mcapi_sclchan_connect_i(scalars_out, scalars_to, &mut request));
    wait(&mut request);
    call!(mcapi_pktchan_connect_i(packets_out, packets_to, &mut request));
    wait(&mut request);
    let [mut scalar_out, mut scalar_in, mut packet_out, mut packet_in] = [0; 4];
    call!(mcapi_sclchan_send_open_i(&mut scalar_out, scalars_out, &mut request));
    wait(&mut request);
    call!(mcapi_sclchan_recv_open_i(&mut scalar_in, scalars_in, &mut request));
    wait(&mut request);
    call!(mcapi_pktchan_send_open_i(&mut packet_out, packets_out, &mut request));
    wait(&mut request);
    call!(mcapi_pktchan_recv_open_i(&mut packet_in, packets_in, &mut request));
    wait(&mut request);

    let payload = vec![own as u8; 5000];
    let mut into = vec![0; 5000];
    let mut before = None;
    for round in 0..ROUNDS {
        // The first rounds bring in what is made once: memory of the peer's that packets are in.
        if round == 20 {
            let count = COUNT.with(Cell::get);
            assert!(count > 0, "what the first rounds allocated was counted");
            before = Some(count);
        }
        let len = [0, 8, 48, 49, 5000][round % 5];
        let (from, room) = (payload.as_ptr().cast(), into.as_mut_ptr().cast());
        let mut size = 0;
        let send = || call!(mcapi_msg_send(messages, to, from, len, 3));
        if own == 1 {
            send();
        }
        call!(mcapi_msg_recv(messages, room, 5000, &mut size));
        assert_eq!(size, len);
        if own == 2 {
            send();
        }

        // Both receives are there before anything is sent; whichever comes first is told of first.
        let (mut message, mut packet, mut at) = (0, 0, null_mut());
        call!(mcapi_msg_recv_i(messages, room, 5000, &mut message));
        call!(mcapi_pktchan_recv_i(packet_in, &mut at, &mut packet));
        call!(mcapi_pktchan_send(packet_out, from, len));
        let mut sent = 0;
        call!(mcapi_msg_send_i(messages, to, from, len, 0, &mut sent));
        assert_eq!(wait(&mut sent), len);
        let mut both: [*mut u32; 2] = [&mut message, &mut packet];
        let first = call!(mcapi_wait_any(2, both.as_mut_ptr(), &mut size, WITHIN));
        assert_eq!(size, len);
        assert_eq!(wait(if first == 0 { &mut packet } else { &mut message }), len);
        call!(mcapi_pktchan_release(at));

        // One that is not finished is waited for in vain and taken back.
        call!(mcapi_pktchan_recv_i(packet_in, &mut at, &mut packet));
        let mut status = 0;
        // SAFETY: as in `call`.
        unsafe { mcapi_wait(&mut packet, &mut size, 0, &mut status) };
        assert_eq!(status, TIMEOUT);
        call!(mcapi_cancel(&mut packet));

        call!(mcapi_sclchan_send_uint32(scalar_out, round as u32));
        assert_eq!(call!(mcapi_sclchan_recv_uint32(scalar_in)), round as u32);
    }
    let allocated = COUNT.with(Cell::get) - before.expect("there are more rounds than 20");
    // Not before the other has all it waits for.
    call!(mcapi_sclchan_send_uint8(scalar_out, 1));
    call!(mcapi_sclchan_recv_uint8(scalar_in));
    allocated
}

#[test]
fn nothing_is_allocated_once_channels_are_open() {
    let directory = tempfile::tempdir().expect("a directory");
    // SAFETY: no other thread of this program reads or writes the environment yet.
    unsafe { std::env::set_var("NARROWS_DIR", directory.path()) };
    let other = std::thread::spawn(|| node(2));
    assert_eq!(node(1), 0);
    assert_eq!(other.join().expect("it ends well"), 0);
}
