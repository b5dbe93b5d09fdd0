//! What the stack takes on one core: both nodes of a link in one thread, so that nothing that is read
//! has to come from another core. The other core looks at a word meanwhile, as a waiting peer does.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};

use narrows::driver::made_in_pool;
use narrows::endpoint::{Address, FlowId, Function, Limits as Tables, Message, Node, What};
use narrows::link::LinkId;
use narrows::strategy::{Notification, Strategy};
use narrows_host::{Host, Options, system};

use crate::bench::limit::{LAP, Laps};
use crate::callee::streamed;
use crate::failure::{Failure, Kind};
use crate::functions;
use crate::peer;

/// Bytes of a message: the fewest that travel in a block.
pub const BYTES: usize = 64;
/// As many as travel in a slot.
pub const SLOT: usize = 48;
const PORT: u16 = 0;
const PATIENCE: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_millis(1);
/// Iterations of a batch.
const COUNT: u64 = 512;

/// Two linked nodes.
pub struct Local {
    near: Node<Host>,
    far: Node<Host>,
    link: LinkId,
    back: LinkId,
    // Last: it is removed when everything in it is closed.
    _directory: tempfile::TempDir,
}

impl Local {
    /// Opens and links both.
    ///
    /// # Errors
    /// What the machine refused.
    pub fn start() -> Result<Local, Failure> {
        let directory = peer::directory()?;
        let open = |name: &str| -> Result<Node<Host>, Failure> {
            let host = Options::new(name).directory(directory.path()).open();
            let host = host.map_err(|error| refused(&error))?;
            let tables = Tables { links: 1, endpoints: 1, flows: 8, inbox: 64, longest: 1 << 16 };
            let mut node = Node::new(host, tables).map_err(|_| refused(&"no memory"))?;
            node.open(PORT).map_err(|_| refused(&"a port is in use"))?;
            node.set_notification(Notification::Spin);
            Ok(node)
        };
        let (mut near, mut far) = (open("near")?, open("far")?);
        let name = "far".parse().map_err(|_| refused(&"a name is none"))?;
        let link = meanwhile(&mut far, || near.hunt(&name, Some(PATIENCE)))?;
        let link = link.map_err(|error| refused(&error))?;
        let deadline = Instant::now() + PATIENCE;
        let back = loop {
            if let Some((back, _)) = far.links().next() {
                break back;
            }
            if Instant::now() >= deadline {
                return Err(refused(&"they do not meet"));
            }
            far.wait_any(Some(STEP));
            far.poll();
        };
        Ok(Local { near, far, link, back, _directory: directory })
    }

    /// Round trips of messages: nanoseconds of one, the median.
    ///
    /// # Errors
    /// A message did not arrive.
    pub fn messages(&mut self, strategy: Strategy, bytes: usize) -> Result<f64, Failure> {
        self.near.set_strategy(strategy);
        self.far.set_strategy(strategy);
        let (mut out, mut there, mut back) = (vec![7; bytes], vec![0; bytes], vec![0; bytes]);
        let (to, from) = (
            Address { link: self.link, port: PORT },
            Address { link: self.back, port: PORT },
        );
        let mut laps = Laps::new(COUNT);
        laps.begin();
        for number in 0..COUNT {
            laps.iteration(LAP);
            out[..8].copy_from_slice(&number.to_le_bytes());
            let sent = self.near.send(PORT, to, Message::new(&out[..]), None);
            sent.map_err(|error| refused(&error))?;
            take(&mut self.far, &mut there)?;
            let sent = self.far.send(PORT, from, Message::new(&there[..]), None);
            sent.map_err(|error| refused(&error))?;
            take(&mut self.near, &mut back)?;
        }
        laps.finish();
        if back != out {
            return Err(refused(&"a payload did not arrive as it was sent"));
        }
        laps.middle().ok_or_else(|| refused(&"a batch of nothing"))
    }

    /// Sends, receives and fails to receive: nanoseconds of each, the medians.
    pub fn parts(&mut self, strategy: Strategy, bytes: usize) -> Result<[f64; 3], Failure> {
        self.near.set_strategy(strategy);
        self.far.set_strategy(strategy);
        let (out, mut there) = (vec![7; bytes], vec![0; bytes]);
        let to = Address { link: self.link, port: PORT };
        let from = Address { link: self.back, port: PORT };
        let [mut send, mut take_in, mut fail] = [(); 3].map(|()| Laps::new(COUNT));
        for _ in 0..COUNT {
            for way in [true, false] {
                let (a, b, to) = match way { true => (&mut self.near, &mut self.far, to), false => (&mut self.far, &mut self.near, from) };
                send.begin();
                a.send(PORT, to, Message::new(&out[..]), None).map_err(|error| refused(&error))?;
                send.end(1);
                fail.begin();
                let none = a.receive_into(PORT, &mut there, Some(Duration::ZERO));
                fail.end(1);
                if !matches!(none, Ok(None)) { return Err(refused(&"something came")); }
                take_in.begin();
                take(b, &mut there)?;
                take_in.end(1);
            }
        }
        let middle = |laps: Laps| laps.middle().unwrap_or_default();
        Ok([middle(send), middle(take_in), middle(fail)])
    }

