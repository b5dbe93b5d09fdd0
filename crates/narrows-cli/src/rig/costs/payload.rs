//! What payload takes: in slots and blocks, by the cores and by the copy engine.

use super::{Bench, LEAST_BYTES, LONG, Load, Point};
use crate::base::failure::Failure;
use crate::formats::functions::Order;
use crate::formats::strategy::literal;
use crate::rig::place::{Core, Place};
use narrows::endpoint::CallError;
use narrows::strategy::{Placement, Strategy};
use narrows_tune::model::{Access, Engine, Parameters, Side};
use std::time::Duration;

/// What some bytes take more, for each of them.
fn slope(more: f64, bytes: usize) -> f64 {
    (more / bytes.max(1) as f64).max(0.0)
}

/// A request that is longer, and a response.
struct Longer {
    out: Point,
    back: Point,
}

impl Longer {
    /// What this many bytes more take of either side, beside the call that they are more of:
    /// writing and reading of the calling core, and of the other one.
    fn than(&self, base: &Point, bytes: usize) -> [Access<f64>; 2] {
        let caller = [&self.out, &self.back].map(|point| slope(point.caller - base.caller, bytes));
        let all = [&self.out, &self.back].map(|point| slope(point.trip - base.trip, bytes));
        let here = Access { write: caller[0], read: caller[1], block: 0.0 };
        let there = Access {
            read: (all[0] - caller[0]).max(0.0),
            write: (all[1] - caller[1]).max(0.0),
            block: 0.0,
        };
        [here, there]
    }
}

