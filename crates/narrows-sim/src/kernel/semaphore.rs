//! Counting semaphores.

use super::Unknown;
use std::collections::VecDeque;

/// A counting semaphore of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Semaphore(pub(crate) usize);

/// What a kernel keeps of one.
pub(crate) struct Counting {
    pub core: usize,
    pub count: u32,
    /// Processes that wait, in the order in which they came.
    pub waiting: VecDeque<usize>,
    /// Processes that it was handed to while they waited.
    pub handed: Vec<usize>,
    pub killed: bool,
}

impl Counting {
    /// One of a core that nobody waits for.
    pub fn new(core: usize, count: u32) -> Counting {
        Counting { core, count, waiting: VecDeque::new(), handed: Vec::new(), killed: false }
    }

    /// Takes one for a process, or has it wait its turn.
    pub fn take(&mut self, process: usize) -> Option<Result<(), Unknown>> {
        if let Some(at) = self.handed.iter().position(|p| *p == process) {
            self.handed.swap_remove(at);
            return Some(Ok(()));
        }
        if self.killed {
            return Some(Err(Unknown));
        }
        if self.count > 0 {
            self.count -= 1;
            return Some(Ok(()));
        }
        if !self.waiting.contains(&process) {
            self.waiting.push_back(process);
        }
        None
    }
}
