//! Plans on shipped platforms, by the model with what short simulations measure.

use super::*;

fn audio(name: &str) -> Subject {
    let flow = narrows_tune::model::Flow {
        period: Some(std::time::Duration::from_millis(20)),
        request: 320,
        response: 160,
        work: std::time::Duration::from_millis(2),
        deadline: Some(std::time::Duration::from_millis(60)),
        burst: 1,
        depth: 1,
        ..Default::default()
    };
    let named = ["copy_lazy/interrupt/internal", "copy_lazy/interrupt/external"];
    let polled = ["copy_lazy/poll=20ms/internal", "copy_lazy/poll=20ms/external"];
    let all = named.into_iter().chain(polled);
    let strategies = all.map(|text| text.parse().unwrap()).collect();
    Subject { name: name.to_owned(), flow, strategies }
}

fn made_up(memory: u32) -> Machine {
    let access = |rate| narrows_tune::model::Access { write: rate, read: rate, block: 0.0 };
    let side = narrows_tune::model::Side {
        request: 0.5e-3,
        interrupt: 76e-6,
        poll: 2e-6,
        internal: access(7e-9),
        external: access(0.12e-6),
        ..Default::default()
    };
    let costs = Parameters { caller: side, callee: side, ..Parameters::default() }.costs().unwrap();
    Machine { costs, dsps: 1, memory, load: 1_000_000, longest: [4096, 65536], engine: false }
}

#[test]
fn flows_share_the_memory_there_is() {
    let subjects = [audio("a"), audio("b"), audio("c")];
    // Polled once a period, each needs two buffers of both messages.
    let machine = made_up(2 * 960 + 100);
    let planner = Planner::new(&machine, &subjects, Least::Load).unwrap();
    let plan = planner.plan().unwrap();
    assert!(plan.found.proven());
    let internal = |plan: &Plan| {
        let inside = |one: &&plan::Given| one.way.strategy.placement == Placement::Internal;
        plan.given.iter().filter(inside).count()
    };
    assert_eq!((internal(&plan), plan.memory(0)), (2, 1920));
    for one in &plan.given {
        assert!(one.beside > 0 && one.bound() <= 60_000_000_000, "{one:?}");
    }
    // All alike none can, so that costs more; and with room for all it costs less.
    let alike = Limits { memory: machine.memory, alike: true, free: None };
    assert!(planner.plan_with(&alike).unwrap().load() > plan.load());
    let binds = binds(&planner, &plan);
    assert_eq!(binds.iter().map(|one| one.limit).collect::<Vec<_>>(), ["memory"]);
    let front = planner.front();
    assert!(front.len() >= 4, "{front:?}");
    let falls = |pair: &[(u64, u64)]| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1;
    assert!(front.windows(2).all(falls), "{front:?}");
    assert!(front.contains(&(1920, plan.load())), "{front:?}");
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
    assert!(said.contains("cannot be planned together") && said.contains("% of a DSP"), "{said}");
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
fn latency_is_least_where_that_is_asked_for() {
    let subjects = [audio("a"), audio("b")];
    let machine = made_up(4096);
    let of = |least| Planner::new(&machine, &subjects, least).unwrap().plan().unwrap();
    let sum = |plan: &Plan| plan.given.iter().map(plan::Given::bound).sum::<u64>();
    let (load, latency) = (of(Least::Load), of(Least::Latency));
    assert!(sum(&latency) < sum(&load) && latency.load() > load.load());
}

#[test]
fn a_chip_is_measured_as_its_file_says() {
    let chip = platform::load("davinci").unwrap();
    let workload = workload::parse(
        std::path::Path::new("w.toml"),
        "[[flow]]\nname = \"a\"\nfunction = \"echo\"\nrequest = 64\nperiod = \"20ms\"\n",
    )
    .unwrap();
    let (parameters, engine) = measured(&Global::default(), Some(&chip), &workload).unwrap();
    assert!(engine);
    let near = |ours: f64, theirs: f64| (ours / theirs - 1.0).abs() < 0.03;
    // S0 section 3.6: 121.7 and 121.3 ns for a byte out and in; by S0.internal-copy.8192 6 % of it.
    let Parameters { caller, .. } = parameters;
    assert!(near(caller.external.write, 121.7172e-9), "{parameters:?}");
    assert!(near(caller.external.read, 121.2601e-9), "{parameters:?}");
    assert!(near(caller.internal.write, 0.06 * 121.7172e-9), "{parameters:?}");
    // S1: 76.3 µs for an interrupt; the stack finds some of that again at the end of a poll.
    assert!((caller.interrupt - 76.3e-6).abs() < 8e-6, "{parameters:?}");
    // The rest of A, B, D and E at 128 bytes, less the copies.
    assert!((caller.request - 430e-6).abs() < 30e-6, "{parameters:?}");
}
