//! What was seen, as the text that Prometheus reads.

use super::row::{LinkRow, NodeRow};
use std::fmt::Write as _;

/// A family: its name, its kind, what it means, and its value where there is one.
type Family<R> = (&'static str, &'static str, &'static str, fn(&R) -> Option<f64>);

const NODES: [Family<NodeRow>; 6] = [
    ("node_alive", "gauge", "1 if the node is alive, 0 if only its name is there", |n| {
        (n.state != "unknown").then_some(if n.state == "alive" { 1.0 } else { 0.0 })
    }),
    ("node_links", "gauge", "Links that are up.", |n| read(n, n.links as f64)),
    ("node_links_ended", "gauge", "Links that have ended and are not closed.", |n| {
        read(n, n.links_ended as f64)
    }),
    ("node_flows", "gauge", "Flows that the node has opened.", |n| read(n, n.flows as f64)),
    ("node_blocks_lent", "gauge", "Blocks that peers have.", |n| read(n, n.blocks_lent as f64)),
    ("node_blocks_held", "gauge", "Blocks that the application has.", |n| {
        read(n, n.blocks_held as f64)
    }),
];

const LINKS: [Family<LinkRow>; 9] = [
    ("link_up", "gauge", "1 if the link is up.", |l| Some(if l.state == "up" { 1.0 } else { 0.0 })),
    ("link_sent_total", "counter", "Messages sent, modulo 2^32.", |l| l.sent.map(f64::from)),
    ("link_received_total", "counter", "Messages received, modulo 2^32.", |l| {
        l.received.map(f64::from)
    }),
    ("link_channels_sent_total", "counter", "Words and packets sent, modulo 2^32.", |l| {
        l.channels_sent.map(f64::from)
    }),
    ("link_channels_received_total", "counter", "Words and packets received, modulo 2^32.", |l| {
        l.channels_received.map(f64::from)
    }),
    ("link_waiting", "gauge", "Messages that wait to be received.", |l| l.waiting.map(f64::from)),
    ("link_credit", "gauge", "Messages that can be sent at once.", |l| l.credit.map(f64::from)),
    ("link_blocks_lent", "gauge", "Blocks that the peer has.", |l| l.blocks_lent.map(f64::from)),
    ("link_sleeps", "gauge", "1 if the node sleeps.", |l| {
        l.waits.map(|waits| if waits == "awake" { 0.0 } else { 1.0 })
    }),
];

/// What is known of a node whose page was read.
fn read(node: &NodeRow, value: f64) -> Option<f64> {
    node.problem.is_none().then_some(value)
}

/// Of each node and link its counts. Names need no escape: they are letters, digits, `.`, `_` and
/// `-`.
pub fn text(rows: &[NodeRow]) -> String {
    let mut text = String::new();
    let node = |n: &NodeRow| format!("domain=\"{}\",node=\"{}\"", n.domain, n.node);
    let mut family = |name: &str, kind: &str, help: &str, samples: Vec<(String, f64)>| {
        let help = help.trim_end_matches('.');
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP narrows_{name} {help}.\n# TYPE narrows_{name} {kind}");
        for (labels, value) in samples {
            let _ = writeln!(text, "narrows_{name}{{{labels}}} {value}");
        }
    };
    for (name, kind, help, of) in NODES {
        let samples = rows.iter().filter_map(|row| Some((node(row), of(row)?)));
        family(name, kind, help, samples.collect());
    }
    for (name, kind, help, of) in LINKS {
        let links = rows.iter().flat_map(|row| row.each_link.iter().map(move |link| (row, link)));
        let labels = |row: &NodeRow, link: &LinkRow| {
            format!("{},peer=\"{}\",link=\"{}\"", node(row), link.peer, link.link)
        };
        let samples = links.filter_map(|(row, link)| Some((labels(row, link), of(link)?)));
        family(name, kind, help, samples.collect());
    }
    let flows = rows.iter().flat_map(|row| row.each_flow.iter().map(move |flow| (row, flow)));
    let flows = flows.enumerate().map(|(number, (row, flow))| {
        let to = flow.function.clone().unwrap_or_else(|| {
            format!("port {}", flow.port.map_or_else(String::new, |port| port.to_string()))
        });
        let peer = flow.peer.as_deref().unwrap_or_default();
        let labels = format!(
            "{},peer=\"{peer}\",flow=\"{number}\",to=\"{to}\",strategy=\"{}\",stage=\"{}\"",
            node(row),
            flow.strategy,
            flow.stage
        );
        (labels, 1.0)
    });
    family("flow", "gauge", "A flow with its strategy.", flows.collect());
    text
}
