//! Looking at nodes that run, without a word to them.
//!
//! Each node has a status page in sealed memory, which says what changes seldom: its links and its
//! flows. What changes with each message is in the links' own memory, which is mapped read-only as
//! a peer maps it. So nobody is asked, woken or slowed, and the nodes know nothing of it. The page
//! and that memory are open to the node's own user and to root; nothing in them is believed.
//!
//! ```
//! use narrows_host::Options;
//! use narrows_host::observe::Observer;
//!
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path();
//! let _node = Options::new("dsp").directory(dir).node()?;
//! let seen = Observer::new("default", Some(dir))?.look();
//! assert_eq!(seen[0].name.as_str(), "dsp");
//! assert_eq!(seen[0].status.as_ref().unwrap().process, std::process::id());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod memory;
mod tap;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use narrows::link::Name;
pub use narrows::platform::{FlowEnd, FlowStage};
use narrows::strategy::Strategy;

pub use self::error::{ObserveError, PageError};
use self::memory::{Paper, Said, Sheet};
pub use self::tap::{Passed, Tap, Tapped};
pub use crate::rendezvous::directory::Pulse;
use crate::rendezvous::directory::{self, Directory};
use crate::rendezvous::notes::Offer;
pub use crate::status::page::LinkState;
use crate::status::page::{self, Page};

/// A node that was looked at.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its name.
    pub name: Name,
    /// Whether it is alive. A dead one's name is there until another node of the domain removes it.
    pub pulse: Pulse,
    /// What its page says.
    pub status: Result<Status, PageError>,
}

/// What a node's status page says.
#[derive(Clone, Debug)]
pub struct Status {
    /// Its process.
    pub process: u32,
    /// The user that it runs as.
    pub user: u32,
    /// Which life of its name this is.
    pub incarnation: u64,
    /// When it opened, in seconds since 1970.
    pub since: u64,
    /// Its links: those that are up, and those that have ended and that it keeps.
    pub links: Vec<Link>,
    /// How many links are not listed, for want of room on the page.
    pub links_not_listed: u32,
    /// The flows that it has opened.
    pub flows: Vec<Flow>,
}

/// A link of a node's.
#[derive(Clone, Debug)]
pub struct Link {
    /// The node's own number for it.
    pub key: u32,
    /// The peer.
    pub peer: Name,
    /// Which life of the peer's.
    pub incarnation: u64,
    /// Where it is.
    pub state: LinkState,
    /// Whether frames over a socket carry it, instead of memory that both map.
    pub framed: bool,
    /// What its memory says; none if that is not to be seen.
    pub counts: Option<Counts>,
}

/// What a link's memory says at one moment. Counts wrap round at 2³², and are exact when nothing is
/// under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Messages, requests, responses and control messages sent.
    pub sent: u32,
    /// The same, received.
    pub received: u32,
    /// Words and packets sent over channels.
    pub channels_sent: u32,
    /// The same, received.
    pub channels_received: u32,
    /// What the node alone, or both nodes, say besides; none if only the peer's memory is to be
    /// seen, of which the counts above are taken then.
    pub own: Option<Own>,
    /// Messages of the peer's that wait to be received; none if the peer's memory is not seen.
    pub waiting: Option<u32>,
    /// Messages that the node can send before the peer has to give credit.
    pub credit: Option<u32>,
}

/// What a node's own memory of a link says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// Slots of its ring.
    pub slots: u32,
    /// Blocks that it has.
    pub blocks: u32,
    /// Blocks that it has lent to its peer and that the peer has not given back.
    pub lent: u32,
    /// Blocks that its application has.
    pub held: u32,
    /// Whether it sleeps, and wants to be rung when something comes.
    pub sleeps: bool,
    /// Whether it sleeps until it has credit or blocks.
    pub starves: bool,
    /// The core on which it waited last, if that is known.
    pub core: Option<u32>,
}

/// A flow that a node has opened.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The link that it goes over.
    pub link: u32,
    /// Where it goes.
    pub to: FlowEnd,
    /// Where it is.
    pub stage: FlowStage,
    /// Its strategy.
    pub strategy: Strategy,
}

/// A node whose page is open.
struct Known {
    whereabouts: (u32, u32),
    paper: Paper,
    version: u32,
    page: Page,
    sheets: BTreeMap<u32, Arc<Sheet>>,
}

/// The names of the domains in a directory, or in the one that nodes use.
///
/// # Errors
/// See [`ObserveError`]; each is a sentence that says what to do.
pub fn domains(directory: Option<&Path>) -> Result<Vec<Name>, ObserveError> {
    Ok(directory::domains(directory)?)
}

/// Looks at the nodes of a domain. It keeps open what it has seen, so that the next look costs
/// little.
pub struct Observer {
    domain: Name,
    /// The directory that was asked for.
    asked: Option<PathBuf>,
    directory: Directory,
    known: BTreeMap<String, Known>,
}

