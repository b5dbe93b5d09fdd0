//! Nodes, and what is done with them.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use narrows::endpoint::CallError;
use narrows_services::asynchronous::{self, Watch};
use narrows_services::{Error, Node, Options, Publisher, Sample};

use crate::model::{Sent, Took, Topic};

const AT_ONCE: Option<Duration> = Some(Duration::ZERO);
const SOON: Duration = Duration::from_secs(20);
pub const NODES: usize = 4;
pub const TOPICS: usize = 3;
/// Bytes of a slot of a number.
const SLOT: usize = 64;

/// A runtime that polls by hand.
pub struct ByHand;

impl Watch for ByHand {
    fn poll_readable(&self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

type Client = asynchronous::Client<ByHand, u64, u64>;

pub struct Site {
    pub node: asynchronous::Node<ByHand>,
    /// By the node whose function it calls.
    pub clients: BTreeMap<usize, Client>,
    pub leaked: bool,
}

pub struct Published {
    pub site: usize,
    pub publisher: Publisher<u64>,
    pub model: Topic,
}

pub struct Subscribed {
    pub id: u64,
    pub site: usize,
    pub topic: usize,
    pub subscriber: asynchronous::Subscriber<ByHand, u64>,
}

pub struct Held {
    pub reader: u64,
    pub site: usize,
    pub topic: usize,
    pub number: u64,
    pub sample: Sample<u64>,
}

pub struct Ground {
    seed: u64,
    state: u64,
    done: u64,
    directory: tempfile::TempDir,
    pub sites: Vec<Site>,
    pub topics: [Option<Published>; TOPICS],
    pub subscribed: Vec<Subscribed>,
    pub held: Vec<Held>,
    pub numbers: u64,
    pub leaks: u32,
    lives: u32,
    deeds: BTreeMap<&'static str, u64>,
}

impl Drop for Ground {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("operation {} of NARROWS_SEED={}", self.done, self.seed);
        }
    }
}

pub fn name(topic: usize) -> String {
    format!("topic{topic}")
}

