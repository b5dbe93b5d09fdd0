//! `bench clients`: what one server does for many clients.
//!
//! A thread of this process serves, on the callee's core; another drives all clients of the server
//! in turns, on the caller's. Each client is a node of its own with one link, and has one message
//! on its way at a time, so the server's links are all as busy as they can be.

use std::fmt::Display;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use narrows::endpoint::{Address, Limits, Message};
use narrows::link::Name;
use narrows::memory::{Class, Layout};
use narrows::platform::Platform;
use narrows::strategy::{Notification, Placement};
use narrows_host::{Host, Node, Options, system};

use super::choice;
use super::flags::Clients as Args;
use super::task::{Asked, Section, rounds};
use crate::base::failure::{Failure, Kind};
use crate::base::options::Cores;
use crate::base::progress::Progress;
use crate::base::report::Bound;
use crate::formats::strategy::literal;
use crate::rig::crowd::raise_descriptors;
use crate::rig::peer::{self, DOMAIN, cores_of};
use crate::rig::series::{NS, Series};

const NOTIFICATIONS: [&str; 2] = ["spin", "interrupt"];
const CLIENTS: [u16; 4] = [1, 10, 100, 1000];
const BYTES: usize = 48;
const ROUNDS: u16 = 11;
/// Round trips of a batch, and at least for each client.
const TRIPS: u64 = 4000;
const TURNS: u64 = 4;
/// Round trips of a batch in which all clients but one are silent.
const ALONE: u64 = 400;
/// Slots of each ring.
const SLOTS: u32 = 16;
/// The port of either side.
const PORT: u16 = 1;
/// The tag of a message by which the server is told how to wait: its payload is a strategy.
const HOW: u16 = 1;
/// The tag of the last message to a server, which ends.
const END: u16 = 2;
/// The longest wait for all to be linked, and for an answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// What is promised: with more clients the server answers no fewer messages in all than with the
/// first number of them, so the rate of each falls as 1/n.
const BOUND: Bound = Bound::Least(1.0);

/// A server and its clients.
struct Group {
    clients: Vec<(Node, Address)>,
    server: JoinHandle<()>,
    linking: Linking,
}

/// What it took until all clients that hunted at once were linked.
struct Linking {
    time: Duration,
    processor: Duration,
}

/// Measures each number of clients beside the first.
///
/// # Errors
/// The machine refuses the nodes, or a client is not answered.
pub(super) fn run(asked: &Asked<'_>, args: &Args) -> Result<Vec<Section>, Failure> {
    let Asked { global, args: common, .. } = asked;
    let numbers = if args.clients.is_empty() { &CLIENTS } else { &args.clients[..] };
    let words = choice::words(&args.notify, &NOTIFICATIONS);
    let rounds = usize::from(rounds(common, ROUNDS));
    let steps = numbers.len() + words.len() * rounds;
    let progress = Progress::new(steps as u64, global.json);

    raise_descriptors();
    let cores = cores_of(global)?;
    system::pin(cores.caller).map_err(|error| Failure::new(Kind::Usage, error.to_string()))?;
    let directory = peer::directory()?;
    let mut groups = Vec::new();
    for (at, count) in numbers.iter().enumerate() {
        progress.say(&format!("{count} clients"));
        groups.push(Group::gather(directory.path(), at, *count, cores)?);
        progress.step();
    }
    let mut sections = vec![linked(numbers, &groups)];
    for word in &words {
        let mut all = vec![Series::bound(None); numbers.len()];
        let mut one = all.clone();
        for series in all.iter_mut().skip(1) {
            *series = Series::bound(BOUND);
        }
        for _ in 0..rounds {
            progress.say(&format!("{word}, in turns"));
            let mut first = None;
            for ((group, all), one) in groups.iter_mut().zip(&mut all).zip(&mut one) {
                let ns = group.trips(word)?;
                let rates = [1e9 / ns[0], ns[1]];
                let limits = first.map_or([None; 2], |first: [f64; 2]| first.map(Some));
                all.push(rates[0], limits[0]);
                one.push(rates[1], limits[1]);
                first.get_or_insert(rates);
            }
            progress.step();
        }
        let mut section = Section { heading: format!("Clients: {word}"), ..Section::default() };
        let rows = numbers.iter().zip(&all).zip(&one);
        for ((count, all), one) in rows {
            section.rows.extend(all.row(format!("all of {count} {word}"), BYTES, "1/s"));
            section.rows.extend(one.row(format!("one of {count} {word}"), BYTES, NS));
        }
        sections.push(section.judged());
    }
    groups.into_iter().try_for_each(Group::disperse)?;
    Ok(sections)
}

