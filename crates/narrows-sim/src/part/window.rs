//! Global addresses: each cluster has a window of 8 MiB, in which bits 22..20 tell its parts apart.
//! The source gives them for the buffer manager alone; the others are assumed.
//!
//! | bits 22..20 | part |
//! |---|---|
//! | `1xx` | the shared memory: bits 21..0 are the offset in it |
//! | `011` | the buffer manager |
//! | `010` | the DMA |
//! | `001` | the event synchroniser |

/// Bits of an address within a window.
const BITS: u32 = 23;
/// What has to be set for the shared memory.
const SHARED: u32 = 1 << 22;

/// A part of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// An offset in the shared memory.
    Shared(u32),
    /// A register of the buffer manager, as an address within the window. So are the next.
    Manager(u32),
    /// A register of the DMA.
    Dma(u32),
    /// A register of the event synchroniser.
    Events(u32),
}

/// The cluster and the part of an address. `None` if nothing is there.
pub(crate) fn part(address: u32) -> Option<(usize, Part)> {
    let register = address & ((1 << BITS) - 1);
    let part = match register >> 20 {
        0b100..=0b111 => Part::Shared(register & (SHARED - 1)),
        0b011 => Part::Manager(register),
        0b010 => Part::Dma(register),
        0b001 => Part::Events(register),
        _ => return None,
    };
    Some(((address >> BITS) as usize, part))
}

/// The address of a register of a cluster's window.
#[must_use]
pub const fn in_cluster(cluster: usize, register: u32) -> u32 {
    (cluster as u32) << BITS | (register & ((1 << BITS) - 1))
}

/// The address of an offset in a cluster's shared memory.
#[must_use]
pub const fn shared(cluster: usize, offset: u32) -> u32 {
    in_cluster(cluster, SHARED | offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::block_dma::Register;
    use crate::part::buffer_manager::{Access, Kind, Way};
    use crate::part::synchroniser::EventRegister;

    #[test]
    fn each_address_is_of_one_part_of_one_cluster() {
        let access = Access { way: Way::Read, kind: Kind::Setup, end: true, port: 255, cpu: 15 };
        let dma = Register::Start.address(15);
        let events = EventRegister { cpu: 15, number: 7, mask: true }.address();
        for cluster in [0, 1, 15] {
            let at = |register| part(in_cluster(cluster, register));
            assert_eq!(at(access.address()), Some((cluster, Part::Manager(access.address()))));
            assert_eq!(at(dma), Some((cluster, Part::Dma(dma))));
            assert_eq!(at(events), Some((cluster, Part::Events(events))));
            assert_eq!(at(0), None);
            for offset in [0, 4, (4 << 20) - 4] {
                assert_eq!(part(shared(cluster, offset)), Some((cluster, Part::Shared(offset))));
            }
        }
    }
}
