//! A node with an honest link: what has to go on as if nothing were.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use narrows::endpoint::{Address, Limits, Message, Select};
use narrows::link::LinkId;
use narrows::memory::{Class, Layout};
use narrows::platform::{Connected, Event, Platform, Wait};
use narrows::strategy::Placement;
use narrows_host::{Host, Node, Options};

use crate::common::{PATIENCE, no_words};

/// Links that the node has places for.
pub const LINKS: usize = 4;

pub fn layout() -> Layout {
    let class = |placement, size, count| Class { placement, size, count };
    let classes = [class(Placement::Internal, 64, 4), class(Placement::External, 1024, 4)];
    Layout::new(narrows_host::LINE, 16, &classes).unwrap()
}

pub fn open(directory: &Path, name: &str) -> Host {
    Options::new(name).directory(directory).layout(layout()).open().unwrap()
}

pub fn node(directory: &Path, name: &str) -> Node {
    let limits = Limits { links: LINKS, inbox: 32, ..Limits::default() };
    let mut node = Node::new(open(directory, name), limits).unwrap();
    node.open(1).unwrap();
    node.open(2).unwrap();
    node
}

/// The link that a platform got, if it did.
pub fn connection(host: &Host) -> Option<Connected<Host>> {
    host.wait(no_words(), Wait::Timer, Some(host.now()));
    match host.event() {
        Some(Ok(Event::Connected(news))) => Some(news),
        _ => None,
    }
}

/// Lets a node do what it has to, without waiting.
pub fn turn(node: &mut Node) {
    node.platform().wait(no_words(), Wait::Timer, Some(node.platform().now()));
    node.poll();
    for port in [1, 2] {
        while let Some(lent) = node.try_receive(port, &Select::default()).unwrap() {
            let mut to = vec![0; lent.len];
            node.read(&lent, 0, &mut to).unwrap();
            node.release(lent);
        }
    }
    node.try_serve(&mut []);
}

/// The node, an honest peer of it and the link between them, and what else there is to break.
pub struct Scene<'a> {
    pub directory: &'a Path,
    pub a: Node,
    pub b: Node,
    pub to_a: LinkId,
    pub to_b: LinkId,
    pub exchanges: u16,
    /// A region that is as it should be.
    pub region: Vec<u8>,
    pub deeds: BTreeMap<&'static str, u64>,
}

impl Scene<'_> {
    pub fn did(&mut self, what: &'static str) {
        *self.deeds.entry(what).or_default() += 1;
    }

    /// What honest peers send each other comes through, whole and in order.
    pub fn exchange(&mut self) {
        self.exchanges = self.exchanges.wrapping_add(1);
        let payload = [self.exchanges as u8; 200];
        let len = if self.exchanges.is_multiple_of(2) { 30 } else { 200 };
        for to_b in [true, false] {
            let (from, to, over, back) = if to_b {
                (&mut self.a, &mut self.b, self.to_b, self.to_a)
            } else {
                (&mut self.b, &mut self.a, self.to_a, self.to_b)
            };
            let message = Message::new(&payload[..len]).tag(self.exchanges);
            from.try_send(2, Address { link: over, port: 2 }, message).unwrap();
            let of = Select { link: Some(back), ..Select::default() };
            let got = to.try_receive(2, &of).unwrap().expect("it came at once");
            let mut bytes = [0; 200];
            to.read(&got, 0, &mut bytes[..len]).unwrap();
            assert_eq!((got.tag, got.len, &bytes[..len]), (self.exchanges, len, &payload[..len]));
            to.release(got);
        }
    }

    /// Lets both do what they have to until `done`.
    #[track_caller]
    pub fn until(&mut self, mut done: impl FnMut(&mut Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !done(self) {
            turn(&mut self.a);
            turn(&mut self.b);
            assert!(Instant::now() < deadline, "it does not happen");
        }
    }

    /// Closes the links that are not the honest one's.
    pub fn close_others(&mut self) {
        let others: Vec<LinkId> =
            self.a.links().map(|(link, _)| link).filter(|link| *link != self.to_b).collect();
        others.into_iter().for_each(|link| self.a.link(link).close());
    }
}
