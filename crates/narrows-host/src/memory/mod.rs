//! Regions on a host: sealed memory that its owner writes and a peer maps read-only.
#![allow(unsafe_code)]

pub(crate) mod books;
pub(crate) mod caches;
pub(crate) mod copy;
pub(crate) mod exposed;
pub(crate) mod fork;
pub(crate) mod mapping;
pub(crate) mod sync;
pub(crate) mod words;

use std::ptr::NonNull;
use std::sync::Arc;

use narrows::memory::Layout;
use narrows::platform::{Memory, OutOfRange, OwnMemory};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io;
use rustix::mm::ProtFlags;

use crate::memory::books::{Books, Shown};
use crate::memory::caches::Caches;
use crate::memory::copy::{LONG, copy, copy_around, copy_in, copy_out};
use crate::memory::mapping::Mapping;
use crate::memory::words::{OwnWords, PeerWords, Range};

/// The largest region that is mapped, in bytes: what the layout allows.
const LARGEST: u64 = 1 << 30;
/// Bytes of the longest block of which the pages are made before it is used.
pub(crate) const STANDARD: u32 = 65536;
/// Bytes of a region whose pages are made in one go: some 50 µs of work.
const SLICE: u32 = 64 << 10;
/// What `fstatfs` says of memory files, which hand out zeroes for holes and never fail a read.
const TMPFS: u64 = 0x0102_1994;

/// Bytes of a slot: two cache lines. The second comes together with the first, while a block would
/// come behind it.
pub const LINE: u32 = 128;
/// Bytes of what a region begins with: how it is laid out.
pub(crate) const HEADER: usize = 512;

/// What must be fixed about a region before a peer may see it, or before a peer's is mapped.
fn seals() -> SealFlags {
    SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE | SealFlags::SEAL
}

/// Whether this process may make memory of this size. Told by an error: the kernel would tell by a
/// signal that ends the process.
pub(crate) fn fits(size: u32) -> io::Result<()> {
    let most = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    if most.is_some_and(|most| u64::from(size) > most) {
        return Err(io::Errno::FBIG);
    }
    Ok(())
}

/// As [`fits`], of memory that may never be used: not where the number of the process's addresses
/// is limited.
pub(crate) fn fits_unused(size: u32) -> bool {
    let addresses = rustix::process::getrlimit(rustix::process::Resource::As).current;
    addresses.is_none() && fits(size).is_ok()
}

/// A region that this node owns: one per link, written by nobody else.
pub struct Region(Arc<Mapping>, Caches, Option<Arc<Shown>>);

impl Region {
    /// Makes a region of this layout, formatted and sealed, and the descriptor to send to the peer.
    pub(crate) fn new(layout: &Layout) -> io::Result<(Region, OwnedFd)> {
        Region::sealed(layout.size(), |region| layout.format_zeroed(region).ok())
    }

    /// Makes a region that is laid out as this header of a peer's says, formatted and sealed, and a
    /// descriptor of it.
    pub(crate) fn of_header(header: &[u8; HEADER], size: u32) -> io::Result<(Region, OwnedFd)> {
        Region::sealed(size, |region| {
            region.write(0, header).ok()?;
            Layout::read(region, LINE).ok()?.format_zeroed(region).ok()
        })
    }

    /// What a region begins with, by which another can be laid out like it.
    pub(crate) fn header(&self) -> io::Result<[u8; HEADER]> {
        let mut header = [0; HEADER];
        self.read(0, &mut header).map_err(|_| io::Errno::INVAL)?;
        Ok(header)
    }

    /// Makes a region that is all zero, sealed, and a descriptor of it. Its pages are made as they
    /// are used.
    pub(crate) fn zeroed(size: u32) -> io::Result<(Region, OwnedFd)> {
        Region::made(size, |_| Some(()))
    }

    fn sealed(
        size: u32,
        format: impl FnOnce(&Region) -> Option<()>,
    ) -> io::Result<(Region, OwnedFd)> {
        Region::made(size, |region| {
            format(region)?;
            // What every message needs; the rest is made when there is time, or as it is used.
            region.fill(0, None);
            Some(())
        })
    }

