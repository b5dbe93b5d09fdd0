//! Messages over several links when every buffer is full: `narrows/src/link/route` itself, with
//! nodes and links around it that do what `mqx/{ipc,hear,speak}` do. Each link carries one frame at
//! a time each way.

use std::sync::Arc;

use narrows::link::route::{Range, Relay, Slot, Table};
use stateright::{Model, Property};

/// A rule of the code that a self-test leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    Nothing,
    /// All messages are of one class, however many hops they have made.
    Classes,
    /// `speak` tells credit with messages only.
    Owes,
    /// `speak` tells what was taken with messages only.
    Soon,
    /// `arrived` does not ask whether a message has come before.
    Seen,
    /// `disconnect` sends nothing another way.
    Orphan,
}

pub struct Relaying {
    /// Pairs of adjacent nodes.
    pub adjacent: Vec<(u8, u8)>,
    /// Whether messages go to the node whose number is the next higher, whatever is shorter.
    pub around: bool,
    /// What each node sends, in order: to which node.
    pub sends: Vec<Vec<u8>>,
    pub hops: u8,
    pub quota: u16,
    pub cuts: u8,
    pub broken: Broken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    number: u8,
    to: u8,
    hops: u8,
    /// The link by which it came.
    came: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    message: Option<(Token, bool)>,
    taken: u16,
    credit: Vec<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    relay: Relay<Token, Vec<Slot<Token>>>,
    /// Of each link: messages that came, and whether the neighbour wants to know that at once.
    came: Vec<u16>,
    soon: Vec<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    nodes: Vec<Arc<Node>>,
    /// Of each pair of adjacent nodes: what is on its way from the first to the second, and back;
    /// nothing if the link is cut.
    wires: Vec<Option<[Option<Frame>; 2]>>,
    sent: Vec<usize>,
    /// Messages that arrived or were dropped, a bit for each.
    arrived: u32,
    dropped: u32,
    cuts: u8,
    wrong: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A program of a node sends its next message.
    Program(usize),
    /// `speak` of a node for a link.
    Speak(usize, usize),
    /// `hear` of a node for a link.
    Hear(usize, usize),
    Cut(usize),
    Mend(usize),
}

impl Relaying {
    /// The links of a node: each with its pair, its side there and the neighbour.
    fn links(&self, node: usize) -> Vec<(usize, usize, u8)> {
        let number = node as u8 + 1;
        let pairs = self.adjacent.iter().enumerate();
        let side = pairs.filter_map(|(pair, &(a, b))| match () {
            () if a == number => Some((pair, 0, b)),
            () if b == number => Some((pair, 1, a)),
            () => None,
        });
        side.collect()
    }

    fn table(&self, node: usize) -> Table {
        let neighbours: Vec<u8> = self.links(node).iter().map(|link| link.2).collect();
        let mut table = Table::new(node as u8 + 1, &neighbours, &self.adjacent);
        let next = (node + 1) % self.sends.len();
        let link = neighbours.iter().position(|&n| usize::from(n) == next + 1);
        if let (true, Some(link)) = (self.around, link) {
            let all = Range { from: 1, to: u8::MAX, link: link as u8 };
            table.prefer(all).expect("a place for one");
        }
        table
    }

    /// How many messages all nodes send.
    fn all(&self) -> u32 {
        (1 << self.sends.iter().map(Vec::len).sum::<usize>()) - 1
    }

    fn class(&self, hops: u8) -> u8 {
        if self.broken == Broken::Classes { hops.min(1) } else { hops }
    }

    /// `pass`: has a message wait for the link that leads on.
    fn pass(&self, s: &mut State, node: usize, token: Token) {
        let links = self.links(node);
        let up = |link: usize| s.wires[links[link].0].is_some();
        let link = self.table(node).choose(token.to, token.came.map(usize::from), up);
        // Without classes, a message of a buffer waits for another buffer like it.
        let class = if self.broken == Broken::Classes { 0 } else { token.hops };
        let relay = &mut Arc::make_mut(&mut s.nodes[node]).relay;
        let passed = token.hops < self.hops
            && link.is_some_and(|link| relay.push(link, class, 0, token).is_ok());
        if !passed {
            self.free(s, node, token);
            s.dropped |= 1 << token.number;
        }
    }

    /// `put`: the buffer of a message is free.
    fn free(&self, s: &mut State, node: usize, token: Token) {
        if let Some(link) = token.came {
            let relay = &mut Arc::make_mut(&mut s.nodes[node]).relay;
            relay.free(usize::from(link), self.class(token.hops));
        }
    }

    fn frame(&self, node: &mut Node, link: usize, message: Option<(Token, bool)>) -> Frame {
        let credit = (1..=self.hops).map(|class| node.relay.may(link, class)).collect();
        node.relay.told(link);
        node.soon[link] = false;
        Frame { message, taken: node.came[link], credit }
    }

    fn speak(&self, s: &mut State, place: usize, link: usize) -> Option<()> {
        let (pair, side, _) = *self.links(place).get(link)?;
        s.wires[pair].as_ref()?[side].is_none().then_some(())?;
        let node = Arc::make_mut(&mut s.nodes[place]);
        let owes = node.relay.owes(link) && self.broken != Broken::Owes;
        let soon = node.soon[link] && self.broken != Broken::Soon;
        let frame = match node.relay.next(link) {
            Some(token) => {
                let low = |came| node.relay.is_low(usize::from(came), self.class(token.hops));
                let soon = token.came.is_some_and(low);
                node.relay.begin(link);
                let sent = Token { hops: token.hops + 1, ..token };
                self.frame(node, link, Some((sent, soon)))
            }
            None if owes || soon => self.frame(node, link, None),
            None => return None,
        };
        s.wires[pair].as_mut()?[side] = Some(frame);
        Some(())
    }

