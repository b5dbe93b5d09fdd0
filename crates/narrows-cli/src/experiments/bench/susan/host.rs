//! `bench susan` between processes of this machine: the first has the image, and each of the others
//! a packet channel from it and one to it.

use std::time::{Duration, Instant};

use narrows_host::{Carrier, system};

use super::job::Job;
use super::{Results, Row};
use crate::base::failure::{Failure, Kind};
use crate::base::options::{Cores, Global};
use crate::base::progress::Progress;
use crate::base::statistics::median;
use crate::formats::picture::Picture;
use crate::rig::mcapi::calls::Refused;
use crate::rig::mcapi::strips::Ends;
use crate::rig::peer::{Options, Peer};
use crate::rig::place::Other;
use crate::rig::service::Mode;
use crate::rig::service::susan::{LONGEST, Order, Part};
use crate::rig::susan::Band;

/// The most processes: each is a link of the first one's node.
const MOST: u16 = 32;
/// The most that are usual.
const USUAL: u16 = 8;
/// How often each is measured. A row has the medians.
const ROUNDS: u32 = 7;
/// How long another process has to end, if it is what a call failed for.
const FAREWELL: Duration = Duration::from_secs(1);

/// The usual numbers of processes: one for each core that may be used, and at least two.
pub fn usual() -> Vec<u16> {
    let cores = u16::try_from(system::cores().len()).unwrap_or(USUAL);
    (1..=cores.clamp(2, USUAL)).collect()
}

/// Measures each number of processes.
///
/// # Errors
/// The image is too wide, there are too many processes, or one of them is gone.
pub fn run(global: &Global, job: &Job, counts: &[u16]) -> Result<Results, Failure> {
    if job.image.width > LONGEST {
        let text = format!(
            "the image is {} pixels wide, and a row has to fit a packet of {LONGEST} bytes: take a \
             narrower image",
            job.image.width
        );
        return Err(Failure::new(Kind::Input, text));
    }
    if let Some(count) = counts.iter().find(|count| **count > MOST) {
        let text = format!("--cpus {count}: on this machine there are at most {MOST} processes");
        return Err(Failure::new(Kind::Usage, text));
    }
    // Before this thread is pinned to one of them.
    let cores = system::cores();
    let progress = Progress::new(counts.len() as u64, global.json);
    let mut results = Results::new();
    for (done, count) in (0..).zip(counts) {
        progress.reach(done);
        let mut crew = Crew::start(job, usize::from(*count), &cores)?;
        let (alone, _) = crew.measure(job, false)?;
        let (whole, planes) = crew.measure(job, true)?;
        let row = Row {
            mechanism: global.carrier.unwrap_or(Carrier::Memory).name(),
            cpus: *count,
            communication_cycles: None,
            execution_cycles: None,
            communication_us: alone,
            execution_us: whole,
            packets: crew.packets(job),
            network_bytes: None,
        };
        crew.close()?;
        results.add(row, planes)?;
    }
    Ok(results)
}

/// How much sooner several are done than one.
pub fn notes(rows: &[Row]) -> Vec<String> {
    let best = rows.iter().min_by(|one, other| one.execution_us.total_cmp(&other.execution_us));
    let one = rows.iter().find(|row| row.cpus == 1);
    let (Some(best), Some(one)) = (best, one) else { return Vec::new() };
    if best.cpus == 1 {
        return vec!["no number of processes is sooner done than one".to_owned()];
    }
    let times = one.execution_us / best.execution_us;
    vec![format!("{} processes are the soonest done: {times:.2} times as soon as one", best.cpus)]
}

/// All processes of a measurement.
struct Crew {
    bands: Vec<Band>,
    /// The others, and the channels with each.
    others: Vec<(Peer, Ends)>,
}

