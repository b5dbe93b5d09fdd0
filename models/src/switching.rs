//! How a flow changes its strategy, and what a death takes with it: `narrows/src/endpoint/{flow,
//! switch, answer, serve, pump}` in the abstract. The caller has one place for flows, the callee
//! one for what it serves; between them are two rings of few slots. Beside each action is the
//! function it stands for.

use stateright::{Model, Property};

/// A rule of the code that a self-test leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    Nothing,
    /// `advance` proposes while calls are outstanding.
    Drain,
    /// `usable` lets calls start before the answer to a proposal.
    Agree,
    /// `answered` does not compare questions.
    Question,
    /// `drop_flow` goes on waiting for the answer to the flow's last question.
    Close,
    /// `undelivered` gives back nothing that the peer had not taken.
    Account,
}

pub struct Switching {
    /// Slots of each ring.
    pub slots: usize,
    pub calls: u8,
    /// Questions of a strategy, and flows that are opened in the same place.
    pub switches: u8,
    pub flows: u8,
    pub broken: Broken,
}

/// What a ring carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    Open { question: u8 },
    Propose { question: u8, strategy: u8 },
    Close,
    Request { call: u8, strategy: u8 },
    Opened { question: u8 },
    Agreed { question: u8, yes: bool },
    Response { call: u8, strategy: u8 },
}

/// `Phase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    Asking,
    Opening,
    Running,
    Draining(u8),
    Agreeing(u8),
    Unusable,
    Closing,
    Gone,
}

/// `Flow`, at the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flow {
    phase: Phase,
    strategy: u8,
    agreed: bool,
    question: u8,
    on_the_way: u8,
}

/// `Served`, at the callee.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Served {
    strategy: u8,
    agreed: bool,
    question: u8,
    owed: Option<Owed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owed {
    Opened,
    Agreed(bool),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    flow: Option<Flow>,
    questions: u8,
    left: [u8; 3],
    /// From the caller to the callee, and back.
    rings: [Vec<Message>; 2],
    served: Served,
    /// Requests that were taken and not served.
    inbox: Vec<(u8, u8)>,
    /// Calls that were started, that were served, whose response came, and that came back.
    started: u8,
    served_calls: Vec<u8>,
    answered: Vec<u8>,
    back: Vec<u8>,
    dead: bool,
    /// What no program could go on from.
    wrong: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `open_flow`.
    OpenFlow,
    /// `start`.
    Start,
    /// `begin_switch` to a strategy.
    Switch(u8),
    /// `switch`, whose deadline passes while the flow drains.
    Late,
    /// `close_flow`.
    Close,
    /// `advance`.
    Advance,
    /// `pump` of the caller.
    Hear,
    /// `pump` of the callee: whether it can do what is proposed.
    Take(bool),
    /// `turn`.
    Serve,
    /// `reply`.
    Reply,
    /// The callee dies, and the caller closes the link: `undelivered`.
    Die,
}

impl Switching {
    fn room(&self, s: &State, ring: usize) -> bool {
        s.rings[ring].len() < self.slots
    }

    fn advance(&self, s: &mut State) -> Option<()> {
        let flow = s.flow?;
        let question = s.questions + 1;
        let (message, then) = match flow.phase {
            Phase::Asking => (Message::Open { question }, Phase::Opening),
            Phase::Draining(strategy) => {
                if flow.on_the_way > 0 && self.broken != Broken::Drain {
                    return None;
                }
                (Message::Propose { question, strategy }, Phase::Agreeing(strategy))
            }
            Phase::Closing => (Message::Close, Phase::Closing),
            _ => return None,
        };
        self.room(s, 0).then(|| s.rings[0].push(message))?;
        s.questions = question;
        s.flow = (then != Phase::Closing).then_some(Flow { phase: then, question, ..flow });
        Some(())
    }

    fn hear(&self, s: &mut State) -> Option<()> {
        if s.rings[1].is_empty() {
            return None;
        }
        let message = s.rings[1].remove(0);
        let asks = |question| {
            move |flow: &&mut Flow| flow.question == question || self.broken == Broken::Question
        };
        match message {
            Message::Opened { question } => {
                let Some(flow) = s.flow.as_mut().filter(asks(question)) else { return Some(()) };
                match flow.phase {
                    Phase::Opening => flow.phase = Phase::Draining(flow.strategy),
                    _ => s.wrong = Some("opened, and nobody asked"),
                }
            }
            Message::Agreed { question, yes } => {
                let Some(flow) = s.flow.as_mut().filter(asks(question)) else { return Some(()) };
                let Phase::Agreeing(new) = flow.phase else {
                    s.wrong = Some("agreed, and nobody asked");
                    return Some(());
                };
                flow.phase = match (yes, flow.agreed) {
                    (false, false) => Phase::Unusable,
                    _ => Phase::Running,
                };
                if yes {
                    (flow.strategy, flow.agreed) = (new, true);
                }
            }
            Message::Response { call, strategy } => match &mut s.flow {
                Some(flow) if flow.on_the_way > 0 => {
                    flow.on_the_way -= 1;
                    if flow.strategy != strategy {
                        s.wrong = Some("a response by another strategy than the flow's");
                    }
                    s.answered.push(call);
                }
                _ => s.wrong = Some("a response that nobody waits for"),
            },
            _ => s.wrong = Some("a question to the caller"),
        }
        Some(())
    }

