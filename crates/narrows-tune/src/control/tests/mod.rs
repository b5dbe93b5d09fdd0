mod any;
mod dsps;
mod missed;
mod reserve;
mod together;

use super::*;
use crate::model::{Access, Parameters, Pool, Side, WHOLE};
use crate::optimise::{GroupState, HullStep, KeptChoice, SearchFrame, Timing, Unsolved};

const FLOWS: usize = 10;
const CHOICES: usize = 80;
const MS: Duration = Duration::from_millis(1);

/// Storage for some flows.
struct Rooms<'s> {
    flows: Vec<Option<FlowState<'s>>>,
    planned: Vec<Planned>,
    groups: Vec<Group>,
    members: Vec<u16>,
    choices: Vec<Choice>,
    timings: Vec<Timing>,
    numbers: Vec<u16>,
    picks: Vec<Pick>,
    streams: Vec<Stream>,
    state: Vec<GroupState>,
    kept: Vec<KeptChoice>,
    steps: Vec<HullStep>,
    frames: Vec<SearchFrame>,
    trial: Vec<Pick>,
}

impl<'s> Rooms<'s> {
    fn new() -> Rooms<'s> {
        Rooms {
            flows: vec![None; FLOWS],
            planned: vec![Planned::default(); FLOWS],
            groups: vec![Group::default(); FLOWS],
            members: vec![0; FLOWS],
            choices: vec![Choice::default(); CHOICES],
            timings: vec![Timing::default(); CHOICES],
            numbers: vec![0; CHOICES],
            picks: vec![Pick::default(); FLOWS],
            streams: vec![Stream::default(); FLOWS],
            state: vec![GroupState::default(); FLOWS],
            kept: vec![KeptChoice::default(); CHOICES],
            steps: vec![HullStep::default(); CHOICES],
            frames: vec![SearchFrame::default(); FLOWS],
            trial: vec![Pick::default(); FLOWS],
        }
    }

    fn tables(&mut self) -> Tables<'_, 's> {
        Tables {
            flows: &mut self.flows,
            planned: &mut self.planned,
            groups: &mut self.groups,
            members: &mut self.members,
            choices: &mut self.choices,
            timings: &mut self.timings,
            numbers: &mut self.numbers,
            picks: &mut self.picks,
            streams: &mut self.streams,
            search: Storage {
                groups: &mut self.state,
                kept: &mut self.kept,
                steps: &mut self.steps,
                frames: &mut self.frames,
                trial: &mut self.trial,
            },
        }
    }
}

fn strategies() -> Vec<Strategy> {
    let names = [
        "copy_batched/interrupt/external",
        "copy_batched/poll=10ms/external",
        "copy_batched/interrupt/internal",
        "copy_batched/poll=10ms/internal",
    ];
    names.map(|name| name.parse().unwrap()).into()
}

fn costs() -> Costs {
    let access = |time| Pool::even(Access { write: time, read: time, block: 0.0 });
    let side = |request| Side {
        request,
        interrupt: 76e-6,
        poll: 2e-6,
        internal: access(0.007e-6),
        external: access(0.12e-6),
        ..Side::default()
    };
    let parameters = Parameters { caller: side(430e-6), callee: side(20e-6), ..Default::default() };
    parameters.costs().unwrap()
}

fn audio() -> Flow {
    Flow {
        period: Some(20 * MS),
        request: 320,
        response: 160,
        work: MS,
        deadline: Some(80 * MS),
        burst: 1,
        depth: 1,
        ..Flow::default()
    }
}

fn dsp(memory: u32) -> Dsp {
    Dsp { memory, work: WHOLE }
}

fn controller<'a, 's>(rooms: &'a mut Rooms<'s>, memory: u32) -> Controller<'a, 's> {
    let settings = Settings::default();
    Controller::new(rooms.tables(), costs(), &[dsp(memory)], WHOLE.into(), settings).unwrap()
}

/// Carries out what is to be done, and gives it.
fn carry_out(controller: &mut Controller<'_, '_>, now: Duration) -> Vec<Switch> {
    let mut all = Vec::new();
    while let Some(switch) = controller.next_switch() {
        controller.done(switch.flow, now).unwrap();
        all.push(switch);
    }
    all
}

fn name(strategy: Option<Strategy>) -> String {
    strategy.unwrap().to_string()
}

