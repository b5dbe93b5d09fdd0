//! Hardware mutexes: words that one transfer looks at and takes, whatever other core wants to.

use super::Cpu;
use crate::events::bus::Act;
use crate::time::Time;

impl Cpu {
    /// Takes the mutex at a word of a memory if nobody has it: one transfer that loads and stores.
    /// While it is taken the word holds the number of the core that has it, plus one.
    #[must_use]
    pub fn try_lock(&self, memory: usize, address: u32) -> bool {
        self.cross(memory, false);
        self.transfer_word(memory, address, Act::Claim(self.core() as u32 + 1)) == 0 && !self.gone()
    }

    /// Tries to take the mutex at a word again and again, with the pause of a waiting loop in
    /// between. False if `end` comes first.
    #[must_use]
    pub fn lock(&self, memory: usize, address: u32, end: Time) -> bool {
        let locked = loop {
            let began = self.moment();
            if self.try_lock(memory, address) {
                break true;
            }
            self.look_again(began, Some((memory, address)), end);
            if self.moment() >= end || self.gone() {
                break false;
            }
        };
        self.end_wait();
        locked
    }

    /// Gives the mutex at a word free.
    pub fn unlock(&self, memory: usize, address: u32) {
        self.store(memory, address, 0);
    }
}
