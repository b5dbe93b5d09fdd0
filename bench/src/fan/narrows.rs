//! Narrows: a topic.

use std::io;

use narrows_services::{Publisher, Subscriber};

use super::{Publish, Read};
use crate::contender::{Setup, failed, narrows_topic as topic};
use crate::payload;

pub struct Narrows;

/// The topic's name.
const TOPIC: &str = "fan";

impl super::Contender for Narrows {
    fn name(&self) -> &'static str {
        "Narrows, topic"
    }
    fn publisher(&self, setup: &Setup, readers: u32) -> io::Result<Box<dyn Publish>> {
        let node = topic::open(setup, "publisher")?;
        let publisher = topic::publisher(&node, TOPIC, setup, readers)?;
        Ok(Box::new(Writer { publisher, words: setup.bytes / payload::WORD }))
    }
    fn reader(&self, setup: &Setup, _: u32) -> io::Result<Box<dyn Read>> {
        let name = format!("reader{}-{:?}", std::process::id(), std::thread::current().id());
        let name: String = name.chars().filter(|c| c.is_alphanumeric() || *c == '-').collect();
        let node = topic::open(setup, &name)?;
        let subscriber = topic::subscriber(&node, TOPIC, setup)?;
        Ok(Box::new(Taker { subscriber, words: setup.bytes / payload::WORD }))
    }
}

struct Writer {
    publisher: Publisher<[u64]>,
    words: usize,
}

impl Publish for Writer {
    fn attend(&mut self) -> io::Result<()> {
        self.publisher.attend().map_err(|error| failed("attend", error))
    }
    fn publish(&mut self, number: u64) -> io::Result<()> {
        topic::send(&self.publisher, self.words, number)
    }
}

struct Taker {
    subscriber: Subscriber<[u64]>,
    words: usize,
}

impl Read for Taker {
    fn read(&mut self, expected: u64) -> io::Result<()> {
        let sample = self.subscriber.receive(None).map_err(|error| failed("receive", error))?;
        topic::check(&sample, self.words, expected)
    }
}
