//! What a shipped platform was set from comes out of it, with the stack's own code.

use narrows::endpoint::{Function, Limits, Sink, Source};
use narrows::span::{Edge, Span};
use narrows_sim::chip::Chip;
use narrows_sim::cpu::{Cpu, Stamp};
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::{Cost, Time};
use std::cell::{Cell, RefCell};
use std::time::Duration;

const PATIENCE: Option<Duration> = Some(Duration::from_secs(5));
/// This many calls of 128 bytes, and a whole number of those of 32 KiB, use each block that is long
/// enough.
const CALLS: usize = 80;

/// The phases of calls of a function that works in place and answers as many bytes: means, in
/// microseconds and by stamps that take no time.
fn phases(chip: &Chip, bytes: usize) -> [f64; 5] {
    let mut chip = chip.clone();
    for core in &mut chip.cores {
        (core.timer.read, core.timer.read_user) = (Cost::NONE, Cost::NONE);
    }
    let strategy = "in_place/interrupt/external/ack_lazy".parse().unwrap();
    let stamps: RefCell<Vec<Stamp>> = RefCell::default();
    let done = Cell::new(false);
    let mut simulation = Simulation::new(&chip, Settings::default());
    simulation.process(0, "caller", 1, |cpu: Cpu| {
        let mut node = cpu.node("gpp".parse().unwrap(), Limits::default()).unwrap();
        let link = node.hunt(&"dsp".parse().unwrap(), PATIENCE).unwrap();
        let flow =
            node.open_flow(link, &"same".parse().unwrap(), strategy, 32768, PATIENCE).unwrap();
        let (request, mut response) = (vec![7; bytes], vec![0; bytes]);
        cpu.set_tracing(true);
        for _ in 0..2 * CALLS {
            assert_eq!(node.flow(flow).call(&request, &mut response, None), Ok(bytes));
        }
        stamps.borrow_mut().extend(cpu.take_trace());
        done.set(true);
        node.link(link).close();
    });
    simulation.process(1, "callee", 1, |cpu: Cpu| {
        let mut node = cpu.node("dsp".parse().unwrap(), Limits::default()).unwrap();
        cpu.set_tracing(true);
        let mut same = |request: &dyn Source, response: &mut dyn Sink| {
            // The last byte says how long the response is; the others are as they were.
            response.write(request.len() - 1, &[7])
        };
        let mut library = [Function { name: "same".parse().unwrap(), run: &mut same }];
        while !done.get() {
            let _ = node.serve(&mut library, None);
        }
        stamps.borrow_mut().extend(cpu.take_trace());
    });
    simulation.run().unwrap();

    let stamps = stamps.take();
    let sum = |span, edge| {
        let all = stamps.iter().filter(|stamp| (stamp.span, stamp.edge) == (span, edge));
        all.map(|stamp| stamp.time.micros()).skip(CALLS).take(CALLS).sum::<f64>()
    };
    let mean = |from: (Span, Edge), to: (Span, Edge)| {
        (sum(to.0, to.1) - sum(from.0, from.1)) / CALLS as f64
    };
    use Edge::{Enter, Leave};
    use Span::{PhaseA, PhaseB, PhaseC, PhaseD, PhaseE};
    [
        mean((PhaseA, Enter), (PhaseA, Leave)),
        mean((PhaseB, Enter), (PhaseB, Leave)),
        mean((PhaseB, Leave), (PhaseC, Leave)),
        mean((PhaseC, Leave), (PhaseD, Leave)),
        mean((PhaseE, Enter), (PhaseE, Leave)),
    ]
}

/// Both rows of S0 section 3.6, which are inputs.
#[test]
fn davinci_gives_back_the_phases_that_it_is_set_from() {
    let chip = Chip::shipped("davinci").unwrap();
    for (bytes, published) in [
        (128, [148.77, 131.22, 75.51, 114.37, 143.77]),
        (32768, [4121.62, 131.37, 76.66, 115.37, 4101.70]),
    ] {
        let ours = phases(&chip, bytes);
        for (ours, published) in ours.iter().zip(published) {
            assert!(
                (ours / published - 1.0).abs() < 0.01,
                "{bytes}: {ours}, published {published}"
            );
        }
        let (ours, published) = (ours.iter().sum::<f64>(), published.iter().sum::<f64>());
        assert!((ours / published - 1.0).abs() < 0.01, "{bytes}: {ours}, published {published}");
    }
}

/// S4 section 3.2.5, an input: copying 1 KiB takes about five times as long if both sides are on
/// the same lines of a direct-mapped cache.
#[test]
fn copying_between_addresses_that_collide_takes_five_times_as_long() {
    let chip = Chip::shipped("nios2-dual").unwrap();
    let times: RefCell<Vec<Time>> = RefCell::default();
    let strategy = "in_place/interrupt/external".parse().unwrap();
    let done = Cell::new(false);
    let mut simulation = Simulation::new(&chip, Settings::default());
    simulation.process(0, "caller", 1, |cpu: Cpu| {
        let mut node = cpu.node("gpp".parse().unwrap(), Limits::default()).unwrap();
        let link = node.hunt(&"dsp".parse().unwrap(), PATIENCE).unwrap();
        let flow =
            node.open_flow(link, &"none".parse().unwrap(), strategy, 1024, PATIENCE).unwrap();
        let mut made = node.flow(flow).reserve(1024).unwrap();
        let cache = chip.cores[0].data.unwrap();
        for by in (0..cache.size).step_by(cache.line as usize) {
            cpu.set_private(by);
            // The first time sees what the shift before has left in the cache.
            node.write(&mut made, 0, &[7; 1024]).unwrap();
            let begin = cpu.time();
            node.write(&mut made, 0, &[7; 1024]).unwrap();
            times.borrow_mut().push(cpu.time() - begin);
        }
        node.cancel(made);
        done.set(true);
        node.link(link).close();
    });
    simulation.process(1, "callee", 1, |cpu: Cpu| {
        let mut node = cpu.node("dsp".parse().unwrap(), Limits::default()).unwrap();
        let mut none = |_: &dyn Source, _: &mut dyn Sink| Ok(());
        let mut library = [Function { name: "none".parse().unwrap(), run: &mut none }];
        while !done.get() {
            let _ = node.serve(&mut library, Some(Duration::from_millis(10)));
        }
    });
    simulation.run().unwrap();
    // All lines of the cache once: with one shift every word collides, a line further none does,
    // though each line of the one side is where the other has just been.
    let times: Vec<f64> = times.take().into_iter().map(Time::micros).collect();
    let worst = (0..times.len()).max_by(|a, b| times[*a].total_cmp(&times[*b])).unwrap();
    let beside = times[(worst + 1) % times.len()];
    let slower = times[worst] / beside;
    assert!((slower - 5.0).abs() < 0.25, "{slower}: {} beside {beside} us", times[worst]);
}