#[test]
fn a_flow_begins_safely_and_then_has_the_best() {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let mut controller = controller(&mut rooms, 4096);
    let Start { flow, strategy, .. } = controller.arrive(audio(), &all, false).unwrap();
    assert_eq!(strategy, all[0]);
    let made = controller.decide(MS, Cause::Arrived).unwrap();
    assert_eq!((made.reason, made.switches), (Reason::Saves, 1));
    assert!(made.after < made.before);
    let [switch] = carry_out(&mut controller, MS)[..] else { panic!() };
    assert_eq!((switch.flow, switch.from, switch.to), (flow, all[0], all[3]));
    assert_eq!(controller.current_load(), made.after);
    let again = controller.decide(2 * MS, Cause::Learnt).unwrap();
    assert_eq!((again.reason, again.switches), (Reason::Best, 0));
    assert!(controller.bound(flow).unwrap() <= picos(80 * MS));
}

#[test]
fn a_known_flow_begins_with_the_best_that_there_is_room_for() {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let mut controller = controller(&mut rooms, 1500);
    let first = controller.arrive(audio(), &all, true).unwrap();
    let second = controller.arrive(audio(), &all, true).unwrap();
    assert_eq!(first.strategy, all[3]);
    assert_eq!(
        second.strategy, all[1],
        "two in internal memory are too much, and looking is cheap"
    );
}

#[test]
fn what_is_alike_is_not_exchanged() {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let mut controller = controller(&mut rooms, 960);
    let flows: Vec<Handle> =
        (0..3).map(|_| controller.arrive(audio(), &all, true).unwrap().flow).collect();
    for flow in &flows {
        let made = controller.decide(MS, Cause::Arrived).unwrap();
        assert_eq!(made.switches, 0, "{made:?} {}", name(controller.strategy_of(*flow)));
    }
    // The one that has internal memory leaves, and another takes it.
    controller.leave(flows[0]).unwrap();
    let made = controller.decide(2 * MS, Cause::Left).unwrap();
    assert_eq!((made.reason, made.switches), (Reason::Saves, 1));
}

#[test]
fn less_memory_is_kept_to_at_once_and_more_is_used() {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let mut controller = controller(&mut rooms, 4096);
    for _ in 0..3 {
        controller.arrive(audio(), &all, true).unwrap();
    }
    let used = controller.memory(0);
    assert!(used > 1024, "{used}");
    controller.set_dsp(0, dsp(500)).unwrap();
    let made = controller.decide(MS, Cause::Budget).unwrap();
    assert_eq!(made.reason, Reason::Memory);
    let switches = carry_out(&mut controller, MS);
    assert!(switches.iter().all(|one| one.reason.necessary()));
    assert!(controller.memory(0) <= 500);
    controller.set_dsp(0, dsp(4096)).unwrap();
    let early = controller.decide(2 * MS, Cause::Budget).unwrap();
    assert_eq!(early.switches, 0, "they have just switched");
    let later = controller.decide(600 * MS, Cause::Rested).unwrap();
    assert_eq!(later.reason, Reason::Saves);
    carry_out(&mut controller, 600 * MS);
    assert_eq!(controller.memory(0), used);
}

#[test]
fn a_deadline_that_was_missed_takes_what_is_late_away_for_a_while() {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let mut controller = controller(&mut rooms, 4096);
    let flow = controller.arrive(audio(), &all, true).unwrap().flow;
    controller.missed(flow, MS, 85 * MS).unwrap();
    let made = controller.decide(MS, Cause::Missed).unwrap();
    assert_eq!((made.reason, made.switches), (Reason::Deadline, 1));
    carry_out(&mut controller, MS);
    assert!(name(controller.strategy_of(flow)).contains("interrupt"));
    let later = Settings::default().rest * (decide::FORGET + 1);
    assert_eq!(controller.decide(later, Cause::Rested).unwrap().reason, Reason::Saves);
}

#[test]
fn a_miss_that_nothing_helps_against_changes_nothing() {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let mut controller = controller(&mut rooms, 4096);
    let flow = controller.arrive(audio(), &all, true).unwrap().flow;
    let before = controller.strategy_of(flow);
    controller.missed(flow, MS, Duration::from_secs(3)).unwrap();
    assert_eq!(controller.decide(MS, Cause::Missed).unwrap().switches, 0);
    assert_eq!(controller.strategy_of(flow), before);
}

#[test]
fn a_flow_that_was_late_keeps_nobody_out() {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let mut controller = controller(&mut rooms, 4096);
    let flow = controller.arrive(audio(), &all, true).unwrap().flow;
    controller.missed(flow, MS, Duration::from_secs(3)).unwrap();
    let other = controller.arrive(audio(), &all, true).unwrap();
    assert_eq!(controller.strategy_of(other.flow), Some(other.strategy));
    assert_eq!(controller.decide(MS, Cause::Arrived).unwrap().switches, 0);
}