    /// Round trips of calls: nanoseconds of one, the median.
    ///
    /// # Errors
    /// The strategy cannot be had, or a call failed.
    pub fn calls(&mut self, strategy: Strategy, bytes: usize) -> Result<f64, Failure> {
        let flow = self.flow(strategy)?;
        let mut echo = echo();
        let mut library =
            [Function { name: "echo".parse().map_err(|_| refused(&"no name"))?, run: &mut echo }];
        let (mut out, mut back) = (vec![7; bytes], vec![0; bytes]);
        let mut laps = Laps::new(COUNT);
        laps.begin();
        for number in 0..COUNT {
            laps.iteration(LAP);
            out[..8].copy_from_slice(&number.to_le_bytes());
            self.call(flow, &strategy, &out)?;
            self.far.try_serve(&mut library);
            let done = self.near.finish(flow, &mut back, Some(PATIENCE));
            done.map_err(|error| refused(&error))?;
        }
        laps.finish();
        let closed = self.near.close_flow(flow);
        closed.map_err(|error| refused(&error))?;
        if back != out {
            return Err(refused(&"a payload did not arrive as it was sent"));
        }
        laps.middle().ok_or_else(|| refused(&"a batch of nothing"))
    }

    fn call(&mut self, flow: FlowId, strategy: &Strategy, out: &[u8]) -> Result<(), Failure> {
        let started = if made_in_pool::<Host>(strategy.transfer) {
            let reserved = self.near.reserve(flow, out.len());
            let mut block = reserved.map_err(|error| refused(&error))?;
            let made = self.near.write(&mut block, 0, out);
            made.map_err(|_| refused(&"a block is too short"))?;
            self.near.start(flow, &mut block)
        } else {
            self.near.start(flow, out)
        };
        started.map(|_| ()).map_err(|error| refused(&error))
    }

    fn flow(&mut self, strategy: Strategy) -> Result<FlowId, Failure> {
        let name = "echo".parse().map_err(|_| refused(&"a name is none"))?;
        let (near, link) = (&mut self.near, self.link);
        let opened = meanwhile(&mut self.far, || {
            near.flow(link, &name, strategy, BYTES as u32, Some(PATIENCE))
        })?;
        opened.map_err(|error| refused(&error))
    }
}

type Echo = Box<
    dyn FnMut(
        &dyn narrows::endpoint::Source,
        &mut dyn narrows::endpoint::Sink,
    ) -> Result<(), narrows::endpoint::Failure>,
>;

fn echo() -> Echo {
    let answer = functions::find("echo").and_then(|entry| entry.stream);
    Box::new(move |from, to| match answer {
        Some(answer) => streamed(answer, from, to),
        None => Ok(()),
    })
}

#[inline(always)]
fn take(node: &mut Node<Host>, to: &mut [u8]) -> Result<(), Failure> {
    match node.receive_into(PORT, to, Some(PATIENCE)) {
        Ok(Some(came)) if came.what == What::Message => Ok(()),
        _ => Err(refused(&"a message did not arrive")),
    }
}

/// Does something while a thread serves the other node.
fn meanwhile<R>(node: &mut Node<Host>, work: impl FnOnce() -> R) -> Result<R, Failure> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| {
            let mut echo = echo();
            let Ok(name) = "echo".parse() else { return };
            let mut library = [Function { name, run: &mut echo }];
            while !done.load(Ordering::Acquire) {
                node.serve(&mut library, Some(STEP));
            }
        });
        let made = work();
        done.store(true, Ordering::Release);
        serving.join().map_err(|_| refused(&"a thread ended"))?;
        Ok(made)
    })
}

/// Has a thread look at a word on a core, until `done`.
pub fn look<'scope>(scope: &'scope Scope<'scope, '_>, core: usize, done: &'scope AtomicBool) {
    scope.spawn(move || {
        // Where it is refused, the figure is that of a core that sleeps beside this one.
        let _ = system::pin(core);
        while !black_box(done).load(Ordering::Acquire) {
            spin_loop();
            spin_loop();
        }
    });
}

fn refused(why: &dyn std::fmt::Display) -> Failure {
    Failure::new(Kind::Internal, format!("two nodes of one thread: {why}"))
}
