//! Requests, and messages, that are wrong in one way.

use super::*;

impl World {
    pub(super) fn wrong(&mut self) {
        self.count[2] += 1;
        let (found, expected) = match self.partitioning {
            Partitioning::AtReceiver => self.wrong_at_receiver(),
            Partitioning::Apart | Partitioning::AtSender => self.wrong_elsewhere(),
        };
        assert_eq!(found, Some(expected));
        self.noted(expected);
    }

    fn wrong_at_receiver(&mut self) -> (Option<Fault>, Fault) {
        let cluster = self.dice.roll(CLUSTERS as u32) as usize;
        let cpu = self.dice.roll(CPUS.into()) as u8;
        let unknown = PORTS as u8 + self.dice.roll(256 - PORTS as u32) as u8;
        let idle = PORTS as u8 - 1;
        let one = self.dice.roll(self.connections.len() as u32) as usize;
        let Connection { from, to, words, .. } = self.connections[one];
        let over = (words + 1 + self.dice.roll(1000)) * 4;
        let block = &mut self.blocks[cluster];
        match self.dice.roll(12) {
            0 => (block.store(self.dice.roll(1 << 20), 0).err(), Fault::NotARequest),
            1 => (self.ask((cluster, unknown), WORD, cpu, &[1]).err(), Fault::NoPort),
            2 => (self.ask((cluster, idle), RECEIVE, cpu, &[0, 4]).err(), Fault::Unconnected),
            3 => (self.ask(from, SEND, cpu, &[0, over]).err(), Fault::TooLong),
            4 => (self.ask(to, RECEIVE, cpu, &[0, over]).err(), Fault::TooLong),
            5 => (self.ask(from, SEND, cpu, &[0, 2]).err(), Fault::Size),
            6 => (self.ask(from, WORD, CPUS, &[0]).err(), Fault::NoCpu),
            7 => {
                let (way, kind) = WORD;
                let access = Access { way, kind, end: false, port: from.1, cpu };
                (self.blocks[from.0].store(access.address(), 1).err(), Fault::NoEnd)
            }
            8 => (block.credit(unknown, 1).err(), Fault::CreditForNobody),
            9 => (block.arrive(idle, 1).err(), Fault::DataForNobody),
            10 => (self.blocks[from.0].credit(from.1, words + 1).err(), Fault::CreditOver),
            _ => (self.blocks[to.0].arrive(to.1, words + 1).err(), Fault::Overrun),
        }
    }

    fn wrong_elsewhere(&mut self) -> (Option<Fault>, Fault) {
        let one = self.dice.roll(self.connections.len() as u32) as usize;
        let Connection { from, to, words, .. } = self.connections[one];
        let (over, idle) = (words + 1 + self.dice.roll(1000), PORTS as u8 - 1);
        let at_sender = self.partitioning == Partitioning::AtSender;
        let many = &[0, over * 4];
        match self.dice.roll(6) {
            0 => (self.ask(from, SEND, 0, many).err(), Fault::TooLong),
            1 => (self.ask(to, RECEIVE, 0, many).err(), Fault::TooLong),
            2 => (self.blocks[to.0].credit(idle, 1).err(), Fault::CreditForNobody),
            3 => (self.blocks[to.0].pointer(idle, 1).err(), Fault::DataForNobody),
            4 => {
                let (cluster, port) = if at_sender { to } else { from };
                (self.blocks[cluster].credit(port, over).err(), Fault::CreditOver)
            }
            _ if at_sender => (self.blocks[from.0].fetch(from.1, over).err(), Fault::NoWords),
            _ => (self.blocks[to.0].pointer(to.1, over).err(), Fault::Overrun),
        }
    }
}