impl Observer {
    /// An observer of a domain, in a directory or in the one that nodes use.
    ///
    /// # Errors
    /// See [`ObserveError`]; each is a sentence that says what to do.
    pub fn new(domain: &str, directory: Option<&Path>) -> Result<Observer, ObserveError> {
        let name: Name = domain.parse().map_err(|_| ObserveError::Name(domain.into()))?;
        let asked = directory.map(Path::to_path_buf);
        let found = Directory::look(directory, &name)?;
        let directory = found.ok_or_else(|| ObserveError::NoDomain(domain.into()))?;
        Ok(Observer { domain: name, asked, directory, known: BTreeMap::new() })
    }

    /// The domain.
    #[must_use]
    pub fn domain(&self) -> &Name {
        &self.domain
    }

    /// Looks at every node of the domain, in the order of their names.
    pub fn look(&mut self) -> Vec<Seen> {
        // The last node of a domain removes its directory, and the next makes another.
        if !self.directory.is_current()
            && let Ok(Some(directory)) = Directory::look(self.asked.as_deref(), &self.domain)
        {
            self.directory = directory;
        }
        let names = self.directory.names();
        self.known.retain(|known, _| names.iter().any(|name| name.as_str() == known));
        let mut all: Vec<(Seen, Vec<Option<Said>>)> = Vec::new();
        for name in names {
            let pulse = self.directory.pulse(&name);
            // What a dead node's page said last is not so any more.
            let looked = match pulse {
                Pulse::Dead => Err(PageError::Unreachable),
                _ => self.look_at(&name),
            };
            let (status, said) = match looked {
                Ok((status, said)) => (Ok(status), said),
                Err(error) => {
                    self.known.remove(name.as_str());
                    (Err(error), Vec::new())
                }
            };
            all.push((Seen { name, pulse, status }, said));
        }
        // Each link is one of two nodes: what both say is put together.
        let mut ends = BTreeMap::new();
        for (seen, said) in &all {
            let Ok(status) = &seen.status else { continue };
            for (link, said) in status.links.iter().zip(said) {
                if let (Some(said), LinkState::Up) = (said, link.state) {
                    let of = (status.incarnation, link.incarnation);
                    ends.entry(of).or_insert_with(Vec::new).push((link.key, *said));
                }
            }
        }
        let joined = all.into_iter().map(|(mut seen, said)| {
            if let Ok(status) = &mut seen.status {
                let own = status.incarnation;
                for (link, said) in status.links.iter_mut().zip(said) {
                    let peers = ends.get(&(link.incarnation, own)).map_or(&[][..], Vec::as_slice);
                    // Of a link to itself a node has both ends.
                    let other =
                        |(key, _): &&(u32, Said)| own != link.incarnation || *key != link.key;
                    let peer = peers.iter().find(other).map(|(_, said)| *said);
                    let peer = peer.filter(|_| link.state == LinkState::Up);
                    link.counts = join(said, peer);
                }
            }
            seen
        });
        joined.collect()
    }

    /// The services that nodes of this user offer in the domain, in the order of their names; not
    /// those of nodes that are dead.
    #[must_use]
    pub fn offers(&self) -> Vec<Offer> {
        self.directory.offers()
    }

    /// Calls `each` for each ring of each direction of each link that is up and whose memory is to
    /// be seen, as it was when this was looked at last: with the sender's memory, and the
    /// receiver's if that is.
    fn directions(&self, mut each: impl FnMut(Tapped, &Arc<Sheet>, Option<&Arc<Sheet>>)) {
        for known in self.known.values() {
            let head = &known.page.head;
            for link in known.page.links.iter().filter(|link| link.state == LinkState::Up) {
                let Some(sheet) = known.sheets.get(&link.key) else { continue };
                let peer = self.known.get(link.peer.as_str());
                let peer = peer.filter(|peer| peer.page.head.incarnation == link.incarnation);
                let other = peer.and_then(|peer| peer.sheet_to(head.incarnation, link.key));
                for ring in sheet.rings() {
                    let tapped = Tapped {
                        node: head.name,
                        incarnation: head.incarnation,
                        peer: link.peer,
                        peer_incarnation: link.incarnation,
                        link: link.key,
                        ring,
                    };
                    each(tapped, sheet, other);
                }
            }
        }
    }

