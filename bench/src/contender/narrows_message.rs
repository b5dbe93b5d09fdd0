//! Narrows: messages between two ports, by three of its transfers over memory, and over sockets.

use std::io;
use std::time::Duration;

use narrows::endpoint::{Address, FlowId, Message, Received, Select, SendError, Source, What};
use narrows::memory::Layout;
use narrows::strategy::Strategy;
use narrows_host::bridge::Bridge;
use narrows_host::{LINE, Node};

use super::way::{CALLEE, Way};
use super::{
    Contender, Counted, End, Kind, Measure, Mode, Numbers, Over, Port, Role, Setup, failed,
};
use crate::control::Control;
use crate::payload;

/// How long opening waits for the other end.
pub(super) const SOON: Option<Duration> = Some(Duration::from_secs(5));
/// The port of either end.
const PORT: u16 = 1;
/// Bytes made or read at a time where the payload lies: payload there is reached through copies of
/// parts, as the other side may be hostile.
pub(super) const WINDOW: usize = 1024;
/// Payload that is not made in blocks here: a slot holds it on any platform, and takes less than a
/// third of the instructions that a block takes.
const SHORT: usize = 48;
/// The longest messages of which many are sent at a time: with more bytes the copying is all.
const LONGEST_TOGETHER: usize = 1024;

/// Messages that are sent at a time by [`TOGETHER`].
const AT_A_TIME: usize = 32;

pub struct NarrowsMessage {
    name: &'static str,
    transfer: &'static str,
    way: Way,
    /// Whether many messages are sent and received in one call.
    together: bool,
}

const fn one(name: &'static str, transfer: &'static str) -> NarrowsMessage {
    NarrowsMessage { name, transfer, way: Way::Memory, together: false }
}

pub const COPY: NarrowsMessage = one("Narrows, copy", "copy_batched");
pub const TOGETHER: NarrowsMessage =
    NarrowsMessage { together: true, ..one("Narrows, copy, 32 at a time", "copy_batched") };
pub const SINGLE_COPY: NarrowsMessage = one("Narrows, single copy", "single_copy");
pub const IN_PLACE: NarrowsMessage = one("Narrows, in place", "in_place");
pub const STREAM: NarrowsMessage =
    NarrowsMessage { way: Way::Stream, ..one("Narrows over a Unix socket", "copy_batched") };
pub const BRIDGES: NarrowsMessage =
    NarrowsMessage { way: Way::Bridges, ..one("Narrows over TCP", "copy_batched") };

impl NarrowsMessage {
    fn strategy(&self, mode: Mode) -> io::Result<Strategy> {
        strategy(self.transfer, mode)
    }
}

/// A strategy of the transfer that waits as `mode` says.
pub(super) fn strategy(transfer: &str, mode: Mode) -> io::Result<Strategy> {
    let notification = match mode {
        Mode::Spinning => "spin",
        Mode::Blocked => "interrupt",
        Mode::Hybrid => "hybrid",
    };
    let text = format!("{transfer}/{notification}/external");
    text.parse().map_err(|error| failed(&text, error))
}

/// Whether a payload that is not made in a block travels in a slot.
fn in_slot(bytes: usize) -> bool {
    Layout::standard(LINE).is_ok_and(|layout| bytes <= layout.in_slot() as usize)
}

/// The stack's version.
pub(super) fn version() -> String {
    "this checkout".into()
}

