//! S4's test cases (section 3.5): which process sends what to which, and when.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use narrows::platform::OwnMemory;
use narrows_sim::chip::Chip;
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Pid, Settings, Simulation};
use narrows_sim::time::Time;
use narrows_sim::trace::Signal;

use super::account::{Did, Done, Queues};
use super::core::{Core, Letter, Setup};
use super::placement::{self, APPLICATION};
use super::processes::wake;
use crate::base::failure::{Failure, Kind};
use crate::base::usage::{self, Monitor};
use crate::formats::linx::{Counter, DriverName};
use crate::rig::linx::memory::{Map, NoRoom};
use crate::rig::linx::side::Purpose;

/// Between two requests.
pub(super) const EVERY: Time = Time::nanos(100_000_000);
/// Before the first: connections come up.
const BEFORE: Time = Time::nanos(50_000_000);
/// How often what has come is looked for meanwhile.
const STEP: Time = Time::nanos(1_000_000);
/// Bytes of the signal of a hunt.
const HUNT: usize = 4;
/// A request for a log, and the log.
const LOG_REQUEST: usize = 32;
/// A log is asked for once in this many requests of t1.
pub(super) const LOG_EVERY: u32 = 10;

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Traffic {
    /// Requests, each answered by as many bytes, with a log asked for now and then if it has bytes.
    Requests { rounds: u32, log: usize },
    /// `signals` signals behind each other, and a confirmation.
    Burst { signals: u32, stopped: bool },
}

/// A run.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub setup: Setup,
    pub traffic: Traffic,
    pub bytes: usize,
    pub mtu: usize,
    pub cached: bool,
    /// The process that sends requests or the burst, and the one that it sends them to.
    pub flows: Vec<(usize, usize)>,
    /// Whether stamps and swap hooks take what S4's took.
    pub instrumented: bool,
    /// What goes wrong on the chip, if anything is to.
    pub settings: Settings,
    /// What looks at it.
    pub monitor: Option<Monitor>,
}

/// A signal.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub purpose: Purpose,
    /// From which core to which.
    pub flow: (usize, usize),
    pub bytes: usize,
    pub sent: Time,
    pub returned: Time,
    pub received: Time,
    /// What the sending core and the receiving one had done when it was sent.
    before: [Done; 2],
    /// What they did until it was received.
    pub did: [Did; 2],
    wrong: bool,
}

impl Sent {
    /// One that came as it was sent: when it was sent, when that returned and when it was received,
    /// and how long the two cores were busy for it.
    pub fn of(
        purpose: Purpose,
        flow: (usize, usize),
        bytes: usize,
        [sent, returned, received]: [Time; 3],
        busy: [Time; 2],
    ) -> Sent {
        let (before, did) = (Default::default(), busy.map(Did::busy));
        Sent { purpose, flow, bytes, sent, returned, received, before, did, wrong: false }
    }
}

/// What came of a run.
pub(super) struct Measured {
    pub signals: Vec<Sent>,
    /// By core: what each layer had.
    pub layers: Vec<BTreeMap<&'static str, Time>>,
    /// What else is known of a simulated core.
    pub cores: Vec<Whole>,
}

/// What a simulated core did in a whole run.
#[derive(Clone, Debug)]
pub(super) struct Whole {
    pub did: Did,
    pub queues: Queues,
}

type Log = Rc<RefCell<Vec<Sent>>>;

