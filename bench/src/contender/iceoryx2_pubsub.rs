//! iceoryx2, publish-subscribe: payload is made in a loaned sample and read in the received one.
//!
//! It has no blocking receive; its way to sleep is an event service beside the samples, which is
//! notified after each.

use std::io;

use iceoryx2::node::Node;
use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use iceoryx2_bb_system_types::file_name::FileName;
use iceoryx2_bb_system_types::path::Path;

use super::{Contender, Counted, EITHER, End, Mode, Port, Role, Setup, failed};
use crate::control::Control;
use crate::payload;

pub struct Iceoryx2PubSub;

impl Contender for Iceoryx2PubSub {
    fn name(&self) -> &'static str {
        "iceoryx2, publish-subscribe"
    }
    fn version(&self) -> String {
        crate::versions::of("iceoryx2")
    }
    fn copies(&self, _: usize) -> &'static str {
        "0"
    }
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str> {
        waits(mode)
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        let node = node(setup)?;
        let (out, into) = ways(role);
        let bell = Bell::open(&node, role, setup.mode)?;
        let publisher = service(&node, out, setup)?
            .publisher_builder()
            .initial_max_slice_len(setup.bytes / payload::WORD)
            .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
            .create()
            .map_err(|error| failed("publisher", error))?;
        let subscriber = service(&node, into, setup)?
            .subscriber_builder()
            .create()
            .map_err(|error| failed("subscriber", error))?;
        meet(role, control)?;
        let words = setup.bytes / payload::WORD;
        Ok(Counted::boxed(Ends { publisher, subscriber, bell, words, _node: node }))
    }
}

/// How iceoryx2 waits.
pub(super) fn waits(mode: Mode) -> Result<&'static str, &'static str> {
    match mode {
        Mode::Spinning => Ok("receives without blocking"),
        Mode::Blocked => Ok("sleeps in a listener; notified after each"),
        Mode::Hybrid => Err(EITHER),
    }
}

/// The names of what an end sends over and receives from.
pub(super) fn ways(role: Role) -> (&'static str, &'static str) {
    match role {
        Role::Caller => ("there", "back"),
        Role::Callee => ("back", "there"),
    }
}

/// Both ends have opened everything before either sends.
pub(super) fn meet(role: Role, control: &mut Control) -> io::Result<()> {
    match role {
        Role::Caller => {
            control.wait_done()?;
            control.done()
        }
        Role::Callee => {
            control.done()?;
            control.wait_done()
        }
    }
}

/// A node whose files are this pair's own.
pub fn node(setup: &Setup) -> io::Result<Node<ipc::Service>> {
    set_log_level(LogLevel::Error);
    let mut config = Config::default();
    let root = setup.directory.display().to_string();
    let root = Path::new(root.as_bytes()).map_err(|e| failed("directory", format!("{e:?}")))?;
    config.global.set_root_path(&root);
    let prefix = format!("{}_", setup.tag);
    let prefix = FileName::new(prefix.as_bytes());
    config.global.prefix = prefix.map_err(|e| failed("prefix", format!("{e:?}")))?;
    let created = NodeBuilder::new().config(&config).create::<ipc::Service>();
    created.map_err(|error| failed("node", error))
}

type PubSub =
    iceoryx2::service::port_factory::publish_subscribe::PortFactory<ipc::Service, [u64], ()>;

fn service(node: &Node<ipc::Service>, way: &str, setup: &Setup) -> io::Result<PubSub> {
    let name = way.try_into().map_err(|error| failed("name", error))?;
    node.service_builder(&name)
        .publish_subscribe::<[u64]>()
        .max_publishers(1)
        .max_subscribers(1)
        .history_size(0)
        .subscriber_max_buffer_size(setup.depth)
        .enable_safe_overflow(false)
        .open_or_create()
        .map_err(|error| failed("service", error))
}

/// What wakes a sleeping end: nothing, if ends spin.
pub(super) struct Bell(Option<(Notifier<ipc::Service>, Listener<ipc::Service>)>);

impl Bell {
    /// Opens this end's notifier and listener.
    pub(super) fn open(node: &Node<ipc::Service>, role: Role, mode: Mode) -> io::Result<Bell> {
        if mode == Mode::Spinning {
            return Ok(Bell(None));
        }
        let event = |way: &str| {
            let name = format!("{way} bell");
            let name = name.as_str().try_into().map_err(|error| failed("name", error))?;
            let opened = node.service_builder(&name).event().open_or_create();
            opened.map_err(|error| failed("event service", error))
        };
        let (out, into) = ways(role);
        let notifier = event(out)?.notifier_builder().create();
        let notifier = notifier.map_err(|error| failed("notifier", error))?;
        let listener = event(into)?.listener_builder().create();
        let listener = listener.map_err(|error| failed("listener", error))?;
        Ok(Bell(Some((notifier, listener))))
    }

    /// Wakes the other end.
    #[inline]
    pub(super) fn ring(&self) -> io::Result<()> {
        match &self.0 {
            None => Ok(()),
            Some((notifier, _)) => {
                notifier.notify().map(|_| ()).map_err(|error| failed("notify", error))
            }
        }
    }

    /// Waits until there may be something.
    #[inline]
    pub(super) fn wait(&self) -> io::Result<()> {
        match &self.0 {
            None => {
                std::hint::spin_loop();
                Ok(())
            }
            Some((_, listener)) => {
                let heard = listener.blocking_wait(|_| {});
                heard.map(|_| ()).map_err(|error| failed("wait", error))
            }
        }
    }
}

struct Ends {
    publisher: Publisher<ipc::Service, [u64], ()>,
    subscriber: Subscriber<ipc::Service, [u64], ()>,
    bell: Bell,
    words: usize,
    _node: Node<ipc::Service>,
}

impl Port for Ends {
    fn send(&mut self, number: u64) -> io::Result<()> {
        let sample = self.publisher.loan_slice_uninit(self.words);
        let sample = sample.map_err(|error| failed("loan", error))?;
        let sample = sample.write_from_fn(|at| payload::word(number, at));
        sample.send().map_err(|error| failed("send", error))?;
        self.bell.ring()
    }
    fn receive(&mut self, number: u64) -> io::Result<()> {
        loop {
            let received = self.subscriber.receive();
            match received.map_err(|error| failed("receive", error))? {
                Some(sample) => return payload::check_words(number, self.words, &sample),
                None => self.bell.wait()?,
            }
        }
    }
}
