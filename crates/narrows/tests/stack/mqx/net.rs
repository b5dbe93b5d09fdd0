//! Processors in one thread, and lines of frames between them.

use std::cell::Cell;
use std::rc::Rc;

use crate::common::frames::{Line, line};
use narrows::driver::NotThere;
use narrows::link::route::Table;
use narrows::mqx::{Ended, Left, Limits, Message, Processor, QueueId, Supply, Task};
use narrows::platform::NoStorage;

pub const TASK: Task = Task(1);
/// The queue that every processor of a net opens.
pub const QUEUE: u8 = 8;

/// Memory of the heap.
#[derive(Clone, Default)]
pub struct Heap {
    /// Copies from message to message.
    pub copies: Rc<Cell<usize>>,
    /// Messages that can still be made, if that is limited.
    pub left: Rc<Cell<Option<usize>>>,
}

impl Supply for Heap {
    type Slice<T> = Vec<T>;
    type Buffer = Vec<u8>;
    fn storage<T>(
        &mut self,
        len: usize,
        make: impl FnMut(usize) -> T,
    ) -> Result<Vec<T>, NoStorage> {
        Ok((0..len).map(make).collect())
    }
    fn make(&mut self, bytes: usize) -> Option<Vec<u8>> {
        if let Some(left) = self.left.get() {
            self.left.set(Some(left.checked_sub(1)?));
        }
        Some(vec![0; bytes])
    }
    fn copy(&mut self, from: &Vec<u8>, to: &mut Vec<u8>, bytes: usize) -> Result<(), NotThere> {
        let from = from.get(..bytes).ok_or(NotThere)?;
        to.get_mut(..bytes).ok_or(NotThere)?.copy_from_slice(from);
        self.copies.set(self.copies.get() + 1);
        Ok(())
    }
}

pub type Node = Processor<Heap, u32>;

pub fn node(number: u8, life: u64, table: Table, limits: Limits) -> Node {
    Processor::new(Heap::default(), (number, life), table, limits).expect("storage")
}

/// Numbers that follow from a seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % end
    }
}

