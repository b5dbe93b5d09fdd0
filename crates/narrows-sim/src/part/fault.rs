//! What can go wrong with a request, a table or a message of a cluster: the status that its blocks
//! signal.

use std::fmt;

/// Why a block does not do something. What a CPU has written of the request is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The address is none of a request.
    NotARequest,
    /// The cluster has no CPU of that number.
    NoCpu,
    /// The port is not in the tables.
    NoPort,
    /// The port is not connected, or it is the other side of its connection.
    Unconnected,
    /// The access that should have been the last of the request does not say so, or the CPU began
    /// another request before.
    NoEnd,
    /// The request is said to be complete before it is.
    EarlyEnd,
    /// Nothing is to be moved, or no whole words.
    Size,
    /// More is to be moved than the FIFO has room for: it would wait for ever.
    TooLong,
    /// Another CPU has requests for the port. The port works on for that one.
    Race,
    /// The CPU has as many requests as its queue holds. It can try again.
    QueueFull,
    /// The entry cannot be: no credit, a FIFO of no word, outside memory or over another one, or a
    /// threshold at which credit would never come back.
    Setup,
    /// The port's entry cannot change while words or credit of it are on their way.
    InUse,
    /// Credit has come for a port that sends nothing.
    CreditForNobody,
    /// More credit has come than there is room in the FIFO. It is left out.
    CreditOver,
    /// Data has come for a port that receives nothing. It is dropped.
    DataForNobody,
    /// More data has come than there was credit for. It is dropped.
    Overrun,
    /// The other end reads words that are not in a FIFO of this cluster. It gets zeros.
    NoWords,
    /// An address is neither in the cluster's shared memory nor in another's.
    Address,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::NotARequest => "the address is none of a request",
            Fault::NoCpu => "the cluster has no CPU of that number",
            Fault::NoPort => "the port is not in the tables",
            Fault::Unconnected => "the port is not connected in that direction",
            Fault::NoEnd => "the request has no end",
            Fault::EarlyEnd => "the request ends before it is complete",
            Fault::Size => "the size is no whole number of words above 0",
            Fault::TooLong => "the size is above what the FIFO has room for",
            Fault::Race => "another CPU has requests for the port",
            Fault::QueueFull => "the CPU's queue is full",
            Fault::Setup => "the entry of the tables cannot be",
            Fault::InUse => "the port is in use",
            Fault::CreditForNobody => "credit has come for a port that sends nothing",
            Fault::CreditOver => "more credit has come than the FIFO has room",
            Fault::DataForNobody => "data has come for a port that receives nothing",
            Fault::Overrun => "data has come for which there was no credit",
            Fault::NoWords => "words are read that are not in the FIFO",
            Fault::Address => "the address is in no memory that the block reaches",
        })
    }
}

/// A fault, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noted {
    /// What it is.
    pub fault: Fault,
    /// The CPU whose request it was.
    pub cpu: Option<u8>,
    /// The port, or the number of the transfer.
    pub port: Option<u8>,
}
