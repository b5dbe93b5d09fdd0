//! The DMA of a cluster: a CPU writes where from, where to, how many bytes and a number, and is
//! told that transfer's end by the event of that number.

use super::fault::{Fault, Noted};
use std::collections::VecDeque;

/// Bits 22..20 of its addresses.
const BLOCK: u32 = 0b010 << 20;

/// A register of the DMA; each CPU has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// The address of the first byte to be read.
    Source,
    /// The address of the first byte to be written.
    Destination,
    /// Bytes.
    Size,
    /// The number of the transfer, 0 to 255: it begins.
    Start,
}

impl Register {
    /// All, in the order in which they are written.
    pub const ALL: [Register; 4] =
        [Register::Source, Register::Destination, Register::Size, Register::Start];

    /// The address of a CPU's, within a cluster's window.
    #[must_use]
    pub fn address(self, cpu: u8) -> u32 {
        BLOCK | u32::from(cpu & 0xf) << 4 | (self as u32) << 2
    }

    /// The register of an address, and whose it is.
    #[must_use]
    pub fn of(address: u32) -> Option<(Register, u8)> {
        let register = Register::ALL[(address >> 2 & 3) as usize];
        let cpu = (address >> 4 & 0xf) as u8;
        (register.address(cpu) == address).then_some((register, cpu))
    }
}

/// A transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub cpu: u8,
    pub id: u8,
    pub from: u32,
    pub to: u32,
    pub bytes: u32,
}

/// The DMA. It does one transfer after the other, in the order in which they were begun.
pub(crate) struct BlockDma {
    /// What each CPU has written.
    registers: Vec<[Option<u32>; 3]>,
    /// Transfers that each CPU may have waiting.
    jobs: usize,
    waiting: VecDeque<Transfer>,
    /// What went wrong and was not looked at.
    pub faults: Vec<Noted>,
}

impl BlockDma {
    pub fn new(cpus: usize, jobs: usize) -> BlockDma {
        let registers = vec![[None; 3]; cpus];
        BlockDma { registers, jobs, waiting: VecDeque::new(), faults: Vec::new() }
    }

    /// A CPU writes a register. Whether a transfer is waiting now.
    ///
    /// # Errors
    /// See [`Fault`]; it is noted as well.
    pub fn store(&mut self, address: u32, value: u32) -> Result<bool, Fault> {
        let Some((register, cpu)) = Register::of(address) else {
            self.faults.push(Noted { fault: Fault::NotARequest, cpu: None, port: None });
            return Err(Fault::NotARequest);
        };
        let stored = self.take_in(register, cpu, value);
        stored.inspect_err(|fault| {
            let port = if register == Register::Start { u8::try_from(value).ok() } else { None };
            self.faults.push(Noted { fault: *fault, cpu: Some(cpu), port });
        })
    }

    fn take_in(&mut self, register: Register, cpu: u8, value: u32) -> Result<bool, Fault> {
        let own = self.registers.get_mut(usize::from(cpu)).ok_or(Fault::NoCpu)?;
        if register != Register::Start {
            own[register as usize] = Some(value);
            return Ok(false);
        }
        let [Some(from), Some(to), Some(bytes)] = std::mem::take(own) else {
            return Err(Fault::EarlyEnd);
        };
        let id = u8::try_from(value).map_err(|_| Fault::NoPort)?;
        if bytes == 0 {
            return Err(Fault::Size);
        }
        if self.waiting.iter().filter(|waiting| waiting.cpu == cpu).count() >= self.jobs {
            return Err(Fault::QueueFull);
        }
        self.waiting.push_back(Transfer { cpu, id, from, to, bytes });
        Ok(true)
    }

    /// Takes the transfer that is next.
    pub fn next(&mut self) -> Option<Transfer> {
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(dma: &mut BlockDma, cpu: u8, values: [u32; 4]) -> Result<bool, Fault> {
        let mut last = Ok(false);
        for (register, value) in Register::ALL.into_iter().zip(values) {
            last = dma.store(register.address(cpu), value);
        }
        last
    }

    #[test]
    fn every_register_has_an_address_of_its_own_and_no_other_address_is_one() {
        let found = (0..1 << 23).filter_map(|address| Some((address, Register::of(address)?)));
        let all: Vec<_> = found.collect();
        assert!(all.iter().all(|(address, (register, cpu))| register.address(*cpu) == *address));
        assert_eq!(all.len(), 16 * 4);
    }

    #[test]
    fn transfers_are_done_in_the_order_in_which_they_were_begun() {
        let mut dma = BlockDma::new(2, 2);
        assert_eq!(start(&mut dma, 1, [8, 16, 5, 255]), Ok(true));
        // Two CPUs that write at once do not disturb each other.
        for register in [Register::Source, Register::Destination, Register::Size] {
            for cpu in [0, 1] {
                let value = 100 * u32::from(cpu) + register as u32;
                assert_eq!(dma.store(register.address(cpu), value), Ok(false));
            }
        }
        for cpu in [1, 0] {
            assert_eq!(dma.store(Register::Start.address(cpu), cpu.into()), Ok(true));
        }
        let expected = [
            Some(Transfer { cpu: 1, id: 255, from: 8, to: 16, bytes: 5 }),
            Some(Transfer { cpu: 1, id: 1, from: 100, to: 101, bytes: 102 }),
            Some(Transfer { cpu: 0, id: 0, from: 0, to: 1, bytes: 2 }),
            None,
        ];
        assert_eq!([(); 4].map(|()| dma.next()), expected);
        assert!(dma.faults.is_empty());
    }

    #[test]
    fn what_cannot_be_is_signalled_and_begins_nothing() {
        let mut dma = BlockDma::new(1, 1);
        let all = [
            (dma.store(0x20_0001, 0), Fault::NotARequest),
            (start(&mut dma, 1, [0, 0, 4, 0]), Fault::NoCpu),
            (start(&mut dma, 0, [0, 0, 0, 0]), Fault::Size),
            (start(&mut dma, 0, [0, 0, 4, 256]), Fault::NoPort),
            (dma.store(Register::Start.address(0), 0), Fault::EarlyEnd),
        ];
        for (found, expected) in all {
            assert_eq!(found, Err(expected));
        }
        assert_eq!(start(&mut dma, 0, [0, 0, 4, 7]), Ok(true));
        assert_eq!(start(&mut dma, 0, [0, 0, 4, 8]), Err(Fault::QueueFull));
        assert_eq!(dma.next().map(|transfer| transfer.id), Some(7));
        assert_eq!(start(&mut dma, 0, [0, 0, 4, 9]), Ok(true), "there is room again");
        let last = dma.faults.last().map(|noted| (noted.fault, noted.cpu, noted.port));
        assert_eq!(last, Some((Fault::QueueFull, Some(0), Some(8))));
    }
}