impl Contender for NarrowsMessage {
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
        version()
    }
    fn copies(&self, bytes: usize) -> &'static str {
        if let Some(copies) = self.way.copies() {
            return copies;
        }
        match self.transfer {
            "in_place" => "0",
            "single_copy" => "1: out of the pool",
            _ if in_slot(bytes) => "2: into the slot, out of it",
            _ => "2: into the pool, out of it",
        }
    }
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str> {
        Ok(self.way.waits(mode))
    }
    fn offers(&self, measure: Measure, bytes: usize) -> Result<(), &'static str> {
        if self.together && measure == Measure::RoundTrip {
            return Err("one at a time: see Narrows, copy");
        }
        if self.together && bytes > LONGEST_TOGETHER {
            return Err("as fast as one at a time: see Narrows, copy");
        }
        if self.transfer != COPY.transfer && bytes <= SHORT {
            return Err("a slot takes fewer instructions: see Narrows, copy");
        }
        Ok(())
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        let strategy = self.strategy(setup.mode)?;
        let (mut node, bridge) = self.way.open(role, setup, control)?;
        node.open(PORT).map_err(|error| failed("open a port", error))?;
        let flow = |node: &mut Node, link| {
            let opened = node.open_flow_to(Address { link, port: PORT }, strategy, SOON);
            opened.map_err(|error| failed("open a flow", error))
        };
        // Either end opens a flow, while the other one looks after its node.
        let (link, flow) = match role {
            Role::Caller => {
                control.wait_done()?;
                let name = CALLEE.parse().map_err(|error| failed("a name", error))?;
                let link = node.hunt(&name, SOON).map_err(|error| failed("hunt", error))?;
                let flow = flow(&mut node, link)?;
                control.done()?;
                look_after(&mut node, control)?;
                (link, flow)
            }
            Role::Callee => {
                control.done()?;
                look_after(&mut node, control)?;
                let link = node.links().next().map(|(link, _)| link);
                let link = link.ok_or_else(|| failed("link", "the caller is gone"))?;
                let flow = flow(&mut node, link)?;
                control.done()?;
                (link, flow)
            }
        };
        node.link(link).attach(PORT).map_err(|error| failed("attach", error))?;
        node.set_strategy(strategy);
        node.set_notification(strategy.notification);
        let ends = Ends {
            node,
            _bridge: bridge,
            to: Address { link, port: PORT },
            flow,
            made_in_pool: strategy.transfer.made_in_pool(),
            read_in_place: strategy.transfer.read_in_place(),
            out: vec![0; setup.bytes],
            into: vec![0; setup.bytes],
        };
        if self.together {
            return Ok(Box::new(Together { ends, numbers: Numbers::default() }));
        }
        Ok(Counted::boxed(ends))
    }
}

/// Sends and receives many messages in one call. Each is made before it is sent and checked in
/// full.
struct Together {
    ends: Ends,
    numbers: Numbers,
}

impl End for Together {
    fn round_trips(&mut self, count: u64) -> io::Result<()> {
        for _ in 0..count {
            self.ends.send(self.numbers.there())?;
            self.ends.receive(self.numbers.back())?;
        }
        Ok(())
    }

