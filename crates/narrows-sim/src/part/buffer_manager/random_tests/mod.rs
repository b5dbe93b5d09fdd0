//! Random requests, valid ones and others, on three clusters whose messages come after any time
//! but in order, over each partitioning: no credit is negative, above the FIFO's size or lost, and
//! every word is read once and in order. `NARROWS_CASES` says how many requests are made.

mod moves;
mod wrong;

use super::*;
use moves::{Message, Sending};
use std::collections::VecDeque;

/// Requests of a round, which has tables of its own.
const ROUND: u64 = 2_000;
const CLUSTERS: usize = 3;
const CPUS: u8 = 3;
const PORTS: usize = 8;
const SEND: (Way, Kind) = (Way::Write, Kind::Indirect);
const RECEIVE: (Way, Kind) = (Way::Read, Kind::Indirect);
const WORD: (Way, Kind) = (Way::Write, Kind::Direct);

pub(super) struct Dice(pub u64);

impl Dice {
    pub(super) fn roll(&mut self, below: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((self.0 >> 33) % u64::from(below.max(1))) as u32
    }
}

struct Connection {
    from: (usize, u8),
    to: (usize, u8),
    words: u32,
    threshold: u32,
    /// Words that were asked to be sent, went, were asked to be read, and were read.
    sent: u32,
    gone: u32,
    asked: u32,
    read: u32,
}

impl Connection {
    /// The longest request that never waits for ever: of the FIFO what credit may be kept back for.
    fn longest(&self) -> u32 {
        self.words - self.threshold.saturating_sub(1)
    }
}

struct World {
    partitioning: Partitioning,
    dice: Dice,
    blocks: Vec<BufferManager>,
    memories: Vec<Vec<u32>>,
    /// What each BMI is sending.
    sending: Vec<Option<Sending>>,
    /// What each BMR has asked another cluster for.
    fetching: Vec<Option<Taken>>,
    /// Messages, by the clusters that they are from and for.
    links: Vec<Vec<VecDeque<Message>>>,
    connections: Vec<Connection>,
    /// Requests that were made, too early, and wrong.
    count: [u64; 3],
}

fn end((cluster, port): (usize, u8)) -> Endpoint {
    Endpoint { cluster: cluster as u16, cpu: 0, port }
}

impl World {
    fn new(partitioning: Partitioning, seed: u64) -> World {
        let cpus = CPUS.into();
        let shape = Shape { partitioning, cpus, ports: PORTS, requests: 3, shared: 4096 };
        let mut world = World {
            partitioning,
            dice: Dice(seed),
            blocks: (0..CLUSTERS).map(|_| BufferManager::new(shape)).collect(),
            memories: vec![vec![0; 1024]; CLUSTERS],
            sending: (0..CLUSTERS).map(|_| None).collect(),
            fetching: (0..CLUSTERS).map(|_| None).collect(),
            links: (0..CLUSTERS)
                .map(|_| (0..CLUSTERS).map(|_| VecDeque::new()).collect())
                .collect(),
            connections: Vec::new(),
            count: [0; 3],
        };
        let mut ports = [0; CLUSTERS];
        for _ in 0..6 {
            let from = world.dice.roll(CLUSTERS as u32) as usize;
            let to = (from + 1 + world.dice.roll(CLUSTERS as u32 - 1) as usize) % CLUSTERS;
            let [one, other] = [ports[from], ports[to]];
            // The last port of each cluster is never connected.
            if usize::from(one.max(other)) + 1 >= PORTS {
                continue;
            }
            (ports[from], ports[to]) = (one + 1, other + 1);
            let words = 1 + world.dice.roll(40);
            let threshold = world.dice.roll(words + 1);
            world.connect((from, one), (to, other), (words, threshold));
        }
        world
    }

