//! The errors of this layer as sentences: what happened, and what to do.

use core::error::Error;
use core::fmt::{Display, Formatter, Result};

use super::{
    CallError, Failure, FlowError, LinkError, NodeError, PortError, SendError, ServeError,
};

impl Display for NodeError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            NodeError::NoStorage => {
                "there is not enough storage for the node's tables: open it with smaller limits"
            }
        })
    }
}

impl Display for LinkError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            LinkError::Unknown => {
                f.write_str("there is no such link, or it was closed: hunt the peer again")
            }
            LinkError::Gone(reason) => {
                write!(f, "the link has ended, because {reason}: close it and hunt the peer again")
            }
            LinkError::Deadline => f.write_str(
                "nobody of that name answered in time: see that the peer runs, in the same domain, \
                 or wait longer",
            ),
            LinkError::Hunt(error) => write!(f, "the hunt failed: {error}"),
            LinkError::Full => f.write_str(
                "the link's inbox has no place for the notice: receive what waits there, or open \
                 the node with a larger inbox",
            ),
        }
    }
}

impl Display for PortError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            PortError::OutOfRange => {
                "the port's number is too high: use a lower one, or open the node with more \
                 endpoints"
            }
            PortError::Open => "the port is open already: use it, or open another",
            PortError::Closed => "the port is not open: open it first",
            PortError::Deadline => {
                "no message came in time: see that the peer sends, or wait longer"
            }
            PortError::Forked => {
                "nothing can come: this process is a forked copy of the one that opened the node; \
                 open one here"
            }
        })
    }
}

impl Display for ServeError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            ServeError::Deadline => {
                "nobody called in time: see that the peers call, or serve for longer"
            }
            ServeError::Forked => {
                "nobody can call: this process is a forked copy of the one that opened the node; \
                 open one here"
            }
        })
    }
}

impl Display for SendError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            SendError::RingFull => f.write_str(
                "the peer has not taken enough yet to make room in the ring: try again later, or \
                 send with a deadline",
            ),
            SendError::PoolEmpty => f.write_str(
                "the peer has not given a block back yet that would hold the message: try again \
                 later, or send with a deadline",
            ),
            SendError::TooLong { limit } => write!(
                f,
                "the message is longer than the {limit} bytes that the largest block of this \
                 placement holds: send it in parts, or open the node with larger blocks"
            ),
            SendError::Deadline => f.write_str(
                "there was no room for the message in time, and it was not sent: see that the peer \
                 receives, or wait longer",
            ),
            SendError::Gone(reason) => write!(
                f,
                "the message was not sent, because {reason}: take back what was undelivered, close \
                 the link and hunt the peer again"
            ),
            SendError::Unknown => f.write_str(
                "the message was not sent, because there is no such link or flow: open it again",
            ),
            SendError::Closed => f.write_str(
                "the message was not sent, because the port it should come from is not open: open \
                 that first",
            ),
            SendError::NoEngine => f.write_str(
                "the strategy wants a copy engine and there is none that works: open the node with \
                 one, or choose another transfer",
            ),
            SendError::Switching => f.write_str(
                "the flow is changing its strategy, so nothing new was sent: try again when that \
                 is done",
            ),
            SendError::NoPort => {
                f.write_str("the flow leads to a function: call it, or open a flow to a port")
            }
            SendError::NoFunction => {
                f.write_str("the flow leads to a port: send over it, or open a flow to a function")
            }
            SendError::NotReserved => f.write_str(
                "the block is not one that was reserved on this link and not yet sent: reserve \
                 another",
            ),
        }
    }
}

