//! Two regions whose nodes share no memory: each node sees a replica of the other's, and frames go
//! between them whenever either rings.

use std::cell::RefCell;
use std::rc::Rc;

use super::conformance::frames::Faulty;
use super::connection::Closed;
use super::connection::replica::{Lane, Pulse, Replica, lanes};
use super::frames::{Line, carrier, push};
use super::heap::Heap;
use super::memory::Layout;
use super::platform::Instant;

const NOW: Instant = Instant(0);

pub struct End {
    pub replica: Replica<Heap, Box<[Lane<Heap>]>>,
    pub line: Faulty<Line<Heap>>,
}

/// Both ends. Each is armed while nothing is carried.
pub struct Carried(RefCell<[End; 2]>);

pub fn formatted(layout: &Layout) -> Heap {
    let region = Heap::new(layout.size());
    layout.format(&region).expect("the region has the layout's size");
    region
}

/// An end for a region, and the replica of the peer's.
pub fn end(own: &Heap, replica: &Heap, pulse: Pulse, line: Faulty<Line<Heap>>) -> End {
    let lanes = lanes(own, replica, 64).expect("regions").collect::<Result<_, _>>();
    let regions = (own.clone(), replica.clone());
    let replica = Replica::new(regions, lanes.expect("regions"), 64, pulse, NOW);
    End { replica: replica.expect("regions"), line }
}

impl Carried {
    /// Carries what two nodes write: their regions, and the replicas that their peers see.
    pub fn new(regions: &[Heap; 2], replicas: &[Heap; 2]) -> Rc<Carried> {
        let [one, other] = carrier();
        let ends = [(0, one), (1, other)].map(|(at, line)| {
            let mut line = Faulty::new(line, at as u32);
            line.refuses = 3;
            let end = end(&regions[at], &replicas[1 - at], Pulse::default(), line);
            end.replica.arm();
            end
        });
        Rc::new(Carried(RefCell::new(ends)))
    }

    /// Carries all that is there. Whether the node of an end wants to be rung for what came.
    pub fn carry(&self) -> Result<[bool; 2], Closed> {
        let mut ends = self.0.borrow_mut();
        let mut came = [false; 2];
        loop {
            let mut more = false;
            for End { replica, line } in ends.iter_mut() {
                more |= !replica.send(line, NOW)?;
                more |= !push(&mut line.inner)?;
            }
            for (came, End { replica, line }) in came.iter_mut().zip(ends.iter_mut()) {
                let stored = replica.receive(line, NOW)?;
                *came |= stored;
                more |= stored;
            }
            if !more {
                break;
            }
        }
        ends.iter().for_each(|end| end.replica.arm());
        let mut rung = came;
        for (rung, end) in rung.iter_mut().zip(ends.iter_mut()) {
            *rung = *rung && end.replica.rings();
        }
        Ok(rung)
    }
}
