//! What was seen, as rows: `docs/JSON.md` describes them.

use super::watch::{Look, Moved, wrapped};
use narrows_host::observe::{Counts, Flow, FlowEnd, FlowStage, Link, LinkState, Pulse, Seen};
use narrows_host::service::Offer;
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// A node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeRow {
    /// Its domain.
    pub domain: String,
    /// Its name.
    pub node: String,
    /// Whether it is alive.
    pub state: &'static str,
    /// Its process.
    pub pid: Option<u32>,
    /// The user that it runs as.
    pub user: Option<u32>,
    /// Which life of its name it is.
    pub life: Option<String>,
    /// Since when it is open.
    pub open_seconds: Option<u64>,
    /// Links that are up.
    pub links: usize,
    /// Links that have ended and that the node has not closed.
    pub links_ended: usize,
    /// Links that are up or ended and not among [`NodeRow::each_link`].
    pub links_not_listed: u32,
    /// Flows that it has opened.
    pub flows: usize,
    /// What it sent and received, a second.
    pub messages_per_second: f64,
    /// What it sent.
    pub sent_per_second: f64,
    /// What it received.
    pub received_per_second: f64,
    /// Blocks that it has lent.
    pub blocks_lent: u64,
    /// Blocks that its application has.
    pub blocks_held: u64,
    /// Its links.
    pub each_link: Vec<LinkRow>,
    /// Its flows.
    pub each_flow: Vec<FlowRow>,
    /// Services that it offers.
    pub each_service: Vec<ServiceRow>,
    /// Why there is no more to say of it.
    pub problem: Option<String>,
}

/// A link.
#[derive(Clone, Debug, Serialize)]
pub struct LinkRow {
    /// The node's number of it.
    pub link: u32,
    /// The peer.
    pub peer: String,
    /// Which life of the peer's.
    pub peer_life: String,
    /// Where it is.
    pub state: &'static str,
    /// What carries it.
    pub carrier: &'static str,
    /// Messages sent, modulo 2^32.
    pub sent: Option<u32>,
    /// Messages received.
    pub received: Option<u32>,
    /// Words and packets sent.
    pub channels_sent: Option<u32>,
    /// Words and packets received.
    pub channels_received: Option<u32>,
    /// What it sent, a second.
    pub sent_per_second: Option<f64>,
    /// What it received, a second.
    pub received_per_second: Option<f64>,
    /// Messages that wait to be received.
    pub waiting: Option<u32>,
    /// Messages that can be sent before the peer has to receive some.
    pub credit: Option<u32>,
    /// Slots of the ring.
    pub slots: Option<u32>,
    /// Blocks that the node has.
    pub blocks: Option<u32>,
    /// Blocks that it has lent.
    pub blocks_lent: Option<u32>,
    /// Blocks that its application has.
    pub blocks_held: Option<u32>,
    /// Whether it sleeps.
    pub waits: Option<&'static str>,
    /// The core on which it waited last.
    pub core: Option<u32>,
}

/// A flow.
#[derive(Clone, Debug, Serialize)]
pub struct FlowRow {
    /// The number of its link.
    pub link: u32,
    /// The peer.
    pub peer: Option<String>,
    /// The port that it goes to.
    pub port: Option<u16>,
    /// The function that it calls.
    pub function: Option<String>,
    /// Its strategy.
    pub strategy: String,
    /// Where it is.
    pub stage: &'static str,
}

/// A service.
#[derive(Clone, Debug, Serialize)]
pub struct ServiceRow {
    /// Its name.
    pub service: String,
    /// What its node says of it.
    pub text: String,
}

fn life(incarnation: u64) -> String {
    format!("{incarnation:016x}")
}

/// How a node that is alive or dead is called.
pub fn state(pulse: Pulse) -> &'static str {
    match pulse {
        Pulse::Alive => "alive",
        Pulse::Dead => "dead",
        Pulse::Unknown => "unknown",
    }
}

/// How the stage of a flow is called.
pub fn stage(stage: FlowStage) -> &'static str {
    match stage {
        FlowStage::Opening => "opening",
        FlowStage::Running => "running",
        FlowStage::Switching => "switching",
        FlowStage::Gone => "gone",
    }
}

