//! Two nodes in two threads over plain memory at the same addresses: what ThreadSanitizer is run on
//! (`ci/sanitize thread`). On a host the two sides of a link map the same memory at addresses of
//! their own, between which it sees no race.
#![cfg(not(loom))]

mod core;
mod memory;

use std::time::{Duration, Instant};

use narrows::conformance;
use narrows::endpoint::{
    Address, FlowError, FlowId, Function, Limits, Message, Node, Select, SendError, Sink, Source,
};
use narrows::memory::Layout;
use narrows::platform::{Memory, OutOfRange, OwnMemory};
use narrows::strategy::{Placement, Strategy, Transfer};

use self::core::{Core, Threads};
use self::memory::Region;

const PORT: u16 = 1;
const PATIENCE: Duration = Duration::from_secs(60);
/// In a slot and in blocks of each size.
const SIZES: [usize; 7] = [0, 8, 48, 49, 300, 5000, 20_000];
/// Calls that each side has under way beside its messages.
const DEPTH: u16 = 3;

/// How many times as long as usual a test is to run.
fn rounds() -> usize {
    std::env::var("NARROWS_ROUNDS").map_or(1, |text| text.parse().expect("a number of rounds"))
}

fn fill(bytes: &mut [u8], number: usize) {
    bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at * 31 + number * 7) as u8);
}

fn check(bytes: &[u8], number: usize, what: &str) {
    let wrong = bytes.iter().enumerate().find(|(at, byte)| **byte != (at * 31 + number * 7) as u8);
    assert_eq!(wrong, None, "{what} {number}");
}

/// One side of a link that both load as much as they can, with messages and with calls.
struct Loaded {
    node: Node<Core>,
    messages: FlowId,
    calls: FlowId,
    count: usize,
    sent: usize,
    received: usize,
    started: usize,
    finished: usize,
    served: usize,
}

fn echo(request: &dyn Source, response: &mut dyn Sink) -> Result<(), narrows::endpoint::Failure> {
    let mut bytes = [0; 2048];
    let bytes = &mut bytes[..request.len()];
    request.read(0, bytes)?;
    response.write(0, bytes)
}

fn serve(node: &mut Node<Core>) -> usize {
    let name = "echo".parse().expect("a name");
    node.try_serve(&mut [Function { name, run: &mut echo }])
}

/// Opens a flow to a peer that may not be ready for it, and that may open one here and call
/// meanwhile.
fn open(
    node: &mut Node<Core>,
    served: &mut usize,
    begin: impl Fn(&mut Node<Core>) -> Result<FlowId, FlowError>,
) -> FlowId {
    let end = Instant::now() + PATIENCE;
    loop {
        let flow = begin(node).expect("the link is there and the flow possible");
        loop {
            *served += serve(node);
            match node.flow(flow).is_ready() {
                Ok(true) => return flow,
                Ok(false) => std::thread::yield_now(),
                Err(FlowError::NotFound) => break,
                Err(error) => panic!("{error}"),
            }
            assert!(Instant::now() < end, "nobody answers");
        }
        let _ = node.flow(flow).close();
    }
}

impl Loaded {
    fn new(core: Core, strategy: Strategy, count: usize) -> Loaded {
        let mut node = Node::new(core, Limits::default()).expect("storage");
        node.poll();
        let (link, _) = node.links().next().expect("linked from the start");
        node.open(PORT).expect("a free port");
        let to = Address { link, port: PORT };
        let mut served = 0;
        let messages = open(&mut node, &mut served, |node| node.begin_flow_to(to, strategy));
        let name = "echo".parse().expect("a name");
        let calls =
            open(&mut node, &mut served, |node| node.begin_flow(link, &name, strategy, 2048));
        let (sent, received, started, finished) = (0, 0, 0, 0);
        Loaded { node, messages, calls, count, sent, received, started, finished, served }
    }

    fn done(&self) -> bool {
        let all = [self.sent, self.received, self.started, self.finished];
        all.iter().all(|&n| n == self.count) && self.served == self.count
    }

