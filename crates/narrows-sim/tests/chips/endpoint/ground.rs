//! What the nodes of a test stand on: a process of a simulated chip.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use narrows::endpoint::{Limits, Node};
use narrows::link::Name;
use narrows::memory::Layout;
use narrows::platform::Platform;
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Settings, Simulation};

use super::world::{Side, World, small};

pub type Ground = Cpu;

/// The chip itself knows its nodes.
#[derive(Default)]
pub struct Net;

/// Bytes of a slot.
pub const LINE: u32 = 64;

/// Whether regions are memory that can be read and written like any other.
pub const ADDRESSED: bool = false;

thread_local! {
    /// The process that the test runs in.
    static CPU: RefCell<Option<Cpu>> = const { RefCell::new(None) };
}

/// Runs a test in a process of a small chip.
pub fn inside<R>(test: impl FnOnce() -> R) -> R {
    let mut chip = crate::common::chip();
    (chip.link.slots, chip.link.classes) = (small().slots(), small().classes().to_vec());
    // No region is taken back, and some tests make a hundred links. Untouched memory costs nothing.
    for memory in &mut chip.memories {
        memory.size = 512 << 20;
    }
    let result = Cell::new(None);
    let mut simulation = Simulation::new(&chip, Settings::default());
    simulation.process(0, "test", 1, |cpu| {
        CPU.set(Some(cpu));
        result.set(Some(test()));
        CPU.set(None);
    });
    if let Err(stuck) = simulation.run() {
        panic!("{stuck}");
    }
    result.take().expect("it has ended")
}

/// The platform of a new node. Its regions are laid out as the chip says.
pub fn make(_: &Rc<Net>, name: Name, _: Rc<Cell<Layout>>) -> Ground {
    let cpu = CPU.with_borrow(Clone::clone).expect("it runs inside");
    // The chip knows it by the platform, whichever node uses that.
    cpu.node(name, Limits::default()).expect("storage").platform().clone()
}

/// Rings the peer's bell.
pub fn ring(ground: &Ground, bell: &<Ground as Platform>::Bell) -> bool {
    ground.ring(bell);
    true
}

/// A node is dead, without a word.
pub fn bury(_: &World, _: &str, dead: Node<Side>) {
    dead.platform().ground.die();
}
