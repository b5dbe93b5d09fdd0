//! The test cases of two cores, between two processes of this machine: flat, and layered with a
//! thread for each process of a core; over LINX nodes of this host, or by one of S4's five drivers.
//!
//! Their figures are by S4's definitions. What the stack itself takes is in the round trips that
//! follow each other at once: batches of either stack and of the endpoint below, in turns.

mod many;
mod trips;

use crate::rig::linx::threads;
use crate::rig::service::linx::{How, Order};

use std::time::Duration;

use narrows::platform::Platform;
use narrows_host::Host;
use narrows_sim::time::Time;

use super::cases::{EVERY, LOG_EVERY, Measured, Sent};
use super::measure::{Case, Results, Row, Trial};
use crate::base::failure::{Failure, Kind};
use crate::base::progress::Progress;
use crate::experiments::bench::linx::flags::Linx;
use crate::experiments::bench::task::Asked;
use crate::formats::linx::{Counter, DriverName, Stack};
use crate::rig::linx::end::STOPPED;
use crate::rig::linx::side::{self, Ends, Purpose, SHORT, Stamp, Used};
use crate::rig::pair::Pair;
use crate::rig::place::Other;
use crate::rig::service::Mode;

/// Rounds of batches.
const ROUNDS: u16 = 21;
/// Bytes of the longest frame between nodes of a host.
const LONGEST_FRAME: usize = narrows_host::linx::LONGEST + 64;
/// Nodes of t4 to t6, where nothing is said.
const NODES: usize = 4;
/// How long the other side's process has to end, if it is what something failed for.
const FAREWELL: Duration = Duration::from_secs(1);

/// Whether everything that was asked for means something here.
fn sensible(case: Case, asked: &Asked<'_>, args: &Linx, stacks: &[Stack]) -> Result<(), Failure> {
    let flat = stacks.contains(&Stack::Flat);
    let stops =
        args.handler_stopped || (case == Case::Throughput && stacks.contains(&Stack::Layered));
    let text = if args.cached {
        "--cached is for simulated chips: memory between processes is always cached; leave it out"
            .to_owned()
    } else if stops && asked.args.rounds.is_some_and(|rounds| usize::from(rounds) > STOPPED) {
        format!("{STOPPED} signals wait for a link handler that is stopped: lower --rounds")
    } else if args.counter == Some(Counter::Quota) {
        "--counter quota is for simulated chips: here the thread that does the interrupt's work is no \
         more urgent than the application, so that the system's scheduler is its quota"
            .to_owned()
    } else if args.counter == Some(Counter::Poll) {
        "--counter poll is for simulated chips: here a thread that was woken always takes what there \
         is before it asks to be woken again"
            .to_owned()
    } else if args.counter == Some(Counter::Mask) && flat {
        "--counter mask is for --stack layered: flat, no frame waits for a receiving thread"
            .to_owned()
    } else if args.counter == Some(Counter::Coalesce) && flat && !args.driver.is_empty() {
        "--counter coalesce with --driver is for --stack layered: flat, no frame waits for a \
         receiving thread"
            .to_owned()
    } else if args.mtu.iter().any(|mtu| !(64..=LONGEST_FRAME).contains(mtu)) {
        format!("--mtu is 64 to {LONGEST_FRAME} bytes here")
    } else if args.nodes.is_some_and(|nodes| !(2..=32).contains(&nodes)) {
        "--nodes is 2 to 32: a node has 31 links at most".to_owned()
    } else {
        return Ok(());
    };
    Err(Failure::new(Kind::Usage, text))
}

/// Carries out what is asked for: its rows.
///
/// # Errors
/// As the other benches between two processes.
pub(super) fn run(
    asked: &Asked<'_>,
    linx: &Linx,
    case: Case,
    stacks: &[Stack],
    sizes: &[usize],
) -> Result<Vec<Row>, Failure> {
    sensible(case, asked, linx, stacks)?;
    let longest = narrows_host::linx::LONGEST;
    if let Some(wrong) = sizes.iter().find(|size| !(8..=longest).contains(*size)) {
        let text = format!("a signal here has 8 to {longest} bytes, not {wrong}");
        return Err(Failure::new(Kind::Usage, text));
    }
    let mut drivers: Vec<_> = linx.driver.iter().copied().map(Some).collect();
    if drivers.is_empty() {
        drivers.push(None);
    }
    let with_frames = |driver| linx.frames(driver).into_iter().map(move |mtu| (driver, mtu));
    let drivers: Vec<_> = drivers.into_iter().flat_map(with_frames).collect();
    let many = matches!(case, Case::Pairs | Case::OneAsks | Case::AllAsk);
    let mut pair = if many { None } else { Some(start(asked)?) };
    let all = drivers.len() * stacks.len() * sizes.len();
    let progress = Progress::new(all as u64, asked.global.json);
    let mut rows = Vec::new();
    for (driver, mtu) in drivers {
        let longest = sizes.iter().copied().max().unwrap_or(0);
        let longest = longest.max(side::LOG).max(side::LONGEST_REPORT);
        let how = How { mtu, counter: linx.counter, driver, longest };
        rows.extend(by_driver(
            (asked, linx),
            pair.as_mut(),
            case,
            (stacks, sizes),
            how,
            &progress,
        )?);
    }
    drop(progress);
    rows.sort_by_key(|row| row.stack == Stack::Flat.name());
    Ok(rows)
}

