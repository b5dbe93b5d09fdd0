//! What a bridge tells of.

use std::fmt;
use std::io::ErrorKind;
use std::net::SocketAddr;

use narrows::link::Name;

use super::line::Ended;
use super::link::Over;

/// Between whom: a node of this machine, its peer, and the address of the other bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    /// The node here.
    pub node: Name,
    /// The node there.
    pub peer: Name,
    /// The other bridge.
    pub other: SocketAddr,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} and {} at {}", self.node, self.peer, self.other)
    }
}

/// What happened. As text: a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Two nodes are linked.
    Up(Who),
    /// They are not any more.
    Over(Who, Why),
    /// A node here looked for one there, in vain.
    Unreached(Who, Why),
    /// Another bridge, or something else that connected, was turned away.
    Refused(SocketAddr, Why),
}

/// Why something ended or was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The node here ended it.
    Here,
    /// The other end closed the connection: its node ended the link, or is not what it seemed.
    There,
    /// The bridge was stopped.
    Stopped,
    /// The connection broke, or was not made: the system's words.
    Gone(String),
    /// A key is not trusted, at one end or the other.
    Key,
    /// What came is not of a bridge, or one end has a key and the other has none.
    Garbage,
    /// The other bridge is of another version.
    Version,
    /// Nothing came in time.
    Late,
    /// The name is not offered here.
    NotOffered(Name),
    /// The node is not there, has no room or refused.
    Node(Name),
    /// As many as can be served are.
    Full,
}

impl From<&Over> for Why {
    fn from(over: &Over) -> Why {
        match over {
            Over::Here => Why::Here,
            Over::Stopped => Why::Stopped,
            Over::Line(ended) => ended.into(),
        }
    }
}

impl From<&Ended> for Why {
    fn from(ended: &Ended) -> Why {
        match ended {
            Ended::Gone(error) if error.kind() == ErrorKind::UnexpectedEof => Why::There,
            Ended::Gone(error) => Why::Gone(error.to_string()),
            Ended::Key => Why::Key,
            Ended::Garbage => Why::Garbage,
            Ended::Late => Why::Late,
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Here => f.write_str("the node here ended it"),
            Why::There => f.write_str("the other end closed the connection"),
            Why::Stopped => f.write_str("the bridge was stopped"),
            Why::Gone(error) => write!(f, "the connection is gone ({error})"),
            Why::Key => f.write_str("one end does not trust the other's key: see --trust"),
            Why::Garbage => f.write_str(
                "what came is not of a bridge, or one end has a key and the other has none",
            ),
            Why::Version => f.write_str("the two bridges are of different versions"),
            Why::Late => f.write_str("nothing came in time"),
            Why::NotOffered(name) => write!(f, "it asked for {name}, which is not offered here"),
            Why::Node(name) => write!(f, "{name} is not there, or takes no link now"),
            Why::Full => f.write_str("too many others are being answered"),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Up(who) => write!(f, "{who} are linked"),
            Event::Over(who, why) => write!(f, "{who} are not linked any more: {why}"),
            Event::Unreached(who, why) => {
                write!(f, "{} did not reach {} at {}: {why}", who.node, who.peer, who.other)
            }
            Event::Refused(other, why) => write!(f, "{other} was turned away: {why}"),
        }
    }
}
