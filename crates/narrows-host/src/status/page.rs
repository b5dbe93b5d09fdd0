//! The bytes of a status page: docs/WIRE.md has them. What is read here may be anybody's nonsense.

use narrows::link::Name;
use narrows::platform::{FlowEnd, FlowStage};
use narrows::strategy::{ENCODED, Strategy};

pub(crate) const MAGIC: u32 = 0x4e52_5753;
pub(crate) const VERSION: u32 = 2;
/// Words of the page, at the beginning of the memory.
pub(crate) const WORDS: u32 = 1 << 14;
/// Links and flows that it lists at most.
pub(crate) const LINKS: usize = 512;
pub(crate) const FLOWS: usize = 384;
/// Bytes of a name: its length, and room for the longest.
const NAME: usize = 1 + Name::MAX;
/// Where nothing is said of a region.
const NOTHING: u32 = u32::MAX;

/// Where a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkState {
    /// It is up.
    Up,
    /// This node ended it, because its peer broke the protocol or it had no place for it.
    Ended,
    /// The peer closed it.
    Closed,
    /// The peer died.
    Died,
    /// The peer broke the protocol.
    Corrupt,
    /// The peer had no place for it.
    Full,
}

impl LinkState {
    const ALL: [LinkState; 6] = [
        LinkState::Up,
        LinkState::Ended,
        LinkState::Closed,
        LinkState::Died,
        LinkState::Corrupt,
        LinkState::Full,
    ];

    /// Its name in tables and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LinkState::Up => "up",
            LinkState::Ended => "ended",
            LinkState::Closed => "closed",
            LinkState::Died => "died",
            LinkState::Corrupt => "corrupt",
            LinkState::Full => "full",
        }
    }
}

/// A region that is to be read beside the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The node's descriptor of it.
    pub descriptor: u32,
    /// Which file that is.
    pub file: u64,
    /// Its size.
    pub size: u32,
    /// Where the books of its blocks are, in the page's memory.
    pub books: u32,
}

/// A link on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub key: u32,
    pub state: LinkState,
    pub peer: Name,
    pub incarnation: u64,
    pub framed: bool,
    pub place: Option<Place>,
}

/// A flow on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    pub link: u32,
    pub to: FlowEnd,
    pub stage: FlowStage,
    pub strategy: Strategy,
}

/// What a page begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub name: Name,
    pub incarnation: u64,
    pub process: u32,
    pub user: u32,
    /// When the node opened, in seconds since 1970.
    pub since: u64,
}

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub head: Head,
    /// Those that are listed, and how many there are.
    pub links: Vec<Link>,
    pub links_in_all: u32,
    pub flows: Vec<Flow>,
    pub flows_in_all: u32,
}

fn put(to: &mut Vec<u8>, word: u32) {
    to.extend_from_slice(&word.to_le_bytes());
}

fn put_long(to: &mut Vec<u8>, long: u64) {
    to.extend_from_slice(&long.to_le_bytes());
}

fn put_name(to: &mut Vec<u8>, name: &str) {
    let mut bytes = [0; NAME];
    bytes[0] = name.len().min(Name::MAX) as u8;
    bytes.iter_mut().skip(1).zip(name.bytes()).for_each(|(to, from)| *to = from);
    to.extend_from_slice(&bytes);
}

/// Writes what a page begins with. The links follow, then the flows.
pub(crate) fn begin(to: &mut Vec<u8>, head: &Head, links: [usize; 2], flows: [usize; 2]) {
    to.clear();
    put(to, MAGIC);
    put(to, VERSION);
    put(to, head.process);
    put(to, head.user);
    put_long(to, head.incarnation);
    put_long(to, head.since);
    put_name(to, head.name.as_str());
    for count in links.into_iter().chain(flows) {
        put(to, u32::try_from(count).unwrap_or(u32::MAX));
    }
}

/// Writes a link.
pub(crate) fn put_link(to: &mut Vec<u8>, link: &Link) {
    let place = link.place;
    put(to, link.key);
    put(to, link.state as u32 | u32::from(link.framed) << 8);
    put_long(to, link.incarnation);
    put_long(to, place.map_or(0, |place| place.file));
    put(to, place.map_or(NOTHING, |place| place.descriptor));
    put(to, place.map_or(0, |place| place.size));
    put(to, place.map_or(0, |place| place.books));
    put_name(to, link.peer.as_str());
}