    fn take(&self, s: &mut State, can: bool) -> Option<()> {
        if s.rings[0].is_empty() {
            return None;
        }
        let message = s.rings[0].remove(0);
        if let Message::Open { .. } | Message::Propose { .. } = message
            && s.served.owed.is_some()
        {
            s.wrong = Some("a question behind one that was not answered");
        }
        match message {
            Message::Request { call, strategy } => s.inbox.push((call, strategy)),
            Message::Open { question } => {
                s.served = Served { question, owed: Some(Owed::Opened), ..Served::default() };
            }
            Message::Propose { question, strategy } => {
                (s.served.question, s.served.owed) = (question, Some(Owed::Agreed(can)));
                if can {
                    (s.served.strategy, s.served.agreed) = (strategy, true);
                }
            }
            _ => s.served = Served::default(),
        }
        Some(())
    }

    fn serve(&self, s: &mut State) -> Option<()> {
        let &(call, strategy) = s.inbox.first()?;
        self.room(s, 1).then_some(())?;
        s.inbox.remove(0);
        if !s.served.agreed || s.served.strategy != strategy {
            s.wrong = Some("a request by another strategy than what was agreed");
        }
        s.served_calls.push(call);
        s.rings[1].push(Message::Response { call, strategy: s.served.strategy });
        Some(())
    }

    fn reply(&self, s: &mut State) -> Option<()> {
        let owed = s.served.owed?;
        self.room(s, 1).then_some(())?;
        let question = s.served.question;
        s.served.owed = None;
        s.rings[1].push(match owed {
            Owed::Opened => Message::Opened { question },
            Owed::Agreed(yes) => Message::Agreed { question, yes },
        });
        Some(())
    }

    fn die(&self, s: &mut State) {
        // What had been published before is heard first.
        while s.wrong.is_none() && self.hear(s).is_some() {}
        s.dead = true;
        for message in std::mem::take(&mut s.rings[0]) {
            if let Message::Request { call, .. } = message
                && self.broken != Broken::Account
            {
                s.back.push(call);
            }
        }
        if let Some(flow) = &mut s.flow {
            flow.phase = Phase::Gone;
        }
    }
}

impl State {
    /// Whether the flow can be used, or will never be.
    pub fn settled(&self) -> bool {
        self.flow.is_none_or(|flow| {
            matches!(flow.phase, Phase::Running | Phase::Unusable | Phase::Gone)
                && (flow.on_the_way == 0 || flow.phase == Phase::Gone)
        })
    }
}

impl Model for Switching {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            flow: None,
            questions: 0,
            left: [self.calls, self.switches, self.flows],
            rings: [Vec::new(), Vec::new()],
            served: Served::default(),
            inbox: Vec::new(),
            started: 0,
            served_calls: Vec::new(),
            answered: Vec::new(),
            back: Vec::new(),
            dead: false,
            wrong: None,
        }]
    }

    fn actions(&self, s: &State, steps: &mut Vec<Step>) {
        if s.dead || s.wrong.is_some() {
            return;
        }
        use Step::{Advance, Close, Die, Hear, Late, OpenFlow, Reply, Serve, Start, Switch, Take};
        steps.extend([OpenFlow, Start, Switch(0), Switch(1), Late, Close, Advance]);
        steps.extend([Hear, Take(true), Take(false), Serve, Reply, Die]);
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        let mut s = last.clone();
        let new = |strategy| Flow {
            phase: Phase::Asking,
            strategy,
            agreed: false,
            question: 0,
            on_the_way: 0,
        };
        match step {
            Step::OpenFlow => {
                if s.flow.is_some() {
                    return None;
                }
                s.left[2] = s.left[2].checked_sub(1)?;
                s.flow = Some(new(0));
            }
            Step::Start => {
                let room = self.room(&s, 0);
                let flow = s.flow.as_mut()?;
                let strategy = match flow.phase {
                    Phase::Running => flow.strategy,
                    Phase::Agreeing(new) if flow.agreed && self.broken == Broken::Agree => new,
                    _ => return None,
                };
                s.left[0] = s.left[0].checked_sub(1)?;
                room.then_some(())?;
                flow.on_the_way += 1;
                s.rings[0].push(Message::Request { call: s.started, strategy });
                s.started += 1;
            }
            Step::Switch(strategy) => {
                let flow = s.flow.as_mut().filter(|flow| flow.phase == Phase::Running)?;
                s.left[1] = s.left[1].checked_sub(1)?;
                flow.phase = Phase::Draining(strategy);
            }
            Step::Late => {
                let flow = s.flow.as_mut().filter(|flow| flow.agreed)?;
                let Phase::Draining(_) = flow.phase else { return None };
                flow.phase = Phase::Running;
            }
            Step::Close => {
                let flow = s.flow.as_mut()?;
                if flow.on_the_way > 0 || flow.phase == Phase::Closing {
                    return None;
                }
                if flow.phase == Phase::Asking {
                    s.flow = None;
                } else {
                    flow.phase = Phase::Closing;
                    if self.broken != Broken::Close {
                        s.questions += 1;
                        flow.question = s.questions;
                    }
                }
            }
            Step::Advance => self.advance(&mut s)?,
            Step::Hear => self.hear(&mut s)?,
            Step::Take(can) => self.take(&mut s, can)?,
            Step::Serve => self.serve(&mut s)?,
            Step::Reply => self.reply(&mut s)?,
            Step::Die => self.die(&mut s),
        }
        Some(s)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("both sides agree on every message", |_, s: &State| s.wrong.is_none()),
            Property::always("responses come in order, each once", |_, s: &State| {
                s.answered.iter().copied().eq(0..s.answered.len() as u8)
                    && s.answered.len() <= s.served_calls.len()
            }),
            Property::always("behind a death each call was taken or comes back", |_, s: &State| {
                let taken = s.served_calls.iter().chain(s.inbox.iter().map(|(call, _)| call));
                let mut all: Vec<u8> = taken.chain(&s.back).copied().collect();
                all.sort_unstable();
                !s.dead || all.iter().copied().eq(0..s.started)
            }),
        ]
    }
}
