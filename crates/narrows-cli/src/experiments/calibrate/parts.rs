//! What a message consists of on this machine: its parts, measured one by one, and the constants of
//! a platform that follow from them.

use super::sample::{Figure, Item, LONG, Samples};
use crate::formats::functions::LIBRARY;
use crate::rig::limit::Kind;
use narrows::strategy::{Acknowledgement, Notification, Strategy, Transfer};

/// Bytes of messages that travel in a slot.
const SLOT: usize = 48;
/// Bytes of the shortest messages that are measured in a block.
const SHORT: usize = 120;
/// Bytes of messages in blocks: none of the sizes that are [checked](super::check).
pub(super) const SIZES: [usize; 9] = [SHORT, 192, 512, 2048, 3072, 8192, 12288, 24576, LONG];
/// Of these, those at which calls are measured too.
const SERVED: [usize; 5] = [SHORT, 3072, 12288, 24576, LONG];
/// Bytes of a line.
pub(super) const LINE: usize = 64;
/// Lines of a copy behind which others may take another time.
const BEGINNINGS: [usize; 7] = [4, 8, 16, 32, 64, 128, 256];
/// Steps towards the best fit.
const STEPS: usize = 4000;

/// How a message waits is by looking; blocks go back in batches.
pub(super) fn batched() -> Strategy {
    Strategy { acknowledgement: Acknowledgement::Batched, ..copy() }
}

/// The copy driver.
pub(super) fn copy() -> Strategy {
    Strategy {
        transfer: Transfer::Copy,
        notification: Notification::Spin,
        acknowledgement: Acknowledgement::Interrupt,
        ..Strategy::default()
    }
}

/// The in-place driver.
pub(super) fn in_place() -> Strategy {
    Strategy { transfer: Transfer::InPlace, ..batched() }
}

/// The functions whose time is measured.
fn functions() -> impl Iterator<Item = &'static str> {
    LIBRARY.iter().filter(|one| one.stream.is_some()).map(|one| one.name)
}

/// Calls of this many bytes, copied and in place.
fn calls(bytes: usize) -> [Item; 2] {
    [batched(), in_place()].map(|strategy| Item::Calls(strategy, bytes))
}

/// What is measured for the parts.
pub(super) fn items() -> Vec<Item> {
    let mut all = vec![
        Item::Limit(Kind::SlotEachWay, 0),
        Item::Limit(Kind::CopyInTurn, LONG),
        Item::Limit(Kind::CopyIn, LONG),
        Item::Limit(Kind::EventfdTicking, 0),
        Item::Messages(batched(), SLOT),
        Item::Messages(copy(), SHORT),
        Item::Stamp,
    ];
    all.extend(SIZES.map(|bytes| Item::Messages(batched(), bytes)));
    all.extend(SERVED.into_iter().flat_map(calls));
    all.extend(functions().map(Item::Function));
    all
}

/// The parts, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parts {
    /// A slot of a ring to the other core and back, without the stack.
    pub slots: Figure,
    /// A payload of [`LONG`] copied in and out, there and back, without the stack.
    pub copies: Figure,
    /// Of these, the caller's copying in.
    pub copy_in: Figure,
    /// Eventfds there and back, each side asleep until it comes, as a node sleeps: with its core's
    /// tick kept.
    pub eventfd: Figure,
    /// A round trip of messages in slots.
    pub slot: Figure,
    /// A round trip of messages of [`SHORT`], each acknowledged by a bell that nobody waits for.
    pub rung: Figure,
    /// A round trip of calls by size, by the copy driver and by the in-place driver; the first are
    /// of [`SHORT`].
    pub calls: Vec<(usize, [Figure; 2])>,
    /// A look at the clock.
    pub stamp: Figure,
    /// A round trip of messages by size; the first are of [`SHORT`].
    pub messages: Vec<(usize, Figure)>,
    /// Functions, for four bytes.
    pub functions: Vec<(&'static str, Figure)>,
}

/// What the file says, in nanoseconds, each from [`Parts`].
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Constants {
    /// From core to core.
    pub hop: f64,
    /// A message in a slot beside the hop.
    pub message: f64,
    /// A call beside its two messages and its function.
    pub call: f64,
    /// Four bytes of a request and its response in a call, beside their messages and what the
    /// function takes in memory of one's own: from this many bytes on, copied and in place.
    pub serve: Vec<(usize, [f64; 2])>,
    /// A line of payload on one way.
    pub lines: Lines,
    /// The part of it that is copying in.
    pub share: f64,
    /// Ringing a bell.
    pub ring: f64,
    /// From ringing until the sleeper goes on.
    pub wake: f64,
}

/// What the lines of a payload take, copied in and out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Lines {
    /// The first, with all that a block takes.
    pub first: f64,
    /// Each of those that follow, in the beginning.
    pub beginning: f64,
    /// Each of the rest.
    pub rest: f64,
    /// How many lines the first and the beginning are.
    pub until: usize,
}