    fn made(
        size: u32,
        format: impl FnOnce(&Region) -> Option<()>,
    ) -> io::Result<(Region, OwnedFd)> {
        fits(size)?;
        let memory =
            rustix::fs::memfd_create("narrows", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::ftruncate(&memory, u64::from(size))?;
        let writable = ProtFlags::READ | ProtFlags::WRITE;
        let region = Region(Mapping::new(memory.as_fd(), size, writable)?, Caches::new(), None);
        format(&region).ok_or(io::Errno::INVAL)?;
        // After the one writable mapping and before anybody else has the descriptor.
        rustix::fs::fcntl_add_seals(&memory, seals())?;
        Ok((region, memory))
    }

    /// The address of a range, for the copy engine.
    pub(crate) fn range(&self, offset: u32, len: usize) -> Result<NonNull<u8>, OutOfRange> {
        self.0.range(offset, len)
    }

    /// Where blocks begin that are longer than usual, of which the pages are made as they are used.
    pub(crate) fn usual_end(&self) -> u32 {
        let layout = Layout::read(self, LINE);
        let long = layout.map(|layout| layout.places().find(|(_, class)| class.size > STANDARD));
        long.ok().flatten().map_or(self.size(), |(offset, _)| offset)
    }

    /// Has a slice of the pages made, and says where the next begins, if there is one: of all
    /// before `until`, or of what every link uses soon, which is all before the channels, and a
    /// slice of the blocks.
    pub(crate) fn fill(&self, from: u32, until: Option<u32>) -> Option<u32> {
        if let Some(until) = until {
            let next = self.0.fill(from, SLICE.min(until.checked_sub(from)?));
            return next.filter(|next| *next < until);
        }
        let layout = Layout::read(self, LINE).ok()?;
        let [header, control, slots, returns, ..] = layout.parts().map(|(_, bytes)| bytes);
        let channels = header + control + slots + returns;
        let (blocks, _) = layout.places().next()?;
        if from >= channels {
            self.0.fill(blocks.max(from), SLICE);
            return None;
        }
        let next = self.0.fill(from, SLICE.min(channels - from))?;
        Some(if next < channels { next } else { blocks })
    }

    /// The same region once more.
    pub(crate) fn share(&self) -> Region {
        Region(Arc::clone(&self.0), Caches::new(), self.2.clone())
    }

    /// A page of words at its beginning.
    pub(crate) fn page(&self, words: u32) -> io::Result<OwnWords> {
        self.words(0, words).map_err(|_| io::Errno::INVAL)
    }

    /// Has others read this region, and the books of its blocks, while the node has it.
    pub(crate) fn show(&mut self, shown: Shown) {
        self.2 = Some(Arc::new(shown));
    }

    /// What others read of this region.
    pub(crate) fn shown(&self) -> Option<&Shown> {
        self.2.as_deref()
    }

    /// Books of its blocks, all zero: where others can read them, if they may and there is room.
    pub(crate) fn books(&self, len: usize) -> Option<Books> {
        match &self.2 {
            Some(shown) => Books::shown(shown, len),
            None => Books::private(len),
        }
    }

    /// As [`OwnMemory::write`], of what is long.
    ///
    /// # Safety
    /// `to` is where that many bytes of the region begin.
    #[inline(never)]
    unsafe fn write_long(&self, from: &[u8], to: NonNull<u8>) {
        self.1.written(from.len(), |around| {
            // SAFETY: the caller vouches for it, and the own mapping is writable.
            unsafe {
                let around = around && copy_around(from, to);
                if !around {
                    copy_in(from, to);
                }
                around
            }
        });
    }

    /// Copies bytes of the region to others of it.
    pub(crate) fn carry(&self, to: u32, from: u32, len: usize) -> Result<(), OutOfRange> {
        if (to.abs_diff(from) as usize) < len {
            return Err(OutOfRange);
        }
        let (to, from) = (self.0.range(to, len)?, self.0.range(from, len)?);
        // SAFETY: `range` found that many bytes at both, which are further apart than that, and the
        // own mapping is writable.
        unsafe { copy::<false>(from.as_ptr(), to.as_ptr(), len) };
        Ok(())
    }

    /// Copies bytes of a peer's region to this one, with no memory in between.
    pub(crate) fn fetch(
        &self,
        to: u32,
        peer: &PeerRegion,
        from: u32,
        len: usize,
    ) -> Result<(), OutOfRange> {
        let (to, from) = (self.0.range(to, len)?, peer.0.range(from, len)?);
        // SAFETY: `range` found that many bytes at both, which are of two mappings and so do not
        // overlap, and the own mapping is writable.
        unsafe { copy::<true>(from.as_ptr(), to.as_ptr(), len) };
        Ok(())
    }
}

impl Memory for Region {
    type Words = OwnWords;

