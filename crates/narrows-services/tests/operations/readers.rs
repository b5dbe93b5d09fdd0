//! What subscribers do.

use std::pin::pin;
use std::task::Poll;

use narrows_services::{Error, Overflow, Refusal};

use crate::ground::{Ground, Held, NODES, Published, Subscribed, TOPICS, name, poll};
use crate::model::{Joined, Terms, Took};

impl Ground {
    pub fn take(&mut self) {
        if self.subscribed.is_empty() {
            return;
        }
        let at = self.random(self.subscribed.len());
        let Subscribed { id, site, topic, ref subscriber } = self.subscribed[at];
        let taken = poll(&mut pin!(subscriber.receive()));
        let model = &mut self.topics[topic].as_mut().expect("it is there").model;
        let reader = model.reader(id);
        match reader.take() {
            Took::Message(number) => {
                let Poll::Ready(Ok(sample)) = taken else { panic!("there is {number}") };
                assert_eq!(sample.read(), Ok(number));
                self.held.push(Held { reader: id, site, topic, number, sample });
                self.did("take: a message");
            }
            Took::Holds => {
                let Poll::Ready(taken) = taken else { panic!("as many are held as may be") };
                assert_eq!(taken.err(), Some(Error::Holds(name(topic))));
                self.did("take: holds");
            }
            Took::Nothing => {
                assert!(taken.is_pending(), "there is nothing");
                assert_eq!(subscriber.blocking().lost(), reader.lost);
                self.did("take: nothing");
            }
        }
    }

    pub fn drop_sample(&mut self) {
        if !self.held.is_empty() {
            let at = self.random(self.held.len());
            let held = self.held.swap_remove(at);
            self.give_back(held);
        }
    }

    pub fn give_back(&mut self, held: Held) {
        let Held { reader, topic, number, sample, .. } = held;
        assert_eq!(sample.read(), Ok(number), "what is held stays as it is");
        drop(sample);
        self.did("drop: sample");
        let Some(Published { publisher, model, .. }) = &mut self.topics[topic] else { return };
        let Some(reader) = model.readers.iter_mut().find(|one| one.id == reader) else { return };
        reader.held.retain(|held| *held != number);
        if reader.left {
            publisher.attend().unwrap();
            model.attend();
            assert_eq!(publisher.subscribers(), Ok(model.readers.len()));
            self.did("drop: sample of one that left");
        }
    }

    pub fn subscribe(&mut self) {
        let (site, topic) = (self.random(NODES), self.random(TOPICS));
        let overflow = [Overflow::Wait, Overflow::DropNewest, Overflow::DropOldest][self.random(3)];
        let terms = Terms {
            depth: 1 << self.random(5),
            holds: 1 + self.random(4),
            overflow,
            history: self.random(6),
        };
        // No node has a link with itself that its own thread waits for.
        if self.topics[topic].as_ref().is_none_or(|published| published.site == site) {
            return;
        }
        let node = self.sites[site].node.clone();
        if self.random(10) == 0 {
            let made = self.until(node.subscriber::<i64>(&name(topic)));
            assert!(matches!(made.err(), Some(Error::Types { .. })));
            return self.did("subscribe: types");
        }
        let wish = node.blocking().subscribe(&name(topic)).depth(terms.depth as u32);
        let wish = wish.holds(terms.holds as u32).history(terms.history as u32);
        let wish = wish.overflow(overflow).patience(None);
        if self.random(6) == 0 {
            // One that is dropped while it asks leaves nothing behind.
            let polls = self.random(3);
            let mut asks = Box::pin(node.subscriber_of::<u64>(wish));
            let _ = (0..polls).any(|_| poll(&mut asks.as_mut()).is_ready());
            drop(asks);
            let Some(Published { publisher, model, .. }) = &mut self.topics[topic] else { return };
            publisher.attend().unwrap();
            model.attend();
            assert_eq!(publisher.subscribers(), Ok(model.readers.len()));
            return;
        }
        let made = self.until(node.subscriber_of::<u64>(wish));
        let id = self.numbers;
        self.numbers += 1;
        let model = &mut self.topics[topic].as_mut().expect("it is there").model;
        let refused = |why| Some(Error::Refused(name(topic), why));
        match model.join(id, terms) {
            Joined::Terms => {
                assert_eq!(made.err(), refused(Refusal::Terms));
                self.did("subscribe: terms");
            }
            Joined::Full => {
                assert_eq!(made.err(), refused(Refusal::Full));
                self.did("subscribe: full");
            }
            Joined::Done { caught_up } => {
                let subscriber = made.map_err(|error| error.to_string()).unwrap();
                self.subscribed.push(Subscribed { id, site, topic, subscriber });
                let with = ["subscribe: without history", "subscribe: with history"];
                self.did(with[usize::from(caught_up > 0)]);
            }
        }
    }

    pub fn leave(&mut self) {
        if !self.subscribed.is_empty() {
            let at = self.random(self.subscribed.len());
            let subscribed = self.subscribed.swap_remove(at);
            self.leaves(subscribed);
        }
    }

    pub fn leaves(&mut self, subscribed: Subscribed) {
        let Subscribed { id, topic, subscriber, .. } = subscribed;
        drop(subscriber);
        let Some(Published { publisher, model, .. }) = &mut self.topics[topic] else { return };
        let reader = model.reader(id);
        reader.left = true;
        let holds = usize::from(!reader.held.is_empty());
        publisher.attend().unwrap();
        model.attend();
        assert_eq!(publisher.subscribers(), Ok(model.readers.len()));
        self.did(["leave: subscriber", "leave: subscriber that holds"][holds]);
    }

    /// A subscriber takes nothing any more and says nothing of it, until its publisher ends.
    pub fn leak(&mut self) {
        if !self.subscribed.is_empty() && self.leaks < 200 {
            let at = self.random(self.subscribed.len());
            let Subscribed { subscriber, site, .. } = self.subscribed.swap_remove(at);
            // Its node is leaked with it, once it is killed.
            self.sites[site].leaked = true;
            std::mem::forget(subscriber);
            self.leaks += 1;
            self.did("leak: subscriber");
        }
    }
}
