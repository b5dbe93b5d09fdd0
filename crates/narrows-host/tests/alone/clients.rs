//! Many clients of one server: all are served, and what they cost it.
//!
//! `NARROWS_CLIENTS=1000 cargo test --release -p narrows-host --test alone clients::measured --
//! --ignored --nocapture` says, for that number of clients in a process of their own, how long it
//! takes until all are linked, what memory the server has for each, and how many requests it
//! answers a second.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::name;
use crate::common::process::{Peer, Role, alone, possessions};
use narrows::endpoint::{Address, Limits, LinkError};
use narrows::link::LinkId;
use narrows::memory::{Class, Layout};
use narrows::platform::Lost;
use narrows::strategy::Placement;
use narrows_host::{Node, OpenError, Options};

const PORT: u16 = 1;
/// For a thousand clients on a machine that does something else.
const PATIENCE: Duration = Duration::from_secs(120);
const WITHIN: Option<Duration> = Some(PATIENCE);
/// Ended links that a node keeps though they left nothing.
const KEPT: usize = 8;

/// Says that the clients are to go on with what comes next.
const NEXT: &[u8] = b"next";

fn server(directory: &Path) -> Node {
    let mut node = Options::new("hub").directory(directory).node().unwrap();
    node.open(PORT).unwrap();
    node
}

struct Client {
    node: Node,
    link: LinkId,
}

impl Client {
    fn ask(&mut self, request: &[u8]) {
        let to = Address { link: self.link, port: PORT };
        self.node.send(PORT, to, request, WITHIN).expect("room");
    }

    fn hear(&mut self) {
        self.node.receive_into(PORT, &mut [0; 64], WITHIN).expect("an answer");
    }
}

/// Nodes of which each has found the server.
fn clients(directory: &Path, count: usize) -> Vec<Client> {
    let open = |number| {
        let options = Options::new(format!("client-{number}")).directory(directory);
        let limits = Limits { inbox: 8, flows: 1, longest: 64, ..Limits::default() };
        let mut node = options.limits(limits).background(false).node().expect("descriptors");
        node.open(PORT).unwrap();
        node
    };
    let mut nodes: Vec<Node> = (0..count).map(open).collect();
    // All at once.
    for node in &mut nodes {
        let begun = node.try_hunt(&name("hub"));
        assert!(begun.is_ok(), "{begun:?}");
    }
    let link = |mut node: Node| {
        let link = node.hunt(&name("hub"), WITHIN).expect("a place");
        Client { node, link }
    };
    nodes.into_iter().map(link).collect()
}

#[test]
#[ignore = "what the clients' process runs; does nothing by itself"]
fn a_peer() {
    let Some(role) = Role::get() else { return };
    let words: Vec<u64> = role.words.split(' ').map(|word| word.parse().unwrap()).collect();
    let [count, rounds] = words[..] else { panic!("{words:?}") };
    let mut clients = clients(&role.directory, count as usize);
    // Each is heard of once before anything is measured.
    clients.iter_mut().for_each(|client| client.ask(b"here"));
    clients.iter_mut().for_each(Client::hear);
    clients[0].ask(NEXT);
    clients[0].hear();
    for _ in 0..rounds {
        for client in &mut clients {
            client.ask(b"in turn");
            client.hear();
        }
    }
    clients[0].ask(NEXT);
    clients[0].hear();
    for _ in 0..rounds {
        clients.iter_mut().for_each(|client| client.ask(b"at once"));
        clients.iter_mut().for_each(Client::hear);
    }
    clients[0].ask(NEXT);
    clients[0].hear();
}

/// Answers what comes until a client says that something else is next. How many that were.
fn answer(server: &mut Node) -> u64 {
    let mut buffer = [0; 64];
    for answered in 0.. {
        let came = server.receive_into(PORT, &mut buffer, WITHIN).expect("a request");
        server.send(PORT, came.from, came.bytes(&buffer), WITHIN).expect("room");
        if came.bytes(&buffer) == NEXT {
            return answered;
        }
    }
    0
}

#[test]
fn forty_clients_that_come_at_once_are_all_served() {
    const MANY: u64 = 40;
    const ROUNDS: u64 = 5;
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let mut server = server(directory.path());
    let mut clients =
        Peer::start(module_path!(), "clients", directory.path(), &format!("{MANY} {ROUNDS}"));
    assert_eq!(answer(&mut server), MANY);
    assert_eq!(server.links().count() as u64, MANY);
    assert_eq!(answer(&mut server), MANY * ROUNDS);
    assert_eq!(answer(&mut server), MANY * ROUNDS);
    assert!(clients.wait().success());
}

