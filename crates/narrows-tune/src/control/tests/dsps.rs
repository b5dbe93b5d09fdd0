//! Several DSPs.

use super::*;

/// The gateway of S1 twice as large: four sessions of audio and four of video, two DSPs of 32 KiB.
#[test]
fn four_of_each_on_two_dsps_take_no_more_than_by_one_strategy_for_each_kind() {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let (dsps, settings) = ([dsp(32 << 10), dsp(32 << 10)], Settings::default());
    let mut controller =
        Controller::new(rooms.tables(), costs(), &dsps, WHOLE.into(), settings).unwrap();
    let video = Flow {
        period: Some(100 * MS),
        request: 18_432,
        response: 800,
        deadline: Some(300 * MS),
        ..audio()
    };
    for step in 1..=4 {
        for flow in [audio(), video] {
            controller.arrive(flow, &all, true).unwrap();
            let now = step * Duration::from_secs(1);
            controller.decide(now, Cause::Arrived).unwrap();
            carry_out(&mut controller, now);
        }
    }
    for dsp in 0..2 {
        assert!(controller.memory(dsp) > 18_432 && controller.memory(dsp) <= 32 << 10);
    }
    let alike = fixed(&[audio(), video], 4, 64 << 10, &all).unwrap();
    assert!(controller.current_load() <= 4 * alike.iter().sum::<u64>());
}

#[test]
fn a_flow_goes_to_the_dsp_where_it_costs_least_and_stays() {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let (dsps, settings) = ([dsp(960), dsp(960)], Settings::default());
    let mut controller =
        Controller::new(rooms.tables(), costs(), &dsps, WHOLE.into(), settings).unwrap();
    let starts = [(); 4].map(|()| {
        let start = controller.arrive(audio(), &all, true).unwrap();
        controller.decide(MS, Cause::Arrived).unwrap();
        carry_out(&mut controller, MS);
        start
    });
    assert_eq!(starts.map(|start| start.dsp)[..2], [0, 1]);
    for dsp in 0..2 {
        assert!(controller.memory(dsp) > 0 && controller.memory(dsp) <= 960);
    }
    for Start { flow, dsp, .. } in starts {
        assert_eq!(controller.flow(flow).map(FlowState::dsp), Some(dsp));
    }
}

/// Two in internal memory, each of its own DSP, and two that there is no more of it for.
fn four<'a, 's>(
    rooms: &'a mut Rooms<'s>,
    all: &'s [Strategy],
    moves: bool,
) -> (Controller<'a, 's>, [Start; 4]) {
    let settings = Settings { moves, ..Settings::default() };
    let dsps = [dsp(960), dsp(960)];
    let made = Controller::new(rooms.tables(), costs(), &dsps, WHOLE.into(), settings);
    let mut controller = made.unwrap();
    let starts = [(); 4].map(|()| {
        let start = controller.arrive(audio(), all, true).unwrap();
        controller.decide(MS, Cause::Arrived).unwrap();
        carry_out(&mut controller, MS);
        start
    });
    (controller, starts)
}

#[test]
fn a_flow_moves_to_where_memory_has_become_free_once_it_has_rested() {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let (mut controller, starts) = four(&mut rooms, &all, true);
    let at = |controller: &Controller<'_, '_>, one: &Start| {
        controller.flow(one.flow).map(FlowState::dsp).unwrap()
    };
    let there: Vec<&Start> = starts.iter().filter(|one| at(&controller, one) == 1).collect();
    assert_eq!(there.len(), 1, "the others are where the first one is");
    let before = controller.current_load();
    controller.leave(there[0].flow).unwrap();
    let now = Duration::from_secs(1);
    let made = controller.decide(now, Cause::Left).unwrap();
    assert_eq!((made.reason, made.switches), (Reason::Saves, 1));
    let switch = controller.next_switch().unwrap();
    assert!(switch.moves && switch.dsp == 1, "{switch:?}");
    assert!(switch.after < switch.before);
    // On the way it is reckoned with at both, and everything else waits.
    assert!(controller.memory(0) <= 960 && controller.memory(1) <= 960);
    assert_eq!(controller.next_switch(), None);
    controller.done(switch.flow, now).unwrap();
    let moved = starts.iter().find(|one| one.flow == switch.flow).unwrap();
    assert_eq!(at(&controller, moved), 1);
    assert!(controller.current_load() < before);
    assert!(controller.memory(1) > 0 && controller.memory(1) <= 960);
    // There and back is not to be had: nothing is better than what there is.
    for step in 2..10 {
        let made = controller.decide(step * now, Cause::Rested).unwrap();
        assert_eq!(made.switches, 0, "{made:?}");
    }
}

#[test]
fn a_move_that_fails_leaves_the_flow_where_it_is_and_without_the_wish_it_stays() {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let now = Duration::from_secs(1);
    let (mut controller, starts) = four(&mut rooms, &all, true);
    let first = |controller: &Controller<'_, '_>, dsp| {
        let of = |one: &&Start| controller.flow(one.flow).map(FlowState::dsp) == Some(dsp);
        starts.iter().find(of).unwrap().flow
    };
    controller.leave(first(&controller, 1)).unwrap();
    controller.decide(now, Cause::Left).unwrap();
    let switch = controller.next_switch().unwrap();
    controller.failed(switch.flow, now, true).unwrap();
    assert_eq!(controller.flow(switch.flow).map(FlowState::dsp), Some(0));
    assert_eq!(controller.strategy_of(switch.flow), Some(switch.from));
    assert_eq!(controller.memory(1), 0);
    // It is tried again when it has rested, or another is at once.
    let made = controller.decide(2 * now, Cause::Rested).unwrap();
    assert_eq!((made.reason, made.switches), (Reason::Saves, 1));

    let mut rooms = Rooms::new();
    let (mut controller, starts) = four(&mut rooms, &all, false);
    let there = starts.iter().find(|one| one.dsp == 1).unwrap();
    controller.leave(there.flow).unwrap();
    assert_eq!(controller.decide(now, Cause::Left).unwrap().switches, 0);
}
