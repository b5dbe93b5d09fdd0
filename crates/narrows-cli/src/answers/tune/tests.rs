//! Plans on shipped platforms, by the model with what short simulations measure.

use super::*;
use crate::rig::costs;
use crate::rig::plan::Given;
use narrows::strategy::Placement;
use narrows_tune::model::{Access, Idle, Parameters, Pool};
use std::path::Path;

fn audio(name: &str) -> Subject {
    let flow = narrows_tune::model::Flow {
        period: Some(std::time::Duration::from_millis(20)),
        request: 320,
        response: 160,
        work: std::time::Duration::from_millis(2),
        deadline: Some(std::time::Duration::from_millis(60)),
        burst: 1,
        depth: 3,
        ..Default::default()
    };
    let named = ["copy_lazy/interrupt/internal", "copy_lazy/interrupt/external"];
    let polled = ["copy_lazy/poll=20ms/internal", "copy_lazy/poll=20ms/external"];
    let all = named.into_iter().chain(polled);
    let strategies = all.map(|text| text.parse().unwrap()).collect();
    Subject { name: name.to_owned(), flow, strategies }
}

fn made_up(memory: u32) -> Machine {
    let access = |rate| Pool::even(Access { write: rate, read: rate, block: 0.0 });
    let side = narrows_tune::model::Side {
        request: 0.5e-3,
        interrupt: 76e-6,
        poll: 2e-6,
        internal: access(7e-9),
        external: access(0.12e-6),
        ..Default::default()
    };
    let costs = Parameters { caller: side, callee: side, ..Parameters::default() }.costs().unwrap();
    Machine {
        costs,
        dsps: 1,
        memory,
        load: 1_000_000,
        longest: [4096, 65536],
        engine: false,
        classes: Vec::new(),
    }
}

#[test]
fn flows_share_the_memory_there_is() {
    let subjects = [audio("a"), audio("b"), audio("c")];
    // Each needs three buffers of both messages.
    let machine = made_up(2 * 1440 + 100);
    let planner = Planner::new(&machine, &subjects, Least::Load).unwrap();
    let plan = planner.plan().unwrap();
    assert!(plan.found.proven());
    let internal = |plan: &Plan| {
        let inside = |one: &&Given| one.way.strategy.placement == Placement::Internal;
        plan.given.iter().filter(inside).count()
    };
    assert_eq!((internal(&plan), plan.memory(0)), (2, 2880));
    for one in &plan.given {
        assert!(one.beside > 0 && one.bound() <= 60_000_000_000, "{one:?}");
    }
    // All alike none can, so that costs more; and with room for all it costs less.
    let alike = Limits { memory: machine.memory, alike: true, ..Limits::default() };
    assert!(planner.plan_with(&alike).unwrap().load() > plan.load());
    let binds = binds(&planner, &plan);
    assert_eq!(binds.iter().map(|one| one.limit).collect::<Vec<_>>(), ["memory"]);
    let front = planner.front();
    assert!(front.len() >= 4, "{front:?}");
    let falls = |pair: &[(u64, u64)]| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1;
    assert!(front.windows(2).all(falls), "{front:?}");
    assert!(front.contains(&(2880, plan.load())), "{front:?}");
    let next = planner.next(&plan, 0).unwrap();
    assert!(next.estimate.load >= plan.given[0].way.estimate.load);
}

#[test]
fn what_cannot_be_is_said_with_the_flow_and_by_how_much() {
    let mut late = audio("late");
    late.flow.deadline = Some(std::time::Duration::from_millis(2));
    let machine = made_up(4096);
    let subjects = [audio("a"), late];
    let why = Planner::new(&machine, &subjects, Least::Load).unwrap().plan().unwrap_err();
    let said = refused(&subjects, &why).to_string();
    assert!(said.contains("flow late cannot keep its deadline"), "{said}");
    let subjects = vec![audio("a"); 12];
    let why = Planner::new(&machine, &subjects, Least::Load).unwrap().plan().unwrap_err();
    let said = refused(&subjects, &why).to_string();
    assert!(
        said.contains("cannot be planned together") && said.contains("% more of a DSP's time"),
        "{said}"
    );
    let two = Machine { dsps: 2, ..machine.clone() };
    let free: Vec<Subject> = subjects
        .iter()
        .map(|one| Subject {
            flow: narrows_tune::model::Flow { deadline: None, ..one.flow },
            ..one.clone()
        })
        .collect();
    let plan = Planner::new(&two, &free, Least::Load).unwrap().plan().unwrap();
    assert!(plan.given.iter().any(|one| one.dsp == 1));
    let mut long = audio("long");
    long.flow.request = 1 << 20;
    let why = Planner::new(&machine, &[long], Least::Load).err();
    assert!(matches!(why, Some(NoPlan::Impossible(0, _))), "{why:?}");
}

