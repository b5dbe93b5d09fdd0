//! Calls of a function that does nothing: where their time goes, what looking costs, how it grows.
//!
//! The caller copies request and response, in phases A and E. The callee works in place, as the
//! time that its phase C was measured to take is too short for a copy: of the response it makes
//! only the last byte. Blocks and slots are given back as soon as a response has been used.

use crate::base::failure::Failure;
use crate::experiments::papers::pair::{self, Outcome, Side};
use crate::experiments::papers::row::Found;
use narrows::endpoint::{FlowId, Function, Sink, Source};
use narrows::platform::Platform;
use narrows::span::{Edge, Span};
use narrows_sim::chip::Chip;
use narrows_sim::cpu::Stamp;
use narrows_sim::time::Time;
use std::cell::RefCell;
use std::rc::Rc;

const STRATEGY: &str = "in_place/interrupt/external/ack_lazy";
/// Calls before those that count: pools have gone round once.
const BEFORE: usize = 80;
/// Calls whose mean counts. Blocks are taken back when all that are long enough have been used,
/// which are 80, 48, 8 or 4 by the length of a call: all pools go round some whole times.
const CALLS: usize = 240;
const NAMES: [&str; 5] = ["A", "B", "C", "D", "E"];

/// Where S0 read its timer: where A begins, and where each phase ends.
fn boundary(span: Span, edge: Edge) -> bool {
    use Edge::{Enter, Leave};
    matches!(
        (span, edge),
        (Span::PhaseA, Enter | Leave)
            | (Span::PhaseB, Leave)
            | (Span::PhaseD, Enter | Leave)
            | (Span::PhaseE, Leave)
    )
}

/// Calls of a function that gives back as many bytes as it is given.
struct Caller {
    side: Side,
    flow: FlowId,
    request: Vec<u8>,
    response: Vec<u8>,
}

impl Caller {
    fn new(mut side: Side, bytes: usize) -> Outcome<Caller> {
        let flow = side.node.open_flow(
            side.link,
            &"nothing".parse()?,
            STRATEGY.parse()?,
            u32::try_from(bytes)?,
            None,
        )?;
        Ok(Caller { side, flow, request: vec![0x5a; bytes], response: vec![0; bytes] })
    }

    /// How long this many calls take.
    fn calls(&mut self, count: usize) -> Outcome<Time> {
        let began = self.side.cpu.time();
        for _ in 0..count {
            let got =
                self.side.node.flow(self.flow).call(&self.request, &mut self.response, None)?;
            if got != self.request.len() || self.response.last() != Some(&ANSWER) {
                return Err("a response is not what the function gives".into());
            }
        }
        Ok(self.side.cpu.time().since(began))
    }
}

const ANSWER: u8 = 0xa5;

fn run<R: 'static>(
    chip: &Chip,
    bytes: usize,
    stamps: &Rc<RefCell<Vec<Stamp>>>,
    work: impl FnOnce(Caller) -> Outcome<R> + 'static,
) -> Result<R, Failure> {
    let stamps = Rc::clone(stamps);
    let callee = move |side: Side| {
        let cpu = side.cpu.clone();
        cpu.trace_only(boundary);
        cpu.set_tracing(true);
        let mut nothing = |request: &dyn Source, response: &mut dyn Sink| {
            response.write(request.len() - 1, &[ANSWER])
        };
        let mut library = [Function { name: "nothing".parse()?, run: &mut nothing }];
        pair::serve(side, &mut library)?;
        stamps.borrow_mut().extend(cpu.take_trace());
        Ok(())
    };
    pair::run(chip, |_| {}, move |side| work(Caller::new(side, bytes)?), callee)
}

/// What readings of the timer take in the application and in the system, in microseconds.
///
/// # Errors
/// As [`pair::run`].
pub fn timer(chip: &Chip) -> Result<Found, Failure> {
    let (user, kernel) = run(chip, 128, &Rc::default(), |caller| {
        let cpu = &caller.side.cpu;
        let took = |read: &dyn Fn()| {
            let began = cpu.time();
            read();
            cpu.time().since(began)
        };
        cpu.set_tracing(true);
        let user = took(&|| cpu.stamp(Span::PhaseE, Edge::Leave, 0));
        let kernel = took(&|| {
            cpu.now();
        });
        Ok((user, kernel))
    })?;
    Ok([("driver_user", user), ("driver_kernel", kernel)]
        .map(|(key, time)| (key.to_owned(), time.micros()))
        .into())
}