/// What linking took, a client.
fn linked(numbers: &[u16], groups: &[Group]) -> Section {
    let mut section = Section { heading: "Hunts, all at once".to_owned(), ..Section::default() };
    for (count, group) in numbers.iter().zip(groups) {
        let each = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(*count);
        for (what, time) in
            [("linked", group.linking.time), ("processor time", group.linking.processor)]
        {
            let mut series = Series::default();
            series.push_alone(each(time));
            section.rows.extend(series.row(format!("{what}, each of {count}"), 0, "µs"));
        }
    }
    section
}

impl Group {
    /// Opens a server and its clients, all of which hunt for it at once.
    fn gather(directory: &Path, at: usize, count: u16, cores: Cores) -> Result<Group, Failure> {
        let name = format!("server-{at}");
        let limits =
            Limits { links: count.into(), endpoints: 2, flows: 1, inbox: 8, longest: 1024 };
        let options = small(directory, &name).limits(limits);
        let server = thread::Builder::new().name(name.clone());
        let (tell, told) = std::sync::mpsc::channel();
        let server = server.spawn(move || match options.core(cores.callee).node() {
            Ok(mut node) => {
                let _ = tell.send(Ok(()));
                serve(&mut node);
            }
            Err(error) => drop(tell.send(Err(peer::not_opened(&error)))),
        });
        let server = server.map_err(|error| refused(&error.to_string()))?;
        told.recv().map_err(|_| refused("its thread ended"))??;
        let limits = Limits { links: 1, endpoints: 2, flows: 1, inbox: 8, longest: 64 };
        let mut nodes = Vec::new();
        for number in 0..count {
            let options = small(directory, &format!("client-{at}-{number}")).limits(limits);
            let mut node =
                options.background(false).node().map_err(|error| peer::not_opened(&error))?;
            node.open(PORT).map_err(|error| refused(&error.to_string()))?;
            nodes.push(node);
        }
        let name = name.parse().map_err(|_| refused("its name is none"))?;
        let (began, before) = (Instant::now(), system::process_time());
        let clients = hunt(nodes, &name)?;
        let linking = Linking { time: began.elapsed(), processor: system::process_time() - before };
        Ok(Group { clients, server, linking })
    }

    /// A batch of round trips of all clients and one of a single client, while the server learns
    /// of messages in this way: nanoseconds for each round trip.
    fn trips(&mut self, how: &str) -> Result<[f64; 2], Failure> {
        self.tell(HOW, how)?;
        let count = TRIPS.max(TURNS * self.clients.len() as u64);
        let all = self.batch(self.clients.len(), count)?;
        let one = self.batch(1, ALONE)?;
        // The servers of the other groups have the core when this one has nothing to do.
        self.tell(HOW, "interrupt")?;
        Ok([all, one])
    }

    /// Says something to the server that is no trip, and waits until it has heard.
    fn tell(&mut self, tag: u16, text: &str) -> Result<(), Failure> {
        let Some((node, to)) = self.clients.first_mut() else { return Ok(()) };
        let message = Message::new(text.as_bytes()).tag(tag);
        node.send(PORT, *to, message, Some(PATIENCE)).map_err(silent)?;
        let received = node.receive_into(PORT, &mut [0; BYTES], Some(PATIENCE));
        received.map(|_| ()).map_err(silent)
    }

