//! Peers that change words of their region while a node reads them, from other processes and
//! threads: the node's operations end in time, and an honest peer beside has every message in
//! order.
//!
//! `NARROWS_ROUNDS=60 cargo test --release -p narrows-host --test alone liars::` lies for a minute
//! each.

mod honest;
mod liar;
mod victim;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use honest::Totals;

use crate::common::process::{Peer, Role, alone, no_more_than, possessions, rounds};
use crate::common::{PATIENCE, name};
use narrows::endpoint::Limits;
use narrows::memory::{Class, Layout};
use narrows::strategy::Placement;
use narrows_host::{Host, Node, Options};

use victim::Victim;

/// Where the honest peer's messages go and come from; liars have the other.
const HONEST: u16 = 1;
const LIES: u16 = 2;

fn layout() -> Layout {
    let class = |placement, size, count| Class { placement, size, count };
    let classes = [class(Placement::Internal, 64, 4), class(Placement::External, 4096, 4)];
    let layout = Layout::new(narrows_host::LINE, 16, &classes).expect("a layout");
    layout.with_channels(2, 8).expect("room for channels")
}

fn open(directory: &Path, name: &str) -> Host {
    Options::new(name).directory(directory).layout(layout()).open().unwrap()
}

fn node(directory: &Path, name: &str) -> Node {
    let limits = Limits { links: 4, inbox: 32, ..Limits::default() };
    let mut node = Node::new(open(directory, name), limits).unwrap();
    node.open(HONEST).unwrap();
    node.open(LIES).unwrap();
    node
}

#[test]
#[ignore = "what a peer runs; does nothing by itself"]
fn a_peer() {
    let Some(role) = Role::get() else { return };
    let over = AtomicBool::new(false);
    match role.name.as_str() {
        "scribbler" => liar::scribble(&role),
        "forger" => liar::forge(&role.directory, &over, &|lives| role.report(lives)),
        other => panic!("no role {other}"),
    }
}

/// Where lies come from.
enum Liar {
    Process(&'static str),
    Thread,
}

/// Runs a victim beside an honest peer and a liar.
fn lies(liar: &Liar) {
    let _alone = alone();
    let before = possessions();
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let totals = Totals::default();
    let mut victim = Victim::new(node(directory, "victim"));
    std::thread::scope(|scope| {
        let mut honest_node = node(directory, "honest");
        let honest = scope.spawn(|| {
            let link = honest_node.hunt(&name("victim"), Some(PATIENCE)).expect("an honest link");
            honest::work(honest_node, link, &totals);
        });
        victim.await_honest();
        let mut lives = 0_u64;
        let time = Duration::from_secs(1) * rounds() as u32;
        match liar {
            Liar::Process(role) => {
                let peer = Peer::start(module_path!(), role, directory, "");
                // Not before it has told its first lies.
                victim.work_until(|_| peer.reported() > 0);
                let end = Instant::now() + time;
                // For as long as it was asked to, and until every kind of lie has had its end.
                let seen = |victim: &Victim| match *role {
                    "scribbler" => victim.found_out > 0 && victim.garbage > 0 && victim.whole > 0,
                    _ => victim.found_out > 0,
                };
                victim.work_until(|victim| Instant::now() > end && seen(victim));
                lives += peer.reported();
            }
            Liar::Thread => {
                let (told, over) = (AtomicU64::new(0), AtomicBool::new(false));
                let tell = |lives: u64| told.store(lives, Ordering::Relaxed);
                std::thread::scope(|inner| {
                    let liar = inner.spawn(|| liar::forge(directory, &over, &tell));
                    victim.work_until(|_| told.load(Ordering::Relaxed) > 0);
                    let end = Instant::now() + time;
                    victim.work_until(|victim| Instant::now() > end && victim.found_out > 0);
                    over.store(true, Ordering::Relaxed);
                    victim.work_until(|_| liar.is_finished());
                });
                lives += told.load(Ordering::Relaxed);
            }
        }
        victim.settle(&totals);
        println!("{lives} lives of the liar; {}", victim.summary());
        assert!(lives > 1 && victim.links > 1, "the liar comes again");
        drop(victim);
        honest.join().expect("the honest peer notices nothing");
    });
    no_more_than(before);
}

#[test]
fn a_process_that_flips_words_of_a_stack_in_order_disturbs_nobody_else() {
    lies(&Liar::Process("scribbler"));
}

#[test]
fn a_process_that_forges_all_it_sends_disturbs_nobody_else() {
    lies(&Liar::Process("forger"));
}

#[test]
fn a_thread_that_forges_all_it_sends_disturbs_nobody_else() {
    lies(&Liar::Thread);
}
