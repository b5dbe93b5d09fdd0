//! A node that is linked with an honest peer and with one whose words the input writes.

use std::cell::RefCell;
use std::rc::Rc;

use narrows::endpoint::{Address, Failure, FlowId, Function, Limits, Message, Node, Select};
use narrows::link::LinkId;
use narrows::memory::Layout;
use narrows::platform::Memory;
use narrows::strategy::{Placement, Strategy};

use crate::common::heap::Heap;
use crate::common::world::{End, SECOND, Side, World, all, bytes, class, name};

/// Where words are in a region, in bytes: docs/WIRE.md.
const START: u32 = 4 * 4;
const ARMED: u32 = 512;
const CREDIT: u32 = 640;
const RETURNED: u32 = 644;
const TAKEN: u32 = 768;
const WANT: u32 = 896;
const SLOTS: u32 = 1024;
const LINE: u32 = 64;
/// Of both regions.
const COUNT: u32 = 8;
const RETURNS: u32 = 16;
/// Ports that are open at the node; the last is for the honest peer.
pub const PORTS: u16 = 3;

/// Serves what is there: the request as it came, nothing, or as many bytes as the request begins
/// with, up to more than a response may have.
fn serve(node: &mut Node<Side>) {
    node.try_serve(&mut [
        Function {
            name: name("echo"),
            run: &mut |request, response| response.write(0, &all(request)),
        },
        Function { name: name("refuse"), run: &mut |_, _| Err(Failure::Refused) },
        Function {
            name: name("long"),
            run: &mut |request, response| {
                let mut len = [0; 2];
                request.read(0, &mut len)?;
                response.write(0, &[7; 512][..usize::from(u16::from_le_bytes(len)) % 512])
            },
        },
    ]);
}

/// The node, its peers, and the region of the hostile one.
pub struct Victim {
    /// The node under attack.
    pub node: Node<Side>,
    /// The link to the hostile peer.
    pub link: LinkId,
    /// A flow to the hostile peer's function, and one to its port.
    pub flows: [FlowId; 2],
    /// What the hostile peer's stack would be if it were honest.
    pub peer: End,
    /// The hostile peer's region.
    pub region: Heap,
    own: Heap,
    honest: End,
    to_honest: LinkId,
    _world: Rc<World>,
}

fn layout() -> Layout {
    let classes = [
        class(Placement::Internal, 64, 4),
        class(Placement::External, 64, 4),
        class(Placement::External, 400, 2),
    ];
    Layout::new(LINE, COUNT, &classes).expect("possible").starting_at(u32::MAX - 20)
}

impl Victim {
    /// With flows to and from the hostile peer, set up while it was honest.
    pub fn new(strategy: Strategy) -> Victim {
        let limits = Limits { links: 2, endpoints: 8, flows: 4, inbox: 12, longest: 256 };
        let world = World::new();
        let mut node = world.node("a", limits);
        let peers = ["b", "c"].map(|name| {
            let peer = world.node(name, limits);
            peer.platform().state.layout.set(layout());
            Rc::new(RefCell::new(peer))
        });
        node.platform().state.layout.set(layout());
        let [link, to_honest] = ["b", "c"].map(|peer| node.hunt(&name(peer), SECOND).expect("up"));
        let [peer, honest] = peers;
        honest.borrow_mut().hunt(&name("a"), SECOND).expect("up");
        for port in 1..=PORTS {
            node.open(port).expect("free");
            peer.borrow_mut().open(port).expect("free");
            honest.borrow_mut().open(port).expect("free");
        }
        let end = peer.clone();
        node.platform().on_wait(move || {
            serve(&mut end.borrow_mut());
        });
        let function =
            node.open_flow(link, &name("long"), strategy, 100, SECOND).expect("it is there");
        let port =
            node.open_flow_to(Address { link, port: 1 }, strategy, SECOND).expect("it is open");
        node.platform().off_wait();
        // And from there to here, so that the tables of what peers have opened are not empty.
        let back = peer.borrow_mut().hunt(&name("a"), SECOND).expect("up");
        peer.borrow_mut().begin_flow(back, &name("echo"), strategy, 100).expect("room");
        for _ in 0..3 {
            serve(&mut peer.borrow_mut());
            serve(&mut node);
            node.poll();
        }
        let (region, own) = (world.region("b", "a"), world.region("a", "b"));
        Victim {
            node,
            link,
            flows: [function, port],
            peer,
            region,
            own,
            honest,
            to_honest,
            _world: world,
        }
    }

