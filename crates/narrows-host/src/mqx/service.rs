//! The thread of a processor: finds its neighbours, receives what comes, and passes on.

use std::time::{Duration, Instant};

use super::way::Way;
use super::{Inner, Shared};
use crate::bells::sets::Sets;
use narrows::mqx::Left;

/// How often the links are gone round before others have their turn.
const ROUNDS: usize = 16;
/// How long messages wait for a link where none leads to their processor.
const STRANDED: Duration = Duration::from_secs(5);
/// How soon a neighbour that was not found is hunted again.
const AGAIN: Duration = Duration::from_millis(20);

/// Serves until the processor is closed.
pub(super) fn run(shared: &Shared, sets: &Sets) {
    let (mut since, mut news) = (None, true);
    loop {
        let mut inner = shared.lock();
        let Some(node) = &mut inner.node else { return };
        node.disarm();
        if news {
            node.platform().turn();
        }
        node.poll();
        let found = inner.hunt();
        let more = inner.settle(true);
        let stranded = inner.core.is_stranded();
        since = since.filter(|_| stranded).or_else(|| stranded.then(Instant::now));
        if since.is_some_and(|since| since.elapsed() > STRANDED) {
            inner.core.abandon();
        }
        let Some(node) = &mut inner.node else { return };
        let sleeps = !node.arm() && !more;
        shared.leave(inner);
        news = sleeps && sets.sleep_without((!found || stranded).then_some(AGAIN));
    }
}

impl Inner {
    /// Hunts for the neighbours that there is no link with. Whether all are found.
    fn hunt(&mut self) -> bool {
        let Some(node) = &mut self.node else { return true };
        let mut all = true;
        for (at, neighbour) in self.neighbours.iter_mut().enumerate() {
            if neighbour.link.is_some() {
                continue;
            }
            match node.try_hunt(&neighbour.name) {
                Ok(Some(link)) if node.link(link).check().is_ok() => {
                    neighbour.link = Some(link);
                    let _ = self.core.connect(at);
                }
                // It has ended, and stands in the way of the next.
                Ok(Some(link)) => {
                    node.link(link).close();
                    all = false;
                }
                Ok(None) | Err(_) => all = false,
            }
        }
        all
    }

    /// Serves the links that have something to send, or all. True if more is to be done.
    pub(super) fn settle(&mut self, all: bool) -> bool {
        let mut full = vec![false; self.neighbours.len()];
        for round in 0..ROUNDS {
            let mut idle = true;
            for (at, full) in full.iter_mut().enumerate() {
                if *full || !((all && round == 0) || self.core.wants(at)) {
                    continue;
                }
                match self.serve(at) {
                    Left::Nothing => idle = false,
                    Left::Room => *full = true,
                    Left::More => return true,
                }
            }
            if idle {
                // The thread alone is woken when there is room.
                return !all && full.contains(&true);
            }
        }
        true
    }

    /// Serves one link.
    fn serve(&mut self, at: usize) -> Left {
        let Some(node) = &mut self.node else { return Left::Nothing };
        let Some(link) = self.neighbours.get(at).and_then(|neighbour| neighbour.link) else {
            return Left::Nothing;
        };
        let served = self.core.serve(at, &mut Way::new(node, link, &mut self.frame));
        match served {
            Ok(left) => {
                let _ = node.link(link).want_room(left == Left::Room);
                left
            }
            Err(_) => {
                self.unlink(at);
                Left::More
            }
        }
    }

    /// Ends a link.
    pub(super) fn unlink(&mut self, at: usize) {
        self.core.disconnect(at);
        let link = self.neighbours.get_mut(at).and_then(|neighbour| neighbour.link.take());
        if let (Some(node), Some(link)) = (&mut self.node, link) {
            node.link(link).close();
        }
    }
}
