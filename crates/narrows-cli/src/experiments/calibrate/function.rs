//! `narrows calibrate --function`: what a function takes here, as the key `cost` of a workload.
//!
//! All sizes take their turn in every round, so that what disturbs the machine for a while disturbs
//! them alike. The cost is the line through the medians whose deviations, as parts of each median,
//! have the smallest sum of squares: a size counts as much as another, however long it takes.

use super::flags::Calibrate;
use crate::base::failure::{Failure, Kind};
use crate::base::machine::{Machine, Root};
use crate::base::options::Global;
use crate::base::output;
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::base::statistics::{median, spread};
use crate::base::table::{Align, Table, number, wrap};
use crate::formats::functions::cost::Cost;
use crate::formats::functions::foreign::Named;
use crate::formats::functions::{self, Function};
use crate::formats::wav;
use crate::formats::workload::Body;
use crate::rig::limit::{Clock, Timer};
use crate::rig::peer::cores_of;
use narrows_host::system;
use serde::Serialize;
use std::hint::black_box;
use std::sync::Arc;

/// How long a batch takes at least, in nanoseconds.
const BATCH: f64 = 2e5;
/// The most calls of a batch.
const MOST: u32 = 1 << 20;
/// A fit that is off by more percent than this at a size is called none.
const FITS: f64 = 20.0;

/// What was found of a function.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Row {
    function: String,
    library: Option<String>,
    cost: String,
    worst_percent: f64,
    sizes: Vec<Size>,
}

/// What it took for requests of a length.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Size {
    bytes: usize,
    response: usize,
    measured_ns: f64,
    spread_ns: f64,
    fitted_ns: f64,
    deviation_percent: f64,
}

/// Requests of one length under measurement.
struct Trial {
    request: Vec<u8>,
    room: Vec<u8>,
    response: usize,
    /// Calls of a batch.
    calls: u32,
    /// Nanoseconds of a call, one of each round.
    times: Vec<f64>,
}

/// Measures the function `name`, and prints what it costs.
///
/// # Errors
/// There is no such function, or it does not answer such requests.
pub(super) fn run(global: &Global, args: &Calibrate, name: &str) -> Result<(), Failure> {
    let body = body(args, name)?;
    let samples = args.input.as_deref().map(wav::read).transpose()?;
    let mut notes = settle(global)?;
    let trial = |bytes: &usize| Trial::new(&body, *bytes, samples.as_deref(), args.response);
    let mut trials = args.bytes.iter().map(trial).collect::<Result<Vec<_>, _>>()?;
    let progress = Progress::new(u64::from(args.rounds), global.json);
    for round in 0..args.rounds {
        progress.say(&format!("round {} of {}", round + 1, args.rounds));
        for trial in &mut trials {
            let time = trial.batch(&body, trial.calls) / f64::from(trial.calls);
            trial.times.push(time);
        }
        progress.reach(u64::from(round) + 1);
    }
    drop(progress);
    let row = row(&body, &mut trials);
    let machine = Machine::look(&Root::default());
    notes.extend(told(&row));
    if global.json {
        let mut report = Report::new("calibrate", machine, vec![row]);
        report.notes = notes;
        return report.print();
    }
    let of = row.library.as_ref().map_or(String::new(), |library| format!(" of {library}"));
    let heading = format!("{}{of}: medians of {} rounds, in ns", row.function, args.rounds);
    let mut words = wrap("", &heading) + &table(&row) + &format!("\ncost = \"{}\"\n\n", row.cost);
    for note in &notes {
        words += &wrap("- ", note);
    }
    words += &wrap("- ", &machine.line());
    output::print(words.as_bytes())
}