/// Carries a run out.
///
/// # Errors
/// [`Kind::Stuck`] if the simulation gets stuck, [`Kind::Usage`] if the chip has no room or a frame
/// none for a signal that is not cut up.
pub(super) fn run(chip: &Chip, run: &Run) -> Result<Measured, Failure> {
    let mut chip = chip.clone();
    let cores = run.flows.iter().map(|(from, to)| from.max(to) + 1).max().unwrap_or(0);
    let log_bytes = match run.traffic {
        Traffic::Requests { log, .. } => log,
        Traffic::Burst { .. } => 0,
    };
    let longest = run.bytes.max(log_bytes).max(LOG_REQUEST);
    let name = chip.name.clone();
    let no_room = |why: NoRoom| {
        let text = match why {
            NoRoom::Pools(needed, room) => format!(
                "there is no room for pools of {cores} cores for signals of {longest} bytes: they take \
                 {needed} bytes, and have {room}: choose fewer --bytes, or fewer cores"
            ),
            NoRoom::Frames(needed, size) => format!(
                "{name} has no room for frames of {} bytes between {cores} cores: with pools they take \
                 {needed} bytes or more, and the memory of its first core has {size}: choose a smaller \
                 --mtu, fewer cores, or another --on",
                run.mtu
            ),
        };
        Failure::new(Kind::Usage, text)
    };
    if cores > chip.cores.len() {
        let has = chip.cores.len();
        return Err(Failure::new(
            Kind::Usage,
            format!("{} has {has} cores and {cores} are needed: choose another --on", chip.name),
        ));
    }
    let map = Map::new(&mut chip, cores, run.mtu, longest, run.cached);
    let map = map.map_err(no_room)?;
    fits_pool(run, map.blocks() as usize, &name)?;
    let needs_engine = matches!(run.setup.driver, DriverName::DmaAck | DriverName::DmaNoack);
    if needs_engine && (0..cores).any(|core| !chip.engines.iter().any(|e| e.cores.contains(&core)))
    {
        let text = format!("{name} has no copy engine for each core, which the DMA drivers need");
        return Err(Failure::new(Kind::Usage, text));
    }
    let services: Vec<Rc<Cell<Option<Pid>>>> = (0..cores).map(|_| Rc::default()).collect();
    let mut all = Vec::new();
    for number in 0..cores {
        let flows = run.flows.clone();
        let speaks = move |other: usize| {
            flows.contains(&(number, other)) || flows.contains(&(other, number))
        };
        let core = Core::new(number, run.setup, &map, &services, speaks).ok_or_else(|| {
            let text =
                format!("no driver carries frames of {} bytes: choose another --mtu", run.mtu);
            Failure::new(Kind::Usage, text)
        })?;
        all.push(Rc::new(core));
    }
    let log = Log::default();
    let mut simulation = Simulation::new(&chip, run.settings);
    let cores: Rc<[Rc<Core>]> = all.into();
    let ends: Rc<RefCell<Vec<Done>>> = Rc::default();
    for core in cores.iter() {
        placement::add(&mut simulation, core);
        let application = Application {
            core: Rc::clone(core),
            cores: Rc::clone(&cores),
            ends: Rc::clone(&ends),
            log: Rc::clone(&log),
            run: run.clone(),
            hunted: RefCell::default(),
            spids: RefCell::default(),
        };
        let body = move |cpu: Cpu| application.work(&cpu);
        let name = application_of(core.number);
        core.application.set(Some(simulation.process(core.number, &name, APPLICATION, body)));
    }
    if run.instrumented {
        simulation.on_swap(|_| {});
    }
    let ended = usage::run(run.monitor.as_ref(), simulation);
    ended.map_err(|stuck| Failure::new(Kind::Stuck, stuck.to_string()))?;
    let signals = log.take();
    if signals.iter().any(|signal| signal.wrong || signal.received == Time::ZERO) {
        return Err(Failure::new(Kind::Internal, "a signal was lost or came with other bytes"));
    }
    // Each application that ends notes what all cores have done: the last has all of it.
    let did = ends.borrow().iter().map(|done| done.since(&Done::default())).collect::<Vec<Did>>();
    let layers = did.iter().map(|did| did.by.clone()).collect();
    let whole = |(did, core): (Did, &Rc<Core>)| Whole { did, queues: core.queues.get() };
    let cores = did.into_iter().zip(cores.iter()).map(whole).collect();
    Ok(Measured { signals, layers, cores })
}

/// Refuses a burst of more signals than the pool of a core has room for: its sender makes all of
/// them before it sends the first.
fn fits_pool(run: &Run, room: usize, chip: &str) -> Result<(), Failure> {
    let Traffic::Burst { signals, .. } = run.traffic else { return Ok(()) };
    if signals as usize <= room {
        return Ok(());
    }
    let text = format!(
        "{chip} has room for {room} signals of {} bytes in the pool of a core, and a burst of {signals} \
         is made before it is sent: lower --rounds or --bytes",
        run.bytes
    );
    Err(Failure::new(Kind::Usage, text))
}

/// The name of the application of a core.
fn application_of(core: usize) -> String {
    format!("application of core {core}")
}

/// The application of a core.
struct Application {
    core: Rc<Core>,
    /// All cores, and what they had done when an application ended.
    cores: Rc<[Rc<Core>]>,
    ends: Rc<RefCell<Vec<Done>>>,
    log: Log,
    run: Run,
    /// By the address of their signals: the cores whose applications are looked for.
    hunted: RefCell<BTreeMap<u32, usize>>,
    /// The addresses of other cores' applications.
    spids: RefCell<BTreeMap<usize, u32>>,
}