/// How many cases to try: as `NARROWS_CASES` says, or as usual.
pub fn cases(usual: u64) -> u64 {
    std::env::var("NARROWS_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// One end of a wire: a processor's place, and its link.
type End = (usize, usize);

pub struct Wire {
    pub ends: [End; 2],
    pub lines: Option<[Line; 2]>,
}

pub struct Net {
    pub nodes: Vec<Node>,
    pub wires: Vec<Wire>,
    pub limits: Limits,
    adjacent: Vec<(u8, u8)>,
    mtu: usize,
    room: usize,
}

/// The wires of a line of processors.
pub fn row(count: u8) -> Vec<(u8, u8)> {
    (1..count).map(|n| (n, n + 1)).collect()
}

/// The wires of a ring.
pub fn ring(count: u8) -> Vec<(u8, u8)> {
    (1..=count).map(|n| (n, n % count + 1)).collect()
}

/// A wire between any two.
pub fn mesh(count: u8) -> Vec<(u8, u8)> {
    (1..=count).flat_map(|a| (a + 1..=count).map(move |b| (a, b))).collect()
}

impl Net {
    /// Processors from 1 on, with the wires between them, which are up.
    pub fn new(adjacent: &[(u8, u8)], limits: Limits, (mtu, room): (usize, usize)) -> Net {
        let count = adjacent.iter().map(|(a, b)| *a.max(b)).max().expect("a wire");
        let mut net = Net {
            nodes: Vec::new(),
            wires: Vec::new(),
            limits,
            adjacent: adjacent.to_vec(),
            mtu,
            room,
        };
        let mut links = vec![0; usize::from(count)];
        for &(a, b) in adjacent {
            let ends = [a, b].map(|n| {
                let place = usize::from(n) - 1;
                links[place] += 1;
                (place, links[place] - 1)
            });
            net.wires.push(Wire { ends, lines: None });
        }
        for n in 1..=count {
            let node = net.born(n, 1);
            net.nodes.push(node);
        }
        (0..net.wires.len()).for_each(|wire| net.mend(wire));
        net.run();
        net
    }

    /// A processor of this number, with its queue.
    pub fn born(&self, number: u8, life: u64) -> Node {
        let mut neighbours = Vec::new();
        for &(a, b) in &self.adjacent {
            neighbours.extend((a == number).then_some(b).or((b == number).then_some(a)));
        }
        let table = Table::new(number, &neighbours, &self.adjacent);
        let mut node = node(number, life, table, self.limits);
        node.open(TASK, QUEUE, 0).expect("a new processor");
        node.create_system_pool(4096, 4, 4, 32).expect("memory");
        node
    }

    /// Has a wire carry frames, from nothing.
    pub fn mend(&mut self, wire: usize) {
        let (a, b) = line(self.mtu, self.room);
        for (place, link) in self.wires[wire].ends {
            self.nodes[place].connect(link).expect("a link of the table");
        }
        self.wires[wire].lines = Some([a, b]);
    }

    /// Cuts a wire, with all that is on it.
    pub fn cut(&mut self, wire: usize) {
        self.wires[wire].lines = None;
        for (place, link) in self.wires[wire].ends {
            self.nodes[place].disconnect(link);
        }
    }

    /// Whether both ends of a wire have heard who the other is.
    pub fn is_up(&self, wire: usize) -> bool {
        self.wires[wire].ends.iter().all(|&(place, link)| self.nodes[place].is_up(link))
    }

    /// Serves one end of a wire.
    pub fn serve(&mut self, wire: usize, side: usize) -> Result<Left, Ended> {
        let Wire { ends, lines } = &mut self.wires[wire];
        let Some(lines) = lines else { return Ok(Left::Nothing) };
        let (place, link) = ends[side];
        self.nodes[place].serve(link, &mut lines[side])
    }

    /// Serves all until nothing happens any more.
    pub fn run(&mut self) {
        for _ in 0..100_000 {
            let mut busy = false;
            let sides = |net: &Net| {
                (0..net.wires.len()).flat_map(|wire| [(wire, 0), (wire, 1)]).collect::<Vec<_>>()
            };
            for (wire, side) in sides(self) {
                busy |= self.serve(wire, side).expect("a good neighbour") != Left::Nothing;
            }
            for (wire, side) in sides(self) {
                let (place, link) = self.wires[wire].ends[side];
                let Some(lines) = &self.wires[wire].lines else { continue };
                busy |= self.nodes[place].wants(link);
                busy |= !lines[side].out.borrow().frames.is_empty();
            }
            if !busy {
                return;
            }
        }
        panic!("it never comes to rest");
    }

    /// A message with a text, from one processor to the queue of another.
    pub fn message(&mut self, from: u8, to: u8, text: &[u8]) -> Option<Message> {
        message(&mut self.nodes[usize::from(from) - 1], to, text)
    }

    pub fn of(&mut self, number: u8) -> &mut Node {
        &mut self.nodes[usize::from(number) - 1]
    }

    /// The text of the next message in a processor's queue, which is freed.
    pub fn text(&mut self, number: u8) -> Option<Vec<u8>> {
        let node = self.of(number);
        let message = node.receive(TASK, QueueId::new(number, QUEUE)).expect("open")?;
        let text = text(node, message);
        node.free(message).expect("received");
        Some(text)
    }

    /// Messages that were dropped anywhere, and perhaps came to nobody.
    pub fn lost(&self) -> u64 {
        self.nodes.iter().map(|node| node.counts().lost()).sum()
    }
}

pub fn text(node: &mut Node, message: Message) -> Vec<u8> {
    let size = node.header(message).expect("one that is here").size as usize;
    node.buffer(message).expect("one that is here")[..size].to_vec()
}

pub fn message(node: &mut Node, to: u8, text: &[u8]) -> Option<Message> {
    let message = node.alloc_system(text.len() as u32).ok()?;
    node.buffer(message).expect("new")[..text.len()].copy_from_slice(text);
    let source = QueueId::new(node.number(), QUEUE);
    let header = node.header_mut(message).expect("new");
    (header.target, header.source) = (QueueId::new(to, QUEUE), source);
    Some(message)
}
