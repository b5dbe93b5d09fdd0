//! Flows that begin when others have made room.

use super::*;

fn video() -> Flow {
    Flow {
        period: Some(100 * MS),
        request: 18_432,
        response: 800,
        work: 10 * MS,
        deadline: Some(300 * MS),
        ..audio()
    }
}

/// Audio that has little time: three others of video leave enough of it only by interrupt.
fn speech() -> Flow {
    Flow { deadline: Some(70 * MS), ..audio() }
}

/// Three flows of audio and two of video, each as it is best beside the others: of audio by looks
/// so far apart that a third of video would make them late.
fn five<'s>(
    controller: &mut Controller<'_, 's>,
    all: &'s [Strategy],
) -> (Vec<(Handle, Flow)>, Duration) {
    let (mut here, mut now) = (Vec::new(), Duration::ZERO);
    for flow in [speech(), speech(), speech(), video(), video()] {
        now += Duration::from_secs(1);
        here.push((controller.arrive(flow, all, true).unwrap().flow, flow));
        controller.decide(now, Cause::Arrived).unwrap();
        carry_out(controller, now);
    }
    (here, now)
}

/// Every response is in time, as it is and where its request waits for the next look.
fn hold(controller: &Controller<'_, '_>, here: &[(Handle, Flow)]) {
    for (flow, is) in here {
        let bound = controller.bound(*flow).unwrap();
        let looks = controller.strategy_of(*flow).unwrap().at_callee().pause();
        let bound = bound + picos(looks);
        assert!(bound <= is.deadline.map_or(u64::MAX, picos), "{bound} {is:?}");
    }
}

#[test]
fn a_flow_that_cannot_begin_yet_is_let_in_and_begins_when_others_have_switched() {
    let_in(video());
}

#[test]
fn others_that_look_seldom_may_switch_before_a_flow_begins_that_leaves_no_time_for_a_look() {
    // Beside such a flow audio has 10 ms left of its deadline, and 1 ms with the looks that it has.
    let new = let_in(Flow { work: 25 * MS, ..video() });
    assert!(new.iter().all(|by| by.contains("interrupt")), "{new:?}");
}

/// Has such a flow come and begin, and gives what the others have then that had looked.
fn let_in(comes: Flow) -> Vec<String> {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let mut controller = controller(&mut rooms, 1024);
    let (mut here, now) = five(&mut controller, &all);
    assert_eq!(controller.arrive(comes, &all, true), Err(ControlError::NoRoom));
    hold(&controller, &here);
    let memory = controller.memory(0);
    let new = controller.reserve(comes, &all).unwrap();
    assert_eq!(controller.memory(0), memory, "it has not begun");
    let made = controller.decide(now, Cause::Arrived).unwrap();
    assert_eq!(made.reason, Reason::Deadline);
    assert!(made.switches > 0);
    let (mut left, mut switched) = (made.switches, Vec::new());
    while let Some(switch) = controller.next_switch() {
        assert_ne!(switch.flow, new, "it has nothing to switch from");
        assert_eq!(controller.begin(new, now), Ok(None), "others are to switch before");
        hold(&controller, &here);
        controller.done(switch.flow, now).unwrap();
        switched.push(switch.to.to_string());
        left -= 1;
        assert_eq!(controller.begin(new, now).unwrap().is_some(), left == 0);
    }
    here.push((new, comes));
    hold(&controller, &here);
    assert!(controller.memory(0) <= 1024);
    let start = controller.begin(new, now).unwrap().unwrap();
    assert_eq!(controller.strategy_of(new), Some(start.strategy));
    // Nothing is to change that has just changed.
    assert_eq!(controller.decide(now, Cause::Rested).unwrap().switches, 0);
    switched
}

#[test]
fn a_flow_that_waits_can_leave_and_begins_at_once_when_another_has_left() {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let mut controller = controller(&mut rooms, 1024);
    let (here, now) = five(&mut controller, &all);
    let new = controller.reserve(video(), &all).unwrap();
    controller.leave(new).unwrap();
    assert_eq!(controller.begin(new, now), Err(ControlError::Unknown));
    assert_eq!(controller.decide(now, Cause::Left).unwrap().reason, Reason::Best);
    let again = controller.reserve(video(), &all).unwrap();
    assert_eq!(controller.begin(again, now), Ok(None));
    controller.leave(here[4].0).unwrap();
    assert!(controller.begin(again, now).unwrap().is_some());
}

#[test]
fn a_flow_without_a_plan_is_not_let_in_to_wait() {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let mut controller = controller(&mut rooms, 1024);
    five(&mut controller, &all);
    let long = Flow { work: 60 * MS, ..video() };
    let refused = controller.reserve(long, &all).unwrap_err();
    assert!(matches!(refused, ControlError::Late { .. } | ControlError::Together(_)), "{refused}");
    assert_eq!(controller.tables.flows.iter().flatten().count(), 5);
}

#[test]
fn what_would_be_late_while_it_switches_is_not_asked_to() {
    let either = ["copy_batched/poll=1ms/internal", "copy_batched/interrupt/external"];
    let either = either.map(|name| name.parse().unwrap());
    let internal = ["copy_batched/interrupt/internal".parse().unwrap()];
    // From external memory the first takes 13.2 ms, the second delays it by 0.8, and to have it
    // switch may take 1.
    for (deadline, fits) in [(14_100, false), (14_300, true)] {
        let mut rooms = Rooms::new();
        let mut controller = controller(&mut rooms, 40_000);
        let deadline = Some(Duration::from_micros(deadline));
        let first = Flow { work: 8 * MS, deadline, ..video() };
        let start = controller.arrive(first, &either, false).unwrap();
        assert_eq!(start.strategy, either[0]);
        let second = Flow { request: 10_000, response: 8, work: MS / 10, ..video() };
        assert!(controller.arrive(second, &internal, true).is_err());
        assert_eq!(controller.reserve(second, &internal).is_ok(), fits, "{deadline:?}");
    }
}