    fn size(&self) -> u32 {
        self.0.len
    }
    fn words(&self, offset: u32, count: u32) -> Result<OwnWords, OutOfRange> {
        Range::new(&self.0, offset, count).map(OwnWords)
    }
    #[inline]
    fn read(&self, offset: u32, to: &mut [u8]) -> Result<(), OutOfRange> {
        let from = self.0.range(offset, to.len())?;
        // SAFETY: `range` found that many bytes there.
        unsafe { copy_out(from, to) };
        Ok(())
    }
}

impl OwnMemory for Region {
    unsafe fn slice_mut(&mut self, offset: u32, len: u32) -> Option<&mut [u8]> {
        let start = self.0.range(offset, len as usize).ok()?;
        // SAFETY: `range` found that many bytes there, in memory that is writable and stays mapped
        // while `self` is borrowed; that nothing else touches them the caller vouches for.
        Some(unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), len as usize) })
    }
    #[inline]
    fn write(&self, offset: u32, from: &[u8]) -> Result<(), OutOfRange> {
        let to = self.0.range(offset, from.len())?;
        // SAFETY: `range` found that many bytes there, and the own mapping is writable.
        unsafe { if from.len() < LONG { copy_in(from, to) } else { self.write_long(from, to) } }
        Ok(())
    }
    #[inline(always)]
    fn write_short(&self, offset: u32, from: &[u8]) -> Result<(), OutOfRange> {
        if from.len() > 64 {
            return self.write(offset, from);
        }
        let to = self.0.range(offset, from.len())?;
        // SAFETY: as in `write`.
        unsafe { copy_in(from, to) };
        Ok(())
    }
}

/// Why a peer's region is not mapped.
#[derive(Debug)]
pub(crate) enum Unfit {
    /// It is not sealed memory of a reasonable size.
    Unsealed,
    /// The system refused.
    System,
}

impl From<io::Errno> for Unfit {
    fn from(_: io::Errno) -> Unfit {
        Unfit::System
    }
}

/// A peer's region, mapped read-only for as long as a clone of it is kept.
#[derive(Clone)]
pub struct PeerRegion(Arc<Mapping>);

impl PeerRegion {
    /// Where bytes of the region are, to be read in place. None if they are not all inside.
    ///
    /// The pointer is good for reading while this or a clone of it is kept. The peer can write
    /// there at any moment, through no fault of this process: so no reference may be made of it, it
    /// is read by volatile reads or in assembly, as a plain one would be a data race, each byte may
    /// differ at every look, and whatever is decided by one is decided on a copy. A peer that keeps
    /// the rules leaves a block alone from when it sent it until it is [given
    /// back](narrows::endpoint::ChannelView::release); after that its next packet may be there.
    #[must_use]
    pub fn at(&self, offset: u32, len: u32) -> Option<*const u8> {
        Some(self.0.range(offset, len as usize).ok()?.as_ptr().cast_const())
    }