    fn hear(&self, s: &mut State, place: usize, link: usize) -> Option<()> {
        let (pair, side, _) = *self.links(place).get(link)?;
        let frame = s.wires[pair].as_mut()?[1 - side].take()?;
        let node = Arc::make_mut(&mut s.nodes[place]);
        for (class, credit) in (1..).zip(frame.credit) {
            if node.relay.allow(link, class, credit).is_err() {
                s.wrong = Some("credit was taken back");
            }
        }
        let mut taken = Vec::new();
        loop {
            match node.relay.taken(link, frame.taken) {
                Ok(Some(token)) => taken.push(token),
                Ok(None) => break,
                Err(_) => {
                    s.wrong = Some("more was taken than was sent");
                    break;
                }
            }
        }
        taken.into_iter().for_each(|token| self.free(s, place, token));
        let Some((mut token, soon)) = frame.message else { return Some(()) };
        let node = Arc::make_mut(&mut s.nodes[place]);
        if node.relay.take(link, self.class(token.hops)).is_err() {
            s.wrong = Some("a message without credit");
        }
        node.came[link] += 1;
        node.soon[link] |= soon;
        token.came = Some(link as u8);
        if usize::from(token.to) != place + 1 {
            self.pass(s, place, token);
            return Some(());
        }
        self.free(s, place, token);
        let before = s.arrived & 1 << token.number != 0;
        if before && self.broken == Broken::Seen {
            s.wrong = Some("a message came twice");
        }
        s.arrived |= 1 << token.number;
        Some(())
    }

    fn cut(&self, s: &mut State, pair: usize) -> Option<()> {
        s.wires[pair].take()?;
        s.cuts = s.cuts.checked_sub(1)?;
        let (a, b) = self.adjacent[pair];
        for place in [a, b].map(|number| usize::from(number) - 1) {
            let link = self.links(place).iter().position(|link| link.0 == pair)?;
            loop {
                let relay = &mut Arc::make_mut(&mut s.nodes[place]).relay;
                let Some(orphan) = relay.orphan(link) else { break };
                if self.broken == Broken::Orphan {
                    self.free(s, place, orphan.token);
                } else {
                    self.pass(s, place, orphan.token);
                }
            }
        }
        Some(())
    }

    fn mend(&self, s: &mut State, pair: usize) -> Option<()> {
        s.wires[pair].is_none().then_some(())?;
        let (a, b) = self.adjacent[pair];
        let hello = [a, b].map(|number| {
            let place = usize::from(number) - 1;
            let link = self.links(place).iter().position(|link| link.0 == pair)?;
            let node = Arc::make_mut(&mut s.nodes[place]);
            node.relay.join(link);
            node.came[link] = 0;
            Some(self.frame(node, link, None))
        });
        s.wires[pair] = Some(hello);
        Some(())
    }
}

impl Relaying {
    /// Whether every message arrived or was dropped.
    pub fn is_done(&self, s: &State) -> bool {
        s.arrived | s.dropped == self.all()
    }
}

impl Model for Relaying {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let node = |place| {
            let links = self.links(place).len();
            let room = links * usize::from(self.hops) * usize::from(self.quota);
            let slots = vec![Slot::FREE; room + self.sends[place].len()];
            let relay = Relay::new(slots, self.hops, self.quota);
            Arc::new(Node { relay, came: vec![0; links], soon: vec![false; links] })
        };
        let mut state = State {
            nodes: (0..self.sends.len()).map(node).collect(),
            wires: vec![None; self.adjacent.len()],
            sent: vec![0; self.sends.len()],
            arrived: 0,
            dropped: 0,
            cuts: self.cuts,
            wrong: None,
        };
        for pair in 0..self.adjacent.len() {
            let _ = self.mend(&mut state, pair);
        }
        vec![state]
    }

    fn actions(&self, s: &State, steps: &mut Vec<Step>) {
        // With cuts a message may still come once more.
        if s.wrong.is_some() || (self.cuts == 0 && self.is_done(s)) {
            return;
        }
        for place in 0..s.nodes.len() {
            steps.push(Step::Program(place));
            for link in 0..self.links(place).len() {
                steps.extend([Step::Speak(place, link), Step::Hear(place, link)]);
            }
        }
        if self.cuts > 0 {
            steps.extend((0..self.adjacent.len()).flat_map(|p| [Step::Cut(p), Step::Mend(p)]));
        }
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        let mut s = last.clone();
        match step {
            Step::Program(place) => {
                let &to = self.sends[place].get(s.sent[place])?;
                let before: usize = self.sends[..place].iter().map(Vec::len).sum();
                let number = (before + s.sent[place]) as u8;
                s.sent[place] += 1;
                self.pass(&mut s, place, Token { number, to, hops: 0, came: None });
            }
            Step::Speak(place, link) => self.speak(&mut s, place, link)?,
            Step::Hear(place, link) => self.hear(&mut s, place, link)?,
            Step::Cut(pair) => self.cut(&mut s, pair)?,
            Step::Mend(pair) => self.mend(&mut s, pair)?,
        }
        Some(s)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(
                "no node looks like a liar, and nothing comes twice",
                |_, s: &State| s.wrong.is_none(),
            ),
            Property::always("nothing is dropped while no link is cut", |model, s: &State| {
                s.dropped == 0 || s.cuts < model.cuts
            }),
        ]
    }
}
