//! How a node is opened, on either side.

use super::{ANSWER, CALLER};
use crate::base::failure::{Failure, Kind};
use crate::rig::service;
use narrows::endpoint::Limits as Tables;
use narrows::link::LinkId;
use narrows::memory::{Class, Layout};
use narrows::platform::Platform;
use narrows::strategy::Placement;
use narrows_host::{Host, Node, OpenError};
use std::path::PathBuf;

/// How one side's node is opened.
pub(crate) struct Settings {
    pub directory: PathBuf,
    pub domain: String,
    pub name: String,
    pub core: usize,
    /// A copy engine, and its core.
    pub engine: Option<Option<usize>>,
    pub longest: usize,
    /// Links, each with a small region; one with the usual region if none are named.
    pub links: Option<usize>,
}

/// Opens one side's node and pins the thread.
pub(crate) fn open(settings: &Settings) -> Result<Node, Failure> {
    let mut options = narrows_host::Options::new(&settings.name)
        .domain(&settings.domain)
        .directory(&settings.directory)
        .core(settings.core);
    if let Some(core) = settings.engine {
        options = options.copy_engine(core);
    }
    let layout = match settings.links {
        Some(_) => small(),
        None => layout(settings.longest),
    };
    if let Some(layout) = layout {
        options = options.layout(layout);
    }
    let host = options.open().map_err(|error| not_opened(&error))?;
    // A message of several requests is as long as its block, whatever each of them is.
    let block = layout.map_or(0, |layout| layout.longest(Placement::External));
    let longest = block.max(ANSWER) as usize;
    let links = settings.links.unwrap_or(1) + 1;
    let endpoints = usize::from(service::MANY_PORTS + service::MOST_PORTS);
    let tables = Tables { links, endpoints, flows: 80, inbox: 1024, longest };
    Node::new(host, tables).map_err(|_| {
        Failure::new(Kind::Internal, "there is no memory for the tables of a node: free some")
    })
}

/// The link to the caller, while it is up.
pub(crate) fn caller<P: Platform>(node: &narrows::endpoint::Node<P>) -> Option<LinkId> {
    let mut links = node.links();
    links.find(|(_, name)| name.as_str() == CALLER).map(|(link, _)| link)
}

/// Why a node could not be opened.
pub(crate) fn not_opened(error: &OpenError) -> Failure {
    let kind = match error {
        OpenError::Name(_) | OpenError::Taken(_) => Kind::Name,
        OpenError::Core(_) => Kind::Usage,
        _ => Kind::Internal,
    };
    Failure::new(kind, error.to_string())
}

/// What messages of a bench with many links need, and room for one answer of [`service`].
pub(crate) fn small() -> Option<Layout> {
    let class = |size, count| Class { placement: Placement::External, size, count };
    Layout::new(Host::LINE, 256, &[class(Host::LINE, 64), class(1024, 8), class(ANSWER, 1)]).ok()
}

/// The usual layout, with larger external blocks where messages need them.
fn layout(longest: usize) -> Option<Layout> {
    /// Bytes of the larger blocks of one side, as far as they are used.
    const LARGE: usize = 256 << 20;
    /// Room for what the stack adds where several requests go in one message.
    const FRAMES: usize = 64;
    let standard = Layout::standard(Host::LINE).ok()?;
    let longest = longest.min(crate::formats::workload::MAX_BYTES);
    if longest <= standard.longest(Placement::External) as usize {
        return Some(standard);
    }
    let size = u32::try_from((longest + FRAMES).min(crate::formats::workload::MAX_BYTES)).ok()?;
    let count = (LARGE / longest).clamp(8, 40) as u32;
    let mut classes = standard.classes().to_vec();
    classes.push(Class { placement: Placement::External, size, count });
    Layout::new(Host::LINE, standard.slots(), &classes).ok()
}
