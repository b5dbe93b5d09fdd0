//! Strategies that change under load: every message and call is accounted for.

use std::collections::VecDeque;
use std::time::Duration;

use crate::common::ground::inside;
use crate::common::world::{Pair, SECOND, all, bytes, pair_with, serve};
use narrows::endpoint::{
    Address, Completed, FlowError, FlowId, Lent, Limits, Message, Payload, Select, SendError,
    Source,
};
use narrows::strategy::{Acknowledgement, Notification, Parts, Placement, Strategy, Transfer};
use proptest::prelude::*;
use proptest::strategy::Strategy as _;

#[derive(Clone, Debug)]
enum Step {
    /// Send or start on a flow: the flow, the bytes, and whether they are made in the pool.
    Send(usize, usize, bool),
    Switch(usize, Strategy),
    Serve,
    /// Receive and keep or give back.
    Receive(bool),
    Finish(usize),
    Poll,
    /// Give what was held back for a batch, as before a wait.
    Rest,
}

fn strategies() -> impl proptest::strategy::Strategy<Value = Strategy> {
    let time = (1_u64..2_000_000).prop_map(Duration::from_nanos);
    let notification = (0..6, time, 1_u16..9).prop_map(|(kind, time, messages)| match kind {
        0 => Notification::Interrupt,
        1 => Notification::Spin,
        2 => Notification::Poll { every: time },
        5 => Notification::Timer { every: time },
        3 => Notification::Hybrid { longest: time },
        _ => Notification::Coalesced { messages, within: time },
    });
    let told = (notification.clone(), prop::option::of(notification));
    let transfer = prop::sample::select(vec![
        Transfer::Copy,
        Transfer::SingleCopy,
        Transfer::InPlace,
        Transfer::CopyEngine,
    ]);
    let acknowledgement = prop::sample::select(vec![
        Acknowledgement::Interrupt,
        Acknowledgement::Lazy,
        Acknowledgement::Batched,
    ]);
    let placement = prop::sample::select(vec![Placement::Internal, Placement::External]);
    let figures = (prop::sample::select(vec![1_u16, 1, 2, 3, 8]), 64_u32..5000);
    (placement, transfer, told, acknowledgement, figures).prop_map(
        |(placement, transfer, told, acknowledgement, (granularity, fragment))| Strategy {
            placement,
            transfer,
            notification: told.0,
            callee: told.1.filter(|callee| *callee != told.0),
            acknowledgement,
            granularity,
            parts: Parts::WHOLE,
            fragment,
        },
    )
}

fn steps() -> impl proptest::strategy::Strategy<Value = Vec<Step>> {
    let len = prop_oneof![0_usize..70, 0_usize..70, 900_usize..3000];
    let step = prop_oneof![
        6 => (0_usize..4, len, any::<bool>()).prop_map(|(f, len, made)| Step::Send(f, len, made)),
        2 => (0_usize..4, strategies()).prop_map(|(f, s)| Step::Switch(f, s)),
        2 => Just(Step::Serve),
        2 => any::<bool>().prop_map(Step::Receive),
        2 => (0_usize..2).prop_map(Step::Finish),
        1 => Just(Step::Poll),
        1 => Just(Step::Rest),
    ];
    prop::collection::vec(step, 1..200)
}

/// Flows 0 and 1 are of calls, 2 and 3 of messages to ports 2 and 3.
struct Load {
    pair: Pair,
    flows: [FlowId; 4],
    /// What was sent on each flow and has not come.
    due: [VecDeque<Vec<u8>>; 4],
    /// Numbers of what was sent and of what came.
    sent: [u16; 4],
    came: [u16; 4],
    /// What each flow changes from and to.
    change: [Option<(Strategy, Strategy)>; 4],
    held: VecDeque<Lent>,
}

const LONGEST: u32 = 3000;

impl Load {
    fn new(engine_of_b: bool) -> Load {
        let mut pair = pair_with(Limits::default(), Limits::default(), |_| {});
        pair.b.borrow().platform().state.engine.set(engine_of_b);
        pair.a.open(1).expect("free");
        for port in 2..4 {
            pair.b.borrow_mut().open(port).expect("free");
        }
        let any = Strategy::default();
        let calls = [(); 2].map(|()| pair.flow("echo", any, LONGEST));
        let messages = [2, 3].map(|port| {
            let to = Address { link: pair.to_b, port };
            pair.a.open_flow_to(to, any, SECOND).expect("open")
        });
        Load {
            pair,
            flows: [calls[0], calls[1], messages[0], messages[1]],
            due: Default::default(),
            sent: [0; 4],
            came: [0; 4],
            change: [None; 4],
            held: VecDeque::new(),
        }
    }

    fn send(&mut self, at: usize, len: usize, made: bool) {
        let payload = bytes(len, usize::from(self.sent[at]) + at * 1000);
        let (a, flow) = (&mut self.pair.a, self.flows[at]);
        let mut reserved = None;
        if made {
            let Ok(mut block) = a.flow(flow).reserve(len) else { return };
            assert!(a.write(&mut block, 0, &payload).is_ok());
            reserved = Some(block);
        }
        let carried = match &mut reserved {
            Some(block) => Payload::Reserved(block),
            None => Payload::Bytes(&payload),
        };
        let sent = if at < 2 {
            a.flow(flow).start(carried).map(|number| assert_eq!(number, self.sent[at]))
        } else {
            a.flow(flow).try_send(1, Message::new(carried).tag(self.sent[at]))
        };
        if let Some(block) = reserved {
            a.cancel(block);
        }
        match sent {
            Ok(()) => {
                self.due[at].push_back(payload);
                self.sent[at] += 1;
            }
            Err(SendError::RingFull | SendError::PoolEmpty | SendError::Switching) => {}
            Err(error) => panic!("{error:?}"),
        }
    }

