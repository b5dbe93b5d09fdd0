//! The stack and the tuner with `core` alone: this library has its own panic handler and no
//! allocator, so it does not build if anything in it brings `std` or `alloc` along. Run, it uses
//! every layer once, and then chooses strategies.
#![no_std]

mod board;
mod halves;
mod nodes;
mod queues;
mod tune;

use core::panic::PanicInfo;

use board::Board;
use narrows::memory::{Class, Layout};
use narrows::platform::Platform;
use narrows::strategy::Placement;

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

/// Has two memories, two nodes, the tuner and two processors with queues at work. 0 if all went
/// well, otherwise the step that did not: 1 for the memories, [`nodes::Step`] from there on,
/// [`TUNER`] for the tuner, [`QUEUES`] for the processors.
// SAFETY: no other symbol of this name exists in the library, and the program it is linked with
// calls it, in one thread, and defines none.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn narrows_core_only() -> u32 {
    if halves::exchange().is_none() {
        return 1;
    }
    let mut step = nodes::Step::Open;
    if nodes::exchange(&mut step).is_none() {
        return step as u32;
    }
    if tune::choose().is_none() {
        return TUNER;
    }
    if queues::exchange().is_none() { QUEUES } else { 0 }
}

/// The step of the tuner.
const TUNER: u32 = 20;
/// The step of the processors.
const QUEUES: u32 = 21;

/// A layout for lines of the board's length, which leaves a region half empty.
fn layout() -> Option<Layout> {
    let class = |placement| Class { placement, size: 64, count: 4 };
    let classes = [class(Placement::Internal), class(Placement::External)];
    Layout::new(Board::LINE, 8, &classes).ok()
}
