//! Workload files: the traffic to carry, described in TOML.
//!
//! A file has `name`, `duration` and `strategy` at its top (all optional) and one `[[flow]]`
//! for each stream of calls. What each key may be is in `workloads/README.md`. A mistake is
//! reported where it is: file, line, column, what was found and what was expected.

mod changes;
mod check;
mod cut;
mod offers;
pub(crate) mod parse;
mod requests;
mod sessions;
#[cfg(test)]
mod tests;
pub(crate) mod units;

pub use crate::formats::functions::MAX_DURATION;
pub use changes::{Change, Changed};
pub use offers::{Body, Offer, Offers};
pub use requests::Requests;
pub(crate) use sessions::Schedule;

use crate::base::failure::Failure;
use crate::base::input;
use crate::formats::functions::cost::Costs;
use crate::formats::functions::foreign::Named;
use crate::formats::functions::g711::Law;
use crate::formats::strategy::Policy;
use crate::formats::wav;
use narrows::strategy::Strategy;
use narrows_sim::file::Text;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The largest request or response, in bytes.
pub const MAX_BYTES: usize = (16 << 20) - 1;
/// The most calls of one flow that may be under way at once.
pub const MAX_DEPTH: usize = 256;
/// The most requests of one flow that are due at once.
pub const MAX_BURST: u64 = 256;
/// The most parts of a request that is cut.
pub const MAX_PARTS: u16 = 64;
/// The last of the cores that are called.
pub const MAX_DSP: u8 = 7;
/// The most flows in one workload.
pub const MAX_FLOWS: usize = 64;
/// How long a workload runs that does not say.
pub const DEFAULT_DURATION: Duration = Duration::from_secs(10);
/// The request of a speech encoder that does not say: 20 ms at 8 kHz, two bytes a sample.
pub const DEFAULT_FRAME: usize = 320;

/// A workload that has passed every check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// What reports call it; the file's name without its ending if it does not say.
    pub name: String,
    /// How long each strategy runs.
    pub duration: Duration,
    /// How the flows travel, one way after the other; never empty.
    pub strategies: Vec<Policy>,
    /// Bytes of internal memory that flows may take of a DSP, where they are chosen; the platform's
    /// if it does not say.
    pub memory: Option<u32>,
    /// The flows, which run side by side; never empty.
    pub flows: Vec<Flow>,
    /// What changes while it runs, the earliest first.
    pub changes: Vec<Change>,
}

/// A stream of calls to one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its name; no other flow of the workload has it.
    pub name: String,
    /// What the other core does with each request.
    pub work: Work,
    /// What that takes of a core of a chip.
    pub cost: Costs,
    /// Where the requests come from.
    pub source: Source,
    /// Bytes of each request.
    pub request: usize,
    /// Bytes of each response.
    pub response: usize,
    /// Into how many parts a request may be cut at most; 1: not at all.
    pub parts: u16,
    /// A response later than this counts as a miss.
    pub deadline: Option<Duration>,
    /// File name for the audio of the responses, inside the directory of `--out`.
    pub output: Option<String>,
    /// What it travels by where each flow has its own strategy.
    pub r#static: Option<Strategy>,
    /// When it is there.
    pub presence: Presence,
    /// What its random times are drawn by.
    pub seed: u64,
    /// Which of the cores that are called serves it, from 0; each flow has the next one without.
    pub dsp: Option<u8>,
}

/// When a flow is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// All the time.
    #[default]
    Always,
    /// Once.
    Once {
        /// From this moment of the run; from its beginning without.
        arrives: Option<Duration>,
        /// Until this one; to its end without.
        leaves: Option<Duration>,
    },
    /// Now and then: it comes and goes at random, for exponentially distributed times.
    Random {
        /// For how long it is there, in the mean.
        on: Duration,
        /// And how long not, before that.
        off: Duration,
    },
}

/// Where a flow's requests come from, and what makes it send one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Requests are made up, or cut from an input, and sent on the flow's own account.
    Own {
        /// The WAV file that requests are cut from, begun again when it ends.
        input: Option<PathBuf>,
        /// Time from one request to the next; back to back without.
        period: Option<Duration>,
        /// By how much requests may come later than they are due.
        jitter: Duration,
        /// Requests that are due at once, at least 1.
        burst: u16,
        /// Stop after this many calls; only the duration stops it without.
        count: Option<u64>,
        /// Calls under way at once.
        depth: usize,
        /// When each request is due and how long it and its response are, where that was recorded:
        /// the period, the jitter and the lengths say the same in the mean.
        recorded: Option<Arc<[Recorded]>>,
    },
    /// Each response of this flow (an index into [`Workload::flows`]) becomes a request here.
    After(usize),
}

/// A call as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// When it began, from the beginning of the recording.
    pub at: Duration,
    /// Bytes of the request.
    pub request: usize,
    /// Bytes of the response.
    pub response: usize,
}

