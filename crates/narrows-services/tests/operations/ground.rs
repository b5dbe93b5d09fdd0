//! Nodes, and what is done with them.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use narrows::endpoint::CallError;
use narrows_services::asynchronous::{self, Watch};
use narrows_services::{Error, Node, Options, Publisher, Sample, WaitSet};

use crate::model::{Sent, Terms, Topic};

pub const AT_ONCE: Option<Duration> = Some(Duration::ZERO);
/// What a thing may take of this thread's own time, however busy the machine is with others.
const LONG: Duration = Duration::from_secs(5);
pub const NODES: usize = 4;
pub const TOPICS: usize = 3;

/// A runtime that polls by hand.
pub struct ByHand;

impl Watch for ByHand {
    fn poll_readable(&self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

type Client = asynchronous::Client<ByHand, u64, u64>;

pub struct Site {
    pub name: String,
    pub node: asynchronous::Node<ByHand>,
    /// By the node whose function it calls.
    pub clients: BTreeMap<usize, Client>,
    pub leaked: bool,
}

pub struct Published {
    pub site: usize,
    /// The name of its node, which no other has ever.
    pub of: String,
    /// None if it has ended.
    pub publisher: Option<Publisher<u64>>,
    pub model: Topic,
}

pub struct Subscribed {
    pub id: u64,
    pub site: usize,
    pub topic: usize,
    pub terms: Terms,
    pub subscriber: asynchronous::Subscriber<ByHand, u64>,
    /// What was lost of publishers that have gone.
    pub lost: u32,
    /// Whose the last message was, unless publishers came or went since.
    pub last: Option<String>,
}

pub struct Held {
    pub reader: u64,
    /// The publisher's node.
    pub of: String,
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
    pub topics: [Vec<Published>; TOPICS],
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

/// The processor's time that this thread has had.
fn spent() -> Duration {
    rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime).try_into().unwrap()
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
        let name = format!("node{}", self.lives);
        let options = Options::new(&name).directory(self.directory.path());
        let node = Node::with(options).unwrap();
        let add = move |number: &u64| number + site as u64;
        node.serve::<u64, u64>(&format!("add{site}"), add).unwrap();
        let node = asynchronous::Node::new(node, |_| Ok(ByHand)).unwrap();
        Site { name, node, clients: BTreeMap::new(), leaked: false }
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
        let (mut future, begin) = (pin!(future), spent());
        loop {
            if let Poll::Ready(done) = poll(&mut future) {
                return done;
            }
            for site in &self.sites {
                site.node.blocking().turn().unwrap();
            }
            std::thread::sleep(Duration::from_micros(20));
            assert!(spent() - begin < LONG, "it takes for ever");
        }
    }

    /// Has a subscriber, of which nothing waits to be taken, hear `count` publishers.
    pub fn hears(&self, subscribed: &Subscribed, count: usize) {
        let begin = spent();
        let Subscribed { site, subscriber, .. } = subscribed;
        while subscriber.blocking().publishers() != count {
            for site in &self.sites {
                site.node.blocking().turn().unwrap();
            }
            let mut set = WaitSet::new(self.sites[*site].node.blocking());
            set.subscriber(subscriber.blocking()).unwrap();
            assert_eq!(set.wait(AT_ONCE).unwrap(), []);
            std::thread::sleep(Duration::from_micros(20));
            assert!(spent() - begin < LONG, "it hears not {count}");
        }
    }

    /// The publisher of this node.
    pub fn published(&mut self, topic: usize, of: &str) -> Option<&mut Published> {
        self.topics[topic].iter_mut().find(|one| one.of == of)
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
        if self.topics[topic].is_empty() {
            return;
        }
        let which = self.random(self.topics[topic].len());
        let Published { publisher: Some(publisher), model, .. } = &mut self.topics[topic][which]
        else {
            return;
        };
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
            let which = self.topics[topic].iter().position(|published| published.site == site);
            if let Some(which) = which {
                self.publisher_ends(topic, which);
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
        let Site { node, clients, leaked, .. } = &mut self.sites[site];
        clients.clear();
        if *leaked {
            // It lives on, and would be called in vain.
            node.blocking().withdraw(&format!("add{site}")).unwrap();
            self.sites.iter_mut().for_each(|other| drop(other.clients.remove(&site)));
        }
    }
}