#[test]
fn what_was_refused_is_not_tried_again() {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let mut controller = controller(&mut rooms, 4096);
    let flow = controller.arrive(audio(), &all, false).unwrap().flow;
    let mut tried = Vec::new();
    for step in 1..10 {
        let now = step * Duration::from_secs(1);
        controller.decide(now, Cause::Failed).unwrap();
        let Some(switch) = controller.next_switch() else { break };
        assert!(!tried.contains(&switch.to), "{}", switch.to);
        tried.push(switch.to);
        controller.failed(flow, now, true).unwrap();
        assert_eq!(controller.strategy_of(flow), Some(all[0]));
    }
    assert_eq!(tried.len(), 3);
}

#[test]
fn a_switch_that_came_to_nothing_leaves_what_was_and_is_tried_again_later() {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let mut controller = controller(&mut rooms, 4096);
    let flow = controller.arrive(audio(), &all, false).unwrap().flow;
    let load = controller.current_load();
    controller.decide(MS, Cause::Arrived).unwrap();
    let switch = controller.next_switch().unwrap();
    assert!(controller.current_load() < load, "what it is about to have counts");
    controller.failed(flow, 2 * MS, false).unwrap();
    assert_eq!(controller.strategy_of(flow), Some(all[0]));
    assert_eq!(controller.current_load(), load);
    assert_eq!(controller.failed(flow, 2 * MS, false), Err(ControlError::Unknown));
    assert_eq!(controller.decide(3 * MS, Cause::Failed).unwrap().switches, 0, "it rests");
    controller.decide(600 * MS, Cause::Rested).unwrap();
    assert_eq!(controller.next_switch().map(|again| again.to), Some(switch.to));
}

#[test]
fn a_flow_that_leaves_while_it_switches_holds_nobody_up() {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let mut controller = controller(&mut rooms, 4096);
    let flows = [(); 2].map(|()| controller.arrive(audio(), &all, false).unwrap().flow);
    controller.decide(MS, Cause::Arrived).unwrap();
    let switch = controller.next_switch().unwrap();
    assert_eq!(controller.next_switch(), None, "one at a time");
    controller.leave(switch.flow).unwrap();
    assert_eq!(controller.done(switch.flow, MS), Err(ControlError::Unknown));
    assert_eq!(controller.leave(switch.flow), Err(ControlError::Unknown));
    let other = controller.next_switch().unwrap().flow;
    assert!(flows.contains(&other) && other != switch.flow);
    controller.done(other, MS).unwrap();
    assert_eq!(controller.next_switch(), None);
}

#[test]
fn bad_input_is_refused_and_changes_nothing() {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let no = |rooms: &mut Rooms<'_>, dsps: &[Dsp], load| {
        let made = Controller::new(rooms.tables(), costs(), dsps, load, Settings::default());
        made.map(|_| ()).unwrap_err()
    };
    for (dsps, load) in
        [(vec![], 1), (vec![dsp(1); 9], 1), (vec![dsp(1)], 0), (vec![Dsp::default()], 1)]
    {
        assert_eq!(no(&mut Rooms::new(), &dsps, load), ControlError::Budget);
    }
    let mut controller = controller(&mut rooms, 4096);
    let mut refused = |flow: Flow| controller.arrive(flow, &all, true).unwrap_err();
    let model = ControlError::Model;
    let zero = Some(Duration::ZERO);
    assert_eq!(refused(Flow { period: zero, ..audio() }), model(ModelError::Period));
    assert_eq!(refused(Flow { deadline: zero, ..audio() }), model(ModelError::Deadline));
    assert_eq!(refused(Flow { burst: 0, ..audio() }), model(ModelError::Count));
    let floor = refused(Flow { deadline: Some(MS), ..audio() });
    assert!(matches!(floor, ControlError::Late { .. }), "{floor}");
    let long = refused(Flow { work: 30 * MS, deadline: None, ..audio() });
    assert!(matches!(long, ControlError::Together(Unsolved::Work(_))), "{long}");
    assert_eq!(controller.arrive(audio(), &[], true), Err(ControlError::Strategies));
    assert_eq!(controller.set_load(0), Err(ControlError::Budget));
    assert_eq!(controller.set_dsp(1, dsp(1)), Err(ControlError::Budget));
    assert_eq!(controller.set_dsp(0, Dsp::default()), Err(ControlError::Budget));
    assert_eq!(controller.current_load(), 0);
    let nan = Parameters { wake: f64::NAN, ..Parameters::default() };
    assert_eq!(nan.costs(), Err(ModelError::Parameter));
    let flow = controller.arrive(audio(), &all, true).unwrap().flow;
    assert!(controller.change(flow, Flow { period: zero, ..audio() }).is_err());
    assert_eq!(controller.flow(flow).map(FlowState::flow), Some(&audio()));
    let mut full = 1;
    while controller.arrive(audio(), &all, true).is_ok() {
        full += 1;
    }
    assert_eq!(full, FLOWS);
}