    /// Puts a message into the slot that the node looks at next, or behind those there.
    pub fn publish(&self, [first, ports, last]: [u32; 3], payload: &[u8]) {
        let mut number = self.region.word(START).wrapping_add(self.own.word(TAKEN));
        let slot = |number: u32| SLOTS + number % COUNT * LINE;
        for _ in 1..COUNT {
            if self.region.word(slot(number)) != number.wrapping_add(1) {
                break;
            }
            number = number.wrapping_add(1);
        }
        let at = slot(number);
        for (word, bytes) in payload.chunks(4).take(12).enumerate() {
            let mut whole = [0; 4];
            whole[..bytes.len()].copy_from_slice(bytes);
            self.region.poke(at + 16 + word as u32 * 4, u32::from_le_bytes(whole));
        }
        for (word, value) in [(1, first), (2, ports), (3, last), (0, number.wrapping_add(1))] {
            self.region.poke(at + word * 4, value);
        }
    }

    /// Writes a word anywhere in the hostile peer's region.
    pub fn poke(&self, at: u16, value: u32) {
        self.region.poke(u32::from(at) * 4 % self.region.size(), value);
    }

    /// Gives credit for `more` messages, or takes some away if that is negative.
    pub fn credit(&self, more: i8) {
        let credit = self.region.word(CREDIT);
        self.region.poke(CREDIT, credit.wrapping_add_signed(more.into()));
    }

    /// Returns a block.
    pub fn give_back(&self, block: u16) {
        let returned = self.region.word(RETURNED);
        let ring = SLOTS + COUNT * LINE;
        self.region.poke(ring + returned % RETURNS * 4, block.into());
        self.region.poke(RETURNED, returned.wrapping_add(1));
    }

    /// Sets the words that say which side sleeps.
    pub fn sleep(&self, armed: u32, want: u32) {
        self.region.poke(ARMED, armed);
        self.region.poke(WANT, want);
    }

    /// Lets the hostile peer's honest self have a turn.
    pub fn honest_turn(&self) {
        serve(&mut self.peer.borrow_mut());
    }

    /// Serves what there is.
    pub fn serve(&mut self) {
        serve(&mut self.node);
    }

    /// A message to the honest peer and one from it still arrive: nothing that happens on one link
    /// is in the way of another.
    pub fn check_other_link(&mut self) {
        let (node, honest) = (&mut self.node, &mut self.honest.borrow_mut());
        node.poll();
        node.link(self.to_honest).check().expect("the other link is up");
        let to = Address { link: self.to_honest, port: PORTS };
        let payload = bytes(40, 3);
        node.try_send(1, to, Message::new(&payload)).expect("room on the other link");
        let got = honest.try_receive(PORTS, &Select::default()).expect("open").expect("sent");
        let mut back = [0; 40];
        assert!(honest.read(&got, 0, &mut back).is_ok());
        assert!(back[..] == payload, "what was sent over the other link");
        let from = got.from;
        honest.release(got);
        let answer = Address { port: PORTS, ..from };
        honest.try_send(1, answer, Message::new(&payload)).expect("room on the other link");
        // Behind what the hostile peer has in the inbox for this port, which is bounded.
        for _ in 0..=2 * 12 {
            let got = node.try_receive(PORTS, &Select::default()).expect("open");
            let got = got.expect("the other peer's message arrives");
            let other = got.from.link == self.to_honest;
            if other {
                assert!(node.read(&got, 0, &mut back).is_ok());
                assert!(back[..] == payload, "what came over the other link");
            }
            node.release(got);
            if other {
                return;
            }
        }
        panic!("the other peer's message is behind more than an inbox holds");
    }
}
