//! A simulated chip as the place of a run or a bench.
//!
//! Both sides are processes of one [`Simulation`], each on a core of the chip: the caller's does
//! what a run or a bench does, the callee's serves as [`callee`] does. Times are virtual, to the
//! nanosecond and below, and a measurement looks at them for nothing. So two runs of the same
//! print the same.

mod limits;
mod place;

pub use place::Callee;

use std::cell::RefCell;
use std::time::Duration;

use narrows::endpoint::{Limits, Node};
use narrows::memory::Class;
use narrows::strategy::Placement;
use narrows_sim::chip::{Chip, Core, Link};
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Outcome, Settings, Simulation};

use crate::base::failure::{Failure, Kind};
use crate::base::machine::Machine;
use crate::base::options::{Cores, Global, Place};
use crate::base::usage;
use crate::formats::platform;
use crate::formats::platform::drawing::frequency;
use crate::formats::workload::Offer;
use crate::rig::pair::Pair;
use crate::rig::peer::{CALLEE, CALLER, Peer};
use crate::rig::{callee, crowd, service};

/// How long the caller looks for the callee, in virtual time.
const PATIENCE: Duration = Duration::from_secs(10);
/// Descriptor slots of a ring, where there are many.
const SLOTS: u32 = 16;
/// How urgent both sides are.
const PRIORITY: u32 = 1;

/// What both sides are to have room for.
#[derive(Clone)]
pub(crate) struct Needs {
    /// The longest request, response or message in bytes.
    pub longest: usize,
    /// Links of each side: one between them, and others to nodes that sleep.
    pub links: usize,
    /// Cores that are called: that of the callee, and those of the chip behind it.
    pub callees: usize,
    /// What they offer beside the library.
    pub offers: Vec<Offer>,
}

impl Default for Needs {
    fn default() -> Needs {
        Needs { longest: 0, links: 1, callees: 1, offers: Vec::new() }
    }
}

impl Place {
    /// The chip to run on; none for this machine.
    ///
    /// # Errors
    /// As [`platform::load`].
    pub(crate) fn chip(&self) -> Result<Option<Chip>, Failure> {
        let Some(name) = self.platform() else { return Ok(None) };
        platform::load(name).map(Some)
    }
}

/// What a report says about a chip.
pub fn machine(chip: &Chip) -> Machine {
    let core = |core: &Core| format!("{} {}", core.name, frequency(core.clock));
    Machine {
        cpu: chip.cores.iter().map(core).collect::<Vec<String>>().join(", "),
        cores: chip.cores.len(),
        kernel: "unknown".into(),
        virtualised: false,
        carrier: None,
        platform: Some(chip.name.clone()),
        r#virtual: true,
    }
}

