//! Once links and flows are up, neither side of any traffic allocates.
//!
//! The allocator counts for each thread, so both nodes and nothing else are looked at.
#![allow(unsafe_code, reason = "an allocator that counts")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use common::{PATIENCE, name};
use narrows::endpoint::{
    Address, Failure, FlowId, Function, Limits, Message, Select, SendError, Sink, Source,
};
use narrows::strategy::Strategy;
use narrows_host::{Node, Options};

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

/// What a thread has allocated and freed so far.
fn so_far() -> u64 {
    COUNT.with(Cell::get)
}

const STRATEGIES: [&str; 10] = [
    "copy/interrupt/internal",
    "copy_lazy/spin/external",
    "copy_batched/hybrid/internal",
    "single_copy/poll=50us/external",
    "in_place/hybrid/internal",
    "in_place/coalesced=4:100us/external",
    "copy_engine/hybrid/external/fragment=512",
    "copy_engine/interrupt/internal",
    "copy_batched/hybrid/external/granularity=8",
    "in_place/spin/internal/granularity=3",
];
const SIZES: [usize; 5] = [0, 5, 48, 1000, 8000];
const ROUNDS: usize = 12;
const SETTING_UP: u32 = 0;
const COUNTING: u32 = 1;
const DONE: u32 = 2;
const WORK: u16 = 1;
const ANSWERS: u16 = 2;
const SOON: Option<Duration> = Some(PATIENCE);

fn echo(request: &dyn Source, response: &mut dyn Sink) -> Result<(), Failure> {
    let mut bytes = [0; 8192];
    let bytes = bytes.get_mut(..request.len()).ok_or(Failure::NoRoom)?;
    request.read(0, bytes)?;
    response.write(0, bytes)
}

fn node(directory: &std::path::Path, name: &str) -> Node {
    let host = Options::new(name).directory(directory).copy_engine(None).open().unwrap();
    let mut node = Node::new(host, Limits::default()).unwrap();
    node.open(WORK).unwrap();
    node.open(ANSWERS).unwrap();
    node
}

/// Serves calls and sends every message back while the other side is in a phase.
fn serve_during(node: &mut Node, now: &AtomicU32, phase: u32) {
    let mut run = echo;
    let mut library = [Function { name: name("echo"), run: &mut run }];
    let mut bytes = [0; 8192];
    while now.load(Ordering::Acquire) == phase {
        node.poll();
        let mut idle = node.try_serve(&mut library) == 0;
        while let Some(message) = node.try_receive(WORK, &Select::default()).unwrap() {
            let (to, len, tag) = (message.from, message.len, message.tag);
            assert!(node.read(&message, 0, &mut bytes[..len]).is_ok());
            node.release(message);
            node.send(ANSWERS, to, Message::new(&bytes[..len]).tag(tag), SOON).unwrap();
            idle = false;
        }
        if idle {
            node.wait_any(Some(Duration::from_millis(10)));
        }
    }
}

fn messages(node: &mut Node, to: Address, over: FlowId, bytes: &[u8]) {
    let mut back = [0; 8192];
    for (tag, len) in (0..).zip(SIZES) {
        node.send(ANSWERS, to, Message::new(&bytes[..len]).priority(tag as u8).tag(tag), SOON)
            .unwrap();
        node.flow(over)
            .send(ANSWERS, Message::new(&bytes[..len]).priority(tag as u8).tag(tag), SOON)
            .unwrap();
        let mut made = node.flow(over).reserve(len.max(1)).unwrap();
        assert!(node.write(&mut made, 0, &bytes[..len]).is_ok());
        node.flow(over).try_send(ANSWERS, Message::new(&mut made).priority(0).tag(tag)).unwrap();
        for _ in 0..3 {
            let got = node.receive_into(ANSWERS, &mut back, SOON).expect("an answer");
            assert!(back[..len] == bytes[..len] && got.tag == tag);
        }
    }
}

fn calls(node: &mut Node, flow: FlowId, bytes: &[u8]) {
    let mut back = [0; 8192];
    for len in SIZES {
        assert_eq!(node.flow(flow).call(&bytes[..len], &mut back, SOON), Ok(len));
        assert!(back[..len] == bytes[..len]);
        // Several on the way; half finished by waiting, half with a callback.
        let mut started = 0;
        while started < 12 {
            match node.flow(flow).start(&bytes[..len]) {
                Ok(_) => started += 1,
                Err(SendError::RingFull | SendError::PoolEmpty) => break,
                Err(error) => panic!("{error}"),
            }
        }
        for _ in 0..started / 2 {
            assert_eq!(node.flow(flow).finish(&mut back, SOON).unwrap().len, len);
        }
        while node.flow(flow).outstanding() != Some(0) {
            node.flow(flow).complete(|done, _| assert_eq!(done.len, len)).unwrap();
            if node.flow(flow).outstanding() != Some(0) {
                node.flow(flow).wait(SOON);
            }
        }
        let mut made = node.flow(flow).reserve(len.max(1)).unwrap();
        assert!(node.write(&mut made, 0, &bytes[..len]).is_ok());
        node.flow(flow).call(&mut made, &mut back, SOON).unwrap();
    }
}

#[test]
fn nothing_allocates_once_links_and_flows_are_up() {
    let directory = tempfile::tempdir().unwrap();
    let (counting, phase) = (Barrier::new(2), AtomicU32::new(SETTING_UP));
    let strategies = STRATEGIES.map(|text| text.parse::<Strategy>().unwrap());
    let bytes: Vec<u8> = (0..8192).map(|n| n as u8).collect();
    std::thread::scope(|scope| {
        let callee = scope.spawn(|| {
            let mut node = node(directory.path(), "callee");
            serve_during(&mut node, &phase, SETTING_UP);
            counting.wait();
            let before = so_far();
            serve_during(&mut node, &phase, COUNTING);
            so_far() - before
        });
        let mut node = node(directory.path(), "caller");
        let link = node.hunt(&name("callee"), SOON).unwrap();
        let to = Address { link, port: WORK };
        let each = strategies.map(|strategy| {
            let over = Strategy { granularity: 1, ..strategy };
            let flow = node.open_flow(link, &name("echo"), strategy, 8192, SOON).unwrap();
            (flow, node.open_flow_to(to, over, SOON).unwrap())
        });
        phase.store(COUNTING, Ordering::Release);
        counting.wait();
        let before = so_far();
        for round in 0..ROUNDS {
            for (at, (flow, over)) in each.into_iter().enumerate() {
                node.set_strategy(strategies[(round + at) % strategies.len()]);
                messages(&mut node, to, over, &bytes);
                calls(&mut node, flow, &bytes);
                node.flow(flow).switch(strategies[(at + round) % strategies.len()], SOON).unwrap();
            }
        }
        let opened = node.open_flow(link, &name("echo"), strategies[0], 64, SOON).unwrap();
        node.flow(opened).close().unwrap();
        let of_caller = so_far() - before;
        phase.store(DONE, Ordering::Release);
        assert_eq!((of_caller, callee.join().unwrap()), (0, 0), "caller and callee");
        assert!(so_far() > before, "the counter counts");
    });
}
