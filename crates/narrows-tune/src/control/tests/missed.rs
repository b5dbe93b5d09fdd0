//! Deadlines that are missed whatever is done: a machine that has other things to do.

use super::*;

/// Ten minutes in which every flow is late all the time, as it may happen beside others on a busy
/// machine: the switches of all flows together.
fn always_late(latency: Duration, memory: u32) -> u32 {
    let (all, mut rooms) = (strategies(), Rooms::new());
    let mut controller = controller(&mut rooms, memory);
    let flows = [(); 3].map(|()| controller.arrive(audio(), &all, true).unwrap().flow);
    let rest = Settings::default().rest;
    let mut switches = 0;
    for step in 1..=1200 {
        let now = step * rest;
        for flow in flows {
            controller.missed(flow, now, latency).unwrap();
        }
        controller.decide(now, Cause::Missed).unwrap();
        switches += carry_out(&mut controller, now).len() as u32;
        controller.decide(now + rest / 2, Cause::Rested).unwrap();
        switches += carry_out(&mut controller, now + rest / 2).len() as u32;
    }
    switches
}

#[test]
fn flows_that_are_late_whatever_they_travel_by_do_not_oscillate() {
    let mut all = 0;
    for latency in [85, 90, 120, 150, 3000] {
        for memory in [0, 600, 1500, 65536] {
            let switches = always_late(latency * MS, memory);
            // Of each flow to what is quicker, and once back.
            assert!(switches <= 2 * 3, "{latency} ms, {memory} B: {switches} switches");
            all += switches;
        }
    }
    assert!(all > 0, "no flow ever switched: nothing was tried");
}

/// As a busy machine does: misses at any time, of any flow, by any time.
#[test]
fn misses_now_and_then_have_each_flow_switch_there_and_back_in_ten_seconds_at_most() {
    let all = strategies();
    let video = Flow {
        period: Some(100 * MS),
        request: 9000,
        response: 800,
        deadline: Some(100 * MS),
        ..audio()
    };
    let rest = Settings::default().rest;
    let mut tried = 0;
    for seed in 0..40 {
        let mut dice = fastrand::Rng::with_seed(seed);
        let mut rooms = Rooms::new();
        let mut controller = controller(&mut rooms, 1 << dice.u32(9..17));
        let kinds = [audio(), audio(), video, video];
        let here = kinds.map(|kind| controller.arrive(kind, &all, true).ok());
        let (mut switches, mut now) = ([0_u32; FLOWS], Duration::ZERO);
        let often = dice.u8(1..20);
        for _ in 0..1200 {
            now += rest;
            let mut cause = Cause::Rested;
            for (start, kind) in here.iter().zip(kinds) {
                let Some(start) = start.filter(|_| dice.u8(0..20) < often) else { continue };
                let latency = kind.deadline.unwrap() + Duration::from_micros(dice.u64(1..200_000));
                controller.missed(start.flow, now, latency).unwrap();
                cause = Cause::Missed;
            }
            controller.decide(now, cause).unwrap();
            for switch in carry_out(&mut controller, now) {
                switches[switch.flow.place()] += 1;
            }
        }
        let most = 2 * (now.as_secs() as u32 / 10 + 1);
        assert!(switches.iter().all(|count| *count <= most), "{seed}: {switches:?}");
        tried += switches.iter().sum::<u32>();
    }
    assert!(tried > 0, "no flow ever switched: nothing was tried");
}

#[test]
fn a_flow_does_not_travel_so_that_it_falls_behind() {
    // With looks every 20 ms at both ends an answer is there after 40.
    let all = ["copy/interrupt/external", "copy/poll=20ms/external"];
    let all = all.map(|name| name.parse().unwrap());
    let mut rooms = Rooms::new();
    let mut controller = controller(&mut rooms, 0);
    let slow = Flow { period: Some(50 * MS), deadline: None, ..audio() };
    let quick = Flow { period: Some(20 * MS), ..slow };
    let flow = controller.arrive(slow, &all, true).unwrap().flow;
    assert_eq!(controller.strategy_of(flow), Some(all[1]));
    controller.change(flow, quick).unwrap();
    let made = controller.decide(MS, Cause::Changed).unwrap();
    assert_eq!((made.reason, carry_out(&mut controller, MS)[0].to), (Reason::Deadline, all[0]));
    // With two under way it does not.
    controller.change(flow, Flow { depth: 2, ..quick }).unwrap();
    let later = Duration::from_secs(1);
    let made = controller.decide(later, Cause::Changed).unwrap();
    assert_eq!((made.reason, carry_out(&mut controller, later)[0].to), (Reason::Saves, all[1]));
    // A flow that falls behind by whatever it travels by is carried nevertheless.
    let hasty = Flow { period: Some(3 * MS / 2), ..slow };
    controller.change(flow, hasty).unwrap();
    let made = controller.decide(2 * later, Cause::Changed).unwrap();
    assert!(!made.reason.necessary(), "{made:?}");
}
