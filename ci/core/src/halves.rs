//! The two halves of a link's memory, without nodes.

use narrows::memory::{Ack, Descriptor, Kind, Placed, Shared};
use narrows::strategy::Placement;

use crate::board::{Board, Chip};
use crate::layout;

static CHIP: Chip = Chip::new();

/// One message in its slot and one in a block; none if they did not arrive.
pub fn exchange() -> Option<()> {
    let names = ["first".parse().ok()?, "second".parse().ok()?];
    let [bell_of_first, bell_of_second] = &CHIP.bells;
    let first = Board::new(&CHIP, names, 0, &layout()?).ok()?;
    let second = Board::new(&CHIP, names, 1, &layout()?).ok()?;
    let mut a = Shared::new(&first, first.region(0)?, first.region(1)?, bell_of_second).ok()?;
    let mut b = Shared::new(&second, second.region(1)?, second.region(0)?, bell_of_first).ok()?;

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
        a.ring_if_armed(&first);
        let taken = b.take().ok()??;
        let mut payload = [0; 64];
        let complete = match taken.descriptor.block {
            Some(block) => b.read(block, 0, &mut payload) && payload == [7; 64],
            None => taken.in_slot.get(..16)? == [7; 16],
        };
        b.release(&second, &taken.descriptor);
        if !complete {
            return None;
        }
    }
    Some(())
}