/// The phases of a call, in microseconds: means, by readings that take no time. S0 has deducted
/// what its own took.
///
/// # Errors
/// As [`pair::run`].
pub fn phases(chip: &Chip, bytes: usize) -> Result<Found, Failure> {
    let chip = chip.clone().with_free_timers();
    let stamps = Rc::default();
    let mine = run(&chip, bytes, &stamps, |mut caller| {
        caller.calls(BEFORE)?;
        caller.side.cpu.trace_only(boundary);
        caller.side.cpu.set_tracing(true);
        caller.calls(CALLS)?;
        Ok(caller.side.cpu.take_trace())
    })?;
    let theirs = stamps.borrow();
    let at = |stamps: &[Stamp], id: u32, span: Span, edge: Edge| {
        let found = stamps.iter().find(|s| (s.id, s.span, s.edge) == (id, span, edge));
        found.map(|stamp| stamp.time)
    };
    let mut sums = [0.0; NAMES.len()];
    for began in mine.iter().filter(|s| (s.span, s.edge) == (Span::PhaseA, Edge::Enter)) {
        let mine = |span| at(&mine, began.id, span, Edge::Leave);
        let theirs = at(&theirs, began.id, Span::PhaseD, Edge::Enter);
        let ends = [
            mine(Span::PhaseA),
            mine(Span::PhaseB),
            theirs,
            mine(Span::PhaseD),
            mine(Span::PhaseE),
        ];
        let mut before = began.time;
        for (sum, end) in sums.iter_mut().zip(ends) {
            let end = end.unwrap_or(before);
            *sum += end.since(before).micros();
            before = end;
        }
    }
    let mut found = Found::new();
    for (name, sum) in NAMES.into_iter().zip(sums) {
        found.insert(name.to_owned(), sum / CALLS as f64);
    }
    found.insert("sum".to_owned(), found.values().sum());
    Ok(found)
}

/// What the phases that copy nothing take between both sizes, in microseconds.
///
/// # Errors
/// As [`pair::run`].
pub fn between(chip: &Chip) -> Result<Found, Failure> {
    let mut found = Found::new();
    for bytes in [1024, 8192, 16384] {
        let phases = phases(chip, bytes)?;
        for name in ["B", "C", "D"] {
            let took = phases.get(name).copied().unwrap_or_default();
            found.insert(format!("{name}.{bytes}"), took);
        }
    }
    Ok(found)
}

/// What readings add to a call: in microseconds, and in percent of one without them.
///
/// # Errors
/// As [`pair::run`].
pub fn overhead(chip: &Chip) -> Result<Found, Failure> {
    let of = |bytes| {
        let (without, with) = run(chip, bytes, &Rc::default(), |mut caller| {
            caller.side.cpu.trace_only(boundary);
            caller.calls(BEFORE)?;
            let without = caller.calls(CALLS)?;
            caller.side.cpu.set_tracing(true);
            Ok((without, caller.calls(CALLS)?))
        })?;
        let each = |time: Time| time.micros() / CALLS as f64;
        Ok::<_, Failure>((each(with) - each(without), each(without)))
    };
    let ((total, short), (added, long)) = (of(128)?, of(32768)?);
    let percents = [total / short * 100.0, added / long * 100.0];
    let bound = percents.into_iter().fold(0.0, f64::max);
    let [short, long] = percents;
    Ok([("total", total), ("percent.128", short), ("percent.32768", long), ("bound", bound)]
        .map(|(key, value)| (key.to_owned(), value))
        .into())
}

/// 32 KiB in calls of several sizes, in milliseconds.
///
/// # Errors
/// As [`pair::run`].
pub fn aggregation(chip: &Chip) -> Result<Found, Failure> {
    let mut found = Found::new();
    for (key, count, bytes) in [("32x1K", 32, 1024), ("2x16K", 2, 16384), ("1x32K", 1, 32768)] {
        let time = run(chip, bytes, &Rc::default(), move |mut caller| {
            caller.calls(BEFORE)?;
            caller.calls(CALLS)
        })?;
        found.insert(key.to_owned(), time.micros() / 1000.0 / CALLS as f64 * f64::from(count));
    }
    Ok(found)
}