/// Starts the other process.
fn start(asked: &Asked<'_>) -> Result<Pair, Failure> {
    let pair = Pair::start(asked.global, false, narrows_host::linx::LONGEST, None)?;
    pair.warn();
    Ok(pair)
}

/// The rows of one driver, between both processes or, without, between threads.
fn by_driver(
    (asked, linx): (&Asked<'_>, &Linx),
    pair: Option<&mut Pair>,
    case: Case,
    (stacks, sizes): (&[Stack], &[usize]),
    how: How,
    progress: &Progress,
) -> Result<Vec<Row>, Failure> {
    let mut bench = pair.map(|pair| Bench::start(pair, how)).transpose()?;
    let name = how.driver.map_or("host", DriverName::name);
    let mut rows = Vec::new();
    for bytes in sizes {
        for stack in stacks {
            progress.say(&format!("{} {name} {bytes} B", stack.name()));
            let trial = Trial {
                case,
                driver: how.driver.unwrap_or(DriverName::ShmNoack),
                stack: *stack,
                counter: linx.counter,
                bytes: *bytes,
                mtu: how.mtu,
                cached: true,
                stopped: *stack == Stack::Layered
                    && (linx.handler_stopped || case == Case::Throughput),
                rounds: asked.args.rounds.map(u32::from),
                log: None,
            };
            let results = match &mut bench {
                Some(bench) => bench.carry_out(&trial)?,
                None => {
                    let measured = many::carry_out(&trial, how, linx.nodes.unwrap_or(NODES))?;
                    Results::new(measured, 1e9 / Host::nanos_per_tick())
                }
            };
            rows.extend(results.rows(&trial).into_iter().map(|row| Row { driver: name, ..row }));
            progress.step();
        }
        if case == Case::Latency
            && how.driver.is_none()
            && let Some(bench) = &mut bench
        {
            let rounds = usize::from(asked.args.rounds.unwrap_or(ROUNDS));
            let found = bench.at_once(stacks, *bytes, rounds)?;
            for (stack, at_once) in stacks.iter().zip(found) {
                let of = |row: &&mut Row| {
                    row.stack == stack.name()
                        && row.bytes == *bytes
                        && row.round_trip_cycles.is_some()
                };
                if let Some(row) = rows.iter_mut().find(of) {
                    row.at_once = Some(at_once);
                }
            }
        }
    }
    if let Some(bench) = bench {
        bench.close()?;
    }
    Ok(rows)
}

/// Both processes, and where the other one's endpoints are.
struct Bench<'a> {
    pair: &'a mut Pair,
    ends: Ends,
    theirs: [(Stack, u32); 2],
    driver: Option<DriverName>,
    hertz: f64,
}

