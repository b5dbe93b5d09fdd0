//! Floor: payload copied from private memory into shared memory on one core and out of it into
//! private memory on the other. What anything that copies twice has to pay.

use std::io;

use super::{Contender, Counted, End, Kind, Mode, POLLED, Port, Role, Setup};
use crate::control::Control;
use crate::payload;
use crate::shared::Pair;

pub struct Memcpy;

impl Contender for Memcpy {
    fn name(&self) -> &'static str {
        "memcpy"
    }
    fn kind(&self) -> Kind {
        Kind::Floor
    }
    fn version(&self) -> String {
        "written for this bench".into()
    }
    fn copies(&self, _: usize) -> &'static str {
        "2: into shared memory, out of it"
    }
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str> {
        match mode {
            Mode::Spinning => Ok("looks at the slot"),
            Mode::Blocked | Mode::Hybrid => Err(POLLED),
        }
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        let pair = Pair::open(role, setup, setup.depth, control)?;
        let own = || vec![0; setup.bytes];
        Ok(Counted::boxed(Ends { pair, out: own(), into: own() }))
    }
}

struct Ends {
    pair: Pair,
    out: Vec<u8>,
    into: Vec<u8>,
}

impl Port for Ends {
    fn send(&mut self, number: u64) -> io::Result<()> {
        payload::make(number, &mut self.out);
        self.pair.send(|slot| slot.copy_from_slice(&self.out))
    }
    fn receive(&mut self, number: u64) -> io::Result<()> {
        self.pair.receive(|slot| {
            self.into.copy_from_slice(slot);
            Ok(())
        })?;
        payload::check(number, self.into.len(), &self.into)
    }
}