impl Application {
    fn work(self, cpu: &Cpu) {
        self.core.hands.add(cpu);
        if self.run.instrumented {
            cpu.set_tracing(true);
        }
        let own = self.core.number;
        let targets: Vec<usize> =
            self.run.flows.iter().filter(|(from, _)| *from == own).map(|(_, to)| *to).collect();
        self.begin(cpu, &targets);
        let sources = self.run.flows.iter().filter(|(_, to)| *to == own).count() as u32;
        match self.run.traffic {
            Traffic::Requests { rounds, log } => {
                let logs = if log > 0 { rounds.div_ceil(LOG_EVERY) } else { 0 };
                if targets.is_empty() {
                    (0..sources * (rounds + logs)).for_each(|_| self.answer(cpu, log));
                } else {
                    self.ask(cpu, &targets, rounds, log);
                }
            }
            Traffic::Burst { signals, stopped } => {
                if targets.is_empty() {
                    let flows = self.run.flows.iter().filter(|(_, to)| *to == own);
                    for _ in 0..sources * signals {
                        self.receive(cpu);
                    }
                    for (from, _) in flows {
                        self.send(cpu, *from, Purpose::Confirmation, LOG_REQUEST);
                    }
                } else {
                    self.burst(cpu, &targets, signals, stopped);
                }
            }
        }
        // Acknowledgements are still to come.
        cpu.pause(EVERY);
        placement::end(&self.core, cpu);
        self.ends.replace(self.cores.iter().map(|core| core.done(cpu)).collect());
    }

    /// What both cores of a flow have done so far.
    fn done(&self, cpu: &Cpu, (from, to): (usize, usize)) -> [Done; 2] {
        [from, to].map(|core| self.cores.get(core).map_or_else(Done::default, |one| one.done(cpu)))
    }

    /// Has connections come up, and finds the applications that signals are sent to.
    fn begin(&self, cpu: &Cpu, targets: &[usize]) {
        placement::attend(&self.core, cpu);
        let end = cpu.time() + BEFORE;
        for to in targets {
            let hunt = self.core.pool.take(&self.core.hands);
            let Some(signal) = hunt else { continue };
            let letter = Letter { peer: *to, ..Letter::of(*to, 0, &signal, HUNT) };
            self.hunted.borrow_mut().insert(letter.address, *to);
            placement::hunt(&self.core, cpu, letter);
        }
        while cpu.time() + STEP * 2 < end {
            let got = cpu.os().receive(&[], STEP);
            placement::say(&self.core, cpu);
            let Some(got) = got else { continue };
            if let Some(letter) = Letter::read(&got.bytes)
                && let Some(to) = self.hunted.borrow_mut().remove(&letter.address)
            {
                self.spids.borrow_mut().insert(to, letter.spid);
                self.core.pool.give(&self.core.pool.at(&self.core.hands, letter.address));
            }
            cpu.os().free(got);
        }
        // All cores begin as far apart as they came up.
        cpu.pause(end.since(cpu.time()));
    }

    fn ask(&self, cpu: &Cpu, targets: &[usize], rounds: u32, log: usize) {
        let began = cpu.time();
        for round in 0..rounds {
            cpu.pause((began + EVERY * u64::from(round + 1)).since(cpu.time()));
            let mut expected = 0;
            for to in targets {
                if log > 0 && round % LOG_EVERY == 0 {
                    self.send(cpu, *to, Purpose::LogRequest, LOG_REQUEST);
                    expected += 1;
                }
                self.send(cpu, *to, Purpose::Request, self.run.bytes);
                expected += 1;
            }
            for _ in 0..expected {
                self.receive(cpu);
            }
        }
    }

    fn answer(&self, cpu: &Cpu, log: usize) {
        let Some((peer, purpose)) = self.receive(cpu) else { return };
        match purpose {
            Purpose::LogRequest => self.send(cpu, peer, Purpose::Log, log),
            _ => self.send(cpu, peer, Purpose::Reply, self.run.bytes),
        }
    }

