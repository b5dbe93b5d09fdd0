//! How a core of a simulated chip moves the bytes of frames, and has its peer's copy engine move
//! them.

use std::cell::Cell;
use std::rc::Rc;

use narrows::driver::NotThere;
use narrows::driver::area::{ADMINISTRATION, Engine, Exposes, GATHERED_HEADER, Mover};
use narrows::platform::OwnMemory;
use narrows_sim::cpu::{Hands, Piece, Place, Stretch};
use narrows_sim::engine::Pid;

use super::carrier::Carrier;

/// Where the chip's memory has the mutexes of copy engines.
const MUTEXES: u32 = 1 << 19;

/// A core's hand in a unit.
#[derive(Clone)]
pub(crate) struct Hand {
    pub hands: Hands,
    pub home: usize,
    pub peer: usize,
    /// The other core's memory of the unit.
    pub theirs: Place,
    /// Who serves the other core's interrupts.
    pub rings: Rc<Cell<Option<Pid>>>,
}

impl Carrier for Hand {
    fn copy(
        &self,
        (to, at): (&mut Stretch, usize),
        (from, offset): (&Stretch, usize),
        len: usize,
    ) -> Result<(), NotThere> {
        to.copy(at as u32, from, offset as u32, len).map_err(|_| NotThere)
    }

    fn refill(&self) {
        let cpu = self.hands.cpu();
        let (chip, core) = (cpu.chip(), cpu.core());
        let engine = chip.engines.iter().find(|engine| engine.cores.contains(&core));
        if let Some((engine, core)) = engine.zip(chip.cores.get(core)) {
            cpu.compute(engine.refill.at(core.clock));
        }
    }
}

impl Mover for Hand {
    type Own = Stretch;
    type Peer = Stretch;
    type Buffer = Stretch;

    fn put(
        &self,
        own: &Stretch,
        to: u32,
        from: &Stretch,
        at: usize,
        len: usize,
    ) -> Result<(), NotThere> {
        own.copy(to, from, at as u32, len).map_err(|_| NotThere)
    }

    fn get(
        &self,
        peer: &Stretch,
        from: u32,
        to: &mut Stretch,
        at: usize,
        len: usize,
    ) -> Result<(), NotThere> {
        to.copy(at as u32, peer, from, len).map_err(|_| NotThere)
    }

    fn ring(&self) {
        if let Some(service) = self.rings.get() {
            self.hands.cpu().os().raise(service);
        }
    }
}

impl Exposes for Hand {
    fn expose(&self, from: &Stretch, at: usize, len: usize) -> Result<u32, NotThere> {
        let (_, address) = from.find(at as u32, len).map_err(|_| NotThere)?;
        from.clean(at as u32, len as u32);
        Ok(address)
    }

    fn fetch(&self, place: u32, to: &mut Stretch, at: usize, len: usize) -> Result<(), NotThere> {
        let from = Stretch::new(&self.hands, (self.home, place), len as u32);
        to.copy_past(at as u32, &from, 0, len).map_err(|_| NotThere)
    }
}

impl Engine for Hand {
    fn gather(
        &self,
        own: &Stretch,
        head: usize,
        payload: Option<(&Stretch, usize, usize)>,
        to: u32,
    ) -> Result<(), NotThere> {
        let from = own.find(ADMINISTRATION, head).map_err(|_| NotThere)?;
        let first = GATHERED_HEADER.min(head) as u32;
        let at = |skip: u32| (self.theirs.0, self.theirs.1 + to + skip);
        // The driver's header, the connection's, the payload, and the empty one that ends the
        // chain.
        let mut pieces = vec![
            Piece { from, to: at(0), len: first },
            Piece { from: (from.0, from.1 + first), to: at(first), len: head as u32 - first },
        ];
        if let Some((from, offset, len)) = payload {
            let place = from.find(offset as u32, len).map_err(|_| NotThere)?;
            from.clean(offset as u32, len as u32);
            pieces.push(Piece { from: place, to: at(head as u32), len: len as u32 });
        }
        pieces.push(Piece { from, to: at(0), len: 0 });
        let mutex = (self.home, MUTEXES + 64 * self.peer as u32);
        let service = self.rings.get().ok_or(NotThere)?;
        let started = self.hands.cpu().start_chain(self.peer, pieces, mutex, service);
        started.then_some(()).ok_or(NotThere)
    }

    fn take(
        &self,
        own: &Stretch,
        from: u32,
        to: &mut Stretch,
        at: usize,
        len: usize,
    ) -> Result<(), NotThere> {
        to.copy(at as u32, own, from, len).map_err(|_| NotThere)
    }
}
