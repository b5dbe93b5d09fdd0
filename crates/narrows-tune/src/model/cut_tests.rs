//! Requests that are cut: what parts take, and that the optimiser chooses among them as among
//! others.

use super::*;
use crate::optimise::{Blocks, Choice, Deadlines, Dsp, Group, Problem};
use crate::rooms::SearchRooms;
use fastrand::Rng;

const US: u64 = 1_000_000;

/// A machine whose internal memory is quick, drawn; times of a request are up to `request`.
fn machine(random: &mut Rng, request: f64) -> Costs {
    let mut side = || {
        let rate = 1e-9 + random.f64() * 2e-7;
        let access = |rate: f64| Pool::even(Access { write: rate, read: rate, block: 0.0 });
        Side {
            request: random.f64() * request,
            interrupt: random.f64() * 80e-6,
            poll: random.f64() * 5e-6,
            look: random.f64() * 5e-6,
            timer: random.f64() * 50e-6,
            internal: access(rate * 0.1),
            external: access(rate),
            ..Side::default()
        }
    };
    let (caller, callee) = (side(), side());
    let parameters =
        Parameters { caller, callee, wake: random.f64() * 20e-6, ..Parameters::default() };
    parameters.costs().unwrap()
}

fn frame(random: &mut Rng) -> Flow {
    Flow {
        period: Some(Duration::from_micros(random.u64(20_000..200_000))),
        request: random.u32(2_000..40_000),
        response: random.u32(100..10_000),
        work: Duration::from_micros(random.u64(0..5_000)),
        burst: 1,
        depth: 1,
        ..Flow::default()
    }
}

fn of(costs: &Costs, flow: &Flow, by: &str) -> Estimate {
    estimate(costs, flow, &by.parse().unwrap()).unwrap()
}

#[test]
fn parts_take_a_part_of_the_memory_and_requests_of_their_own() {
    let mut random = Rng::with_seed(1);
    for _ in 0..100 {
        let (costs, flow) = (machine(&mut random, 500e-6), frame(&mut random));
        let whole = of(&costs, &flow, "copy/interrupt/internal");
        let turns = of(&costs, &flow, "copy/interrupt/internal/parts=4");
        let two = of(&costs, &flow, "copy/interrupt/internal/parts=4:2");
        let part = flow.request.div_ceil(4) + flow.response.div_ceil(4);
        assert_eq!((turns.buffers, turns.memory, two.memory), (1, part, 2 * part));
        let each = 3 * (costs.caller.request + costs.caller.interrupt);
        let more = 4 * turns.caller - whole.caller;
        assert!(more.abs_diff(each) < US, "{each} {more}");
        assert_eq!(two.load, turns.load);
        // Two under way are back before two one after the other.
        assert!(two.latency.source <= turns.latency.source, "{two:?} {turns:?}");
        assert!(two.latency.bound <= turns.latency.bound, "{two:?} {turns:?}");
        assert!(turns.latency.source <= turns.latency.bound, "{turns:?}");
    }
}

#[test]
fn what_a_function_takes_for_any_request_it_takes_for_each_part() {
    let costs = machine(&mut Rng::with_seed(2), 0.0);
    let flow = |fixed| Flow {
        work: Duration::from_millis(6),
        fixed: Duration::from_millis(fixed),
        ..frame(&mut Rng::with_seed(3))
    };
    let callee = |fixed| of(&costs, &flow(fixed), "copy/interrupt/internal/parts=3").callee;
    assert_eq!(callee(3) - callee(0), 2000 * US);
    let whole = |fixed| of(&costs, &flow(fixed), "copy/interrupt/internal").callee;
    assert_eq!(whole(3), whole(0));
}

