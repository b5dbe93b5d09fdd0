//! Chains of descriptors that a copy engine works through by itself: the process that starts one
//! goes on, and an interrupt process, of whichever core, is triggered when the last byte has been
//! moved.

use super::Cpu;
use crate::chip::Engine;
use crate::events::Pid;
use crate::time::Time;

/// A memory of the chip, by its place in it, and an address there.
pub type Place = (usize, u32);

/// What one descriptor moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// From where.
    pub from: Place,
    /// To where.
    pub to: Place,
    /// Bytes.
    pub len: u32,
}

/// A chain that was started.
pub(super) struct Chain {
    pieces: Vec<Piece>,
    interrupt: Pid,
    /// The mutex of the engine, which is free again when the chain is through.
    mutex: Place,
}

impl Cpu {
    /// Starts a chain on the engine that works for a core, once its mutex is free. Writing the
    /// descriptors and starting take what the engine's facts say. False if the core has no engine,
    /// or this process is being taken down.
    pub fn start_chain(
        &self,
        core: usize,
        pieces: Vec<Piece>,
        mutex: Place,
        interrupt: Pid,
    ) -> bool {
        let mut engines = self.chip().engines.iter().enumerate();
        let Some((number, engine)) = engines.find(|(_, engine)| engine.cores.contains(&core))
        else {
            return false;
        };
        let clock = self.chip().cores[self.core()].clock;
        self.compute(engine.descriptor.at(clock) * pieces.len() as u64);
        if !self.lock(mutex.0, mutex.1, Time::NEVER) {
            return false;
        }
        self.compute(engine.setup.at(clock));
        let mut jobs = self.machine().jobs.borrow_mut();
        jobs.chains[number].push_back(Chain { pieces, interrupt, mutex });
        let idle = jobs.idle[number].take();
        drop(jobs);
        if let Some(engine) = idle {
            self.act(|state, _| {
                state.tell(engine, Time::ZERO);
                false
            });
        }
        true
    }

    /// Works through a chain, as an engine.
    pub(super) fn work_through(&self, engine: &Engine, chain: &Chain) {
        let (fetch, completion) =
            (engine.fetch.at(engine.clock), engine.completion.at(engine.clock));
        for piece in &chain.pieces {
            self.compute(fetch);
            if engine.descriptor_bytes > 0 {
                self.load_nothing(self.chip().link.control, 0, engine.descriptor_bytes);
            }
            let mut moved = 0;
            while moved < piece.len {
                let mut bytes = [0; 256];
                let len = (piece.len - moved).min(engine.burst.clamp(4, 256));
                let bytes = &mut bytes[..len as usize];
                self.load_bytes(piece.from.0, piece.from.1 + moved, bytes);
                self.store_bytes(piece.to.0, piece.to.1 + moved, bytes);
                moved += len;
            }
        }
        self.unlock(chain.mutex.0, chain.mutex.1);
        self.act(|state, _| {
            state.interrupt(chain.interrupt.0, completion);
            false
        });
    }
}