    fn look_at(&mut self, name: &Name) -> Result<(Status, Vec<Option<Said>>), PageError> {
        let whereabouts = self.directory.whereabouts(name).ok_or(PageError::NoPage)?;
        let key = name.as_str();
        if self.known.get(key).is_none_or(|known| known.whereabouts != whereabouts) {
            let paper = Paper::open(whereabouts.0, whereabouts.1)?;
            let (version, page) = paper.read()?;
            let known = Known { whereabouts, paper, version, page, sheets: BTreeMap::new() };
            self.known.insert(key.to_owned(), known);
        }
        let known = self.known.get_mut(key).ok_or(PageError::NoPage)?;
        if known.paper.version() != known.version {
            (known.version, known.page) = known.paper.read()?;
        }
        if known.page.head.name != *name {
            return Err(PageError::Nonsense("it is another node's"));
        }
        known.status()
    }
}

impl Known {
    /// The memory of the link to another life; of a link to itself, the end that is not this one.
    fn sheet_to(&self, incarnation: u64, key: u32) -> Option<&Arc<Sheet>> {
        let own = self.page.head.incarnation == incarnation;
        let mut links = self.page.links.iter().filter(|link| link.state == LinkState::Up);
        let link = links.find(|link| link.incarnation == incarnation && !(own && link.key == key));
        self.sheets.get(&link?.key)
    }

    /// What the page and the memory that it names say.
    fn status(&mut self) -> Result<(Status, Vec<Option<Said>>), PageError> {
        let Known { page, sheets, paper, whereabouts: (process, _), .. } = self;
        let there = |key: &u32| page.links.iter().any(|link| link.key == *key);
        sheets.retain(|key, _| there(key));
        let (mut links, mut all) = (Vec::new(), Vec::new());
        for link in &page.links {
            let said = match &link.place {
                Some(place) => look(*process, link.key, place, sheets, paper)?,
                None => None,
            };
            // What a node keeps of a link that has ended is gone when its books are.
            let kept = said.is_some_and(|said| said.stock.is_some());
            if link.state != LinkState::Up && !kept {
                continue;
            }
            links.push(Link {
                key: link.key,
                peer: link.peer,
                incarnation: link.incarnation,
                state: link.state,
                framed: link.framed,
                counts: None,
            });
            all.push(said);
        }
        let flows = page.flows.iter().map(|flow| Flow {
            link: flow.link,
            to: flow.to,
            stage: flow.stage,
            strategy: flow.strategy,
        });
        let head = &page.head;
        let status = Status {
            process: head.process,
            user: head.user,
            incarnation: head.incarnation,
            since: head.since,
            links,
            links_not_listed: page.links_in_all.saturating_sub(page.links.len() as u32),
            flows: flows.collect(),
        };
        Ok((status, all))
    }
}

/// What the memory of one link says, which is opened if it is not yet.
fn look(
    process: u32,
    key: u32,
    place: &page::Place,
    sheets: &mut BTreeMap<u32, Arc<Sheet>>,
    paper: &Paper,
) -> Result<Option<Said>, PageError> {
    if sheets.get(&key).is_none_or(|sheet| sheet.file != place.file) {
        match Sheet::open(process, place)? {
            Some(sheet) => sheets.insert(key, Arc::new(sheet)),
            None => return Ok(None),
        };
    }
    sheets.get(&key).map(|sheet| sheet.look(paper)).transpose()
}

/// Puts together what both ends of a link say, as its own end sees it.
fn join(own: Option<Said>, peer: Option<Said>) -> Option<Counts> {
    // What was under way between two looks is no message.
    let beyond = |more: u32, less: u32, most: u32| match more.wrapping_sub(less) {
        beyond if beyond <= most => beyond,
        beyond if beyond > u32::MAX / 2 => 0,
        _ => most,
    };
    let Some(said) = own else {
        // What the peer took was sent, and what it sent is taken soon.
        let peer = peer?;
        return Some(Counts {
            sent: peer.messages.taken,
            received: peer.messages.sent,
            channels_sent: peer.channels[1],
            channels_received: peer.channels[0],
            own: None,
            waiting: None,
            credit: None,
        });
    };
    let lent = said.stock.map(|stock| {
        // What the peer has given back, and the node has not taken back yet, is not lent.
        let back = peer.map_or(0, |peer| (peer.end.returned as u16).wrapping_sub(stock.back));
        stock.lent.saturating_sub(u32::from(back))
    });
    Some(Counts {
        sent: said.messages.sent,
        received: said.messages.taken,
        channels_sent: said.channels[0],
        channels_received: said.channels[1],
        waiting: peer.map(|peer| beyond(peer.messages.sent, said.messages.taken, peer.slots)),
        credit: peer
            .map(|peer| said.slots - beyond(said.messages.sent, peer.messages.credit, said.slots)),
        own: Some(Own {
            slots: said.slots,
            blocks: said.blocks,
            lent: lent.unwrap_or(0),
            held: said.stock.map_or(0, |stock| stock.held),
            sleeps: said.messages.sleeps,
            starves: said.end.wants,
            core: said.end.core.checked_sub(1),
        }),
    })
}
