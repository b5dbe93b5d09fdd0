//! Two linked nodes, and what serves on one of them.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use narrows::endpoint::{
    Address, FlowId, Function, Lent, Limits, Message, Node, Select, SendError, Sink, Source,
};
use narrows::link::LinkId;
use narrows::strategy::Strategy;

use super::ground::bury;
use super::world::{Side, State, World, name};

pub type End = Rc<RefCell<Node<Side>>>;

/// Two nodes with a link between them: `a`, which a test drives, and `b`, which serves.
pub struct Pair {
    pub world: Rc<World>,
    pub a: Node<Side>,
    pub b: End,
    /// The link as `a` and as `b` name it.
    pub to_b: LinkId,
    pub to_a: LinkId,
}

pub fn pair() -> Pair {
    pair_with(Limits::default(), Limits::default(), |_| {})
}

/// A pair of nodes of these limits; `prepare` sees each platform before they are linked.
pub fn pair_with(a: Limits, b: Limits, prepare: impl Fn(&State)) -> Pair {
    let world = World::new();
    let (mut a, mut b) = (world.node("a", a), world.node("b", b));
    prepare(&a.platform().state);
    prepare(&b.platform().state);
    let to_b = a.hunt(&name("b"), None).expect("b is there");
    let to_a = b.hunt(&name("a"), None).expect("a is there");
    let b = Rc::new(RefCell::new(b));
    let end = b.clone();
    a.platform().on_wait(move || {
        serve(&mut end.borrow_mut());
    });
    Pair { world, a, b, to_b, to_a }
}

/// A pair with ports 1 to 3 open on both sides.
pub fn open() -> Pair {
    opened(pair())
}

pub fn opened(mut pair: Pair) -> Pair {
    for port in 1..4 {
        pair.a.open(port).expect("free");
        pair.b.borrow_mut().open(port).expect("free");
    }
    pair
}

impl Pair {
    pub fn b_port(&self, port: u16) -> Address {
        Address { link: self.to_b, port }
    }
    pub fn send(&mut self, priority: u8, tag: u16, payload: &[u8]) -> Result<(), SendError> {
        let to = self.b_port(1);
        self.a.try_send(1, to, Message::new(payload).priority(priority).tag(tag))
    }
    pub fn tags(&mut self, select: &Select) -> Vec<u16> {
        let mut b = self.b.borrow_mut();
        let mut tags = Vec::new();
        while let Some(message) = b.try_receive(1, select).expect("open") {
            tags.push(message.tag);
            b.release(message);
        }
        tags
    }
    /// The next message at b, and its bytes.
    pub fn next(&mut self) -> (Lent, Vec<u8>) {
        let mut b = self.b.borrow_mut();
        let message = b.try_receive(1, &Select::default()).expect("open").expect("sent");
        let mut got = vec![0; message.len];
        assert!(b.read(&message, 0, &mut got).is_ok());
        (message, got)
    }
}

impl Pair {
    pub fn flow(&mut self, function: &str, strategy: Strategy, longest: u32) -> FlowId {
        let opened = self.a.open_flow(self.to_b, &name(function), strategy, longest, SECOND);
        opened.expect("the function is there")
    }

    /// Ends the life of `b` in the middle of whatever it does; `a` is told.
    pub fn kill_b(&mut self) {
        self.bury_b();
        self.a.poll();
    }

    /// As [`Pair::kill_b`], and `a` has not seen it yet.
    pub fn bury_b(&mut self) {
        self.a.platform().off_wait();
        let ghost = self.world.node("ghost", Limits::default());
        bury(&self.world, "b", self.b.replace(ghost));
    }

    /// As [`Pair::kill_b`], the other way round.
    pub fn kill_a(&mut self) {
        let ghost = self.world.node("ghost", Limits::default());
        bury(&self.world, "a", std::mem::replace(&mut self.a, ghost));
        self.b.borrow_mut().poll();
    }

    /// Nothing is lent or held on either side, once both have caught up.
    pub fn check_empty(&mut self) {
        for _ in 0..3 {
            serve(&mut self.b.borrow_mut());
            self.a.poll();
            self.a.arm();
            self.a.disarm();
            let mut b = self.b.borrow_mut();
            b.arm();
            b.disarm();
        }
        assert_eq!(in_use(&mut self.a, self.to_b), (0, 0), "blocks of a");
        assert_eq!(in_use(&mut self.b.borrow_mut(), self.to_a), (0, 0), "blocks of b");
    }
}

/// Blocks lent and held, with what the peer has returned taken into account.
pub fn in_use(node: &mut Node<Side>, link: LinkId) -> (u32, u32) {
    node.link(link).reclaim();
    node.link(link).blocks_in_use().expect("a link")
}

pub const SECOND: Option<Duration> = Some(Duration::from_secs(1));

pub fn bytes(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + seed * 7 + i / 256) as u8).collect()
}

pub fn all(source: &dyn Source) -> Vec<u8> {
    let mut bytes = vec![0; source.len()];
    source.read(0, &mut bytes).expect("all of it");
    bytes
}

/// Serves what is there with the functions `echo`, `refuse`, `long` (as many bytes as the request's
/// first word says) and `count` (how often it ran).
pub fn serve(node: &mut Node<Side>) -> usize {
    use narrows::endpoint::Failure;
    let mut echo = |request: &dyn Source, response: &mut dyn Sink| response.write(0, &all(request));
    let mut refuse = |_: &dyn Source, response: &mut dyn Sink| {
        response.write(0, b"half")?;
        Err(Failure::Refused)
    };
    let mut long = |request: &dyn Source, response: &mut dyn Sink| {
        let mut word = [0; 4];
        request.read(0, &mut word)?;
        response.write(0, &bytes(u32::from_le_bytes(word) as usize, 5))
    };
    node.try_serve(&mut [
        Function { name: name("echo"), run: &mut echo },
        Function { name: name("refuse"), run: &mut refuse },
        Function { name: name("long"), run: &mut long },
    ])
}