#[test]
fn a_server_that_closes_no_link_gives_the_memory_of_ended_ones_back() {
    const MANY: usize = 40;
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let mut server = server(directory.path());
    let (_, without) = possessions();
    let mut clients =
        Peer::start(module_path!(), "clients", directory.path(), &format!("{MANY} 1"));
    for _ in 0..2 {
        answer(&mut server);
    }
    let links: Vec<LinkId> = server.links().map(|(link, _)| link).collect();
    let (_, with) = possessions();
    assert_eq!(with - without, 2 * MANY);
    // Behind the last answer the clients end.
    answer(&mut server);
    assert!(clients.wait().success());
    let deadline = Instant::now() + PATIENCE;
    while server.links().count() > 0 {
        server.wait_any(Some(Duration::from_millis(10)));
        server.poll();
        assert!(Instant::now() < deadline, "links are up without peers");
    }
    let (_, left) = possessions();
    assert_eq!(left - without, 2 * KEPT);
    // Why they ended can be asked of those that ended last.
    let why: Vec<_> = links.iter().map(|link| server.link(*link).check()).collect();
    let closed = why.iter().filter(|why| **why == Err(LinkError::Gone(Lost::Closed)));
    assert_eq!(closed.count(), KEPT, "{why:?}");
}

#[test]
fn links_that_come_in_have_a_layout_of_their_own() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let open = |name: &str| Options::new(name).directory(directory.path());
    let class = Class { placement: Placement::Internal, size: 64, count: 4 };
    let small = Layout::new(narrows_host::LINE, 16, &[class]).unwrap();
    let (mut hub, mut client) =
        (open("hub").incoming_layout(small).node().unwrap(), open("client").node().unwrap());
    let mut upstream = open("upstream").node().unwrap();
    let link = client.hunt(&name("hub"), WITHIN).unwrap();
    let (_, theirs) = client.link(link).layouts().unwrap();
    assert_eq!(theirs.classes(), small.classes());
    let link = hub.hunt(&name("upstream"), WITHIN).unwrap();
    upstream.poll();
    let (mine, theirs) = hub.link(link).layouts().unwrap();
    let usual = Layout::standard(narrows_host::LINE).unwrap();
    assert_eq!((mine.classes(), theirs.classes()), (usual.classes(), usual.classes()));
    let other_line = Layout::new(64, 16, &[class]).unwrap();
    let refused = open("late").incoming_layout(other_line).node();
    assert!(matches!(refused, Err(OpenError::Line(64))));
}

/// Resident and proportional memory of this process in KiB, without files, such as the program.
fn resident() -> [u64; 2] {
    let sum = |file: &str, what: [&str; 2]| {
        let text = std::fs::read_to_string(file).expect("a kernel from 5.9 on");
        let lines = text.lines().filter_map(|line| what.iter().find_map(|w| line.strip_prefix(w)));
        lines.map(|n| n.trim().trim_end_matches(" kB").parse::<u64>().expect("a number")).sum()
    };
    let resident = sum("/proc/self/status", ["RssAnon:", "RssShmem:"]);
    [resident, sum("/proc/self/smaps_rollup", ["Pss_Anon:", "Pss_Shmem:"])]
}

/// User and system time of this process, in steps of 10 ms.
fn time() -> [Duration; 2] {
    let text = std::fs::read_to_string("/proc/self/stat").expect("/proc");
    let (_, behind) = text.rsplit_once(')').expect("a name");
    let mut fields = behind.split_whitespace().skip(11).map(|field| field.parse::<u64>());
    [(); 2].map(|()| Duration::from_millis(10 * fields.next().expect("both").expect("a number")))
}

#[test]
#[ignore = "measures"]
fn measured() {
    let number = |variable: &str, usual: u64| {
        std::env::var(variable).map_or(usual, |text| text.parse().expect("a number"))
    };
    let count = number("NARROWS_CLIENTS", 40);
    let rounds = number("NARROWS_REQUESTS", 20_000).div_ceil(count);
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let mut server = server(directory.path());
    let (began, before, used) = (Instant::now(), resident(), time());
    let mut clients =
        Peer::start(module_path!(), "clients", directory.path(), &format!("{count} {rounds}"));
    answer(&mut server);
    let linked = began.elapsed();
    let spent: Vec<Duration> = time().into_iter().zip(used).map(|(now, then)| now - then).collect();
    // What is made while there is nothing else to do.
    for _ in 0..200 {
        server.wait_any(Some(Duration::from_micros(100)));
    }
    let each = |now: u64, then: u64| (now as f64 - then as f64) / count as f64;
    let [rss, pss] = [0, 1].map(|at| each(resident()[at], before[at]));
    println!(
        "{count} clients: all served after {linked:.2?}, {:.2?} user, {:.2?} system",
        spent[0], spent[1]
    );
    println!("{count} clients: {rss:.0} KiB resident each, {pss:.0} KiB proportional");
    for what in ["one at a time", "all at once"] {
        let (began, used) = (Instant::now(), time());
        let answered = answer(&mut server);
        let (took, now) = (began.elapsed().as_secs_f64(), time());
        let share = |at: usize| (now[at] - used[at]).as_secs_f64() / took * 100.0;
        let rate = answered as f64 / took;
        println!(
            "{count} clients, {what}: {rate:.0} requests a second, {:.0} % user, {:.0} % system",
            share(0),
            share(1)
        );
    }
    assert!(clients.wait().success());
}
