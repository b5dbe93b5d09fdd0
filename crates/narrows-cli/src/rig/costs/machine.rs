//! What flows are planned for: parameters that were measured, and budgets.

use crate::base::failure::{Failure, Kind};
use crate::base::options::{Cores, Global};
use crate::rig::pair::Pair;
use crate::rig::peer::Peer;
use crate::rig::place::Place;
use crate::rig::plan::Machine;
use crate::rig::{costs, sim};
use narrows::memory::Layout;
use narrows::platform::Platform;
use narrows::strategy::Placement;
use narrows_host::Host;
use narrows_sim::chip::Chip;
use narrows_tune::model::{Access, Parameters, Side, WHOLE};
use std::time::Duration;

/// Rounds of measuring on this machine, and on a chip, where nothing disturbs.
const ROUNDS: usize = 5;
const VIRTUAL: usize = 1;

/// What was measured, and what there is to plan with.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub parameters: Parameters<f64>,
    /// Whether there is a copy engine for both sides.
    pub engine: bool,
    /// Blocks of each side, by placement and size.
    pub classes: Vec<narrows::memory::Class>,
}

/// Measures a chip, or this machine, for messages of at most `longest` bytes.
///
/// # Errors
/// What [`sim`] or [`Peer`] refuse.
pub(crate) fn measured(
    global: &Global,
    chip: Option<&Chip>,
    longest: usize,
) -> Result<Measured, Failure> {
    let longest = longest.max(costs::LONG);
    let Some(chip) = chip else {
        let mut pair = Pair::start(global, false, longest, None)?;
        pair.warn();
        return Measured::by(&mut pair.peer, None);
    };
    let needs = sim::Needs { longest, ..sim::Needs::default() };
    let cores = sim::cores(global, chip)?;
    let on = Some((chip, cores));
    let mut made = sim::run(global, chip, &needs, |mut peer| Measured::by(&mut peer, on))?;
    costs::cold(global, chip, &mut made.parameters)?;
    Ok(made)
}

/// Both placements are blocks of the same memory here, so what was measured of them differs by what
/// else the machine did.
fn one_memory(parameters: &mut Parameters<f64>) {
    let same = |one: &mut Access<f64>, other: &mut Access<f64>| {
        let Access { write, read, block } = *one;
        let mean = Access {
            write: (write + other.write) / 2.0,
            read: (read + other.read) / 2.0,
            block: (block + other.block) / 2.0,
        };
        (*one, *other) = (mean, mean);
    };
    for Side { internal, external, internal_spin, external_spin, .. } in
        [&mut parameters.caller, &mut parameters.callee]
    {
        for (one, other) in internal.spans.iter_mut().zip(&mut external.spans) {
            same(&mut one.access, &mut other.access);
        }
        same(internal_spin, external_spin);
    }
}

impl Measured {
    /// Measures what a peer runs on: these cores of a chip, or this machine.
    ///
    /// # Errors
    /// The other side is gone.
    pub fn by<P: Place>(
        peer: &mut Peer<P>,
        on: Option<(&Chip, Cores)>,
    ) -> Result<Measured, Failure> {
        let Some((chip, cores)) = on else {
            let mut parameters = costs::measure(peer, ROUNDS, [Duration::ZERO; 2])?;
            // What is seldom here is what else the machine does, of which no longest is known.
            (parameters.seldom, parameters.seldom_spin) = (0.0, 0.0);
            (parameters.spike, parameters.one_in) = (0.0, 0);
            one_memory(&mut parameters);
            // On a chip nothing else runs while its cores sleep, and a sleep is as deep as another.
            costs::idle(peer, ROUNDS, &mut parameters)?;
            return Ok(Measured::with(parameters, None));
        };
        let tick = |core: usize| {
            let core = chip.cores.get(core);
            core.map_or(Duration::ZERO, |core| core.system.tick.at(core.clock).into())
        };
        let (caller, callee) = (tick(cores.caller), tick(cores.callee));
        let mut parameters = costs::measure(peer, VIRTUAL, [caller, callee])?;
        parameters.caller.tick = caller.as_secs_f64();
        parameters.callee.tick = callee.as_secs_f64();
        Ok(Measured::with(parameters, on))
    }

