//! Processes that lie: with a stack in order whose region another thread changes, or with no stack.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use narrows::endpoint::{Address, Failure, Function, Sink, Source};
use narrows::platform::{Connected, Event, Platform, Wait};
use narrows_host::{Host, Node, PeerRegion, Region};

use super::{LIES, layout, node, open};
use crate::common::process::{Role, payload, rounds};
use crate::common::{PATIENCE, name, no_words};
use crate::forge::{Forger, Lies, Random};

/// Parts of a region that a scribbler changes in a life: everything, or a part of it alone.
const AREAS: [(&str, u64, u64); 6] = [
    ("everything", 0, u64::MAX),
    ("header", 0, 512),
    ("control words", 512, 1024),
    ("ring", 1024, 1024 + 16 * 64),
    ("the first slots", 1024, 1024 + 4 * 64),
    ("behind the ring", 1024 + 16 * 64, u64::MAX),
];

/// The longest pause between two words, in microseconds: many lives lie slowly, so that a link
/// lasts and has something to lie about.
const PAUSES: [u32; 4] = [0, 5, 50, 500];

fn echo(request: &dyn Source, response: &mut dyn Sink) -> Result<(), Failure> {
    let mut bytes = [0; 64];
    let bytes = bytes.get_mut(..request.len()).ok_or(Failure::NoRoom)?;
    request.read(0, bytes)?;
    response.write(0, bytes)
}

/// Where this process's own regions are: they are the ones that it can write.
fn own_regions() -> Vec<(u64, u64)> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let own = maps.lines().filter(|line| line.contains("rw-s") && line.contains("memfd:narrows"));
    let range = |line: &str| {
        let (start, end) = line.split_once(' ')?.0.split_once('-')?;
        Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
    };
    own.map(|line| range(line).expect("a range")).collect()
}

/// Flips bits, or writes random words, in this process's regions until it is over.
fn flip(over: &AtomicBool, random: &Random) {
    let memory = File::options().read(true).write(true).open("/proc/self/mem").unwrap();
    let regions = own_regions();
    let (_, from, to) = random.pick(&AREAS);
    let pause = random.pick(&PAUSES);
    while !over.load(Ordering::Relaxed) {
        for (start, end) in &regions {
            let words = (to.min(end - start) - from) / 4;
            let at = start + from + u64::from(random.below(words as u32)) * 4;
            let mut word = [0; 4];
            memory.read_exact_at(&mut word, at).unwrap();
            let old = u32::from_le_bytes(word);
            let new = random.pick(&[old ^ 1 << random.below(32), random.word(), old + 1, 0]);
            memory.write_all_at(&new.to_le_bytes(), at).unwrap();
        }
        let begun = Instant::now();
        let pause = Duration::from_micros(u64::from(random.below(pause + 1)));
        while begun.elapsed() < pause {
            std::thread::yield_now();
        }
    }
}

/// One life after the other: a node that sends, calls and serves while a thread changes its region.
pub fn scribble(role: &Role) {
    let mut node = node(&role.directory, "liar");
    let end = Instant::now() + PATIENCE * rounds() as u32;
    for life in 1.. {
        if Instant::now() > end {
            return;
        }
        let Ok(link) = node.hunt(&name("victim"), Some(PATIENCE / 100)) else { continue };
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| flip(&over, &Random::new(life)));
            live(&mut node, link, Duration::from_millis(4 + life % 16));
            over.store(true, Ordering::Relaxed);
        });
        node.link(link).close();
        role.report(life);
    }
}

fn live(node: &mut Node, link: narrows::link::LinkId, time: Duration) {
    let (begun, to) = (Instant::now(), Address { link, port: LIES });
    let (mut buffer, mut number) = ([0; 4096], 0);
    let mut run = echo;
    while begun.elapsed() < time && node.link(link).check().is_ok() {
        if node.try_send(LIES, to, payload(number, &mut buffer)).is_ok() {
            number += 1;
        }
        let _ =
            node.serve(&mut [Function { name: name("echo"), run: &mut run }], Some(Duration::ZERO));
        let _ = node.try_receive_into(LIES, &mut buffer);
    }
}

/// The link that a platform got.
fn connected(host: &Host) -> Option<Connected<Host>> {
    host.wait(no_words(), Wait::Bell, Some(host.now() + Duration::from_millis(1)));
    match host.event() {
        Some(Ok(Event::Connected(link))) => Some(link),
        _ => None,
    }
}

/// One life after the other: a platform without a stack, which writes what leads furthest astray.
pub fn forge(directory: &Path, over: &AtomicBool, lives: &(dyn Fn(u64) + Sync)) {
    let liar = open(directory, "liar");
    let end = Instant::now() + PATIENCE * rounds() as u32;
    let (mut life, mut waiting) = (0, None);
    while !over.load(Ordering::Relaxed) && Instant::now() < end {
        if waiting.is_none() {
            waiting = liar.hunt(&name("victim")).ok();
        }
        let Some(link) = connected(&liar) else { continue };
        (life, waiting) = (life + 1, None);
        let (random, key, bell) = (Random::new(life), link.key, link.bell);
        let pen: Forger<Region, PeerRegion> =
            Forger::new(random.clone(), layout(), link.own, link.peer);
        let (begun, pause) = (Instant::now(), random.pick(&PAUSES));
        let time = Duration::from_millis(u64::from(1 + random.below(10)));
        // Messages that are made up get further in than words that are out of their places.
        let lies = random.pick(&[Lies::All, Lies::Messages]);
        while begun.elapsed() < time {
            pen.lie(lies);
            if random.one_in(16) {
                liar.ring(&bell);
            }
            let pause = Duration::from_micros(u64::from(random.below(pause + 1)));
            let lied = Instant::now();
            while lied.elapsed() < pause {
                std::thread::yield_now();
            }
        }
        liar.close(key);
        lives(life);
    }
}
