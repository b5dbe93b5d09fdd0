//! Whatever happens: flows that come, go and switch at random.

use super::*;

/// Flows of two kinds come and go, budgets and sizes change, switches fail and are left halfway.
#[test]
fn memory_deadlines_and_the_number_of_switches_hold_whatever_happens() {
    let all = strategies();
    for seed in 0..60 {
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
        let (mut now, mut events, mut unforced) = (Duration::ZERO, 0, [0_u32; FLOWS]);
        for _ in 0..200 {
            now += Duration::from_millis(dice.u64(1..400));
            events += 1;
            let mut grew = true;
            let cause = match dice.u8(0..8) {
                0..=3 => {
                    let kind = dice.usize(0..2);
                    match controller.arrive(kinds[kind], &all, dice.bool()) {
                        Ok(start) => here.push((start.flow, kind)),
                        Err(ControlError::Full | ControlError::NoRoom) => {}
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
                if !switch.reason.necessary() {
                    unforced[switch.flow.place()] += 1;
                }
                match dice.u8(0..10) {
                    0 => controller.failed(switch.flow, now, false).unwrap(),
                    1 => {
                        here.retain(|(flow, _)| *flow != switch.flow);
                        controller.leave(switch.flow).unwrap();
                    }
                    _ => controller.done(switch.flow, now).unwrap(),
                }
                assert!(controller.memory(0) <= before.max(memory.into()));
            }
            assert!(carried <= made.switches);
            // A switch that failed may have kept another from its memory.
            let _ = controller.decide(now, Cause::Failed).map(|_| carry_out(&mut controller, now));
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
        if let Some(loads) = fixed(&kinds, FLOWS as u64, memory, &all) {
            let worst: u64 = here.iter().map(|(_, kind)| loads[*kind]).sum();
            let most = worst + worst * u64::from(Settings::default().saves) / u64::from(WHOLE);
            let names = here.iter().map(|(flow, _)| name(controller.strategy_of(*flow)));
            let load = controller.current_load();
            let named: Vec<String> = names.collect();
            assert!(load <= most, "{seed}: {load} {most} {loads:?} {memory} {named:?}");
        }
        let rests = now.as_millis() / Settings::default().rest.as_millis() + 2;
        for count in unforced {
            assert!(u128::from(count) <= rests + events, "{seed}: {count} switches");
        }
    }
}
