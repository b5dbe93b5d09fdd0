//! What the cases stand on: one program of a simulated chip of clusters that has all nodes. Frames
//! carry their links, over the mechanism of the run.
#![allow(unsafe_code)]

use crate::rig::mcapi::home::{self, Simulated};
use narrows_capi::mcapi::Processes;
use narrows_sim::time::Time;
use std::cell::Cell;
use std::ffi::c_void;

/// As many as there is memory for, in one cluster: every pair of ends has two regions and their
/// copies there.
pub const NODES: usize = 2;
/// Links over frames have fewer blocks and slots than a host's.
pub const MANY: usize = 12;
pub const LONG: usize = 1;
pub const SCALARS: usize = 12;

/// Makes functions that call those of simulated processes.
macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(
            // SAFETY: as the function of that name in the table.
            pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
                // SAFETY: as was promised.
                unsafe { (home::FUNCTIONS.$name)($($argument),*) }
            }
        )*
    };
}

// SAFETY: as the function of that name in the table.
pub unsafe extern "C" fn mcapi_initialize(
    domain: u32,
    node: u32,
    attributes: *const u32,
    parameters: *const u32,
    info: *mut [u32; 9],
    status: *mut u32,
) {
    let (attributes, info) = (attributes.cast(), info.cast());
    // SAFETY: as was promised.
    unsafe {
        (home::FUNCTIONS.mcapi_initialize)(domain, node, attributes, parameters, info, status);
    }
}

functions! {
    mcapi_finalize(status: *mut u32);
    mcapi_endpoint_create(port: u32, status: *mut u32) -> u32;
    mcapi_endpoint_get_i(d: u32, n: u32, p: u32, out: *mut u32, r: *mut u32, s: *mut u32);
    mcapi_endpoint_release(endpoint: u32, status: *mut u32);
    mcapi_endpoint_delete(endpoint: u32, status: *mut u32);
    mcapi_endpoint_get_attribute(e: u32, n: u32, at: *mut c_void, size: usize, s: *mut u32);
    mcapi_endpoint_set_attribute(e: u32, n: u32, at: *const c_void, size: usize, s: *mut u32);
    mcapi_msg_send(f: u32, t: u32, at: *const c_void, len: usize, priority: u32, s: *mut u32);
    mcapi_msg_send_i(
        from: u32, to: u32, at: *const c_void, len: usize, priority: u32, request: *mut u32,
        status: *mut u32
    );
    mcapi_msg_recv(e: u32, at: *mut c_void, room: usize, size: *mut usize, s: *mut u32);
    mcapi_msg_recv_i(e: u32, at: *mut c_void, room: usize, request: *mut u32, s: *mut u32);
    mcapi_msg_available(endpoint: u32, status: *mut u32) -> u32;
    mcapi_pktchan_connect_i(from: u32, to: u32, request: *mut u32, status: *mut u32);
    mcapi_sclchan_connect_i(from: u32, to: u32, request: *mut u32, status: *mut u32);
    mcapi_pktchan_send_open_i(handle: *mut u32, e: u32, request: *mut u32, s: *mut u32);
    mcapi_pktchan_recv_open_i(handle: *mut u32, e: u32, request: *mut u32, s: *mut u32);
    mcapi_sclchan_send_open_i(handle: *mut u32, e: u32, request: *mut u32, s: *mut u32);
    mcapi_sclchan_recv_open_i(handle: *mut u32, e: u32, request: *mut u32, s: *mut u32);
    mcapi_pktchan_send_close_i(handle: u32, request: *mut u32, status: *mut u32);
    mcapi_pktchan_recv_close_i(handle: u32, request: *mut u32, status: *mut u32);
    mcapi_sclchan_send_close_i(handle: u32, request: *mut u32, status: *mut u32);
    mcapi_sclchan_recv_close_i(handle: u32, request: *mut u32, status: *mut u32);
    mcapi_pktchan_send(handle: u32, at: *const c_void, size: usize, status: *mut u32);
    mcapi_pktchan_recv(handle: u32, at: *mut *mut c_void, size: *mut usize, status: *mut u32);
    mcapi_pktchan_recv_i(handle: u32, at: *mut *mut c_void, r: *mut u32, status: *mut u32);
    mcapi_pktchan_available(handle: u32, status: *mut u32) -> u32;
    mcapi_pktchan_release(at: *const c_void, status: *mut u32);
    mcapi_sclchan_send_uint8(handle: u32, word: u8, status: *mut u32);
    mcapi_sclchan_send_uint16(handle: u32, word: u16, status: *mut u32);
    mcapi_sclchan_send_uint32(handle: u32, word: u32, status: *mut u32);
    mcapi_sclchan_send_uint64(handle: u32, word: u64, status: *mut u32);
    mcapi_sclchan_recv_uint8(handle: u32, status: *mut u32) -> u8;
    mcapi_sclchan_recv_uint16(handle: u32, status: *mut u32) -> u16;
    mcapi_sclchan_recv_uint32(handle: u32, status: *mut u32) -> u32;
    mcapi_sclchan_recv_uint64(handle: u32, status: *mut u32) -> u64;
    mcapi_sclchan_available(handle: u32, status: *mut u32) -> u32;
    mcapi_test(request: *mut u32, size: *mut usize, status: *mut u32) -> u8;
    mcapi_wait(request: *mut u32, size: *mut usize, timeout: u32, status: *mut u32) -> u8;
    mcapi_wait_any(
        number: usize, requests: *mut *mut u32, size: *mut usize, timeout: u32, status: *mut u32
    ) -> u32;
    mcapi_cancel(request: *mut u32, status: *mut u32);
}

/// Calls of a node without links take no time, and what it waits for comes in time alone.
pub fn pass_time() {
    if let Some(cpu) = home::cpu() {
        cpu.compute(Time::nanos(100));
    }
}

/// What stands for a thread: while it calls, the program is bound to its node.
pub struct Bound(Cell<Option<(usize, u64)>>);

impl Bound {
    pub fn new() -> Bound {
        Bound(Cell::new(None))
    }

    pub fn call<T>(&self, act: impl FnOnce() -> T) -> T {
        Simulated::bind(self.0.get());
        let done = act();
        self.0.set(Simulated::bound());
        Simulated::bind(None);
        done
    }

    pub fn end(self) {}
}
