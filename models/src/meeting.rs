//! How nodes meet: `narrows-host/src/rendezvous` in the abstract. A node hunts others, dies between
//! any two steps, and starts again under its name. Beside each action is the function it stands
//! for.

use stateright::{Model, Property};

/// A rule of the code that a self-test leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    Nothing,
    /// `answer` does not look for a link with the same name.
    OldLink,
    /// `answer` keeps this node's own greeting.
    OwnGreeting,
    /// `answer` drops this node's own greeting before its HELLO has gone.
    Early,
    /// `answer` takes its own HELLO for sent when the peer is gone.
    FailedSend,
    /// `hear` does not tell that a link's peer is gone.
    Death,
    /// `hear` gives a hunt up that was told *again*.
    PutOff,
    /// `answer` says *again* whenever its own greeting is under way, whichever name comes first.
    FirstName,
}

pub struct Meeting {
    /// Whom each node hunts.
    pub hunts: Vec<Vec<usize>>,
    pub deaths: u8,
    /// How often nodes may say *again* for reasons of their own: no descriptor, no memory.
    pub refusals: u8,
    pub broken: Broken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Packet {
    Hello { name: usize, life: u8 },
    Again,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Connected and not greeted: its node is inside `look_for`.
    Connected(usize),
    Stranger,
    Greeted(usize),
    Linked {
        name: usize,
        life: u8,
    },
}

/// A socket: the end that connected is 0, the one that it connected to is 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Socket {
    owner: [usize; 2],
    open: [bool; 2],
    stage: [Option<Stage>; 2],
    /// What waits to be received by either end.
    inbox: [Vec<Packet>; 2],
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    alive: bool,
    life: u8,
    hunting: Vec<bool>,
    /// Hunts that ended without a link.
    given_up: Vec<bool>,
    /// The last life of each name whose end was told.
    ended: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub processes: Vec<Process>,
    pub sockets: Vec<Option<Socket>>,
    deaths: u8,
    refusals: u8,
    /// A link was told to be up with a life whose end had been told.
    late: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `Rendezvous::hunt`.
    Hunt(usize, usize),
    /// `look_for`, up to `Directory::connect`.
    Connect(usize, usize),
    /// `look_for`, from `packet::greet` on.
    Greet(usize),
    /// `accept`.
    Accept(usize),
    /// `accept`, where it can only say *again*.
    Refuse(usize),
    /// `hear`, `answer`, `complete`.
    Hear(usize, usize),
    /// The kernel closes what a killed process had open.
    Die(usize),
    /// `Directory::bind` in a new process.
    Start(usize),
}

impl State {
    fn link(&self, node: usize, name: usize) -> Vec<(usize, usize, u8)> {
        let mut links = Vec::new();
        for (at, socket) in self.sockets.iter().enumerate() {
            let Some(socket) = socket else { continue };
            for end in 0..2 {
                match socket.stage[end] {
                    Some(Stage::Linked { name: with, life })
                        if socket.owner[end] == node && with == name =>
                    {
                        links.push((at, end, life));
                    }
                    _ => {}
                }
            }
        }
        links
    }

    fn greeting(&self, node: usize, name: usize) -> Option<usize> {
        let greets = |s: &Socket| {
            s.owner[0] == node
                && matches!(s.stage[0], Some(Stage::Greeted(n) | Stage::Connected(n)) if n == name)
        };
        self.sockets.iter().position(|s| s.as_ref().is_some_and(greets))
    }

    /// Whether a node is between the two system calls of `look_for`.
    fn busy(&self, node: usize) -> bool {
        self.sockets
            .iter()
            .flatten()
            .any(|s| s.owner[0] == node && matches!(s.stage[0], Some(Stage::Connected(_))))
    }

    /// Closes one end: `remove`.
    fn close(&mut self, at: usize, end: usize) {
        let Some(socket) = &mut self.sockets[at] else { return };
        socket.open[end] = false;
        socket.stage[end] = None;
        socket.inbox[end].clear();
        if socket.open == [false; 2] {
            self.sockets[at] = None;
        }
    }

