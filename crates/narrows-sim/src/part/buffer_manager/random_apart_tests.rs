//! As the random requests over partitioning 1, over the other two: the writer at the sender, which
//! tells its pointer, and the FIFO at the sender, out of which the receiver fetches. No credit is
//! negative, above the FIFO's size or lost, and every word is read once and in order.

use super::random_tests::Dice;
use super::*;
use std::collections::VecDeque;

/// Requests over each partitioning where nothing is said, and those of a round.
const CASES: u64 = 20_000;
const ROUND: u64 = 2_000;
const CLUSTERS: usize = 3;
const CPUS: u8 = 3;
const PORTS: usize = 8;
const SEND: (Way, Kind) = (Way::Write, Kind::Indirect);
const RECEIVE: (Way, Kind) = (Way::Read, Kind::Indirect);

enum Message {
    Place(Vec<(u32, u32)>),
    Pointer(u8, u32),
    Credit(u8, u32),
    /// The BMR of the cluster that this is from fetches.
    Fetch(u8, u32),
    Answer(Vec<u32>),
}

struct Connection {
    from: (usize, u8),
    to: (usize, u8),
    words: u32,
    threshold: u32,
    /// Words that were asked to be sent, whose request has begun, that were asked to be read, and
    /// that were read.
    sent: u32,
    gone: u32,
    asked: u32,
    read: u32,
}

/// A request that is being sent, and the places that the rest of it goes to.
type Sending = (Write, VecDeque<(u32, u32)>);

