//! Where the connections of flows through accelerators lie: their cores, their ports and what they
//! keep in shared memory.

use narrows_sim::chip::{Chip, Clusters, Partitioning};

use super::Setting;
use crate::base::failure::{Failure, Kind};
use crate::base::table::listed;
use crate::formats::offload::{self, Offload};
use crate::rig::cluster::{Line, Side, WORDS};

/// The ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    /// The accelerator, by its place among the chip's.
    pub accelerator: usize,
    /// The core that sends blocks and the one that receives results.
    pub cores: [usize; 2],
}

/// One of a flow's parallel ways: to the accelerator and from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lane {
    pub to: Line,
    pub from: Line,
    /// Two buffers for blocks, in the sender's cluster.
    pub buffers: [u32; 2],
    /// Where results go, in the receiver's cluster.
    pub target: u32,
    /// Bytes of a block and of its result.
    pub sizes: [u32; 2],
}

/// Which cores are the ends of flows, and which core sets the ports of each accelerator up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cast {
    pub flows: Vec<Ends>,
    /// For each accelerator that a flow names, a core of its cluster that is no end of a flow.
    pub helpers: Vec<(usize, usize)>,
}

/// Gives every flow its accelerator and two cores of its own.
///
/// # Errors
/// The chip has no such accelerator or core, or too few cores.
pub(super) fn cast(chip: &Chip, clusters: &Clusters, work: &Offload) -> Result<Cast, Failure> {
    let wrong = |text: String| Failure::new(Kind::Workload, text);
    let core = |flow: &offload::Flow, name: &String| {
        chip.cores.iter().position(|core| core.name == *name).ok_or_else(|| {
            let cores: Vec<&str> = chip.cores.iter().map(|core| core.name.as_str()).collect();
            let cores = listed(&cores);
            wrong(format!("flow {}: {} has no core {name}: it has {cores}", flow.name, chip.name))
        })
    };
    let mut named = Vec::new();
    for flow in &work.flows {
        let known = clusters.accelerators.iter().position(|one| one.name == flow.accelerator);
        let accelerator = known.ok_or_else(|| {
            let all: Vec<&str> =
                clusters.accelerators.iter().map(|one| one.name.as_str()).collect();
            let has = if all.is_empty() { "none".into() } else { listed(&all) };
            let (name, wanted) = (&flow.name, &flow.accelerator);
            wrong(format!("flow {name}: {} has no accelerator {wanted}: it has {has}", chip.name))
        })?;
        let ends = [&flow.from, &flow.to].map(|name| name.as_ref().map(|name| core(flow, name)));
        let [from, to] = ends.map(Option::transpose);
        named.push((accelerator, [from?, to?]));
    }
    let taken: Vec<usize> = named.iter().flat_map(|(_, ends)| *ends).flatten().collect();
    let mut helpers: Vec<(usize, usize)> = Vec::new();
    for (accelerator, _) in &named {
        let cluster = &clusters.all[clusters.accelerators[*accelerator].cluster];
        let free = cluster.cores.iter().rev().find(|core| !taken.contains(*core));
        let free = *free.ok_or_else(|| {
            wrong(format!(
                "each core of {} is an end of a flow: one has to be left, to set up the ports of {}",
                cluster.name, clusters.accelerators[*accelerator].name
            ))
        })?;
        if !helpers.iter().any(|(known, _)| known == accelerator) {
            helpers.push((*accelerator, free));
        }
    }
    // Those of other clusters than an accelerator's first, and of each cluster one after the other.
    let far = |cluster: usize| {
        u8::from(named.iter().any(|(one, _)| clusters.accelerators[*one].cluster == cluster))
    };
    let helps = |core: usize| helpers.iter().any(|(_, helper)| *helper == core);
    let places = (0..chip.cores.len()).filter(|core| !taken.contains(core) && !helps(*core));
    let mut free: Vec<_> = places
        .filter_map(|core| {
            let (cluster, number) = chip.cluster_of(core)?;
            Some((far(cluster), number, cluster, core))
        })
        .collect();
    free.sort_unstable();
    let mut free = free.into_iter().map(|(.., core)| core);
    let mut flows = Vec::new();
    for (accelerator, ends) in named {
        let [Some(from), Some(to)] = ends.map(|end| end.or_else(|| free.next())) else {
            let text = format!(
                "{} has {} cores: each flow needs two of its own, and each accelerator one of its \
                 cluster to set its ports up",
                chip.name,
                chip.cores.len()
            );
            return Err(wrong(text));
        };
        flows.push(Ends { accelerator, cores: [from, to] });
    }
    Ok(Cast { flows, helpers })
}

