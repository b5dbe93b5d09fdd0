//! One case: a node, an honest peer, and one that lies.

use std::rc::Rc;
use std::time::Duration;

use narrows::endpoint::{
    Address, Channel, FlowId, Lent, Limits, LinkError, Message, Node, Reserved, Select, What,
};
use narrows::link::LinkId;
use narrows::memory::{Block, Class, Corrupt, Layout};
use narrows::platform::{HuntError, Lost};
use narrows::strategy::{Placement, Strategy};

use super::turns::{Deeds, serve};
use crate::common::forge::{Forger, Lies, Random};
use crate::common::heap::{Heap, meanwhile};
use crate::common::world::{Side, World, all, bytes, class, in_use, name};

/// The port for the honest peer; the others are open to anybody.
pub const HONEST: u16 = 3;
pub const CHANNELS: u16 = 2;
const AT_ONCE: Option<Duration> = Some(Duration::ZERO);

type Pen = Forger<Heap, Heap>;

pub struct Case {
    pub random: Random,
    world: Rc<World>,
    /// The node that is lied to, an honest peer of it, and the one that lies.
    pub node: Node<Side>,
    honest: Node<Side>,
    pub liar: Node<Side>,
    to_honest: LinkId,
    from_honest: LinkId,
    flow: FlowId,
    exchanges: usize,
    pub lents: Vec<Lent>,
    /// Blocks of packets of the liar's.
    pub packets: Vec<Block>,
    pub notices: u32,
    pub reserved: Vec<Reserved>,
    pub calls: Option<FlowId>,
    /// The strategy that it was opened with.
    pub opened: Option<Strategy>,
    pub liar_calls: Option<FlowId>,
}

fn limits() -> Limits {
    Limits { links: 2, endpoints: 5, flows: 3, inbox: 12, longest: 256 }
}

fn layout(random: &Random) -> Layout {
    let classes: [Class; 3] = [
        class(Placement::Internal, 64, 3),
        class(Placement::External, 64, 4),
        class(Placement::External, 256, 2),
    ];
    let start = random.pick(&[0, u32::MAX, u32::MAX - 5, random.word()]);
    let layout = Layout::new(64, 8, &classes).expect("possible").starting_at(start);
    layout.with_channels(CHANNELS, 4).expect("possible")
}

impl Case {
    pub fn new(seed: u64) -> Case {
        let random = Random::new(seed);
        let world = World::new();
        let open = |text| {
            let mut node = world.node(text, limits());
            node.platform().state.layout.set(layout(&random));
            (1..=HONEST).for_each(|port| node.open(port).expect("free"));
            node
        };
        let (mut node, mut honest, liar) = (open("node"), open("honest"), open("liar"));
        let from_honest = honest.hunt(&name("node"), AT_ONCE).expect("it is there");
        let to_honest = node.hunt(&name("honest"), AT_ONCE).expect("it is there");
        let flow = node.begin_flow(to_honest, &name("echo"), Strategy::default(), 256);
        let flow = flow.expect("room");
        for _ in 0..2 {
            serve(&mut honest);
            node.poll();
        }
        assert_eq!(node.flow(flow).is_ready(), Ok(true));
        Case {
            random,
            world,
            node,
            honest,
            liar,
            to_honest,
            from_honest,
            flow,
            exchanges: 0,
            lents: Vec::new(),
            packets: Vec::new(),
            notices: 0,
            reserved: Vec::new(),
            calls: None,
            opened: None,
            liar_calls: None,
        }
    }

    /// Why the link to the liar ended, unless it went on to the end of the case.
    pub fn run(mut self, deeds: &mut Deeds) -> Option<Lost> {
        // One in eight tells no lie: then nothing may go wrong.
        let wicked = self.random.pick(&[0, 2, 4, 8, 8, 16, 16, 32]);
        let header = wicked > 0 && self.random.one_in(8);
        let (link, pen) = match self.link(header) {
            Ok(linked) => linked,
            Err(reason) => {
                self.exchange();
                self.end();
                return Some(reason);
            }
        };
        self.node.link(link).attach(2).expect("a place for the notice");
        let storages = self.node.platform().state.storages.get();
        let lies = self.random.pick(&[Lies::All, Lies::Messages]);
        if self.random.one_in(2) {
            self.warm_up(link);
        }
        let steps = 10 + self.random.below(50);
        for step in 0..steps {
            self.liar_turn(deeds);
            if wicked > 0 && self.random.one_in(wicked) {
                deeds.lies += 1;
                pen.lie(lies);
            }
            if wicked > 0 && self.random.one_in(2 * wicked) {
                deeds.lies += 1;
                let mut pen: Pen = pen.clone();
                pen.random = Random::new(self.random.word().into());
                meanwhile(1 + self.random.below(30), move || pen.lie(Lies::All));
            }
            self.turn(link, deeds);
            meanwhile(0, || {});
            if step % 8 == 7 {
                self.exchange();
            }
        }
        if wicked == 0 {
            assert_eq!(self.node.link(link).check(), Ok(()), "it told no lie");
        }
        let ended = self.part(link);
        assert_eq!(self.node.platform().state.storages.get(), storages, "nothing is allocated");
        if self.random.one_in(8) {
            self.meet_again();
            deeds.again += 1;
        }
        self.exchange();
        self.end();
        ended
    }

