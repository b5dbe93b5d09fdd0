//! Lone packets, packets that share a stage and packets that do not, and order.

use super::*;
use crate::time::Frequency;
use std::cell::RefCell;

fn facts() -> Noc {
    Noc {
        clock: Frequency(500_000_000),
        columns: 4,
        rows: 4,
        flit: 4,
        header: 1,
        packet: 64,
        router: 3,
        link: 1,
        interface: 2,
        queue: 2,
    }
}

/// Where a packet comes from and where it goes to.
type Ends = (Spot, Spot);

/// Runs a network until nothing is in it: when each packet has come, where, and what.
fn run<T>(network: &mut Network<T>) -> Vec<(Time, Spot, T)> {
    let mut all = Vec::new();
    while let Some(now) = network.next() {
        all.extend(network.advance(now, |_, _| ()).into_iter().map(|(to, what)| (now, to, what)));
    }
    all
}

/// When the only packet of a network has come.
fn lone(facts: Noc, now: Time, ends: (Spot, Spot), bytes: usize) -> Time {
    let mut network = Network::new(facts);
    network.inject(now, ends, bytes, (), |_, _| ()).expect("there is a way");
    let all = run(&mut network);
    assert_eq!(all.len(), 1);
    all[0].0
}

#[test]
fn a_lone_packet_takes_what_the_arithmetic_says() {
    // 2 interfaces of 2, 4 routers of 3, 5 stages of 1 for the head, 3 flits behind it, at 2 ns.
    let time = lone(facts(), Time::ZERO, ((0, 0), (1, 2)), 12);
    assert_eq!(time, Time::nanos(2 * (4 + 12 + 5 + 3)));
    for (flit, header, router, link, interface) in
        [(4, 1, 3, 1, 2), (8, 2, 1, 2, 0), (1, 1, 0, 1, 9), (16, 1, 5, 3, 1)]
    {
        let facts = Noc { flit, header, router, link, interface, ..facts() };
        for (to, links) in [((1, 0), 1), ((0, 3), 3), ((3, 3), 6)] {
            for bytes in [0, 1, 4, 5, 64] {
                let flits = u64::from(header) + (bytes as u64).div_ceil(u64::from(flit));
                let expected = facts.clock.cycles(alone(&facts, links, flits));
                assert_eq!(lone(facts, Time::ZERO, ((0, 0), to), bytes), expected, "{bytes}");
            }
        }
    }
}

#[test]
fn a_packet_of_a_slower_clock_waits_for_the_next_edge_of_the_networks() {
    let ends = ((0, 0), (1, 0));
    let first = lone(facts(), Time::ZERO, ends, 4);
    assert_eq!(lone(facts(), Time::nanos(5), ends, 4), first + Time::nanos(6));
    assert_eq!(lone(facts(), Time::nanos(10), ends, 4), first + Time::nanos(10));
    // A clock whose cycle is no whole number of picoseconds.
    let facts = Noc { clock: Frequency(300_000_000), ..facts() };
    let network: Network<()> = Network::new(facts);
    for cycle in [0, 1, 2, 3, 1000, 1_000_000_007] {
        assert_eq!(network.edge(network.begins(cycle)), cycle);
        assert_eq!(network.edge(network.begins(cycle) + Time(1)), cycle + 1);
    }
}

/// When both of two packets of 64 bytes that start at once have come, and how long one takes.
fn two(one: (Spot, Spot), other: (Spot, Spot)) -> [Time; 2] {
    let mut network = Network::new(facts());
    for (number, ends) in [one, other].into_iter().enumerate() {
        network.inject(Time::ZERO, ends, 64, number, |_, _| ()).expect("there is a way");
    }
    let mut all = run(&mut network);
    all.sort_by_key(|(_, _, number)| *number);
    [all[0].0, all[1].0]
}

#[test]
fn of_two_that_share_a_link_the_second_waits_and_of_two_that_do_not_neither_does() {
    let alone = |ends| lone(facts(), Time::ZERO, ends, 64);
    let held = Time::nanos(2 * 17);
    // (1, 0) to (2, 0) is on both ways; the second packet's head is there first.
    let ends = [((0, 0), (3, 0)), ((1, 0), (2, 1))];
    let [first, second] = two(ends[0], ends[1]);
    assert_eq!(second, alone(ends[1]));
    let hop = Time::nanos(2 * 4);
    assert_eq!(first, alone(ends[0]) + held - hop, "it asked a hop later");
    // Both ask the same interface at the end for its way out at once: the older goes first.
    let ends = [((0, 1), (1, 1)), ((2, 1), (1, 1))];
    assert_eq!(two(ends[0], ends[1]), [alone(ends[0]), alone(ends[1]) + held]);
    // The same interface's way in.
    let ends = [((0, 0), (1, 0)), ((0, 0), (0, 1))];
    assert_eq!(two(ends[0], ends[1]), [alone(ends[0]), alone(ends[1]) + held]);
    // The two directions of a link are two, and so are ways that cross in a router.
    for ends in [
        [((0, 0), (1, 0)), ((1, 0), (0, 0))],
        [((0, 1), (2, 1)), ((1, 0), (1, 2))],
        [((0, 0), (1, 0)), ((2, 0), (3, 0))],
    ] {
        assert_eq!(two(ends[0], ends[1]), ends.map(alone), "{ends:?}");
    }
}