    fn switch(&mut self, at: usize, new: Strategy) {
        self.settle(at);
        let old = self.pair.a.flow(self.flows[at]).strategy().expect("open");
        match self.pair.a.flow(self.flows[at]).begin_switch(new) {
            Ok(()) => self.change[at] = Some((old, new)),
            Err(FlowError::Switching) => assert!(self.change[at].is_some()),
            Err(error) => panic!("{error:?}"),
        }
    }

    /// Sees whether a change is over, and whether it went as it had to.
    fn settle(&mut self, at: usize) {
        let Some((old, new)) = self.change[at] else { return };
        let engine = self.pair.b.borrow().platform().state.engine.get();
        let can = engine || new.transfer != Transfer::CopyEngine;
        let strategy = self.pair.a.flow(self.flows[at]).strategy().expect("open");
        match self.pair.a.flow(self.flows[at]).is_ready() {
            Ok(false) => assert_eq!(strategy, old),
            Ok(true) => {
                assert!(can);
                assert_eq!(strategy, new);
                self.change[at] = None;
            }
            Err(error) => {
                assert_eq!((error, can, strategy), (FlowError::Infeasible, false, old));
                self.change[at] = None;
            }
        }
    }

    fn receive(&mut self, keep: bool) -> bool {
        let mut b = self.pair.b.borrow_mut();
        let mut any = false;
        for port in 2..4 {
            let Some(message) = b.try_receive(port, &Select::default()).expect("open") else {
                continue;
            };
            any = true;
            let at = usize::from(port);
            let wanted = self.due[at].pop_front().expect("nothing comes twice");
            assert_eq!((message.tag, message.len), (self.came[at], wanted.len()));
            let same = b.read_in_place(&message, |source| all(source) == wanted);
            assert_eq!(same, Some(true), "message {} of flow {at}", message.tag);
            self.came[at] += 1;
            self.held.push_back(message);
        }
        while self.held.len() > if keep { 2 } else { 0 } {
            if let Some(message) = self.held.pop_front() {
                b.release(message);
            }
        }
        any
    }

    fn finish(&mut self, at: usize) {
        let (due, came) = (&mut self.due[at], &mut self.came[at]);
        let check = |done: Completed, source: &dyn Source| {
            let wanted = due.pop_front().expect("nothing comes twice");
            assert_eq!((done.number, done.failure), (*came, None));
            assert!(all(source) == wanted, "call {came} of flow {at}");
            *came += 1;
        };
        self.pair.a.flow(self.flows[at]).complete(check).expect("up");
    }

    fn rest(&mut self) {
        self.pair.a.arm();
        self.pair.a.disarm();
        self.pair.b.borrow_mut().arm();
        self.pair.b.borrow_mut().disarm();
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Send(at, len, made) => self.send(at, len, made),
            Step::Switch(at, strategy) => self.switch(at, strategy),
            Step::Serve => drop(serve(&mut self.pair.b.borrow_mut())),
            Step::Receive(keep) => drop(self.receive(keep)),
            Step::Finish(at) => self.finish(at),
            Step::Poll => self.pair.a.poll(),
            Step::Rest => self.rest(),
        }
    }

    /// Lets everything arrive.
    fn end(mut self) {
        for _ in 0..1000 {
            serve(&mut self.pair.b.borrow_mut());
            let more = self.receive(false);
            (0..2).for_each(|at| self.finish(at));
            self.pair.a.poll();
            self.rest();
            (0..4).for_each(|at| self.settle(at));
            if !more && self.sent == self.came && self.change == [None; 4] {
                break;
            }
        }
        assert_eq!((self.sent, self.change), (self.came, [None; 4]), "all came, all changed");
        for flow in self.flows {
            self.pair.a.flow(flow).close().expect("idle");
        }
        self.pair.check_empty();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_doubled_or_reordered(steps in steps(), engine: bool) {
        inside(|| {
            let mut load = Load::new(engine);
            steps.into_iter().for_each(|step| load.step(step));
            load.end();
        });
    }
}

#[test]
fn a_change_that_cannot_be_proposed_in_time_is_forgotten() {
    inside(|| {
        let mut load = Load::new(true);
        load.pair.a.platform().off_wait();
        load.send(0, 10, false);
        let late = Some(Duration::from_millis(1));
        let new = Strategy { transfer: Transfer::InPlace, ..Strategy::default() };
        let flow = load.flows[0];
        assert_eq!(load.pair.a.flow(flow).switch(new, late), Err(FlowError::Deadline));
        assert!(
            !load.pair.a.flow(flow).is_switching(),
            "a call was outstanding, so nobody was asked"
        );
        load.send(0, 20, false);
        serve(&mut load.pair.b.borrow_mut());
        load.finish(0);
        assert_eq!(load.pair.a.flow(flow).strategy(), Some(Strategy::default()));

        assert_eq!(load.pair.a.flow(flow).switch(new, late), Err(FlowError::Deadline));
        assert!(load.pair.a.flow(flow).is_switching(), "the peer has been asked");
        assert_eq!(load.pair.a.flow(flow).start(b"x"), Err(SendError::Switching));
        serve(&mut load.pair.b.borrow_mut());
        load.pair.a.poll();
        assert_eq!(load.pair.a.flow(flow).strategy(), Some(new));
        load.end();
    });
}