    fn connect(&mut self, from: (usize, u8), to: (usize, u8), (words, threshold): (u32, u32)) {
        let base = |port: u8| u32::from(port) * 256;
        let (there, back) = (end(to).word(), end(from).word());
        let receives = vec![back, base(to.1), words | threshold << 16];
        let (sends, receives, threshold) = match self.partitioning {
            Partitioning::AtReceiver => (vec![there, words], receives, threshold),
            Partitioning::Apart => {
                (vec![there, base(to.1), words | words << 16], receives, threshold)
            }
            Partitioning::AtSender => (vec![there, base(from.1), words], vec![back, words], 0),
        };
        let entered = [
            self.ask(from, (Way::Write, Kind::Setup), 0, &sends),
            self.ask(to, (Way::Read, Kind::Setup), 0, &receives),
        ];
        assert_eq!(entered, [Ok(Stored::Entered); 2]);
        let [sent, gone, asked, read] = [0; 4];
        self.connections.push(Connection { from, to, words, threshold, sent, gone, asked, read });
    }

    fn ask(
        &mut self,
        (cluster, port): (usize, u8),
        (way, kind): (Way, Kind),
        cpu: u8,
        words: &[u32],
    ) -> Result<Stored, Fault> {
        let mut last = Ok(Stored::More);
        for (at, word) in words.iter().enumerate() {
            let access = Access { way, kind, end: at + 1 == words.len(), port, cpu };
            last = self.blocks[cluster].store(access.address(), *word);
        }
        last
    }

    /// A request as it should be: it is queued, or there is a reason that a program can see to.
    fn valid(&mut self) {
        let one = self.dice.roll(self.connections.len() as u32) as usize;
        let cpu = self.dice.roll(CPUS.into()) as u8;
        let longest = self.connections[one].longest();
        let words = 1 + self.dice.roll(longest);
        let Connection { from, to, sent, gone, asked, .. } = self.connections[one];
        // A request to read what nobody has sent yet can hold up for ever what its CPU asks for
        // later.
        let there = words.min(gone - asked);
        let (result, count) = match self.dice.roll(4) {
            0 => (self.ask(from, WORD, cpu, &[sent]), 1),
            1 => (self.ask(from, SEND, cpu, &[sent, words * 4]), words),
            2 if there > 0 => (self.ask(to, RECEIVE, cpu, &[0, there * 4]), there),
            _ => return self.read_word(one, cpu),
        };
        self.count[0] += 1;
        match result {
            Ok(Stored::Queued(Way::Write)) => self.connections[one].sent += count,
            Ok(Stored::Queued(Way::Read)) => self.connections[one].asked += count,
            Err(fault @ (Fault::Race | Fault::QueueFull)) => {
                self.count[1] += 1;
                self.noted(fault);
            }
            other => panic!("{other:?}"),
        }
    }

    fn read_word(&mut self, one: usize, cpu: u8) {
        let (cluster, port) = self.connections[one].to;
        let access = Access { way: Way::Read, kind: Kind::Direct, end: true, port, cpu };
        match self.blocks[cluster].load(access.address()) {
            Ok(Loaded::Next(taken)) => {
                self.connections[one].asked += 1;
                let words = match taken.from {
                    Some(from) => self.serve(from.cluster.into(), from.port, taken.words),
                    None => self.at(cluster, &taken.places),
                };
                self.take(cluster, &taken, &words);
            }
            Ok(Loaded::Nothing) => {}
            Err(Fault::Race) => self.noted(Fault::Race),
            other => panic!("{other:?}"),
        }
    }

    /// One fault was noted since the last.
    fn noted(&mut self, expected: Fault) {
        let all = self.blocks.iter_mut().flat_map(|block| block.faults.drain(..));
        let noted: Vec<Fault> = all.map(|noted| noted.fault).collect();
        assert_eq!(noted, [expected]);
    }

