//! Why a service cannot be used or offered.

use std::error;
use std::fmt;

use narrows::endpoint::{CallError, Failure, FlowError, LinkError, ServeError};
use narrows_host::OpenError;
use narrows_host::service::OfferError;

/// Why a service cannot be used or offered; each is a sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The node did not open.
    Open(OpenError),
    /// No service can have this name.
    Name(String),
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
    /// A response came that is no value of the type that it should be.
    Length(String),
    /// The node does not serve.
    Serve(ServeError),
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
            Error::Call(service, error) => write!(f, "a call of {service}: {error}"),
            Error::Length(service) => write!(
                f,
                "{service} gave a response of another length than its type has: it is not what it \
                 says"
            ),
            Error::Serve(error) => error.fmt(f),
        }
    }
}

impl error::Error for Error {}