struct World {
    partitioning: Partitioning,
    dice: Dice,
    blocks: Vec<BufferManager>,
    memories: Vec<Vec<u32>>,
    /// What each BMI is sending.
    sending: Vec<Option<Sending>>,
    fetching: Vec<Option<Taken>>,
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
        let (sends, receives, threshold) = match self.partitioning {
            Partitioning::AtSender => (vec![there, base(from.1), words], vec![back, words], 0),
            _ => (
                vec![there, base(to.1), words | words << 16],
                vec![back, base(to.1), words | threshold << 16],
                threshold,
            ),
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

    fn valid(&mut self) -> bool {
        let one = self.dice.roll(self.connections.len() as u32) as usize;
        let cpu = self.dice.roll(CPUS.into()) as u8;
        let Connection { from, to, words, threshold, sent, gone, asked, .. } =
            self.connections[one];
        let words = 1 + self.dice.roll(words - threshold.saturating_sub(1));
        // Who reads what nobody has sent yet can hold up for ever what its CPU asks for later.
        let there = words.min(gone - asked);
        let (result, count) = match self.dice.roll(4) {
            0 => (self.ask(from, (Way::Write, Kind::Direct), cpu, &[sent]), 1),
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
        true
    }

    fn read_word(&mut self, one: usize, cpu: u8) -> bool {
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
        true
    }

    fn wrong(&mut self) -> bool {
        self.count[2] += 1;
        let one = self.dice.roll(self.connections.len() as u32) as usize;
        let Connection { from, to, words, .. } = self.connections[one];
        let (over, idle) = (words + 1 + self.dice.roll(1000), PORTS as u8 - 1);
        let at_sender = self.partitioning == Partitioning::AtSender;
        let many = &[0, over * 4];
        let (found, expected) = match self.dice.roll(6) {
            0 => (self.ask(from, SEND, 0, many).err(), Fault::TooLong),
            1 => (self.ask(to, RECEIVE, 0, many).err(), Fault::TooLong),
            2 => (self.blocks[to.0].credit(idle, 1).err(), Fault::CreditForNobody),
            3 => (self.blocks[to.0].pointer(idle, 1).err(), Fault::DataForNobody),
            4 => {
                let (cluster, port) = if at_sender { to } else { from };
                (self.blocks[cluster].credit(port, over).err(), Fault::CreditOver)
            }
            _ if at_sender => (self.blocks[from.0].fetch(from.1, over).err(), Fault::NoWords),
            _ => (self.blocks[to.0].pointer(to.1, over).err(), Fault::Overrun),
        };
        assert_eq!(found, Some(expected));
        self.noted(expected);
        true
    }

    fn noted(&mut self, expected: Fault) {
        let all = self.blocks.iter_mut().flat_map(|block| block.faults.drain(..));
        let noted: Vec<Fault> = all.map(|noted| noted.fault).collect();
        assert_eq!(noted, [expected]);
    }

    fn at(&self, cluster: usize, places: &Places) -> Vec<u32> {
        let addresses = places.iter().flat_map(|(at, count)| at / 4..at / 4 + count);
        addresses.map(|at| self.memories[cluster][at as usize]).collect()
    }

    /// Begins a request to write, or moves some more words of it.
    fn send_on(&mut self, cluster: usize) -> bool {
        if self.sending[cluster].is_none() {
            let Some(write) = self.blocks[cluster].next_write() else { return false };
            let words = write.bytes / 4;
            let first = match write.what {
                What::Buffer { from, .. } => from,
                What::Word { word, .. } => word,
                What::Copy { .. } => unreachable!("none is asked for"),
            };
            let places = self.blocks[cluster].place(write.port, words).expect("it knows where");
            let addresses = places.iter().flat_map(|(at, count)| at / 4..at / 4 + count);
            self.sending[cluster] = Some((write, addresses.zip(first..).collect()));
            let own = (cluster, write.port);
            let mut all = self.connections.iter_mut();
            all.find(|one| one.from == own).expect("it is connected").gone += words;
        }
        let now = 1 + self.dice.roll(8) as usize;
        let Some((write, rest)) = &mut self.sending[cluster] else { return false };
        let part: Vec<(u32, u32)> = rest.drain(..now.min(rest.len())).collect();
        let (write, done) = (*write, rest.is_empty());
        let (What::Buffer { to, .. } | What::Word { to, .. }) = write.what else { return false };
        let (there, words) = (usize::from(to.cluster), write.bytes / 4);
        let at_sender = self.partitioning == Partitioning::AtSender;
        if at_sender {
            part.iter().for_each(|(at, word)| self.memories[cluster][*at as usize] = *word);
        } else {
            self.links[cluster][there].push_back(Message::Place(part));
        }
        if done {
            let last = match at_sender {
                true => Message::Credit(to.port, words),
                false => Message::Pointer(to.port, words),
            };
            if at_sender {
                self.blocks[cluster].written(write.port, words);
            }
            self.links[cluster][there].push_back(last);
            self.blocks[cluster].sent(&write);
            self.sending[cluster] = None;
        }
        true
    }

    fn deliver(&mut self, from: usize, to: usize) -> bool {
        let Some(message) = self.links[from][to].pop_front() else { return false };
        match message {
            Message::Place(all) => {
                all.iter().for_each(|(at, word)| self.memories[to][*at as usize] = *word);
            }
            Message::Pointer(port, words) => {
                self.blocks[to].pointer(port, words).expect("there was credit");
            }
            Message::Credit(port, words) => {
                self.blocks[to].credit(port, words).expect("it was owed");
            }
            Message::Fetch(port, words) => {
                let words = self.serve(to, port, words);
                self.links[to][from].push_back(Message::Answer(words));
            }
            Message::Answer(words) => {
                let taken = self.fetching[to].take().expect("it fetches");
                self.take(to, &taken, &words);
            }
        }
        true
    }

    fn serve(&mut self, cluster: usize, port: u8, words: u32) -> Vec<u32> {
        let places = self.blocks[cluster].fetch(port, words).expect("they are there");
        let all = self.at(cluster, &places);
        self.blocks[cluster].fetched(port, words);
        all
    }

    fn read_on(&mut self, cluster: usize) -> bool {
        if self.fetching[cluster].is_some() {
            return false;
        }
        let Some(taken) = self.blocks[cluster].next_read() else { return false };
        match taken.from {
            Some(from) => {
                let fetch = Message::Fetch(from.port, taken.words);
                self.links[cluster][usize::from(from.cluster)].push_back(fetch);
                self.fetching[cluster] = Some(taken);
            }
            None => {
                let words = self.at(cluster, &taken.places);
                self.take(cluster, &taken, &words);
            }
        }
        true
    }

    fn take(&mut self, cluster: usize, taken: &Taken, words: &[u32]) {
        let to = (cluster, taken.port);
        let one = self.connections.iter_mut().find(|one| one.to == to).expect("it is connected");
        let expected: Vec<u32> = (one.read..one.read + taken.words).collect();
        assert_eq!(words, expected, "words in order");
        one.read += taken.words;
        if let Some((back, words)) = self.blocks[cluster].read(taken) {
            assert_eq!(self.partitioning, Partitioning::Apart, "nobody else gives credit");
            let there = usize::from(back.cluster);
            self.links[cluster][there].push_back(Message::Credit(back.port, words));
        }
    }

    /// Of each connection, credit and all that it was spent on are the FIFO's words.
    fn check(&self) {
        for one in &self.connections {
            let ((from, port), (to, other)) = (one.from, one.to);
            let credits = self.blocks[from].credits(port).expect("it sends");
            assert!(credits <= one.words, "{credits} of {}", one.words);
            let left = self.sending[from].as_ref().filter(|(write, _)| write.port == port);
            let left = left.map_or(0, |(write, _)| write.bytes / 4);
            let there = self.links[from][to].iter().map(|message| match message {
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

#[test]
fn credit_is_never_negative_nor_above_the_fifo_and_none_is_lost_by_the_other_partitionings() {
    let cases = std::env::var("NARROWS_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases: u64 = cases.unwrap_or(CASES);
    for partitioning in [Partitioning::Apart, Partitioning::AtSender] {
        let mut all = [0; 3];
        for seed in 0.. {
            let mut world = World::new(partitioning, seed);
            while world.count[0] + world.count[2] < ROUND {
                let [one, other] = [(); 2].map(|()| world.dice.roll(CLUSTERS as u32) as usize);
                let _ = match world.dice.roll(8) {
                    0..=2 => world.valid(),
                    3 => world.wrong(),
                    4 | 5 => world.send_on(one),
                    6 => world.read_on(one),
                    _ => world.deliver(one, other),
                };
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
}