#[test]
fn a_packet_that_comes_later_but_is_nearer_has_the_link_first() {
    let mut network = Network::new(facts());
    let far = ((0, 0), (3, 1));
    let near = ((3, 0), (3, 1));
    network.inject(Time::ZERO, far, 64, "far", |_, _| ()).expect("there is a way");
    network.advance(Time::nanos(6), |_, _| ());
    network.inject(Time::nanos(6), near, 4, "near", |_, _| ()).expect("there is a way");
    let all = run(&mut network);
    let expected = [
        (lone(facts(), Time::nanos(6), near, 4), (3, 1), "near"),
        (lone(facts(), Time::ZERO, far, 64), (3, 1), "far"),
    ];
    assert_eq!(all, expected, "neither meets the other");
}

#[test]
fn packets_of_one_source_and_one_target_come_in_order_whatever_else_is_sent() {
    let mut state = 7_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    for round in 0..50 {
        let mut network = Network::new(facts());
        let mut now = Time::ZERO;
        let mut sent: HashMap<Ends, u32> = HashMap::new();
        let mut come: HashMap<Ends, u32> = HashMap::new();
        let held: RefCell<HashMap<Stage, Vec<[Time; 2]>>> = RefCell::default();
        let hold = |stage, times| held.borrow_mut().entry(stage).or_default().push(times);
        let mut check = |all: Vec<(Spot, (Ends, u32))>| {
            for (to, (ends, number)) in all {
                assert_eq!(to, ends.1, "round {round}");
                let next = come.entry(ends).or_default();
                assert_eq!(number, *next, "round {round}: {ends:?}");
                *next += 1;
            }
        };
        for _ in 0..400 {
            let [a, b, c, d] = [(); 4].map(|()| draw(3) as u32);
            let ends = ((a, b), (c, d));
            let number = sent.get(&ends).copied().unwrap_or(0);
            match network.inject(now, ends, draw(65) as usize, (ends, number), hold) {
                Ok(()) => drop(sent.insert(ends, number + 1)),
                Err(NoRoute) => assert_eq!(ends.0, ends.1),
            }
            now += Time::nanos(draw(20));
            check(network.advance(now, hold));
        }
        while let Some(next) = network.next() {
            check(network.advance(next, hold));
        }
        assert_eq!(sent, come, "round {round}: none is lost and none comes twice");
        for (stage, times) in held.take() {
            let one_by_one = times.windows(2).all(|two| two[0][1] <= two[1][0]);
            assert!(one_by_one, "round {round}: two packets have {stage} at once");
        }
    }
}

#[test]
fn an_interface_that_holds_as_many_packets_as_it_can_takes_the_next_when_one_is_gone() {
    let mut network = Network::new(facts());
    let (from, to) = ((0, 0), (1, 0));
    assert_eq!(network.room(from, Time::ZERO), Time::ZERO);
    for _ in 0..2 {
        network.inject(Time::ZERO, (from, to), 64, (), |_, _| ()).expect("there is a way");
    }
    let first = Time::nanos(2 * (2 + 17));
    assert_eq!(network.room(from, Time::ZERO), first);
    assert_eq!(network.room(to, Time::ZERO), Time::ZERO, "each interface has its own");
    assert_eq!(network.room(from, first), first, "there is room from then on");
    network.inject(first, (from, to), 64, (), |_, _| ()).expect("there is a way");
    assert_eq!(network.room(from, first), first + Time::nanos(2 * 17));
}

#[test]
fn nothing_happens_before_its_time() {
    let mut network = Network::new(facts());
    network.inject(Time::ZERO, ((0, 0), (2, 1)), 8, (), |_, _| ()).expect("there is a way");
    while let Some(next) = network.next() {
        assert!(network.advance(next - Time(1), |_, _| ()).is_empty());
        assert_eq!(network.next(), Some(next));
        network.advance(next, |_, _| ());
    }
}

#[test]
fn headers_and_padding_are_counted_as_sent() {
    let mut network = Network::new(Noc { flit: 8, header: 2, ..facts() });
    network.inject(Time::ZERO, ((0, 0), (1, 0)), 9, (), |_, _| ()).expect("there is a way");
    assert_eq!(network.bytes(), (2 + 2) * 8);
    assert_eq!(network.inject(Time::ZERO, ((0, 0), (9, 0)), 9, (), |_, _| ()), Err(NoRoute));
    assert_eq!(network.bytes(), 32, "what is refused is not sent");
}
