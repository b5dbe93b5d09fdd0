//! How nodes and processes end, and which others hear of it.

use narrows::endpoint::{Limits, Node};
use narrows::platform::{Event, Lost, Platform};
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Settings, Simulation, Stuck};
use narrows_sim::time::Time;
use std::cell::Cell;
use std::rc::Rc;

fn node(cpu: &Cpu, name: &str) -> Node<Cpu> {
    let limits = Limits { links: 1, endpoints: 1, flows: 1, inbox: 1, longest: 64 };
    cpu.node(name.parse().expect("a name"), limits).expect("there is room")
}

#[test]
fn a_node_that_is_dropped_closes_its_links() {
    let chip = crate::common::chip();
    let heard = Cell::new(None);
    let mut simulation = Simulation::new(&chip, Settings::default());
    simulation.process(0, "leaves", 1, |cpu| {
        let mut node = node(&cpu, "leaves");
        node.hunt(&"stays".parse().expect("a name"), None).expect("it is there");
    });
    simulation.process(1, "stays", 1, |cpu| {
        let cpu = cpu.named("stays".parse().expect("a name"));
        while heard.get().is_none() {
            cpu.pause(Time::nanos(1000));
            if let Some(Ok(Event::Lost { reason, .. })) = cpu.event() {
                heard.set(Some(reason));
            }
        }
    });
    simulation.run().expect("both end");
    assert_eq!(heard.get(), Some(Lost::Closed));
}

#[test]
fn a_node_is_linked_with_itself_and_hears_of_the_end_of_each_side() {
    let chip = crate::common::chip();
    let ended = Cell::new(false);
    let mut simulation = Simulation::new(&chip, Settings::default());
    simulation.process(0, "both", 1, |cpu| {
        let cpu = cpu.named("both".parse().expect("a name"));
        cpu.hunt(&"both".parse().expect("a name")).expect("it may");
        let mut keys = Vec::new();
        while let Some(Ok(Event::Connected(side))) = cpu.event() {
            keys.push(side.key);
        }
        assert!(keys.len() == 2 && keys[0] != keys[1], "{keys:?}");
        cpu.close(keys[0]);
        let lost = cpu.event();
        assert!(matches!(lost, Some(Ok(Event::Lost { key, .. })) if key == keys[1]));
        assert!(cpu.event().is_none());
        ended.set(true);
    });
    simulation.run().expect("it ends");
    assert!(ended.get());
}

/// Says when it is dropped.
struct Held(Rc<Cell<u32>>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn foreign_code_is_not_unwound_and_is_known_while_it_runs() {
    let chip = crate::common::chip();
    let dropped = Rc::new(Cell::new(0));
    let held = || Held(Rc::clone(&dropped));
    let (own, foreign, ends) = (held(), held(), held());
    let mut simulation = Simulation::new(&chip, Settings::default());
    simulation.process(0, "own", 1, |cpu| {
        let _held = own;
        cpu.os().receive(&[7], Time::NEVER);
    });
    simulation.foreign(1, "foreign", 1, 4 << 20, |cpu| {
        let _held = foreign;
        // More than other processes have.
        let deep = std::hint::black_box([1u8; 2 << 20]);
        assert!(cpu.runs() && deep[1 << 20] == 1);
        cpu.os().receive(&[7], Time::NEVER);
    });
    simulation.foreign(1, "ends", 1, 1 << 16, |cpu| {
        let _held = ends;
        cpu.pause(Time::nanos(1000));
        assert!(cpu.runs());
    });
    assert!(matches!(simulation.run(), Err(Stuck::Deadlock { .. })));
    assert_eq!(dropped.get(), 2, "those of the one that ends, and of the one that is unwound");
}
