//! What payload takes: in slots and blocks, by the cores and by the copy engine.

use super::{Bench, LEAST_BYTES, LONG, Load, Point};
use crate::base::failure::Failure;
use crate::formats::functions::Order;
use crate::formats::strategy::literal;
use crate::rig::place::{Core, Place};
use narrows::endpoint::CallError;
use narrows::strategy::Strategy;
use narrows_tune::model::{Access, Engine, Parameters, Pool, SPANS, Side, Span};
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

/// What calls take more of a side than others, written and read, as seconds of all of it.
type More = [f64; 2];

impl Longer {
    /// No longer than this call.
    fn than(call: Point) -> Longer {
        Longer { out: call, back: call }
    }

    /// What these calls take more than others: of the calling core, and of the other one.
    fn more(&self, base: &Longer) -> [More; 2] {
        let pairs = [(&self.out, &base.out), (&self.back, &base.back)];
        let caller = pairs.map(|(point, base)| (point.caller - base.caller).max(0.0));
        let trips = pairs.map(|(point, base)| (point.trip - base.trip).max(0.0));
        let there = |at: usize| (trips[at] - caller[at]).max(0.0);
        [caller, [there(1), there(0)]]
    }
}

/// What payloads take that grow from a short length, with what it takes, to a long one.
fn line([short, long]: [(u32, More); 2]) -> Access<f64> {
    let bytes = (long.0 - short.0) as usize;
    let [write, read] = [0, 1].map(|at| slope(long.1[at] - short.1[at], bytes));
    let both = |(bytes, of): (u32, More)| of[0] + of[1] - (write + read) * f64::from(bytes);
    Access { write, read, block: (both(short) / 2.0).max(0.0) }
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

    /// Lengths of payloads in blocks of a placement between which what they take grows by the byte:
    /// the shortest and the longest, or of each class of blocks. What differs from class to class
    /// is lost in what else a machine does.
    fn spans(&self, placement: &str, long: usize) -> Vec<[u32; 2]> {
        let (mut from, long) = (self.short as u32, long as u32);
        if self.rounds > 1 {
            return vec![[from, long]];
        }
        let mut spans = Vec::new();
        for class in self.blocks(placement) {
            let to = class.size.min(long);
            if to >= from && spans.len() < SPANS {
                spans.push([from, to]);
                from = to + 1;
            }
        }
        spans
    }

    /// What payload takes of either side. `looking` has what short calls by spinning, in blocks of
    /// external memory, take; `internal` and `external` say how long blocks are.
    pub(super) fn copies(
        &mut self,
        looking: &Point,
        internal: usize,
        external: usize,
    ) -> Result<[Side<f64>; 2], Failure> {
        let mut sides = [Side::default(), Side::default()];
        let by = "copy_batched/interrupt/external";
        let least = Longer::than(self.point(literal(by), Load::of(LEAST_BYTES, LEAST_BYTES))?);
        let in_slot = self.in_slot as usize;
        if in_slot > LEAST_BYTES {
            let longer = self.longer(by, in_slot, LEAST_BYTES)?.more(&least);
            for (side, more) in sides.iter_mut().zip(longer) {
                side.slot = line([(LEAST_BYTES as u32, [0.0; 2]), (self.in_slot, more)]);
                side.slot.block = 0.0;
            }
        }
        for (placement, long) in [("internal", internal), ("external", external)] {
            if long <= self.short {
                continue;
            }
            let inside = placement == "internal";
            let by = format!("copy_batched/interrupt/{placement}");
            let mut pools = [Pool::default(); 2];
            for (at, lengths) in self.spans(placement, long).into_iter().enumerate() {
                let [short, long] = lengths.map(|bytes| {
                    Ok::<_, Failure>(self.longer(&by, bytes as usize, LEAST_BYTES)?.more(&least))
                });
                let (short, long) = (short?, long?);
                for (number, side) in sides.iter().enumerate() {
                    // Beside the call without a block, whose payload lay in a slot.
                    let slot =
                        [side.slot.write, side.slot.read].map(|one| one * LEAST_BYTES as f64);
                    let of =
                        |more: &[More; 2]| [more[number][0] + slot[0], more[number][1] + slot[1]];
                    let access = line([(lengths[0], of(&short)), (lengths[1], of(&long))]);
                    pools[number].spans[at] = Span { longest: lengths[1], access };
                }
            }
            let spins = self.spins(placement, long, &pools, looking)?;
            for (side, (pool, spin)) in sides.iter_mut().zip(pools.into_iter().zip(spins)) {
                if inside {
                    (side.internal, side.internal_spin) = (pool, spin);
                } else {
                    (side.external, side.external_spin) = (pool, spin);
                }
            }
        }
        Ok(sides)
    }

    /// What each byte takes more of either side while the other one looks all the time. `here` and
    /// `there` have what copies take otherwise.
    fn spins(
        &mut self,
        placement: &str,
        long: usize,
        [here, there]: &[Pool<f64>; 2],
        looking: &Point,
    ) -> Result<[Access<f64>; 2], Failure> {
        let by = format!("copy_batched/spin/{placement}");
        let short = Load::of(self.short, self.short);
        let base = match placement {
            "internal" => self.point(literal(&by), short)?,
            _ => *looking,
        };
        let looked = self.longer(&by, long, self.short)?;
        let bytes = long - self.short;
        // What a byte takes otherwise, from the short payload to the long one.
        let each = |of: &Pool<f64>, rate: fn(&Access<f64>) -> f64| {
            let takes = |bytes: usize| {
                let access = of.of(bytes as u32);
                access.block + rate(&access) * bytes as f64
            };
            slope(takes(long) - takes(self.short), bytes)
        };
        let [here, there] =
            [here, there].map(|of| [each(of, |one| one.write), each(of, |one| one.read)]);
        // What both copies of a payload take more is divided as what they take otherwise.
        let more = [&looked.out, &looked.back].map(|point| slope(point.trip - base.trip, bytes));
        let part = |more: f64, one: f64, other: f64| {
            (more - one - other).max(0.0) * one / (one + other).max(f64::MIN_POSITIVE)
        };
        Ok([
            Access {
                write: part(more[0], here[0], there[1]),
                read: part(more[1], here[1], there[0]),
                block: 0.0,
            },
            Access {
                read: part(more[0], there[1], here[0]),
                write: part(more[1], there[0], here[1]),
                block: 0.0,
            },
        ])
    }

    /// What the second request of a message takes of either side, beside its bytes, if a call of
    /// one request takes what `told` has. As many messages of two are sent as it takes to use
    /// blocks in turn.
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
        let bytes = sides.map(|side| {
            let access = side.external.of(self.short as u32);
            Access { block: 0.0, ..access }.both(self.short as u32)
        });
        Ok([(found[0] - bytes[0]).max(0.0), (found[1] - bytes[1]).max(0.0)])
    }

    /// What a byte of a request takes of the calling core that is copied from the block that it was
    /// made in to one that gathers several; nothing where there are no two blocks for that.
    pub(super) fn gather(&mut self, placement: &str) -> Result<f64, Failure> {
        let alone = literal(&format!("single_copy/interrupt/{placement}"));
        let gathered = Strategy { granularity: 2, ..alone };
        let fit = self.blocks(placement).filter(|class| class.count > 1);
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

    /// The copy engine in a memory whose blocks have `long` bytes, and what keeping caches right
    /// takes of either side for a byte. Nothing takes any time where there is none, and no strategy
    /// uses it.
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
        let [here, there] = [&parameters.caller, &parameters.callee]
            .map(|side| side.external.both(self.short as u32));
        let copies = here + there;
        let own = told.caller - here;
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
