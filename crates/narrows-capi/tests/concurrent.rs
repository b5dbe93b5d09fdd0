//! Several threads of one node at a time: sending from one endpoint, waiting at one endpoint,
//! cancelling, and a node that ends under those that wait in it. What each waits for comes, once.
#![allow(unsafe_code, reason = "the C functions")]

use std::ptr::null;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::ScopedJoinHandle;

use narrows_capi::mcapi::ffi::*;

const SUCCESS: u32 = 1;
const PENDING: u32 = 2;
const TIMEOUT: u32 = 3;
const NODE_NOTINIT: u32 = 9;
const CANCELLED: u32 = 40;
const WAIT_PENDING: u32 = 41;
const WITHIN: u32 = 20_000;
const FOREVER: u32 = u32::MAX;
/// Messages of each sending thread.
const MESSAGES: u32 = 400;
const SENDERS: u32 = 3;
const RECEIVERS: u32 = 3;

/// Makes a call; its status and what it returns.
macro_rules! call {
    ($function:ident($($argument:expr),*)) => {{
        let mut status = 0;
        // SAFETY: what the arguments point to outlives the call, and the request if there is one.
        let value = unsafe { $function($($argument,)* &mut status) };
        (status, value)
    }};
}

/// Makes a call that ends well.
macro_rules! well {
    ($function:ident($($argument:expr),*)) => {{
        let (status, value) = call!($function($($argument),*));
        assert!(matches!(status, SUCCESS | PENDING), "{}: {status}", stringify!($function));
        value
    }};
}

fn initialize(domain: u32, node: u32) {
    let mut info = Info::default();
    well!(mcapi_initialize(domain, node, null(), null(), &mut info));
}

fn send(from: u32, to: u32, number: u32) {
    let bytes = number.to_ne_bytes();
    well!(mcapi_msg_send(from, to, bytes.as_ptr().cast(), 4, number % 8));
}

fn receive(at: u32) -> u32 {
    let (mut bytes, mut size) = ([0; 4], 0);
    well!(mcapi_msg_recv(at, bytes.as_mut_ptr().cast(), 4, &mut size));
    assert_eq!(size, 4);
    u32::from_ne_bytes(bytes)
}

/// How often each message came.
static GOT: [AtomicU32; (MESSAGES * SENDERS) as usize] =
    [const { AtomicU32::new(0) }; (MESSAGES * SENDERS) as usize];

/// Waits for all of them: a scope does too, but in a way that sanitizers do not see.
fn join<T>(threads: Vec<ScopedJoinHandle<'_, T>>) {
    threads.into_iter().for_each(|thread| drop(thread.join().unwrap()));
}

/// Both parts, one after the other: the environment is set before there is another thread.
#[test]
fn threads_of_one_node_get_in_nobodys_way() {
    let directory = tempfile::tempdir().expect("a directory");
    // SAFETY: nothing of this program reads or writes the environment yet.
    unsafe { std::env::set_var("NARROWS_DIR", directory.path()) };
    every_message_comes_once_whoever_sends_and_whoever_waits();
    who_waits_is_told_that_its_request_was_cancelled_and_that_its_node_ended();
}

fn every_message_comes_once_whoever_sends_and_whoever_waits() {
    std::thread::scope(|scope| {
        // Nodes are threads' that stay until all is done.
        let receiver = scope.spawn(|| {
            initialize(11, 2);
            let own = well!(mcapi_endpoint_create(1));
            let peer = well!(mcapi_endpoint_get(11, 1, 1, WITHIN));
            std::thread::scope(|scope| {
                let receives = || {
                    for _ in 0..MESSAGES * SENDERS / RECEIVERS {
                        GOT[receive(own) as usize].fetch_add(1, Ordering::Relaxed);
                    }
                };
                join((0..RECEIVERS).map(|_| scope.spawn(receives)).collect());
            });
            send(own, peer, 0);
            receive(own);
            well!(mcapi_finalize());
        });
        let sender = scope.spawn(|| {
            initialize(11, 1);
            let own = well!(mcapi_endpoint_create(1));
            let peer = well!(mcapi_endpoint_get(11, 2, 1, WITHIN));
            std::thread::scope(|scope| {
                let sends = |sender| {
                    move || (0..MESSAGES).for_each(|n| send(own, peer, sender * MESSAGES + n))
                };
                join((0..SENDERS).map(|sender| scope.spawn(sends(sender))).collect());
            });
            receive(own);
            send(own, peer, 0);
            well!(mcapi_finalize());
        });
        sender.join().unwrap();
        receiver.join().unwrap();
    });
    assert!(GOT.iter().all(|count| count.load(Ordering::Relaxed) == 1), "each came once");
}

/// Begins to receive a message: its request.
fn begin_receiving(at: u32, bytes: &mut [u8; 4]) -> u32 {
    let mut request = 0;
    well!(mcapi_msg_recv_i(at, bytes.as_mut_ptr().cast(), 4, &mut request));
    request
}

/// Waits for the end of a request that somebody else may look at meanwhile: its status.
fn wait(mut request: u32) -> u32 {
    loop {
        let mut size = 0;
        let (status, _) = call!(mcapi_wait(&mut request, &mut size, FOREVER));
        if status != WAIT_PENDING {
            return status;
        }
    }
}

/// Looks until another thread waits for a request: the status that says so.
fn until_waited_for(mut request: u32) -> u32 {
    loop {
        let mut size = 0;
        match call!(mcapi_wait(&mut request, &mut size, 0)) {
            (TIMEOUT, _) => std::thread::yield_now(),
            (status, _) => return status,
        }
    }
}

fn who_waits_is_told_that_its_request_was_cancelled_and_that_its_node_ended() {
    std::thread::scope(|scope| {
        let node = scope.spawn(|| {
            initialize(12, 1);
            let [one, two, three] = [1, 2, 3].map(|port| well!(mcapi_endpoint_create(port)));
            let (mut bytes, mut others) = ([0; 4], [0; 4]);
            let mut cancelled = begin_receiving(one, &mut bytes);
            let left = begin_receiving(two, &mut others);
            std::thread::scope(|scope| {
                let told = scope.spawn(move || wait(cancelled));
                let ended = scope.spawn(move || wait(left));
                let receives = scope.spawn(move || {
                    let (mut bytes, mut size) = ([0_u8; 4], 0);
                    call!(mcapi_msg_recv(three, bytes.as_mut_ptr().cast(), 4, &mut size)).0
                });
                let waited_for = until_waited_for(cancelled);
                let (cancel, ()) = call!(mcapi_cancel(&mut cancelled));
                let told = told.join().unwrap();
                let both = [waited_for, until_waited_for(left)];
                well!(mcapi_finalize());
                // All threads end first: a panic before that would wait for threads that wait.
                let (ended, receives) = (ended.join().unwrap(), receives.join().unwrap());
                assert_eq!((both, cancel), ([WAIT_PENDING; 2], SUCCESS));
                assert_eq!((told, ended), (CANCELLED, NODE_NOTINIT));
                // Whether it waited already or had not begun, it ends the same way.
                assert_eq!(receives, NODE_NOTINIT);
            });
        });
        node.join().unwrap();
    });
}
