//! Narrows: a topic each way, whose messages are made and read where they are.
#![allow(unsafe_code)]

use std::io;

use narrows::strategy::Notification;
use narrows_host::Options;
use narrows_services::{Node, Overflow, Publisher, Sample, Subscriber};

use super::narrows_message::{self, SOON};
use super::{Contender, Counted, End, Kind, Mode, Port, Role, Setup, failed};
use crate::control::Control;
use crate::payload;

pub struct NarrowsTopic;

impl Contender for NarrowsTopic {
    fn name(&self) -> &'static str {
        "Narrows, topic"
    }
    fn kind(&self) -> Kind {
        Kind::Narrows
    }
    fn version(&self) -> String {
        narrows_message::version()
    }
    fn copies(&self, _: usize) -> &'static str {
        "0"
    }
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str> {
        Ok(match mode {
            Mode::Spinning => "takes without blocking",
            Mode::Blocked => "sleeps in receive",
            Mode::Hybrid => "looks, then sleeps in receive",
        })
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        let (own, out, into) = match role {
            Role::Caller => ("caller", "there", "back"),
            Role::Callee => ("callee", "back", "there"),
        };
        let node = open(setup, own)?;
        let publisher = publisher(&node, out, setup, 1)?;
        // The caller is let in first, then the callee.
        let subscribe = |control: &mut Control| {
            let subscriber = subscriber(&node, into, setup)?;
            control.done()?;
            Ok::<_, io::Error>(subscriber)
        };
        let attend = |control: &mut Control| {
            while !control.said()? {
                publisher.attend().map_err(|error| failed("attend", error))?;
            }
            control.wait_done()
        };
        let subscriber = match role {
            Role::Caller => {
                let subscriber = subscribe(control)?;
                attend(control)?;
                subscriber
            }
            Role::Callee => {
                attend(control)?;
                subscribe(control)?
            }
        };
        let words = setup.bytes / payload::WORD;
        let spins = setup.mode == Mode::Spinning;
        Ok(Counted::boxed(Ends { publisher, subscriber, words, spins }))
    }
}

/// A node whose files are this pair's own.
pub fn open(setup: &Setup, name: &str) -> io::Result<Node> {
    let node = Node::with(Options::new(name).directory(&setup.directory));
    let node = node.map_err(|error| failed("node", error))?;
    if setup.mode == Mode::Blocked {
        let below = node.below().map_err(|error| failed("node", error));
        below?.set_notification(Notification::Interrupt);
    }
    Ok(node)
}

/// A queue for as many messages as may be under way.
fn depth(setup: &Setup) -> u32 {
    setup.depth.next_power_of_two() as u32
}

/// A publisher with memory for this number of subscribers that are behind as far as they may be.
pub fn publisher(
    node: &Node,
    topic: &str,
    setup: &Setup,
    subscribers: u32,
) -> io::Result<Publisher<[u64]>> {
    let slots = subscribers * (depth(setup) + 1) + 1;
    let topic = node.topic(topic).longest(setup.bytes / payload::WORD).slots(slots);
    let topic = topic.subscribers(subscribers).patience(SOON);
    topic.publisher().map_err(|error| failed("publisher", error))
}

/// A subscriber that misses nothing.
pub fn subscriber(node: &Node, topic: &str, setup: &Setup) -> io::Result<Subscriber<[u64]>> {
    let wish = node.subscribe(topic).depth(depth(setup)).holds(1).overflow(Overflow::Wait);
    wish.subscriber().map_err(|error| failed("subscriber", error))
}

/// Makes message `number` where it is sent from, and sends it.
#[inline]
pub fn send(publisher: &Publisher<[u64]>, words: usize, number: u64) -> io::Result<()> {
    let mut message = publisher.loan(words).map_err(|error| failed("loan", error))?;
    for (at, word) in message.iter_mut().enumerate() {
        *word = payload::word(number, at);
    }
    message.send().map_err(|error| failed("send", error))
}

/// Reads a message where it is.
#[inline]
pub fn check(sample: &Sample<[u64]>, words: usize, number: u64) -> io::Result<()> {
    // SAFETY: the publisher is this bench's other end, which keeps to what subscribers hold.
    let values = unsafe { sample.trusted() };
    payload::check_words(number, words, values.unwrap_or_default())
}

struct Ends {
    publisher: Publisher<[u64]>,
    subscriber: Subscriber<[u64]>,
    words: usize,
    spins: bool,
}

impl Port for Ends {
    fn send(&mut self, number: u64) -> io::Result<()> {
        send(&self.publisher, self.words, number)
    }
    fn receive(&mut self, number: u64) -> io::Result<()> {
        let sample = match self.spins {
            false => self.subscriber.receive(None),
            true => loop {
                match self.subscriber.take() {
                    Ok(None) => std::hint::spin_loop(),
                    Ok(Some(sample)) => break Ok(sample),
                    Err(error) => break Err(error),
                }
            },
        };
        check(&sample.map_err(|error| failed("receive", error))?, self.words, number)
    }
}
