//! Clusters in platform files: what is read, and what is refused and why.

use super::*;
use crate::file::Mistake;

const TEXT: &str = include_str!("../../platforms/bmm-clusters.toml");

fn chip(text: &str) -> Result<Chip, Mistake> {
    Chip::parse("clusters", text)
}

#[test]
fn clusters_are_read_as_they_are_written() {
    let chip = chip(TEXT).unwrap();
    let clusters = chip.clusters.as_ref().unwrap();
    let Noc { clock, columns, rows, .. } = clusters.noc;
    assert_eq!((clock, columns, rows), (Frequency(500_000_000), 2, 2));
    let at: Vec<(u32, u32)> = clusters.all.iter().map(|cluster| cluster.at).collect();
    assert_eq!(at, [(0, 0), (1, 0), (0, 1), (1, 1)]);
    for (core, facts) in chip.cores.iter().enumerate() {
        assert_eq!(chip.cluster_of(core), Some((core / 2, core % 2)), "{}", facts.name);
        assert_eq!(facts.clock, Frequency(200_000_000));
        // What a word of a CPU takes at the bus: two of its cycles.
        let memory = &chip.memories[clusters.all[core / 2].memory];
        let bus = &chip.buses[memory.bus];
        let word = [bus.overhead, memory.write, memory.beat].map(|cost| cost.at(bus.clock));
        assert_eq!(word.into_iter().sum::<Time>(), facts.clock.cycles(2));
    }
    let BufferManager { words, credits, threshold, hardware, .. } = clusters.manager;
    assert_eq!((words, credits, threshold, hardware), (4096, 4096, 0, false));
    assert!(!chip.is_linked());
}

/// The arithmetic in the head of the file.
#[test]
fn calls_add_up_to_what_they_are_set_from() {
    let calls = chip(TEXT).unwrap().clusters.unwrap().calls;
    let of = |cost: Cost| cost.at(Frequency(1_000_000_000_000)).0 as f64;
    let over = of(calls.bmm_send) + of(calls.bmm_receive);
    let without = of(calls.dma_send) + of(calls.dma_receive);
    assert_eq!((over, ((1.0 - over / without) * 100.0).round()), (396.0, 49.0));
}