impl Lines {
    /// How many of a payload are the first, the beginning and the rest.
    fn counts(bytes: usize, until: usize) -> [f64; 3] {
        let lines = bytes.div_ceil(LINE);
        [1.0, (lines.min(until) - 1) as f64, lines.saturating_sub(until) as f64]
    }

    /// What a payload takes.
    pub fn time(&self, bytes: usize) -> f64 {
        let each = [self.first, self.beginning, self.rest];
        Lines::counts(bytes, self.until).iter().zip(each).map(|(count, ns)| count * ns).sum()
    }

    /// Those that come nearest to points (bytes, time, what the deviation is a part of), by the
    /// squares of the deviations' parts.
    fn through(points: &[(usize, f64, f64)]) -> Lines {
        let off = |lines: &Lines| {
            let parts = points.iter().map(|(bytes, time, of)| (lines.time(*bytes) - time) / of);
            parts.map(|part| part * part).sum::<f64>()
        };
        let all = BEGINNINGS.map(|until| Lines::of(points, until));
        all.into_iter().min_by(|one, other| off(one).total_cmp(&off(other))).unwrap_or_default()
    }

    /// The nearest with a beginning of this many lines: each of the three in turn is set to its
    /// best, none below 0.
    fn of(points: &[(usize, f64, f64)], until: usize) -> Lines {
        let mut each = [0.0_f64; 3];
        for step in 0..STEPS {
            let which = step % each.len();
            let (mut above, mut below) = (0.0, 0.0);
            for (bytes, time, of) in points {
                let counts = Lines::counts(*bytes, until);
                let others: f64 = (0..each.len())
                    .filter(|other| *other != which)
                    .map(|other| counts[other] * each[other])
                    .sum();
                above += counts[which] * (time - others) / (of * of);
                below += counts[which] * counts[which] / (of * of);
            }
            each[which] = if below > 0.0 { (above / below).max(0.0) } else { 0.0 };
        }
        let [first, beginning, rest] = each;
        Lines { first, beginning, rest, until }
    }
}

fn words(bytes: usize) -> f64 {
    bytes.div_ceil(4) as f64
}

impl Parts {
    /// Out of what was measured; none if something was not.
    pub fn of(samples: &Samples) -> Option<Parts> {
        let figure = |item| samples.figure(item);
        let messages = SIZES.map(|bytes| Some((bytes, figure(Item::Messages(batched(), bytes))?)));
        let calls = SERVED.map(|bytes| {
            let [copied, in_place] = calls(bytes).map(figure);
            Some((bytes, [copied?, in_place?]))
        });
        let functions = functions().map(|name| Some((name, figure(Item::Function(name))?)));
        Some(Parts {
            slots: figure(Item::Limit(Kind::SlotEachWay, 0))?,
            copies: figure(Item::Limit(Kind::CopyInTurn, LONG))?,
            copy_in: figure(Item::Limit(Kind::CopyIn, LONG))?,
            eventfd: figure(Item::Limit(Kind::EventfdTicking, 0))?,
            slot: figure(Item::Messages(batched(), SLOT))?,
            rung: figure(Item::Messages(copy(), SHORT))?,
            calls: calls.into_iter().collect::<Option<_>>()?,
            stamp: figure(Item::Stamp)?,
            messages: messages.into_iter().collect::<Option<_>>()?,
            functions: functions.collect::<Option<_>>()?,
        })
    }

    /// A round trip of messages of [`SHORT`].
    fn short(&self) -> f64 {
        self.messages.first().map_or(0.0, |(_, figure)| figure.ns)
    }

    /// What a word adds to what calls take beyond their messages and their function, of which a
    /// word takes `function`: for each length, from there to the next. What calls of [`SHORT`] take
    /// beyond that is no word's. It is taken to become never less from one length to the next.
    fn serving(&self, function: f64) -> Vec<(usize, [f64; 2])> {
        let beside = |(bytes, calls): &(usize, [Figure; 2])| {
            let trip = self.messages.iter().find(|(of, _)| of == bytes);
            let other = trip.map_or(0.0, |(_, trip)| trip.ns) + function * words(*bytes);
            (*bytes, calls.map(|call| call.ns - other))
        };
        let mut all = Vec::new();
        let mut points = self.calls.iter().map(beside);
        let Some((mut from, mut before)) = points.next() else { return all };
        for (bytes, [copied, in_place]) in points {
            let more = [copied.max(before[0]), in_place.max(before[1])];
            let count = words(bytes) - words(from);
            all.push((from, [0, 1].map(|way| (more[way] - before[way]) / count)));
            (from, before) = (bytes, more);
        }
        all
    }

