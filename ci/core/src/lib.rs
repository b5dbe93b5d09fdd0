//! The stack with `core` alone: this library has its own panic handler and no allocator, so it does
//! not build if anything in it brings `std` or `alloc` along.
#![no_std]

mod board;

use core::cell::Cell;
use core::panic::PanicInfo;
use core::sync::atomic::AtomicU32;

use board::{Board, Region};
use narrows::memory::{Ack, Class, Descriptor, Kind, Layout, Placed, Shared};
use narrows::platform::Platform;
use narrows::strategy::Placement;

const WORDS: usize = 1024;
static REGIONS: [[AtomicU32; WORDS]; 2] = [const { [const { AtomicU32::new(0) }; WORDS] }; 2];
static BELLS: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

/// One message in its slot and one in a block, there and back. 0 if both arrived.
// SAFETY: no other symbol of this name exists in the library; nothing is linked with it.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn narrows_core_only() -> u32 {
    u32::from(exercise().is_none())
}

fn exercise() -> Option<()> {
    let class = Class { placement: Placement::Internal, size: 64, count: 4 };
    let layout = Layout::new(Board::LINE, 4, &[class]).ok()?;
    let [first, second] = &REGIONS;
    let [bell_of_first, bell_of_second] = &BELLS;
    layout.format(&Region(first)).ok()?;
    layout.format(&Region(second)).ok()?;
    let board = Board { ticks: Cell::new(0) };
    let mut a = Shared::new(&board, Region(first), Region(second), bell_of_second).ok()?;
    let mut b = Shared::new(&board, Region(second), Region(first), bell_of_first).ok()?;

    let descriptor = Descriptor {
        kind: Kind::Message,
        ack: Ack::Interrupt,
        priority: 0,
        len: 0,
        source: 1,
        target: 2,
        tag: 3,
        block: None,
    };
    let block = a.take_block(Placement::Internal, 64).ok()?.ok()?;
    let written = a.write(block, 0, &[7; 64]);
    for placed in [Placed::InSlot(&[7; 16]), Placed::Block { block, len: 64 }] {
        if !written || !a.room(true).ok()? {
            return None;
        }
        a.publish(descriptor, placed);
        a.ring_if_armed(&board);
        let taken = b.take().ok()??;
        let mut payload = [0; 64];
        let complete = match taken.descriptor.block {
            Some(block) => b.read(block, 0, &mut payload) && payload == [7; 64],
            None => taken.in_slot.get(..16)? == [7; 16],
        };
        b.release(&board, &taken.descriptor);
        if !complete {
            return None;
        }
    }
    Some(())
}
