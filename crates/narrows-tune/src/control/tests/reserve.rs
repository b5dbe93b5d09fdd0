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

fn hold(controller: &Controller<'_, '_>, here: &[(Handle, Flow)]) {
    for (flow, is) in here {
        let bound = controller.bound(*flow).unwrap();
        assert!(bound <= is.deadline.map_or(u64::MAX, picos), "{bound} {is:?}");
    }
}

#[test]
fn a_flow_that_cannot_begin_yet_is_let_in_and_begins_when_others_have_switched() {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let mut controller = controller(&mut rooms, 1024);
    let (mut here, now) = five(&mut controller, &all);
    assert_eq!(controller.arrive(video(), &all, true), Err(ControlError::NoRoom));
    hold(&controller, &here);
    let memory = controller.memory(0);
    let new = controller.reserve(video(), &all).unwrap();
    assert_eq!(controller.memory(0), memory, "it has not begun");
    let made = controller.decide(now, Cause::Arrived).unwrap();
    assert_eq!(made.reason, Reason::Deadline);
    assert!(made.switches > 0);
    let mut left = made.switches;
    while let Some(switch) = controller.next_switch() {
        assert_ne!(switch.flow, new, "it has nothing to switch from");
        assert_eq!(controller.begin(new, now), Ok(None), "others are to switch before");
        hold(&controller, &here);
        controller.done(switch.flow, now).unwrap();
        left -= 1;
        assert_eq!(controller.begin(new, now).unwrap().is_some(), left == 0);
    }
    here.push((new, video()));
    hold(&controller, &here);
    assert!(controller.memory(0) <= 1024);
    let start = controller.begin(new, now).unwrap().unwrap();
    assert_eq!(controller.strategy_of(new), Some(start.strategy));
    // Nothing is to change that has just changed.
    assert_eq!(controller.decide(now, Cause::Rested).unwrap().switches, 0);
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
