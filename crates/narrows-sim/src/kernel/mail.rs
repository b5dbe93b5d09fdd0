//! What a process has been sent.

use super::Kernel;
use crate::events::Pid;
use std::collections::VecDeque;

/// A signal in its buffer. The process that has it may read it, send it on, or free it.
#[derive(Debug, PartialEq, Eq)]
pub struct Signal {
    /// What it is about.
    pub number: u32,
    /// What it carries.
    pub bytes: Vec<u8>,
    pub(crate) sender: Pid,
}

impl Signal {
    /// The process that sent it; the one that made it, if nobody sent it.
    #[must_use]
    pub fn sender(&self) -> Pid {
        self.sender
    }
}

/// What a process has been sent, and what it waits for.
#[derive(Default)]
pub(crate) struct Mail {
    pub signals: VecDeque<Signal>,
    /// The numbers it waits for, if it waits; with none, any.
    pub wanted: Option<Vec<u32>>,
    /// The fast semaphore.
    pub fast: u32,
    /// How much of it the process waits for.
    pub needed: u32,
}

/// Whether a number is among those wanted: any, if none are named.
pub(crate) fn wants(wanted: &[u32], number: u32) -> bool {
    wanted.is_empty() || wanted.contains(&number)
}

impl Kernel {
    pub fn take_signal(&mut self, process: usize, wanted: &[u32]) -> Option<Signal> {
        let mail = self.mail(process);
        let found = mail.signals.iter().position(|signal| wants(wanted, signal.number));
        mail.wanted = found.is_none().then(|| wanted.to_vec());
        mail.signals.remove(found?)
    }
}