    /// Links to the liar, which changes its header while it is read if so asked.
    fn link(&mut self, header: bool) -> Result<(LinkId, Pen), Lost> {
        let world = self.world.clone();
        let random = Random::new(self.random.word().into());
        let layout = self.liar.platform().state.layout.get();
        let pen = move |random| {
            let (own, victim) = (world.region("liar", "node"), world.region("node", "liar"));
            Forger::new(random, layout, own, victim)
        };
        if header {
            let (pen, random) = (pen.clone(), random.clone());
            meanwhile(1 + self.random.below(30), move || pen(random).header());
        }
        let found = self.node.hunt(&name("liar"), AT_ONCE);
        meanwhile(0, || {});
        self.liar.poll();
        match found {
            Ok(link) => Ok((link, pen(random))),
            Err(LinkError::Hunt(HuntError::Incompatible)) => Err(Lost::Corrupt(Corrupt::Header)),
            // Its first message already was none.
            Err(LinkError::Gone(reason)) => Err(reason),
            Err(other) => panic!("{other:?}"),
        }
    }

    /// Flows are open both ways before the first lie.
    fn warm_up(&mut self, link: LinkId) {
        let Some((back, _)) = self.liar.links().next() else { return };
        let strategies = [self.strategy(), self.strategy()];
        self.opened = Some(strategies[0]);
        self.calls = self.node.begin_flow(link, &name("echo"), strategies[0], 256).ok();
        self.liar_calls = self.liar.begin_flow(back, &name("echo"), strategies[1], 256).ok();
        for _ in 0..3 {
            serve(&mut self.liar);
            serve(&mut self.node);
        }
    }

    /// What an honest peer sends and is sent arrives at once and whole.
    fn exchange(&mut self) {
        let number = self.exchanges;
        self.exchanges += 1;
        let payload = bytes(if number.is_multiple_of(2) { 24 } else { 200 }, number);
        let tag = number as u16;
        let to_node = Address { link: self.from_honest, port: HONEST };
        let to_honest = Address { link: self.to_honest, port: HONEST };
        let check = |node: &mut Node<Side>, link| {
            if number.is_multiple_of(3) {
                // Others may send to the port too: no more than their inbox and ring hold.
                let mut to = [0; 256];
                let mut any = || node.try_receive_into(HONEST, &mut to).expect("open");
                let mut got = any();
                for _ in 0..40 {
                    if got.is_some_and(|got| got.from.link != link) {
                        got = any();
                    }
                }
                let got = got.expect("it came at once");
                assert_eq!((got.from.link, got.tag, got.len), (link, tag, payload.len()));
                assert!(to[..got.len] == payload);
                return;
            }
            let of = Select { link: Some(link), ..Select::default() };
            let got = node.try_receive(HONEST, &of).expect("open").expect("it came at once");
            assert_eq!((got.what, got.tag, got.len), (What::Message, tag, payload.len()));
            let whole = node.read_in_place(&got, |source| all(source));
            assert!(whole.as_ref() == Some(&payload));
            node.release(got);
        };
        let message = || Message::new(&payload).tag(tag);
        self.honest.try_send(HONEST, to_node, message()).expect("room");
        check(&mut self.node, self.to_honest);
        self.node.try_send(HONEST, to_honest, message()).expect("room");
        check(&mut self.honest, self.from_honest);
        self.node.flow(self.flow).start(&payload).expect("room");
        serve(&mut self.honest);
        let mut answer = Vec::new();
        let done = self.node.flow(self.flow).complete(|_, source| answer = all(source));
        assert_eq!((done, answer), (Ok(1), payload));
    }

