//! `bench susan` on a chip of clusters. The first CPU has the image. It sends each other CPU its
//! strip, row by row, finds what is in its own, and takes what the others have found, a packet for
//! a row of each result.

use std::cell::{Cell, RefCell};

use narrows_sim::chip::Chip;
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::Time;

use super::job::Job;
use super::plan::{Member, Plan};
use crate::base::failure::{Failure, Kind};
use crate::base::usage::{self, Monitor};
use crate::formats::picture::Picture;
use crate::rig::cluster::{Broken, End, Line, Mechanism};
use crate::rig::susan::Work;

/// What came of it.
pub struct Ran {
    /// From the first packet until the first CPU has all results.
    pub time: Time,
    /// Packets of rows and of results.
    pub packets: u64,
    /// All bytes on the network.
    pub network: u64,
    /// The results; black where nothing was computed.
    pub planes: Vec<Picture>,
}

/// One run. Without computing, rows go there and back as with it, and pixels take no time.
///
/// # Errors
/// As [`Plan::new`]; or a block signals, or nothing can go on.
pub fn run(
    (chip, monitor): (&Chip, Option<&Monitor>),
    mechanism: Mechanism,
    job: &Job,
    (cpus, computes): (usize, bool),
) -> Result<Ran, Failure> {
    let plan = Plan::new(chip, job, cpus)?;
    let shared = |member: &Member| {
        chip.clusters.as_ref().map_or(0, |clusters| clusters.all[member.cluster].memory)
    };
    let outcome = Outcome::default();
    let mut simulation = Simulation::new(chip, Settings::default());
    for (number, member) in plan.members.iter().enumerate() {
        let memory = shared(member);
        let (plan, outcome) = (&plan, &outcome);
        simulation.process(member.core, &format!("susan {number}"), 1, move |cpu| {
            let at = Process { cpu: &cpu, job, plan, member, memory, mechanism, computes };
            let ended = match number.checked_sub(1) {
                None => at.first(outcome),
                Some(line) => at.further(line),
            };
            if let Err(why) = ended {
                outcome.broken.set(outcome.broken.get().or(Some(why)));
            }
        });
    }
    let over = usage::run(monitor, simulation);
    let cannot = |why: &str| Failure::new(Kind::Workload, format!("{}: {why}", chip.name));
    match (outcome.broken.get(), over, outcome.ran.into_inner()) {
        (Some(Broken::Signalled(fault)), ..) => Err(cannot(&format!("a block signals: {fault}"))),
        (_, Err(stuck), _) => Err(cannot(&stuck.to_string())),
        (None, Ok(_), Some(ran)) => Ok(ran),
        _ => Err(Failure::new(Kind::Internal, "rows were lost: report this defect".to_owned())),
    }
}

#[derive(Default)]
struct Outcome {
    broken: Cell<Option<Broken>>,
    ran: RefCell<Option<Ran>>,
}

/// What a CPU finds, row by row, and what each row takes.
struct Found {
    planes: Vec<Vec<u8>>,
    work: Work,
    rows: u64,
}

impl Found {
    /// Cycles of a row: what all rows take, spread evenly.
    fn cycles(&self, row: usize) -> u64 {
        let all = self.work.cycles();
        let until = |row: u64| all * row / self.rows.max(1);
        until(row as u64 + 1) - until(row as u64)
    }
}

/// A CPU at work.
struct Process<'a> {
    cpu: &'a Cpu,
    job: &'a Job,
    plan: &'a Plan,
    member: &'a Member,
    /// Its cluster's shared memory.
    memory: usize,
    mechanism: Mechanism,
    computes: bool,
}