impl Display for FlowError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            FlowError::Unknown => {
                f.write_str("there is no such link or flow, or it was closed: open it again")
            }
            FlowError::Gone(reason) => write!(
                f,
                "the flow has ended, because {reason}: close the link, hunt the peer again and \
                 open the flow anew"
            ),
            FlowError::NotFound => f.write_str(
                "the peer has no function of that name, or that port is not open there: see what \
                 its library offers",
            ),
            FlowError::Deadline => f.write_str(
                "the peer did not answer in time, and the flow stays as it was: see that it serves \
                 its calls, or wait longer",
            ),
            FlowError::Full => f.write_str(
                "the node's table of flows is full: close one, or open the node with more flows",
            ),
            FlowError::Strategy(error) => write!(f, "the strategy is not possible: {error}"),
            FlowError::Infeasible => f.write_str(
                "one side has no copy engine or no memory of that placement, and the flow stays as \
                 it was: choose another strategy",
            ),
            FlowError::Switching => {
                f.write_str("the flow is changing its strategy already: wait until that is done")
            }
            FlowError::Outstanding => f.write_str(
                "calls of the flow are outstanding: finish them before it is closed, or close the \
                 link",
            ),
        }
    }
}

impl Display for CallError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            CallError::Unknown => f.write_str("there is no such flow: open it again, then call"),
            CallError::Gone(reason) => write!(
                f,
                "no response will come, because {reason}: close the link, hunt the peer again and \
                 repeat the call if it may run twice"
            ),
            CallError::Deadline => f.write_str(
                "no response came in time; the function may still have run: repeat the call if it \
                 may run twice, or wait longer",
            ),
            CallError::Failed(failure) => write!(f, "the call failed: {failure}"),
            CallError::Short { needed } => write!(
                f,
                "the response has {needed} bytes and the buffer fewer: finish the call with a \
                 larger one"
            ),
            CallError::Outstanding => f.write_str(
                "earlier calls of the flow are outstanding: finish them first, or start this one \
                 behind them",
            ),
            CallError::Nothing => {
                f.write_str("no call of the flow is outstanding: start one before finishing it")
            }
            CallError::Start(error) => write!(f, "the request was not sent: {error}"),
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Failure::Refused => {
                "what came is not what was to be read: see what the function takes, and how much \
                 there is"
            },
            Failure::TooLong => {
                "what was to be written has no room: open the flow for longer responses, or reserve \
                 more"
            }
            Failure::NoRoom => {
                "the callee has no room for the request: send less, or open its node for longer \
                 ones"
            }
        })
    }
}

impl Error for NodeError {}
impl Error for PortError {}
impl Error for ServeError {}
impl Error for Failure {}

impl Error for LinkError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            LinkError::Gone(reason) => Some(reason),
            LinkError::Hunt(reason) => Some(reason),
            _ => None,
        }
    }
}

impl Error for SendError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            SendError::Gone(reason) => Some(reason),
            _ => None,
        }
    }
}

impl Error for FlowError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            FlowError::Gone(reason) => Some(reason),
            FlowError::Strategy(reason) => Some(reason),
            _ => None,
        }
    }
}