#[test]
fn who_cannot_keep_the_pace_is_not_planned() {
    let machine = made_up(4096);
    let mut slow = audio("slow");
    (slow.flow.deadline, slow.flow.depth) = (None, 1);
    slow.strategies = vec!["copy_lazy/poll=20ms/external".parse().unwrap()];
    let subjects = [slow.clone()];
    let why = Planner::new(&machine, &subjects, Least::Load).unwrap().plan().unwrap_err();
    let said = refused(&subjects, &why).to_string();
    assert!(
        matches!(why, NoPlan::Behind { flow: 0, .. }) && said.contains("falls behind"),
        "{said}"
    );
    slow.flow.depth = 3;
    assert!(Planner::new(&machine, &[slow], Least::Load).unwrap().plan().is_ok());
}

#[test]
fn who_has_a_deadline_may_fall_behind_for_as_long_as_that_allows() {
    let machine = made_up(0);
    let by = vec!["copy_lazy/interrupt/external".parse().unwrap()];
    let mut quick = audio("quick");
    (quick.flow.depth, quick.strategies) = (1, by);
    let flow = narrows_tune::model::Flow {
        period: Some(std::time::Duration::from_millis(100)),
        work: std::time::Duration::from_millis(30),
        deadline: None,
        ..quick.flow
    };
    let long = Subject { name: "long".into(), flow, ..quick.clone() };
    let plan = |quick: &Subject| {
        let subjects = [quick.clone(), long.clone()];
        let planner = Planner::new(&machine, &subjects, Least::Load).unwrap();
        planner.plan().map(|plan| plan.given[0].bound())
    };
    // The first waits for the long one, the second for the first, and so on until that is caught up
    // with.
    let bound = plan(&quick).unwrap();
    assert!((33_000_000_000..45_000_000_000).contains(&bound), "{bound}");
    quick.flow.deadline = Some(std::time::Duration::from_millis(30));
    assert!(matches!(plan(&quick), Err(NoPlan::Late { flow: 0, .. })));
    quick.flow.deadline = None;
    assert!(matches!(plan(&quick), Err(NoPlan::Behind { flow: 0, .. })));
    // It never catches up with what takes all the time.
    quick.flow.deadline = Some(std::time::Duration::from_secs(10));
    quick.flow.work = std::time::Duration::from_millis(18);
    assert!(plan(&quick).is_err());
}

#[test]
fn a_plan_has_no_more_buffers_than_there_are_blocks() {
    let class = |placement, size, count| narrows::memory::Class { placement, size, count };
    let inside = class(Placement::Internal, 512, 4);
    let outside = class(Placement::External, 512, 16);
    let mut machine = made_up(2 * 4 * 512);
    let subjects = [audio("a"), audio("b")];
    let planned = |machine: &Machine| Planner::new(machine, &subjects, Least::Load).unwrap().plan();
    let internal = |plan: &Plan| {
        plan.given.iter().filter(|one| one.way.strategy.placement == Placement::Internal).count()
    };
    assert_eq!(internal(&planned(&machine).unwrap()), 2);
    // By bytes both fit; of four blocks each takes three.
    machine.classes = vec![inside, outside];
    assert_eq!(internal(&planned(&machine).unwrap()), 1);
    machine.classes = vec![inside];
    assert_eq!(planned(&machine).unwrap_err(), NoPlan::Blocks);
}

#[test]
fn where_blocks_are_few_flows_travel_in_ways_that_need_fewer() {
    let mut machine = made_up(0);
    let mut subjects = [audio("a"), audio("b")];
    for subject in &mut subjects {
        subject.flow.depth = 1;
        subject.flow.period = Some(std::time::Duration::from_millis(100));
    }
    let planned = |machine: &Machine| {
        let plan = Planner::new(machine, &subjects, Least::Load).unwrap().plan()?;
        Ok(plan.given.iter().map(|one| one.way.estimate.buffers).collect::<Vec<_>>())
    };
    let outside =
        |count| vec![narrows::memory::Class { placement: Placement::External, size: 512, count }];
    machine.classes = outside(4);
    assert_eq!(planned(&machine), Ok(vec![2, 2]), "looked for");
    machine.classes = outside(3);
    assert_eq!(planned(&machine), Ok(vec![2, 1]), "one is told by interrupt");
    let planner = Planner::new(&machine, &subjects, Least::Load).unwrap();
    let plan = planner.plan().unwrap();
    let [bind] = &binds(&planner, &plan)[..] else { panic!("blocks bind alone") };
    assert!(bind.limit == "blocks" && bind.without < plan.load() as f64 / PERCENT, "{bind:?}");
    machine.classes = outside(2);
    assert_eq!(planned(&machine), Ok(vec![1, 1]), "both are");
    machine.classes = outside(1);
    assert_eq!(planned(&machine), Err(NoPlan::Blocks));
}

