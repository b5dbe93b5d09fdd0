//! What subscribers do.

use std::pin::pin;
use std::task::Poll;

use narrows_services::{Error, Overflow, Publisher, Refusal};

use crate::ground::{Ground, Held, NODES, Published, Subscribed, TOPICS, name, poll};
use crate::model::{Joined, Reader, Terms, Took, Topic};

/// A publisher has as many subscribers as it should.
fn attended(publisher: &Publisher<u64>, model: &mut Topic) {
    publisher.attend().unwrap();
    model.attend();
    assert_eq!(publisher.subscribers(), Ok(model.readers.len()));
}

impl Ground {
    pub fn take(&mut self) {
        if !self.subscribed.is_empty() {
            let at = self.random(self.subscribed.len());
            let took = self.take_of(at);
            self.did(took);
        }
    }

    /// A subscriber takes, of any publisher that has something for it, and of each in turn.
    fn take_of(&mut self, at: usize) -> &'static str {
        let Subscribed { id, site, topic, ref subscriber, ref last, lost, .. } =
            self.subscribed[at];
        let taken = poll(&mut pin!(subscriber.receive()));
        let heard = subscriber.blocking().lost();
        let turn = last.clone();
        let publishers = self.topics[topic].iter_mut();
        let mut readers: Vec<(String, &mut Reader)> =
            publishers.map(|one| (one.of.clone(), one.model.reader(id))).collect();
        let waits = readers.iter().any(|(_, reader)| !reader.queue.is_empty());
        match taken {
            Poll::Ready(Ok(sample)) => {
                let of = sample.publisher().to_owned();
                let others = readers.iter().filter(|(other, _)| *other != of);
                if turn.as_ref() == Some(&of) {
                    for (other, reader) in others {
                        assert!(!reader.may_take(), "it was {other}'s turn");
                    }
                }
                let (_, reader) =
                    readers.iter_mut().find(|(one, _)| *one == of).expect("it is there");
                let Took::Message(number) = reader.take() else { panic!("{of} has nothing") };
                assert_eq!(sample.read(), Ok(number));
                self.held.push(Held { reader: id, of: of.clone(), site, topic, number, sample });
                self.subscribed[at].last = Some(of);
                "take: a message"
            }
            Poll::Ready(Err(error)) => {
                assert_eq!(error, Error::Holds(name(topic)));
                assert!(waits);
                let took = readers.iter_mut().map(|(_, reader)| reader.take_if_it_may());
                let took: Vec<Took> = took.collect();
                assert!(took.contains(&Took::Holds), "{took:?}");
                assert!(!took.iter().any(|one| matches!(one, Took::Message(_))), "{took:?}");
                "take: holds"
            }
            Poll::Pending => {
                for (_, reader) in &mut readers {
                    assert_eq!(reader.take(), Took::Nothing);
                }
                let all = readers.iter().map(|(_, reader)| reader.lost).sum::<u32>();
                assert_eq!(heard, lost + all);
                "take: nothing"
            }
        }
    }

    fn at(&self, id: u64) -> usize {
        self.subscribed.iter().position(|one| one.id == id).expect("it subscribes")
    }

    /// A subscriber gives back all that it holds, and takes all that waits.
    pub fn settle(&mut self, id: u64) {
        loop {
            while let Some(at) = self.held.iter().position(|held| held.reader == id) {
                let held = self.held.swap_remove(at);
                self.give_back(held);
            }
            if self.take_of(self.at(id)) == "take: nothing" {
                return;
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
        let Held { reader, of, topic, number, sample, .. } = held;
        assert_eq!(sample.read(), Ok(number), "what is held stays as it is");
        drop(sample);
        self.did("drop: sample");
        let Some(Published { publisher, model, .. }) = self.published(topic, &of) else { return };
        let Some(reader) = model.readers.iter_mut().find(|one| one.id == reader) else { return };
        reader.held.retain(|held| *held != number);
        if let (true, Some(publisher)) = (reader.left, publisher) {
            attended(publisher, model);
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
        let publishers = &self.topics[topic];
        if publishers.is_empty() || publishers.iter().any(|published| published.site == site) {
            return;
        }
        let several = publishers.len() > 1;
        // What waits keeps it from hearing others, and one that refuses it is asked again later.
        let terms = Terms { history: if several { 0 } else { terms.history }, ..terms };
        if several && !publishers.iter().all(|published| published.model.admits(&[terms])) {
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
            return self.attended(topic);
        }
        let made = self.until(node.subscriber_of::<u64>(wish));
        let id = self.numbers;
        self.numbers += 1;
        let publishers = self.topics[topic].iter_mut();
        let joined: Vec<Joined> = publishers.map(|one| one.model.join(id, terms)).collect();
        let refused = |why| Some(Error::Refused(name(topic), why));
        match joined[..] {
            [Joined::Terms] => {
                assert_eq!(made.err(), refused(Refusal::Terms));
                self.did("subscribe: terms");
            }
            [Joined::Full] => {
                assert_eq!(made.err(), refused(Refusal::Full));
                self.did("subscribe: full");
            }
            [Joined::Done { caught_up }, ..] => {
                let subscriber = made.map_err(|error| error.to_string()).unwrap();
                let (lost, last) = (0, None);
                let one = Subscribed { id, site, topic, terms, subscriber, lost, last };
                if several {
                    self.hears(&one, joined.len());
                    self.did("subscribe: to several");
                }
                self.subscribed.push(one);
                let with = ["subscribe: without history", "subscribe: with history"];
                self.did(with[usize::from(caught_up > 0)]);
            }
            _ => panic!("{joined:?}"),
        }
    }

    /// All publishers of a topic have let in the subscribers that are there, and let go those that
    /// are gone.
    fn attended(&mut self, topic: usize) {
        for Published { publisher, model, .. } in &mut self.topics[topic] {
            if let Some(publisher) = publisher {
                attended(publisher, model);
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
        let mut holds = false;
        for Published { model, .. } in &mut self.topics[topic] {
            let reader = model.reader(id);
            reader.left = true;
            holds |= !reader.held.is_empty();
        }
        if !self.topics[topic].is_empty() {
            self.attended(topic);
            self.did(["leave: subscriber", "leave: subscriber that holds"][usize::from(holds)]);
        }
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
