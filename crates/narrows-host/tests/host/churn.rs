//! Peers that link with a node again and again: an honest peer goes on being answered, and a wait
//! ends when it was to.
//!
//! `cargo test --release -p narrows-host --test host -- --ignored --nocapture churn::measured` says
//! how late both are while peers in a process of their own link as often as they can. Run it as
//! root.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::process::{Peer, Role};
use crate::common::stranger::{descriptors_with_a_packet, greeting, memory, seals, send, stranger};
use crate::common::{Over, PATIENCE, name, no_words};
use narrows::endpoint::{Address, Limits};
use narrows::platform::{Memory as _, Platform as _, Wait};
use narrows_host::system::real_time;
use narrows_host::{Node, Options};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::net::{RecvFlags, recv};

#[test]
fn one_turn_sees_to_a_few_of_those_who_wait() {
    const WAITING: usize = 40;
    const FEW: usize = 8;
    let directory = tempfile::tempdir().unwrap();
    let host = crate::common::open(directory.path(), "a");
    let turned_away = |socket: &OwnedFd| {
        let mut packet = [0; 64];
        recv(socket, &mut packet[..], RecvFlags::DONTWAIT).is_ok()
    };
    let mut waiting: Vec<OwnedFd> = (0..WAITING).map(|_| stranger(directory.path())).collect();
    // Not what is expected of a node: each of them is refused.
    waiting.iter().for_each(|socket| send(socket, b"rubbish", &[]));
    let mut turns = 0;
    while !waiting.is_empty() {
        host.wait(no_words(), Wait::Timer, Some(host.now()));
        let before = waiting.len();
        waiting.retain(|socket| !turned_away(socket));
        let done = before - waiting.len();
        assert!((1..=FEW).contains(&done), "{done} in one turn");
        turns += 1;
    }
    assert!(turns >= WAITING / FEW);
}

#[test]
fn a_link_that_has_carried_nothing_has_few_pages() {
    const FEW: u64 = 256 << 10;
    let directory = tempfile::tempdir().unwrap();
    let a = crate::common::open(directory.path(), "a");
    let peer = stranger(directory.path());
    let region = {
        let (x, y) = (
            crate::common::open(directory.path(), "x"),
            crate::common::open(directory.path(), "y"),
        );
        let (of_x, _of_y) = crate::common::link(&x, &y, "y");
        let mut bytes = vec![0; of_x.own.size() as usize];
        of_x.own.read(0, &mut bytes).unwrap();
        bytes
    };
    let theirs = memory(&region, region.len() as u64, seals());
    let bell = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
    send(&peer, &greeting(region.len() as u32), &[theirs.as_fd(), bell.as_fd()]);
    a.wait(no_words(), Wait::Timer, Some(a.now()));
    let kept = &descriptors_with_a_packet(&peer)[0];
    let made = || rustix::fs::fstat(kept).unwrap().st_blocks as u64 * 512;
    assert!(made() <= FEW, "{} bytes", made());
    // The others are made while there is nothing else to do.
    let news = crate::common::connected(crate::common::next(&a, Wait::Bell));
    let deadline = Instant::now() + PATIENCE;
    while made() < u64::from(news.own.size()) {
        a.wait(no_words(), Wait::Bell, Some(a.now() + Duration::from_millis(1)));
        assert!(Instant::now() < deadline, "{} bytes", made());
    }
}

fn node(directory: &Path, name: &str) -> Node {
    let limits = Limits { links: 32, ..Limits::default() };
    let host = Options::new(name).directory(directory).open().unwrap();
    let mut node = Node::new(host, limits).unwrap();
    node.open(1).unwrap();
    node
}

#[test]
#[ignore = "what a peer's process runs; does nothing by itself"]
fn a_peer() {
    let Some(role) = Role::get() else { return };
    let (until, links) = (Instant::now() + PATIENCE, AtomicU64::new(0));
    let (role, links) = (&role, &links);
    let (count, rate) = role.words.split_once(' ').unwrap();
    let (count, rate): (u32, u32) = (count.parse().unwrap(), rate.parse().unwrap());
    let every = Duration::from_secs(1) * count / rate;
    thread::scope(|scope| {
        for number in 0..count {
            scope.spawn(move || {
                let mut node = node(&role.directory, &format!("churn-{number}"));
                let mut due = Instant::now();
                while Instant::now() < until {
                    if let Ok(link) = node.hunt(&name("hub"), Some(PATIENCE)) {
                        node.link(link).close();
                        role.report(links.fetch_add(1, Ordering::Relaxed) + 1);
                    }
                    due += every;
                    thread::sleep(due.saturating_duration_since(Instant::now()));
                }
            });
        }
    });
}

/// Echoes what comes until it is told to stop.
fn hub(mut node: Node, stop: &AtomicBool) -> Vec<Duration> {
    const WAIT: Duration = Duration::from_millis(10);
    // What is measured is the node, not other programs on its core.
    real_time(10).expect("run as root, or without this line");
    let (mut late, mut text) = (Vec::new(), [0; 64]);
    while !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        match node.receive_into(1, &mut text, Some(WAIT)) {
            Ok(message) => {
                let _ = node.send(1, message.from, &text[..message.len], Some(WAIT));
            }
            Err(_) => late.push(began.elapsed().saturating_sub(WAIT)),
        }
    }
    late
}

fn figures(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3;
    println!(
        "{what}: {} times, p50 {:.3} ms, p99 {:.3} ms, p99.9 {:.3} ms, worst {:.3} ms",
        times.len(),
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0)
    );
}

#[test]
#[ignore = "measures"]
fn measured() {
    let number = |variable: &str, usual: u64| {
        std::env::var(variable).map_or(usual, |text| text.parse().expect("a number"))
    };
    let (count, rate) = (number("NARROWS_CHURNERS", 4), number("NARROWS_RATE", 1000));
    let seconds = number("NARROWS_SECONDS", 10);
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let hub_node = node(directory, "hub");
        let mut honest = node(directory, "honest");
        let hub = scope.spawn(|| hub(hub_node, &stop));
        let over = Over(&stop);
        let link = honest.hunt(&name("hub"), Some(PATIENCE)).unwrap();
        let churn = Peer::start(module_path!(), "churn", directory, &format!("{count} {rate}"));
        while churn.reported() < 4 {
            thread::sleep(Duration::from_millis(1));
        }
        real_time(10).expect("run as root, or without this line");
        let (first, began) = (churn.reported(), Instant::now());
        let mut trips = Vec::new();
        let mut text = [0; 64];
        while began.elapsed() < Duration::from_secs(seconds) {
            let sent = Instant::now();
            honest.send(1, Address { link, port: 1 }, b"there", Some(PATIENCE)).unwrap();
            honest.receive_into(1, &mut text, Some(PATIENCE)).expect("an answer");
            trips.push(sent.elapsed());
            // Half of the time is for waits that end by their deadlines.
            if trips.len() % 64 == 0 {
                thread::sleep(Duration::from_millis(50));
            }
            thread::sleep(Duration::from_millis(1));
        }
        let links = churn.reported() - first;
        let rate = links as f64 / began.elapsed().as_secs_f64();
        drop(churn);
        drop(over);
        println!("{count} peers, {rate:.0} link-ups a second");
        figures("round trips", trips);
        figures("deadlines missed by", hub.join().unwrap());
    });
}
