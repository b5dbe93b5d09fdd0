//! Random requests, valid ones and others, on three clusters whose messages come after any time but
//! in order: no credit is negative, above the FIFO's size or lost, and every word is read once and
//! in order. `NARROWS_CASES` says how many requests are made.

use super::*;
use std::collections::VecDeque;

/// Requests where nothing is said.
const CASES: u64 = 60_000;
/// Requests of a round, which has tables of its own.
const ROUND: u64 = 2_000;
const CLUSTERS: usize = 3;
const CPUS: u8 = 3;
const PORTS: usize = 8;

pub(super) struct Dice(pub u64);

impl Dice {
    pub(super) fn roll(&mut self, below: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((self.0 >> 33) % u64::from(below.max(1))) as u32
    }
}

/// A message on its way.
enum Message {
    Data(u8, Vec<u32>),
    Credit(u8, u32),
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
    dice: Dice,
    blocks: Vec<BufferManager>,
    memories: Vec<Vec<u32>>,
    /// What each BMI is sending, and how many words of it have gone.
    sending: Vec<Option<(Write, u32)>>,
    /// Messages, by the clusters that they are from and for.
    links: Vec<Vec<VecDeque<Message>>>,
    connections: Vec<Connection>,
    count: [u64; 3],
}

impl World {
    fn new(seed: u64) -> World {
        let shape = Shape {
            partitioning: Partitioning::AtReceiver,
            cpus: CPUS.into(),
            ports: PORTS,
            requests: 3,
            shared: 4096,
        };
        let mut world = World {
            dice: Dice(seed),
            blocks: (0..CLUSTERS).map(|_| BufferManager::new(shape)).collect(),
            memories: vec![vec![0; 1024]; CLUSTERS],
            sending: vec![None; CLUSTERS],
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
            world.connect((from, one), (to, other), words, threshold);
        }
        world
    }

    fn connect(&mut self, from: (usize, u8), to: (usize, u8), words: u32, threshold: u32) {
        let end = |(cluster, port): (usize, u8)| {
            Endpoint { cluster: cluster as u16, cpu: 0, port }.word()
        };
        let base = u32::from(to.1) * 256;
        let entered = [
            self.ask(from, Way::Write, Kind::Setup, 0, &[end(to), words]),
            self.ask(to, Way::Read, Kind::Setup, 0, &[end(from), base, words | threshold << 16]),
        ];
        assert_eq!(entered, [Ok(Stored::Entered); 2]);
        self.connections.push(Connection {
            from,
            to,
            words,
            threshold,
            sent: 0,
            gone: 0,
            asked: 0,
            read: 0,
        });
    }

    fn ask(
        &mut self,
        (cluster, port): (usize, u8),
        way: Way,
        kind: Kind,
        cpu: u8,
        words: &[u32],
    ) -> Result<Stored, Fault> {
        let mut last = Ok(Stored::More);
        for (at, word) in words.iter().enumerate() {
            let end = at + 1 == words.len();
            let access = Access { way, kind, end, port, cpu };
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
        // Who reads what nobody has sent yet can hold up for ever what its CPU asks for later.
        let there = words.min(gone - asked);
        let (result, count) = match self.dice.roll(4) {
            0 => (self.ask(from, Way::Write, Kind::Direct, cpu, &[sent]), 1),
            1 => (self.ask(from, Way::Write, Kind::Indirect, cpu, &[sent, words * 4]), words),
            2 if there > 0 => {
                (self.ask(to, Way::Read, Kind::Indirect, cpu, &[0, there * 4]), there)
            }
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
                self.take(cluster, &taken);
            }
            Ok(Loaded::Nothing) => {}
            Err(Fault::Race) => self.noted(Fault::Race),
            other => panic!("{other:?}"),
        }
    }

    /// A request, or a message, that is wrong in one way.
    fn wrong(&mut self) {
        self.count[2] += 1;
        let cluster = self.dice.roll(CLUSTERS as u32) as usize;
        let cpu = self.dice.roll(CPUS.into()) as u8;
        let unknown = PORTS as u8 + self.dice.roll(256 - PORTS as u32) as u8;
        let idle = PORTS as u8 - 1;
        let one = self.dice.roll(self.connections.len() as u32) as usize;
        let Connection { from, to, words, .. } = self.connections[one];
        let over = (words + 1 + self.dice.roll(1000)) * 4;
        let block = &mut self.blocks[cluster];
        let (found, expected) = match self.dice.roll(12) {
            0 => (block.store(self.dice.roll(1 << 20), 0).err(), Fault::NotARequest),
            1 => (
                self.ask((cluster, unknown), Way::Write, Kind::Direct, cpu, &[1]).err(),
                Fault::NoPort,
            ),
            2 => (
                self.ask((cluster, idle), Way::Read, Kind::Indirect, cpu, &[0, 4]).err(),
                Fault::Unconnected,
            ),
            3 => {
                (self.ask(from, Way::Write, Kind::Indirect, cpu, &[0, over]).err(), Fault::TooLong)
            }
            4 => (self.ask(to, Way::Read, Kind::Indirect, cpu, &[0, over]).err(), Fault::TooLong),
            5 => (self.ask(from, Way::Write, Kind::Indirect, cpu, &[0, 2]).err(), Fault::Size),
            6 => (self.ask(from, Way::Write, Kind::Direct, CPUS, &[0]).err(), Fault::NoCpu),
            7 => {
                let access =
                    Access { way: Way::Write, kind: Kind::Direct, end: false, port: from.1, cpu };
                (self.blocks[from.0].store(access.address(), 1).err(), Fault::NoEnd)
            }
            8 => (block.credit(unknown, 1).err(), Fault::CreditForNobody),
            9 => (block.arrive(idle, 1).err(), Fault::DataForNobody),
            10 => (self.blocks[from.0].credit(from.1, words + 1).err(), Fault::CreditOver),
            _ => (self.blocks[to.0].arrive(to.1, words + 1).err(), Fault::Overrun),
        };
        assert_eq!(found, Some(expected));
        self.noted(expected);
    }

