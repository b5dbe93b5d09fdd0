//! Frames of both directions at once, of random lengths at random times, over ports whose
//! interrupts are lost, late or doubled: each comes once, whole and in order. A case is its number.
//! `NARROWS_CASES` says how many there are.

use crate::common::dice::Dice;
use crate::common::written::Written;
use narrows::driver::{Frames as _, NoFrame, NotSent};
use narrows::platform::{Memory as _, OwnMemory as _};
use narrows_sim::carrier::{End, MOST_HEADER, lay};
use narrows_sim::chip::{Chip, DmaMode};
use narrows_sim::cpu::{Cpu, Hands, Stretch};
use narrows_sim::engine::{Bells, Faults, Settings, Simulation};
use narrows_sim::time::Time;
use narrows_sim::trace::Trace;
use std::cell::Cell;

/// Cases where nothing is said.
const CASES: u64 = 150;
/// Bytes of a buffer.
const BUFFER: u32 = 8 << 10;
/// Longer than any case takes.
const LONG: Time = Time::nanos(2_000_000_000);

/// Frames of one direction, which both sides know.
#[derive(Clone)]
struct Frames {
    dice: Dice,
    most: u64,
}

impl Frames {
    /// The header and the payload of the next one.
    fn next(&self) -> (Vec<u8>, Vec<u8>) {
        let header = self.dice.roll(MOST_HEADER as u64 + 1).min(self.most);
        let most = self.most - header;
        let len = match self.dice.roll(4) {
            0 => 0,
            1 => self.dice.roll(32.min(most) + 1),
            2 => most,
            _ => self.dice.roll(most + 1),
        };
        let bytes = |len| (0..len).map(|_| self.dice.roll(256) as u8).collect();
        (bytes(header), bytes(len))
    }
}

/// One side: sends this number of frames and receives as many.
fn side(
    cpu: &Cpu,
    mut end: End,
    hands: &Hands,
    dice: &Dice,
    [sent, came]: [Frames; 2],
    count: u32,
) {
    let memory = cpu.chip().dma(cpu.core()).expect("it has ports").messages;
    let buffer = |at: u32| Stretch::new(hands, (memory, at * BUFFER), BUFFER);
    let (out, mut into) = (buffer(0), buffer(1));
    let (mut left, mut due) = ([count; 2], None);
    let mut next = sent.next();
    let mut wanted = came.next();
    while left != [0; 2] || end.holds() {
        if left[0] > 0 && !end.holds() {
            let (header, payload) = &next;
            out.write(0, payload).expect("it is longer");
            match end.try_send(header, Some((&out, 0, payload.len()))) {
                Ok(()) => {
                    left[0] -= 1;
                    next = sent.next();
                }
                Err(why) => assert_eq!(why, NotSent::Full),
            }
        }
        let mut header = [0; MOST_HEADER];
        if due.is_none() && left[1] > 0 {
            match end.try_receive(&mut header) {
                Err(why) => assert_eq!(why, NoFrame::Empty),
                Ok(len) => {
                    let all = wanted.0.len() + wanted.1.len();
                    assert_eq!((&header[..wanted.0.len()], len), (&wanted.0[..], all));
                    let read = end.read(wanted.0.len(), wanted.1.len(), &mut into, 0);
                    assert_eq!(read, Ok(()));
                    due = Some(());
                }
            }
        }
        if due.is_some() && !end.brings() {
            let mut bytes = vec![0; wanted.1.len()];
            into.read(0, &mut bytes).expect("it is longer");
            assert!(bytes == wanted.1, "the bytes of a frame, {} from the end", left[1]);
            end.release();
            (due, wanted) = (None, came.next());
            left[1] -= 1;
        }
        cpu.compute(Time::nanos(1 + dice.roll(40_000)));
    }
    // What the other side asked for last is still answered.
    cpu.compute(Time::nanos(1_000_000));
}

/// Plays a case, and traces it if there is something to write to.
fn case(number: u64, trace: Option<&Trace>) {
    let dice = Dice::new(number);
    let mode = dice.pick(&DmaMode::ALL);
    let comm = mode == DmaMode::ReadWrite && dice.one_in(2);
    let name = if comm { "pci44" } else { "quatro67" };
    let mut chip = Chip::shipped(name).expect("a possible chip");
    for dma in &mut chip.ports.dmas {
        dma.controllers = dice.pick(&[1, 4, 6]);
        dma.interrupts = dice.pick(&[4, 8]);
        dma.frames = 4;
    }
    let share = || dice.pick(&[0, 0, 50, 300]) as u16;
    let bells = Bells { lost: share(), late: share(), doubled: share(), by: Time::nanos(200_000) };
    let faults = Faults { bells, ..Faults::default() };
    let settings = Settings { until: LONG, seed: number, faults, ..Settings::default() };
    let (hands, done) = ([Hands::default(), Hands::default()], Cell::new(0));
    let mut simulation = Simulation::new(&chip, settings);
    if let Some(trace) = trace {
        simulation.trace(trace);
    }
    let told = || Box::new(|_: &_| {});
    let ends = lay(&mut simulation, 0, mode, [&hands[0], &hands[1]], [told(), told()]);
    let [one, other] = ends.expect("a port");
    let most = (one.mtu() as u64).min(4096);
    let directions = [0, 1].map(|_| Frames { dice: dice.split(), most });
    let count = 1 + dice.roll(6) as u32;
    for (core, end) in [one, other].into_iter().enumerate() {
        let own = [directions[core].clone(), directions[1 - core].clone()];
        let (hands, dice, done) = (&hands[core], dice.split(), &done);
        simulation.process(core, "side", 1, move |cpu| {
            hands.add(&cpu);
            side(&cpu, end, hands, &dice, own, count);
            assert_eq!(cpu.port_overruns(0), 0);
            done.set(done.get() + 1);
        });
    }
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("case {number}: {stuck}"));
    assert_eq!((done.get(), outcome.unfinished.len()), (2, 0), "case {number}, {mode:?}, {name}");
}

#[test]
fn every_frame_comes_once_whole_and_in_order() {
    let cases = std::env::var("NARROWS_CASES").ok().and_then(|cases| cases.parse().ok());
    for number in 0..cases.unwrap_or(CASES) {
        case(number, None);
    }
}

#[test]
fn a_trace_counts_the_words_under_way_in_each_direction() {
    for number in 0..10 {
        let written = Written::default();
        let trace = Trace::new(written.clone(), Trace::LIMIT);
        case(number, Some(&trace));
        trace.finish().unwrap();
        let read = narrows_trace::read(&written.bytes()[..]).unwrap();
        let rows = (0..).zip(&read.tracks).filter(|(_, track)| track.unit == "words");
        let rows: Vec<u32> = rows.map(|(row, _)| row).collect();
        assert_eq!(rows.len(), 2, "case {number}: {:?}", read.tracks);
        for row in rows {
            let values: Vec<i64> =
                read.counted.iter().filter(|one| one.track == row).map(|one| one.value).collect();
            // Words are written and read one by one.
            let steps = values.iter().scan(0, |before, value| {
                let step = value - std::mem::replace(before, *value);
                Some(step.abs())
            });
            assert!(values.len() > 1 && steps.max() == Some(1), "case {number}: {values:?}");
            assert_eq!(values.iter().min(), Some(&0), "case {number}: {values:?}");
        }
    }
}
