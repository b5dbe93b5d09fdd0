//! Why a service cannot be used or offered.

use std::error;
use std::fmt;

use narrows::endpoint::{CallError, Failure, FlowError, LinkError, SendError, ServeError};
use narrows_host::OpenError;
use narrows_host::service::OfferError;

use crate::join::Refusal;

/// Why a service cannot be used or offered; each is a sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
// The tag has a byte of its own: a call that succeeds writes nothing more of a result than that.
#[repr(u8)]
pub enum Error {
    /// The node did not open.
    Open(OpenError),
    /// No service can have this name.
    Name(String),
    /// A type's description is empty or has a space.
    Description(String),
    /// Nobody offered the service in time.
    NotFound(String),
    /// The service has other types than this program: the service, its node, what it has, and what
    /// this program has.
    Types {
        /// The service.
        service: String,
        /// The node that offers it.
        node: String,
        /// What that node takes and gives.
        there: String,
        /// What this program gives and takes.
        here: String,
    },
    /// This node offers the service already.
    Offered(String),
    /// The service cannot be offered.
    Offer(OfferError),
    /// The node is used by a function that it is serving.
    Busy,
    /// There is no link with the node of a service.
    Link(String, LinkError),
    /// The node of a service opens no flow.
    Flow(String, FlowError),
    /// A call gave no response. After [`CallError::Gone`] the next call looks for the service
    /// again.
    Call(String, CallError),
    /// Values are longer than the longest message of the node that sends them.
    Long {
        /// The service.
        service: String,
        /// Whether they are its responses, or its requests.
        response: bool,
        /// Whether it is this node that sends them.
        own: bool,
        /// Bytes of a value.
        bytes: usize,
        /// Bytes of the longest message.
        limit: usize,
    },
    /// A response or a message came that is no value of the type that it should be.
    Length(String),
    /// A value has no encoding: its type, and what serde says.
    Encoding(String, String),
    /// The node does not serve.
    Serve(ServeError),
    /// The node has no port left.
    Ports,
    /// A topic cannot have this many slots, or keep as much history as was asked for.
    Slots(String, u32),
    /// No subscriber can hear as many publishers, hold as many messages, or have as deep a queue as
    /// was asked for.
    Terms(String),
    /// A topic's slots are larger than memory can be.
    Size(String),
    /// A message is longer than a topic's slots, and slots for it would take more memory than the
    /// topic may have.
    Limit {
        /// The topic.
        topic: String,
        /// Bytes of the message.
        bytes: usize,
        /// Bytes of all slots that there may be.
        limit: u32,
    },
    /// Memory of a topic cannot be made or mapped: what the system says.
    Memory(String, String),
    /// There is no slot to publish in: a subscriber that is to miss nothing takes nothing, or
    /// messages are held.
    Full(String),
    /// A publisher does not let this subscriber in.
    Refused(String, Refusal),
    /// All publishers have gone.
    Gone(String),
    /// Nothing was published in time.
    Nothing(String),
    /// As many messages are held as may be.
    Holds(String),
    /// A subscriber is of another node than what is to wait for it.
    OtherNode,
    /// A node that is to be shared serves a function, or something of it is in use.
    InUse,
    /// The system does not wait for a descriptor: what it says.
    Descriptor(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Open(error) => error.fmt(f),
            Error::Name(name) => write!(
                f,
                "'{name}' is no name of a service: it has 1 to 22 letters, digits, '.', '_' or \
                 '-', and starts with no dot"
            ),
            Error::Description(text) => write!(
                f,
                "'{text}' describes no type: write it without a space, as in u32 or \
                 Point{{x@0:f32,y@4:f32}}8"
            ),
            Error::NotFound(service) => write!(
                f,
                "nobody offers {service}: start the program that does, with the same NARROWS_DIR \
                 and domain, or wait longer"
            ),
            Error::Types { service, node, there, here } => write!(
                f,
                "{service} of {node} has other types: it is {there}, and this program has {here}: \
                 build both with the same types"
            ),
            Error::Offered(service) => write!(
                f,
                "this node offers {service} already: give the function another name, or withdraw \
                 the first"
            ),
            Error::Offer(error) => error.fmt(f),
            Error::Busy => f.write_str(
                "this node is serving a function, and that function uses the node: have it use \
                 another node, or call when it has returned",
            ),
            Error::Link(service, error) => write!(f, "no link with who offers {service}: {error}"),
            Error::Flow(service, error) => write!(f, "{service} cannot be called: {error}"),
            Error::Call(service, CallError::Failed(Failure::Refused)) => {
                write!(f, "{service} refused the request")
            }
            Error::Call(service, CallError::Start(SendError::TooLong { limit })) => write!(
                f,
                "a request of {service} is longer than the {limit} bytes of this node's longest \
                 message: open it with Options::longest_message"
            ),
            Error::Call(service, error) => write!(f, "a call of {service}: {error}"),
            Error::Long { service, response, own, bytes, limit } => {
                let what = if *response { "response" } else { "request" };
                let whose = if *own { "this node" } else { "its node" };
                write!(
                    f,
                    "a {what} of {service} has {bytes} bytes, and messages of {whose} have at most \
                     {limit}: open it with Options::longest_message({bytes})"
                )
            }
            Error::Length(service) => write!(
                f,
                "{service} gave bytes that are no value of its type, but longer, shorter or of \
                 another encoding: it is not what it says"
            ),
            Error::Encoding(of, error) => {
                write!(f, "a value of {of} has no encoding: {error}: see what its Serialize does")
            }
            Error::Serve(error) => error.fmt(f),
            Error::Ports => f.write_str(
                "the node has no port left: drop a publisher or subscriber, or open it with \
                     more (Limits::endpoints)",
            ),
            Error::Slots(topic, slots) => write!(
                f,
                "{topic} cannot have {slots} slots: it has 1 to 65536, and one more than it keeps \
                 as history"
            ),
            Error::Terms(topic) => write!(
                f,
                "a subscriber of {topic} hears 1 to 64 publishers, holds 1 to 15 messages of each, \
                 and at most 65536 wait for it: see Subscribe::publishers, holds and depth"
            ),
            Error::Size(topic) => write!(
                f,
                "the slots of {topic} would take more than 1 GiB: see Topic::longest and \
                 Topic::slots"
            ),
            Error::Limit { topic, bytes, limit } => write!(
                f,
                "a message of {topic} has {bytes} bytes and is larger than its slots, and slots \
                 for it are more than the {limit} bytes that it may have: see Topic::limit"
            ),
            Error::Memory(topic, error) => write!(
                f,
                "memory of {topic} cannot be made or mapped: {error}: both programs have to be of \
                 one user, and see one /proc"
            ),
            Error::Full(topic) => write!(
                f,
                "no slot of {topic} is free: a subscriber that is to miss nothing takes nothing, \
                 or messages are held; wait longer, or open the topic with more slots"
            ),
            Error::Refused(topic, why) => {
                write!(f, "the publisher of {topic} does not let this subscriber in: {why}")
            }
            Error::Gone(topic) => {
                write!(f, "all publishers of {topic} have gone: receive waits for the next")
            }
            Error::Nothing(topic) => write!(f, "nothing was published of {topic} in time"),
            Error::OtherNode => f.write_str(
                "a set waits for subscribers of its own node: make one for each node, and wait in \
                 a thread for each",
            ),
            Error::InUse => f.write_str(
                "this node cannot be shared: it serves a function, or there is a clone, a client, \
                 a subscriber, a publisher or a sample of it: share it first, and make them then",
            ),
            Error::Descriptor(error) => {
                write!(f, "the system does not wait for the descriptors of a set: {error}")
            }
            Error::Holds(topic) => write!(
                f,
                "as many messages of {topic} are held as may be: drop one, or subscribe with more \
                 holds"
            ),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Error::Open(error) => error.source(),
            Error::Offer(error) => error.source(),
            Error::Serve(error) => error.source(),
            Error::Link(_, error) => Some(error),
            Error::Flow(_, error) => Some(error),
            Error::Call(_, error) => Some(error),
            Error::Refused(_, why) => Some(why),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn what_an_error_wraps_is_its_source_unless_it_says_the_same() {
        let source = |error: Error| error.source().map(ToString::to_string);
        let of = || "clock".to_owned();
        let link = LinkError::Unknown;
        assert_eq!(source(Error::Link(of(), link)), Some(link.to_string()));
        let call = CallError::Failed(Failure::Refused);
        assert_eq!(source(Error::Call(of(), call)), Some(call.to_string()));
        assert_eq!(source(Error::Refused(of(), Refusal::Full)), Some(Refusal::Full.to_string()));
        assert_eq!(source(Error::Open(OpenError::NoProc)), None);
        assert_eq!(source(Error::Gone(of())), None);
    }
}