pub fn poll<F: Future>(future: &mut std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

impl Ground {
    pub fn new(seed: u64) -> Ground {
        let mut ground = Ground {
            seed,
            state: seed,
            done: 0,
            directory: tempfile::tempdir().unwrap(),
            sites: Vec::new(),
            topics: Default::default(),
            subscribed: Vec::new(),
            held: Vec::new(),
            numbers: 0,
            leaks: 0,
            lives: 0,
            deeds: BTreeMap::new(),
        };
        ground.sites = (0..NODES).map(|site| ground.site(site)).collect();
        ground
    }

    fn site(&mut self, site: usize) -> Site {
        self.lives += 1;
        let options = Options::new(format!("node{}", self.lives));
        let options = options.directory(self.directory.path());
        let node = Node::with(options).unwrap();
        let add = move |number: &u64| number + site as u64;
        node.serve::<u64, u64>(&format!("add{site}"), add).unwrap();
        let node = asynchronous::Node::new(node, |_| Ok(ByHand)).unwrap();
        Site { node, clients: BTreeMap::new(), leaked: false }
    }

    /// SplitMix64.
    pub fn random(&mut self, below: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % below as u64) as usize
    }

    pub fn did(&mut self, deed: &'static str) {
        *self.deeds.entry(deed).or_default() += 1;
    }

    /// Has all nodes do what others ask of them until something is done.
    pub fn until<T>(&self, future: impl Future<Output = T>) -> T {
        let (mut future, begin) = (pin!(future), Instant::now());
        loop {
            if let Poll::Ready(done) = poll(&mut future) {
                return done;
            }
            for site in &self.sites {
                site.node.blocking().turn().unwrap();
            }
            std::thread::sleep(Duration::from_micros(20));
            assert!(begin.elapsed() < SOON, "it takes for ever");
        }
    }

    pub fn operate(&mut self) {
        self.done += 1;
        match self.random(1000) {
            0..350 => {
                let (topic, burst) = (self.random(TOPICS), self.random(12));
                (0..=burst).for_each(|_| self.send(topic));
            }
            350..650 => self.take(),
            650..800 => self.drop_sample(),
            800..870 => self.subscribe(),
            870..910 => self.leave(),
            910..935 => self.publish(),
            935..940 => self.unpublish(),
            940..995 => self.call(),
            995..998 => self.leak(),
            _ => self.kill(),
        }
    }

    pub fn end(mut self) -> BTreeMap<&'static str, u64> {
        (0..NODES).for_each(|site| self.end_of(site));
        std::mem::take(&mut self.deeds)
    }

    fn send(&mut self, topic: usize) {
        let how = self.random(8);
        let number = self.numbers;
        let Some(published) = &mut self.topics[topic] else { return };
        let Published { publisher, model, .. } = published;
        if how == 0 {
            // What is not sent is nobody's, and what was taken back for it is lost.
            let room = model.lend().is_some();
            assert_eq!(publisher.loan().map(drop).is_ok(), room);
            return self.did("loan: dropped");
        }
        let sent = if how == 1 {
            publisher.loan().and_then(|mut loan| {
                *loan = number;
                loan.send()
            })
        } else {
            publisher.send(&number)
        };
        let expected = model.send(number);
        self.numbers += 1;
        match expected {
            Sent::Full => {
                assert_eq!(sent, Err(Error::Full(name(topic))));
                self.did("send: full");
            }
            Sent::Done { lost, revoked } => {
                assert_eq!(sent, Ok(()), "{number} {expected:?} {model:?}");
                self.did(match (lost, revoked) {
                    _ if how == 1 => "loan: sent",
                    (0, 0) => "send: all have it",
                    (_, 0) => "send: lost by some",
                    _ => "send: taken back from some",
                });
            }
        }
    }

    fn publish(&mut self) {
        let (site, topic) = (self.random(NODES), self.random(TOPICS));
        let (slots, subscribers) = (1 + self.random(30), self.random(5));
        let keeps = self.random(slots.min(6));
        let more = [0, self.random(60)][self.random(2)];
        let node = self.sites[site].node.blocking();
        let wish = node.topic(&name(topic)).slots(slots as u32).subscribers(subscribers as u32);
        let limit = (slots + more) * SLOT;
        let wish = wish.history(keeps as u32).limit(limit as u32).patience(AT_ONCE);
        match &self.topics[topic] {
            Some(published) if published.site == site => {
                let made = wish.publisher::<u64>();
                assert_eq!(made.err(), Some(Error::Offered(name(topic))));
                return self.did("publish: already there");
            }
            Some(_) => {
                let made = wish.publisher::<i64>();
                assert!(matches!(made.err(), Some(Error::Types { .. })));
                return self.did("publish: types");
            }
            None => {}
        }
        let made = wish.publisher::<u64>();
        let publisher = made.map_err(|error| error.to_string()).unwrap();
        let model = Topic::new((slots, slots + more), subscribers, keeps);
        self.topics[topic] = Some(Published { site, publisher, model });
        self.did("publish: topic");
    }

    /// A publisher ends. Those of its subscribers that look have what it published, and are told
    /// so; the others are dropped.
    fn unpublish(&mut self) {
        let topic = self.random(TOPICS);
        self.topic_ends(topic);
    }

    fn topic_ends(&mut self, topic: usize) {
        let Some(Published { publisher, mut model, .. }) = self.topics[topic].take() else {
            return;
        };
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

    fn call(&mut self) {
        let (from, to) = (self.random(NODES), self.random(NODES));
        if from == to {
            return;
        }
        let node = self.sites[from].node.clone();
        let client = match self.sites[from].clients.remove(&to) {
            Some(client) => client,
            None => {
                let made = self.until(node.client::<u64, u64>(&format!("add{to}")));
                made.map_err(|error| error.to_string()).unwrap()
            }
        };
        let number = self.numbers;
        if self.random(5) == 0 {
            let polls = self.random(4);
            let mut call = Box::pin(client.call(&number));
            let _ = (0..polls).any(|_| poll(&mut call.as_mut()).is_ready());
            self.did("call: dropped half-way");
        }
        let mut answer = self.until(client.call(&number));
        if let Err(Error::Call(_, CallError::Gone(_))) = answer {
            // Its node was killed since: the next call finds the next.
            self.did("call: gone");
            answer = self.until(client.call(&number));
        }
        assert_eq!(answer, Ok(number + to as u64));
        self.did("call: answered");
        if self.random(3) > 0 {
            self.sites[from].clients.insert(to, client);
        }
    }

    /// All of a node ends, in any order, and it comes again.
    fn kill(&mut self) {
        let site = self.random(NODES);
        self.end_of(site);
        let next = self.site(site);
        self.sites[site] = next;
        self.did("kill: node");
    }

    fn end_of(&mut self, site: usize) {
        for topic in 0..TOPICS {
            if self.topics[topic].as_ref().is_some_and(|published| published.site == site) {
                self.topic_ends(topic);
            }
        }
        while let Some(at) = self.held.iter().position(|held| held.site == site) {
            let held = self.held.swap_remove(at);
            self.give_back(held);
        }
        while let Some(at) = self.subscribed.iter().position(|one| one.site == site) {
            let subscribed = self.subscribed.swap_remove(at);
            self.leaves(subscribed);
        }
        let Site { node, clients, leaked } = &mut self.sites[site];
        clients.clear();
        if *leaked {
            // It lives on, and would be called in vain.
            node.blocking().withdraw(&format!("add{site}")).unwrap();
            self.sites.iter_mut().for_each(|other| drop(other.clients.remove(&site)));
        }
    }
}
