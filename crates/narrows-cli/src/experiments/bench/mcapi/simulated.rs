//! Both sides as processes of a simulated chip.
//!
//! They are as any program in C there: their calls are the library's, on stacks of their own. What
//! they do between calls takes no time.

use crate::base::failure::{Failure, Kind};
use crate::base::options::Global;
use crate::base::usage;
use crate::experiments::mcapi::STACK;
use crate::rig::limit::Laps;
use crate::rig::mcapi::calls::{Calls, Outcome, Refused};
use crate::rig::mcapi::home;
use crate::rig::mcapi::side::{Ends, Payload, peer_of};
use crate::rig::pair::{corrupted, defect};
use crate::rig::service::mcapi::{Batch, LONGEST};
use crate::rig::sim;
use narrows_sim::chip::Chip;
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Settings, Simulation};
use std::cell::RefCell;

/// The number of the node that measures.
const NODE: u32 = 1;
/// How urgent both sides are.
const PRIORITY: u32 = 1;

/// Batches between two nodes in which waits look for this many microseconds before they sleep.
pub(super) struct Session {
    pub look: u32,
    pub batches: Vec<Batch>,
}

/// Nanoseconds of an exchange, for each batch of each session; none if what arrived is not what was
/// sent.
type Times = Vec<Option<f64>>;

/// Measures batches.
///
/// # Errors
/// [`Kind::Stuck`], or a call failed.
pub(super) fn measure(
    global: &Global,
    chip: &Chip,
    sessions: &[Session],
) -> Result<Vec<f64>, Failure> {
    let cores = sim::cores(global, chip)?;
    let chip = home::linked(chip).ok_or_else(|| defect("links of MCAPI have no layout"))?;
    let (called, answered) = (RefCell::new(None), RefCell::new(None));
    let mut simulation = Simulation::new(&chip, Settings::default());
    simulation.foreign(cores.caller, "caller", PRIORITY, STACK, |cpu| {
        let done = home::within(&cpu, false, || call(&cpu, sessions));
        called.replace(Some(done));
    });
    simulation.foreign(cores.callee, "callee", PRIORITY, STACK, |cpu| {
        let done = home::within(&cpu, false, || answer(sessions));
        answered.replace(Some(done));
    });
    let ran = usage::run(Some(&global.monitor), simulation);
    home::forget();
    let refused = |refused: Refused| Failure::new(Kind::Internal, refused.to_string());
    if let Some(Err(why)) = answered.take() {
        return Err(refused(why));
    }
    ran.map_err(|stuck| Failure::new(Kind::Stuck, stuck.to_string()))?;
    let times = called.take().ok_or_else(|| defect("the simulation ended before its caller"))?;
    let times = times.map_err(refused)?;
    times.into_iter().collect::<Option<_>>().ok_or_else(corrupted)
}

fn call(cpu: &Cpu, sessions: &[Session]) -> Outcome<Times> {
    let calls = Calls::SIMULATED;
    let mut out: Vec<u8> = (0..LONGEST).map(|at| (at * 7) as u8).collect();
    let mut back = vec![0; LONGEST];
    let mut times = Vec::new();
    for session in sessions {
        calls.initialize(NODE, session.look)?;
        let ends = Ends::calling(calls, NODE)?;
        for batch in &session.batches {
            let payload = Payload { out: &mut out, back: &mut back };
            let laps = Laps::by(cpu.clone(), batch.count);
            times.push(match &ends {
                Some(ends) => ends.measure(batch, laps, 1, payload)?,
                None => None,
            });
        }
        calls.finalize()?;
    }
    Ok(times)
}

fn answer(sessions: &[Session]) -> Outcome<()> {
    let calls = Calls::SIMULATED;
    let mut buffer = vec![0; LONGEST];
    for session in sessions {
        calls.initialize(peer_of(NODE), session.look)?;
        let ends = Ends::answering(calls, NODE)?;
        for batch in &session.batches {
            ends.answer(batch, &mut buffer)?;
        }
        calls.finalize()?;
    }
    Ok(())
}
