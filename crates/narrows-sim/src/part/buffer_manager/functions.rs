//! Hardware functions at ports. They use the queues and the tables as CPUs do, but are none.
//!
//! A function has a number behind those of the CPUs. A CPU sets its ports up by accesses with that
//! number: what comes to port P is for the function, and what it makes of it leaves through port
//! P + 1. It holds a block that comes in and a result that goes out, beside what it works on.

use super::tables::Port;
use super::{BufferManager, Read, Shape, What, Write};
use crate::part::fault::Fault;

/// A block on its way out of a FIFO.
#[derive(Clone, Debug)]
struct Coming {
    port: u8,
    bytes: Vec<u8>,
    whole: bool,
}

/// What a function holds.
#[derive(Clone, Debug)]
pub(super) struct Function {
    /// Words of a block.
    block: u32,
    /// The ports at which it receives, in the order of their set-up, and whose turn was last.
    ports: Vec<u8>,
    last: usize,
    coming: Option<Coming>,
    /// The result that goes out.
    going: Option<Vec<u8>>,
}

impl BufferManager {
    /// One with functions: `blocks` has, for each, the words of the blocks that it takes.
    pub fn with_functions(shape: Shape, blocks: impl Iterator<Item = u32>) -> BufferManager {
        let one = |block| Function { block, ports: Vec::new(), last: 0, coming: None, going: None };
        let functions: Vec<Function> = blocks.map(one).collect();
        let cpus = shape.cpus + functions.len();
        BufferManager { functions, ..BufferManager::new(Shape { cpus, ..shape }) }
    }

    /// The number of the first function.
    fn first(&self) -> usize {
        self.shape.cpus - self.functions.len()
    }

    fn function(&mut self, cpu: u8) -> Option<&mut Function> {
        let first = self.first();
        self.functions.get_mut(usize::from(cpu).checked_sub(first)?)
    }

    /// Whether a number is a function's.
    pub fn is_function(&self, cpu: u8) -> bool {
        (self.first()..self.shape.cpus).contains(&usize::from(cpu))
    }

    /// Whether an entry holds what the function of this number takes at once, if it is one.
    ///
    /// # Errors
    /// A block would never be there at once.
    pub(super) fn holds_block(&mut self, cpu: u8, entry: &Port) -> Result<(), Fault> {
        let Some(block) = self.function(cpu).map(|one| one.block) else { return Ok(()) };
        let holds = match entry {
            Port::Receiver { buffer, threshold, .. } => {
                block + *threshold.max(&1) <= buffer.words + 1
            }
            Port::Sink { all, .. } => block <= *all,
            Port::Sender { .. } | Port::Source { .. } => true,
        };
        if holds { Ok(()) } else { Err(Fault::Setup) }
    }

    /// A port was set up for the CPU or function of this number: what comes to it is for that one
    /// alone.
    pub(super) fn attach(&mut self, cpu: u8, port: u8) {
        let receives = matches!(
            self.ports[usize::from(port)],
            Some(Port::Receiver { .. } | Port::Sink { .. })
        );
        for one in &mut self.functions {
            one.ports.retain(|other| *other != port);
        }
        let Some(function) = self.function(cpu) else { return };
        if receives {
            function.ports.push(port);
        }
        function.last = function.ports.len().saturating_sub(1);
    }

    /// Each function that holds no block that comes in asks for the next one: of its ports in turn,
    /// at the first to which a whole block has come. Whether the BMR has something to do for one.
    pub fn feed(&mut self) -> bool {
        let mut fed = false;
        for at in 0..self.functions.len() {
            // No cluster has more than 16.
            let cpu = (self.first() + at) as u8;
            let Function { block, ports, last, coming, .. } = &self.functions[at];
            let (words, count) = (*block, ports.len());
            if coming.is_some() {
                continue;
            }
            let ready = |turn: &usize| {
                let port = ports[*turn];
                let other = self.users[usize::from(port)].is_some_and(|(user, _)| user != cpu);
                self.come(port) >= words && !other
            };
            let Some(turn) = (1..=count).map(|step| (last + step) % count).find(ready) else {
                continue;
            };
            let port = ports[turn];
            let read = Read { cpu, port, to: 0, words };
            if self.use_port(port, cpu).is_err() {
                continue;
            }
            self.reads.push(cpu.into(), read);
            let function = &mut self.functions[at];
            function.last = turn;
            function.coming = Some(Coming { port, bytes: Vec::new(), whole: false });
            fed = true;
        }
        fed
    }

    /// Bytes of the block that a function has asked for are out of the FIFO.
    pub fn fill(&mut self, cpu: u8, bytes: &[u8]) {
        if let Some(Function { coming: Some(coming), .. }) = self.function(cpu) {
            coming.bytes.extend_from_slice(bytes);
        }
    }

    /// The block that a function has asked for is there.
    pub fn filled(&mut self, cpu: u8) {
        if let Some(Function { coming: Some(coming), .. }) = self.function(cpu) {
            coming.whole = true;
        }
    }

    /// A function begins to work on a block: the port that it came to, and its bytes.
    pub fn take_block(&mut self, cpu: u8) -> Option<(u8, Vec<u8>)> {
        let coming = self.function(cpu)?.coming.take_if(|coming| coming.whole)?;
        Some((coming.port, coming.bytes))
    }

    /// Whether a function can give its next result.
    pub fn is_free(&mut self, cpu: u8) -> bool {
        self.function(cpu).is_some_and(|function| function.going.is_none())
    }

    /// A function gives the result of a block that came to a port.
    ///
    /// # Errors
    /// The next port sends nothing, or never has credit for that much, or a CPU has requests for
    /// it. It is noted as well, and the result is dropped.
    pub fn give(&mut self, cpu: u8, came: u8, result: Vec<u8>) -> Result<(), Fault> {
        let port = came.saturating_add(1);
        let given = self.send_result(cpu, (came, port), &result);
        given.map_err(|fault| self.note(fault, Some(cpu), Some(port)))?;
        if let Some(function) = self.function(cpu) {
            function.going = Some(result);
        }
        Ok(())
    }

    fn send_result(&mut self, cpu: u8, (came, port): (u8, u8), result: &[u8]) -> Result<(), Fault> {
        if came == port {
            return Err(Fault::NoPort);
        }
        let bytes = result.len() as u32;
        let (to, all) = self.sender(port)?;
        if super::whole(bytes)? > all {
            return Err(Fault::TooLong);
        }
        self.queue(Write { cpu, port, what: What::Buffer { from: 0, to }, bytes }, Some(port))?;
        Ok(())
    }

    /// Bytes of the result that goes out. None of a CPU.
    pub fn result(&mut self, cpu: u8, from: u32, len: u32) -> Option<Vec<u8>> {
        let going = self.function(cpu)?.going.as_ref()?;
        Some(going.get(from as usize..)?.get(..len as usize)?.to_vec())
    }

    /// The result of a function has gone.
    pub fn gone(&mut self, cpu: u8) {
        if let Some(function) = self.function(cpu) {
            function.going = None;
        }
    }
}
