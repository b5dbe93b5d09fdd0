//! What spans cost a round trip: with stamps, with spans that are off, and with none at all.
//!
//! Between two threads, one on each core, the same loop runs on the host and on [`Bare`], the same
//! platform as a build would have it whose spans were left out.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use narrows::endpoint::{Address, Limits as Tables, Message, Node, Received, What};
use narrows::link::Name;
use narrows::platform::{
    Connected, EngineError, Event, HuntError, Instant, NoStorage, Platform, Wait, Watch, Woken,
};
use narrows::span::{Edge, Span};
use narrows::strategy::Notification;
use narrows_host::{Bell, Host, Options, PeerRegion, PeerWords, Region};

use crate::base::failure::{Failure, Kind};
use crate::base::options::Cores;
use crate::rig::limit::{LAP, Laps};
use crate::rig::pair::defect;
use crate::rig::service::LAST;

/// Bytes of a message.
pub const BYTES: usize = 48;
const PATIENCE: Duration = Duration::from_secs(10);
const PORT: u16 = 0;

/// The host without spans.
struct Bare(Host);

impl Platform for Bare {
    type Own = Region;
    type Peer = PeerRegion;
    type Bell = Bell;
    type Slice<T> = Box<[T]>;
    type Books = <Host as Platform>::Books;

    const LINE: u32 = Host::LINE;

    fn storage<T>(&self, len: usize, make: impl FnMut(usize) -> T) -> Result<Box<[T]>, NoStorage> {
        self.0.storage(len, make)
    }

    fn books(&self, own: &Region, len: usize) -> Result<Self::Books, NoStorage> {
        self.0.books(own, len)
    }

    #[inline]
    fn wait<'a, S>(&self, set: S, how: Wait, deadline: Option<Instant>) -> Woken
    where
        S: Iterator<Item = Watch<'a, PeerWords>> + Clone,
    {
        self.0.wait(set, how, deadline)
    }

    #[inline(always)]
    fn fence(&self) {
        self.0.fence();
    }

    #[inline]
    fn ring(&self, bell: &Bell) {
        self.0.ring(bell);
    }

    #[inline]
    fn now(&self) -> Instant {
        self.0.now()
    }

    #[inline(always)]
    fn tracing(&self) -> bool {
        false
    }
    fn stamp(&self, _: Span, _: Edge, _: u32) {}

    fn hunt(&self, name: &Name) -> Result<(), HuntError> {
        self.0.hunt(name)
    }

    fn give_up(&self, name: &Name) {
        self.0.give_up(name);
    }

    #[inline]
    fn event(&self) -> Option<Result<Event<Bare>, (Name, HuntError)>> {
        Some(self.0.event()?.map(|event| match event {
            Event::Lost { key, reason } => Event::Lost { key, reason },
            Event::Connected(link) => {
                let Connected { key, name, incarnation, own, peer, bell } = link;
                Event::Connected(Connected { key, name, incarnation, own, peer, bell })
            }
        }))
    }

    fn close(&self, key: u32) {
        self.0.close(key);
    }

    fn has_engine(&self) -> bool {
        self.0.has_engine()
    }

    fn engine_store(
        &self,
        own: &Region,
        offset: u32,
        from: &[u8],
        fragment: u32,
    ) -> Result<(), EngineError> {
        self.0.engine_store(own, offset, from, fragment)
    }

    fn engine_fetch(
        &self,
        peer: &PeerRegion,
        offset: u32,
        to: &mut [u8],
        fragment: u32,
    ) -> Result<(), EngineError> {
        self.0.engine_fetch(peer, offset, to, fragment)
    }
}

/// What a batch of round trips is done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spans {
    /// Stamps are taken.
    On,
    /// Spans are there and off.
    Off,
    /// There are none.
    None,
}

/// One side: a node of either kind.
struct Side {
    host: Node<Host>,
    bare: Node<Bare>,
}

/// The side that measures, and the thread of the other.
pub struct Threads<'scope> {
    side: Side,
    tell: Sender<Spans>,
    _other: ScopedJoinHandle<'scope, ()>,
    // Last: it is removed when everything in it is closed.
    _directory: tempfile::TempDir,
}

impl<'scope> Threads<'scope> {
    /// Starts the other thread and links with it. Pins both.
    ///
    /// # Errors
    /// What the machine refused.
    pub fn start(scope: &'scope Scope<'scope, '_>, cores: Cores) -> Result<Self, Failure> {
        let directory = tempfile::tempdir().map_err(|error| {
            Failure::new(Kind::Output, format!("cannot make a directory for nodes: {error}"))
        })?;
        let path = directory.path().to_owned();
        let open = move |name: &str, core: usize| -> Result<Host, Failure> {
            let options = Options::new(name).directory(&path).core(core);
            options.open().map_err(|error| Failure::new(Kind::Internal, error.to_string()))
        };
        let (tell, told) = channel();
        let (ready, other_ready) = channel();
        let other_open = open.clone();
        // Opened there, as that pins the thread.
        let other = scope.spawn(move || {
            let side = Side::open(|name| other_open(&format!("callee-{name}"), cores.callee));
            let up = side.and_then(|mut side| {
                hunt(&mut side.host, "caller-host")?;
                hunt(&mut side.bare, "caller-bare")?;
                Ok(side)
            });
            let (side, said) = match up {
                Ok(side) => (Some(side), Ok(())),
                Err(failure) => (None, Err(failure)),
            };
            // If nobody listens, nobody asks for anything either.
            let _ = ready.send(said);
            if let Some(mut side) = side {
                side.answer(&told);
            }
        });
        let mut side = Side::open(|name| open(&format!("caller-{name}"), cores.caller))?;
        let said = loop {
            side.host.wait_any(Some(Duration::from_millis(1)));
            side.bare.wait_any(Some(Duration::from_millis(1)));
            side.host.poll();
            side.bare.poll();
            if let Ok(said) = other_ready.try_recv() {
                break said;
            }
        };
        said?;
        attach(&mut side.host)?;
        attach(&mut side.bare)?;
        Ok(Threads { side, tell, _other: other, _directory: directory })
    }