    /// Maps what a peer sent, once it is certain that the peer can neither shrink it under this
    /// node's feet nor have it written by anybody else.
    pub(crate) fn new(memory: BorrowedFd<'_>, size: u32) -> Result<PeerRegion, Unfit> {
        // Files that are not memory have no seals at all; those on huge pages can fail a read.
        let sealed = match rustix::fs::fcntl_get_seals(memory) {
            Ok(found) => found.contains(seals()),
            Err(io::Errno::INVAL) => false,
            Err(error) => return Err(error.into()),
        };
        if !sealed || rustix::fs::fstatfs(memory)?.f_type as u64 != TMPFS {
            return Err(Unfit::Unsealed);
        }
        let stat = rustix::fs::fstat(memory)?;
        let actual = stat.st_size as u64;
        if actual != u64::from(size) || actual == 0 || actual > LARGEST {
            return Err(Unfit::Unsealed);
        }
        Ok(PeerRegion(Mapping::new(memory, size, ProtFlags::READ)?))
    }

    /// The address of a range, for the copy engine.
    pub(crate) fn range(&self, offset: u32, len: usize) -> Result<NonNull<u8>, OutOfRange> {
        self.0.range(offset, len)
    }

    /// Notes that a thread sleeps on words of it from now on.
    pub(crate) fn mark_slept_on(&self) {
        self.0.mark_slept_on();
    }

    /// Has the peer, whose link has ended, look as if it slept until the next message: the node
    /// that sends one rings, and so hears of the end.
    pub(crate) fn look_asleep(&self) {
        // Where it cannot be done, the node hears when the ring is full, or when it waits.
        let _ = self.0.keep_first_page(Layout::ARMED, 1);
    }
}

impl Memory for PeerRegion {
    type Words = PeerWords;

    unsafe fn slice(&self, offset: u32, len: u32) -> Option<&[u8]> {
        let start = self.0.range(offset, len as usize).ok()?;
        // SAFETY: `range` found that many bytes there, in memory that stays mapped while `self` is
        // borrowed; that nobody writes them the caller vouches for.
        Some(unsafe { std::slice::from_raw_parts(start.as_ptr(), len as usize) })
    }