    /// Sends a packet to the other end; false if that is closed.
    fn send(&mut self, at: usize, end: usize, packet: Packet) -> bool {
        let Some(socket) = &mut self.sockets[at] else { return false };
        let open = socket.open[1 - end];
        if open {
            socket.inbox[1 - end].push(packet);
        }
        open
    }

    /// `link_up`.
    fn up(&mut self, at: usize, end: usize, name: usize, life: u8) {
        let Some(socket) = &mut self.sockets[at] else { return };
        socket.stage[end] = Some(Stage::Linked { name, life });
        let process = &mut self.processes[socket.owner[end]];
        process.hunting[name] = false;
        self.late |= life <= process.ended[name];
    }

    pub fn processes_live(&self) -> bool {
        self.processes.iter().all(|process| process.alive)
    }

    /// Whether every hunter that lives has a link with each living node it hunts, and both ends of
    /// it are the same socket.
    pub fn met(&self, hunts: &[Vec<usize>]) -> bool {
        hunts.iter().enumerate().all(|(node, names)| {
            names.iter().all(|&name| {
                let [a, b] = [&self.processes[node], &self.processes[name]];
                !a.alive || !b.alive || {
                    let (mine, others) = (self.link(node, name), self.link(name, node));
                    match (&mine[..], &others[..]) {
                        (&[(at, _, life)], &[(there, _, of)]) => {
                            at == there && life == b.life && of == a.life
                        }
                        _ => false,
                    }
                }
            })
        })
    }
}

impl Meeting {
    fn hear(&self, s: &mut State, at: usize, end: usize) {
        let Some(socket) = &mut s.sockets[at] else { return };
        let Some(stage) = socket.stage[end] else { return };
        let (node, gone) = (socket.owner[end], !socket.open[1 - end]);
        let packet = (!socket.inbox[end].is_empty()).then(|| socket.inbox[end].remove(0));
        match (stage, packet) {
            (_, None) if !gone => {}
            (Stage::Linked { name, life }, _) => {
                if self.broken != Broken::Death {
                    // Nobody closes a link here, so only the end of a life ends one.
                    s.late |= s.processes[name].alive && s.processes[name].life == life;
                    s.processes[node].ended[name] = life;
                    s.close(at, end);
                }
            }
            (Stage::Stranger, Some(Packet::Hello { name, life })) => {
                self.answer(s, at, node, name, life);
            }
            (Stage::Greeted(_), Some(Packet::Hello { name, life })) => s.up(at, end, name, life),
            (Stage::Greeted(name), _) => {
                if self.broken == Broken::PutOff {
                    s.processes[node].hunting[name] = false;
                    s.processes[node].given_up[name] = true;
                }
                s.close(at, end);
            }
            _ => s.close(at, end),
        }
    }

    fn answer(&self, s: &mut State, at: usize, node: usize, name: usize, life: u8) {
        if self.broken != Broken::OldLink
            && let Some(&(old, end, _)) = s.link(node, name).first()
        {
            self.hear(s, old, end);
            if !s.link(node, name).is_empty() {
                s.send(at, 1, Packet::Again);
                return s.close(at, 1);
            }
        }
        let greeted = s.greeting(node, name);
        if greeted.is_some() && (node < name || self.broken == Broken::FirstName) {
            s.send(at, 1, Packet::Again);
            return s.close(at, 1);
        }
        if self.broken == Broken::Early
            && let Some(greeted) = greeted
        {
            s.close(greeted, 0);
        }
        let hello = Packet::Hello { name: node, life: s.processes[node].life };
        if s.send(at, 1, hello) || self.broken == Broken::FailedSend {
            if let Some(greeted) = greeted.filter(|_| self.broken != Broken::OwnGreeting) {
                s.close(greeted, 0);
            }
            s.up(at, 1, name, life);
        } else {
            s.close(at, 1);
        }
    }
}