/// What is replaced by what, and then what is said of that.
const WRONG: &[(&str, &str, &str)] = &[
    (
        "mesh = [2, 2]",
        "mesh = [0, 2]",
        "noc.mesh is [0, 2]; expected from 1 to 16 columns and rows: a mesh of none has no route",
    ),
    ("mesh = [2, 2]", "mesh = [2, 17]", "noc.mesh is [2, 17]; expected from 1 to 16"),
    ("mesh = [2, 2]", "mesh = [2]", "noc.mesh is [2]; expected a list of columns and rows"),
    ("mesh = [2, 2]", "mesh = [2, -1]", "noc.mesh is [2, -1]; expected a list of columns"),
    (
        "mesh = [2, 2]",
        "mesh = [2, 1]",
        "cluster.at is [0, 1]; expected a column below 2 and a row below 1: there is no route out of the mesh",
    ),
    (
        "at = [0, 1]",
        "at = [1, 0]",
        "cluster.at is [1, 0]; expected a router that no other cluster is at",
    ),
    ("at = [0, 1]", "at = 3", "cluster.at is 3; expected a list of a column and a row"),
    ("flit = 4", "flit = 3", "noc.flit is 3; expected bytes that are a power of two"),
    ("header = 1", "header = 0", "noc.header is 0; expected a whole number from 1"),
    ("packet = 64", "packet = 4", "noc.packet is 4; expected bytes that are a power of two from 8"),
    ("link = 1", "link = 0", "noc.link is 0; expected a whole number from 1"),
    ("queue = 4", "queue = 0", "noc.queue is 0; expected a whole number from 1"),
    ("[noc]", "[nok]", "unknown key nok"),
    ("router = 3", "routers = 3", "unknown key noc.routers"),
    ("cores = [\"cpu0\", \"cpu1\"]", "cores = []", "cluster.cores is []; expected 1 to 16 cores"),
    (
        "cores = [\"cpu0\", \"cpu1\"]",
        "cores = [\"cpu0\"]",
        "core cpu1 is in no cluster; each has to be",
    ),
    (
        "cores = [\"cpu2\", \"cpu3\"]",
        "cores = [\"cpu2\", \"cpu1\"]",
        "cluster.cores is cpu1; expected each core in one cluster",
    ),
    (
        "memory = \"shared1\"",
        "memory = \"shared0\"",
        "cluster.memory is shared0; expected a memory that no other",
    ),
    (
        "memory = \"shared1\"",
        "memory = \"shared\"",
        "cluster.memory is shared; expected the name of a memory",
    ),
    (
        "name = \"cluster1\"",
        "name = \"cluster0\"",
        "cluster.name is cluster0; expected a name that nothing else",
    ),
    (
        "size = \"16KiB\"",
        "size = 3",
        "buffer_manager.size is 3; expected whole words of 4 bytes, and at least one",
    ),
    ("size = \"16KiB\"", "size = 0", "buffer_manager.size is 0; expected whole words"),
    ("size = \"16KiB\"", "size = 6", "buffer_manager.size is 6; expected whole words"),
    (
        "size = \"16KiB\"",
        "size = \"256KiB\"",
        "buffer_manager.size is 256KiB; expected bytes from 0 to 262140",
    ),
    (
        "threshold = 0",
        "threshold = 0\ncredits = 0",
        "buffer_manager.credits is 0; expected credit for a word or more: without any nothing is ever sent",
    ),
    (
        "threshold = 0",
        "threshold = 0\ncredits = 4097",
        "buffer_manager.credits is 4097; expected credit for no more than the 4096 words",
    ),
    (
        "threshold = 0",
        "threshold = 4097",
        "buffer_manager.threshold is 4097; expected at most the 4096 words",
    ),
    (
        "threshold = 0",
        "threshold = 9\ncredits = 8",
        "buffer_manager.threshold is 9; expected at most the 8 words",
    ),
    (
        "fifo = \"memory\"",
        "fifo = \"software\"",
        "buffer_manager.fifo is software; expected \"memory\" or \"hardware\"",
    ),
    (
        "ports = 32",
        "ports = 257",
        "buffer_manager.ports is 257; expected a whole number from 1 to 256",
    ),
    (
        "requests = 4",
        "requests = 0",
        "buffer_manager.requests is 0; expected a whole number from 1",
    ),
    (
        "partitioning = 1",
        "partitioning = 0",
        "buffer_manager.partitioning is 0; expected 1, 2 or 3: the FIFO at the receiver, its writer and reader apart, or the FIFO at the sender",
    ),
    (
        "partitioning = 1",
        "partitioning = 4",
        "buffer_manager.partitioning is 4; expected 1, 2 or 3: the FIFO at the receiver",
    ),
    (
        "partitioning = 1",
        "partitioning = \"apart\"",
        "buffer_manager.partitioning is apart; expected 1, 2 or 3",
    ),
    ("partitioning = 1", "portitioning = 1", "unknown key buffer_manager.portitioning"),
    (
        "partitioning = 1",
        "partitioning = 3\ncredits = 8",
        "buffer_manager.credits is 8; expected none with partitioning 3: a sender sees its own FIFO's room",
    ),
    ("jobs = 4", "jobs = 0", "block_dma.jobs is 0; expected a whole number from 1"),
    ("bmm_send = 125", "bmm_sent = 125", "unknown key calls.bmm_sent"),
    ("[calls]", "[call]", "unknown key call"),
    (
        "[[accelerator]]",
        "[[accelerator]]\nname = \"lone\"\nrate = 1\n[[accelerator]]",
        "accelerator.cluster is missing; expected the name of a cluster: cluster0",
    ),
    (
        "cluster = \"cluster3\"",
        "cluster = \"cluster4\"",
        "accelerator.cluster is cluster4; expected the name of a cluster: cluster0, cluster1, cluster2 or cluster3",
    ),
    (
        "rate = 1 ",
        "rate = 0 ",
        "accelerator.rate is 0; expected a byte in a cycle or more: at 0 no block is ever done",
    ),
    ("rate = 1 ", "rate = 257 ", "accelerator.rate is 257; expected a whole number from 0 to 256"),
    (
        "block = \"1KiB\"",
        "block = 16388",
        "accelerator.block is 16388; expected at most the 16384 bytes that a FIFO surely gets with its credit and threshold",
    ),
    (
        "result = \"1KiB\"",
        "result = 16388",
        "accelerator.result is 16388; expected at most the 16384 bytes that a FIFO surely gets",
    ),
    (
        "threshold = 0",
        "threshold = 3842",
        "accelerator.block is 1KiB; expected at most the 1020 bytes that a FIFO surely gets",
    ),
    ("block = \"1KiB\"", "block = 0", "accelerator.block is 0; expected whole words of 4 bytes"),
    ("result = \"1KiB\"", "result = 6", "accelerator.result is 6; expected whole words of 4 bytes"),
    (
        "latency = 16",
        "latency = -1",
        "accelerator.latency is -1; expected cycles as a whole number",
    ),
    ("latency = 16", "latency = 16\nports = 2", "unknown key accelerator.ports"),
    (
        "name = \"fft\"",
        "name = \"cpu7\"",
        "accelerator.name is cpu7; expected a name that nothing else of its kind has",
    ),
    (
        "size = \"4MiB\"",
        "size = \"8MiB\"",
        "cluster.memory is shared0; expected a memory of at most 4MiB",
    ),
    (
        "cached = false",
        "cached = true",
        "cluster.memory is shared0; expected a memory that caches do not keep",
    ),
];

