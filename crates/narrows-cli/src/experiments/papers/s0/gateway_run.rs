//! The media gateway of S1 section 5.2 once more: the stack carries its sessions on the simulated
//! chip, and its controller chooses. What the source did not do.
//!
//! It chooses by the same published constants and among the same strategies as the model alone
//! ([`super::gateway`]), and reckons internal memory as the source does, so that only where the
//! load is read differs: at the simulated ARM. The chip's internal memory is larger than it is, as
//! that is what is varied, and reading its timer takes nothing, as in S0's phases.

use super::gateway::{AUDIO, ENCODED, Gateway, READING, SAMPLES, SESSIONS, Static, VIDEO};
use crate::base::failure::{Failure, Kind};
use crate::base::options::Global;
use crate::experiments::papers::row::Found;
use crate::experiments::run::{self, Fared, Outcome, Own, Setup};
use crate::formats::functions::cost::Costs;
use crate::formats::strategy::Policy;
use crate::formats::workload::{Flow, Presence, Source, Work, Workload};
use crate::rig::sim::{self, Needs};
use narrows::memory::Class;
use narrows::strategy::{Placement, Strategy};
use narrows_sim::chip::{Chip, Core};
use narrows_tune::control::Settings;
use narrows_tune::optimise::Dsp;
use std::time::Duration;

/// How long sessions last, in virtual time: whole periods of both kinds.
const TIME: Duration = Duration::from_secs(2);
/// Frames of a session that may be under way: three between two looks, and one.
const DEPTH: usize = 4;

/// What came of sessions.
pub struct Carried {
    /// Of the ARM, in percent.
    pub load: f64,
    /// Internal memory, as the source reckons it: of the DSP of which most is taken.
    pub memory: u64,
    /// Of all DSPs.
    pub all: u64,
}

/// The chip with as much internal memory as sessions can use, and this many cores like its DSP.
fn roomy(chip: &Chip, dsps: usize) -> Chip {
    let mut chip = chip.clone().with_free_timers();
    let core = chip.cores.last().cloned();
    for number in 1..dsps {
        let name = format!("dsp-{number}");
        chip.cores.extend(core.clone().map(|core| Core { name, ..core }));
    }
    for memory in chip.memories.iter_mut().filter(|memory| memory.name == "ram") {
        memory.size = (dsps as u32) << 20;
    }
    let class = |size, count| Class { placement: Placement::Internal, size, count };
    chip.link.classes.retain(|class| class.placement != Placement::Internal);
    chip.link.classes.splice(0..0, [class(512, 16), class(32 << 10, 8)]);
    chip
}

fn flow(name: String, kind: usize, by: Strategy) -> Flow {
    let (period, request, response) =
        [(AUDIO, SAMPLES, READING.response), (VIDEO, READING.frame, ENCODED)][kind];
    Flow {
        name,
        work: Work::Busy(Duration::ZERO),
        cost: Costs::Unsaid,
        source: Source::Own {
            input: None,
            period: Some(period),
            jitter: Duration::ZERO,
            burst: 1,
            count: None,
            depth: DEPTH,
            recorded: None,
        },
        request: request as usize,
        response: response as usize,
        parts: 1,
        deadline: None,
        output: None,
        r#static: Some(by),
        presence: Presence::Always,
        seed: 1,
        dsp: None,
    }
}

/// What comes of sessions that are there at such times, by static strategies or as the controller
/// chooses.
fn outcome(
    chip: &Chip,
    dsps: usize,
    memory: u32,
    sessions: [usize; 2],
    presence: &[Presence],
    fixed: Option<Static>,
) -> Result<Outcome, Failure> {
    let policy = fixed.map_or(Policy::Auto, |_| Policy::Static);
    let gateway = Gateway::new(READING, memory)?;
    let worst = gateway.fixed(fixed.unwrap_or(Static::Cheapest))?;
    let subjects = gateway.sessions(sessions[0], sessions[1])?;
    let kinds = (0..2).flat_map(|kind| vec![kind; sessions[kind]]);
    let flows: Vec<Flow> = kinds
        .enumerate()
        .zip(presence)
        .map(|((at, kind), presence)| Flow {
            presence: *presence,
            ..flow(format!("session-{at}"), kind, worst[kind])
        })
        .collect();
    let own = subjects.into_iter().zip(&flows).map(|(subject, flow)| Own {
        name: flow.name.clone(),
        flow: subject.flow,
        strategies: subject.strategies,
    });
    let setup = Setup {
        costs: gateway.machine.costs,
        dsps: vec![Dsp { memory, work: narrows_tune::model::WHOLE }; dsps],
        load: gateway.machine.load,
        settings: Settings::default(),
        flows: own.collect(),
        known: true,
    };
    let name = "gateway".to_owned();
    let strategies = vec![policy];
    let workload = Workload {
        name,
        duration: TIME,
        strategies,
        memory: Some(memory),
        flows,
        changes: Vec::new(),
    };
    let needs = Needs { longest: READING.frame as usize, callees: dsps, ..Needs::default() };
    sim::run(&Global::default(), &roomy(chip, dsps), &needs, |mut peer| {
        run::known(&mut peer, &workload, policy, &setup)
    })
}

