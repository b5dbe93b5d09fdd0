//! A node's status page: what others may know of it without asking it.
//!
//! The page lies in sealed memory that the node alone writes, when a link comes or ends and when a
//! flow is opened, closed or changed: no message writes it. It says where the memory of each link
//! is, whose words tell the rest. A note in the domain's directory says where the page is.

pub(crate) mod page;

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use narrows::link::Name;
use narrows::memory::{page_room, write_page};
use narrows::platform::{FlowNote, Memory as _};
use rustix::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use rustix::fs::fstat;
use rustix::io;

use crate::memory::books::{PLACE, PLACES, Place, Places, Shown};
use crate::memory::words::OwnWords;
use crate::memory::{Region, sync};
use page::{FLOWS, Flow, Head, LINKS, Link, LinkState, WORDS};

/// Bytes of the page, behind which the places for books begin.
const PAGE: u32 = WORDS * 4;
/// Bytes of the page and of what is behind it.
pub(crate) const SIZE: u32 = PAGE + PLACES * PLACE;

/// A link, and the place of its books for as long as the node has its memory.
struct Entry {
    link: Link,
    kept: Weak<Place>,
}

/// See the module page.
pub(crate) struct Status {
    head: Head,
    words: OwnWords,
    memory: OwnedFd,
    places: Places,
    links: BTreeMap<u32, Entry>,
    /// By their places in the node's table.
    flows: Vec<Option<Flow>>,
    /// What is being written: kept, because opening a flow is to need no memory.
    bytes: Vec<u8>,
}

impl Status {
    /// Makes the page of a node.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn new(name: Name, incarnation: u64, user: u32) -> io::Result<Status> {
        let (region, memory) = Region::zeroed(SIZE)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let process = std::process::id();
        let mut status = Status {
            head: Head { name, incarnation, process, user, since },
            words: region.page(WORDS)?,
            memory,
            places: Places::of(&region, PAGE)?,
            links: BTreeMap::new(),
            flows: Vec::with_capacity(FLOWS),
            bytes: Vec::with_capacity(page_room(WORDS) as usize),
        };
        status.write();
        Ok(status)
    }

    /// Where others find it: the process, and its descriptor of the memory.
    pub(crate) fn whereabouts(&self) -> String {
        format!("{}/{}", self.head.process, self.memory.as_raw_fd())
    }

    /// Has others read the memory of a link that may come up, if there is room for its books.
    pub(crate) fn show(&self, region: &mut Region, memory: &OwnedFd) {
        // Without a descriptor to spare it is not seen.
        let show = || {
            let place = Arc::new(self.places.take()?);
            let memory = io::fcntl_dupfd_cloexec(memory.as_fd(), 0).ok()?;
            #[allow(clippy::unnecessary_cast, reason = "the types differ between architectures")]
            let file = fstat(&memory).ok()?.st_ino as u64;
            Some(Shown { memory, file, place })
        };
        if let Some(shown) = show() {
            region.show(shown);
        }
    }

    /// A link is up.
    pub(crate) fn up(
        &mut self,
        key: u32,
        (peer, incarnation): (Name, u64),
        region: &Region,
        framed: bool,
    ) {
        let shown = region.shown();
        let place = shown.map(|shown| page::Place {
            descriptor: shown.memory.as_raw_fd() as u32,
            file: shown.file,
            size: region.size(),
            books: shown.place.offset,
        });
        let kept = shown.map(|shown| Arc::downgrade(&shown.place)).unwrap_or_default();
        let state = LinkState::Up;
        let link = Link { key, state, peer, incarnation, framed, place };
        self.links.insert(key, Entry { link, kept });
        self.write();
    }

    /// A link that was up has ended. It is listed for as long as the node keeps its memory.
    pub(crate) fn ended(&mut self, key: u32, state: LinkState) {
        if let Some(entry) = self.links.get_mut(&key).filter(|e| e.link.state == LinkState::Up) {
            entry.link.state = state;
            self.write();
        }
    }

    /// What has become of a flow.
    pub(crate) fn flow(&mut self, place: u16, note: Option<&FlowNote>) {
        let place = usize::from(place);
        if place >= FLOWS || (note.is_none() && place >= self.flows.len()) {
            return;
        }
        if place >= self.flows.len() {
            self.flows.resize(place + 1, None);
        }
        let Some(flow) = self.flows.get_mut(place) else { return };
        let to = note.and_then(|note| note.to.or(flow.as_ref().map(|flow| flow.to)));
        let now = note.zip(to).map(|(note, to)| Flow {
            link: note.link,
            to,
            stage: note.stage,
            strategy: note.strategy,
        });
        if *flow != now {
            *flow = now;
            self.write();
        }
    }

    fn write(&mut self) {
        let up = |entry: &Entry| entry.link.state == LinkState::Up;
        self.links.retain(|_, entry| up(entry) || entry.kept.strong_count() > 0);
        let flows = self.flows.iter().flatten();
        let (links, listed) = (self.links.len(), flows.clone().count());
        page::begin(&mut self.bytes, &self.head, [links.min(LINKS), links], [listed, listed]);
        for entry in self.links.values().take(LINKS) {
            page::put_link(&mut self.bytes, &entry.link);
        }
        for flow in flows {
            page::put_flow(&mut self.bytes, flow);
        }
        write_page(&self.words, sync::full_fence, &self.bytes);
    }
}