impl Crew {
    fn start(job: &Job, count: usize, cores: &[usize]) -> Result<Crew, Failure> {
        let mut crew = Crew { bands: job.bands(count), others: Vec::new() };
        if count < 2 {
            return Ok(crew);
        }
        let first = first_node();
        let core = |number: usize| cores.get(number % cores.len().max(1)).copied().unwrap_or(0);
        let options = Options { links: Some(1), ..Options::default() };
        let mut peers = Vec::new();
        for number in 1..count {
            let cores = Cores { caller: core(0), callee: core(number) };
            peers.push(Peer::start(cores, &options)?);
        }
        Ends::initialize(first).map_err(|refused| said(&refused))?;
        for (number, mut peer) in (1..).zip(peers) {
            peer.mode(Mode::Susan(Order::Open(first + number)))?;
            let ends = Ends::connect(first + number, number);
            let ends = ends.map_err(|refused| explain(&mut peer, &refused))?;
            crew.others.push((peer, ends));
        }
        Ok(crew)
    }

    /// The median of several rounds, in microseconds, and what was found in the last.
    fn measure(&mut self, job: &Job, computes: bool) -> Result<(f64, Vec<Picture>), Failure> {
        for ((peer, _), band) in self.others.iter_mut().zip(self.bands.iter().skip(1)) {
            let keep = band.keep();
            let mut finds = [None; 3];
            for (place, find) in finds.iter_mut().zip(&job.finds) {
                *place = Some(*find);
            }
            let part = Part {
                width: job.image.width,
                rows: band.strip.len(),
                keep: (keep.start, keep.end),
                finds,
                threshold: job.threshold,
                computes,
                count: ROUNDS,
            };
            peer.mode(Mode::Susan(Order::Take(part)))?;
        }
        let mut planes = job.planes();
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            self.round(job, computes, &mut planes)?;
            times.push(begun.elapsed().as_secs_f64() * 1e6);
        }
        Ok((median(&mut times).unwrap_or_default(), planes))
    }

    fn round(&mut self, job: &Job, computes: bool, planes: &mut [Picture]) -> Result<(), Failure> {
        let Some((own, bands)) = self.bands.split_first() else { return Ok(()) };
        for ((peer, ends), band) in self.others.iter_mut().zip(bands) {
            for row in band.strip.clone() {
                let sent = ends.send(job.image.row(row));
                sent.map_err(|refused| explain(peer, &refused))?;
            }
        }
        let width = job.image.width;
        if computes {
            let strip = Picture {
                width,
                height: own.strip.len(),
                pixels: job.image.pixels[..own.strip.len() * width].to_vec(),
            };
            let (found, _) = job.find(own, &strip);
            for (plane, found) in planes.iter_mut().zip(found) {
                plane.pixels[..found.len()].copy_from_slice(&found);
            }
        }
        for ((peer, ends), band) in self.others.iter_mut().zip(bands) {
            for row in band.rows.clone() {
                for plane in planes.iter_mut() {
                    let into = &mut plane.pixels[row * width..(row + 1) * width];
                    let whole = ends.receive(into).map_err(|refused| explain(peer, &refused))?;
                    if !whole {
                        let text = "a row is not as long as it was: report this defect";
                        return Err(Failure::new(Kind::Internal, text));
                    }
                }
            }
        }
        Ok(())
    }

    /// Rows there and rows of results back.
    fn packets(&self, job: &Job) -> u64 {
        let others = self.bands.iter().skip(1);
        others.map(|band| (band.strip.len() + band.rows.len() * job.finds.len()) as u64).sum()
    }

    fn close(mut self) -> Result<(), Failure> {
        if self.others.is_empty() {
            return Ok(());
        }
        for (peer, _) in &mut self.others {
            peer.mode(Mode::Susan(Order::Close))?;
        }
        Ends::finalize().map_err(|refused| said(&refused))
    }
}

/// A number that benches of different processes hardly share; the others' follow.
fn first_node() -> u32 {
    const NODES: u32 = 4096;
    let each = u32::from(MOST);
    std::process::id() % (NODES / each) * each
}

fn said(refused: &Refused) -> Failure {
    Failure::new(Kind::Internal, refused.to_string())
}

/// What it means that a call failed: the other process is gone, or what the call says.
fn explain(peer: &mut Peer, refused: &Refused) -> Failure {
    match peer.other.ended(FAREWELL) {
        Some(how) => Failure::new(Kind::Peer, format!("another process {how}")),
        None => said(refused),
    }
}