impl Model for Meeting {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let n = self.hunts.len();
        let process = Process {
            alive: true,
            life: 1,
            hunting: vec![false; n],
            given_up: vec![false; n],
            ended: vec![0; n],
        };
        vec![State {
            processes: vec![process; n],
            sockets: vec![],
            deaths: 0,
            refusals: 0,
            late: false,
        }]
    }

    fn actions(&self, s: &State, steps: &mut Vec<Step>) {
        for (node, process) in s.processes.iter().enumerate() {
            if !process.alive {
                steps.push(Step::Start(node));
                continue;
            }
            if s.deaths < self.deaths {
                steps.push(Step::Die(node));
            }
            if s.busy(node) {
                steps.push(Step::Greet(node));
                continue;
            }
            for &name in &self.hunts[node] {
                let hunting = process.hunting[name];
                if !hunting && !process.given_up[name] && s.link(node, name).is_empty() {
                    steps.push(Step::Hunt(node, name));
                }
                if hunting && s.greeting(node, name).is_none() && s.processes[name].alive {
                    steps.push(Step::Connect(node, name));
                }
            }
            let waits = |x: &Socket| x.owner[1] == node && x.open[1] && x.stage[1].is_none();
            if s.sockets.iter().flatten().any(waits) {
                steps.push(Step::Accept(node));
                if s.refusals < self.refusals {
                    steps.push(Step::Refuse(node));
                }
            }
            for (at, socket) in s.sockets.iter().enumerate() {
                let Some(socket) = socket else { continue };
                for end in 0..2 {
                    let news = !socket.inbox[end].is_empty() || !socket.open[1 - end];
                    if socket.owner[end] == node && socket.stage[end].is_some() && news {
                        steps.push(Step::Hear(at, end));
                    }
                }
            }
        }
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        let mut s = last.clone();
        match step {
            Step::Hunt(node, name) => s.processes[node].hunting[name] = true,
            Step::Connect(node, name) => {
                let socket = Socket {
                    owner: [node, name],
                    open: [true; 2],
                    stage: [Some(Stage::Connected(name)), None],
                    inbox: [vec![], vec![]],
                };
                match s.sockets.iter().position(Option::is_none) {
                    Some(free) => s.sockets[free] = Some(socket),
                    None => s.sockets.push(Some(socket)),
                }
            }
            Step::Greet(node) => {
                let connected = |x: &Socket| {
                    x.owner[0] == node && matches!(x.stage[0], Some(Stage::Connected(_)))
                };
                let at = s.sockets.iter().position(|x| x.as_ref().is_some_and(connected))?;
                let life = s.processes[node].life;
                if s.send(at, 0, Packet::Hello { name: node, life }) {
                    let socket = s.sockets[at].as_mut()?;
                    socket.stage[0] = Some(Stage::Greeted(socket.owner[1]));
                } else {
                    s.close(at, 0);
                }
            }
            Step::Accept(node) | Step::Refuse(node) => {
                let waits = |x: &Socket| x.owner[1] == node && x.open[1] && x.stage[1].is_none();
                let at = s.sockets.iter().position(|x| x.as_ref().is_some_and(waits))?;
                if step == Step::Accept(node) {
                    s.sockets[at].as_mut()?.stage[1] = Some(Stage::Stranger);
                } else {
                    s.refusals += 1;
                    s.send(at, 1, Packet::Again);
                    s.close(at, 1);
                }
            }
            Step::Hear(at, end) => self.hear(&mut s, at, end),
            Step::Die(node) => {
                s.deaths += 1;
                let n = self.hunts.len();
                s.processes[node].given_up = vec![false; n];
                s.processes[node].alive = false;
                (s.processes[node].hunting, s.processes[node].ended) = (vec![false; n], vec![0; n]);
                for at in 0..s.sockets.len() {
                    for end in 0..2 {
                        if s.sockets[at]
                            .as_ref()
                            .is_some_and(|x| x.owner[end] == node && x.open[end])
                        {
                            s.close(at, end);
                        }
                    }
                }
            }
            Step::Start(node) => {
                s.processes[node].alive = true;
                s.processes[node].life += 1;
            }
        }
        while s.sockets.last().is_some_and(Option::is_none) {
            s.sockets.pop();
        }
        (s != *last).then_some(s)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("one link of a pair at either end", |m: &Meeting, s: &State| {
                let n = m.hunts.len();
                (0..n * n).all(|pair| s.link(pair / n, pair % n).len() <= 1)
            }),
            Property::always(
                "each end of a life is told once, and is its last word",
                |_, s: &State| !s.late,
            ),
        ]
    }
}
