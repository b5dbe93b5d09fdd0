//! Every processor sends to every other as fast as it can, over links and pools that are full.

use std::collections::HashMap;

use narrows::mqx::{Limits, SendError};

use super::net::{Net, QUEUE, Random, cases, mesh, ring, row};

/// What was sent and what came.
#[derive(Default)]
struct Account {
    /// The next number of each pair.
    next: HashMap<(u8, u8), u32>,
    /// Numbers that came, by pair, in the order in which they did.
    came: HashMap<(u8, u8), Vec<u32>>,
    sent: u64,
}

impl Account {
    /// Sends one message of a pair. False if there is no room.
    fn send(&mut self, net: &mut Net, (from, to): (u8, u8), bytes: usize) -> Result<(), SendError> {
        let next = self.next.entry((from, to)).or_default();
        let mut text = vec![from; bytes.max(4)];
        text[..4].copy_from_slice(&next.to_le_bytes());
        let message = net.message(from, to, &text).ok_or(SendError::Full)?;
        let sent = net.of(from).send(message);
        match sent {
            Ok(()) => {
                *next += 1;
                self.sent += 1;
            }
            Err(_) => net.of(from).free(message).expect("still the sender's"),
        }
        sent
    }

    /// Receives what has come to a processor.
    fn receive(&mut self, net: &mut Net, to: u8) {
        while let Some(text) = net.text(to) {
            let number = u32::from_le_bytes(text[..4].try_into().expect("at least a number"));
            let from = text.get(4).copied().expect("longer");
            assert!(text[4..].iter().all(|byte| *byte == from), "somebody else's bytes");
            self.came.entry((from, to)).or_default().push(number);
        }
    }

    fn came(&self) -> u64 {
        self.came.values().map(|came| came.len() as u64).sum()
    }

    fn is_each_once(&self) -> bool {
        self.came.values().all(|came| {
            let mut sorted = came.clone();
            sorted.sort_unstable();
            sorted.dedup();
            sorted.len() == came.len()
        })
    }
}

fn pairs(count: u8) -> Vec<(u8, u8)> {
    (1..=count).flat_map(|a| (1..=count).map(move |b| (a, b))).filter(|(a, b)| a != b).collect()
}

/// Fills everything for 2000 turns, then lets it run out. Whatever was sent came, in order.
fn fill(adjacent: &[(u8, u8)], count: u8, limits: Limits, (mtu, room): (usize, usize), seed: u64) {
    let mut net = Net::new(adjacent, limits, (mtu, room));
    let (mut account, mut random) = (Account::default(), Random(seed));
    let mut full = 0;
    for _ in 0..2000 {
        for pair in pairs(count) {
            let bytes = 5 + random.below(200);
            full += usize::from(account.send(&mut net, pair, bytes) == Err(SendError::Full));
        }
        let (wire, side) = (random.below(net.wires.len()), random.below(2));
        net.serve(wire, side).expect("a good neighbour");
        for to in 1..=count {
            account.receive(&mut net, to);
        }
    }
    assert!(full > 200, "it was not full: {full}");
    for _ in 0..100_000 {
        if account.came() == account.sent {
            break;
        }
        let (wire, side) = (random.below(net.wires.len()), random.below(2));
        net.serve(wire, side).expect("a good neighbour");
        (1..=count).for_each(|to| account.receive(&mut net, to));
    }
    assert_eq!((account.came(), net.lost()), (account.sent, 0));
    assert!(account.came.values().all(|came| came.is_sorted()) && account.is_each_once());
    assert_eq!(account.came.len(), pairs(count).len(), "each pair got something through");
}

#[test]
fn full_lines_rings_and_meshes_go_on_and_lose_nothing() {
    for (quota, room) in [(1, 1), (2, 3), (4, 100)] {
        let limits = Limits { processors: 9, quota, outgoing: 8, ..Limits::default() };
        for seed in 0..3 {
            fill(&row(2), 2, limits, (64, room), seed);
            fill(&row(5), 5, limits, (64, room), seed);
            fill(&ring(4), 4, limits, (256, room), seed);
            fill(&ring(6), 6, limits, (64, room), seed);
            fill(&mesh(4), 4, limits, (128, room), seed);
        }
    }
}

#[test]
fn counters_that_have_wrapped_round_count_on() {
    let limits = Limits { processors: 9, quota: 2, hops: 2, outgoing: 4, ..Limits::default() };
    let mut net = Net::new(&row(2), limits, (512, 2));
    for n in 0..70_000_u32 {
        let message = net.message(1, 2, &n.to_le_bytes()).expect("one is free");
        net.of(1).send(message).expect("room");
        for (wire, side) in [(0, 0), (0, 1), (0, 0)] {
            net.serve(wire, side).expect("a good neighbour");
        }
        assert_eq!(net.text(2), Some(n.to_le_bytes().to_vec()));
    }
    assert_eq!(net.lost(), 0);
}

#[test]
fn a_processor_that_receives_nothing_stops_nobody_else() {
    let limits = Limits { processors: 9, quota: 1, delivered: 4, ..Limits::default() };
    let mut net = Net::new(&ring(4), limits, (64, 1));
    let (mut account, mut random) = (Account::default(), Random(1));
    for turn in 0..10_000 {
        for pair in pairs(4) {
            if turn < 5000 {
                let _ = account.send(&mut net, pair, 100);
            }
        }
        let (wire, side) = (random.below(net.wires.len()), random.below(2));
        net.serve(wire, side).expect("a good neighbour");
        [1, 3, 4].into_iter().for_each(|to| account.receive(&mut net, to));
    }
    assert_eq!(net.of(2).counts().delivered, 4);
    assert!(net.of(2).counts().pool_empty > 20);
    for pair in pairs(4).into_iter().filter(|(_, to)| *to != 2) {
        assert_eq!(account.came.get(&pair).map_or(0, Vec::len), account.next[&pair] as usize);
        assert!(account.next[&pair] > 5, "{pair:?} {}", account.next[&pair]);
    }
}

