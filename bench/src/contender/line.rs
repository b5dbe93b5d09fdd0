//! Floor: one cache line each way, which holds the payload and says that it is there. Nothing that
//! gives every word one writer can be faster.

use std::io;

use super::{Contender, Counted, End, Kind, Measure, Mode, POLLED, Port, Role, Setup};
use crate::control::Control;
use crate::payload;
use crate::shared::Pair;

/// Payload that a line holds beside its sequence number.
const ROOM: usize = 56;

pub struct Line;

impl Contender for Line {
    fn name(&self) -> &'static str {
        "line each way"
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
            Mode::Spinning => Ok("looks at the line"),
            Mode::Blocked | Mode::Hybrid => Err(POLLED),
        }
    }
    fn offers(&self, measure: Measure, bytes: usize) -> Result<(), &'static str> {
        match measure {
            Measure::OneWay => Err("no such mode: one message is under way"),
            Measure::RoundTrip if bytes > ROOM => Err("does not fit into a line"),
            Measure::RoundTrip => Ok(()),
        }
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        let pair = Pair::open(role, setup, 1, control)?;
        Ok(Counted::boxed(Ends { pair, bytes: setup.bytes }))
    }
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
