//! One visit: a fresh pair of one contender is opened, warmed up, measured and closed. It runs in a
//! process of its own, whose child is the other end, so that whatever a contender leaves behind or
//! breaks is gone with it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::contender::{Contender, End, Measure, Mode, Role, Setup, Sides, has};
use crate::control::{Control, FAILED, Order};

/// Round trips of a batch last about this long: its two readings of the clock are lost in it.
const BATCH: Duration = Duration::from_micros(200);
/// Messages of a stream last about this long, which a preemption now and then does not spoil.
const STREAM: Duration = Duration::from_millis(1);
/// The most round trips that are timed one by one in a visit.
const SINGLES: u64 = 2000;
/// Round trips behind an order and before the clock: they bring the callee back from its wait.
const LEAD: u64 = 16;

/// What a visit found, in nanoseconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Found {
    /// A round trip, as the mean of each batch.
    pub round_trip: Vec<f64>,
    /// Round trips timed one by one, with a reading of the clock in each.
    pub single: Vec<u32>,
    /// A message one way, as the mean of each stream.
    pub one_way: Vec<f64>,
}

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub enum Budget {
    /// For about this time.
    Time(Duration),
    /// As little as shows that it works.
    Smoke,
}

/// Opens, measures and closes a pair.
///
/// # Errors
/// What the contender or the system refused, or a message that did not arrive as it was sent.
pub fn run(contender: &'static dyn Contender, setup: &Setup, budget: Budget) -> io::Result<Found> {
    pin(setup.cores.0)?;
    let (mut control, other) = start(contender, setup)?;
    let opened = contender.open(Role::Caller, setup, &mut control);
    // If this end failed because the other one did, that one says why.
    let mut end = match opened {
        Ok(end) => end,
        Err(error) => return Err(theirs(&mut control, &other).unwrap_or(error)),
    };
    control.wait_done()?;
    let mut caller = Caller { end: &mut *end, control: &mut control };
    let found = match budget {
        Budget::Smoke => caller.smoke(contender, setup),
        Budget::Time(time) => caller.measure(contender, setup, time),
    };
    let found = found.map_err(|error| theirs(&mut control, &other).unwrap_or(error))?;
    control.order(Order { count: 0, times: 0 })?;
    control.wait_done()?;
    drop(end);
    other.end()?;
    Ok(found)
}

/// The other end's reason for having failed, if it did.
fn theirs(control: &mut Control, other: &Other) -> Option<io::Error> {
    if matches!(other, Other::Process(_)) {
        // It may be on its way.
        std::thread::sleep(Duration::from_millis(20));
    }
    while control.said().ok()? {
        if let Err(error) = control.hear() {
            return (error.kind() == io::ErrorKind::Other).then_some(error);
        }
    }
    None
}

/// What the other end runs in.
enum Other {
    Process(Child),
    Thread(std::thread::JoinHandle<()>),
}

impl Other {
    fn end(self) -> io::Result<()> {
        match self {
            Other::Process(mut child) => child.wait().map(|_| ()),
            Other::Thread(thread) => thread.join().map_err(|_| io::Error::other("it panicked")),
        }
    }
}

fn start(contender: &'static dyn Contender, setup: &Setup) -> io::Result<(Control, Other)> {
    if contender.sides() == Sides::Threads {
        let (mine, mut theirs) = Control::threads()?;
        let setup = setup.clone();
        let thread = std::thread::spawn(move || callee(contender, &setup, &mut theirs));
        return Ok((mine, Other::Thread(thread)));
    }
    let (mine, theirs) = UnixStream::pair()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("end").args(arguments(contender, setup));
    command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null());
    Ok((Control::new(mine), Other::Process(command.spawn()?)))
}

/// The command line that says which pair is meant.
pub fn arguments(contender: &dyn Contender, setup: &Setup) -> Vec<String> {
    let mode = match setup.mode {
        Mode::Spinning => "spinning",
        Mode::Blocked => "blocked",
        Mode::Hybrid => "hybrid",
    };
    let (caller, callee) = setup.cores;
    [
        contender.name().to_owned(),
        setup.bytes.to_string(),
        mode.to_owned(),
        setup.directory.display().to_string(),
        setup.tag.clone(),
        format!("{caller},{callee}"),
    ]
    .into()
}

/// The other end, from opening until it is told to leave.
pub fn callee(contender: &dyn Contender, setup: &Setup, control: &mut Control) {
    if let Err(error) = serve(contender, setup, control) {
        let _ = control.say(&format!("{FAILED}the other end: {error}"));
    }
}

fn serve(contender: &dyn Contender, setup: &Setup, control: &mut Control) -> io::Result<()> {
    pin(setup.cores.1)?;
    let mut end = contender.open(Role::Callee, setup, control)?;
    control.done()?;
    loop {
        let order = control.next_order()?;
        if order.count == 0 {
            break;
        }
        end.serve(order.count, order.times)?;
    }
    drop(end);
    control.done()
}

