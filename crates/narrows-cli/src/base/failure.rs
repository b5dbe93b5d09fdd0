//! Everything that ends the command early: one sentence and one exit code.

use std::fmt;

/// What kind of thing went wrong; decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The command line is wrong. The code is the one `clap` itself uses.
    Usage,
    /// The workload file or the platform cannot be read, or says something impossible.
    Workload,
    /// A file named by the workload cannot be read or is of the wrong kind.
    Input,
    /// A result cannot be written.
    Output,
    /// The other core's process died or broke the protocol, or the link was lost.
    Peer,
    /// A name (node, function) was not found, or is taken.
    Name,
    /// Something did not happen in time.
    Deadline,
    /// A defect of this program, or a refusal of the operating system nobody can act on.
    Internal,
    /// A simulation cannot go on: nothing can run any more, time stands still, or something reached
    /// outside its memory.
    Stuck,
    /// The user stopped it. The code is a shell's for a command that was stopped so.
    Stopped,
}

impl Kind {
    /// Every kind, in the order of its exit code.
    pub const ALL: [Kind; 10] = [
        Kind::Usage,
        Kind::Workload,
        Kind::Input,
        Kind::Output,
        Kind::Peer,
        Kind::Name,
        Kind::Deadline,
        Kind::Internal,
        Kind::Stuck,
        Kind::Stopped,
    ];

    /// The exit code of the process.
    pub fn code(self) -> u8 {
        match self {
            Kind::Usage => 2,
            Kind::Workload => 3,
            Kind::Input => 4,
            Kind::Output => 5,
            Kind::Peer => 6,
            Kind::Name => 7,
            Kind::Deadline => 8,
            Kind::Internal => 9,
            Kind::Stuck => 10,
            Kind::Stopped => 130,
        }
    }

    /// What the code means, for help and the man page.
    pub fn meaning(self) -> &'static str {
        match self {
            Kind::Usage => "wrong command line",
            Kind::Workload => "workload or platform file not readable, or not possible",
            Kind::Input => "input file not readable, or of the wrong kind",
            Kind::Output => "result not written: directory, permission or space",
            Kind::Peer => "the other core's process died, or the link was lost",
            Kind::Name => "name of a node or function not found, or already taken",
            Kind::Deadline => "something did not happen in time",
            Kind::Internal => "a defect of narrows, or a refusal of the system",
            Kind::Stuck => "a simulation got stuck",
            Kind::Stopped => "stopped by Ctrl-C; what was measured until then is printed",
        }
    }
}

/// A failure on its way to the edge: its kind, and the sentence that is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Decides the exit code.
    pub kind: Kind,
    sentence: String,
}

impl Failure {
    /// A failure with the sentence that says what happened, where, and what to do.
    pub fn new(kind: Kind, sentence: impl Into<String>) -> Self {
        Self { kind, sentence: sentence.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Failure {}

/// The exit codes as a section of the long help and of the man page.
pub fn exit_codes() -> String {
    let mut text = String::from("Exit codes:\n  0  done\n");
    for kind in Kind::ALL {
        text.push_str(&format!("  {}  {}\n", kind.code(), kind.meaning()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_never_success() {
        let mut codes: Vec<u8> = Kind::ALL.iter().map(|kind| kind.code()).collect();
        assert!(codes.iter().all(|code| *code > 1));
        codes.dedup();
        assert_eq!(codes.len(), Kind::ALL.len());
    }

    #[test]
    fn every_code_is_documented() {
        let text = exit_codes();
        for kind in Kind::ALL {
            assert!(text.contains(&format!("  {}  {}", kind.code(), kind.meaning())));
        }
    }
}
