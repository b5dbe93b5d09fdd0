//! Two nodes on two cores of a chip, for experiments: one calls, one is called.

use crate::base::failure::{Failure, Kind};
use narrows::endpoint::{Function, Limits, Node};
use narrows::link::LinkId;
use narrows::platform::Watch;
use narrows_sim::chip::Chip;
use narrows_sim::cpu::{Cpu, RegionWords};
use narrows_sim::engine::{Settings, Simulation};
use std::cell::Cell;
use std::error::Error;
use std::fmt::Display;
use std::iter::Empty;
use std::rc::Rc;

/// What a part of an experiment gives.
pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// Where the caller runs.
pub const CALLER: usize = 0;
/// Where the callee runs.
pub const CALLEE: usize = 1;
/// How urgent they are.
pub const PRIORITY: u32 = 2;

/// No words to watch.
pub const NOTHING: Empty<Watch<'static, RegionWords>> = std::iter::empty();

/// One end of a link.
pub struct Side {
    /// The process.
    pub cpu: Cpu,
    /// Its node.
    pub node: Node<Cpu>,
    /// The link to the other end.
    pub link: LinkId,
}

/// Has `caller` and `callee` run on the first two cores, linked, until both have ended. `beside`
/// can add other processes.
///
/// # Errors
/// [`Kind::Stuck`] if the simulation gets stuck, [`Kind::Internal`] with what either of them says.
pub fn run<'a, R>(
    chip: &Chip,
    beside: impl FnOnce(&mut Simulation<'a>),
    caller: impl FnOnce(Side) -> Outcome<R> + 'a,
    callee: impl FnOnce(Side) -> Outcome<()> + 'a,
) -> Result<R, Failure>
where
    R: 'a,
{
    // Processes may borrow for longer than this call, so what they leave is shared, not borrowed.
    let made = Rc::new(Cell::new(None));
    let said = Rc::new(Cell::new(None));
    let mut simulation = Simulation::new(chip, Settings::default());
    let left = Rc::clone(&made);
    simulation.process(CALLER, "caller", PRIORITY, move |cpu| {
        left.set(Some(hunt(&cpu).and_then(caller)));
    });
    let left = Rc::clone(&said);
    simulation.process(CALLEE, "callee", PRIORITY, move |cpu| {
        left.set(Some(meet(&cpu).and_then(callee)));
    });
    beside(&mut simulation);
    simulation.run().map_err(|stuck| Failure::new(Kind::Stuck, stuck.to_string()))?;
    match (made.take(), said.take()) {
        (Some(Err(error)), _) | (_, Some(Err(error))) => Err(failed(&error)),
        (Some(Ok(made)), Some(Ok(()))) => Ok(made),
        _ => Err(failed(&"it ended before it was done")),
    }
}

fn failed(what: &dyn Display) -> Failure {
    Failure::new(Kind::Internal, format!("an experiment failed in the simulator: {what}"))
}

fn hunt(cpu: &Cpu) -> Outcome<Side> {
    let mut node = cpu.node("caller".parse()?, Limits::default())?;
    let link = node.hunt(&"callee".parse()?, None)?;
    Ok(Side { cpu: cpu.clone(), node, link })
}

fn meet(cpu: &Cpu) -> Outcome<Side> {
    let mut node = cpu.node("callee".parse()?, Limits::default())?;
    loop {
        node.poll();
        let up = node.links().next();
        if let Some((link, _)) = up {
            return Ok(Side { cpu: cpu.clone(), node, link });
        }
        node.wait_any(None);
    }
}

/// Serves calls until the link ends, waiting as the flows say that it does.
///
/// # Errors
/// There are none.
pub fn serve(mut side: Side, library: &mut [Function<'_>]) -> Outcome<()> {
    while side.node.link(side.link).check().is_ok() {
        let _ = side.node.serve(library, None);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows::platform::{Platform, Wait};

    fn chip() -> Chip {
        crate::formats::platform::load("davinci").unwrap()
    }

    #[test]
    fn whoever_fails_is_told() {
        let serves = |side: Side| serve(side, &mut []);
        let fails = |_: Side| Err("a reason".into());
        let failure = run::<()>(&chip(), |_| {}, fails, serves).unwrap_err();
        assert_eq!(failure.kind, Kind::Internal);
        assert!(failure.to_string().ends_with("a reason"), "{failure}");
        let failure = run(&chip(), |_| {}, serves, fails).unwrap_err();
        assert!(failure.to_string().ends_with("a reason"), "{failure}");
    }

    #[test]
    fn a_deadlock_is_told_as_one() {
        let waits = |side: Side| {
            side.cpu.wait(NOTHING, Wait::Bell, None);
            Ok(())
        };
        let failure = run(&chip(), |_| {}, waits, waits).unwrap_err();
        assert_eq!(failure.kind, Kind::Stuck);
        assert!(failure.to_string().contains("caller"), "{failure}");
    }
}