    fn burst(&self, cpu: &Cpu, targets: &[usize], signals: u32, stopped: bool) {
        let os = cpu.os();
        let handler = self.core.handler.get().filter(|_| stopped);
        let letters: Vec<Vec<(u32, Letter)>> = targets
            .iter()
            .map(|to| {
                let letter = |_| self.make(*to, Purpose::Burst, self.run.bytes);
                (0..signals).filter_map(letter).collect()
            })
            .collect();
        if let Some(handler) = handler {
            let _ = os.stop(handler);
        }
        for number in 0..signals as usize {
            for letters in &letters {
                if let Some(letter) = letters.get(number) {
                    self.post(cpu, *letter);
                }
            }
        }
        if let Some(handler) = handler {
            let _ = os.start(handler);
        }
        for _ in targets {
            self.receive(cpu);
        }
    }

    fn send(&self, cpu: &Cpu, to: usize, purpose: Purpose, bytes: usize) {
        if let Some(letter) = self.make(to, purpose, bytes) {
            self.post(cpu, letter);
        }
    }

    /// Makes a signal: what it carries follows from its number.
    fn make(&self, to: usize, purpose: Purpose, bytes: usize) -> Option<(u32, Letter)> {
        let signal = self.core.pool.take(&self.core.hands)?;
        let mut log = self.log.borrow_mut();
        let id = log.len() as u32;
        log.push(Sent {
            purpose,
            flow: (self.core.number, to),
            bytes,
            sent: Time::ZERO,
            returned: Time::ZERO,
            received: Time::ZERO,
            before: Default::default(),
            did: Default::default(),
            wrong: false,
        });
        drop(log);
        let _ = signal.write(0, &id.to_le_bytes());
        let _ = signal.write(bytes.saturating_sub(4) as u32, &id.to_le_bytes());
        let address = signal.find(0, bytes).ok()?.1;
        let spid = self.spids.borrow().get(&to).copied()?;
        Some((id, Letter { peer: to, address, len: bytes, spid }))
    }

    fn post(&self, cpu: &Cpu, (id, letter): (u32, Letter)) {
        let flow = (self.core.number, letter.peer);
        let before = self.done(cpu, flow);
        placement::stamp(cpu);
        let sent = cpu.time();
        if let Some(one) = self.log.borrow_mut().get_mut(id as usize) {
            (one.sent, one.before) = (sent, before);
        }
        placement::send(&self.core, cpu, letter);
        let returned = placement::stamp(cpu);
        if let Some(one) = self.log.borrow_mut().get_mut(id as usize) {
            one.returned = returned;
        }
        let (number, peer) = (id + 1, application_of(letter.peer));
        let (id, bytes, times) = (id.into(), letter.len as u32, (sent, returned));
        cpu.signal_sent(&Signal { id, times, number, bytes, peer: &peer });
    }

    /// Receives a signal: which process sent it, and what for.
    fn receive(&self, cpu: &Cpu) -> Option<(usize, Purpose)> {
        let os = cpu.os();
        let got = os.receive(&[], Time::NEVER)?;
        let received = placement::stamp(cpu);
        let letter = Letter::read(&got.bytes)?;
        let done = self.done(cpu, (letter.peer, self.core.number));
        let signal = self.core.pool.at(&self.core.hands, letter.address);
        let mut ends = [[0; 4]; 2];
        let last = letter.len.saturating_sub(4) as u32;
        let read =
            |at: u32, to: &mut [u8]| narrows::platform::Memory::read(&signal, at, to).is_ok();
        let right = read(0, &mut ends[0]) && read(last, &mut ends[1]);
        self.spids.borrow_mut().insert(letter.peer, letter.spid);
        cpu.signal_received(u32::from_le_bytes(ends[0]).into(), received);
        let purpose = {
            let mut log = self.log.borrow_mut();
            let one = log.get_mut(u32::from_le_bytes(ends[0]) as usize)?;
            let flow = (letter.peer, self.core.number);
            one.wrong = !right || ends[0] != ends[1] || one.flow != flow || one.bytes != letter.len;
            one.wrong |= one.received != Time::ZERO;
            one.received = received;
            one.did = [0, 1].map(|side| done[side].since(&one.before[side]));
            one.purpose
        };
        self.core.pool.give(&signal);
        if self.core.short.take() {
            wake(&self.core, &os);
        }
        os.free(got);
        if let Some(Some(unit)) = self.core.units.get(letter.peer) {
            self.core.used(unit);
            if self.run.setup.counter == Some(Counter::Window) {
                placement::attend(&self.core, cpu);
            }
        }
        Some((letter.peer, purpose))
    }
}
