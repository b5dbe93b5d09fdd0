//! The buffer manager of a cluster: four blocks and three tables that keep FIFOs between clusters,
//! so that a CPU sends or receives with one to three writes to registers.
//!
//! The *interface* (BMI) sends what CPUs ask to be written, once there is credit for it. The
//! *writer* (BMW) puts what comes into the FIFO of its port. The *reader* (BMR) copies from a FIFO
//! what CPUs ask to be read, once all of it has come. The *credit manager* gives room that was read
//! back to the sender. Here is what they decide and keep; what they take, and how words move, is
//! for the code that drives them.

mod access;
mod blocks;
#[cfg(test)]
mod function_tests;
mod functions;
mod queues;
#[cfg(test)]
mod random_tests;
mod tables;
#[cfg(test)]
mod tests;

pub use access::{Access, Endpoint, Kind, Way};
pub(crate) use tables::Places;

use super::fault::{Fault, Noted};
use crate::chip::Partitioning;
use functions::Function;
use queues::Queues;
use tables::Port;

/// What a buffer manager is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub partitioning: Partitioning,
    /// Those who make requests: of a manager with functions, they come on top.
    pub cpus: usize,
    pub ports: usize,
    /// Requests that it holds for each CPU in each direction.
    pub requests: usize,
    /// Bytes of the cluster's shared memory.
    pub shared: u32,
}

/// What the BMI sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Bytes of an address to another.
    Copy { from: u32, to: u32 },
    /// Words at an address, to a port.
    Buffer { from: u32, to: Endpoint },
    /// A word, to a port.
    Word { word: u32, to: Endpoint },
}

/// A request to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    pub cpu: u8,
    /// The port; of a copy, the number of the transfer.
    pub port: u8,
    pub what: What,
    pub bytes: u32,
}

/// A request to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Read {
    cpu: u8,
    port: u8,
    to: u32,
    words: u32,
}

/// Words that are being read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub cpu: u8,
    pub port: u8,
    /// The address that they go to; none if the CPU itself reads a word.
    pub to: Option<u32>,
    pub words: u32,
    /// Where they are in this cluster.
    pub places: Places,
    /// The port at which they are, if the other end has the FIFO.
    pub from: Option<Endpoint>,
}

/// What a write to a register has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// The request needs more.
    More,
    /// A request is queued for that side.
    Queued(Way),
    /// An entry of the tables is set up.
    Entered,
}

/// What a read of a register brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Loaded {
    /// What a table says: the credit of a sender, the words that have come to a receiver.
    Word(u32),
    /// The word that is next in a FIFO.
    Next(Taken),
    /// Nothing has come.
    Nothing,
}

/// What a CPU has written of a request.
#[derive(Clone, Debug, Default)]
struct Half {
    of: Option<Access>,
    words: Vec<u32>,
}

/// The block.
pub(crate) struct BufferManager {
    shape: Shape,
    halves: Vec<Half>,
    ports: Vec<Option<Port>>,
    /// The CPU that has requests for each port, and how many.
    users: Vec<Option<(u8, usize)>>,
    writes: Queues<Write>,
    reads: Queues<Read>,
    /// Functions, whose numbers follow those of the CPUs.
    functions: Vec<Function>,
    /// What went wrong and was not looked at.
    pub faults: Vec<Noted>,
}