    fn size(&self) -> u32 {
        self.0.len
    }
    fn words(&self, offset: u32, count: u32) -> Result<PeerWords, OutOfRange> {
        Range::new(&self.0, offset, count).map(PeerWords)
    }
    // Not beside the short way's other code: that would take more registers, and save and restore
    // them.
    #[inline(never)]
    fn read(&self, offset: u32, to: &mut [u8]) -> Result<(), OutOfRange> {
        let from = self.0.range(offset, to.len())?;
        // SAFETY: `range` found that many bytes there.
        unsafe { copy_out(from, to) };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows::platform::{Words as _, WordsMut as _};
    use rustix::fs::FallocateFlags;
    use std::os::fd::AsRawFd as _;

    fn region() -> (Region, OwnedFd) {
        Region::new(&Layout::standard(LINE).unwrap()).unwrap()
    }

    #[test]
    fn a_peer_that_is_gone_looks_asleep_and_its_bytes_stay_unless_a_thread_sleeps_on_them() {
        let (own, memory) = region();
        own.write(600, b"as it was").unwrap();
        for slept_on in [false, true] {
            let peer = PeerRegion::new(memory.as_fd(), own.size()).unwrap();
            let armed = peer.words(Layout::ARMED, 1).unwrap();
            if slept_on {
                peer.mark_slept_on();
            }
            peer.look_asleep();
            assert_eq!(armed.load(0), u32::from(!slept_on));
            let mut bytes = [0; 9];
            peer.read(600, &mut bytes).unwrap();
            assert_eq!(&bytes, b"as it was");
            own.write(600, b"then").unwrap();
            peer.read(600, &mut bytes).unwrap();
            assert_eq!(&bytes, if slept_on { b"thent was" } else { b"as it was" });
            own.write(600, b"as it was").unwrap();
        }
    }

    /// Everything a peer could try with the descriptor, or with its read-only mapping.
    #[test]
    fn whoever_gets_the_descriptor_can_read_and_nothing_else() {
        let (own, memory) = region();
        let size = own.size();
        let writable = ProtFlags::READ | ProtFlags::WRITE;
        assert!(Mapping::new(memory.as_fd(), size, writable).is_err(), "mapped for writing");
        assert!(Mapping::new(memory.as_fd(), size, ProtFlags::WRITE).is_err());

        let peer = PeerRegion::new(memory.as_fd(), size).unwrap();
        let address = peer.0.start.as_ptr().cast();
        let flags = rustix::mm::MprotectFlags::READ | rustix::mm::MprotectFlags::WRITE;
        // SAFETY: only asks for more of a mapping that stays where it is; granted, nobody uses it.
        assert!(unsafe { rustix::mm::mprotect(address, size as usize, flags) }.is_err());

        // SAFETY: only asks for the memory behind it to be removed; granted, nobody uses it.
        let removed =
            unsafe { rustix::mm::madvise(address, 4096, rustix::mm::Advice::LinuxRemove) };
        assert!(removed.is_err(), "removed");

        assert!(rustix::io::pwrite(&memory, b"x", 0).is_err(), "written");
        let zeros = std::fs::File::open("/dev/zero").unwrap();
        assert!(rustix::fs::sendfile(&memory, &zeros, None, 1).is_err(), "sent to");
        assert!(rustix::fs::ftruncate(&memory, 0).is_err(), "cut");
        assert!(rustix::fs::ftruncate(&memory, u64::from(size) * 2).is_err(), "grown");
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        assert!(rustix::fs::fallocate(&memory, hole, 0, 4096).is_err(), "emptied");
        for seal in [SealFlags::WRITE, SealFlags::empty()] {
            assert!(rustix::fs::fcntl_add_seals(&memory, seal).is_err(), "sealed further");
        }
        // Opened anew the seals are the same, as they belong to the file.
        let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
        let mut options = std::fs::OpenOptions::new();
        if let Ok(again) = options.read(true).write(true).open(&path) {
            assert!(Mapping::new(again.as_fd(), size, writable).is_err());
            assert!(rustix::io::pwrite(&again, b"x", 0).is_err());
        }
        let cut = options.truncate(true).open(&path);
        assert!(cut.is_err(), "cut by opening");
        own.write(0, &[7]).unwrap();
        let mut seen = [0];
        peer.read(0, &mut seen).unwrap();
        assert_eq!(seen, [7], "the owner still writes and the peer still reads");
    }

    #[test]
    fn memory_that_is_not_sealed_in_every_way_is_refused() {
        let plain = || {
            let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
            let memory = rustix::fs::memfd_create("test", flags).unwrap();
            rustix::fs::ftruncate(&memory, 4096).unwrap();
            memory
        };
        for missing in seals().iter() {
            let memory = plain();
            rustix::fs::fcntl_add_seals(&memory, seals() - missing).unwrap();
            assert!(PeerRegion::new(memory.as_fd(), 4096).is_err(), "without {missing:?}");
        }
        let memory = plain();
        rustix::fs::fcntl_add_seals(&memory, seals()).unwrap();
        assert!(PeerRegion::new(memory.as_fd(), 4096).is_ok());
        for size in [0, 4095, 4097, u32::MAX] {
            assert!(PeerRegion::new(memory.as_fd(), size).is_err(), "{size} bytes");
        }
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        assert!(PeerRegion::new(file.as_fd(), 4096).is_err(), "an ordinary file");
    }

    #[test]
    fn a_large_region_with_holes_costs_nothing_to_map() {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let memory = rustix::fs::memfd_create("test", flags).unwrap();
        rustix::fs::ftruncate(&memory, LARGEST).unwrap();
        rustix::fs::fcntl_add_seals(&memory, seals()).unwrap();
        let peer = PeerRegion::new(memory.as_fd(), LARGEST as u32).unwrap();
        assert_eq!(peer.words(0, 1).unwrap().load(0), 0);
        let made = rustix::fs::fstat(&memory).unwrap().st_blocks * 512;
        assert!(made < 4 << 20, "{made} bytes");
    }

    #[test]
    fn words_outlive_the_region_they_are_of() {
        let (own, memory) = region();
        let words = own.words(0, 16).unwrap();
        let seen = PeerRegion::new(memory.as_fd(), own.size()).unwrap().words(0, 16).unwrap();
        drop(own);
        words.store(15, 5);
        assert_eq!(seen.load(15), 5);
    }
}
