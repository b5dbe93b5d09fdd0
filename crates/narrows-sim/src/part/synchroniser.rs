//! The event synchroniser of a cluster: it keeps for each CPU which transfers are done, and tells
//! the CPU when all of those that a mask names are.

/// Event registers of a CPU, of 32 events each.
pub(crate) const REGISTERS: usize = 8;
/// Bits 22..20 of its addresses.
const BLOCK: u32 = 0b001 << 20;

/// A register of the synchroniser. Reading one of events brings them, writing clears those whose
/// bits are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRegister {
    /// Whose it is: 0 to 15.
    pub cpu: u8,
    /// Which of the CPU's: 0 to 7, each with the events of 32 transfers.
    pub number: u8,
    /// Whether it is the mask, and not the events.
    pub mask: bool,
}

impl EventRegister {
    /// The register of the events that a transfer's is among, and its bit there.
    #[must_use]
    pub fn of_transfer(cpu: u8, id: u8) -> (EventRegister, u32) {
        (EventRegister { cpu, number: id / 32, mask: false }, 1 << (id % 32))
    }

    /// The address, within a cluster's window.
    #[must_use]
    pub fn address(self) -> u32 {
        let number = u32::from(self.number & 7) << 8;
        BLOCK | number | u32::from(self.cpu & 0xf) << 4 | u32::from(self.mask) << 2
    }

    /// The register of an address, if there is one.
    #[must_use]
    pub fn of(address: u32) -> Option<EventRegister> {
        let [number, cpu] = [address >> 8 & 7, address >> 4 & 0xf].map(|field| field as u8);
        let register = EventRegister { cpu, number, mask: address >> 2 & 1 == 1 };
        (register.address() == address).then_some(register)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    events: u32,
    mask: u32,
}

/// The synchroniser.
pub(crate) struct Synchroniser {
    cpus: Vec<[Pair; REGISTERS]>,
}

impl Synchroniser {
    pub fn new(cpus: usize) -> Synchroniser {
        Synchroniser { cpus: vec![Default::default(); cpus] }
    }

    fn pair(&mut self, register: EventRegister) -> Option<&mut Pair> {
        self.cpus.get_mut(usize::from(register.cpu))?.get_mut(usize::from(register.number))
    }

    /// A CPU reads a register. `None` if there is no such CPU.
    pub fn load(&mut self, register: EventRegister) -> Option<u32> {
        self.pair(register).map(|pair| if register.mask { pair.mask } else { pair.events })
    }

    /// A CPU writes a register. `None` if there is no such CPU.
    pub fn store(&mut self, register: EventRegister, value: u32) -> Option<()> {
        let pair = self.pair(register)?;
        if register.mask {
            pair.mask = value;
        } else {
            pair.events &= !value;
        }
        Some(())
    }

    /// A transfer of a CPU is done.
    pub fn signal(&mut self, cpu: u8, id: u8) {
        let (register, bit) = EventRegister::of_transfer(cpu, id);
        if let Some(pair) = self.pair(register) {
            pair.events |= bit;
        }
    }

    /// Registers of a CPU whose masks name something.
    pub fn masked(&self, cpu: u8) -> impl Iterator<Item = EventRegister> + use<> {
        let pairs = self.cpus.get(usize::from(cpu)).copied().unwrap_or_default();
        let masks = (0_u8..).zip(pairs).filter(|(_, pair)| pair.mask != 0);
        masks.map(move |(number, _)| EventRegister { cpu, number, mask: true })
    }

    /// Whether all events that a mask of the CPU names have come.
    pub fn matches(&self, cpu: u8) -> bool {
        let pairs = self.cpus.get(usize::from(cpu));
        pairs.is_some_and(|pairs| {
            pairs.iter().any(|pair| pair.mask != 0 && pair.events & pair.mask == pair.mask)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(cpu: u8, number: u8) -> EventRegister {
        EventRegister { cpu, number, mask: false }
    }

    fn mask(cpu: u8, number: u8) -> EventRegister {
        EventRegister { cpu, number, mask: true }
    }

    #[test]
    fn every_register_has_an_address_of_its_own_and_no_other_address_is_one() {
        let mut count = 0;
        for address in 0..1 << 23 {
            let Some(register) = EventRegister::of(address) else { continue };
            assert_eq!(register.address(), address);
            count += 1;
        }
        assert_eq!(count, 16 * 8 * 2);
    }

    #[test]
    fn a_cpu_is_told_when_all_that_its_mask_names_has_come() {
        let mut all = Synchroniser::new(2);
        all.signal(0, 3);
        assert!(!all.matches(0), "nobody waits for it");
        assert_eq!(all.store(mask(0, 0), 1 << 3 | 1 << 5), Some(()));
        assert!(!all.matches(0));
        all.signal(0, 5);
        assert!(all.matches(0) && !all.matches(1));
        assert_eq!(all.load(events(0, 0)), Some(1 << 3 | 1 << 5));
        assert_eq!(all.store(events(0, 0), 1 << 3), Some(()));
        assert!(!all.matches(0), "it has been seen to");
        assert_eq!(all.load(events(0, 0)), Some(1 << 5));
    }

    #[test]
    fn what_nobody_waits_for_is_kept_and_other_events_do_not_match() {
        let mut all = Synchroniser::new(1);
        all.store(mask(0, 7), 1 << 31);
        all.signal(0, 31);
        assert!(!all.matches(0), "that is another register");
        all.signal(0, 255);
        assert!(all.matches(0));
        assert_eq!((all.load(events(0, 0)), all.load(mask(0, 7))), (Some(1 << 31), Some(1 << 31)));
    }

    #[test]
    fn a_cpu_that_there_is_not_has_no_registers() {
        let mut all = Synchroniser::new(1);
        all.signal(1, 0);
        assert_eq!((all.load(events(1, 0)), all.store(mask(1, 0), 1)), (None, None));
        assert!(!all.matches(1));
    }
}