/// Carries sessions to `dsps` DSPs of `memory` bytes each, by static strategies or as the
/// controller chooses.
///
/// # Errors
/// [`Kind::Internal`] if there is no plan, or the simulation gets stuck.
pub fn carry(
    chip: &Chip,
    dsps: usize,
    memory: u32,
    sessions: [usize; 2],
    fixed: Option<Static>,
) -> Result<Carried, Failure> {
    let always = vec![Presence::Always; sessions.iter().sum()];
    carried(outcome(chip, dsps, memory, sessions, &always, fixed)?)
}

/// What was carried, if all of it was.
fn carried(outcome: Outcome) -> Result<Carried, Failure> {
    if let Some(failure) = outcome.failure {
        return Err(failure);
    }
    let whole = |fared: &Fared| match fared {
        Fared::Ran(figures, _) => {
            figures.received > 0 && (figures.sent, figures.wrong) == (figures.received, 0)
        }
        Fared::Refused(_) => false,
    };
    if !outcome.flows.iter().all(whole) {
        let text = "a session of the gateway was refused, or lost something: report this defect";
        return Err(Failure::new(Kind::Internal, text));
    }
    let [load, _] = outcome.load();
    let last = outcome.decisions.last();
    let memory = last.map_or(0, |row| row.memory_most_bytes);
    Ok(Carried { load, memory, all: last.map_or(0, |row| row.memory_bytes) })
}

/// One and two sessions of audio with 1 KiB: by how much the controller cuts their load, in
/// percent.
///
/// # Errors
/// As [`carry`].
pub fn small(chip: &Chip, fixed: Static) -> Result<Found, Failure> {
    let load = |sessions, by| carry(chip, 1, 1024, sessions, by).map(|made| made.load);
    let mut found = Found::new();
    for (key, audio) in [("1A.cut", 1), ("2A.cut", 2)] {
        let cut = 1.0 - load([audio, 0], None)? / load([audio, 0], Some(fixed))?;
        found.insert(key.to_owned(), cut * 100.0);
    }
    found.insert("2A+2V.static".to_owned(), load([2, 2], Some(fixed))?);
    Ok(found)
}

/// As `2A.cut` of [`small`], of sessions that do not begin together but half a period apart.
///
/// # Errors
/// As [`carry`].
pub fn apart(chip: &Chip, fixed: Static) -> Result<f64, Failure> {
    let later = Presence::Once { arrives: Some(AUDIO / 2), leaves: None };
    let load = |by| {
        let made = outcome(chip, 1, 1024, [2, 0], &[Presence::Always, later], by)?;
        carried(made).map(|made| made.load)
    };
    Ok((1.0 - load(None)? / load(Some(fixed))?) * 100.0)
}

/// Three sessions of each with all the memory they can use.
///
/// # Errors
/// As [`carry`].
pub fn unlimited(chip: &Chip) -> Result<Found, Failure> {
    let made = carry(chip, 1, u32::MAX, [SESSIONS, SESSIONS], None)?;
    let found = [("arm_percent", made.load), ("memory_kib", made.memory as f64 / 1024.0)];
    Ok(found.map(|(key, value)| (key.to_owned(), value)).into())
}

/// Internal memory of each of two DSPs.
const EACH: u32 = 32 << 10;