/// Writes a flow.
pub(crate) fn put_flow(to: &mut Vec<u8>, flow: &Flow) {
    let (kind, port, name) = match &flow.to {
        FlowEnd::Port(port) => (0, *port, ""),
        FlowEnd::Function(name) => (1, 0, name.as_str()),
    };
    put(to, flow.link);
    put(to, flow.stage as u32 | kind << 8 | u32::from(port) << 16);
    to.extend_from_slice(&flow.strategy.encode());
    put_name(to, name);
}

/// What is left of a page to be read.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }
    fn word(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }
    fn long(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_le_bytes)
    }
    fn text(&mut self) -> Option<String> {
        let bytes: [u8; NAME] = self.bytes()?;
        let (len, text) = bytes.split_first()?;
        Some(std::str::from_utf8(text.get(..usize::from(*len))?).ok()?.to_owned())
    }
    fn name(&mut self) -> Option<Name> {
        self.text()?.parse().ok()
    }

    fn link(&mut self) -> Option<Link> {
        let (key, what) = (self.word()?, self.word()?);
        let (incarnation, file) = (self.long()?, self.long()?);
        let (descriptor, size, books) = (self.word()?, self.word()?, self.word()?);
        let place = (descriptor != NOTHING).then_some(Place { descriptor, file, size, books });
        let state = *LinkState::ALL.get(what as usize & 0xff)?;
        let framed = match what >> 8 {
            0 => false,
            1 => true,
            _ => return None,
        };
        Some(Link { key, state, peer: self.name()?, incarnation, framed, place })
    }

    fn flow(&mut self) -> Option<Flow> {
        let (link, what) = (self.word()?, self.word()?);
        let strategy = Strategy::decode(&self.bytes::<ENCODED>()?)?;
        let text = self.text()?;
        let stage = match what & 0xff {
            0 => FlowStage::Opening,
            1 => FlowStage::Running,
            2 => FlowStage::Switching,
            3 => FlowStage::Gone,
            _ => return None,
        };
        let to = match (what >> 8 & 0xff, (what >> 16) as u16) {
            (0, port) => FlowEnd::Port(port),
            (1, 0) => FlowEnd::Function(text.parse().ok()?),
            _ => return None,
        };
        Some(Flow { link, to, stage, strategy })
    }
}

/// What is wrong with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// It is of another version.
    Version(u32),
    /// What is in it makes no sense.
    Nonsense(&'static str),
}

impl Page {
    /// Reads a copy of a page's bytes.
    ///
    /// # Errors
    /// See [`Wrong`].
    pub(crate) fn read(bytes: &[u8]) -> Result<Page, Wrong> {
        let mut rest = Rest(bytes);
        if rest.word() != Some(MAGIC) {
            return Err(Wrong::Nonsense("it does not begin as a status page does"));
        }
        match rest.word() {
            Some(VERSION) => {}
            Some(version) => return Err(Wrong::Version(version)),
            None => return Err(Wrong::Nonsense("it is cut short")),
        }
        let head = || {
            let (process, user) = (rest.word()?, rest.word()?);
            let (incarnation, since) = (rest.long()?, rest.long()?);
            let name = rest.name()?;
            let counts = [rest.word()?, rest.word()?, rest.word()?, rest.word()?];
            Some((Head { name, incarnation, process, user, since }, counts))
        };
        let mut head = head;
        let (head, [links, links_in_all, flows, flows_in_all]) =
            head().ok_or(Wrong::Nonsense("what it begins with makes no sense"))?;
        let fit = links as usize <= LINKS && flows as usize <= FLOWS;
        if !fit || links > links_in_all || flows > flows_in_all {
            return Err(Wrong::Nonsense("it lists more links or flows than there can be"));
        }
        let bad = Wrong::Nonsense("a link on it makes no sense");
        let links: Result<Vec<Link>, Wrong> = (0..links).map(|_| rest.link().ok_or(bad)).collect();
        let bad = Wrong::Nonsense("a flow on it makes no sense");
        let links = links?;
        let flows: Result<Vec<Flow>, Wrong> = (0..flows).map(|_| rest.flow().ok_or(bad)).collect();
        let flows = flows?;
        if !rest.0.is_empty() {
            return Err(Wrong::Nonsense("it goes on where it should end"));
        }
        Ok(Page { head, links, links_in_all, flows, flows_in_all })
    }
}