impl Error for CallError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            CallError::Gone(reason) => Some(reason),
            CallError::Failed(reason) => Some(reason),
            CallError::Start(reason) => Some(reason),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::format;
    use std::string::{String, ToString as _};
    use std::vec::Vec;

    use super::*;
    use crate::driver::{NoFrame, NotSent};
    use crate::link::NameError;
    use crate::memory::{Corrupt, LayoutError};
    use crate::platform::{HuntError, Lost};
    use crate::strategy::StrategyError;

    /// Each error's sentence beside its variant's name.
    fn both<E: Error + Copy>(errors: &[E]) -> Vec<(String, String)> {
        errors.iter().map(|e| (e.to_string(), format!("{e:?}"))).collect()
    }

    fn all() -> Vec<(String, String)> {
        let lost =
            [Lost::Closed, Lost::Died, Lost::Corrupt(Corrupt::Kind), Lost::Forked, Lost::Full];
        let hunt = [
            HuntError::Forbidden,
            HuntError::Incompatible,
            HuntError::TooManyLinks,
            HuntError::Own,
            HuntError::Forked,
            HuntError::NoRoom,
            HuntError::System(13),
        ];
        let send = |reason| {
            [
                SendError::RingFull,
                SendError::PoolEmpty,
                SendError::TooLong { limit: 65536 },
                SendError::Deadline,
                SendError::Gone(reason),
                SendError::Unknown,
                SendError::Closed,
                SendError::NoEngine,
                SendError::Switching,
                SendError::NoPort,
                SendError::NoFunction,
                SendError::NotReserved,
            ]
        };
        let strategy = [
            StrategyError::Word,
            StrategyError::Time,
            StrategyError::Region,
            StrategyError::Messages,
            StrategyError::Granularity,
            StrategyError::Fragment,
        ];
        let failure = [Failure::Refused, Failure::TooLong, Failure::NoRoom];
        [
            both(&[NodeError::NoStorage]),
            both(&lost),
            both(&hunt),
            both(&[LinkError::Unknown, LinkError::Deadline, LinkError::Full]),
            both(&lost.map(LinkError::Gone)),
            both(&hunt.map(LinkError::Hunt)),
            both(&[
                PortError::OutOfRange,
                PortError::Open,
                PortError::Closed,
                PortError::Deadline,
                PortError::Forked,
            ]),
            both(&[ServeError::Deadline, ServeError::Forked]),
            both(&[NameError]),
            both(&[NotSent::Full, NotSent::TooLong, NotSent::Gone]),
            both(&[NoFrame::Empty]),
            both(&[
                LayoutError::Line,
                LayoutError::Slots,
                LayoutError::Channels,
                LayoutError::Classes,
                LayoutError::Class,
                LayoutError::Size,
            ]),
            both(&[
                Corrupt::Header,
                Corrupt::Kind,
                Corrupt::Length,
                Corrupt::Block,
                Corrupt::Credit,
                Corrupt::Return,
                Corrupt::Control,
                Corrupt::Response,
                Corrupt::Frame,
            ]),
            both(&send(Lost::Died)),
            both(&strategy),
            both(&[
                FlowError::Unknown,
                FlowError::Gone(Lost::Died),
                FlowError::NotFound,
                FlowError::Deadline,
                FlowError::Full,
                FlowError::Infeasible,
                FlowError::Switching,
                FlowError::Outstanding,
            ]),
            both(&strategy.map(FlowError::Strategy)),
            both(&[
                CallError::Unknown,
                CallError::Gone(Lost::Died),
                CallError::Deadline,
                CallError::Short { needed: 9 },
                CallError::Outstanding,
                CallError::Nothing,
            ]),
            both(&failure),
            both(&failure.map(CallError::Failed)),
            both(&send(Lost::Died).map(CallError::Start)),
        ]
        .concat()
    }

    #[test]
    fn no_two_errors_have_the_same_sentence() {
        let mut seen = BTreeSet::new();
        for (sentence, name) in all() {
            assert!(seen.insert(sentence.clone()), "{name}: '{sentence}' is said twice");
        }
    }

    #[test]
    fn an_error_that_comes_of_another_names_it_as_its_source() {
        let lost = Lost::Corrupt(Corrupt::Kind);
        let source = |error: &dyn Error| error.source().map(|source| source.to_string());
        let name = |error: &dyn Error| Some(error.to_string());
        assert_eq!(source(&lost), name(&Corrupt::Kind));
        assert_eq!(source(&LinkError::Gone(lost)), name(&lost));
        assert_eq!(source(&LinkError::Hunt(HuntError::Own)), name(&HuntError::Own));
        assert_eq!(source(&SendError::Gone(lost)), name(&lost));
        assert_eq!(source(&FlowError::Gone(lost)), name(&lost));
        assert_eq!(source(&CallError::Gone(lost)), name(&lost));
        let start = CallError::Start(SendError::RingFull);
        assert_eq!(source(&start), name(&SendError::RingFull));
        let reason = StrategyError::Messages;
        assert_eq!(source(&FlowError::Strategy(reason)), name(&reason));
        assert_eq!(source(&CallError::Failed(Failure::Refused)), name(&Failure::Refused));
        assert_eq!(source(&SendError::RingFull), None);
    }

    #[test]
    fn an_error_is_said_in_words_and_not_by_its_name() {
        for (sentence, name) in all() {
            assert_ne!(sentence, name);
            assert!(
                sentence.split_whitespace().count() >= 4,
                "{name}: '{sentence}' is no sentence"
            );
            assert!(!sentence.contains("::") && !sentence.contains('{'), "{name}: '{sentence}'");
            assert!(!sentence.ends_with('.') && !sentence.contains("  "), "{name}: '{sentence}'");
        }
    }
}
