//! Narrows: calls of a function on the other core.

use std::cell::{Cell, RefCell};
use std::io;

use narrows::endpoint::{Failure, FlowId, Function, Served, Sink, Source};
use narrows_host::Node;
use narrows_host::bridge::Bridge;

use super::narrows_message::{self, SOON, WINDOW};
use super::way::{CALLEE, Way};
use super::{ANSWERED, Contender, End, Kind, Measure, Mode, Numbers, Over, Role, Setup, failed};
use crate::control::Control;
use crate::payload;

/// The function's name.
const ANSWER: &str = "answer";

pub struct NarrowsCall {
    name: &'static str,
    transfer: &'static str,
    way: Way,
}

const fn over(name: &'static str, way: Way) -> NarrowsCall {
    NarrowsCall { name, transfer: "copy_batched", way }
}

pub const COPY: NarrowsCall = over("Narrows, call, copy", Way::Memory);
pub const IN_PLACE: NarrowsCall =
    NarrowsCall { transfer: "in_place", ..over("Narrows, call, in place", Way::Memory) };
pub const STREAM: NarrowsCall = over("Narrows over a Unix socket, call", Way::Stream);
pub const BRIDGES: NarrowsCall = over("Narrows over TCP, call", Way::Bridges);

impl Contender for NarrowsCall {
    fn name(&self) -> &'static str {
        self.name
    }
    fn kind(&self) -> Kind {
        Kind::Narrows
    }
    fn over(&self) -> Over {
        self.way.over()
    }
    fn version(&self) -> String {
        narrows_message::version()
    }
    fn copies(&self, bytes: usize) -> &'static str {
        if let Some(copies) = self.way.copies() {
            return copies;
        }
        match self.transfer {
            "in_place" => "0 there; 1 back: out of the pool",
            _ => narrows_message::COPY.copies(bytes),
        }
    }
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str> {
        Ok(self.way.waits(mode))
    }
    fn offers(&self, measure: Measure, bytes: usize) -> Result<(), &'static str> {
        match measure {
            Measure::OneWay => Err(ANSWERED),
            Measure::RoundTrip if self.transfer == COPY.transfer => Ok(()),
            Measure::RoundTrip => narrows_message::IN_PLACE.offers(measure, bytes),
        }
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        let strategy = narrows_message::strategy(self.transfer, setup.mode)?;
        let (mut node, bridge) = self.way.open(role, setup, control)?;
        let numbers = Numbers::default();
        let in_place = strategy.transfer.made_in_pool();
        if role == Role::Callee {
            control.done()?;
            let mut callee =
                Callee { node, _bridge: bridge, numbers, bytes: setup.bytes, in_place };
            while !control.said()? {
                callee.answer(Some(std::time::Duration::from_millis(1)))?;
            }
            control.wait_done()?;
            return Ok(Box::new(callee));
        }
        control.wait_done()?;
        let name = CALLEE.parse().map_err(|error| failed("a name", error))?;
        let link = node.hunt(&name, SOON).map_err(|error| failed("hunt", error))?;
        let function = ANSWER.parse().map_err(|error| failed("a name", error))?;
        let longest = setup.bytes as u32;
        let flow = node.open_flow(link, &function, strategy, longest, SOON);
        let flow = flow.map_err(|error| failed("open a flow", error))?;
        control.done()?;
        let (out, into) = (vec![0; setup.bytes], vec![0; setup.bytes]);
        Ok(Box::new(Caller { node, _bridge: bridge, flow, numbers, in_place, out, into }))
    }
}

struct Caller {
    node: Node,
    // Behind the node: its link goes over it.
    _bridge: Option<Bridge>,
    flow: FlowId,
    numbers: Numbers,
    in_place: bool,
    out: Vec<u8>,
    into: Vec<u8>,
}

impl Caller {
    fn call(&mut self, number: u64) -> io::Result<usize> {
        let Caller { node, flow, out, into, .. } = self;
        let called = if self.in_place {
            let mut block =
                node.flow(*flow).reserve(out.len()).map_err(|e| failed("reserve", e))?;
            let mut at = 0;
            for part in out.chunks_mut(WINDOW) {
                payload::make_part(number, at, part);
                node.write(&mut block, at, part).map_err(|error| failed("write", error))?;
                at += part.len();
            }
            node.flow(*flow).call(&mut block, into, None)
        } else {
            payload::make(number, out);
            node.flow(*flow).call(&*out, into, None)
        };
        called.map_err(|error| failed("call", error))
    }
}

impl End for Caller {
    fn round_trips(&mut self, count: u64) -> io::Result<()> {
        for _ in 0..count {
            let number = self.numbers.there();
            let len = self.call(number)?;
            let answer = self.into.get(..len).unwrap_or_default();
            payload::check(self.numbers.back(), self.into.len(), answer)?;
        }
        Ok(())
    }

    fn one_way(&mut self, _: u64) -> io::Result<()> {
        Err(failed("stream", ANSWERED))
    }

    fn serve(&mut self, _: u64, _: u64) -> io::Result<()> {
        Err(failed("serve", "this end calls"))
    }
}

struct Callee {
    node: Node,
    // Behind the node: its link goes over it.
    _bridge: Option<Bridge>,
    numbers: Numbers,
    bytes: usize,
    in_place: bool,
}

impl Callee {
    /// Serves what comes: the number of calls.
    fn answer(&mut self, within: Option<std::time::Duration>) -> io::Result<u64> {
        let Callee { node, numbers, bytes, in_place, .. } = self;
        let numbers = RefCell::new(numbers);
        let (served, broken) = (Cell::new(0), Cell::new(None));
        let mut buffer = vec![0; *bytes];
        let mut body = |request: &dyn Source, response: &mut dyn Sink| {
            let (there, back) = {
                let mut numbers = numbers.borrow_mut();
                (numbers.there(), numbers.back())
            };
            served.set(served.get() + 1);
            let checked = if *in_place {
                narrows_message::check_there(there, *bytes, request)
            } else {
                let part = buffer.get_mut(..request.len()).ok_or(Failure::NoRoom)?;
                request.read(0, part)?;
                payload::check(there, *bytes, part)
            };
            if let Err(error) = checked {
                broken.set(Some(error));
                return Err(Failure::Refused);
            }
            let mut at = 0;
            for part in buffer.chunks_mut(if *in_place { WINDOW } else { usize::MAX }) {
                payload::make_part(back, at, part);
                response.write(at, part)?;
                at += part.len();
            }
            Ok(())
        };
        let name = ANSWER.parse().map_err(|error| failed("a name", error))?;
        let mut library = [Function { name, run: &mut body }];
        if node.serve(&mut library, within) == Ok(Served::News) && node.links().next().is_none() {
            return Err(failed("serve", "the caller is gone"));
        }
        broken.take().map_or(Ok(served.get()), Err)
    }
}

impl End for Callee {
    fn round_trips(&mut self, _: u64) -> io::Result<()> {
        Err(failed("call", "this end answers"))
    }

    fn one_way(&mut self, _: u64) -> io::Result<()> {
        Err(failed("stream", ANSWERED))
    }

    fn serve(&mut self, count: u64, times: u64) -> io::Result<()> {
        let mut left = count * times;
        while left > 0 {
            left -= self.answer(None)?.min(left);
        }
        Ok(())
    }
}
