//! The clusters of a chip, as a row of JSON and in words.

use super::drawing::{bytes, frequency};
use super::json::ns;
use narrows_sim::chip::{
    Accelerator, BlockDma, BufferManager, Calls, Chip, Cluster, Clusters, Noc,
};
use serde_json::{Value, json};

/// The clusters of a chip, with what joins them. Numbers of cycles stay cycles of the network.
pub(super) fn row(chip: &Chip, clusters: &Clusters) -> Value {
    let Clusters { noc, all, dma, manager, calls, accelerators } = clusters;
    let Noc { clock, columns, rows, flit, header, packet, router, link, interface, queue } = noc;
    let BlockDma { jobs, start, burst: dma_burst, wake } = dma;
    let BufferManager {
        partitioning,
        ports,
        requests,
        lookup,
        burst,
        hardware,
        words,
        credits,
        threshold,
    } = manager;
    let Calls { dma_send, dma_receive, bmm_send, bmm_receive } = calls;
    // What blocks take is in cycles of their cluster's bus, and what calls take in cycles of their
    // core: of several, the first one's are shown.
    let first = all.first();
    let bus = first.map(|one| &chip.buses[chip.memories[one.memory].bus]);
    let block = |cost| bus.map(|bus| ns(cost, bus.clock));
    let core = first.and_then(|one| chip.cores.get(*one.cores.first()?));
    let call = |cost| core.map(|core| ns(cost, core.clock));
    json!({
        "noc": {
            "clock_hz": clock.0,
            "mesh": [columns, rows],
            "flit": flit,
            "header": header,
            "packet": packet,
            "router_cycles": router,
            "link_cycles": link,
            "interface_cycles": interface,
            "queue": queue,
        },
        "clusters": all.iter().map(|one| cluster_row(chip, one)).collect::<Vec<_>>(),
        "block_dma": {
            "jobs": jobs,
            "start_ns": block(*start),
            "burst": dma_burst,
            "wake_ns": block(*wake),
        },
        "buffer_manager": {
            "partitioning": partitioning.number(),
            "ports": ports,
            "requests": requests,
            "lookup_ns": block(*lookup),
            "burst": burst,
            "fifo": if *hardware { "hardware" } else { "memory" },
            "size": words * 4,
            "credits": credits,
            "threshold": threshold,
        },
        "calls": {
            "dma_send_ns": call(*dma_send),
            "dma_receive_ns": call(*dma_receive),
            "bmm_send_ns": call(*bmm_send),
            "bmm_receive_ns": call(*bmm_receive),
        },
        "accelerators": accelerators.iter().map(|one| accelerator(clusters, one)).collect::<Vec<_>>(),
    })
}

fn accelerator(clusters: &Clusters, one: &Accelerator) -> Value {
    let Accelerator { name, cluster, clock, block, result, latency, rate } = one;
    json!({
        "name": name,
        "cluster": clusters.all[*cluster].name,
        "clock_hz": clock.0,
        "block": block,
        "result": result,
        "latency_ns": ns(*latency, *clock),
        "rate": rate,
    })
}

fn cluster_row(chip: &Chip, cluster: &Cluster) -> Value {
    let Cluster { name, at, cores, memory } = cluster;
    let cores = cores.iter().map(|core| chip.cores[*core].name.as_str());
    json!({
        "name": name,
        "at": [at.0, at.1],
        "cores": cores.collect::<Vec<_>>(),
        "memory": chip.memories[*memory].name,
    })
}

/// The clusters and their network, in a line.
pub(super) fn words(chip: &Chip, clusters: &Clusters) -> String {
    let Noc { clock, columns, rows, flit, .. } = &clusters.noc;
    let each = clusters.all.iter().enumerate().map(|(at, one)| {
        let cores: Vec<&str> =
            one.cores.iter().map(|core| chip.cores[*core].name.as_str()).collect();
        let (column, row) = one.at;
        let functions = clusters.accelerators_of(at).map(|(_, other)| other.name.as_str());
        let members: Vec<&str> = cores.into_iter().chain(functions).collect();
        format!("{} with {} at {column}, {row}", one.name, members.join(" and "))
    });
    let each: Vec<String> = each.collect();
    format!(
        "network of {columns} by {rows} at {}, flits of {}: {}",
        frequency(*clock),
        bytes(*flit),
        each.join("; ")
    )
}

/// What a memory is to the clusters of a chip.
pub(super) fn role(chip: &Chip, memory: usize) -> Option<String> {
    let clusters = chip.clusters.as_ref()?;
    let of = clusters.all.iter().find(|one| one.memory == memory)?;
    Some(format!("shared in {}", of.name))
}