    /// This many round trips of the first clients, each of which has one on its way.
    fn batch(&mut self, clients: usize, count: u64) -> Result<f64, Failure> {
        let clients = self.clients.get_mut(..clients).unwrap_or_default();
        let (mut out, mut back) = ([0; BYTES], [0; BYTES]);
        let (mut started, mut done) = (0, 0);
        let began = Instant::now();
        for (node, to) in clients.iter_mut() {
            begin(node, *to, &mut out, &mut started)?;
        }
        while done < started {
            for (node, to) in clients.iter_mut() {
                let received = node.try_receive_into(PORT, &mut back);
                if received.map_err(silent)?.is_none() {
                    continue;
                }
                done += 1;
                if started < count {
                    begin(node, *to, &mut out, &mut started)?;
                }
            }
            if began.elapsed() > PATIENCE {
                let text = format!("{done} of {started} messages were answered after {PATIENCE:?}");
                return Err(Failure::new(Kind::Deadline, text));
            }
        }
        Ok(began.elapsed().as_nanos() as f64 / done as f64)
    }

    /// Ends the server and the clients.
    fn disperse(mut self) -> Result<(), Failure> {
        self.tell(END, "")?;
        self.server.join().map_err(|_| refused("its thread panicked"))
    }
}

/// Starts one round trip.
fn begin(
    node: &mut Node,
    to: Address,
    out: &mut [u8; BYTES],
    number: &mut u64,
) -> Result<(), Failure> {
    *number += 1;
    out[..8].copy_from_slice(&number.to_le_bytes());
    node.try_send(PORT, to, &out[..]).map_err(silent)
}

/// Has all hunt at once, until all are linked.
fn hunt(nodes: Vec<Node>, name: &Name) -> Result<Vec<(Node, Address)>, Failure> {
    let deadline = Instant::now() + PATIENCE;
    let count = nodes.len();
    let mut looking = nodes;
    let mut linked = Vec::new();
    while !looking.is_empty() {
        let mut left = Vec::new();
        for mut node in looking {
            match node.try_hunt(name).map_err(silent)? {
                Some(link) => linked.push((node, Address { link, port: PORT })),
                None => left.push(node),
            }
        }
        looking = left;
        if Instant::now() > deadline {
            let text = format!("{} of {count} clients are linked after {PATIENCE:?}", linked.len());
            return Err(Failure::new(Kind::Deadline, text));
        }
    }
    Ok(linked)
}

/// Answers messages until one says that it is the last.
fn serve(node: &mut Node) {
    let mut buffer = [0; BYTES];
    node.set_notification(Notification::Interrupt);
    if node.open(PORT).is_err() {
        return;
    }
    loop {
        match node.receive_into(PORT, &mut buffer, None) {
            Ok(received) => {
                let bytes = received.bytes(&buffer);
                if received.tag == HOW
                    && let Ok(how) = std::str::from_utf8(bytes)
                {
                    node.set_notification(literal(how).notification);
                }
                // A client that has gone wants no answer.
                let _ = node.send(PORT, received.from, bytes, Some(PATIENCE));
                if received.tag == END {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}

/// What a node of this bench is: little memory for each link.
fn small(directory: &Path, name: &str) -> Options {
    let class = Class { placement: Placement::External, size: 64, count: 16 };
    let options = Options::new(name).domain(DOMAIN).directory(directory);
    match Layout::new(Host::LINE, SLOTS, &[class]) {
        Ok(layout) => options.layout(layout),
        Err(_) => options,
    }
}

fn refused(why: &str) -> Failure {
    Failure::new(Kind::Internal, format!("a server or its clients cannot be had: {why}"))
}

fn silent(error: impl Display) -> Failure {
    Failure::new(Kind::Peer, format!("the server and a client have lost each other: {error}"))
}