#[test]
fn spans_tell_how_long_a_function_works() {
    let (costs, mut flow) = (costs(), audio());
    let by = strategies()[0];
    let real = estimate(&costs, &flow, &by).unwrap();
    let found = real.turnaround + costs.caller.interrupt + costs.wake;
    let learn = |flow: &Flow| {
        let mut learner = Learner::default();
        let made = estimate(&costs, flow, &by).unwrap();
        for call in 0..15 {
            learner.add(found + call, call);
            assert_eq!(learner.learnt(&costs, &made, flow.work), None);
        }
        learner.add(found + picos(MS), picos(MS));
        learner.learnt(&costs, &made, flow.work)
    };
    assert_eq!(learn(&flow), Some(flow.work));
    flow.work = Duration::ZERO;
    assert_eq!(learn(&flow), Some(MS));
    flow.work = 3 * MS;
    assert_eq!(learn(&flow), Some(MS));
    flow.work = MS + MS / 100;
    assert_eq!(learn(&flow), Some(flow.work), "that is no difference");
}

#[test]
fn a_wait_for_others_is_no_work() {
    let (costs, flow) = (costs(), audio());
    let made = estimate(&costs, &flow, &strategies()[0]).unwrap();
    let own = made.turnaround + costs.caller.interrupt + costs.wake;
    let learn = |away: u64, others: Duration| {
        let mut learner = Learner::default();
        (0..16).for_each(|_| learner.add(away, picos(others)));
        learner.learnt(&costs, &made, flow.work)
    };
    let behind = own + picos(10 * MS);
    assert_eq!(learn(behind, 10 * MS), Some(flow.work));
    assert_eq!(learn(behind, 30 * MS), Some(flow.work), "they began before");
    assert_eq!(learn(behind, 4 * MS), Some(flow.work + 6 * MS), "that is more than they take");
    assert_eq!(learn(own - picos(MS / 2), 10 * MS), Some(flow.work - MS / 2), "it is over before");
}

#[test]
fn costs_that_are_others_are_planned_with() {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let mut controller = controller(&mut rooms, 4096);
    let flow = controller.arrive(audio(), &all, true).unwrap().flow;
    assert_eq!(controller.strategy_of(flow), Some(all[3]));
    let mut slow = *controller.costs();
    slow.caller.poll = 20 * slow.caller.interrupt;
    controller.set_costs(slow);
    let made = controller.decide(MS, Cause::Learnt).unwrap();
    assert_eq!((made.reason, made.switches), (Reason::Saves, 1));
    carry_out(&mut controller, MS);
    assert_eq!(controller.strategy_of(flow), Some(all[2]));
    let late = Flow { deadline: Some(30 * MS), period: Some(10 * MS), ..audio() };
    controller.change(flow, late).unwrap();
    controller.set_costs(costs());
    let made = controller.decide(Duration::from_secs(9), Cause::Changed).unwrap();
    assert_eq!(made.switches, 0, "looks are too rare for such a deadline: {made:?}");
}

/// One strategy for all flows of each kind, the best that holds for all of them together and could
/// be switched to; the loads of a flow of each.
fn fixed(kinds: &[Flow], each: u64, memory: u32, all: &[Strategy]) -> Option<Vec<u64>> {
    let made = |kind: usize, by: &Strategy| estimate(&costs(), &kinds[kind], by).unwrap();
    let mut best: Option<(u64, Vec<u64>)> = None;
    for one in all {
        for two in all {
            let made = [made(0, one), made(1, two)];
            let used: u64 = made.iter().map(|one| each * u64::from(one.memory)).sum();
            let others: u64 = made.iter().map(|made| each * (made.blocks + made.callee)).sum();
            let late = made.iter().zip(kinds).zip([one, two]).any(|((made, kind), by)| {
                let look = if by.to_string().contains("poll") { picos(20 * MS) } else { 0 };
                made.latency.bound + look + others > kind.deadline.map_or(u64::MAX, picos)
            });
            let load: u64 = made.iter().map(|one| each * u64::from(one.load)).sum();
            if used <= u64::from(memory)
                && !late
                && best.as_ref().is_none_or(|(least, _)| load < *least)
            {
                best = Some((load, made.map(|one| u64::from(one.load)).into()));
            }
        }
    }
    best.map(|(_, loads)| loads)
}
