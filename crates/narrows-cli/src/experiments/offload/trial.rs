//! Flows through accelerators in the simulator, by one setting.

use std::cell::{Cell, RefCell};

use narrows_sim::chip::Chip;
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::Time;

use super::Setting;
use super::plan::{Cast, Lane, lanes};
use crate::base::failure::{Failure, Kind};
use crate::base::statistics::percentile;
use crate::formats::offload::Offload;
use crate::rig::cluster::{Broken, End, Mechanism};

/// Of a flow's blocks the first tenth fills the way: its rate is that of the others.
const FILLS: usize = 10;

/// What became of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Blocks a second, as their results came.
    pub per_second: f64,
    /// What 99 of 100 results took at most, since their block was due, in µs. Of a flow that goes
    /// as fast as it can, since its sender began to write it.
    pub p99: f64,
    /// The part of the time in which its accelerator worked, and in which it had a result and no
    /// room for it, as the one before waited for credit.
    pub busy: f64,
    pub held: f64,
}

/// The chip by a setting: FIFOs and credit of as many words as the setting says.
fn set(chip: &Chip, setting: Setting) -> Chip {
    let mut chip = chip.clone();
    if let Some(clusters) = &mut chip.clusters {
        (clusters.manager.words, clusters.manager.credits) = (setting.credits, setting.credits);
    }
    chip
}

/// When each block of a flow was due, and when its result came.
#[derive(Default)]
struct Moments {
    due: Vec<Time>,
    come: Vec<Time>,
}

/// Simulates the flows; none if the chip has no room for the setting.
///
/// # Errors
/// A block signals a fault, or nothing can run any more.
pub(super) fn carry(
    chip: &Chip,
    work: &Offload,
    cast: &Cast,
    setting: Setting,
) -> Result<Option<Vec<Figures>>, Failure> {
    let chip = &set(chip, setting);
    let Some(lanes) = lanes(chip, cast, setting) else { return Ok(None) };
    let broken = Cell::new(None);
    let note = |result: Result<(), Broken>| {
        if let Err(why) = result {
            broken.set(broken.get().or(Some(why)));
        }
    };
    let moments: Vec<RefCell<Moments>> = work.flows.iter().map(|_| RefCell::default()).collect();
    let served: Vec<Cell<[Time; 2]>> = work.flows.iter().map(|_| Cell::default()).collect();
    let mut simulation = Simulation::new(chip, Settings::default());
    for (accelerator, helper) in &cast.helpers {
        let (note, lanes) = (&note, &lanes);
        simulation.process(*helper, "sets up", 1, move |cpu| {
            let of = cast.flows.iter().zip(lanes);
            let own = of.filter(|(ends, _)| ends.accelerator == *accelerator);
            for lane in own.flat_map(|(_, lanes)| lanes) {
                note(attach(&cpu, lane));
            }
        });
    }
    for (at, flow) in work.flows.iter().enumerate() {
        let (ends, lanes, moments) = (cast.flows[at], &lanes[at], &moments[at]);
        let (note, served) = (&note, &served[at]);
        let period = flow.period.map(Time::from);
        simulation.process(ends.cores[0], "sends", 1, move |cpu| {
            note(send(&cpu, lanes, (flow.count, period), moments));
        });
        simulation.process(ends.cores[1], "receives", 1, move |cpu| {
            note(receive(&cpu, lanes, flow.count, moments));
            let done = cpu.accelerated(ends.accelerator);
            served.set([done.busy, done.held]);
        });
    }
    let run = simulation.run();
    let cannot = |why: &str| {
        let Setting { ports, credits } = setting;
        let text = format!("{}, {ports} ports, credit for {credits} words: {why}", chip.name);
        Failure::new(Kind::Workload, text)
    };
    match (broken.get(), run) {
        (Some(Broken::Signalled(fault)), _) => {
            return Err(cannot(&format!("a block signals: {fault}")));
        }
        (_, Err(stuck)) => return Err(cannot(&stuck.to_string())),
        (Some(Broken::Over), Ok(_)) => {
            let text = "blocks were lost: report this defect";
            return Err(Failure::new(Kind::Internal, text));
        }
        (None, Ok(_)) => {}
    }
    let figures = moments.iter().zip(&served).map(|(moments, served)| {
        figures(&moments.borrow(), served.get()).ok_or_else(|| cannot("no block was carried"))
    });
    figures.collect::<Result<Vec<_>, _>>().map(Some)
}

fn figures(Moments { due, come }: &Moments, [busy, held]: [Time; 2]) -> Option<Figures> {
    let first = come.len().div_ceil(FILLS);
    let (begin, end) = (*come.get(first)?, *come.last()?);
    let mut took: Vec<Time> = due.iter().zip(come).map(|(due, come)| come.since(*due)).collect();
    took.sort_unstable();
    let all = end.since(*due.first()?).micros();
    Some(Figures {
        per_second: (come.len() - 1 - first) as f64 / end.since(begin).micros() * 1e6,
        p99: percentile(&took, 99)?.micros(),
        busy: busy.micros() / all,
        held: held.micros() / all,
    })
}

/// Sets both ports of a way up for the accelerator, and lets its sender begin.
fn attach(cpu: &Cpu, lane: &Lane) -> Result<(), Broken> {
    let end = |line| End::new(cpu, Mechanism::Bmm, line).ok_or(Broken::Over);
    end(lane.from)?.open_sender()?;
    end(lane.to)?.open_receiver()
}

/// Sends blocks over the ways of a flow in turn.
fn send(
    cpu: &Cpu,
    lanes: &[Lane],
    (count, period): (u32, Option<Time>),
    moments: &RefCell<Moments>,
) -> Result<(), Broken> {
    let mut ends = Vec::new();
    for lane in lanes {
        let end = End::new(cpu, Mechanism::Bmm, lane.to).ok_or(Broken::Over)?;
        end.open_sender()?;
        ends.push(end);
    }
    let begun = cpu.time();
    for at in 0..count as usize {
        let due = match period {
            Some(period) => begun + period * at as u64,
            None => cpu.time(),
        };
        cpu.compute(due.since(cpu.time()));
        moments.borrow_mut().due.push(due);
        let which = at % lanes.len();
        let (Some(lane), Some(end)) = (lanes.get(which), ends.get_mut(which)) else {
            return Err(Broken::Over);
        };
        let buffer = lane.buffers[at / lanes.len() % 2];
        let [bytes, _] = lane.sizes;
        let block: Vec<u8> = (0..bytes).map(|byte| (byte as u8).wrapping_add(at as u8)).collect();
        cpu.store_bytes(end.memory, buffer, &block);
        end.send(buffer, bytes)?;
    }
    ends.iter_mut().try_for_each(End::settle)
}

/// Receives the results in the order of their blocks.
fn receive(
    cpu: &Cpu,
    lanes: &[Lane],
    count: u32,
    moments: &RefCell<Moments>,
) -> Result<(), Broken> {
    let mut ends = Vec::new();
    for lane in lanes {
        let end = End::new(cpu, Mechanism::Bmm, lane.from).ok_or(Broken::Over)?;
        end.open_receiver()?;
        ends.push(end);
    }
    for at in 0..count as usize {
        let which = at % lanes.len();
        let (Some(lane), Some(end)) = (lanes.get(which), ends.get_mut(which)) else {
            return Err(Broken::Over);
        };
        let [_, result] = lane.sizes;
        end.receive(lane.target, result)?;
        moments.borrow_mut().come.push(cpu.time());
    }
    Ok(())
}