    /// Sends what there is room for.
    fn push(&mut self) -> bool {
        let before = (self.sent, self.started);
        let mut bytes = [0; 20_000];
        while self.sent < self.count {
            let bytes = &mut bytes[..SIZES[self.sent % SIZES.len()]];
            fill(bytes, self.sent);
            let message = Message::new(&*bytes).tag(self.sent as u16);
            match self.node.flow(self.messages).try_send(PORT, message) {
                Ok(()) => self.sent += 1,
                Err(SendError::RingFull | SendError::PoolEmpty) => break,
                Err(error) => panic!("{error}"),
            }
        }
        while self.started < self.count && self.node.flow(self.calls).outstanding() < Some(DEPTH) {
            let bytes = &mut bytes[..self.started * 37 % 2000];
            fill(bytes, self.started);
            match self.node.flow(self.calls).start(&*bytes) {
                Ok(_) => self.started += 1,
                Err(SendError::RingFull | SendError::PoolEmpty) => break,
                Err(error) => panic!("{error}"),
            }
        }
        before != (self.sent, self.started)
    }

    /// Takes what has come.
    fn pull(&mut self) -> bool {
        let served = serve(&mut self.node);
        self.served += served;
        let before = (self.received, self.finished);
        let mut bytes = [0; 20_000];
        while let Some(got) = self.node.try_receive(PORT, &Select::default()).expect("open") {
            let bytes = &mut bytes[..SIZES[self.received % SIZES.len()]];
            assert_eq!((got.tag, got.len), (self.received as u16, bytes.len()));
            assert!(self.node.read(&got, 0, bytes).is_ok());
            check(bytes, self.received, "message");
            self.node.release(got);
            self.received += 1;
        }
        let next = &mut self.finished;
        let finished = self.node.flow(self.calls).complete(|completed, source| {
            let bytes = &mut bytes[..*next * 37 % 2000];
            assert_eq!((completed.number, source.len()), (*next as u16, bytes.len()));
            assert!(source.read(0, bytes).is_ok());
            check(bytes, *next, "response");
            *next += 1;
        });
        assert!(finished.is_ok(), "{finished:?}");
        served > 0 || before != (self.received, self.finished)
    }

    fn run(mut self) -> Loaded {
        let end = Instant::now() + PATIENCE;
        while !self.done() {
            assert!(Instant::now() < end, "{} sent, {} received", self.sent, self.received);
            if !self.push() & !self.pull() {
                self.node.wait_any(Some(PATIENCE));
            }
        }
        self
    }
}

fn both_ways(strategy: Strategy, count: usize) {
    let [a, b] = Core::pair();
    std::thread::scope(|scope| {
        let other = scope.spawn(move || drop(Loaded::new(b, strategy, count).run()));
        let a = Loaded::new(a, strategy, count).run();
        // Joined before this side's end, which the other would take for a loss; and by name, so
        // that ThreadSanitizer sees it.
        other.join().expect("the other side has all of it");
        drop(a);
    });
}

#[test]
fn nothing_is_read_or_written_past_the_end_of_a_region() {
    let region = Region::new(&Layout::standard(64).expect("the standard layout"));
    let mut bytes = [0; 8];
    assert_eq!(region.read(region.size() - 8, &mut bytes), Ok(()));
    assert_eq!(region.read(region.size() - 4, &mut bytes), Err(OutOfRange));
    assert_eq!(region.write(region.size() - 4, &bytes), Err(OutOfRange));
}

/// A test for each transfer, so that they run side by side.
macro_rules! of {
    ($($test:ident: $transfer:ident,)+) => {$(
        mod $test {
            use super::*;

            fn strategies() -> impl Iterator<Item = Strategy> {
                conformance::strategies().filter(|s| s.transfer == Transfer::$transfer)
            }

            #[test]
            fn conforms() {
                let external = strategies().filter(|s| s.placement == Placement::External);
                let run = external.map(|strategy| conformance::run(&Threads, strategy));
                assert!(run.count() >= 6, "six notifications");
            }

            #[test]
            fn under_full_load_both_ways() {
                let run = strategies().map(|strategy| both_ways(strategy, 100 * rounds()));
                assert!(run.count() >= 12, "six notifications in two placements");
            }
        }
    )+};
}

of! {
    copy: Copy,
    single_copy: SingleCopy,
    in_place: InPlace,
    copy_engine: CopyEngine,
}