    /// What was measured elsewhere, with the blocks and the copy engine of these cores of a chip,
    /// or of this machine.
    pub fn with(parameters: Parameters<f64>, on: Option<(&Chip, Cores)>) -> Measured {
        let Some((chip, cores)) = on else {
            let standard = Layout::standard(Host::LINE).ok();
            let classes = standard.as_ref().map(Layout::classes).unwrap_or_default().to_vec();
            return Measured { parameters, engine: false, classes };
        };
        let both = |engine: &narrows_sim::chip::Engine| {
            engine.cores.contains(&cores.caller) && engine.cores.contains(&cores.callee)
        };
        let engine = chip.engines.iter().any(both);
        Measured { parameters, engine, classes: chip.link.classes.clone() }
    }

    /// What flows are planned for, within budgets: bytes of internal memory of each core to call,
    /// if not all that there is, how many such cores, and the calling core's time in parts per
    /// million.
    ///
    /// # Errors
    /// [`Kind::Internal`] if what was measured is impossible.
    pub fn within(&self, memory: Option<u32>, dsps: u8, load: u64) -> Result<Machine, Failure> {
        let machine = self.machine()?;
        let memory = memory.unwrap_or(machine.memory);
        // Of memory that the platform does not have, nobody knows the blocks.
        let known = memory <= machine.memory;
        let classes = if known { machine.classes } else { Vec::new() };
        Ok(Machine { dsps, memory, load, classes, ..machine })
    }

    /// With all memory that there is, one core to call, and all time of the one that calls.
    ///
    /// # Errors
    /// [`Kind::Internal`] if what was measured is impossible.
    pub fn machine(&self) -> Result<Machine, Failure> {
        let of = |placement| self.classes.iter().filter(move |one| one.placement == placement);
        let longest = |placement| of(placement).map(|class| class.size).max().unwrap_or(0);
        // Requests lie in the caller's blocks, responses in those of the core that is called.
        let blocks: u64 =
            of(Placement::Internal).map(|one| 2 * u64::from(one.size) * u64::from(one.count)).sum();
        let costs = self.parameters.costs().map_err(|error| {
            Failure::new(Kind::Internal, format!("what was measured is impossible: {error}"))
        })?;
        Ok(Machine {
            costs,
            dsps: 1,
            memory: u32::try_from(blocks).unwrap_or(u32::MAX),
            load: u64::from(WHOLE),
            longest: [longest(Placement::Internal), longest(Placement::External)],
            engine: self.engine,
            classes: self.classes.clone(),
        })
    }

    /// The same with the calling core this many times as slow: its own times go with its clock,
    /// what memory takes does not.
    pub fn slower(&self, times: f64) -> Measured {
        let mut scaled = self.clone();
        let Parameters {
            caller,
            ack_interrupt,
            ack_polled,
            ack_lazy,
            ack_batched,
            idle,
            engine,
            engine_internal,
            ..
        } = &mut scaled.parameters;
        for time in [
            &mut caller.request,
            &mut caller.further,
            &mut caller.interrupt,
            &mut caller.poll,
            &mut caller.look,
            &mut caller.rung,
            &mut caller.looked,
            &mut caller.timer,
            &mut caller.late,
            ack_interrupt,
            ack_polled,
            ack_lazy,
            ack_batched,
            &mut idle.interrupt,
            &mut idle.poll,
            &mut idle.coalesced,
            &mut caller.upkeep,
            &mut engine.descriptor,
            &mut engine_internal.descriptor,
        ] {
            *time *= times;
        }
        for span in caller.internal.spans.iter_mut().chain(&mut caller.external.spans) {
            span.access.block *= times;
        }
        scaled
    }
}
