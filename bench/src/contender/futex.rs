//! Floor: the ring of slots, whose ends sleep in the kernel on the word that they wait for. The
//! least that a wake-up costs, with a payload.

use std::io;

use super::{Contender, EITHER, End, Kind, Mode, Role, Setup, slots};
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
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str> {
        match mode {
            Mode::Blocked => Ok("sleeps on a word; woken only if it sleeps"),
            Mode::Spinning => Err("see slot ring, which is this without a wake-up"),
            Mode::Hybrid => Err(EITHER),
        }
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        slots::open(role, setup, control)
    }
}