/// Flows whose deadlines others may break, of which there are two of each kind.
fn tight(random: &mut fastrand::Rng) -> Vec<Subject> {
    let mut subjects = Vec::new();
    for kind in 0..random.usize(1..=3) {
        let mut one = audio(["a", "b", "c"][kind]);
        let period = random.u64(10..80);
        let millis = |count| Some(std::time::Duration::from_millis(count));
        one.flow.period = millis(period);
        one.flow.deadline = millis(random.u64(period / 2..2 * period + 40));
        one.flow.work = millis(random.u64(1..6)).unwrap();
        one.flow.request = random.u32(100..2000);
        one.flow.depth = random.u16(1..=3);
        subjects.extend([one.clone(), one]);
    }
    subjects
}

#[test]
fn more_memory_or_time_never_makes_a_plan_dearer() {
    let mut random = fastrand::Rng::with_seed(1);
    let (mut planned, mut cheaper) = (0, 0);
    for round in 0..150 {
        let subjects = tight(&mut random);
        let mut machine = made_up(random.u32(0..12_000));
        machine.load = random.u64(60_000..400_000);
        if random.bool() {
            let class = |placement, size, count| narrows::memory::Class { placement, size, count };
            let [inside, outside] = [random.u32(1..8), random.u32(2..20)];
            machine.classes = vec![
                class(Placement::Internal, 2048, inside),
                class(Placement::External, 512, outside),
                class(Placement::External, 4096, outside),
            ];
        }
        let plan = |machine: &Machine| Planner::new(machine, &subjects, Least::Load)?.plan();
        let Ok(has) = plan(&machine) else { continue };
        planned += 1;
        let mut more = machine.clone();
        match round % 3 {
            0 => more.memory += random.u32(1..6000),
            1 => more.load += random.u64(1..200_000),
            _ => more.classes.iter_mut().for_each(|class| class.count += 1),
        }
        let with = plan(&more).unwrap_or_else(|why| panic!("round {round}: {why:?}"));
        assert!(with.load() <= has.load(), "round {round}: {has:?} {with:?}");
        cheaper += usize::from(with.load() < has.load());
        // The front has a point for every memory, and each is what is planned with that memory.
        let planner = Planner::new(&machine, &subjects, Least::Load).unwrap();
        let front = planner.front();
        let falls = |pair: &[(u64, u64)]| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1;
        assert!(front.windows(2).all(falls), "round {round}: {front:?}");
        let fits = front.iter().rev().find(|(bytes, _)| *bytes <= machine.memory.into());
        assert_eq!(fits.map(|(_, load)| *load), Some(has.load()), "round {round}: {front:?}");
    }
    assert!(planned > 60 && cheaper > 10, "{planned} {cheaper}");
}

/// A byte more than the chip has: then blocks are not counted, and nothing else is less.
#[test]
fn a_byte_more_makes_no_plan_dearer_on_a_chip_whose_flows_have_deadlines() {
    let chip = platform::load("davinci").unwrap();
    let global = Global::default();
    let workload = workload::read(Path::new("workloads/gateway.toml"));
    let workload = workload.unwrap();
    let cores = sim::cores(&global, &chip).unwrap();
    let subjects = subjects::subjects(&workload, Some((&chip, cores.callee)), &[], false).unwrap();
    let measured = measured(&global, Some(&chip), longest(&workload)).unwrap();
    let mut before: Option<u64> = None;
    for memory in [0, 1024, 4096, 8192, 16383, 16384, 16385, 65536] {
        let machine = measured.within(Some(memory), 1, 1_000_000).unwrap();
        let plan = Planner::new(&machine, &subjects, Least::Load).unwrap().plan().unwrap();
        assert!(plan.found.proven(), "{memory}: {:?}", plan.found);
        assert!(before.is_none_or(|before| plan.load() <= before), "{memory}: {plan:?}");
        before = Some(plan.load());
    }
}

#[test]
fn without_a_period_a_flow_takes_what_is_left() {
    let machine = made_up(4096);
    let mut greedy = audio("greedy");
    (greedy.flow.period, greedy.flow.deadline, greedy.flow.depth) = (None, None, 1);
    let alone = [audio("a")];
    let both = [audio("a"), greedy];
    let planner = Planner::new(&machine, &both, Least::Load).unwrap();
    let plan = planner.plan().unwrap();
    let before = Planner::new(&machine, &alone, Least::Load).unwrap().plan().unwrap();
    assert_eq!(plan.load(), before.load());
    // It delays the other: by two turns of the calling core, and one of the DSP.
    let [a, b] = &plan.given[..] else { panic!() };
    let Given { way, .. } = b;
    assert_eq!(a.beside, 2 * way.estimate.blocks + way.estimate.serves);
    // Of its ways it has the one that takes least for a call.
    assert!(planner.next(&plan, 1).unwrap().cost >= way.cost && way.cost <= 1_000_000);
    assert!(flow_row(&planner, &plan, 1, None).calls_per_second.unwrap() > 0.0);
}