/// What a node does at a link, as far as it says.
pub fn waits(counts: &Counts) -> Option<&'static str> {
    counts.own.map(|own| match (own.starves, own.sleeps) {
        (true, _) => "starves",
        (false, true) => "sleeps",
        (false, false) => "awake",
    })
}

fn link_row(link: &Link, moved: Option<Moved>) -> LinkRow {
    let counts = link.counts;
    let own = counts.and_then(|counts| counts.own);
    LinkRow {
        link: link.key,
        peer: link.peer.to_string(),
        peer_life: life(link.incarnation),
        state: link.state.name(),
        carrier: if link.framed { "stream" } else { "memory" },
        sent: counts.map(|counts| counts.sent),
        received: counts.map(|counts| counts.received),
        channels_sent: counts.map(|counts| counts.channels_sent),
        channels_received: counts.map(|counts| counts.channels_received),
        sent_per_second: moved.map(|moved| moved.sent),
        received_per_second: moved.map(|moved| moved.received),
        waiting: counts.and_then(|counts| counts.waiting),
        credit: counts.and_then(|counts| counts.credit),
        slots: own.map(|own| own.slots),
        blocks: own.map(|own| own.blocks),
        blocks_lent: own.map(|own| own.lent),
        blocks_held: own.map(|own| own.held),
        waits: counts.as_ref().and_then(waits),
        core: own.and_then(|own| own.core),
    }
}

fn flow_row(flow: &Flow, links: &[Link]) -> FlowRow {
    let (port, function) = match flow.to {
        FlowEnd::Port(port) => (Some(port), None),
        FlowEnd::Function(name) => (None, Some(name.to_string())),
    };
    let peer = links.iter().find(|link| link.key == flow.link);
    FlowRow {
        link: flow.link,
        peer: peer.map(|link| link.peer.to_string()),
        port,
        function,
        strategy: flow.strategy.to_string(),
        stage: stage(flow.stage),
    }
}

fn service_row(offer: &Offer) -> ServiceRow {
    ServiceRow { service: offer.service.to_string(), text: offer.text.clone() }
}

/// The row of a node, with the rates between two looks.
pub fn node_row(domain: &str, seen: &Seen, before: &Look, after: &Look) -> NodeRow {
    let mut row = NodeRow {
        domain: domain.to_owned(),
        node: seen.name.to_string(),
        state: state(seen.pulse),
        pid: None,
        user: None,
        life: None,
        open_seconds: None,
        links: 0,
        links_ended: 0,
        links_not_listed: 0,
        flows: 0,
        messages_per_second: 0.0,
        sent_per_second: 0.0,
        received_per_second: 0.0,
        blocks_lent: 0,
        blocks_held: 0,
        each_link: Vec::new(),
        each_flow: Vec::new(),
        each_service: after.offers(domain, &seen.name).map(service_row).collect(),
        problem: None,
    };
    let status = match &seen.status {
        Ok(status) => status,
        Err(error) => {
            row.problem = Some(error.to_string());
            return row;
        }
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    row.pid = Some(status.process);
    row.user = Some(status.user);
    row.life = Some(life(status.incarnation));
    row.open_seconds = Some(now.saturating_sub(status.since));
    let up = |link: &&Link| link.state == LinkState::Up;
    row.links = status.links.iter().filter(up).count();
    row.links_ended = status.links.len() - row.links;
    row.links_not_listed = status.links_not_listed;
    row.flows = status.flows.len();
    for link in &status.links {
        let moved = wrapped(before, after, (domain, status.incarnation, link.key));
        row.sent_per_second += moved.map_or(0.0, |moved| moved.sent);
        row.received_per_second += moved.map_or(0.0, |moved| moved.received);
        let own = link.counts.and_then(|counts| counts.own);
        row.blocks_lent += own.map_or(0, |own| own.lent.into());
        row.blocks_held += own.map_or(0, |own| own.held.into());
        row.each_link.push(link_row(link, moved));
    }
    row.messages_per_second = row.sent_per_second + row.received_per_second;
    row.each_flow = status.flows.iter().map(|flow| flow_row(flow, &status.links)).collect();
    row
}
