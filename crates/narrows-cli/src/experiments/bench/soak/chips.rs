//! A soak of two cores of a simulated chip.

use std::cell::RefCell;
use std::sync::atomic::AtomicBool;

use narrows::platform::Lost;
use narrows_sim::chip::Chip;
use narrows_sim::engine::{Settings, Simulation};

use super::{Length, Soak, Taken};
use crate::base::failure::{Failure, Kind};
use crate::base::machine::Root;
use crate::base::options::Global;
use crate::base::progress::Progress;
use crate::base::usage;
use crate::experiments::bench::traffic::{Counts, Footprint, STARTER, Trouble, chips};
use crate::rig::sim;

const PARTNER: &str = "partner";
/// How urgent both sides are.
const PRIORITY: u32 = 1;

/// Makes a soak.
///
/// # Errors
/// Something was lost, or the soak could not go on.
pub fn run(
    global: &Global,
    chip: &Chip,
    length: Length,
    stopped: &AtomicBool,
    progress: &Progress,
    taken: &mut Taken,
    counts: &Counts,
) -> Result<(), Failure> {
    let cores = sim::cores(global, chip)?;
    let theirs = Counts::default();
    let ended: [RefCell<Result<(), Failure>>; 2] = [RefCell::new(Ok(())), RefCell::new(Ok(()))];
    // Both sides are in this process, and so is what simulates them.
    let footprints = || {
        Footprint::look(&Root::default(), std::process::id())
            .map(|here| [here, Footprint::default()])
    };
    let mut simulation = Simulation::new(chip, Settings::default());
    taken.routines = simulation.processes();
    simulation.process(cores.caller, STARTER, PRIORITY, |cpu| {
        *ended[0].borrow_mut() = chips::linked(&cpu, STARTER, PARTNER, false).and_then(|linked| {
            let (mut node, link) = linked;
            let soak = Soak {
                node: &mut node,
                link,
                counts,
                theirs: &theirs,
                footprints: &footprints,
                stopped,
                progress,
                taken,
                wait: &mut |_| (),
            };
            let made = soak.work(length);
            node.link(link).close();
            made.unwrap_or_else(|reason| Err(lost(reason)))
        });
    });
    simulation.process(cores.callee, PARTNER, PRIORITY, |cpu| {
        *ended[1].borrow_mut() = chips::linked(&cpu, PARTNER, STARTER, true).and_then(|linked| {
            let (mut node, link) = linked;
            match chips::work(&mut node, link, length.profile, &theirs) {
                Trouble::Lost(Lost::Closed) => Ok(()),
                Trouble::Lost(reason) => Err(lost(reason)),
                Trouble::Defect(what) => Err(Failure::new(Kind::Internal, what)),
            }
        });
    });
    let outcome = usage::run(Some(&global.monitor), simulation);
    let [here, there] = ended.map(RefCell::into_inner);
    here?;
    there?;
    outcome.map(|_| ()).map_err(|stuck| Failure::new(Kind::Stuck, stuck.to_string()))
}

fn lost(reason: Lost) -> Failure {
    Failure::new(Kind::Peer, format!("the other core is lost: {reason}"))
}
