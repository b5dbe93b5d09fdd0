//! How words and messages move.

use super::*;

/// A message on its way.
pub(super) enum Message {
    /// Words for a port, which has the FIFO.
    Data(u8, Vec<u32>),
    /// Addresses and their words.
    Place(Vec<(u32, u32)>),
    Pointer(u8, u32),
    Credit(u8, u32),
    /// The BMR of the cluster that this is from fetches.
    Fetch(u8, u32),
    Answer(Vec<u32>),
}

/// A request that is being sent.
pub(super) struct Sending {
    pub write: Write,
    /// Words that have gone.
    gone: u32,
    /// Where all of them go, where the sender knows it.
    addresses: Vec<u32>,
}

impl Sending {
    /// Words that have not gone.
    pub fn left(&self) -> u32 {
        self.write.bytes / 4 - self.gone
    }
}

/// Addresses in words, one by one.
fn addresses(places: &Places) -> impl Iterator<Item = u32> + '_ {
    places.iter().flat_map(|(at, count)| at / 4..at / 4 + count)
}

impl World {
    /// The words at places.
    pub(super) fn at(&self, cluster: usize, places: &Places) -> Vec<u32> {
        addresses(places).map(|at| self.memories[cluster][at as usize]).collect()
    }

    fn put(&mut self, cluster: usize, all: impl IntoIterator<Item = (u32, u32)>) {
        for (at, word) in all {
            self.memories[cluster][at as usize] = word;
        }
    }

    /// Begins a request to write, or moves some more words of it.
    pub(super) fn send_on(&mut self, cluster: usize) -> bool {
        if self.sending[cluster].is_none() {
            let Some(write) = self.blocks[cluster].next_write() else { return false };
            let addresses = match self.partitioning {
                Partitioning::AtReceiver => Vec::new(),
                _ => {
                    let places = self.blocks[cluster].place(write.port, write.bytes / 4);
                    addresses(&places.expect("it knows where")).collect()
                }
            };
            self.sending[cluster] = Some(Sending { write, gone: 0, addresses });
        }
        let some = 1 + self.dice.roll(8);
        let Some(sending) = &mut self.sending[cluster] else { return false };
        let (to, first) = match sending.write.what {
            What::Buffer { from, to } => (to, from),
            What::Word { word, to } => (to, word),
            What::Copy { .. } => unreachable!("none is asked for"),
        };
        let (write, gone, now) = (sending.write, sending.gone, some.min(sending.left()));
        sending.gone += now;
        let words = first + gone..first + gone + now;
        let places = sending.addresses.iter().skip(gone as usize).copied();
        let part: Vec<(u32, u32)> = places.zip(words.clone()).collect();
        let done = sending.left() == 0;
        let own = (cluster, write.port);
        let mut connections = self.connections.iter_mut();
        connections.find(|one| one.from == own).expect("it is connected").gone += now;
        let (there, all) = (usize::from(to.cluster), write.bytes / 4);
        match self.partitioning {
            Partitioning::AtReceiver => {
                self.links[cluster][there].push_back(Message::Data(to.port, words.collect()));
            }
            Partitioning::Apart => {
                self.links[cluster][there].push_back(Message::Place(part));
                if done {
                    self.links[cluster][there].push_back(Message::Pointer(to.port, all));
                }
            }
            Partitioning::AtSender => {
                self.put(cluster, part);
                if done {
                    self.blocks[cluster].written(write.port, all);
                    self.links[cluster][there].push_back(Message::Credit(to.port, all));
                }
            }
        }
        if done {
            self.blocks[cluster].sent(&write);
            self.sending[cluster] = None;
        }
        true
    }

    pub(super) fn deliver(&mut self, from: usize, to: usize) -> bool {
        let Some(message) = self.links[from][to].pop_front() else { return false };
        match message {
            Message::Data(port, words) => {
                let count = words.len() as u32;
                let places = self.blocks[to].arrive(port, count).expect("there was credit");
                let addresses: Vec<u32> = addresses(&places).collect();
                assert_eq!(addresses.len(), words.len(), "as many places");
                self.put(to, addresses.into_iter().zip(words));
                self.blocks[to].written(port, count);
            }
            Message::Place(all) => self.put(to, all),
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

    pub(super) fn serve(&mut self, cluster: usize, port: u8, words: u32) -> Vec<u32> {
        let places = self.blocks[cluster].fetch(port, words).expect("they are there");
        let all = self.at(cluster, &places);
        self.blocks[cluster].fetched(port, words);
        all
    }

    pub(super) fn read_on(&mut self, cluster: usize) -> bool {
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

    /// Words were read.
    pub(super) fn take(&mut self, cluster: usize, taken: &Taken, words: &[u32]) {
        let to = (cluster, taken.port);
        let one = self.connections.iter_mut().find(|one| one.to == to).expect("it is connected");
        let expected: Vec<u32> = (one.read..one.read + taken.words).collect();
        assert_eq!(words, expected, "words in order");
        one.read += taken.words;
        if let Some((back, words)) = self.blocks[cluster].read(taken) {
            assert_ne!(self.partitioning, Partitioning::AtSender, "nobody else gives credit");
            let there = usize::from(back.cluster);
            self.links[cluster][there].push_back(Message::Credit(back.port, words));
        }
    }
}
