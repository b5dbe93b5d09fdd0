//! Whatever happens: flows that come, go and switch at random.

use std::collections::HashMap;

use super::*;

/// When each flow last switched, or tried to.
#[derive(Default)]
struct Switched(HashMap<Handle, Duration>);

impl Switched {
    /// A switch that is not necessary has let the flow rest.
    fn note(&mut self, switch: &Switch, now: Duration) {
        let last = self.0.insert(switch.flow, now);
        let rested = last.is_none_or(|last| now - last >= Settings::default().rest);
        assert!(rested || switch.reason.necessary(), "{last:?}, {now:?}: {switch:?}");
    }
}

/// Flows of two kinds come and go, budgets and sizes change, switches fail and are left halfway.
#[test]
fn memory_deadlines_and_the_number_of_switches_hold_whatever_happens() {
    let all = strategies();
    // Of the switches those that were not necessary and those that were, and runs that were
    // compared with the best fixed strategies.
    let (mut tried, mut compared) = ([0, 0], 0);
    // Flows that waited for others and began, or did not.
    let mut waited = [0, 0];
    for seed in 0..24 {
        let mut dice = fastrand::Rng::with_seed(seed);
        let mut rooms = Rooms::new();
        let mut memory = 1 << dice.u32(9..16);
        let mut controller = controller(&mut rooms, memory);
        let video = Flow {
            period: Some(100 * MS),
            request: 18_432,
            response: 800,
            deadline: Some(100 * MS),
            ..audio()
        };
        let kinds = [audio(), video];
        let mut here: Vec<(Handle, usize)> = Vec::new();
        let (mut now, mut switched) = (Duration::ZERO, Switched::default());
        for _ in 0..100 {
            now += Duration::from_millis(dice.u64(1..400));
            let (mut grew, mut waits) = (true, None);
            let cause = match dice.u8(0..8) {
                0..=3 => {
                    let kind = dice.usize(0..2);
                    match controller.arrive(kinds[kind], &all, dice.bool()) {
                        Ok(start) => here.push((start.flow, kind)),
                        Err(ControlError::NoRoom) => {
                            let flow = controller.reserve(kinds[kind], &all).unwrap();
                            (grew, waits) = (false, Some((flow, kind)));
                        }
                        Err(ControlError::Full) => {}
                        Err(error) => panic!("{seed}: {error}"),
                    }
                    Cause::Arrived
                }
                4..=5 if !here.is_empty() => {
                    let (flow, _) = here.swap_remove(dice.usize(0..here.len()));
                    controller.leave(flow).unwrap();
                    Cause::Left
                }
                6 => {
                    let new = 1 << dice.u32(9..16);
                    grew = new >= memory;
                    memory = new;
                    controller.set_dsp(0, dsp(memory)).unwrap();
                    Cause::Budget
                }
                _ => Cause::Rested,
            };
            let before = controller.memory(0);
            let made = controller.decide(now, cause).unwrap();
            assert!(!made.reason.necessary() || !grew, "{made:?}");
            let mut carried = 0;
            while let Some(switch) = controller.next_switch() {
                carried += 1;
                assert_ne!(switch.from, switch.to);
                switched.note(&switch, now);
                tried[usize::from(switch.reason.necessary())] += 1;
                match dice.u8(0..10) {
                    0 => controller.failed(switch.flow, now, false).unwrap(),
                    1 => {
                        here.retain(|(flow, _)| *flow != switch.flow);
                        controller.leave(switch.flow).unwrap();
                    }
                    _ => controller.done(switch.flow, now).unwrap(),
                }
                // Its request may have waited until the other core looked.
                let looks = picos(switch.from.at_callee().pause());
                let kind = here.iter().find(|(flow, _)| *flow == switch.flow);
                if let Some((flow, kind)) = kind.filter(|_| grew) {
                    let deadline = kinds[*kind].deadline.map_or(u64::MAX, picos);
                    let bound = controller.bound(*flow).unwrap();
                    assert!(bound + looks <= deadline, "{seed}: {switch:?}");
                }
                assert!(controller.memory(0) <= before.max(memory.into()));
            }
            assert!(carried <= made.switches);
            // A switch that failed may have kept another from its memory.
            controller.decide(now, Cause::Failed).unwrap();
            for switch in carry_out(&mut controller, now) {
                switched.note(&switch, now);
            }
            if let Some((flow, kind)) = waits {
                let begun = controller.begin(flow, now).unwrap().is_some();
                waited[usize::from(begun)] += 1;
                match begun {
                    true => here.push((flow, kind)),
                    false => controller.leave(flow).unwrap(),
                }
            }
            assert!(controller.memory(0) <= u64::from(memory), "{seed}");
            for (flow, kind) in &here {
                let deadline = kinds[*kind].deadline.map_or(u64::MAX, picos);
                assert!(controller.bound(*flow).unwrap() <= deadline, "{seed}");
            }
        }
        // Once all have rested: no worse than one strategy for each kind, but for what is too
        // little.
        now += Duration::from_secs(60);
        controller.decide(now, Cause::Rested).unwrap();
        carry_out(&mut controller, now);
        // None holds for as many flows as there can be in the least memories.
        if let Some(loads) = fixed(&kinds, FLOWS as u64, memory, &all) {
            let worst: u64 = here.iter().map(|(_, kind)| loads[*kind]).sum();
            let most = worst + worst * u64::from(Settings::default().saves) / u64::from(WHOLE);
            let load = controller.current_load();
            let names = here.iter().map(|(flow, _)| name(controller.strategy_of(*flow)));
            let named: Vec<String> = names.collect();
            assert!(load <= most, "{seed}: {load} {most} {loads:?} {memory} {named:?}");
            compared += 1;
        }
    }
    println!("{tried:?} switches, {compared} compared, {waited:?} waited");
    assert!(tried.iter().all(|count| *count > 150) && compared > 8, "{tried:?} {compared}");
    assert!(waited[1] > 2, "{waited:?}");
}
