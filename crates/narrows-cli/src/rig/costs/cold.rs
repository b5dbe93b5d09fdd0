//! What a call takes more that finds nothing in the caches: the first on a chip that has just
//! begun. And, if that is more, one whose block and private memory want the same lines of a cache.

use super::{Bench, LEAST_BYTES, LONG, Load};
use crate::base::failure::Failure;
use crate::base::options::{Cores, Global};
use crate::formats::strategy::literal;
use crate::rig::place::Place;
use crate::rig::sim;
use narrows_sim::chip::{Chip, Core};
use narrows_tune::model::{Access, Parameters};

/// Bytes of a block that has room in a cache beside what a core keeps for itself.
const MIDDLE: usize = 512;

/// Adds what was measured cold, on the same cores of the chip, to what was measured warm.
///
/// # Errors
/// What [`sim`] refuses.
pub(crate) fn cold(
    global: &Global,
    chip: &Chip,
    parameters: &mut Parameters<f64>,
) -> Result<(), Failure> {
    let needs = sim::Needs { longest: LONG, ..sim::Needs::default() };
    let Cores { caller, callee } = sim::cores(global, chip)?;
    parameters.caller.caches = caches(&chip.cores[caller]);
    parameters.callee.caches = caches(&chip.cores[callee]);
    let more = |how, placement, request, response| {
        sim::run(global, chip, &needs, |mut peer| {
            let mut bench = Bench::new(&mut peer, 1)?;
            let longest = bench.longest(placement);
            bench.first(how, placement, request, response, longest)
        })
    };
    let (hows, placements) = (["interrupt", "spin"], ["external", "internal"]);
    for (how, placement) in hows.into_iter().flat_map(|how| placements.map(|one| (how, one))) {
        let code = more(how, placement, LEAST_BYTES, LEAST_BYTES)?;
        let [middle, long] = [MIDDLE, LONG].map(|bytes| {
            let out = more(how, placement, bytes, LEAST_BYTES)?;
            Ok([out, more(how, placement, LEAST_BYTES, bytes)?])
        });
        let (middle, long) = (middle?, long?);
        for (number, side) in
            [&mut parameters.caller, &mut parameters.callee].into_iter().enumerate()
        {
            let cached = |one: &Cold| f64::from(side.cached(one.bytes));
            let slopes =
                long.each_ref().map(|one| (one.more[number] - code.more[number]) / cached(one));
            let [out, back] = slopes.map(|one| one.max(0.0));
            let (write, read) = if number == 0 { (out, back) } else { (back, out) };
            // A block that a cache has room for loses what it shares lines with at every call, and
            // a longer one no more than that.
            let shared = middle.iter().zip([out, back]);
            let shared = shared.map(|(one, byte)| one.more[number] - byte * cached(one));
            let block = shared.fold(code.more[number], f64::max);
            let was = side.cold;
            side.cold = Access {
                write: write.max(was.write),
                read: read.max(was.read),
                block: block.max(was.block),
            };
        }
    }
    Ok(())
}

/// Bytes of a core's caches for data, if it has any.
fn caches(core: &Core) -> Option<u32> {
    let levels = core.data.iter().chain(&core.second);
    levels.map(|cache| cache.size).reduce(u32::saturating_add)
}

/// What the first call took more of either side, and how many bytes were its longer side.
struct Cold {
    more: [f64; 2],
    bytes: u32,
}

impl<P: Place> Bench<'_, P> {
    /// The first call of a place, beside those that follow; its sides as long as blocks are at
    /// most.
    fn first(
        &mut self,
        notification: &str,
        placement: &str,
        request: usize,
        response: usize,
        longest: usize,
    ) -> Result<Cold, Failure> {
        let (request, response) = (request.min(longest), response.min(longest));
        let by = literal(&format!("copy_batched/{notification}/{placement}"));
        let bytes = request.max(response) as u32;
        if longest <= LEAST_BYTES {
            return Ok(Cold { more: [0.0; 2], bytes });
        }
        let load = Load::of(request, response);
        let cold = self.round(by, load, (0, 1))?;
        let warm = self.point(by, load)?;
        let caller = (cold.caller - warm.caller).max(0.0);
        let all = (cold.trip.max(warm.longest) - warm.trip).max(caller);
        Ok(Cold { more: [caller, all - caller], bytes })
    }
}