/// What is left of a cluster's ports and of its shared memory.
#[derive(Clone, Copy, Default)]
struct Used {
    ports: u32,
    bytes: u32,
}

impl Used {
    fn port(&mut self) -> Option<u8> {
        self.ports += 1;
        u8::try_from(self.ports - 1).ok()
    }

    fn room(&mut self, bytes: u32) -> Option<u32> {
        let at = self.bytes;
        self.bytes = at.checked_add(bytes.next_multiple_of(64))?;
        Some(at)
    }
}

/// The ways of each flow by a setting. `None` if the chip has too few ports or too little memory.
pub(super) fn lanes(chip: &Chip, cast: &Cast, setting: Setting) -> Option<Vec<Vec<Lane>>> {
    let clusters = chip.clusters.as_ref()?;
    let mut used = vec![Used::default(); clusters.all.len()];
    let mut all = Vec::new();
    for ends in &cast.flows {
        let lanes = (0..setting.ports).map(|_| lane(chip, clusters, &mut used, ends, setting));
        all.push(lanes.collect::<Option<Vec<Lane>>>()?);
    }
    let fits = clusters.all.iter().zip(&used).all(|(cluster, used)| {
        used.ports <= clusters.manager.ports && used.bytes <= chip.memories[cluster.memory].size
    });
    fits.then_some(all)
}

fn lane(
    chip: &Chip,
    clusters: &Clusters,
    used: &mut [Used],
    ends: &Ends,
    setting: Setting,
) -> Option<Lane> {
    let facts = clusters.accelerators.get(ends.accelerator)?;
    let number = u8::try_from(clusters.accelerator_number(ends.accelerator)?).ok()?;
    // A result leaves through the port behind the one that its block came to.
    let takes = Side { cluster: facts.cluster, cpu: number, ..side(used, facts.cluster)? };
    let gives = Side { cluster: facts.cluster, cpu: number, ..side(used, facts.cluster)? };
    let [from, to] = ends.cores.map(|core| chip.cluster_of(core));
    let mut end = |(cluster, number): (usize, usize)| {
        Some(Side { cpu: u8::try_from(number).ok()?, ..side(used, cluster)? })
    };
    let (mut ways, bytes) =
        ([[end(from?)?, takes], [gives, end(to?)?]], setting.credits.checked_mul(4)?);
    for [from, to] in &mut ways {
        let keeps = match clusters.manager.partitioning {
            Partitioning::AtReceiver | Partitioning::Apart => to,
            Partitioning::AtSender => from,
        };
        if !clusters.manager.hardware {
            keeps.fifo = used[keeps.cluster].room(bytes)?;
        }
    }
    let [to, from] = ways.map(|[from, to]| Line { from, to, bytes });
    let mut block = || used[to.from.cluster].room(facts.block);
    let buffers = [block()?, block()?];
    let target = used[from.to.cluster].room(facts.result)?;
    Some(Lane { to, from, buffers, target, sizes: [facts.block, facts.result] })
}

/// A side with a port and words of its own.
fn side(used: &mut [Used], cluster: usize) -> Option<Side> {
    let here = used.get_mut(cluster)?;
    Some(Side { cluster, cpu: 0, port: here.port()?, words: here.room(WORDS)?, fifo: 0 })
}
