//! Memory of a process that others of its user may read, apart from any link.

use rustix::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat, readlinkat};
use rustix::io::{self, Errno};

use super::{LARGEST, PeerRegion, Region, Unfit};

/// Opens memory that a process has open, and says which file it is. Whatever else a process named
/// is not opened: that could hang, or change something.
pub(crate) fn open_of(process: u32, descriptor: u32) -> io::Result<(OwnedFd, u64)> {
    let path = format!("/proc/{process}/fd/{descriptor}");
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let named = openat(CWD, path, flags, Mode::empty())?;
    let stat = fstat(&named)?;
    let here = format!("/proc/self/fd/{}", named.as_raw_fd());
    let called = readlinkat(CWD, &here, Vec::new())?;
    let plain = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if !plain || !called.as_bytes().starts_with(b"/memfd:") {
        return Err(Errno::BADF);
    }
    let memory = openat(CWD, here, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    #[allow(clippy::unnecessary_cast, reason = "the types differ between architectures")]
    Ok((memory, stat.st_ino as u64))
}

/// Memory of this process, all 0 at first, that other processes of its user, and root's, may map
/// read-only for as long as this is kept.
pub struct Exposed {
    region: Region,
    /// What others open it by.
    _descriptor: OwnedFd,
    place: Place,
}

impl Exposed {
    /// Bytes of the largest that others map.
    pub const LARGEST: u32 = LARGEST as u32;

    /// Makes memory of `size` bytes. Its pages are made as they are used.
    ///
    /// # Errors
    /// The system's.
    pub fn new(size: u32) -> std::io::Result<Exposed> {
        let (region, descriptor) = Region::zeroed(size)?;
        #[allow(clippy::unnecessary_cast, reason = "the types differ between architectures")]
        let place = Place {
            process: std::process::id(),
            descriptor: descriptor.as_raw_fd().unsigned_abs(),
            file: fstat(&descriptor)?.st_ino as u64,
            size,
        };
        Ok(Exposed { region, _descriptor: descriptor, place })
    }

    /// The memory.
    #[must_use]
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// The memory, to be written in place.
    #[must_use]
    pub fn region_mut(&mut self) -> &mut Region {
        &mut self.region
    }

    /// Where others find it.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }
}

/// Where the memory of a process is that it exposes. Another process says it: nothing of it is
/// believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    process: u32,
    descriptor: u32,
    file: u64,
    size: u32,
}

impl Place {
    /// Bytes that say it.
    pub const BYTES: usize = 20;

    /// The bytes that say it.
    #[must_use]
    pub fn encode(&self) -> [u8; Place::BYTES] {
        let mut bytes = [0; Place::BYTES];
        bytes[..4].copy_from_slice(&self.process.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.descriptor.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.file.to_le_bytes());
        bytes[16..].copy_from_slice(&self.size.to_le_bytes());
        bytes
    }

    /// What bytes say.
    #[must_use]
    pub fn decode(bytes: &[u8; Place::BYTES]) -> Place {
        let word = |at: usize| {
            let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
            u32::from_le_bytes(four.unwrap_or_default())
        };
        let file = u64::from(word(8)) | u64::from(word(12)) << 32;
        Place { process: word(0), descriptor: word(4), file, size: word(16) }
    }

    /// Maps it, if it is sealed memory of that process which nobody but its maker can write.
    ///
    /// # Errors
    /// The system's: [`std::io::ErrorKind::PermissionDenied`] if it is another user's,
    /// [`std::io::ErrorKind::NotFound`] if it is not there, or is no such memory,
    /// [`std::io::ErrorKind::OutOfMemory`] if there is no room for it.
    pub fn map(&self) -> std::io::Result<PeerRegion> {
        let (memory, file) = open_of(self.process, self.descriptor)?;
        if file != self.file {
            return Err(Errno::NOENT.into());
        }
        PeerRegion::new(memory.as_fd(), self.size).map_err(|unfit| match unfit {
            Unfit::Unsealed => Errno::NOENT.into(),
            Unfit::System => Errno::NOMEM.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use narrows::platform::{Memory as _, OwnMemory as _};

    use super::*;

    #[test]
    fn what_is_exposed_is_read_by_who_is_told_its_place_and_nothing_else_is() {
        let exposed = Exposed::new(8192).unwrap();
        exposed.region().write(100, b"there").unwrap();
        let place = Place::decode(&exposed.place().encode());
        assert_eq!(place, exposed.place());
        let mapped = place.map().unwrap();
        let mut bytes = [0; 5];
        mapped.read(100, &mut bytes).unwrap();
        assert_eq!(&bytes, b"there");
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let wrong = [
            Place { file: place.file + 1, ..place },
            Place { size: 4096, ..place },
            Place { descriptor: file.as_raw_fd().unsigned_abs(), ..place },
            Place { descriptor: u32::MAX, ..place },
            Place { process: u32::MAX, ..place },
        ];
        for place in wrong {
            assert!(place.map().is_err(), "{place:?}");
        }
        drop(exposed);
        assert!(place.map().is_err(), "it is gone");
        mapped.read(100, &mut bytes).unwrap();
        assert_eq!(&bytes, b"there", "what was mapped stays");
    }
}