#[test]
fn latency_is_least_where_that_is_asked_for() {
    let subjects = [audio("a"), audio("b")];
    let machine = made_up(4096);
    let of = |least| Planner::new(&machine, &subjects, least).unwrap().plan().unwrap();
    let sum = |plan: &Plan| plan.given.iter().map(Given::bound).sum::<u64>();
    let (load, latency) = (of(Least::Load), of(Least::Latency));
    assert!(sum(&latency) < sum(&load) && latency.load() > load.load());
}

#[test]
fn blocks_of_each_length_are_measured() {
    // Blocks of 2 KiB in internal memory all lie on the lines of the private buffer that is copied
    // from and to, in a direct-mapped cache of 2 KiB; shorter ones seldom do.
    let chip = platform::load("nios2-quad").unwrap();
    let measured = costs::machine::measured(&Global::default(), Some(&chip), 64).unwrap();
    for side in [measured.parameters.caller, measured.parameters.callee] {
        let [short, long] = [512, 513].map(|bytes| side.internal.of(bytes));
        assert!(long.write + long.read > 1.5 * (short.write + short.read), "{side:?}");
        assert!(long.both(513) > short.both(512), "{side:?}");
    }
}

#[test]
fn a_chip_is_measured_as_its_file_says() {
    let chip = platform::load("davinci").unwrap();
    let measured = costs::machine::measured(&Global::default(), Some(&chip), 64).unwrap();
    let Measured { parameters, engine, .. } = measured;
    assert!(engine);
    let near = |ours: f64, theirs: f64| (ours / theirs - 1.0).abs() < 0.03;
    // S0 section 3.6: 121.7 and 121.3 ns for a byte out and in; by S0.internal-copy.8192 6 % of it.
    let Parameters { caller, callee, .. } = parameters;
    let [internal, external] = [caller.internal, caller.external].map(|blocks| blocks.of(4096));
    assert!(near(external.write, 121.7172e-9), "{parameters:?}");
    assert!(near(external.read, 121.2601e-9), "{parameters:?}");
    assert!(near(internal.write, 0.06 * 121.7172e-9), "{parameters:?}");
    // S1: 76.3 µs for an interrupt; the stack finds some of that again at the end of a poll.
    assert!((caller.interrupt - 76.3e-6).abs() < 8e-6, "{parameters:?}");
    // The rest of A, B, D and E at 128 bytes, less the copies.
    assert!((caller.request - 430e-6).abs() < 30e-6, "{parameters:?}");
    // A timer ends with its service and a switch: 5.1 and 36 µs.
    assert!((caller.timer - 41.1e-6).abs() < 5e-6, "{parameters:?}");
    assert!((parameters.rested - 41.1e-6).abs() < 5e-6, "{parameters:?}");
    // The DSP's interrupt and its ticks are few hundred cycles of 594 MHz.
    assert!(callee.interrupt < 10e-6 && callee.poll < 10e-6, "{parameters:?}");
}

/// On a chip nothing else runs meanwhile, so what is found there is what the model lacks.
#[test]
fn what_calls_take_more_after_a_sleep_is_what_the_model_has_not() {
    let (global, chip) = (Global::default(), platform::load("nios2-dual").unwrap());
    let on = Some((&chip, sim::cores(&global, &chip).unwrap()));
    let needs = sim::Needs { longest: costs::LONG, ..sim::Needs::default() };
    let found = sim::run(&global, &chip, &needs, |mut peer| {
        let mut made = Measured::by(&mut peer, on)?.parameters;
        assert_eq!(made.idle, Idle::default(), "chips are not asked");
        made.seldom = 0.0;
        let mut lacking = made;
        lacking.caller.request -= 200e-6;
        costs::idle(&mut peer, 1, &mut made)?;
        costs::idle(&mut peer, 1, &mut lacking)?;
        Ok([made.idle, lacking.idle])
    });
    for (idle, more) in found.unwrap().into_iter().zip([0.0, 200e-6]) {
        for part in [idle.interrupt, idle.poll, idle.coalesced] {
            assert!((part - more).abs() < 10e-6, "{more}: {idle:?}");
        }
        // The model's bound has some room.
        assert_eq!(idle.late > 0.0, more > 0.0, "{idle:?}");
        assert!(idle.late <= more, "{idle:?}");
    }
}
