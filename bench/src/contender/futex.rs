//! Floor: the ring of slots, whose ends sleep in the kernel on the word that they wait for. The
//! least that a wake-up costs, with a payload.

use std::io;

use super::{Contender, End, Kind, Measure, Mode, Role, Setup, slots};
use crate::control::Control;

pub struct Futex;

impl Contender for Futex {
    fn name(&self) -> &'static str {
        "futex"
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
    fn waits(&self, _: Mode) -> &'static str {
        "sleeps on a word; woken only if it sleeps"
    }
    fn offers(&self, _: Measure, mode: Mode, _: usize) -> Result<(), &'static str> {
        match mode {
            Mode::Blocked => Ok(()),
            Mode::Spinning => Err("see slot ring, which is this without a wake-up"),
        }
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        slots::open(role, setup, control)
    }
}