impl<'a> Process<'a> {
    fn end(&self, line: Line) -> Result<End<'a>, Broken> {
        End::new(self.cpu, self.mechanism, line).ok_or(Broken::Over)
    }

    /// The address of a row of something that lies there.
    fn row(&self, base: u32, row: usize) -> u32 {
        base + row as u32 * self.plan.stride
    }

    /// Copies the strip from the shared memory to the CPU's own, where it is worked on, and finds
    /// what is in it.
    fn find(&self, strip: u32) -> Found {
        let (width, height) = (self.job.image.width, self.member.band.strip.len());
        let rows = self.member.band.rows.len() as u64;
        let mut own = Picture { width, height, pixels: Vec::new() };
        if !self.computes {
            return Found { planes: Vec::new(), work: Work::default(), rows };
        }
        let home = self.cpu.chip().cores[self.member.core].home;
        let mut bytes = vec![0; self.plan.stride as usize];
        for row in 0..height {
            self.cpu.load_bytes(self.memory, self.row(strip, row), &mut bytes);
            self.cpu.store_bytes(home, self.row(0, row), &bytes);
            own.pixels.extend_from_slice(&bytes[..width]);
        }
        let (planes, work) = self.job.find(&self.member.band, &own);
        Found { planes, work, rows }
    }

    /// Takes as long as finding what is in a row does.
    fn compute(&self, found: &Found, row: usize) {
        let clock = self.cpu.chip().cores[self.member.core].clock;
        self.cpu.compute(clock.cycles(found.cycles(row)));
    }

    /// Writes what was found in a row to the shared memory.
    fn put(&self, found: &Found, (plane, row): (usize, usize), at: u32) {
        let width = self.job.image.width;
        if let Some(plane) = found.planes.get(plane) {
            let mut bytes = plane[row * width..(row + 1) * width].to_vec();
            bytes.resize(self.plan.stride as usize, 0);
            self.cpu.store_bytes(self.memory, at, &bytes);
        }
    }

    /// The CPU that has the image.
    fn first(&self, outcome: &Outcome) -> Result<(), Broken> {
        let Plan { lines, members, stride, planes } = self.plan;
        let image = self.member.strip;
        for row in 0..self.job.image.height {
            let mut bytes = self.job.image.row(row).to_vec();
            bytes.resize(*stride as usize, 0);
            self.cpu.store_bytes(self.memory, self.row(image, row), &bytes);
        }
        let ends = |line: fn(&super::plan::Pair) -> Line| {
            lines.iter().map(|pair| self.end(line(pair))).collect::<Result<Vec<End<'_>>, _>>()
        };
        let (mut there, mut back) = (ends(|pair| pair.there)?, ends(|pair| pair.back)?);
        back.iter().try_for_each(End::open_receiver)?;
        there.iter().try_for_each(End::open_sender)?;
        let (begun, mut packets) = (self.cpu.time(), 0);
        let others = members.get(1..).unwrap_or_default();
        for (end, other) in there.iter_mut().zip(others) {
            for row in other.band.strip.clone() {
                end.send(self.row(image, row), *stride)?;
                packets += 1;
            }
            end.settle()?;
        }
        // Its own strip begins where the image does.
        let found = self.find(image);
        let most = members.iter().map(|member| member.band.rows.len()).max().unwrap_or(0);
        for row in 0..most {
            if row < self.member.band.rows.len() {
                self.compute(&found, row);
                for (number, plane) in planes.iter().enumerate() {
                    self.put(&found, (number, row), self.row(*plane, row));
                }
            }
            // By now the others are as far.
            for (end, other) in back.iter_mut().zip(others) {
                if row >= other.band.rows.len() {
                    continue;
                }
                for plane in planes {
                    end.receive(self.row(*plane, other.band.rows.start + row), *stride)?;
                    packets += 1;
                }
            }
        }
        let time = self.cpu.time().since(begun);
        // What still goes back to the others counts.
        self.cpu.compute(Time::nanos(10_000));
        let network = self.cpu.network_bytes();
        let planes = planes.iter().map(|plane| self.plane(*plane)).collect();
        outcome.ran.replace(Some(Ran { time, packets, network, planes }));
        Ok(())
    }

    /// What lies in the shared memory as a picture.
    fn plane(&self, at: u32) -> Picture {
        let Picture { width, height, .. } = self.job.image;
        let mut picture = Picture { width, height, pixels: Vec::new() };
        let mut bytes = vec![0; width];
        for row in 0..height {
            self.cpu.load_bytes(self.memory, self.row(at, row), &mut bytes);
            picture.pixels.extend_from_slice(&bytes);
        }
        picture
    }

    /// Any other CPU.
    fn further(&self, line: usize) -> Result<(), Broken> {
        let Some(pair) = self.plan.lines.get(line) else { return Err(Broken::Over) };
        let Member { band, strip, rows, .. } = self.member;
        let stride = self.plan.stride;
        let (mut there, mut back) = (self.end(pair.there)?, self.end(pair.back)?);
        there.open_receiver()?;
        back.open_sender()?;
        for row in 0..band.strip.len() {
            there.receive(self.row(*strip, row), stride)?;
        }
        let found = self.find(*strip);
        let mut buffers = rows.iter().cycle();
        for row in 0..band.rows.len() {
            self.compute(&found, row);
            for plane in 0..self.plan.planes.len() {
                let Some(buffer) = buffers.next() else { return Err(Broken::Over) };
                self.put(&found, (plane, row), *buffer);
                back.send(*buffer, stride)?;
            }
        }
        back.settle()
    }
}