/// Whatever the machine and the parts, no request takes longer than the bound, and none is back
/// before as many parts could be.
#[test]
fn requests_in_parts_are_back_within_the_bound() {
    let mut random = Rng::with_seed(4);
    let mut tried = 0;
    for round in 0..300 {
        let (costs, flow) = (machine(&mut random, 300e-6), frame(&mut random));
        let parts = random.u16(2..=12);
        let at_once = random.u16(1..=parts.min(3));
        let how = ["interrupt", "spin", "hybrid=100us", "poll=500us"][random.usize(..4)];
        let by = format!("copy/{how}/internal/parts={parts}:{at_once}");
        let made = of(&costs, &flow, &by);
        let strategy: Strategy = by.parse().unwrap();
        if made.latency.bound > picos(flow.period.unwrap()) {
            continue;
        }
        let one = stream(&costs, &flow, &strategy, Waits::of(&strategy)).unwrap();
        let mut times = [0; 100];
        latencies(&costs, &mut [one], 0, Phases::Random, 1, &mut times).unwrap();
        let longest = times[times.len() - 1];
        assert!(longest <= made.latency.bound, "round {round}, {by}: {longest} {made:?}");
        let side = one.send.max(one.service).max(one.take);
        assert!(times[0] >= u64::from(parts) * side, "round {round}, {by}: {times:?}");
        tried += 1;
    }
    assert!(tried > 100, "{tried}");
}

/// A few flows and what each may travel by, some of it in parts.
fn drawn(random: &mut Rng) -> Vec<Vec<Estimate>> {
    let costs = machine(random, 2e-3);
    let ways = [
        "copy/interrupt/external",
        "copy/poll=5ms/external",
        "copy/interrupt/internal",
        "copy/interrupt/internal/parts=2",
        "copy/interrupt/internal/parts=5",
        "copy/interrupt/internal/parts=5:2",
        "copy/poll=5ms/internal/parts=3:2",
    ];
    let flow = |_| frame(random);
    let flows: Vec<Flow> = (0..3).map(flow).collect();
    flows.iter().map(|flow| ways.map(|by| of(&costs, flow, by)).to_vec()).collect()
}

fn solved(flows: &[Vec<Estimate>], memory: u32) -> (u64, usize) {
    let all = flows.iter().flatten();
    let choices: Vec<Choice> = all
        .map(|made| Choice {
            cost: made.load,
            memory: made.memory,
            work: made.work,
            load: made.load,
        })
        .collect();
    let count = flows[0].len();
    let group = |number: usize| Group {
        first: (number * count) as u32,
        choices: count as u16,
        flows: 1,
        dsp: None,
    };
    let groups: Vec<Group> = (0..flows.len()).map(group).collect();
    let problem = Problem {
        groups: &groups,
        choices: &choices,
        dsps: &[Dsp { memory, work: u32::MAX }],
        load: u64::MAX,
        blocks: Blocks::default(),
        deadlines: Deadlines::default(),
    };
    let mut rooms = SearchRooms::default();
    rooms.fit(&problem);
    let found = rooms.solve(&problem, u32::MAX).unwrap();
    assert!(found.proven());
    let cut = rooms.picks.iter().filter(|pick| pick.choice >= 3).count();
    (found.cost, cut)
}

#[test]
fn plans_with_parts_are_the_least_and_more_memory_never_costs_more() {
    let mut random = Rng::with_seed(5);
    let mut chosen = 0;
    for round in 0..150 {
        let flows = drawn(&mut random);
        let mut before = u64::MAX;
        for memory in [0, 2_000, 5_000, 12_000, 30_000, u32::MAX] {
            let (cost, cut) = solved(&flows, memory);
            let mut best = u64::MAX;
            for a in &flows[0] {
                for b in &flows[1] {
                    for c in &flows[2] {
                        let all = [a, b, c];
                        let taken: u64 = all.iter().map(|one| u64::from(one.memory)).sum();
                        if taken <= u64::from(memory) {
                            best = best.min(all.iter().map(|one| u64::from(one.load)).sum());
                        }
                    }
                }
            }
            assert_eq!(cost, best, "round {round}, {memory} bytes");
            assert!(cost <= before, "round {round}, {memory} bytes: {cost} {before}");
            before = cost;
            chosen += cut;
        }
    }
    assert!(chosen > 100, "{chosen}");
}
