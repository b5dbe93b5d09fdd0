//! Floor: a ring of slots in shared memory, payload made and read where it lies.

use std::io;

use super::{Contender, Counted, End, Kind, Mode, POLLED, Port, Role, Setup};
use crate::control::Control;
use crate::payload;
use crate::shared::Pair;

pub struct Slots;

impl Contender for Slots {
    fn name(&self) -> &'static str {
        "slot ring"
    }
    fn kind(&self) -> Kind {
        Kind::Floor
    }
    fn version(&self) -> String {
        "written for this bench".into()
    }
    fn copies(&self, _: usize) -> &'static str {
        "0"
    }
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str> {
        match mode {
            Mode::Spinning => Ok("looks at the slot"),
            Mode::Blocked => Err("see futex, which is this ring with a wake-up"),
            Mode::Hybrid => Err(POLLED),
        }
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        open(role, setup, control)
    }
}

/// Opens one end of the ring, which waits as the setup says.
pub(super) fn open(role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
    let pair = Pair::open(role, setup, setup.depth, control)?;
    Ok(Counted::boxed(Ends { pair, bytes: setup.bytes }))
}

struct Ends {
    pair: Pair,
    bytes: usize,
}

impl Port for Ends {
    fn send(&mut self, number: u64) -> io::Result<()> {
        self.pair.send(|slot| payload::make(number, slot))
    }
    fn receive(&mut self, number: u64) -> io::Result<()> {
        self.pair.receive(|slot| payload::check(number, self.bytes, slot))
    }
}
