//! `bench sizes`: three experiments on how a call's time depends on its size, on the memory that
//! carries it, and on how the sides learn of it. Each row's name begins with the experiment's
//! number.

use narrows::strategy::Strategy;

use super::phases::TRACED;
use super::{choice, pingpong};
use crate::base::failure::Failure;
use crate::experiments::bench::task::{
    Asked, Measure, Needs, Section, Task, Trial, iterations, make,
};
use crate::rig::pair::parts::{Floors, NAMES};
use crate::rig::place::Place;
use crate::rig::series::{NS, Series};

const BYTES: [usize; 9] = [128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768];
const ROUNDS: u16 = 9;
/// Calls that tell how long one takes, where no limit does.
const TRIAL: u64 = 8;
/// Bytes that are exchanged as a whole and in parts.
const WHOLE: usize = 32768;
/// In how many parts, and whether those are gathered in one message.
const AGGREGATES: [(u16, bool); 5] = [(32, false), (2, false), (1, false), (32, true), (2, true)];

/// A size at which two choices are compared in words.
const SHOWN: usize = 8192;

/// Figures of one strategy, a size after the other.
struct Variant {
    strategy: Strategy,
    sizes: Vec<Figures>,
}

/// Figures of one size.
#[derive(Default)]
struct Figures {
    bytes: usize,
    phases: [Series; 5],
    /// The caller's copies: A and E.
    copies: Series,
    /// Notification of both sides.
    bells: Series,
}

impl Variant {
    fn new(strategy: Strategy, sizes: &[usize]) -> Variant {
        let figures = |bytes: &usize| Figures { bytes: *bytes, ..Figures::default() };
        Variant { strategy, sizes: sizes.iter().map(figures).collect() }
    }

    /// The smallest and the largest size.
    fn ends(&self) -> Option<(&Figures, &Figures)> {
        Some((self.sizes.first()?, self.sizes.last()?))
    }

    /// The size that is compared in words.
    fn shown(&self) -> Option<&Figures> {
        self.sizes.iter().find(|size| size.bytes == SHOWN).or(self.sizes.last())
    }
}

impl Figures {
    fn round<P: Place>(
        &mut self,
        task: &mut Task<'_, P>,
        strategy: Strategy,
    ) -> Result<(), Failure> {
        let limits = Floors::measure(&mut task.pair, &strategy, self.bytes)?;
        let trip = match limits.bell.zip(limits.copy) {
            Some((bell, copy)) => bell + 2.0 * copy,
            None => task.pair.calls(strategy, self.bytes, TRIAL)?,
        };
        let count = iterations(trip).min(TRACED);
        let (_, parts) = task.pair.traced(strategy, self.bytes, count)?;
        limits.push(&mut self.phases, &parts);
        let [a, _, _, _, e] = parts.phases;
        self.copies.push(a + e, limits.copy);
        self.bells.push(parts.bells, limits.bell);
        Ok(())
    }

    /// The share of the caller's copies in A to E.
    fn copied(&self) -> Option<f64> {
        let all: Option<f64> = self.phases.iter().map(Series::middle).sum();
        Some(self.copies.middle()? / all?)
    }
}

/// Runs the three experiments with each transfer that is asked for.
///
/// # Errors
/// What is asked for cannot be, or the other process is gone.
pub(super) fn run(asked: &Asked<'_>) -> Result<Vec<Section>, Failure> {
    let args = &asked.args.axes;
    let transfers = choice::words(&args.transfer, &["copy_batched"]);
    let notifications = choice::words(&args.notify, &["interrupt", "spin"]);
    let placements = asked.placements(&["external", "internal"]);
    let placements = choice::words(&args.placement, &placements);
    let mut plans: Vec<Vec<Variant>> = Vec::new();
    for transfer in transfers {
        let mut variants: Vec<Variant> = Vec::new();
        for (n, notification) in notifications.iter().enumerate() {
            for (p, placement) in placements.iter().enumerate() {
                if n == 0 || p == 0 {
                    let name = format!("{transfer}/{notification}/{placement}");
                    let strategy = choice::strategy(&name)?;
                    let sizes = asked.sizes(strategy.placement, &BYTES)?;
                    variants.push(Variant::new(strategy, &sizes));
                }
            }
        }
        plans.push(variants);
    }
    let mut trials: Vec<Trial> = Vec::new();
    let mut steps = 0;
    for variants in &plans {
        for (at, variant) in variants.iter().enumerate() {
            trials.extend(variant.sizes.iter().map(|size| (variant.strategy, size.bytes)));
            if at == 0 {
                let longest = asked.longest(variant.strategy.placement);
                let parts = AGGREGATES.map(carried).into_iter().filter(|bytes| *bytes <= longest);
                trials.extend(parts.map(|bytes| (variant.strategy, bytes)));
                steps += variant.sizes.len() + AGGREGATES.len();
            }
        }
    }
    let needs = Needs { steps, ..Needs::of(&trials, 0) };
    make(asked, &needs, Experiments { plans, asked })
}

/// Bytes of a message that has this many parts of the whole, or all of them gathered.
fn carried((parts, gathered): (u16, bool)) -> usize {
    match gathered {
        // Gathered requests have words of their own between them.
        true => WHOLE + WHOLE / 64,
        false => WHOLE / usize::from(parts.max(1)),
    }
}

struct Experiments<'a> {
    /// The variants of each transfer.
    plans: Vec<Vec<Variant>>,
    asked: &'a Asked<'a>,
}