    /// Of each connection, credit and all that it was spent on are the FIFO's words.
    fn check(&self) {
        for one in &self.connections {
            let ((from, port), (to, other)) = (one.from, one.to);
            let credits = self.blocks[from].credits(port).expect("it sends");
            assert!(credits <= one.words, "{credits} of {}", one.words);
            let sending = self.sending[from].as_ref().filter(|sending| sending.write.port == port);
            // Words on their way to the receiver's FIFO are counted there, others once all went.
            let left = sending.map_or(0, |sending| match self.partitioning {
                Partitioning::AtReceiver => sending.left(),
                _ => sending.write.bytes / 4,
            });
            let there = self.links[from][to].iter().map(|message| match message {
                Message::Data(at, words) if *at == other => words.len() as u32,
                Message::Pointer(at, words) | Message::Credit(at, words) if *at == other => *words,
                _ => 0,
            });
            let back = self.links[to][from].iter().map(|message| match message {
                Message::Credit(at, words) | Message::Fetch(at, words) if *at == port => *words,
                _ => 0,
            });
            let kept = match self.partitioning {
                Partitioning::AtSender => self.blocks[to].come(other),
                _ => self.blocks[to].kept(other),
            };
            let all = credits + left + there.sum::<u32>() + kept + back.sum::<u32>();
            assert_eq!(all, one.words, "credit of {:?}", one.from);
        }
    }

    /// Lets everything happen, and asks for what is on its way until all of it was read.
    fn finish(&mut self) {
        loop {
            let mut moved = false;
            for one in 0..CLUSTERS {
                moved |= self.send_on(one) | self.read_on(one);
                for other in 0..CLUSTERS {
                    moved |= self.deliver(one, other);
                }
            }
            self.check();
            if moved {
                continue;
            }
            let unread = self.connections.iter().position(|one| one.gone > one.asked);
            let Some(next) = unread else { break };
            let to = self.connections[next].to;
            assert_eq!(self.ask(to, RECEIVE, 0, &[0, 4]), Ok(Stored::Queued(Way::Read)));
            self.connections[next].asked += 1;
        }
        for one in &self.connections {
            assert_eq!((one.gone, one.read), (one.sent, one.sent), "nothing waits for ever");
            let credits = self.blocks[one.from.0].credits(one.from.1).expect("it sends");
            let kept = one.words - credits;
            assert!(kept < one.threshold.max(1), "{kept} below {}", one.threshold);
        }
    }
}

/// Makes requests in rounds, as many as `NARROWS_CASES` says, or else `usual`.
fn requests(partitioning: Partitioning, usual: u64) {
    let cases = std::env::var("NARROWS_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases: u64 = cases.unwrap_or(usual);
    let mut all = [0; 3];
    for seed in 0.. {
        let mut world = World::new(partitioning, seed);
        while world.count[0] + world.count[2] < ROUND {
            let [one, other] = [(); 2].map(|()| world.dice.roll(CLUSTERS as u32) as usize);
            match world.dice.roll(8) {
                0..=2 => world.valid(),
                3 => world.wrong(),
                4 | 5 => _ = world.send_on(one),
                6 => _ = world.read_on(one),
                _ => _ = world.deliver(one, other),
            }
            world.check();
        }
        world.finish();
        let [made, early, wrong] = world.count;
        all = [all[0] + made + wrong, all[1] + early, all[2] + wrong];
        if all[0] >= cases {
            break;
        }
    }
    let [made, early, wrong] = all;
    assert!(early > 0 && wrong > 0 && early + wrong < made, "{made}: {early}, {wrong}");
    println!("{partitioning:?}: {made} requests, {early} of them too early, {wrong} wrong");
}

#[test]
fn credit_is_never_negative_nor_above_the_fifo_and_none_is_lost() {
    requests(Partitioning::AtReceiver, 60_000);
}

#[test]
fn credit_is_never_negative_nor_above_the_fifo_and_none_is_lost_by_the_other_partitionings() {
    requests(Partitioning::Apart, 20_000);
    requests(Partitioning::AtSender, 20_000);
}