    fn one_way(&mut self, count: u64) -> io::Result<()> {
        let bytes = self.ends.out.len();
        let mut made = vec![0; bytes * AT_A_TIME];
        let mut left = count;
        while left > 0 {
            let now = left.min(AT_A_TIME as u64) as usize;
            left -= now as u64;
            for payload in made.chunks_mut(bytes).take(now) {
                payload::make(self.numbers.there(), payload);
            }
            let mut each = made.chunks(bytes);
            let mut messages: [Message<'_>; AT_A_TIME] =
                std::array::from_fn(|_| Message::new(each.next().unwrap_or_default()));
            let mut rest = messages.get_mut(..now).unwrap_or_default();
            while !rest.is_empty() {
                let sent = self.ends.node.send_all(PORT, self.ends.to, rest, None);
                let sent = sent.map_err(|error| failed("send", error))?;
                rest = rest.get_mut(sent..).unwrap_or_default();
            }
        }
        self.ends.receive(self.numbers.back())
    }

    fn serve(&mut self, count: u64, times: u64) -> io::Result<()> {
        for _ in 0..times {
            let mut left = count;
            while left > 0 {
                let Ends { node, into, .. } = &mut self.ends;
                let (bytes, mut checked) = (into.len(), Ok(()));
                let each = |message: &Received, payload: &[u8]| {
                    if checked.is_ok() {
                        checked = match message.what {
                            What::Message => payload::check(self.numbers.there(), bytes, payload),
                            _ => Err(failed("receive", "the other end is gone")),
                        };
                    }
                };
                let received = node.receive_all(PORT, into, each, None);
                left = left.saturating_sub(received.map_err(|e| failed("receive", e))? as u64);
                checked?;
            }
            self.ends.send(self.numbers.back())?;
        }
        Ok(())
    }
}

/// Sees to what the other node asks, until the other end has done its step.
fn look_after(node: &mut Node, control: &mut Control) -> io::Result<()> {
    while !control.said()? {
        node.wait_any(Some(Duration::from_millis(1)));
        node.poll();
    }
    control.wait_done()
}

struct Ends {
    node: Node,
    // Behind the node: its link goes over it.
    _bridge: Option<Bridge>,
    /// The other end's port, for what is copied.
    to: Address,
    /// The flow to it, for what is made in the pool.
    flow: FlowId,
    made_in_pool: bool,
    read_in_place: bool,
    out: Vec<u8>,
    into: Vec<u8>,
}

impl Port for Ends {
    fn send(&mut self, number: u64) -> io::Result<()> {
        if self.made_in_pool {
            return self.make_and_send(number);
        }
        payload::make(number, &mut self.out);
        let sent = self.node.send(PORT, self.to, &self.out, None);
        sent.map_err(|error| failed("send", error))
    }

    fn receive(&mut self, number: u64) -> io::Result<()> {
        if self.read_in_place {
            return self.receive_in_place(number);
        }
        let received = self.node.receive_into(PORT, &mut self.into, None);
        match received.map_err(|error| failed("receive", error))? {
            message if message.what == What::Message => {
                let bytes = self.into.get(..message.len).unwrap_or_default();
                payload::check(number, self.into.len(), bytes)
            }
            _ => Err(failed("receive", "the other end is gone")),
        }
    }
}

impl Ends {
    fn make_and_send(&mut self, number: u64) -> io::Result<()> {
        let Ends { node, flow, out, .. } = self;
        let mut block = loop {
            match node.flow(*flow).reserve(out.len()) {
                Err(SendError::PoolEmpty) => {
                    node.poll();
                    std::hint::spin_loop();
                }
                reserved => break reserved.map_err(|error| failed("reserve", error))?,
            }
        };
        let mut at = 0;
        for part in out.chunks_mut(WINDOW) {
            payload::make_part(number, at, part);
            node.write(&mut block, at, part).map_err(|error| failed("write", error))?;
            at += part.len();
        }
        node.flow(*flow).send(PORT, &mut block, None).map_err(|error| failed("send", error))
    }

    fn receive_in_place(&mut self, number: u64) -> io::Result<()> {
        let received = self.node.receive(PORT, &Select::default(), None);
        let message = received.map_err(|error| failed("receive", error))?;
        if message.what != What::Message {
            return Err(failed("receive", "the other end is gone"));
        }
        let bytes = self.into.len();
        let read = self.node.read_in_place(&message, |source| check_there(number, bytes, source));
        self.node.release(message);
        read.unwrap_or_else(|| Err(failed("read", "the link was closed")))
    }
}

/// Reads a payload in full where it lies.
pub(super) fn check_there(number: u64, bytes: usize, source: &dyn Source) -> io::Result<()> {
    let mut reader = payload::Reader::default();
    let mut window = [0; WINDOW];
    for at in (0..source.len()).step_by(WINDOW) {
        let part = window.get_mut(..WINDOW.min(source.len() - at)).unwrap_or_default();
        source.read(at, part).map_err(|error| failed("read", error))?;
        reader.read(part);
    }
    reader.finish(number, bytes)
}