    /// One fault was noted since the last.
    fn noted(&mut self, expected: Fault) {
        let noted: Vec<Fault> = self
            .blocks
            .iter_mut()
            .flat_map(|block| block.faults.drain(..))
            .map(|noted| noted.fault)
            .collect();
        assert_eq!(noted, [expected]);
    }

    fn send_on(&mut self, cluster: usize) -> bool {
        if self.sending[cluster].is_none() {
            self.sending[cluster] = self.blocks[cluster].next_write().map(|write| (write, 0));
        }
        let Some((write, gone)) = self.sending[cluster] else { return false };
        let (to, first) = match write.what {
            What::Buffer { from, to } => (to, from),
            What::Word { word, to } => (to, word),
            What::Copy { .. } => unreachable!("none is asked for"),
        };
        let now = (write.bytes / 4 - gone).min(1 + self.dice.roll(8));
        let words = (first + gone..first + gone + now).collect();
        self.links[cluster][usize::from(to.cluster)].push_back(Message::Data(to.port, words));
        let own = (cluster, write.port);
        let mut connections = self.connections.iter_mut();
        connections.find(|one| one.from == own).expect("it is connected").gone += now;
        self.sending[cluster] = Some((write, gone + now));
        if gone + now == write.bytes / 4 {
            self.blocks[cluster].sent(&write);
            self.sending[cluster] = None;
        }
        true
    }

    fn deliver(&mut self, from: usize, to: usize) -> bool {
        let Some(message) = self.links[from][to].pop_front() else { return false };
        let block = &mut self.blocks[to];
        match message {
            Message::Credit(port, words) => block.credit(port, words).expect("it was owed"),
            Message::Data(port, words) => {
                let places = block.arrive(port, words.len() as u32).expect("there was credit");
                let mut next = words.iter();
                for (address, count) in places {
                    for at in address / 4..address / 4 + count {
                        self.memories[to][at as usize] = *next.next().expect("as many places");
                    }
                }
                block.written(port, words.len() as u32);
            }
        }
        true
    }

    fn read_on(&mut self, cluster: usize) -> bool {
        let Some(taken) = self.blocks[cluster].next_read() else { return false };
        self.take(cluster, &taken);
        true
    }

    fn take(&mut self, cluster: usize, taken: &Taken) {
        let to = (cluster, taken.port);
        let one = self.connections.iter_mut().find(|one| one.to == to).expect("it is connected");
        for (address, count) in &taken.places {
            for at in address / 4..address / 4 + count {
                assert_eq!(self.memories[cluster][at as usize], one.read, "words in order");
                one.read += 1;
            }
        }
        if let Some((back, words)) = self.blocks[cluster].read(taken) {
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
            let left = self.sending[from].filter(|(write, _)| write.port == port);
            let left = left.map_or(0, |(write, gone)| write.bytes / 4 - gone);
            let data = self.links[from][to].iter().map(|message| match message {
                Message::Data(port, words) if *port == other => words.len() as u32,
                _ => 0,
            });
            let back = self.links[to][from].iter().map(|message| match message {
                Message::Credit(for_port, words) if *for_port == port => *words,
                _ => 0,
            });
            let kept = self.blocks[to].kept(other);
            let all = credits + left + data.sum::<u32>() + kept + back.sum::<u32>();
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
            let asked = self.ask(self.connections[next].to, Way::Read, Kind::Indirect, 0, &[0, 4]);
            assert_eq!(asked, Ok(Stored::Queued(Way::Read)));
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
fn credit_is_never_negative_nor_above_the_fifo_and_none_is_lost() {
    let cases = std::env::var("NARROWS_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases: u64 = cases.unwrap_or(CASES);
    let (mut made, mut refused, mut wrong) = (0, 0, 0);
    for seed in 0.. {
        let mut world = World::new(seed);
        while world.count[0] + world.count[2] < ROUND {
            match world.dice.roll(8) {
                0..=2 => world.valid(),
                3 => world.wrong(),
                4 | 5 => {
                    let cluster = world.dice.roll(CLUSTERS as u32) as usize;
                    world.send_on(cluster);
                }
                6 => {
                    let cluster = world.dice.roll(CLUSTERS as u32) as usize;
                    world.read_on(cluster);
                }
                _ => {
                    let [from, to] = [(); 2].map(|()| world.dice.roll(CLUSTERS as u32) as usize);
                    world.deliver(from, to);
                }
            }
            world.check();
        }
        world.finish();
        made += world.count[0] + world.count[2];
        refused += world.count[1];
        wrong += world.count[2];
        if made >= cases {
            break;
        }
    }
    assert!(refused > 0 && wrong > 0 && refused + wrong < made, "{made}: {refused}, {wrong}");
    println!("{made} requests, {refused} of them too early, {wrong} wrong");
}
