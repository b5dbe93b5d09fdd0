//! What the operating systems of a chip keep: what processes have been sent, and semaphores.

mod mail;
mod semaphore;

pub use mail::Signal;
pub(crate) use mail::{Mail, wants};
pub(crate) use semaphore::Counting;
pub use semaphore::Semaphore;

use std::fmt;

/// There is no such process or semaphore on this core, or it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown;

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "there is no such process or semaphore on this core, or it has ended: use those of the \
             same core, while they are there",
        )
    }
}

impl std::error::Error for Unknown {}

/// What the kernels of a chip keep.
#[derive(Default)]
pub(crate) struct Kernel {
    /// What each process has been sent, by the process's number.
    mail: Vec<Mail>,
    pub semaphores: Vec<Counting>,
}

impl Kernel {
    /// What a process has been sent.
    pub fn mail(&mut self, process: usize) -> &mut Mail {
        if self.mail.len() <= process {
            self.mail.resize_with(process + 1, Mail::default);
        }
        &mut self.mail[process]
    }
}
