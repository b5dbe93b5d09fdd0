//! Zenoh between peers that know each other: payload in shared memory, what says so over a Unix
//! socket.

use std::io;
use std::time::{Duration, Instant};

use zenoh::handlers::{FifoChannel, FifoChannelHandler};
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::{CongestionControl, Priority};
use zenoh::sample::Sample;
use zenoh::shm::{
    BlockOn, GarbageCollect, PosixShmProviderBackend, ShmProvider, ShmProviderBuilder,
};
use zenoh::{Config, Session, Wait};

use super::{Publish, Read};
use crate::contender::{Setup, failed};
use crate::payload;

pub struct Zenoh;

/// Messages that there is memory for.
const MESSAGES: usize = 16;
/// Bytes of its memory beside those of messages: each takes whole pages, and there is a header.
const MORE: usize = 1 << 20;
const TOPIC: &str = "fan";
/// How long the publisher waits for word of all subscribers.
const PATIENCE: Duration = Duration::from_secs(10);

fn session(setup: &Setup, listens: bool) -> io::Result<Session> {
    let mut config = Config::default();
    let socket = setup.directory.join("zenoh");
    let place = format!("[\"unixsock-stream/{}\"]", socket.display());
    let mut set = |key: &str, value: &str| {
        config.insert_json5(key, value).map_err(|error| failed(key, error))
    };
    set("mode", "\"peer\"")?;
    set("listen/endpoints", if listens { &place } else { "[]" })?;
    set("connect/endpoints", if listens { "[]" } else { &place })?;
    set("scouting/multicast/enabled", "false")?;
    set("scouting/gossip/enabled", "false")?;
    set("transport/shared_memory/enabled", "true")?;
    zenoh::open(config).wait().map_err(|error| failed("session", error))
}

impl super::Contender for Zenoh {
    fn name(&self) -> &'static str {
        "Zenoh, shared memory"
    }
    fn publisher(&self, setup: &Setup, readers: u32) -> io::Result<Box<dyn Publish>> {
        let session = session(setup, true)?;
        let memory = ShmProviderBuilder::default_backend(setup.bytes * MESSAGES + MORE).wait();
        let memory = memory.map_err(|error| failed("memory", error))?;
        let publisher = session
            .declare_publisher(TOPIC)
            .congestion_control(CongestionControl::Block)
            .priority(Priority::RealTime)
            .express(true)
            .wait()
            .map_err(|error| failed("publisher", error))?;
        Ok(Box::new(Writer { publisher, memory, bytes: setup.bytes, awaited: readers, session }))
    }
    fn reader(&self, setup: &Setup, _: u32) -> io::Result<Box<dyn Read>> {
        let session = session(setup, false)?;
        let declared = session.declare_subscriber(TOPIC).with(FifoChannel::new(setup.depth)).wait();
        let subscriber = declared.map_err(|error| failed("subscriber", error))?;
        let token = format!("{TOPIC}/{}", fastrand::u64(..));
        let token = session.liveliness().declare_token(token).wait();
        let token = token.map_err(|error| failed("token", error))?;
        Ok(Box::new(Taker { subscriber, bytes: setup.bytes, _token: token, _session: session }))
    }
}

struct Writer {
    publisher: Publisher<'static>,
    memory: ShmProvider<PosixShmProviderBackend>,
    bytes: usize,
    /// Subscribers that it has not heard of yet.
    awaited: u32,
    session: Session,
}

impl Writer {
    /// Waits until it has heard of all: what is published before does not come to the others.
    fn hear(&mut self) -> io::Result<()> {
        let began = Instant::now();
        while self.awaited > 0 {
            let heard = self.session.liveliness().get(format!("{TOPIC}/*")).wait();
            let heard = heard.map_err(|error| failed("liveliness", error))?;
            if std::iter::from_fn(|| heard.recv().ok()).count() >= self.awaited as usize {
                self.awaited = 0;
            } else if began.elapsed() > PATIENCE {
                return Err(failed("subscribers", "not all are there"));
            }
        }
        Ok(())
    }
}

impl Publish for Writer {
    fn publish(&mut self, number: u64) -> io::Result<()> {
        self.hear()?;
        let loan = self.memory.alloc(self.bytes).with_policy::<BlockOn<GarbageCollect>>().wait();
        let mut loan = loan.map_err(|error| failed("loan", error))?;
        payload::make(number, &mut loan);
        self.publisher.put(loan).wait().map_err(|error| failed("put", error))
    }
}

struct Taker {
    subscriber: Subscriber<FifoChannelHandler<Sample>>,
    bytes: usize,
    _token: LivelinessToken,
    _session: Session,
}

impl Read for Taker {
    fn read(&mut self, expected: u64) -> io::Result<()> {
        let sample = self.subscriber.recv().map_err(|error| failed("receive", error))?;
        // Whatever is in one piece, as all is in shared memory, is not copied here.
        payload::check(expected, self.bytes, &sample.payload().to_bytes())
    }
}