impl<P: Place> Bench<'_, P> {
    /// Has blocks of each kind been used.
    pub(super) fn warm(&mut self) -> Result<(), Failure> {
        let by = literal("copy_batched/interrupt/external");
        self.point(by, Load::of(self.short, self.short)).map(|_| ())
    }

    fn longer(&mut self, by: &str, bytes: usize, other: usize) -> Result<Longer, Failure> {
        let by = literal(by);
        let out = self.point(by, Load::of(bytes, other))?;
        Ok(Longer { out, back: self.point(by, Load::of(other, bytes))? })
    }

    /// What payload takes of either side, if short calls by interrupt and by spinning, in blocks of
    /// external memory, are as they are, and blocks so long.
    pub(super) fn copies(
        &mut self,
        told: &Point,
        looking: &Point,
        internal: usize,
        external: usize,
    ) -> Result<[Side<f64>; 2], Failure> {
        let mut sides = [Side::default(), Side::default()];
        let by = "copy_batched/interrupt/external";
        let least = self.point(literal(by), Load::of(LEAST_BYTES, LEAST_BYTES))?;
        let in_slot = self.in_slot as usize;
        if in_slot > LEAST_BYTES {
            let slots = self.longer(by, in_slot, LEAST_BYTES)?.than(&least, in_slot - LEAST_BYTES);
            for (side, slot) in sides.iter_mut().zip(slots) {
                side.slot = slot;
            }
        }
        for (placement, long) in [("internal", internal), ("external", external)] {
            if long <= self.short {
                continue;
            }
            let inside = placement == "internal";
            let by = format!("copy_batched/interrupt/{placement}");
            let spin = format!("copy_batched/spin/{placement}");
            let short = Load::of(self.short, self.short);
            let base = if inside { self.point(literal(&by), short)? } else { *told };
            let bytes = long - self.short;
            let alone = self.longer(&by, long, self.short)?.than(&base, bytes);
            let one = self.longer(&by, self.short, LEAST_BYTES)?.than(&least, 1);
            let base = if inside { self.point(literal(&spin), short)? } else { *looking };
            let looked = self.longer(&spin, long, self.short)?;
            // What both copies of a payload take more is divided as what they take otherwise.
            let more =
                [&looked.out, &looked.back].map(|point| slope(point.trip - base.trip, bytes));
            let [here, there] = alone;
            let part = |more: f64, one: f64, other: f64| {
                (more - one - other).max(0.0) * one / (one + other).max(f64::MIN_POSITIVE)
            };
            let spins = [
                Access {
                    write: part(more[0], here.write, there.read),
                    read: part(more[1], here.read, there.write),
                    block: 0.0,
                },
                Access {
                    read: part(more[0], there.read, here.write),
                    write: part(more[1], there.write, here.read),
                    block: 0.0,
                },
            ];
            let kinds = alone.into_iter().zip(one).zip(spins);
            for (side, ((alone, one), spin)) in sides.iter_mut().zip(kinds) {
                // A short payload in a block, less the same in a slot.
                let bytes = |access: &Access<f64>| (access.write + access.read) * self.short as f64;
                let slot = (side.slot.write + side.slot.read) * LEAST_BYTES as f64;
                let block = (one.write + one.read + slot - bytes(&alone)) / 2.0;
                let alone = Access { block: block.max(0.0), ..alone };
                if inside {
                    (side.internal, side.internal_spin) = (alone, spin);
                } else {
                    (side.external, side.external_spin) = (alone, spin);
                }
            }
        }
        Ok(sides)
    }

    /// What the second request of a message takes of either side, beside its bytes, if a call of
    /// one takes so much: of a message of two as often as blocks are used in turn.
    pub(super) fn further(
        &mut self,
        told: &Point,
        sides: [&Side<f64>; 2],
    ) -> Result<[f64; 2], Failure> {
        if self.longest("external") < 4 * self.short {
            return Ok([0.0; 2]);
        }
        let by = literal("copy_batched/interrupt/external/granularity=2");
        let flow = self.peer.flow("busy", by, self.short as u32)?;
        let order = Order { busy_ns: 0, response: self.short as u32, call: 0 }.to_bytes();
        let (mut out, mut back) = (vec![0; self.short], vec![0; self.short]);
        out.get_mut(..order.len()).unwrap_or_default().copy_from_slice(&order);
        let asked = [self.peer.cpu_time()?, self.peer.cpu_time()?];
        let (before, calls) = self.counts(&by, Load::of(2 * self.short, 2 * self.short));
        let mut used = Duration::ZERO;
        for number in 0..before + calls {
            if number == before {
                used = self.peer.node.platform().core().used();
            }
            let mut left = 2;
            for _ in 0..left {
                let started = self.peer.node.flow(flow).start(&out[..]);
                started.map_err(|error| self.peer.explain_call(CallError::Start(error)))?;
            }
            while left > 0 {
                match self.peer.node.flow(flow).try_finish(&mut back) {
                    Ok(Some(_)) => left -= 1,
                    Ok(None) => self.peer.node.flow(flow).wait(None),
                    Err(error) => return Err(self.peer.explain_call(error)),
                }
            }
        }
        let caller = self.peer.node.platform().core().used().saturating_sub(used);
        let served = self.peer.cpu_time()?.saturating_sub(asked[1]);
        let served = served.saturating_sub(asked[1].saturating_sub(asked[0]));
        let closed = self.peer.node.flow(flow).close();
        closed.map_err(|error| self.peer.explain_flow("busy", by, error))?;
        let found = [
            caller.as_secs_f64() / f64::from(calls) - told.caller,
            served.as_secs_f64() / f64::from(before + calls) - told.callee,
        ];
        let bytes =
            sides.map(|side| (side.external.read + side.external.write) * self.short as f64);
        Ok([(found[0] - bytes[0]).max(0.0), (found[1] - bytes[1]).max(0.0)])
    }

    /// What a byte of a request takes of the calling core that is copied from the block that it was
    /// made in to one that gathers several; nothing where there are no two blocks for that.
    pub(super) fn gather(&mut self, placement: &str) -> Result<f64, Failure> {
        let alone = literal(&format!("single_copy/interrupt/{placement}"));
        let gathered = Strategy { granularity: 2, ..alone };
        let fit = self.classes.iter().filter(|class| {
            (class.placement == Placement::Internal) == (placement == "internal") && class.count > 1
        });
        // Two such requests and their lengths are a message.
        let half = fit.map(|class| class.size as usize / 2).max().unwrap_or(0);
        let long = half.saturating_sub(LEAST_BYTES).min(LONG);
        if long <= self.short {
            return Ok(0.0);
        }
        let short = self.short;
        let mut more = |bytes: usize| -> Result<f64, Failure> {
            let load = Load::of(bytes, short);
            Ok(self.point(gathered, load)?.caller - self.point(alone, load)?.caller)
        };
        Ok(slope(more(long)? - more(short)?, long - short))
    }

    /// The copy engine in a memory whose blocks are so long, and what keeping caches right takes of
    /// either side for a byte. Nothing takes any time where there is none, and no strategy uses it.
    pub(super) fn engine(
        &mut self,
        parameters: &Parameters<f64>,
        told: &Point,
        placement: &str,
        long: usize,
    ) -> Result<(Engine<f64>, [f64; 2]), Failure> {
        let by = literal(&format!("copy_engine/interrupt/{placement}/fragment=65536"));
        if long <= self.short {
            return Ok(Default::default());
        }
        let there = self.peer.try_flow("busy", by, self.short as u32);
        let Ok(flow) = there else { return Ok(Default::default()) };
        let closed = self.peer.node.flow(flow).close();
        closed.map_err(|error| self.peer.explain_flow("busy", by, error))?;
        let short = self.point(by, Load::of(self.short, self.short))?;
        let longer = self.point(by, Load::of(long, long))?;
        let of = |side: &Side<f64>| {
            2.0 * side.external.block
                + (side.external.read + side.external.write) * self.short as f64
        };
        let copies = of(&parameters.caller) + of(&parameters.callee);
        let own = told.caller - of(&parameters.caller);
        // A descriptor in and one out at each side; the bytes move four times, and each core keeps
        // its caches right for both payloads.
        let descriptor = ((short.caller - own) / 2.0).max(0.0);
        let bytes = long - self.short;
        let upkeep = [longer.caller - short.caller, longer.callee - short.callee]
            .map(|more| slope(more, 2 * bytes));
        let all = slope(longer.trip - short.trip, 4 * bytes);
        let byte = (all - (upkeep[0] + upkeep[1]) / 2.0).max(0.0);
        let rest = short.trip - (told.trip - copies) - 4.0 * descriptor;
        let completion = rest / 4.0 - byte * self.short as f64;
        Ok((Engine { descriptor, byte, completion: completion.max(0.0) }, upkeep))
    }
}
