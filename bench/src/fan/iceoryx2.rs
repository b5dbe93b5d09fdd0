//! iceoryx2: publish-subscribe, with an event service that wakes all.

use std::io;

use iceoryx2::node::Node;
use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use iceoryx2::service::port_factory::{event, publish_subscribe};

use super::{Publish, Read};
use crate::contender::{Setup, failed, iceoryx2_pubsub};
use crate::payload;

pub struct Iceoryx2;

type Samples = publish_subscribe::PortFactory<ipc::Service, [u64], ()>;
type Bells = event::PortFactory<ipc::Service>;

fn services(
    node: &Node<ipc::Service>,
    setup: &Setup,
    readers: u32,
) -> io::Result<(Samples, Bells)> {
    let most = readers as usize;
    let name = "fan".try_into().map_err(|error| failed("name", error))?;
    let samples = node
        .service_builder(&name)
        .publish_subscribe::<[u64]>()
        .max_publishers(1)
        .max_subscribers(most)
        .max_nodes(most + 1)
        .history_size(0)
        .subscriber_max_buffer_size(setup.depth)
        .enable_safe_overflow(false)
        .open_or_create()
        .map_err(|error| failed("service", error))?;
    let bells = node.service_builder(&name).event().max_listeners(most).max_nodes(most + 1);
    let bells = bells.open_or_create().map_err(|error| failed("event service", error))?;
    Ok((samples, bells))
}

impl super::Contender for Iceoryx2 {
    fn name(&self) -> &'static str {
        "iceoryx2, publish-subscribe"
    }
    fn publisher(&self, setup: &Setup, readers: u32) -> io::Result<Box<dyn Publish>> {
        let node = iceoryx2_pubsub::node(setup)?;
        let (samples, bells) = services(&node, setup, readers)?;
        let words = setup.bytes / payload::WORD;
        let publisher = samples
            .publisher_builder()
            .initial_max_slice_len(words)
            .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
            .create()
            .map_err(|error| failed("publisher", error))?;
        let notifier = bells.notifier_builder().create();
        let notifier = notifier.map_err(|error| failed("notifier", error))?;
        Ok(Box::new(Writer { publisher, notifier, words, _node: node }))
    }
    fn reader(&self, setup: &Setup, readers: u32) -> io::Result<Box<dyn Read>> {
        let node = iceoryx2_pubsub::node(setup)?;
        let (samples, bells) = services(&node, setup, readers)?;
        let subscriber = samples.subscriber_builder().create();
        let subscriber = subscriber.map_err(|error| failed("subscriber", error))?;
        let listener = bells.listener_builder().create();
        let listener = listener.map_err(|error| failed("listener", error))?;
        let words = setup.bytes / payload::WORD;
        Ok(Box::new(Taker { subscriber, listener, words, _node: node }))
    }
}

struct Writer {
    publisher: Publisher<ipc::Service, [u64], ()>,
    notifier: Notifier<ipc::Service>,
    words: usize,
    _node: Node<ipc::Service>,
}

impl Publish for Writer {
    fn publish(&mut self, number: u64) -> io::Result<()> {
        let sample = self.publisher.loan_slice_uninit(self.words);
        let sample = sample.map_err(|error| failed("loan", error))?;
        let sample = sample.write_from_fn(|at| payload::word(number, at));
        sample.send().map_err(|error| failed("send", error))?;
        self.notifier.notify().map(|_| ()).map_err(|error| failed("notify", error))
    }
}

struct Taker {
    subscriber: Subscriber<ipc::Service, [u64], ()>,
    listener: Listener<ipc::Service>,
    words: usize,
    _node: Node<ipc::Service>,
}

impl Read for Taker {
    fn read(&mut self, expected: u64) -> io::Result<()> {
        loop {
            let received = self.subscriber.receive();
            match received.map_err(|error| failed("receive", error))? {
                Some(sample) => return payload::check_words(expected, self.words, &sample),
                None => {
                    let heard = self.listener.blocking_wait(|_| {});
                    heard.map_err(|error| failed("wait", error))?;
                }
            }
        }
    }
}
