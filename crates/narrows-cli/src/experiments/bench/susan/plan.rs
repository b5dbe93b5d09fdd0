//! Which CPU does what on a chip of clusters, and where everything lies in the shared memories.

use narrows_sim::chip::{Chip, Clusters, Partitioning};

use super::job::Job;
use crate::base::failure::{Failure, Kind};
use crate::rig::cluster::{Line, Side, WORDS};
use crate::rig::susan::Band;

/// A CPU and its part.
pub struct Member {
    pub core: usize,
    pub cluster: usize,
    pub band: Band,
    /// Where its strip lies in its cluster's shared memory.
    pub strip: u32,
    /// Where a row of results waits to go: one can be filled while the other goes.
    pub rows: [u32; 2],
}

/// How a further CPU is connected with the first: what it gets by, and what it gives by.
pub struct Pair {
    pub there: Line,
    pub back: Line,
}

/// Where all parts of a run are: CPUs, connections and what lies in the shared memories.
pub struct Plan {
    /// The first has the image and gets all results.
    pub members: Vec<Member>,
    /// Of all but the first.
    pub lines: Vec<Pair>,
    /// Bytes of a row in memory, and of a packet: whole words.
    pub stride: u32,
    /// Where the first has the results, one behind the other.
    pub planes: Vec<u32>,
}

/// What is taken of the clusters so far.
struct Taken {
    bytes: Vec<u64>,
    ports: Vec<u32>,
}

impl Taken {
    /// Memory of a cluster. What is beyond all memory is found at the end.
    fn memory(&mut self, cluster: usize, bytes: u64) -> u32 {
        let at = self.bytes[cluster];
        self.bytes[cluster] = (at + bytes).next_multiple_of(64);
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// A side of a connection, with room for a FIFO of `fifo` bytes if the FIFO is on this side.
    fn side(&mut self, (cluster, cpu): (usize, usize), fifo: Option<u32>) -> Side {
        let port = self.ports[cluster];
        self.ports[cluster] += 1;
        let words = self.memory(cluster, WORDS.into());
        let fifo = fifo.map_or(0, |bytes| self.memory(cluster, bytes.into()));
        // A cluster has 16 CPUs at most, and too many ports are found at the end.
        Side { cluster, cpu: cpu as u8, port: port as u8, words, fifo }
    }
}

/// The CPUs, in the order in which they are taken: one of each cluster, and then a second of each.
/// Each with its cluster, and its number there.
pub fn cpus(clusters: &Clusters) -> Vec<(usize, (usize, usize))> {
    let most = clusters.all.iter().map(|one| one.cores.len()).max().unwrap_or(0);
    let turn = |number: usize| {
        let all = clusters.all.iter().enumerate();
        all.filter_map(move |(at, one)| Some((*one.cores.get(number)?, (at, number))))
    };
    (0..most).flat_map(turn).collect()
}

impl Plan {
    /// # Errors
    /// The chip has no clusters, or fewer CPUs than `count`, or no room.
    pub fn new(chip: &Chip, job: &Job, count: usize) -> Result<Plan, Failure> {
        let cannot = |why: String| Failure::new(Kind::Workload, format!("{}: {why}", chip.name));
        let clusters = chip.clusters.as_ref().ok_or_else(|| cannot("it has no clusters".into()))?;
        let all = cpus(clusters);
        let (taken, _) = all.split_at_checked(count).ok_or_else(|| {
            let text = format!("--cpus {count}: {} has {}", chip.name, all.len());
            Failure::new(Kind::Usage, text)
        })?;
        let (width, height) = (job.image.width as u64, job.image.height as u64);
        let stride = width.next_multiple_of(4);
        let fifo = clusters.manager.words * 4;
        let partitioning = clusters.manager.partitioning;
        if stride > fifo.into() {
            let why = "a FIFO has no room for a row: take a narrower image";
            return Err(cannot(format!("the image is {width} pixels wide, and {why}")));
        }
        let mut room =
            Taken { bytes: vec![0; clusters.all.len()], ports: vec![0; clusters.all.len()] };
        let (mut members, mut lines) = (Vec::new(), Vec::new());
        let mut planes = Vec::new();
        for ((core, (cluster, number)), band) in taken.iter().zip(job.bands(count)) {
            let (core, cluster, own) = (*core, *cluster, (*cluster, *number));
            let kept = band.strip.len() as u64 * stride;
            let home = chip.memories[chip.cores[core].home].size;
            if kept > home.into() {
                let name = &chip.cores[core].name;
                return Err(cannot(format!(
                    "{name} has {home} bytes of its own, and its part of the image has {kept}: cut \
                     the image among more CPUs, or take a smaller one"
                )));
            }
            let (strip, rows) = match members.is_empty() {
                true => {
                    let strip = room.memory(cluster, height * stride);
                    planes.extend(job.finds.iter().map(|_| room.memory(cluster, height * stride)));
                    (strip, [0; 2])
                }
                false => {
                    let first = taken.first().map_or(own, |(_, first)| *first);
                    lines.push(connected(&mut room, (first, own), partitioning, fifo));
                    let strip = room.memory(cluster, kept);
                    (strip, [(); 2].map(|()| room.memory(cluster, stride)))
                }
            };
            members.push(Member { core, cluster, band, strip, rows });
        }
        for (cluster, one) in clusters.all.iter().enumerate() {
            let (bytes, size) = (room.bytes[cluster], chip.memories[one.memory].size);
            if bytes > size.into() {
                return Err(cannot(format!(
                    "the shared memory of {} has {size} bytes, and image, results and FIFOs need \
                     {bytes}: take a smaller image",
                    one.name
                )));
            }
            let (ports, there) = (room.ports[cluster], clusters.manager.ports);
            if ports > there {
                let name = &one.name;
                return Err(cannot(format!(
                    "{name} has {there} ports and needs {ports}: take fewer CPUs"
                )));
            }
        }
        // Not above the memory, whose size is a number of this kind.
        Ok(Plan { members, lines, stride: stride as u32, planes })
    }
}

/// Connects a CPU with the first.
fn connected(
    room: &mut Taken,
    (first, own): ((usize, usize), (usize, usize)),
    partitioning: Partitioning,
    bytes: u32,
) -> Pair {
    let at_sender = partitioning == Partitioning::AtSender;
    let mut line = |from, to| Line {
        from: room.side(from, at_sender.then_some(bytes)),
        // The library's FIFO is there in any case.
        to: room.side(to, Some(bytes)),
        bytes,
    };
    Pair { there: line(first, own), back: line(own, first) }
}