/// Keeps the calling thread, and those that it starts, on a core.
fn pin(core: usize) -> io::Result<()> {
    narrows_host::system::pin(core).map_err(io::Error::other)
}

struct Caller<'a> {
    end: &'a mut dyn End,
    control: &'a mut Control,
}

impl Caller<'_> {
    fn smoke(&mut self, contender: &dyn Contender, setup: &Setup) -> io::Result<Found> {
        let mut found = Found::default();
        if has(contender, Measure::RoundTrip, setup.mode, setup.bytes).is_ok() {
            found.round_trip.push(self.round_trips(1, 1)?.1);
            found.single = self.singles(8)?;
        }
        if has(contender, Measure::OneWay, setup.mode, setup.bytes).is_ok() {
            // More than fit, so that the sender has to wait.
            found.one_way = self.streams(2 * setup.depth as u64 + 3, 2)?;
        }
        Ok(found)
    }

    /// A quarter of the time warms up, a quarter times round trips one by one or not at all.
    fn measure(
        &mut self,
        contender: &dyn Contender,
        setup: &Setup,
        time: Duration,
    ) -> io::Result<Found> {
        let mut found = Found::default();
        let quarter = time / 4;
        if has(contender, Measure::RoundTrip, setup.mode, setup.bytes).is_ok() {
            let mut trip = self.warm_up(quarter, |caller, count| caller.round_trips(count, 1))?;
            trip = trip.max(1.0);
            let count = (BATCH.as_nanos() as f64 / trip).max(1.0) as u64;
            let batches = (quarter.as_nanos() as f64 / (trip * count as f64)).max(3.0) as u64;
            found.round_trip = self.batches(count, batches)?;
            let singles = (quarter.as_nanos() as f64 / 2.0 / trip) as u64;
            found.single = self.singles(singles.clamp(16, SINGLES))?;
        }
        if has(contender, Measure::OneWay, setup.mode, setup.bytes).is_ok() {
            let message = self.warm_up(quarter / 2, |caller, count| {
                let times = caller.streams(count, 1)?;
                let ns = times.first().copied().unwrap_or(1.0);
                Ok((ns * count as f64, ns))
            })?;
            let message = message.max(0.1);
            // Always more than fit into what is between the ends.
            let count = ((STREAM.as_nanos() as f64 / message) as u64).max(2 * setup.depth as u64);
            let streams = (quarter.as_nanos() as f64 / (message * count as f64)).max(3.0) as u64;
            found.one_way = self.streams(count, streams)?;
        }
        Ok(found)
    }

    /// Repeats something with ever larger counts until the time is used: what one takes then.
    fn warm_up(
        &mut self,
        time: Duration,
        mut what: impl FnMut(&mut Self, u64) -> io::Result<(f64, f64)>,
    ) -> io::Result<f64> {
        let begin = Instant::now();
        let mut count = 16;
        loop {
            let (whole, one) = what(self, count)?;
            if begin.elapsed() >= time {
                return Ok(one);
            }
            // No more than fits into what is left.
            if whole * 2.0 < (time.as_nanos() as f64) / 4.0 {
                count *= 2;
            }
        }
    }

    /// Round trips: nanoseconds for all, and for one.
    fn round_trips(&mut self, count: u64, times: u64) -> io::Result<(f64, f64)> {
        let found = self.batches(count, times)?;
        let one = found.first().copied().unwrap_or(1.0);
        Ok((one * count as f64, one))
    }

    /// Batches of round trips: nanoseconds of one, for each batch.
    fn batches(&mut self, count: u64, batches: u64) -> io::Result<Vec<f64>> {
        self.control.order(Order { count: 1, times: LEAD + count * batches })?;
        self.end.round_trips(LEAD)?;
        let mut found = Vec::with_capacity(batches as usize);
        for _ in 0..batches {
            let begin = Instant::now();
            self.end.round_trips(count)?;
            found.push(begin.elapsed().as_nanos() as f64 / count as f64);
        }
        Ok(found)
    }

    /// Round trips timed one by one.
    fn singles(&mut self, count: u64) -> io::Result<Vec<u32>> {
        self.control.order(Order { count: 1, times: LEAD + count })?;
        self.end.round_trips(LEAD)?;
        let mut found = Vec::with_capacity(count as usize);
        let mut before = Instant::now();
        for _ in 0..count {
            self.end.round_trips(1)?;
            let now = Instant::now();
            found.push((now - before).as_nanos().try_into().unwrap_or(u32::MAX));
            before = now;
        }
        Ok(found)
    }

    /// Streams one way, each until its answer is there: nanoseconds of a message, for each.
    fn streams(&mut self, count: u64, streams: u64) -> io::Result<Vec<f64>> {
        // The first brings the callee back from its wait.
        self.control.order(Order { count, times: streams + 1 })?;
        self.end.one_way(count)?;
        let mut found = Vec::with_capacity(streams as usize);
        for _ in 0..streams {
            let begin = Instant::now();
            self.end.one_way(count)?;
            found.push(begin.elapsed().as_nanos() as f64 / count as f64);
        }
        Ok(found)
    }
}