/// What the other core does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Sends the request back.
    Echo,
    /// Works for a given time.
    Busy(Duration),
    /// Encodes speech.
    Encode(Law),
    /// Decodes speech.
    Decode(Law),
    /// Answers with a readable text.
    Log,
    /// What a function of a shared library does.
    Foreign(Named),
}

impl Flow {
    /// Time from one of its own requests to the next.
    pub fn period(&self) -> Option<Duration> {
        match self.source {
            Source::Own { period, .. } => period,
            Source::After(_) => None,
        }
    }

    /// Its calls, if they were recorded.
    pub fn recorded(&self) -> &[Recorded] {
        match &self.source {
            Source::Own { recorded: Some(calls), .. } => calls,
            _ => &[],
        }
    }
}

impl Workload {
    /// The longest request and the longest response that a flow ever has, by its place.
    pub fn longest(&self, flow: usize) -> [usize; 2] {
        let of = |change: &Change| match &change.what {
            Changed::Size { flows, request, response } if flows.contains(&flow) => {
                Some([*request, *response])
            }
            _ => None,
        };
        let first = self.flows.get(flow).map_or([0; 2], |flow| [flow.request, flow.response]);
        let recorded = self.flows.get(flow).map_or(&[][..], Flow::recorded);
        let recorded = recorded.iter().map(|call| [call.request, call.response]);
        let later = self.changes.iter().filter_map(of).chain(recorded);
        later.fold(first, |[a, b], [c, d]| [a.max(c), b.max(d)])
    }

    /// The period of the slowest flow that has one.
    pub fn slowest(&self) -> Option<Duration> {
        self.flows.iter().filter_map(Flow::period).max()
    }

    /// Until when each flow whose calls were recorded has called, and for the period of a flow
    /// behind that.
    pub fn all_heard(&self) -> Duration {
        let first = |flow: &Flow| {
            let call = flow.recorded().first()?;
            Some(call.at + flow.period().unwrap_or_default().max(Duration::from_nanos(1)))
        };
        self.flows.iter().filter_map(first).max().unwrap_or_default()
    }

    /// How many cores are called.
    pub fn dsps(&self) -> u8 {
        self.flows.iter().filter_map(|flow| flow.dsp).max().map_or(1, |dsp| dsp + 1)
    }

    /// Whether a flow comes, goes or changes while it runs, or what it may take.
    pub fn is_changing(&self) -> bool {
        !self.changes.is_empty() || self.flows.iter().any(|flow| flow.presence != Presence::Always)
    }

    /// Reads the samples that flows take their requests from, in the order of the flows;
    /// `None` for a flow without an input.
    ///
    /// # Errors
    /// [`Kind::Input`](crate::base::failure::Kind) for a file that is missing or of the wrong kind.
    pub fn inputs(&self) -> Result<Vec<Option<Vec<i16>>>, Failure> {
        let read = |flow: &Flow| match &flow.source {
            Source::Own { input: Some(path), .. } => wav::read(path).map(Some),
            _ => Ok(None),
        };
        self.flows.iter().map(read).collect()
    }
}

impl Work {
    /// The function of a shared library; none if it is of this one.
    pub fn foreign(&self) -> Option<&Named> {
        match self {
            Work::Foreign(named) => Some(named),
            _ => None,
        }
    }

    /// The name of the function in [`crate::formats::functions::LIBRARY`]; none if it is of another
    /// library.
    pub fn entry(&self) -> Option<&'static str> {
        Some(match self {
            Work::Echo => "echo",
            Work::Busy(_) => "busy",
            Work::Encode(Law::A) => "g711.encode.a",
            Work::Encode(Law::Mu) => "g711.encode.mu",
            Work::Decode(Law::A) => "g711.decode.a",
            Work::Decode(Law::Mu) => "g711.decode.mu",
            Work::Log => "log",
            Work::Foreign(_) => return None,
        })
    }
}

/// The text of a workload file, of flows or of another kind: a pipe can be read once.
///
/// # Errors
/// [`Kind::Workload`](crate::base::failure::Kind) if it cannot be read.
pub fn text(path: &Path) -> Result<String, Failure> {
    input::text(path, "the workload", "a workload file, such as workloads/voice.toml")
}

/// Reads and checks a workload file. Paths in it are relative to the file's directory.
///
/// # Errors
/// [`Kind::Workload`](crate::base::failure::Kind) with file, line and column of the first mistake.
pub fn read(path: &Path) -> Result<Workload, Failure> {
    parse(path, &text(path)?)
}

/// As [`read`], for a text already at hand; `path` names it in messages.
///
/// # Errors
/// [`Kind::Workload`](crate::base::failure::Kind) with file, line and column of the first mistake.
pub fn parse(path: &Path, text: &str) -> Result<Workload, Failure> {
    let file = Text { path, text };
    parse::read(file).and_then(|raw| check::check(&file, raw)).map_err(input::wrong)
}

/// A duration as written in files and on the command line, if it is above zero and at most
/// [`MAX_DURATION`].
pub fn parse_duration(text: &str) -> Option<Duration> {
    humantime::parse_duration(text).ok().filter(|time| !time.is_zero() && *time <= MAX_DURATION)
}