    /// The constants.
    pub fn constants(&self) -> Constants {
        let points: Vec<(usize, f64, f64)> = self
            .messages
            .iter()
            .map(|(bytes, trip)| {
                (*bytes, (trip.ns - self.slot.ns).max(0.0) / 2.0, trip.ns.max(1.0))
            })
            .collect();
        let echo = self.functions.iter().find(|(name, _)| *name == "echo");
        let echo = echo.map_or(0.0, |(_, word)| word.ns);
        let [copied, in_place] =
            self.calls.first().map_or([0.0; 2], |(_, of)| of.map(|one| one.ns));
        let calls = (copied + in_place) / 2.0;
        let hop = (self.slots.ns / 2.0).min(self.slot.ns / 2.0);
        let ring = ((self.rung.ns - self.short()) / 2.0).max(0.0);
        Constants {
            hop,
            message: self.slot.ns / 2.0 - hop,
            call: (calls - self.short() - echo * words(SHORT)).max(0.0),
            serve: self.serving(echo),
            lines: Lines::through(&points),
            // Of what is copied there and back, half is copied in here and out there.
            share: (2.0 * self.copy_in.ns / self.copies.ns.max(1.0)).clamp(0.0, 1.0),
            ring,
            wake: (self.eventfd.ns / 2.0 - ring).max(0.0),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn figure(ns: f64) -> Figure {
        Figure { ns, spread: 0.0, batches: 1 }
    }

    const LINES: Lines = Lines { first: 100.0, beginning: 20.0, rest: 10.0, until: 32 };

    /// Parts as if a machine had these constants.
    pub fn parts() -> Parts {
        let trip = |bytes: usize| 1000.0 + 2.0 * LINES.time(bytes);
        Parts {
            slots: figure(400.0),
            copies: figure(40_000.0),
            copy_in: figure(12_000.0),
            eventfd: figure(9000.0),
            slot: figure(1000.0),
            rung: figure(trip(SHORT) + 1000.0),
            calls: SERVED
                .map(|bytes| {
                    let word = 0.5 * words(bytes);
                    let [early, late] = [0, 12288].map(|from| {
                        words(bytes.saturating_sub(from)) - words(SHORT.saturating_sub(from))
                    });
                    let copied = 800.0 + word + 0.25 * early;
                    let in_place = 900.0 + word + 2.0 * (early - late);
                    (bytes, [copied, in_place].map(|more| figure(trip(bytes) + more)))
                })
                .to_vec(),
            stamp: figure(20.0),
            messages: SIZES.map(|bytes| (bytes, figure(trip(bytes)))).to_vec(),
            functions: vec![("echo", figure(0.5))],
        }
    }

    #[test]
    fn constants_add_up_to_what_was_measured() {
        let of = parts().constants();
        assert_eq!((of.hop, of.message, of.ring, of.wake), (200.0, 300.0, 500.0, 4000.0));
        assert!((of.call - 850.0).abs() < 1e-9 && of.share == 0.6, "{of:?}");
        let expected = [(SHORT, 2.0), (3072, 2.0), (12288, 0.0), (24576, 0.0)];
        assert_eq!(of.serve.len(), expected.len(), "{of:?}");
        for ((from, [copied, in_place]), (at, slow)) in of.serve.iter().zip(expected) {
            assert_eq!(*from, at, "{of:?}");
            assert!((copied - 0.25).abs() < 1e-9 && (in_place - slow).abs() < 1e-9, "{of:?}");
        }
        assert_eq!(of.lines.until, 32);
        for (one, other) in [
            (of.lines.first, LINES.first),
            (of.lines.beginning, LINES.beginning),
            (of.lines.rest, LINES.rest),
        ] {
            assert!((one - other).abs() < 0.01 * other, "{of:?}");
        }
    }

    #[test]
    fn nothing_takes_less_than_no_time() {
        let mut odd = parts();
        for figure in [&mut odd.slot, &mut odd.rung, &mut odd.eventfd, &mut odd.copies] {
            figure.ns = 0.0;
        }
        for (_, calls) in &mut odd.calls {
            *calls = [figure(0.0); 2];
        }
        for (_, figure) in &mut odd.messages {
            figure.ns = 5.0;
        }
        let of = odd.constants();
        let lines = [of.lines.first, of.lines.beginning, of.lines.rest];
        let each = [of.hop, of.message, of.call, of.share, of.ring, of.wake];
        let serve = of.serve.iter().flat_map(|(_, word)| word);
        for value in each.iter().chain(&lines).chain(serve) {
            assert!(value.is_finite() && *value >= 0.0, "{of:?}");
        }
    }

    #[test]
    fn a_payload_of_a_line_is_its_first_and_a_longer_one_has_all_three() {
        assert_eq!(LINES.time(1), 100.0);
        assert_eq!(LINES.time(65), 120.0);
        assert_eq!(LINES.time(64 * 33), 100.0 + 31.0 * 20.0 + 10.0);
    }
}
