//! Memory of another process's, mapped read-only: nothing of it is believed.

use narrows::memory::{
    Block, Counts, End, Glimpse, IN_SLOT, MAX_CHANNELS, Ring, Sight, Stock, page_room, page_version,
};
use narrows::memory::{Corrupt, read_page};
use narrows::platform::Memory as _;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::io::Errno;

use super::error::PageError;
use crate::memory::books::THERE;
use crate::memory::exposed::open_of;
use crate::memory::words::PeerWords;
use crate::memory::{LINE, PeerRegion, Unfit, sync};
use crate::status::SIZE;
use crate::status::page::{Page, Place, WORDS, Wrong};

/// How often a page that is just being written is read again.
const TRIES: u32 = 64;
/// How long the writer has between two of them.
const PAUSE: std::time::Duration = std::time::Duration::from_micros(100);

/// Opens memory that a process has open, and which file it is.
fn open(process: u32, descriptor: u32) -> Result<(OwnedFd, u64), PageError> {
    open_of(process, descriptor).map_err(|error| match error {
        Errno::ACCESS | Errno::PERM => PageError::Forbidden,
        _ => PageError::Unreachable,
    })
}

fn unfit(unfit: Unfit) -> PageError {
    match unfit {
        Unfit::Unsealed => PageError::Unsealed,
        Unfit::System => PageError::Unreachable,
    }
}

/// A node's page, and the books behind it.
pub(super) struct Paper {
    memory: PeerRegion,
    words: PeerWords,
}

impl Paper {
    pub(super) fn open(process: u32, descriptor: u32) -> Result<Paper, PageError> {
        let (memory, _) = open(process, descriptor)?;
        let memory = PeerRegion::new(memory.as_fd(), SIZE).map_err(unfit)?;
        let words = memory.words(0, WORDS).map_err(|_| PageError::Unsealed)?;
        Ok(Paper { memory, words })
    }

    pub(super) fn version(&self) -> u32 {
        page_version(&self.words)
    }

    /// Reads the page: its version, and what is on it.
    pub(super) fn read(&self) -> Result<(u32, Page), PageError> {
        let mut bytes = vec![0; page_room(WORDS) as usize];
        for _ in 0..TRIES {
            let read = read_page(&self.words, sync::full_fence, &mut bytes);
            let Some((version, length)) = read else {
                std::thread::sleep(PAUSE);
                continue;
            };
            let long = PageError::Nonsense("it says that it is longer than it can be");
            let page = Page::read(bytes.get(..length as usize).ok_or(long)?);
            return page.map(|page| (version, page)).map_err(|wrong| match wrong {
                Wrong::Version(version) => PageError::Version(version),
                Wrong::Nonsense(what) => PageError::Nonsense(what),
            });
        }
        Err(PageError::Unstable)
    }

    /// What the books of a region say; none if there are none any more.
    fn stock(&self, books: u32, len: usize) -> Option<Stock> {
        let mut bytes = vec![0; (len + 1) * 2];
        self.memory.read(books, &mut bytes).ok()?;
        let entries = bytes.chunks_exact(2).filter_map(|two| two.try_into().ok());
        let mut entries: Vec<u16> = entries.map(u16::from_le_bytes).collect();
        (entries.pop() == Some(THERE)).then(|| Stock::read(&entries))
    }
}

/// A node's region of a link.
pub(super) struct Sheet {
    sight: Sight<PeerRegion>,
    /// Which file it is.
    pub(super) file: u64,
    books: u32,
}

/// What a region said at a moment.
#[derive(Clone, Copy)]
pub(super) struct Said {
    pub end: End,
    pub messages: Counts,
    pub channels: [u32; 2],
    pub slots: u32,
    pub blocks: u32,
    pub stock: Option<Stock>,
}

impl Sheet {
    /// Maps a region; none if the node does not have it any more.
    pub(super) fn open(process: u32, place: &Place) -> Result<Option<Sheet>, PageError> {
        let Ok((memory, file)) = open(process, place.descriptor) else { return Ok(None) };
        if file != place.file {
            return Ok(None);
        }
        let memory = PeerRegion::new(memory.as_fd(), place.size).map_err(unfit)?;
        let bad = |_: Corrupt| PageError::Nonsense("memory that it names is no link's");
        let sight = Sight::new(memory, LINE).map_err(bad)?;
        Ok(Some(Sheet { sight, file, books: place.books }))
    }

    /// What it shows of the entry of this number of a ring.
    pub(super) fn entry(&self, ring: Ring, number: u32, to: &mut [u8; IN_SLOT]) -> Glimpse {
        self.sight.entry(ring, number, sync::full_fence, to).unwrap_or(Glimpse::Nonsense)
    }

    /// Reads a block of its node's. False if it is not inside the block.
    pub(super) fn block(&self, block: Block, to: &mut [u8]) -> bool {
        let read = self.sight.block(block, to);
        sync::full_fence();
        read
    }

    /// What it says of a ring: entries that its node has sent and taken.
    pub(super) fn counts(&self, ring: Ring) -> Option<Counts> {
        self.sight.counts(ring).ok()
    }

    /// Entries of a ring that its node has taken.
    pub(super) fn taken(&self, ring: Ring) -> Option<u32> {
        self.sight.taken(ring).ok()
    }

    /// Slots of a ring.
    pub(super) fn slots(&self, ring: Ring) -> u32 {
        self.sight.layout().slots_of(ring)
    }

    /// Its rings.
    pub(super) fn rings(&self) -> impl Iterator<Item = Ring> {
        let channels = self.sight.layout().channels().min(MAX_CHANNELS);
        std::iter::once(Ring::Messages).chain((0..channels).map(Ring::Channel))
    }

    /// What it says now.
    pub(super) fn look(&self, paper: &Paper) -> Result<Said, PageError> {
        let bad = |_| PageError::Nonsense("memory that it names is no link's");
        let layout = self.sight.layout();
        let mut channels = [0_u32; 2];
        for number in 0..layout.channels().min(MAX_CHANNELS) {
            let counts = self.sight.counts(Ring::Channel(number)).map_err(bad)?;
            channels[0] = channels[0].wrapping_add(counts.sent);
            channels[1] = channels[1].wrapping_add(counts.taken);
        }
        Ok(Said {
            end: self.sight.end().map_err(bad)?,
            messages: self.sight.counts(Ring::Messages).map_err(bad)?,
            channels,
            slots: layout.slots(),
            blocks: layout.blocks(),
            stock: paper.stock(self.books, layout.books()),
        })
    }
}