/// Cuts wires and has them mended at random, under load; `most` of them are cut at a time. Returns
/// how many were sent, and how many of these came.
fn tear(adjacent: &[(u8, u8)], count: u8, most: usize, deaths: bool, seed: u64) -> (Net, Account) {
    let limits = Limits { processors: 9, hops: 15, quota: 1, outgoing: 8, ..Limits::default() };
    let mut net = Net::new(adjacent, limits, (64, 4));
    let (mut account, mut random) = (Account::default(), Random(seed));
    let mut lives = vec![1; usize::from(count)];
    for turn in 0..4000 {
        let pair = pairs(count)[random.below(pairs(count).len())];
        let _ = account.send(&mut net, pair, 5 + random.below(100));
        for _ in 0..2 {
            let (wire, side) = (random.below(net.wires.len()), random.below(2));
            net.serve(wire, side).expect("a good neighbour");
        }
        let wire = random.below(net.wires.len());
        let cut = (0..net.wires.len()).filter(|wire| !net.is_up(*wire)).count();
        match random.below(20) {
            0 if cut < most && net.wires[wire].lines.is_some() => net.cut(wire),
            1 | 2 if net.wires[wire].lines.is_none() => net.mend(wire),
            _ => {}
        }
        (1..=count).for_each(|to| account.receive(&mut net, to));
        if deaths && turn % 200 == 199 {
            let place = random.below(usize::from(count));
            let its = |net: &Net, wire: usize| net.wires[wire].ends.iter().any(|e| e.0 == place);
            for wire in 0..net.wires.len() {
                if its(&net, wire) {
                    net.cut(wire);
                }
            }
            lives[place] += 1;
            // What the last life received and could not say so may come to the next.
            account.came.retain(|(_, to), _| usize::from(*to) != place + 1);
            net.nodes[place] = net.born(place as u8 + 1, lives[place]);
        }
    }
    for wire in 0..net.wires.len() {
        if net.wires[wire].lines.is_none() {
            net.mend(wire);
        }
    }
    for _ in 0..100 {
        net.run();
        (1..=count).for_each(|to| account.receive(&mut net, to));
    }
    assert!(account.is_each_once(), "seed {seed}: something came twice");
    (net, account)
}

#[test]
fn with_another_way_left_nothing_is_lost_or_doubled_while_links_come_and_go() {
    let (mut rerouted, mut doubled, mut lost) = (0, 0, 0);
    for seed in 0..cases(10) {
        let (net, account) = tear(&ring(4), 4, 1, false, seed);
        // What is counted as perhaps lost was a copy of what had come another way. A message that
        // meets fifteen cuts, one after the other, has gone round as often as any may.
        let missing = account.sent - account.came();
        assert!(missing <= gone_round(&net), "seed {seed}: {missing} are missing");
        lost += missing;
        assert!(account.sent > 500, "{}", account.sent);
        rerouted += net.nodes.iter().map(|node| node.counts().rerouted).sum::<u64>();
        doubled += net.nodes.iter().map(|node| node.counts().doubled).sum::<u64>();
    }
    println!("{lost} lost by going round too often");
    assert!(lost <= cases(10) / 10_000, "{lost} lost");
    assert!(rerouted > 100 && doubled > 10, "{rerouted} went another way, {doubled} came again");
}

/// Messages that were dropped because they had made as many hops as any may.
fn gone_round(net: &Net) -> u64 {
    net.nodes.iter().map(|node| node.counts().hop_limit).sum()
}

#[test]
fn without_another_way_messages_wait_and_are_lost_only_by_going_round_too_often() {
    let (mut lost, mut waited) = (0, 0);
    for seed in 0..cases(10) {
        let (_, account) = tear(&row(4), 4, 3, false, seed);
        // What is counted as perhaps lost was a copy of what had come another way.
        assert_eq!(account.came(), account.sent, "seed {seed}");
        for adjacent in [ring(4), mesh(4)] {
            let (net, account) = tear(&adjacent, 4, 3, false, seed);
            let missing = account.sent - account.came();
            let round = gone_round(&net);
            assert!(missing <= round, "seed {seed}: {missing} of {round} counted");
            lost += missing;
            waited += net.nodes.iter().map(|node| node.counts().stranded).sum::<u64>();
        }
    }
    println!("{lost} lost by going round too often, {waited} waits for a link");
    assert!(lost <= cases(10).div_ceil(4), "{lost} lost");
    assert!(waited > 100, "{waited}: it was no test");
}

#[test]
fn processors_that_start_anew_get_nothing_twice_in_one_life() {
    for seed in 0..cases(10) {
        let (mut net, account) = tear(&mesh(4), 4, 2, true, seed);
        assert!(account.came() > 20, "{} of {}", account.came(), account.sent);
        for (from, to) in pairs(4) {
            let message = net.message(from, to, b"last").expect("all are free");
            net.of(from).send(message).expect("room");
            net.run();
            assert_eq!(net.text(to), Some(b"last".to_vec()), "to {QUEUE} of {to}");
        }
    }
}