/// The function that is asked for.
fn body(args: &Calibrate, name: &str) -> Result<Body, Failure> {
    if let Some(file) = &args.library {
        let named = Named { file: file.clone(), function: name.to_owned() };
        return Ok(Body::Foreign(Arc::new(named.load()?)));
    }
    let usage = |text: String| Failure::new(Kind::Usage, text);
    let entry = match Function::from_name(name) {
        Some(Function::Busy | Function::Log) => {
            let text = format!(
                "the time of {name} does not follow from the bytes of its requests, so it has no \
                 cost: name another function"
            );
            return Err(usage(text));
        }
        Some(Function::G711Encode) => "g711.encode.a",
        Some(Function::G711Decode) => "g711.decode.a",
        _ => name,
    };
    functions::find(entry).map(Body::Library).ok_or_else(|| {
        usage(format!(
            "there is no function {name}: name echo, g711.encode or g711.decode, or add --library \
             FILE with the shared library that it is in"
        ))
    })
}

/// Runs where the other core's process would. What is refused is a note.
fn settle(global: &Global) -> Result<Vec<String>, Failure> {
    let core = match cores_of(global) {
        Ok(cores) => Some(cores.callee),
        Err(failure) if global.cores.is_some() => return Err(failure),
        // It is the only one.
        Err(_) => None,
    };
    let all = [
        core.map(system::pin),
        global.priority.map(system::real_time),
        global.lock_memory.then(system::lock_memory),
    ];
    Ok(all.into_iter().flatten().filter_map(|done| Some(done.err()?.to_string())).collect())
}

impl Trial {
    /// Finds how many calls make a batch.
    fn new(
        body: &Body,
        bytes: usize,
        samples: Option<&[i16]>,
        room: Option<usize>,
    ) -> Result<Trial, Failure> {
        let request = match samples.filter(|samples| !samples.is_empty()) {
            Some(samples) => {
                let bytes_of = samples.iter().cycle().flat_map(|sample| sample.to_le_bytes());
                bytes_of.take(bytes).collect()
            }
            None => (0..bytes).map(|at| (at * 7) as u8).collect(),
        };
        let room = vec![0; room.unwrap_or(2 * bytes)];
        let mut trial = Trial { request, room, response: 0, calls: 1, times: Vec::new() };
        trial.response = match body {
            Body::Foreign(foreign) => foreign
                .call(&trial.request, &mut trial.room)
                .map_err(|much| foreign.defect(bytes, much))?,
            Body::Library(entry) => {
                (entry.answer)(&trial.request, &mut trial.room).map_err(|refusal| {
                    let text = format!("{} of {bytes} bytes: {refusal}", entry.name);
                    Failure::new(Kind::Usage, text)
                })?
            }
        };
        while trial.batch(body, trial.calls) < BATCH && trial.calls < MOST {
            trial.calls *= 2;
        }
        Ok(trial)
    }

    /// Makes this many calls. Returns the nanoseconds that all of them took.
    fn batch(&mut self, body: &Body, calls: u32) -> f64 {
        let timer = Clock::get();
        let start = timer.moment();
        for _ in 0..calls {
            // It has answered this request before.
            let _ = black_box(body.answer(black_box(&self.request), black_box(&mut self.room)));
        }
        timer.nanos(start, timer.moment())
    }
}

fn row(body: &Body, trials: &mut [Trial]) -> Row {
    let figure = |trial: &mut Trial| {
        let times = &mut trial.times;
        (trial.request.len(), median(times).unwrap_or(0.0), spread(times).unwrap_or(0.0))
    };
    let figures: Vec<(usize, f64, f64)> = trials.iter_mut().map(figure).collect();
    let points: Vec<(f64, f64)> = figures.iter().map(|(b, ns, _)| (*b as f64, *ns)).collect();
    let (request, byte) = fit(&points);
    let cost = Cost::measured(request, byte);
    let size = |(trial, (bytes, measured, spread)): (&Trial, &(usize, f64, f64))| {
        let fitted = request + byte * *bytes as f64;
        Size {
            bytes: *bytes,
            response: trial.response,
            measured_ns: *measured,
            spread_ns: *spread,
            fitted_ns: fitted,
            deviation_percent: if *measured > 0.0 {
                100.0 * (fitted / measured - 1.0)
            } else {
                0.0
            },
        }
    };
    let sizes: Vec<Size> = trials.iter().zip(&figures).map(size).collect();
    Row {
        function: body.name().to_owned(),
        library: match body {
            Body::Foreign(foreign) => Some(foreign.named().file.display().to_string()),
            Body::Library(_) => None,
        },
        cost: cost.to_string(),
        worst_percent: sizes.iter().map(|size| size.deviation_percent.abs()).fold(0.0, f64::max),
        sizes,
    }
}

