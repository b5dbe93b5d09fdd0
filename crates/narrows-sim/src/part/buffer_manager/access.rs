//! How a request is written: what the address of a register says (table I of S3).
//!
//! | bits | say |
//! |---|---|
//! | 22..20 | `011`: the buffer manager |
//! | 19 | 0 to write, 1 to read |
//! | 18..17 | the type of the request |
//! | 16 | this access is the last of the request |
//! | 15..8 | the port; of an address-based request, the number of the transfer |
//! | 7..4 | the CPU |
//!
//! All other bits are 0. The source does not say which value means which, nor how the tables are
//! set up; both are assumed here.

use crate::chip::Partitioning;

/// Bits 22..20 of every address of the block.
const BLOCK: u32 = 0b011 << 20;

/// The side of a port that an access is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// The one that sends.
    Write,
    /// The one that receives.
    Read,
}

/// The type of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// From one address to another, as a DMA does it: source, destination, bytes.
    Address,
    /// A word: the word itself.
    Direct,
    /// A buffer of words: its address, and its bytes.
    Indirect,
    /// An entry of the tables. Of a sender: the port that it is connected to, and its credit in
    /// words. Of a receiver: the port that it is connected to, the address of its FIFO, and the
    /// words of the FIFO with the threshold in the upper half.
    ///
    /// With writer and reader apart, a sender's has between both the address of the receiver's
    /// FIFO, and last the words of that FIFO with its credit in the upper half. With the FIFO at
    /// the sender, a sender's has the port, the address of its FIFO and the FIFO's words, and a
    /// receiver's has the port and the FIFO's words.
    Setup,
}

/// An access to the block: what its address says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Which side.
    pub way: Way,
    /// Which type.
    pub kind: Kind,
    /// Whether the request is complete with it.
    pub end: bool,
    /// Which port of this cluster.
    pub port: u8,
    /// Which CPU of this cluster: 0 to 15.
    pub cpu: u8,
}

impl Kind {
    /// All.
    pub const ALL: [Kind; 4] = [Kind::Address, Kind::Direct, Kind::Indirect, Kind::Setup];

    /// Writes that a request of this type takes. A word is read by a read.
    #[must_use]
    pub const fn writes(self, way: Way, partitioning: Partitioning) -> usize {
        match (self, way) {
            (Kind::Setup, Way::Write) => match partitioning {
                Partitioning::AtReceiver => 2,
                Partitioning::Apart | Partitioning::AtSender => 3,
            },
            (Kind::Setup, Way::Read) => match partitioning {
                Partitioning::AtReceiver | Partitioning::Apart => 3,
                Partitioning::AtSender => 2,
            },
            (Kind::Address, Way::Write) => 3,
            (Kind::Direct, Way::Write) => 1,
            (Kind::Indirect, _) => 2,
            // There is no such request.
            (Kind::Address | Kind::Direct, Way::Read) => 0,
        }
    }
}

impl Access {
    /// The address, within a cluster's window.
    #[must_use]
    pub fn address(self) -> u32 {
        let kind = match self.kind {
            Kind::Address => 0b00,
            Kind::Direct => 0b01,
            Kind::Indirect => 0b10,
            Kind::Setup => 0b11,
        };
        let way = u32::from(self.way == Way::Read);
        let end = u32::from(self.end);
        let fields = way << 19 | kind << 17 | end << 16 | u32::from(self.port) << 8;
        BLOCK | fields | u32::from(self.cpu & 0xf) << 4
    }

    /// What an address within a cluster's window says. `None` if it is none of the block's.
    #[must_use]
    pub fn of(address: u32) -> Option<Access> {
        const UNUSED: u32 = !(0b111 << 20 | 0xf_fff0);
        if address & (0b111 << 20) != BLOCK || address & UNUSED != 0 {
            return None;
        }
        let kind = Kind::ALL[(address >> 17 & 0b11) as usize];
        let way = if address >> 19 & 1 == 1 { Way::Read } else { Way::Write };
        let (port, cpu) = ((address >> 8) as u8, (address >> 4 & 0xf) as u8);
        Some(Access { way, kind, end: address >> 16 & 1 == 1, port, cpu })
    }
}

/// A port of a cluster, as the other end of a connection: 32 bits, from which each part is shifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// The cluster's number in its chip.
    pub cluster: u16,
    /// The CPU's number in its cluster.
    pub cpu: u8,
    /// The port's number in its cluster.
    pub port: u8,
}

impl Endpoint {
    /// As a word.
    #[must_use]
    pub fn word(self) -> u32 {
        u32::from(self.cluster) << 16 | u32::from(self.cpu) << 8 | u32::from(self.port)
    }

    /// What a word says.
    #[must_use]
    pub fn of(word: u32) -> Endpoint {
        let [port, cpu, low, high] = word.to_le_bytes();
        Endpoint { cluster: u16::from_le_bytes([low, high]), cpu, port }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_bits_are_those_of_table_i() {
        let access =
            Access { way: Way::Read, kind: Kind::Indirect, end: true, port: 0xa5, cpu: 0xc };
        // 011 1 10 1 10100101 1100 0000
        assert_eq!(access.address(), 0x3d_a5c0);
        let access = Access { way: Way::Write, kind: Kind::Address, end: false, port: 0, cpu: 0 };
        assert_eq!(access.address(), 0x30_0000);
    }

    #[test]
    fn every_access_has_an_address_of_its_own_that_says_the_same() {
        let mut seen = HashSet::new();
        for way in [Way::Write, Way::Read] {
            for kind in Kind::ALL {
                for end in [false, true] {
                    for port in 0..=255 {
                        for cpu in 0..16 {
                            let access = Access { way, kind, end, port, cpu };
                            assert_eq!(Access::of(access.address()), Some(access));
                            assert!(seen.insert(access.address()), "{access:?}");
                        }
                    }
                }
            }
        }
        assert_eq!(seen.len(), 1 << 16);
    }

    /// All 2^23 addresses of a window, and those above: only 2^16 are the block's.
    #[test]
    fn no_other_address_is_the_blocks() {
        let found = (0..1 << 23).filter_map(|address| Some((address, Access::of(address)?)));
        let mut count = 0;
        for (address, access) in found {
            assert_eq!(access.address(), address);
            count += 1;
        }
        assert_eq!(count, 1 << 16);
        let inside = Access { way: Way::Write, kind: Kind::Direct, end: true, port: 1, cpu: 1 };
        assert!((23..32).all(|bit| Access::of(inside.address() | 1 << bit).is_none()));
    }

    #[test]
    fn an_endpoint_is_a_word_and_back() {
        for cluster in [0, 1, 0x1234, u16::MAX] {
            for (cpu, port) in [(0, 0), (1, 2), (15, 255)] {
                let endpoint = Endpoint { cluster, cpu, port };
                assert_eq!(Endpoint::of(endpoint.word()), endpoint);
            }
        }
        assert_eq!(Endpoint { cluster: 3, cpu: 2, port: 1 }.word(), 0x0003_0201);
    }
}
