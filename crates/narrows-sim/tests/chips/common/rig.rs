//! The chip that the suite of all drivers runs on.

use narrows::conformance::{Rig, Side};
use narrows::endpoint::{Function, Limits, Node, Sink, Source};
use narrows_sim::chip::Chip;
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Settings, Simulation};
use std::time::Duration;

/// Two linked nodes on the first two cores of a chip.
pub struct Simulated {
    pub chip: Chip,
    pub settings: Settings,
}

impl From<Chip> for Simulated {
    fn from(chip: Chip) -> Simulated {
        Simulated { chip, settings: Settings::default() }
    }
}

const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));

impl Rig for Simulated {
    type Platform = Cpu;

    fn run(&self, caller: Side<'_, Cpu>, callee: Side<'_, Cpu>) {
        let done = std::cell::Cell::new(0);
        let end = |node: &mut narrows::endpoint::Node<Cpu>| {
            done.set(done.get() + 1);
            while done.get() < 2 {
                node.wait_any(Some(Duration::from_millis(1)));
            }
        };
        let mut simulation = Simulation::new(&self.chip, self.settings);
        simulation.process(0, "caller", 1, |cpu: Cpu| {
            let name = "caller".parse().expect("a name");
            let mut node = cpu.node(name, Limits::default()).expect("storage");
            let link = node.hunt(&"callee".parse().expect("a name"), PATIENCE).expect("a link");
            caller(&mut node, link);
            end(&mut node);
        });
        simulation.process(1, "callee", 1, |cpu: Cpu| {
            let name = "callee".parse().expect("a name");
            let mut node = cpu.node(name, Limits::default()).expect("storage");
            let link = loop {
                let up = node.links().next();
                if let Some((link, _)) = up {
                    break link;
                }
                node.wait_any(PATIENCE);
                node.poll();
            };
            callee(&mut node, link);
            end(&mut node);
        });
        if let Err(stuck) = simulation.run() {
            panic!("{stuck}");
        }
    }
}

/// Serves the function echo, which gives back the first byte, to the node caller while that is
/// there.
pub fn serve_echo(node: &mut Node<Cpu>) {
    let link = node.hunt(&"caller".parse().unwrap(), PATIENCE).unwrap();
    let mut echo = |request: &dyn Source, response: &mut dyn Sink| {
        let mut byte = [0];
        request.read(0, &mut byte)?;
        response.write(0, &byte)
    };
    let mut library = [Function { name: "echo".parse().unwrap(), run: &mut echo }];
    while node.link(link).check().is_ok() {
        let _ = node.serve(&mut library, None);
    }
}
