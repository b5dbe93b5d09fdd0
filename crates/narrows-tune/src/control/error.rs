//! Why the controller refuses.

use core::fmt;

use crate::model::ModelError;
use crate::optimise::Unsolved;

/// Why a flow, a budget or a plan was refused. What was there before goes on as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlError {
    /// The flow or a strategy is impossible. Another one may be accepted.
    Model(ModelError),
    /// No DSP, too many of them, or a core that is to have no time.
    Budget,
    /// A flow needs 1 to 256 strategies.
    Strategies,
    /// The tables have no room for another flow. It may come when one has left.
    Full,
    /// There is no such flow, or no switch of it is under way.
    Unknown,
    /// By every strategy a flow would miss its deadline: the picoseconds that are needed at least,
    /// and those of them that other flows and a switch take. With fewer flows it may be possible.
    Late {
        /// What is needed.
        least: u64,
        /// What of it others take.
        beside: u64,
    },
    /// All flows together take more than there is. With fewer flows it may be possible.
    Together(Unsolved),
    /// There is a plan with this flow, but nothing that it could begin with while the others have
    /// what they have. It may come later, or be [reserved](super::Controller::reserve).
    NoRoom,
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |picos: u64| picos.div_ceil(1_000_000);
        match self {
            ControlError::Model(error) => error.fmt(f),
            ControlError::Budget => {
                f.write_str("1 to 8 DSPs are needed, and time of them and of the calling core")
            }
            ControlError::Strategies => f.write_str("a flow needs 1 to 256 strategies"),
            ControlError::Full => f.write_str("there is no room for another flow"),
            ControlError::Unknown => f.write_str("there is no such flow, or it does not switch"),
            ControlError::Late { least, beside } => write!(
                f,
                "no plan keeps every deadline: a flow needs {} us at least, {} us of them for other \
                 flows and switches",
                micros(*least),
                micros(*beside)
            ),
            ControlError::Together(why) => why.fmt(f),
            ControlError::NoRoom => {
                f.write_str("it cannot begin while the other flows have what they have")
            }
        }
    }
}

impl core::error::Error for ControlError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            ControlError::Model(error) => error.source(),
            ControlError::Together(why) => why.source(),
            _ => None,
        }
    }
}