/// Four sessions of each on two DSPs, static and as the controller chooses, and as it does with
/// one.
fn four_of_each(chip: &Chip) -> Result<[Carried; 3], Failure> {
    Ok([
        carry(chip, 2, EACH, [4, 4], Some(Static::Cheapest))?,
        carry(chip, 2, EACH, [4, 4], None)?,
        carry(chip, 1, EACH, [4, 4], None)?,
    ])
}

/// What comes of four sessions of each on two DSPs, in a sentence: of that the source has no
/// figures.
///
/// # Errors
/// As `carry`.
pub fn two_dsps(chip: &Chip) -> Result<String, Failure> {
    let [fixed, auto, one] = four_of_each(chip)?;
    let kib = |bytes: u64| bytes as f64 / 1024.0;
    Ok(format!(
        "Four sessions of audio and four of video on two DSPs of {:.0} KiB each, carried by the stack: \
         {:.1} % of the ARM by the cheapest static strategies, in turn to either DSP; {:.1} % as the controller \
         chooses, with {:.1} KiB of both and at most {:.1} of one; {:.1} % with one DSP. The source has \
         no figures of this.",
        kib(EACH.into()),
        fixed.load,
        auto.load,
        kib(auto.all),
        kib(auto.memory),
        one.load
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::papers::s0;

    /// Loads that differ by less are equal: where looks come to lie.
    const EQUAL: f64 = 0.02;
    /// The part of a load that a switch has to save, and that those of the beginning may take.
    const SAVES: f64 = 0.02;

    #[test]
    fn the_controller_is_never_worse_than_static_and_keeps_to_the_memory() {
        let chip = s0::chip().unwrap();
        for memory in [1 << 10, 16 << 10, 32 << 10, u32::MAX] {
            for sessions in [[1, 0], [2, 0], [1, 1], [2, 2], [3, 3]] {
                let auto = carry(&chip, 1, memory, sessions, None).unwrap();
                assert!(auto.memory <= u64::from(memory), "{memory} {sessions:?}");
                // Several that begin together share interrupts only after a switch.
                let several = sessions.iter().any(|count| *count > 1);
                for fixed in [Static::Named, Static::Cheapest] {
                    let made = carry(&chip, 1, memory, sessions, Some(fixed)).unwrap();
                    let cell = format!("{memory} {sessions:?}, {fixed:?}");
                    println!("{cell}: {} {}", auto.load, made.load);
                    let switched = if several { made.load * SAVES } else { 0.0 };
                    assert!(auto.load <= made.load + EQUAL + switched, "{cell}");
                }
            }
        }
    }

    #[test]
    fn on_two_dsps_sessions_have_the_memory_of_both() {
        let chip = s0::chip().unwrap();
        let [fixed, auto, one] = four_of_each(&chip).unwrap();
        assert!(auto.load <= fixed.load + EQUAL && auto.load < one.load, "{}", auto.load);
        assert!(auto.memory <= u64::from(EACH) && one.memory <= u64::from(EACH));
        // More than one of them has: both are used.
        assert!(auto.all > u64::from(EACH), "{}", auto.all);
    }

    #[test]
    fn a_session_moves_to_the_dsp_whose_memory_has_become_free() {
        let chip = s0::chip().unwrap();
        // Each has memory for two sessions of audio: the first two are at one, two more at the
        // other, and the fifth has none, at the first. They begin apart, so none shares an
        // interrupt.
        let leaves = Some(Duration::from_millis(700));
        let presence = [0, 1, 2, 3, 4].map(|at| Presence::Once {
            arrives: (at > 0).then(|| AUDIO / 5 * at),
            leaves: leaves.filter(|_| at == 2),
        });
        let made = outcome(&chip, 2, 2 << 10, [5, 0], &presence, None).unwrap();
        assert_eq!(made.failure, None);
        let moves = made.decisions.iter().flat_map(|row| &row.switches);
        let moves: Vec<_> = moves.filter(|switch| switch.core.is_some()).collect();
        assert!(!moves.is_empty(), "{:?}", made.decisions);
        for switch in moves {
            assert!(switch.took_ms.is_some(), "{switch:?}");
            assert!(switch.load_after_percent < switch.load_before_percent, "{switch:?}");
        }
        for fared in &made.flows {
            let Fared::Ran(figures, _) = fared else { panic!("a session was refused") };
            assert!(figures.received > 0);
            assert_eq!((figures.sent, figures.wrong, figures.late), (figures.received, 0, 0));
        }
    }
}