    /// The liar's end: this node knows why, is told, and has all its blocks back.
    fn part(&mut self, link: LinkId) -> Option<Lost> {
        let before = self.node.link(link).check();
        self.world.kill("liar");
        self.node.poll();
        let Err(LinkError::Gone(reason)) = self.node.link(link).check() else {
            panic!("it is dead and the link is up");
        };
        if self.random.one_in(3) {
            self.leave(link);
        } else {
            self.settle(link, reason);
        }
        match before {
            Ok(()) => None,
            Err(LinkError::Gone(why)) => Some(why),
            Err(other) => panic!("{other:?}"),
        }
    }

    /// Takes what is left of a link that has ended, and closes it.
    fn settle(&mut self, link: LinkId, reason: Lost) {
        for ring in 0..CHANNELS {
            let from = Channel { link, ring };
            let taken = (0..9).take_while(|_| self.take(from).is_some()).count();
            assert!(taken <= 4, "no more than the ring holds");
        }
        for block in std::mem::take(&mut self.packets) {
            self.node.channel(Channel { link, ring: 0 }).release(block);
        }
        for lent in std::mem::take(&mut self.lents) {
            self.look_at(&lent);
            self.node.release(lent);
        }
        // What is left: the ring and the inbox hold no more than this.
        let of = Select { link: Some(link), ..Select::default() };
        for _ in 0..40 {
            let (notices, mut deeds) = (self.notices, Deeds::default());
            self.complete(&mut deeds);
            for port in 1..=HONEST {
                while let Some(lent) = self.node.try_receive(port, &of).expect("open") {
                    if let What::PeerGone(why) = lent.what {
                        assert_eq!(why, reason);
                        self.notices += 1;
                    }
                    self.look_at(&lent);
                    self.node.release(lent);
                    deeds.messages += 1;
                }
            }
            if notices == 1 && deeds.messages + deeds.responses == 0 {
                break;
            }
        }
        assert_eq!(self.notices, 1, "the notice of the end");
        let held = self.reserved.len() as u32;
        assert_eq!(self.node.link(link).blocks_in_use(), Ok((0, held)));
        let reserved = std::mem::take(&mut self.reserved);
        reserved.into_iter().for_each(|reserved| self.node.cancel(reserved));
        assert_eq!(self.node.link(link).blocks_in_use(), Ok((0, 0)));
        let back = self.node.link(link).undelivered(|descriptor, source| {
            assert_eq!(all(source).len(), descriptor.len as usize);
        });
        assert!(back.expect("a link") <= 8, "no more than the ring holds");
        self.node.link(link).close();
        assert_eq!(self.node.link(link).check(), Err(LinkError::Unknown));
    }

    /// Closes a link that has ended with all that is left of it.
    fn leave(&mut self, link: LinkId) {
        self.node.link(link).close();
        assert_eq!(self.node.link(link).check(), Err(LinkError::Unknown));
        for lent in std::mem::take(&mut self.lents) {
            assert!(self.node.read(&lent, 0, &mut []).is_err());
            self.node.release(lent);
        }
        let reserved = std::mem::take(&mut self.reserved);
        reserved.into_iter().for_each(|reserved| self.node.cancel(reserved));
        for port in 1..=HONEST {
            assert_eq!(self.node.try_receive(port, &Select::default()), Ok(None));
        }
        assert_eq!(serve(&mut self.node), 0);
        if let Some(flow) = self.calls {
            assert_eq!(self.node.flow(flow).outstanding(), None, "its flows went with it");
        }
    }

    /// The liar's next life is honest and finds nothing amiss.
    fn meet_again(&mut self) {
        let mut other = self.world.node("liar", limits());
        other.open(1).expect("free");
        let link = self.node.hunt(&name("liar"), AT_ONCE).expect("it is there");
        let back = other.hunt(&name("node"), AT_ONCE).expect("it is there");
        self.node.try_send(1, Address { link, port: 1 }, b"again").expect("room");
        let got = other.try_receive(1, &Select::default()).expect("open").expect("sent");
        other.release(got);
        let flow = other.begin_flow(back, &name("echo"), Strategy::default(), 256).expect("room");
        for _ in 0..2 {
            serve(&mut self.node);
            other.poll();
        }
        other.flow(flow).start(b"once more").expect("room");
        serve(&mut self.node);
        let mut answer = Vec::new();
        assert_eq!(other.flow(flow).complete(|_, source| answer = all(source)), Ok(1));
        assert_eq!(answer, b"once more");
        self.node.link(link).close();
    }

    /// The honest link has all it lent.
    fn end(&mut self) {
        assert_eq!(in_use(&mut self.node, self.to_honest), (0, 0), "lent to the honest peer");
        assert_eq!(in_use(&mut self.honest, self.from_honest), (0, 0), "lent by it");
        assert_eq!(self.node.links().count(), 1);
    }
}