    /// A batch of round trips: nanoseconds of one, the median.
    ///
    /// # Errors
    /// The other thread is gone.
    pub fn trips(&mut self, spans: Spans, count: u64) -> Result<f64, Failure> {
        self.tell.send(spans).map_err(|_| gone())?;
        let Side { host, bare } = &mut self.side;
        if spans == Spans::None {
            return ask(bare, count);
        }
        host.platform_mut().set_tracing(spans == Spans::On);
        let ns = ask(host, count);
        host.platform_mut().set_tracing(false);
        ns
    }

    /// As [`Threads::trips`] with stamps: also how many a round trip has, on both sides.
    ///
    /// # Errors
    /// The other thread is gone.
    pub fn stamped(&mut self, count: u64) -> Result<(f64, f64), Failure> {
        self.side.host.platform().take_trace();
        let ns = self.trips(Spans::On, count)?;
        let trace = self.side.host.platform().take_trace();
        let stamps = trace.records.len() as u64 + trace.overwritten;
        // Both sides do the same: send one message, and receive one.
        Ok((ns, 2.0 * stamps as f64 / count.max(1) as f64))
    }
}

impl Side {
    fn open(open: impl Fn(&str) -> Result<Host, Failure>) -> Result<Side, Failure> {
        Ok(Side { host: node(open("host")?)?, bare: node(Bare(open("bare")?))? })
    }

    /// Answers batches until none can come any more.
    fn answer(&mut self, told: &Receiver<Spans>) {
        while let Ok(spans) = told.recv() {
            let answered = match spans {
                Spans::None => echo(&mut self.bare),
                spans => {
                    self.host.platform_mut().set_tracing(spans == Spans::On);
                    let answered = echo(&mut self.host);
                    self.host.platform_mut().set_tracing(false);
                    answered
                }
            };
            if answered.is_none() {
                return;
            }
        }
    }
}

fn node<P: Platform>(platform: P) -> Result<Node<P>, Failure> {
    let tables = Tables { links: 1, endpoints: 1, flows: 1, inbox: 64, longest: BYTES };
    let node = Node::new(platform, tables).ok();
    let mut node = node.ok_or_else(|| defect("there is no memory for a small node"))?;
    node.open(PORT).map_err(|_| defect("a port is in use"))?;
    node.set_notification(Notification::Spin);
    Ok(node)
}

fn hunt<P: Platform>(node: &mut Node<P>, name: &str) -> Result<(), Failure> {
    let name = name.parse().map_err(|_| defect("a name is none"))?;
    let found = node.hunt(&name, Some(PATIENCE));
    found.map_err(|error| Failure::new(Kind::Internal, error.to_string()))?;
    attach(node)
}

fn ask<P: Platform>(node: &mut Node<P>, count: u64) -> Result<f64, Failure> {
    let (link, _) = node.links().next().ok_or_else(gone)?;
    let to = Address { link, port: PORT };
    let (mut out, mut back) = ([7; BYTES], [0; BYTES]);
    let mut laps = Laps::new(count);
    laps.begin();
    for number in 0..count {
        laps.iteration(LAP);
        out[..8].copy_from_slice(&number.to_le_bytes());
        let tag = if number + 1 == count { LAST } else { 0 };
        let sent = node.send(PORT, to, Message::new(&out[..]).tag(tag), None);
        sent.map_err(|_| gone())?;
        receive(node, &mut back).ok_or_else(gone)?;
    }
    laps.finish();
    if back != out {
        return Err(defect("a payload did not arrive as it was sent"));
    }
    laps.middle().ok_or_else(|| defect("a batch of nothing"))
}

/// Sends messages back until one says that it is the last; none if they do not come.
fn echo<P: Platform>(node: &mut Node<P>) -> Option<()> {
    let mut bytes = [0; BYTES];
    loop {
        let came = receive(node, &mut bytes)?;
        node.send(PORT, came.from, Message::new(&bytes[..]).tag(came.tag), None).ok()?;
        if came.tag == LAST {
            return Some(());
        }
    }
}

/// Has the end of the link told at the port. The side that was hunted for may learn of the link
/// after the one that hunted has said that it is up.
fn attach<P: Platform>(node: &mut Node<P>) -> Result<(), Failure> {
    let deadline = std::time::Instant::now() + PATIENCE;
    while node.links().next().is_none() && std::time::Instant::now() < deadline {
        node.wait_any(Some(Duration::from_millis(1)));
        node.poll();
    }
    let (link, _) = node.links().next().ok_or_else(gone)?;
    node.link(link).attach(PORT).map_err(|_| gone())
}

/// The next message; none if the other side is gone.
#[inline(always)]
fn receive<P: Platform>(node: &mut Node<P>, to: &mut [u8]) -> Option<Received> {
    let came = node.receive_into(PORT, to, None).ok()?;
    (came.what == What::Message).then_some(came)
}

fn gone() -> Failure {
    Failure::new(Kind::Peer, "the other thread of the bench does not answer: run it again")
}
