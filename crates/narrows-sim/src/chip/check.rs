//! Whether the links of a chip fit into its memories.

use super::{Chip, Link};
use crate::file::{Mistake, Table};

/// Bytes of a descriptor slot of the stack in the simulator.
const LINE: u32 = 64;
/// Where the code of a core's spans begins in its memory is a multiple of this.
const CODE: u32 = 32;

/// The blocks must be possible, and a link between every two cores must fit.
pub(super) fn link(chip: &Chip, table: &Table<'_>) -> Result<(), Mistake> {
    let Link { classes, .. } = &chip.link;
    let value = table.get("classes", "blocks")?;
    let layout = chip
        .link
        .layout(LINE)
        .map_err(|why| value.fail(format!("link.classes cannot be: {why}")))?;
    let cores = chip.cores.len() as u64;
    // Each of two linked nodes has a region; on a chip of one core two processes may be linked.
    let regions = (cores * cores.saturating_sub(1)).max(2);
    for (at, memory) in chip.memories.iter().enumerate() {
        let mut needed = 0;
        if chip.link.control == at {
            let [before @ .., _] = layout.parts();
            needed += before.iter().map(|(_, bytes)| u64::from(*bytes)).sum::<u64>();
        }
        for class in classes.iter().filter(|class| chip.link.memory(class.placement) == at) {
            needed += u64::from(class.size.next_multiple_of(LINE)) * u64::from(class.count);
        }
        needed *= regions;
        for core in chip.cores.iter().filter(|core| core.home == at) {
            let codes = core.spans.iter().map(|(_, span)| span.code).chain([core.interrupt.code]);
            needed += codes.map(|code| u64::from(code.next_multiple_of(CODE))).sum::<u64>();
        }
        if needed > u64::from(memory.size) {
            return Err(value.fail(format!(
                "{regions} regions of links and the code of cores need {needed} bytes of memory \
                 {}; expected at most its {}: fewer or smaller blocks, or fewer slots",
                memory.name, memory.size
            )));
        }
    }
    Ok(())
}
