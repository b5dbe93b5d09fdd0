//! Copying to internal and to external memory, without the way into the system.

use crate::base::failure::Failure;
use crate::experiments::papers::pair::{self, Outcome, Side};
use crate::experiments::papers::row::Found;
use narrows::memory::Class;
use narrows::strategy::Placement;
use narrows_sim::chip::Chip;

const BYTES: u32 = 8192;

/// What copying to internal memory saves, in percent of the time.
///
/// # Errors
/// As [`pair::run`].
pub fn internal(chip: &Chip) -> Result<Found, Failure> {
    // A block each, which is all that the internal memory holds: those of the platform's links are
    // for shorter messages.
    let mut chip = chip.clone();
    let block = |placement| Class { placement, size: BYTES, count: 1 };
    chip.link.classes = vec![block(Placement::Internal), block(Placement::External)];
    let caller = |mut side: Side| {
        let external = copy(&mut side, "external")?;
        let internal = copy(&mut side, "internal")?;
        Ok((1.0 - internal / external) * 100.0)
    };
    let callee = |mut side: Side| {
        side.node.open(PORT).map_err(|error| format!("{error:?}"))?;
        pair::serve(side, &mut [])
    };
    let reduction = pair::run(&chip, |_| {}, caller, callee)?;
    Ok([("reduction".to_owned(), reduction)].into())
}

const PORT: u16 = 1;

/// How long the stack copies to a block of a placement, in microseconds.
fn copy(side: &mut Side, placement: &str) -> Outcome<f64> {
    let to = narrows::endpoint::Address { link: side.link, port: PORT };
    let flow = side.node.open_flow_to(to, placement.parse()?, None)?;
    let bytes = [0x5a; BYTES as usize];
    let mut reserved = side.node.flow(flow).reserve(bytes.len())?;
    let began = side.cpu.time();
    side.node.write(&mut reserved, 0, &bytes)?;
    let took = side.cpu.time().since(began);
    side.node.cancel(reserved);
    Ok(took.micros())
}