/// The line a + b·x through points (x, y) whose squared deviations (a + b·x) / y - 1 have the
/// smallest sum, with neither a nor b below zero.
fn fit(points: &[(f64, f64)]) -> (f64, f64) {
    let (mut w, mut wx, mut wxx, mut wy, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (x, y) in points.iter().filter(|(_, y)| *y > 0.0) {
        let weight = 1.0 / (y * y);
        w += weight;
        wx += weight * x;
        wxx += weight * x * x;
        wy += weight * y;
        wxy += weight * x * y;
    }
    let determinant = w * wxx - wx * wx;
    let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
    // Points of one length only do not say what of it goes with the bytes.
    if determinant <= 1e-9 * w * wxx {
        return (ratio(wy, w), 0.0);
    }
    let (a, b) = ((wxx * wy - wx * wxy) / determinant, (w * wxy - wx * wy) / determinant);
    match (a < 0.0, b < 0.0) {
        (true, _) => (0.0, ratio(wxy, wxx)),
        (_, true) => (ratio(wy, w), 0.0),
        _ => (a, b),
    }
}

/// What to know about it.
fn told(row: &Row) -> Vec<String> {
    let worst = row.worst_percent;
    let fit = if row.sizes.len() == 1 {
        "one size does not say what of its time goes with its bytes: name several with --bytes"
            .to_owned()
    } else if worst > FITS {
        format!(
            "the cost is off by {worst:.0} % at one of these sizes, as the time is not a line in the \
             bytes: measure sizes near those of your flow, with --bytes"
        )
    } else {
        format!("the cost is within {worst:.1} % of what was measured at each of these sizes")
    };
    vec![
        fit,
        "this is what it takes on a core of this machine, with request and response in its cache. \
         For a core of a chip, time the function there at one of these sizes and multiply both \
         numbers of the cost by how many times as long it takes; if you cannot, the ratio of the \
         clocks is a first guess, and too low for a simpler core"
            .to_owned(),
    ]
}

fn table(row: &Row) -> String {
    let names = ["bytes", "response", "measured", "spread", "cost", "deviation"];
    let mut table = Table::new(&names.map(|name| (name, Align::Right)));
    for size in &row.sizes {
        table.row(vec![
            size.bytes.to_string(),
            size.response.to_string(),
            number(size.measured_ns),
            number(size.spread_ns),
            number(size.fitted_ns),
            format!("{:+.1} %", size.deviation_percent),
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: (f64, f64), expected: (f64, f64)) {
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b.abs().max(1.0);
        assert!(near(found.0, expected.0) && near(found.1, expected.1), "{found:?} {expected:?}");
    }

    #[test]
    fn a_line_is_found_whatever_the_scale() {
        for (a, b) in [(300_000.0, 2.0), (0.0, 0.03), (17.0, 0.0), (5.0, 1e6)] {
            let points = [64.0, 1024.0, 16384.0].map(|x| (x, a + b * x));
            close(fit(&points), (a, b));
        }
    }

    #[test]
    fn small_sizes_count_as_much_as_large_ones() {
        let (a, b) = fit(&[(1.0, 10.0), (2.0, 20.0), (1000.0, 20_000.0)]);
        let off = |x: f64, y: f64| ((a + b * x) / y - 1.0).abs();
        assert!(off(1.0, 10.0) < 0.5 && off(1000.0, 20_000.0) < 0.5, "{a} {b}");
    }

    #[test]
    fn neither_part_is_below_zero() {
        close(fit(&[(100.0, 50.0), (1000.0, 5000.0)]), (0.0, 2.2 / 4.04));
        let (a, b) = fit(&[(100.0, 500.0), (1000.0, 400.0)]);
        assert!(b == 0.0 && (400.0..500.0).contains(&a), "{a} {b}");
        close(fit(&[(64.0, 12.0)]), (12.0, 0.0));
        close(fit(&[]), (0.0, 0.0));
    }
}