#[test]
fn what_cannot_be_is_refused_with_key_and_reason() {
    for (from, to, expected) in WRONG {
        let at = TEXT.find(from).unwrap_or_else(|| panic!("{from}"));
        let text = TEXT.replacen(from, to, 1);
        let found = chip(&text).expect_err(to).to_string();
        let (place, said) = found.split_once(": ").unwrap();
        assert!(said.starts_with(expected), "{from} → {to}\nfound    {found}\nexpected {expected}");
        let line = TEXT[..at].matches('\n').count() + 1;
        let told: usize = place.split(':').nth(1).unwrap().parse().unwrap();
        assert!(told >= line || expected.starts_with("cluster.memory"), "{found}");
    }
}

#[test]
fn each_partitioning_has_its_number_and_with_the_third_no_threshold() {
    for one in Partitioning::ALL {
        let number = one.number();
        let text = TEXT.replace("partitioning = 1", &format!("partitioning = {number}"));
        assert_eq!(chip(&text).unwrap().clusters.unwrap().manager.partitioning, one);
        let said = chip(&text.replace("threshold = 0", "threshold = 1")).map_err(|e| e.to_string());
        match one {
            Partitioning::AtSender => {
                let said = said.unwrap_err();
                let why =
                    "buffer_manager.threshold is 1; expected 0 with partitioning 3: room is free";
                assert!(said.contains(why), "{said}");
            }
            _ => assert!(said.is_ok(), "{said:?}"),
        }
    }
}

#[test]
fn parts_of_clusters_mean_nothing_without_one() {
    let small = tests::SMALL.to_owned();
    for part in ["noc", "block_dma", "buffer_manager", "calls", "accelerator"] {
        let text = format!("{small}[{part}]\n");
        let said = chip(&text).unwrap_err().to_string();
        assert!(said.ends_with("expected none without a [[cluster]]"), "{said}");
    }
}

#[test]
fn a_chip_with_clusters_may_have_links_as_well() {
    let link = "[link]\ncontrol = \"shared0\"\ninternal = \"shared0\"\nexternal = \"shared0\"\n\
                slots = 4\nclasses = [{ placement = \"internal\", size = 64, count = 2 }]\n";
    let both = chip(&format!("{TEXT}{link}")).unwrap();
    assert!(both.is_linked() && both.clusters.is_some());
}

#[test]
fn accelerators_are_read_and_numbered_behind_the_cores_of_their_cluster() {
    let more = TEXT[TEXT.find("[[accelerator]]").unwrap()..].replace("fft", "next");
    let near = more.replace("next", "near").replace("cluster3", "cluster0");
    let clusters = chip(&format!("{TEXT}{near}{more}")).unwrap().clusters.unwrap();
    let names = |cluster| {
        let of = clusters.accelerators_of(cluster);
        of.map(|(at, one)| (at, one.name.as_str())).collect::<Vec<_>>()
    };
    assert_eq!(names(3), [(0, "fft"), (2, "next")]);
    assert_eq!((names(0), names(1)), (vec![(1, "near")], vec![]));
    let numbers = [0, 1, 2, 3].map(|at| clusters.accelerator_number(at));
    assert_eq!(numbers, [Some(2), Some(2), Some(3), None]);
    let Accelerator { block, result, .. } = clusters.accelerators[0];
    assert_eq!((block, result), (1024, 1024));
    assert_eq!(clusters.accelerators[0].takes(), Frequency(200_000_000).cycles(1040));
}

#[test]
fn no_cluster_has_more_cores_and_accelerators_than_a_request_tells_apart() {
    let one = &TEXT[TEXT.find("[[accelerator]]").unwrap()..];
    let many = |count: usize| {
        let more = (1..count).map(|at| one.replace("fft", &format!("fft{at}")));
        chip(&format!("{TEXT}{}", more.collect::<String>()))
    };
    assert_eq!(many(14).unwrap().clusters.unwrap().accelerators.len(), 14);
    let said = many(15).unwrap_err().to_string();
    let expected = "accelerator.cluster is cluster3; expected a cluster with at most 16 cores and";
    assert!(said.contains(expected), "{said}");
}