impl Bench<'_> {
    fn start(pair: &mut Pair, how: How) -> Result<Bench<'_>, Failure> {
        let number = std::process::id();
        order(pair, Order::Open(number, how))?;
        let mut ends = Ends::open(number, "caller", how).map_err(|why| {
            Failure::new(Kind::Name, format!("cannot open the bench's endpoints: {why}"))
        })?;
        let mut find = |stack| Some((stack, ends.find(number, "callee", stack)?));
        let found = find(Stack::Flat).zip(find(Stack::Layered));
        let theirs = found.map(|(flat, layered)| [flat, layered]);
        let theirs = theirs.ok_or_else(|| silent(pair))?;
        let (driver, hertz) = (how.driver, 1e9 / Host::nanos_per_tick());
        let mut bench = Bench { pair, ends, theirs, driver, hertz };
        bench.send(Stack::Flat, (Purpose::Confirmation, 0, SHORT));
        Ok(bench)
    }

    fn close(self) -> Result<(), Failure> {
        order(self.pair, Order::Close)
    }

    fn now(&self) -> u64 {
        self.pair.peer.node.platform().now().0
    }

    /// The other side's endpoint of a stack.
    fn to(&self, stack: Stack) -> Option<u32> {
        self.theirs.iter().find(|(of, _)| *of == stack).map(|(_, to)| *to)
    }

    /// Sends a signal: when, and when that returned.
    fn send(&mut self, stack: Stack, what: (Purpose, u32, usize)) -> Option<Stamp> {
        let to = self.to(stack)?;
        let own = self.ends.of(stack);
        let signal = side::make(own, to, what)?;
        let sent = self.now();
        self.ends.of(stack).send(to, signal)?;
        Some(Stamp { id: what.1, sent, returned: self.now(), received: 0 })
    }

    /// Receives a signal: what for, its number, its bytes and when.
    fn receive(&mut self, stack: Stack) -> Option<(Purpose, Stamp, usize)> {
        let signal = self.ends.of(stack).receive()?;
        let received = self.now();
        let own = self.ends.of(stack);
        let stamp = Stamp { id: side::read(own, &signal)?, received, ..Stamp::default() };
        let found = (side::purpose_of(own, &signal)?, stamp, own.len(&signal));
        own.used(signal);
        Some(found)
    }

    fn carry_out(&mut self, trial: &Trial) -> Result<Results, Failure> {
        let signals = planned(trial);
        order(self.pair, Order::Serve(trial.stack, signals.len() as u32))?;
        match self.exchange(trial, &signals) {
            Some(measured) => Ok(Results::new(measured, self.hertz)),
            None => Err(silent(self.pair)),
        }
    }

    /// Sends all signals of a trial, receives all answers, and puts both sides' stamps together.
    fn exchange(&mut self, trial: &Trial, signals: &[(Purpose, usize)]) -> Option<Measured> {
        let began = Used::now();
        let burst = signals.iter().all(|(purpose, _)| *purpose == Purpose::Burst);
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        let mut waiting = 0;
        if trial.stopped {
            self.ends.of(trial.stack).stop_handler(true);
        }
        for (id, (purpose, bytes)) in signals.iter().enumerate() {
            sent.push(self.send(trial.stack, (*purpose, id as u32, *bytes))?);
            waiting += usize::from(!burst);
            // A log is asked for just before a request.
            if *purpose == Purpose::Request {
                for _ in 0..std::mem::take(&mut waiting) {
                    received.push(self.receive(trial.stack)?);
                }
                if id + 1 < signals.len() {
                    std::thread::sleep(Duration::from_nanos((EVERY.micros() * 1e3) as u64));
                }
            }
        }
        if trial.stopped {
            self.ends.of(trial.stack).stop_handler(false);
        }
        if burst {
            received.push(self.receive(trial.stack)?);
        }
        let used = Used::now().since(&began);
        let (their_used, theirs) = side::hear(self.ends.of(trial.stack))?;
        let share =
            |cpu: Duration| Time::nanos(cpu.as_nanos() as u64 / signals.len().max(1) as u64);
        let busy = [share(used.cpu), share(their_used.cpu)];
        let layers = [used, their_used].map(|used| {
            let had =
                threads::between(trial.stack, self.driver, &threads::Times::default(), &used.by);
            had.into_iter().map(|(role, had)| (role, Time::nanos(had.as_nanos() as u64))).collect()
        });
        let mut all = Vec::new();
        for ((purpose, bytes), stamp) in signals.iter().zip(&sent) {
            let there = theirs.iter().find(|one| one.id == stamp.id && one.received > 0)?;
            let times = [stamp.sent, stamp.returned, there.received].map(Time::nanos);
            all.push(Sent::of(*purpose, (0, 1), *bytes, times, busy));
        }
        for (purpose, stamp, bytes) in &received {
            let there = theirs.iter().find(|one| one.id == stamp.id && one.sent > 0)?;
            let times = [there.sent, there.returned, stamp.received].map(Time::nanos);
            all.push(Sent::of(*purpose, (1, 0), *bytes, times, [busy[1], busy[0]]));
        }
        Some(Measured { signals: all, layers: layers.into(), cores: Vec::new() })
    }
}

/// What the caller sends in a test case: what for, and how long it is.
fn planned(trial: &Trial) -> Vec<(Purpose, usize)> {
    let rounds = trial.rounds.unwrap_or(trial.case.usual_rounds());
    let log = trial.case == Case::Interference;
    let mut signals = Vec::new();
    for round in 0..rounds {
        if log && round % LOG_EVERY == 0 {
            signals.push((Purpose::LogRequest, SHORT));
        }
        let purpose = match trial.case {
            Case::Burst | Case::Throughput => Purpose::Burst,
            _ => Purpose::Request,
        };
        signals.push((purpose, trial.bytes));
    }
    signals
}

fn order(pair: &mut Pair, order: Order) -> Result<(), Failure> {
    pair.limit_mode(false)?;
    pair.peer.mode(Mode::Linx(order))
}

fn silent(pair: &mut Pair) -> Failure {
    match pair.peer.other.ended(FAREWELL) {
        Some(how) => Failure::new(Kind::Peer, format!("the other core's process {how}")),
        None => Failure::new(Kind::Peer, side::SILENT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_asked_for_before_every_tenth_request() {
        let trial = |case| Trial {
            case,
            driver: DriverName::ShmNoack,
            stack: Stack::Flat,
            counter: None,
            bytes: 48,
            mtu: None,
            cached: true,
            stopped: false,
            rounds: Some(11),
            log: None,
        };
        let signals = planned(&trial(Case::Interference));
        assert_eq!(signals.len(), 13);
        let logs: Vec<usize> =
            (0..13).filter(|at| signals[*at] == (Purpose::LogRequest, SHORT)).collect();
        assert_eq!(logs, [0, 11]);
        assert_eq!(planned(&trial(Case::Burst)), [(Purpose::Burst, 48); 11]);
    }
}
