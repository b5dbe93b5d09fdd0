//! Two whole nodes, driven by hand in turn as two cores without threads would be.

use core::time::Duration;

use narrows::endpoint::{
    Address, Failure, FlowId, Function, Limits, Message, Node, PortError, Select, Served, Sink,
    Source,
};
use narrows::link::{LinkId, Name};
use narrows::platform::Lost;
use narrows::strategy::Strategy;

use crate::board::{Board, Chip};
use crate::layout;

static CHIP: Chip = Chip::new();
const LIMITS: Limits = Limits { links: 2, endpoints: 4, flows: 2, inbox: 8, longest: 32 };
const INBOX: u16 = 3;
const OUTBOX: u16 = 1;
/// In ticks of the board's clock.
const SOON: Option<Duration> = Some(Duration::from_nanos(1000));
/// Turns that agreeing on anything takes at most.
const TURNS: usize = 16;
/// The ways to transfer that need no copy engine, and the ways to be told.
const STRATEGIES: [&str; 5] = [
    "copy/internal/spin",
    "copy_lazy/external/interrupt",
    "single_copy/internal/hybrid",
    "in_place/external/poll=1us",
    "copy_batched/internal/spin/granularity=2",
];

/// What the two nodes are about to do.
#[derive(Clone, Copy)]
pub enum Step {
    Open = 2,
    Link,
    SendInSlot,
    SendInBlock,
    ReceiveNothing,
    OpenFlow,
    Call,
    CallAndWait,
    Switch,
    CloseFlow,
    BlocksAreBack,
    CloseLink,
}

struct Pair {
    a: Node<Board>,
    b: Node<Board>,
    to_b: LinkId,
    double: Name,
}

/// All steps in turn; none if one went wrong, which `step` then names.
pub fn exchange(step: &mut Step) -> Option<()> {
    let mut pair = link(step)?;
    *step = Step::SendInSlot;
    pair.send(&[5; 8])?;
    *step = Step::SendInBlock;
    pair.send(&[6; 48])?;
    *step = Step::ReceiveNothing;
    let nothing = pair.b.receive(INBOX, &Select::default(), SOON);
    (nothing == Err(PortError::Deadline)).then_some(())?;
    for strategy in STRATEGIES {
        pair.calls(strategy.parse().ok()?, step)?;
    }
    *step = Step::BlocksAreBack;
    pair.a.poll();
    pair.a.link(pair.to_b).reclaim();
    (pair.a.link(pair.to_b).blocks_in_use() == Ok((0, 0))).then_some(())?;
    *step = Step::CloseLink;
    pair.a.link(pair.to_b).close();
    let (to_a, _) = pair.b.links().next()?;
    pair.b.poll();
    (pair.b.link(to_a).check() == Err(narrows::endpoint::LinkError::Gone(Lost::Closed)))
        .then_some(())
}

fn link(step: &mut Step) -> Option<Pair> {
    *step = Step::Open;
    let names = ["first".parse().ok()?, "second".parse().ok()?];
    let node = |own| Node::new(Board::new(&CHIP, names, own, &layout()?).ok()?, LIMITS).ok();
    let (mut a, mut b) = (node(0)?, node(1)?);
    a.open(OUTBOX).ok()?;
    b.open(INBOX).ok()?;
    *step = Step::Link;
    let to_b = a.hunt(&names[1], SOON).ok()?;
    b.poll();
    let (_, peer) = b.links().next()?;
    (peer == names[0]).then_some(())?;
    Some(Pair { a, b, to_b, double: "double".parse().ok()? })
}

/// Gives each byte of the request doubled.
fn double(request: &dyn Source, response: &mut dyn Sink) -> Result<(), Failure> {
    let mut bytes = [0; LIMITS.longest];
    let bytes = bytes.get_mut(..request.len()).ok_or(Failure::NoRoom)?;
    request.read(0, bytes)?;
    bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(2));
    response.write(0, bytes)
}

impl Pair {
    fn send(&mut self, bytes: &[u8]) -> Option<()> {
        let to = Address { link: self.to_b, port: INBOX };
        self.a.try_send(OUTBOX, to, Message::new(bytes).priority(2).tag(9)).ok()?;
        let mut buffer = [0; 64];
        let received = self.b.try_receive_into(INBOX, &mut buffer).ok()??;
        let same = buffer.get(..received.len)? == bytes;
        (same && received.from.port == OUTBOX && received.tag == 9).then_some(())
    }

    fn serve(&mut self) -> usize {
        self.b.try_serve(&mut [Function { name: self.double, run: &mut double }])
    }

    fn settle(&mut self, flow: FlowId) -> Option<()> {
        for _ in 0..TURNS {
            self.b.poll();
            self.serve();
            self.a.poll();
            if self.a.flow(flow).is_ready().ok()? {
                return Some(());
            }
        }
        None
    }

    fn calls(&mut self, strategy: Strategy, step: &mut Step) -> Option<()> {
        *step = Step::OpenFlow;
        let flow = self.a.begin_flow(self.to_b, &self.double, strategy, 24).ok()?;
        self.settle(flow)?;

        *step = Step::Call;
        let mut response = [0; 32];
        self.a.flow(flow).start(&[4; 8]).ok()?;
        self.a.flow(flow).flush().ok()?;
        (self.serve() == 1).then_some(())?;
        let done = self.a.flow(flow).try_finish(&mut response).ok()??;
        (response.get(..done.len)? == [8; 8]).then_some(())?;

        *step = Step::CallAndWait;
        self.a.flow(flow).start(&[5; 24]).ok()?;
        self.a.flow(flow).flush().ok()?;
        let mut library = [Function { name: self.double, run: &mut double }];
        let served = self.b.serve(&mut library, SOON);
        matches!(served, Ok(Served::Calls(1))).then_some(())?;
        let done = self.a.flow(flow).finish(&mut response, SOON).ok()?;
        (response.get(..done.len)? == [10; 24]).then_some(())?;

        *step = Step::Switch;
        self.a.flow(flow).begin_switch(Strategy::default()).ok()?;
        self.settle(flow)?;

        *step = Step::CloseFlow;
        self.a.flow(flow).close().ok()?;
        self.a.poll();
        self.b.poll();
        self.a.poll();
        Some(())
    }
}