impl Measure for Experiments<'_> {
    fn measure<P: Place>(self, task: &mut Task<'_, P>) -> Result<Vec<Section>, Failure> {
        let mut sections = Vec::new();
        for mut variants in self.plans {
            let most = variants.iter().map(|variant| variant.sizes.len()).max().unwrap_or(0);
            for at in 0..most {
                for _ in 0..task.rounds(ROUNDS) {
                    for variant in &mut variants {
                        task.say(&variant.strategy.to_string());
                        if let Some(figures) = variant.sizes.get_mut(at) {
                            figures.round(task, variant.strategy)?;
                        }
                    }
                }
                task.step();
            }
            sections.extend(experiments(task, &variants, self.asked)?);
        }
        Ok(sections)
    }
}

/// The rows and readings of the three experiments; the first variant is the usual one.
fn experiments<P: Place>(
    task: &mut Task<'_, P>,
    variants: &[Variant],
    asked: &Asked<'_>,
) -> Result<Vec<Section>, Failure> {
    let Some(usual) = variants.first() else { return Ok(Vec::new()) };
    let mut first = Section {
        heading: format!("1. Sizes: phases of a call by {}", usual.strategy),
        ..Section::default()
    };
    for figures in &usual.sizes {
        for (series, name) in figures.phases.iter().zip(NAMES) {
            first.rows.extend(series.row(
                format!("1 {name} {}", usual.strategy),
                figures.bytes,
                NS,
            ));
        }
    }
    if let Some((small, large)) = usual.ends()
        && let (Some(at_small), Some(at_large)) = (small.copied(), large.copied())
    {
        first.reading = format!(
            "The caller's copies (A and E) are {:.1} % of A to E at {} bytes and {:.1} % at {} \
             bytes.",
            100.0 * at_small,
            small.bytes,
            100.0 * at_large,
            large.bytes
        );
    }
    let parts = aggregates(task, usual.strategy, asked.longest(usual.strategy.placement))?;
    let other = |of: fn(&Strategy, &Strategy) -> bool| -> Vec<&Variant> {
        variants.iter().filter(|v| of(&v.strategy, &usual.strategy)).collect()
    };
    let second = compared(
        format!("2. Memory: the caller's copies (A and E) with {}", usual.strategy.notification),
        "2 A+E",
        &other(|a, b| a.notification == b.notification),
        |figures| &figures.copies,
        |strategy| strategy.placement.to_string(),
    );
    let third = compared(
        format!("3. Notification of both sides, with {} memory", usual.strategy.placement),
        "3 notified",
        &other(|a, b| a.placement == b.placement),
        |figures| &figures.bells,
        |strategy| strategy.notification.to_string(),
    );
    Ok(vec![first, parts, second, third])
}

/// An experiment that compares variants with the first of them.
fn compared(
    heading: String,
    prefix: &str,
    variants: &[&Variant],
    of: fn(&Figures) -> &Series,
    name: fn(&Strategy) -> String,
) -> Section {
    let mut section = Section { heading, ..Section::default() };
    for variant in variants {
        for figures in &variant.sizes {
            let name = format!("{prefix} {}", variant.strategy);
            section.rows.extend(of(figures).row(name, figures.bytes, NS));
        }
    }
    let Some((usual, others)) = variants.split_first() else { return section };
    let readings = others.iter().filter_map(|variant| {
        let (size, base) = (variant.shown()?, usual.shown()?);
        let (value, base) = (of(size).middle()?, of(base).middle()?);
        let (this, that) = (name(&variant.strategy), name(&usual.strategy));
        Some(format!("{this} takes {:.2} of {that} at {} bytes.", value / base, size.bytes))
    });
    section.reading = readings.collect::<Vec<_>>().join(" ");
    section
}

/// The same bytes in several messages and in one.
fn aggregates<P: Place>(
    task: &mut Task<'_, P>,
    strategy: Strategy,
    longest: usize,
) -> Result<Section, Failure> {
    let mut section = Section {
        heading: format!("1. Sizes: {WHOLE} bytes in parts by {strategy}"),
        ..Section::default()
    };
    let mut middles = Vec::new();
    for (parts, gathered) in AGGREGATES {
        let bytes = WHOLE / usize::from(parts.max(1));
        let (how, messages) = if gathered { (" gathered", 1) } else { ("", parts) };
        let name = format!("1 {parts} x {bytes}{how} {strategy}");
        task.say(&name);
        if carried((parts, gathered)) > longest {
            middles.push(None);
            continue;
        }
        let carried = WHOLE / usize::from(messages.max(1));
        let floor = pingpong::floor(&strategy, carried);
        let mut series = Series::default();
        for _ in 0..task.rounds(ROUNDS) {
            let limit = task.pair.limit(floor, carried, strategy.placement)?;
            let limit = limit.map(|limit| f64::from(messages) * limit);
            let value = match gathered {
                true => task.pair.together(strategy, bytes, parts)?,
                false => task.pair.exchange(strategy, bytes, parts)?,
            };
            series.push(value, limit);
        }
        middles.push(series.middle());
        section.rows.extend(series.row(name, WHOLE, NS));
        task.step();
    }
    if let [Some(many), Some(two), Some(one), Some(gathered), _] = middles[..] {
        section.reading = format!(
            "32 calls take {:.1} times as long as one call with all of it, 2 calls {:.1} times, \
             32 requests gathered in one message {:.1} times.",
            many / one,
            two / one,
            gathered / one
        );
    }
    Ok(section)
}
