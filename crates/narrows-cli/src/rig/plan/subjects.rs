//! The flows of a workload as the model has them, and what each may travel by.

use crate::base::failure::{Failure, Kind};
use crate::formats::functions;
use crate::formats::functions::cost::taken;
use crate::formats::workload::{Flow, Offer, Offers, Source, Work, Workload};
use crate::rig::plan::Subject;
use narrows::strategy::{Notification, Parts, Strategy};
use narrows_sim::chip::Chip;
use narrows_tune::model;
use std::time::{Duration, Instant};

const DRIVERS: [&str; 6] =
    ["copy", "copy_lazy", "copy_batched", "single_copy", "in_place", "copy_engine"];
/// Without spinning: what spins looks between calls too, and leaves the core no time for anything
/// else.
const NOTIFICATIONS: [&str; 3] = ["interrupt", "hybrid", "coalesced"];
const SPIN: [&str; 1] = ["spin"];
/// Requests in a message.
const GRANULARITIES: [u16; 3] = [1, 2, 4];
/// Parts of a period after which a response is looked for, and the shortest time between looks.
const PARTS: [u32; 3] = [1, 2, 4];
const SHORTEST: Duration = Duration::from_micros(10);
/// Parts of a request that is cut, as far as a flow may have that number, and how many of them may
/// be under way.
const CUTS: [u16; 14] = [2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 64];
const AT_ONCE: [u16; 2] = [1, 2];
/// Runs of a function whose time is measured.
const RUNS: usize = 15;

/// The flows. Strategies that are `named` take the place of those that make sense, of which `spin`
/// says whether spinning is one.
///
/// # Errors
/// As [`Offers::new`]; [`Kind::Internal`] for a flow that follows one that is not there.
pub(crate) fn subjects(
    workload: &Workload,
    chip: Option<(&Chip, usize)>,
    named: &[Strategy],
    spin: bool,
) -> Result<Vec<Subject>, Failure> {
    let offers = Offers::new(workload, chip.map(|(chip, _)| chip.name.as_str()))?;
    workload
        .flows
        .iter()
        .enumerate()
        .map(|(number, flow)| {
            let offer = offers.get(number);
            let Pace { period, jitter, burst, depth } = pace(workload, flow)?;
            let work = |request, response| match (&flow.work, offer, chip) {
                (Work::Busy(time), ..) => *time,
                (_, Some(offer), Some((chip, core))) => on_chip(chip, core, offer, request),
                (work, Some(offer), None) => here(work, offer, request, response),
                (_, None, _) => Duration::ZERO,
            };
            let (whole, fixed) = works(flow, work);
            let follows = matches!(flow.source, Source::After(_));
            let long = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
            Ok(Subject {
                name: flow.name.clone(),
                flow: model::Flow {
                    period,
                    request: long(flow.request),
                    response: long(flow.response),
                    work: whole,
                    fixed,
                    deadline: flow.deadline,
                    jitter,
                    burst,
                    depth: u16::try_from(depth).unwrap_or(u16::MAX),
                },
                strategies: match named {
                    [] => sensible(period, depth, follows, spin, flow.parts),
                    named => named.to_vec(),
                },
            })
        })
        .collect()
}

/// What a function takes for a whole request, and what of that it takes for the shortest part too:
/// as a line through both goes on.
fn works(flow: &Flow, of: impl Fn(usize, usize) -> Duration) -> (Duration, Duration) {
    let whole = of(flow.request, flow.response);
    if flow.parts == 1 || matches!(flow.work, Work::Busy(_)) {
        return (whole, Duration::ZERO);
    }
    let parts = Parts { count: flow.parts, at_once: 1 };
    let [request, response] = flow.part(parts, [flow.request, flow.response]);
    let all = of(request, response).saturating_mul(flow.parts.into());
    (whole, (all.saturating_sub(whole) / u32::from(flow.parts - 1)).min(whole))
}

/// When a flow's requests come.
struct Pace {
    /// From one request to the next, if that is not whenever there is room.
    period: Option<Duration>,
    jitter: Duration,
    burst: u16,
    /// Calls under way at once.
    depth: usize,
}

/// A flow that follows another has its pace.
fn pace(workload: &Workload, flow: &Flow) -> Result<Pace, Failure> {
    match &flow.source {
        Source::Own { period, jitter, burst, depth, .. } => {
            Ok(Pace { period: *period, jitter: *jitter, burst: *burst, depth: *depth })
        }
        Source::After(before) => match workload.flows.get(*before) {
            Some(before) => Ok(Pace { depth: 1, ..pace(workload, before)? }),
            None => Err(Failure::new(Kind::Internal, "a flow follows one that is not there")),
        },
    }
}

/// Every driver with every notification in both memories, looks at parts of the period, and several
/// requests in a message where they are this flow's own and as many may be under way; or a request
/// in several parts, `most` at most.
fn sensible(
    period: Option<Duration>,
    depth: usize,
    follows: bool,
    spin: bool,
    most: u16,
) -> Vec<Strategy> {
    let counts = CUTS.into_iter().filter(|count| *count <= most);
    let cuts = counts.flat_map(|count| AT_ONCE.map(|at_once| Parts { count, at_once }));
    let cuts: Vec<Parts> = cuts.collect();
    let parts = PARTS.iter().filter_map(|part| Some(period? / *part));
    let looks = parts.chain([Duration::from_millis(1)]);
    let mut looks: Vec<Duration> = looks.filter(|every| *every >= SHORTEST).collect();
    looks.sort();
    looks.dedup();
    let mut all = Vec::new();
    for driver in DRIVERS {
        for placement in crate::formats::strategy::PLACEMENTS {
            let names = NOTIFICATIONS.iter().chain(SPIN.iter().filter(|_| spin));
            let named = names.map(|name| format!("{driver}/{name}/{placement}"));
            let named = named.filter_map(|text| text.parse::<Strategy>().ok());
            let base: Option<Strategy> = format!("{driver}/{placement}").parse().ok();
            let polled = looks.iter().filter_map(|every| {
                let notification = Notification::Poll { every: *every };
                Strategy { notification, ..base? }.check().ok()
            });
            for strategy in named.chain(polled) {
                let most = if follows { 1 } else { depth };
                let counts = GRANULARITIES.iter().filter(|count| usize::from(**count) <= most);
                all.extend(counts.map(|count| Strategy { granularity: *count, ..strategy }));
                all.extend(cuts.iter().map(|parts| Strategy { parts: *parts, ..strategy }));
            }
        }
    }
    all
}

/// What a function takes on a core of a chip.
fn on_chip(chip: &Chip, core: usize, offer: &Offer, request: usize) -> Duration {
    let core = chip.cores.get(core);
    core.map_or(Duration::ZERO, |core| taken(core, &offer.name, offer.cost, request).into())
}

/// What a function takes here.
fn here(work: &Work, offer: &Offer, request: usize, response: usize) -> Duration {
    let order = functions::Order { busy_ns: 0, response: response as u32, call: 0 }.to_bytes();
    let mut out: Vec<u8> = (0..request).map(|at| (at * 7) as u8).collect();
    if *work == Work::Log {
        out.get_mut(..order.len()).unwrap_or_default().copy_from_slice(&order);
    }
    let mut back = vec![0; response];
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            let _ = std::hint::black_box(offer.body.answer(std::hint::black_box(&out), &mut back));
            start.elapsed()
        })
        .collect();
    times.sort();
    times.get(RUNS / 2).copied().unwrap_or_default()
}
