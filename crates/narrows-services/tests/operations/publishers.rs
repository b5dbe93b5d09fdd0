//! How publishers come and go.

use narrows_services::Error;

use crate::ground::{AT_ONCE, Ground, NODES, Published, Site, Subscribed, TOPICS, name};
use crate::model::{Joined, Terms, Took, Topic};

/// Publishers of a topic at most.
const SEVERAL: usize = 3;
/// Bytes of a slot of a number.
const SLOT: usize = 64;

impl Ground {
    pub fn publish(&mut self) {
        let (site, topic) = (self.random(NODES), self.random(TOPICS));
        let (slots, subscribers) = (1 + self.random(30), self.random(5));
        let keeps = self.random(slots.min(6));
        let more = [0, 0, self.random(100)][self.random(3)];
        let Site { name: of, node, .. } = &self.sites[site];
        let of = of.clone();
        let wish =
            node.blocking().topic(&name(topic)).slots(slots as u32).subscribers(subscribers as u32);
        let limit = (slots + more) * SLOT;
        let wish = wish.history(keeps as u32).limit(limit as u32).patience(AT_ONCE);
        if self.topics[topic].iter().any(|published| published.site == site) {
            let made = wish.publisher::<u64>();
            assert_eq!(made.err(), Some(Error::Offered(name(topic))));
            return self.did("publish: already there");
        }
        let of_topic = self.subscribed.iter().filter(|one| one.topic == topic);
        let (sites, terms): (Vec<usize>, Vec<Terms>) =
            of_topic.map(|one| (one.site, one.terms)).unzip();
        let mut model = Topic::new((slots, slots + more), subscribers, keeps);
        let others = self.topics[topic].len();
        // One that does not let a subscriber in is asked again after a while; and no node has a
        // link with itself that its own thread waits for.
        let fits = others < SEVERAL && !sites.contains(&site) && model.admits(&terms);
        if others > 0 && (!fits || self.random(3) > 0) {
            let made = wish.publisher::<i64>();
            assert!(matches!(made.err(), Some(Error::Types { .. })));
            return self.did("publish: types");
        }
        let made = wish.publisher::<u64>();
        let publisher = made.map_err(|error| error.to_string()).unwrap();
        let all: Vec<u64> = self.of(topic);
        for id in &all {
            self.settle(*id);
        }
        for (id, terms) in all.into_iter().zip(terms) {
            assert_eq!(model.join(id, terms), Joined::Done { caught_up: 0 });
        }
        self.topics[topic].push(Published { site, of, publisher: Some(publisher), model });
        self.heard(topic);
        self.did(["publish: topic", "publish: another"][usize::from(others > 0)]);
    }

    /// The subscribers of a topic.
    fn of(&self, topic: usize) -> Vec<u64> {
        let of_topic = self.subscribed.iter().filter(|one| one.topic == topic);
        of_topic.map(|one| one.id).collect()
    }

    /// Publishers of a topic have come or gone: its subscribers, of which nothing waits, hear it.
    fn heard(&mut self, topic: usize) {
        let mut all = std::mem::take(&mut self.subscribed);
        for one in all.iter_mut().filter(|one| one.topic == topic) {
            self.hears(one, self.topics[topic].len());
            one.last = None;
        }
        self.subscribed = all;
    }

    /// A publisher ends.
    pub fn unpublish(&mut self) {
        let topic = self.random(TOPICS);
        if !self.topics[topic].is_empty() {
            let which = self.random(self.topics[topic].len());
            self.publisher_ends(topic, which);
        }
    }

    /// Its subscribers have what it published. Where it was the last, those that look are told so,
    /// and the others are dropped.
    pub fn publisher_ends(&mut self, topic: usize, which: usize) {
        if self.topics[topic].len() > 1 {
            drop(self.topics[topic][which].publisher.take());
            self.of(topic).into_iter().for_each(|id| self.settle(id));
            let Published { mut model, .. } = self.topics[topic].remove(which);
            for one in self.subscribed.iter_mut().filter(|one| one.topic == topic) {
                one.lost += model.reader(one.id).lost;
            }
            self.heard(topic);
            return self.did("publish: one ends");
        }
        let Published { publisher, mut model, .. } = self.topics[topic].remove(which);
        drop(publisher);
        let all = std::mem::take(&mut self.subscribed);
        let (of, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| one.topic == topic);
        self.subscribed = rest;
        for Subscribed { id, subscriber, .. } in of {
            if self.random(2) == 0 {
                continue;
            }
            // It gives back what it holds, or as many are held as may be.
            self.held.retain(|held| held.reader != id);
            let reader = model.reader(id);
            reader.held.clear();
            loop {
                let expected = reader.take();
                match self.until(subscriber.receive()) {
                    Ok(sample) => {
                        assert_eq!(sample.read().map(Took::Message), Ok(expected));
                        reader.held.clear();
                    }
                    Err(error) => {
                        assert_eq!(error, Error::Gone(name(topic)));
                        assert_eq!(expected, Took::Nothing);
                        break;
                    }
                }
            }
            self.did("take: gone");
        }
    }
}
