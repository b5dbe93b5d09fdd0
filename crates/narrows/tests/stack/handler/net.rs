//! Nodes with link handlers, and the links between them.

use std::collections::VecDeque;

use crate::common::world::{Side, World, name};
use narrows::connection::{Refused, Signal};
use narrows::endpoint::Limits as NodeLimits;
use narrows::linx::{Adaption, Handler, HandlerError, Limits, Spid, Taken};

pub type Bytes = Vec<u8>;

/// What a node's handler has around it.
#[derive(Default)]
pub struct Around {
    /// Signals that endpoints received, in order.
    pub got: Vec<(Spid, Spid, Bytes)>,
    /// Signals on their way, by link.
    pub out: Vec<VecDeque<Signal<Bytes>>>,
    pub room: usize,
    pub freed: usize,
}

impl Adaption for Around {
    type Buffer = Bytes;
    fn make(&mut self, bytes: &[u8]) -> Option<Bytes> {
        Some(bytes.to_vec())
    }
    fn read(&self, buffer: &Bytes, to: &mut [u8]) -> bool {
        buffer.get(..to.len()).is_some_and(|part| {
            to.copy_from_slice(part);
            true
        })
    }
    fn free(&mut self, _buffer: Bytes) {
        self.freed += 1;
    }
    fn deliver(&mut self, signal: Signal<Bytes>, _via: Option<u16>) {
        assert_eq!(signal.len, signal.buffer.len());
        self.got.push((Spid(signal.to), Spid(signal.from), signal.buffer));
    }
    fn transmit(
        &mut self,
        link: u16,
        signal: Signal<Bytes>,
    ) -> Result<(), (Refused, Signal<Bytes>)> {
        let lane = &mut self.out[usize::from(link)];
        if lane.len() >= self.room {
            return Err((Refused::Full, signal));
        }
        lane.push_back(signal);
        Ok(())
    }
}

pub struct Node {
    pub handler: Handler<Side, Bytes>,
    pub around: Around,
    /// Where each link leads: a node and its link.
    pub wires: Vec<(usize, u16)>,
    pub stalled: Vec<Option<Signal<Bytes>>>,
}

pub struct Net {
    pub nodes: Vec<Node>,
}

impl Net {
    pub fn new(count: usize, limits: Limits) -> Net {
        let world = World::new();
        let node = |n: usize| {
            let platform = world.node(&format!("p{n}"), NodeLimits::default());
            let handler = Handler::new(platform.platform(), limits).expect("storage");
            let around = Around { room: 100, ..Around::default() };
            Node { handler, around, wires: Vec::new(), stalled: Vec::new() }
        };
        Net { nodes: (0..count).map(node).collect() }
    }

    /// Links two nodes; each side has its own name for it.
    pub fn link(&mut self, a: usize, a_name: &str, b: usize, b_name: &str) {
        let at = [a, b].map(|n| self.nodes[n].wires.len() as u16);
        for (node, own, text, other, theirs) in
            [(a, at[0], a_name, b, at[1]), (b, at[1], b_name, a, at[0])]
        {
            let node = &mut self.nodes[node];
            assert_eq!(node.handler.add_link(name(text)), Ok(own));
            node.wires.push((other, theirs));
            node.stalled.push(None);
            node.around.out.push(VecDeque::new());
        }
        for (node, link) in [(a, at[0]), (b, at[1])] {
            let node = &mut self.nodes[node];
            node.handler.link_up(&mut node.around, link);
        }
    }

    pub fn cut(&mut self, node: usize, link: u16) {
        let (other, theirs) = self.nodes[node].wires[usize::from(link)];
        for (node, link) in [(node, link), (other, theirs)] {
            let node = &mut self.nodes[node];
            node.around.out[usize::from(link)].clear();
            node.handler.link_down(&mut node.around, link);
        }
    }

    /// Carries everything where it goes until nothing moves.
    pub fn settle(&mut self) {
        let mut moved = true;
        while moved {
            moved = false;
            for from in 0..self.nodes.len() {
                let node = &mut self.nodes[from];
                node.handler.attend(&mut node.around);
                for link in 0..self.nodes[from].wires.len() {
                    let (to, theirs) = self.nodes[from].wires[link];
                    let at = usize::from(theirs);
                    let next = match self.nodes[to].stalled[at].take() {
                        Some(signal) => Some(signal),
                        None => self.nodes[from].around.out[link].pop_front(),
                    };
                    let Some(signal) = next else { continue };
                    let node = &mut self.nodes[to];
                    let taken = node.handler.receive(&mut node.around, theirs, signal);
                    match taken.expect("honest") {
                        Taken::Stalled(signal) => node.stalled[at] = Some(signal),
                        _ => moved = true,
                    }
                }
            }
        }
    }

    pub fn open(&mut self, node: usize, text: &str) -> Spid {
        let node = &mut self.nodes[node];
        node.handler.open(&mut node.around, Some(name(text))).expect("free")
    }

    pub fn hunt(&mut self, node: usize, owner: Spid, path: &str) -> Result<(), HandlerError> {
        let node = &mut self.nodes[node];
        let signal = (b"hunt".to_vec(), 4);
        let path = path.parse().expect("a path");
        node.handler.hunt(&mut node.around, owner, path, signal).map_err(|error| error.0)
    }

    pub fn send(
        &mut self,
        node: usize,
        from: Spid,
        to: Spid,
        text: &str,
    ) -> Result<(), HandlerError> {
        let node = &mut self.nodes[node];
        let signal = (text.as_bytes().to_vec(), text.len());
        node.handler.send(&mut node.around, from, to, signal).map_err(|error| error.0)
    }

    pub fn attach(&mut self, node: usize, owner: Spid, to: Spid) -> Result<u32, HandlerError> {
        let node = &mut self.nodes[node];
        let signal = (b"attach".to_vec(), 6);
        node.handler.attach(&mut node.around, owner, to, signal).map_err(|error| error.0)
    }

    pub fn close(&mut self, node: usize, spid: Spid) {
        let node = &mut self.nodes[node];
        node.handler.close(&mut node.around, spid).expect("open");
    }

    /// What the endpoints of a node received since the last time: for whom, from whom, what.
    pub fn got(&mut self, node: usize) -> Vec<(Spid, Spid, String)> {
        self.settle();
        let got = std::mem::take(&mut self.nodes[node].around.got);
        let text = |bytes| String::from_utf8(bytes).expect("text");
        got.into_iter().map(|(to, from, bytes)| (to, from, text(bytes))).collect()
    }

    /// The one that a hunt just found.
    pub fn found(&mut self, node: usize, owner: Spid) -> Spid {
        let got = self.got(node);
        let [(to, from, text)] = &got[..] else { panic!("{got:?}") };
        assert_eq!((*to, text.as_str()), (owner, "hunt"));
        *from
    }
}

pub fn two() -> Net {
    let mut net = Net::new(2, Limits::default());
    net.link(0, "node1", 1, "node0");
    net
}
