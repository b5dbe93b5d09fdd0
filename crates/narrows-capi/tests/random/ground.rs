//! What the cases stand on: this machine, whose functions of `mcapi.h` are called as a C program
//! calls them, and a thread for each node. The simulator has a ground of its own.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use narrows_capi as _;

pub const NODES: usize = 3;
/// What there may be at a time: far less than there is room for.
pub const MANY: usize = 40;
pub const LONG: usize = 6;
pub const SCALARS: usize = 40;

// SAFETY: as `mcapi.h` has them; an output of a type that ends in _t is a word, and so is a status.
unsafe extern "C" {
    pub fn mcapi_initialize(
        domain: u32,
        node: u32,
        attributes: *const u32,
        parameters: *const u32,
        info: *mut [u32; 9],
        status: *mut u32,
    );
    pub fn mcapi_finalize(status: *mut u32);
    pub fn mcapi_endpoint_create(port: u32, status: *mut u32) -> u32;
    pub fn mcapi_endpoint_get_i(d: u32, n: u32, p: u32, out: *mut u32, r: *mut u32, s: *mut u32);
    pub fn mcapi_endpoint_release(endpoint: u32, status: *mut u32);
    pub fn mcapi_endpoint_delete(endpoint: u32, status: *mut u32);
    pub fn mcapi_endpoint_get_attribute(e: u32, n: u32, at: *mut c_void, size: usize, s: *mut u32);
    pub fn mcapi_endpoint_set_attribute(
        e: u32,
        n: u32,
        at: *const c_void,
        size: usize,
        s: *mut u32,
    );
    pub fn mcapi_msg_send(
        f: u32,
        t: u32,
        at: *const c_void,
        len: usize,
        priority: u32,
        s: *mut u32,
    );
    pub fn mcapi_msg_send_i(
        from: u32,
        to: u32,
        at: *const c_void,
        len: usize,
        priority: u32,
        request: *mut u32,
        status: *mut u32,
    );
    pub fn mcapi_msg_recv(e: u32, at: *mut c_void, room: usize, size: *mut usize, s: *mut u32);
    pub fn mcapi_msg_recv_i(e: u32, at: *mut c_void, room: usize, request: *mut u32, s: *mut u32);
    pub fn mcapi_msg_available(endpoint: u32, status: *mut u32) -> u32;
    pub fn mcapi_pktchan_connect_i(from: u32, to: u32, request: *mut u32, status: *mut u32);
    pub fn mcapi_sclchan_connect_i(from: u32, to: u32, request: *mut u32, status: *mut u32);
    pub fn mcapi_pktchan_send_open_i(handle: *mut u32, e: u32, request: *mut u32, s: *mut u32);
    pub fn mcapi_pktchan_recv_open_i(handle: *mut u32, e: u32, request: *mut u32, s: *mut u32);
    pub fn mcapi_sclchan_send_open_i(handle: *mut u32, e: u32, request: *mut u32, s: *mut u32);
    pub fn mcapi_sclchan_recv_open_i(handle: *mut u32, e: u32, request: *mut u32, s: *mut u32);
    pub fn mcapi_pktchan_send_close_i(handle: u32, request: *mut u32, status: *mut u32);
    pub fn mcapi_pktchan_recv_close_i(handle: u32, request: *mut u32, status: *mut u32);
    pub fn mcapi_sclchan_send_close_i(handle: u32, request: *mut u32, status: *mut u32);
    pub fn mcapi_sclchan_recv_close_i(handle: u32, request: *mut u32, status: *mut u32);
    pub fn mcapi_pktchan_send(handle: u32, at: *const c_void, size: usize, status: *mut u32);
    pub fn mcapi_pktchan_recv(
        handle: u32,
        at: *mut *mut c_void,
        size: *mut usize,
        status: *mut u32,
    );
    pub fn mcapi_pktchan_recv_i(handle: u32, at: *mut *mut c_void, r: *mut u32, status: *mut u32);
    pub fn mcapi_pktchan_available(handle: u32, status: *mut u32) -> u32;
    pub fn mcapi_pktchan_release(at: *const c_void, status: *mut u32);
    pub fn mcapi_sclchan_send_uint8(handle: u32, word: u8, status: *mut u32);
    pub fn mcapi_sclchan_send_uint16(handle: u32, word: u16, status: *mut u32);
    pub fn mcapi_sclchan_send_uint32(handle: u32, word: u32, status: *mut u32);
    pub fn mcapi_sclchan_send_uint64(handle: u32, word: u64, status: *mut u32);
    pub fn mcapi_sclchan_recv_uint8(handle: u32, status: *mut u32) -> u8;
    pub fn mcapi_sclchan_recv_uint16(handle: u32, status: *mut u32) -> u16;
    pub fn mcapi_sclchan_recv_uint32(handle: u32, status: *mut u32) -> u32;
    pub fn mcapi_sclchan_recv_uint64(handle: u32, status: *mut u32) -> u64;
    pub fn mcapi_sclchan_available(handle: u32, status: *mut u32) -> u32;
    pub fn mcapi_test(request: *mut u32, size: *mut usize, status: *mut u32) -> u8;
    pub fn mcapi_wait(request: *mut u32, size: *mut usize, timeout: u32, status: *mut u32) -> u8;
    pub fn mcapi_wait_any(
        number: usize,
        requests: *mut *mut u32,
        size: *mut usize,
        timeout: u32,
        status: *mut u32,
    ) -> u32;
    pub fn mcapi_cancel(request: *mut u32, status: *mut u32);
}

/// Time passes by itself.
pub fn pass_time() {}

type Task = Box<dyn FnOnce() + Send>;

/// A thread that is bound to a node.
pub struct Bound {
    tasks: Sender<Task>,
    thread: JoinHandle<()>,
}

impl Bound {
    pub fn new() -> Bound {
        let (tasks, work): (Sender<Task>, Receiver<Task>) = channel();
        Bound {
            tasks,
            thread: std::thread::spawn(move || work.into_iter().for_each(|task| task())),
        }
    }

    pub fn call<T: Send + 'static>(&self, act: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, result) = channel();
        self.tasks.send(Box::new(move || drop(done.send(act())))).expect("the thread is there");
        result.recv().expect("the call returns")
    }

    pub fn end(self) {
        drop(self.tasks);
        self.thread.join().expect("it has ended");
    }
}