/// Links two sides on a chip and has the caller's do something.
///
/// # Errors
/// What `work` says, or that the simulation got stuck.
pub(crate) fn run<R>(
    global: &Global,
    chip: &Chip,
    needs: &Needs,
    work: impl FnOnce(Peer<Cpu>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    simulate(global, chip, needs, work).map(|(made, _)| made)
}

/// As [`run`], with a pair that has what the chip allows to measure beside the stack, for
/// payloads of up to `needs.longest` bytes.
///
/// # Errors
/// As [`run`].
pub(crate) fn pair<R>(
    global: &Global,
    chip: &Chip,
    needs: &Needs,
    work: impl FnOnce(Pair<Cpu>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let limits = limits::Limits::new(chip, cores(global, chip)?);
    run(global, chip, needs, |mut peer| {
        peer.limits = Some(limits);
        work(Pair::new(peer, needs.longest)?)
    })
}

/// As [`run`]; also what came of the whole simulation, with links made and closed.
///
/// # Errors
/// As [`run`].
pub(crate) fn simulate<R>(
    global: &Global,
    chip: &Chip,
    needs: &Needs,
    work: impl FnOnce(Peer<Cpu>) -> Result<R, Failure>,
) -> Result<(R, Outcome), Failure> {
    let cores = cores(global, chip)?;
    let there = chip.cores.len().saturating_sub(cores.callee);
    if needs.callees > there {
        let text = format!(
            "{} cores are to be called, from core {} on, and {} has {there} there",
            needs.callees, cores.callee, chip.name
        );
        return Err(Failure::new(Kind::Workload, text));
    }
    let mut made = None;
    let said = RefCell::new(None);
    let mut simulation = Simulation::new(chip, Settings::default());
    simulation.process(cores.caller, CALLER, PRIORITY, |cpu| {
        let peer = node(&cpu, CALLER, needs)
            .and_then(|node| link(node, needs, Callee::new(chip, cores.callee)));
        made = Some(peer.and_then(work));
    });
    for number in 0..needs.callees {
        let (name, said) = (callee_name(number), &said);
        simulation.process(cores.callee + number, &name.clone(), PRIORITY, move |cpu| {
            match node(&cpu, &name, needs) {
                Ok(mut node) => callee::serve(&mut node, longest(needs), &needs.offers, None),
                Err(failure) => {
                    said.replace(Some(failure));
                }
            }
        });
    }
    for number in 1..needs.links {
        let name = format!("crowd-{number}");
        let said = &said;
        simulation.process(cores.callee, &name.clone(), PRIORITY, move |cpu| {
            if let Err(failure) = stand_by(&cpu, &name) {
                said.replace(Some(failure));
            }
        });
    }
    let ended = usage::run(Some(&global.monitor), simulation);
    if let Some(failure) = said.take() {
        return Err(failure);
    }
    let outcome = ended.map_err(|stuck| Failure::new(Kind::Stuck, stuck.to_string()))?;
    let lost = || Failure::new(Kind::Internal, "the simulation ended before its caller");
    Ok((made.unwrap_or_else(|| Err(lost()))?, outcome))
}

/// The first two cores, unless others are named.
///
/// # Errors
/// [`Kind::Usage`]: the chip does not have them.
pub(crate) fn cores(global: &Global, chip: &Chip) -> Result<Cores, Failure> {
    let cores = global.cores.unwrap_or(Cores { caller: 0, callee: 1 });
    let count = chip.cores.len();
    if cores.are_one() {
        let text = "--cores names one core twice, and a chip's two sides are on two: name two, or \
                    leave --cores out";
        return Err(Failure::new(Kind::Usage, text));
    }
    if cores.caller.max(cores.callee) < count {
        return Ok(cores);
    }
    let has = match count {
        1 => "one core".to_owned(),
        count => format!("{count} cores, numbered from 0"),
    };
    let name = &chip.name;
    let text = match global.cores {
        Some(Cores { caller, callee }) => {
            format!("--cores {caller},{callee} are not both there: {name} has {has}")
        }
        None => format!("caller and callee need a core each, but {name} has {has}"),
    };
    Err(Failure::new(Kind::Usage, text))
}

/// The name of a core's node that is called.
fn callee_name(number: usize) -> String {
    match number {
        0 => CALLEE.to_owned(),
        further => format!("{CALLEE}-{further}"),
    }
}

fn node(cpu: &Cpu, name: &str, needs: &Needs) -> Result<Node<Cpu>, Failure> {
    let name = name.parse().map_err(|_| defect("a name is none"))?;
    let limits = Limits {
        links: needs.links + needs.callees - 1,
        endpoints: usize::from(service::MANY_PORTS + service::MOST_PORTS),
        flows: 80,
        inbox: 1024,
        longest: longest(needs),
    };
    cpu.node(name, limits).map_err(|_| defect("there is no memory for the tables of a node"))
}

/// The longest payload of a node: a function may be answered, and a side be asked, with as much.
fn longest(needs: &Needs) -> usize {
    needs.longest.max(crate::rig::peer::ANSWER as usize)
}

/// Links the caller's node, and waits until it has all its links.
fn link(mut node: Node<Cpu>, needs: &Needs, other: Callee) -> Result<Peer<Cpu>, Failure> {
    let mut found = Vec::new();
    for number in 0..needs.callees {
        let name = callee_name(number).parse().map_err(|_| defect("a name is none"))?;
        found.push(node.hunt(&name, Some(PATIENCE)).map_err(|error| unlinked(&error))?);
    }
    while node.links().count() < needs.links + needs.callees - 1 {
        let before = node.platform().time();
        node.wait_any(Some(PATIENCE));
        node.poll();
        if node.platform().time().since(before) >= PATIENCE.into() {
            return Err(unlinked(&"others did not appear in time"));
        }
    }
    let mut found = found.into_iter();
    let link = found.next().ok_or_else(|| defect("no core is called"))?;
    let mut peer = Peer::new(node, link, other);
    peer.further = found.collect();
    Ok(peer)
}

/// A node that links with both sides and sleeps until they have ended.
fn stand_by(cpu: &Cpu, name: &str) -> Result<(), Failure> {
    let name = name.parse().map_err(|_| defect("a name is none"))?;
    let node = cpu.node(name, crowd::TABLES);
    let mut node = node.map_err(|_| defect("there is no memory for the tables of a node"))?;
    crowd::meet(&mut node).map_err(|why| unlinked(&why))?;
    crowd::stand_by(&mut node);
    Ok(())
}

fn unlinked(why: &dyn std::fmt::Display) -> Failure {
    Failure::new(Kind::Peer, format!("nodes cannot be linked on this chip: {why}"))
}

/// A chip whose links take little memory, for a bench of many with short messages.
pub(crate) fn small(chip: &Chip) -> Chip {
    let class = |size, count| Class { placement: Placement::External, size, count };
    let link =
        Link { slots: SLOTS, classes: vec![class(64, 4), class(4096, 1)], ..chip.link.clone() };
    Chip { link, ..chip.clone() }
}

fn defect(what: &str) -> Failure {
    Failure::new(Kind::Internal, format!("{what}: report this defect"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::strategy::literal;
    use narrows::platform::{Platform, Wait};
    use narrows_sim::chip::Serve;
    use narrows_sim::time::{Cost, Time};

    fn chip() -> Chip {
        platform::load("generic-amp").unwrap()
    }

    #[test]
    fn a_deadlock_is_told_with_who_waits_for_what() {
        let failure = run(&Global::default(), &chip(), &Needs::default(), |peer| {
            peer.node.platform().wait(std::iter::empty(), Wait::Bell, None);
            Ok(())
        });
        let failure = failure.unwrap_err();
        assert_eq!(failure.kind, Kind::Stuck);
        let text = failure.to_string();
        assert!(text.contains("caller waits for") && text.contains("callee waits for"), "{text}");
    }

    #[test]
    fn what_the_caller_says_comes_back_and_the_callee_ends() {
        let made = run(&Global::default(), &chip(), &Needs::default(), |mut peer| {
            peer.cpu_time()?;
            Ok(peer.node.links().count())
        });
        assert_eq!(made, Ok(1));
        let refused = Failure::new(Kind::Name, "nothing of that name");
        let made: Result<(), _> =
            run(&Global::default(), &chip(), &Needs::default(), |_| Err(refused.clone()));
        assert_eq!(made, Err(refused));
    }

    #[test]
    fn what_a_function_takes_is_charged_for_each_word_to_who_serves() {
        let call = |chip: &Chip| {
            let needs = Needs { longest: 64, ..Needs::default() };
            pair(&Global::default(), chip, &needs, |mut pair| {
                pair.calls(literal("copy/spin"), 64, 32)
            })
            .unwrap()
        };
        let before = call(&chip());
        for (core, words) in [(0, 0.0), (1, 16.0)] {
            let mut chip = chip();
            let cost = Cost::Time(Time::nanos(10_000));
            chip.cores[core].functions = vec![("busy".into(), cost), ("echo".into(), cost)];
            let longer = call(&chip) - before;
            // A look of the caller's more or less.
            assert!((longer - words * 10_000.0).abs() < 1000.0, "{core}: {longer}");
        }
    }

    #[test]
    fn serving_is_charged_by_where_the_request_is_read() {
        let call = |chip: &Chip, strategy: &str, bytes: usize| {
            let needs = Needs { longest: 256, ..Needs::default() };
            pair(&Global::default(), chip, &needs, |mut pair| {
                pair.calls(literal(strategy), bytes, 32)
            })
            .unwrap()
        };
        let mut with = chip();
        let cost = |us: u64| Cost::Time(Time::nanos(1000 * us));
        for core in &mut with.cores {
            core.serve = vec![
                Serve { from: 64, copied: cost(10), in_place: cost(20) },
                Serve { from: 128, copied: cost(40), in_place: cost(80) },
            ];
        }
        for (strategy, bytes, us) in [
            ("copy/spin", 64, 0.0),
            ("copy/spin", 256, 16.0 * 10.0 + 32.0 * 40.0),
            ("in_place/spin", 256, 16.0 * 20.0 + 32.0 * 80.0),
            // It is in the slot, which its sender cannot change.
            ("in_place/spin", 40, 0.0),
        ] {
            let longer = call(&with, strategy, bytes) - call(&chip(), strategy, bytes);
            // A look of the caller's more or less.
            assert!((longer - us * 1000.0).abs() < 1000.0, "{strategy} {bytes}: {longer}");
        }
    }

    #[test]
    fn links_that_do_not_fit_into_a_chips_memory_are_refused_in_a_sentence() {
        let needs = Needs { links: 64, ..Needs::default() };
        let mut chip = chip();
        for memory in &mut chip.memories {
            memory.size = memory.size.min(256 << 10);
        }
        let failure = run(&Global::default(), &chip, &needs, |_| Ok(())).unwrap_err();
        assert_eq!(failure.kind, Kind::Peer);
        assert!(failure.to_string().contains("cannot be linked on this chip"), "{failure}");
    }
}