impl BufferManager {
    pub fn new(shape: Shape) -> BufferManager {
        BufferManager {
            shape,
            halves: vec![Half::default(); shape.cpus],
            ports: vec![None; shape.ports],
            users: vec![None; shape.ports],
            writes: Queues::new(shape.cpus, shape.requests),
            reads: Queues::new(shape.cpus, shape.requests),
            functions: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// Notes a fault.
    pub fn note(&mut self, fault: Fault, cpu: Option<u8>, port: Option<u8>) -> Fault {
        self.faults.push(Noted { fault, cpu, port });
        fault
    }

    /// A CPU writes a register.
    ///
    /// # Errors
    /// See [`Fault`]; it is noted as well.
    pub fn store(&mut self, address: u32, value: u32) -> Result<Stored, Fault> {
        let Some(access) = Access::of(address) else {
            return Err(self.note(Fault::NotARequest, None, None));
        };
        let stored = self.take_in(access, value);
        stored.map_err(|fault| {
            if let Some(half) = self.halves.get_mut(usize::from(access.cpu)) {
                *half = Half::default();
            }
            self.note(fault, Some(access.cpu), Some(access.port))
        })
    }

    fn take_in(&mut self, access: Access, value: u32) -> Result<Stored, Fault> {
        let half = self.halves.get_mut(usize::from(access.cpu)).ok_or(Fault::NoCpu)?;
        let needed = access.kind.writes(access.way, self.shape.partitioning);
        if needed == 0 {
            return Err(Fault::NotARequest);
        }
        let same = |of: Access| Access { end: access.end, ..of } == access;
        if half.of.is_some_and(|of| !same(of)) {
            return Err(Fault::NoEnd);
        }
        half.of = Some(access);
        half.words.push(value);
        match (half.words.len() == needed, access.end) {
            (false, false) => return Ok(Stored::More),
            (false, true) => return Err(Fault::EarlyEnd),
            (true, false) => return Err(Fault::NoEnd),
            (true, true) => {}
        }
        let words = std::mem::take(half).words;
        self.request(access, &words)
    }

    /// A request is complete.
    fn request(&mut self, access: Access, words: &[u32]) -> Result<Stored, Fault> {
        let Access { way, cpu, port, .. } = access;
        if access.kind != Kind::Setup && self.is_function(cpu) {
            return Err(Fault::NotARequest);
        }
        match (access.kind, way, words) {
            (Kind::Address, Way::Write, [from, to, bytes]) => {
                if *bytes == 0 {
                    return Err(Fault::Size);
                }
                let what = What::Copy { from: *from, to: *to };
                self.queue(Write { cpu, port, what, bytes: *bytes }, None)
            }
            (Kind::Direct, Way::Write, [word]) => {
                let (to, _) = self.sender(port)?;
                let what = What::Word { word: *word, to };
                self.queue(Write { cpu, port, what, bytes: 4 }, Some(port))
            }
            (Kind::Indirect, Way::Write, [from, bytes]) => {
                let (to, all) = self.sender(port)?;
                if whole(*bytes)? > all {
                    return Err(Fault::TooLong);
                }
                let what = What::Buffer { from: *from, to };
                self.queue(Write { cpu, port, what, bytes: *bytes }, Some(port))
            }
            (Kind::Indirect, Way::Read, [to, bytes]) => {
                let words = whole(*bytes)?;
                if words > self.room(port)? {
                    return Err(Fault::TooLong);
                }
                self.use_port(port, cpu)?;
                if !self.reads.has_room(cpu.into()) {
                    self.leave_port(port);
                    return Err(Fault::QueueFull);
                }
                self.reads.push(cpu.into(), Read { cpu, port, to: *to, words });
                Ok(Stored::Queued(Way::Read))
            }
            (Kind::Setup, _, [other, rest @ ..]) => {
                let entry = self.entry(way, Endpoint::of(*other), rest)?;
                self.holds_block(cpu, &entry)?;
                let entered = self.set_up(port, entry)?;
                self.attach(cpu, port);
                Ok(entered)
            }
            _ => Err(Fault::NotARequest),
        }
    }

    /// The entry that a set-up describes, whose other end is that port.
    fn entry(&self, way: Way, other: Endpoint, words: &[u32]) -> Result<Port, Fault> {
        let halves = |sizes: u32| (sizes & 0xffff, sizes >> 16);
        let shared = self.shape.shared;
        match (way, self.shape.partitioning, words) {
            (Way::Write, Partitioning::AtReceiver, [credits]) => Port::sender(other, *credits),
            (Way::Write, Partitioning::Apart, [base, sizes]) => {
                Port::writer(other, *base, halves(*sizes))
            }
            (Way::Write, Partitioning::AtSender, [base, words]) => {
                Port::source(other, *base, *words, shared)
            }
            (Way::Read, Partitioning::AtSender, [words]) => Port::sink(other, *words),
            (Way::Read, _, [base, sizes]) => Port::receiver(other, *base, halves(*sizes), shared),
            _ => Err(Fault::NotARequest),
        }
    }

    fn queue(&mut self, write: Write, port: Option<u8>) -> Result<Stored, Fault> {
        if let Some(port) = port {
            self.use_port(port, write.cpu)?;
        }
        let cpu = usize::from(write.cpu);
        if !self.writes.has_room(cpu) {
            port.into_iter().for_each(|port| self.leave_port(port));
            return Err(Fault::QueueFull);
        }
        self.writes.push(cpu, write);
        Ok(Stored::Queued(Way::Write))
    }

    fn set_up(&mut self, port: u8, entry: Port) -> Result<Stored, Fault> {
        let at = usize::from(port);
        let old = self.ports.get(at).ok_or(Fault::NoPort)?;
        if self.users[at].is_some() || old.as_ref().is_some_and(Port::is_in_use) {
            return Err(Fault::InUse);
        }
        let others = self.ports.iter().enumerate().filter(|(other, _)| *other != at);
        if others.filter_map(|(_, port)| port.as_ref()).any(|other| other.overlaps(&entry)) {
            return Err(Fault::Setup);
        }
        self.ports[at] = Some(entry);
        Ok(Stored::Entered)
    }

    /// A CPU reads a register.
    ///
    /// # Errors
    /// See [`Fault`]; it is noted as well.
    pub fn load(&mut self, address: u32) -> Result<Loaded, Fault> {
        let Some(access) = Access::of(address) else {
            return Err(self.note(Fault::NotARequest, None, None));
        };
        let loaded = self.look(access);
        loaded.map_err(|fault| self.note(fault, Some(access.cpu), Some(access.port)))
    }

    fn look(&mut self, Access { way, kind, end, port, cpu }: Access) -> Result<Loaded, Fault> {
        if usize::from(cpu) >= self.shape.cpus {
            return Err(Fault::NoCpu);
        }
        match (kind, way) {
            (Kind::Setup, Way::Write) => {
                self.sender(port)?;
                Ok(Loaded::Word(self.credits(port).unwrap_or(0)))
            }
            (Kind::Setup, Way::Read) => {
                self.room(port)?;
                Ok(Loaded::Word(self.come(port)))
            }
            (Kind::Direct, Way::Read) if !self.is_function(cpu) => {
                self.room(port)?;
                match self.users[usize::from(port)] {
                    _ if !end => return Err(Fault::NoEnd),
                    Some((user, _)) if user != cpu => return Err(Fault::Race),
                    // What the CPU has asked for before comes first.
                    Some(_) => return Ok(Loaded::Nothing),
                    None => {}
                }
                let taken = self.take(Read { cpu, port, to: 0, words: 1 });
                Ok(taken.map_or(Loaded::Nothing, |taken| {
                    let _ = self.use_port(port, cpu);
                    Loaded::Next(Taken { to: None, ..taken })
                }))
            }
            _ => Err(Fault::NotARequest),
        }
    }

    /// The credit of a port that sends.
    pub fn credits(&self, port: u8) -> Option<u32> {
        match self.ports.get(usize::from(port)) {
            Some(Some(Port::Sender { credits, .. })) => Some(*credits),
            Some(Some(Port::Source { buffer, .. })) => Some(buffer.room()),
            _ => None,
        }
    }

    /// Words that have come to a port.
    pub fn come(&self, port: u8) -> u32 {
        match self.ports.get(usize::from(port)) {
            Some(Some(Port::Receiver { buffer, .. })) => buffer.come(),
            Some(Some(Port::Sink { come, .. })) => *come,
            _ => 0,
        }
    }

    /// Where a port sends to, and the credit that it had to begin with.
    fn sender(&self, port: u8) -> Result<(Endpoint, u32), Fault> {
        match self.ports.get(usize::from(port)).ok_or(Fault::NoPort)? {
            Some(Port::Sender { to, all, .. }) => Ok((*to, *all)),
            Some(Port::Source { to, buffer }) => Ok((*to, buffer.words)),
            _ => Err(Fault::Unconnected),
        }
    }

    /// The words of the FIFO of a port that receives.
    fn room(&self, port: u8) -> Result<u32, Fault> {
        match self.ports.get(usize::from(port)).ok_or(Fault::NoPort)? {
            Some(Port::Receiver { buffer, .. }) => Ok(buffer.words),
            Some(Port::Sink { all, .. }) => Ok(*all),
            _ => Err(Fault::Unconnected),
        }
    }

    /// A CPU has one more request for a port.
    fn use_port(&mut self, port: u8, cpu: u8) -> Result<(), Fault> {
        match &mut self.users[usize::from(port)] {
            Some((user, _)) if *user != cpu => return Err(Fault::Race),
            Some((_, count)) => *count += 1,
            none => *none = Some((cpu, 1)),
        }
        Ok(())
    }

    fn leave_port(&mut self, port: u8) {
        let user = &mut self.users[usize::from(port)];
        *user = user.and_then(|(cpu, count)| Some((cpu, count.checked_sub(1).filter(|c| *c > 0)?)));
    }
}

/// The words of `bytes` bytes.
fn whole(bytes: u32) -> Result<u32, Fault> {
    if bytes == 0 || !bytes.is_multiple_of(4) { Err(Fault::Size) } else { Ok(bytes / 4) }
}
