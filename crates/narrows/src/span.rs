//! Spans: named stretches of a message's way, the same for measuring, simulating and calibrating.
//!
//! A platform decides what a stamp is: a time in a trace ring on a host or a board, cycles charged
//! in the simulator, nothing when spans are off.

/// A stretch of the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Span {
    /// Phase A: the caller brings the request into shared memory.
    PhaseA = 0,
    /// Phase B: control message and doorbell.
    PhaseB = 1,
    /// Phase C: everything on the other core, from taking the request to publishing the response.
    PhaseC = 2,
    /// Phase D: notification of the response and its handling.
    PhaseD = 3,
    /// Phase E: the caller gets the result out of shared memory.
    PhaseE = 4,
    /// The endpoint layer.
    Endpoint = 5,
    /// The link layer.
    Link = 6,
    /// The connection layer.
    Connection = 7,
    /// The driver layer.
    Driver = 8,
    /// Region, pool and ring.
    Memory = 9,
    /// A frame driver's service routine, when a frame has come.
    Interrupt = 10,
    /// The connection layer, when it receives; the endpoint, when it takes a message for its
    /// application.
    Receive = 11,
    /// The link layer, when it delivers a signal.
    Deliver = 12,
    /// The connection layer, when a frame was acknowledged.
    Acknowledge = 13,
    /// A frame driver's service routine, when a frame was acknowledged.
    Notice = 14,
}

impl Span {
    /// All spans, in the order of their numbers.
    pub const ALL: [Span; 15] = [
        Span::PhaseA,
        Span::PhaseB,
        Span::PhaseC,
        Span::PhaseD,
        Span::PhaseE,
        Span::Endpoint,
        Span::Link,
        Span::Connection,
        Span::Driver,
        Span::Memory,
        Span::Interrupt,
        Span::Receive,
        Span::Deliver,
        Span::Acknowledge,
        Span::Notice,
    ];

    /// The span's name in traces, tables and platform files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Span::PhaseA => "A",
            Span::PhaseB => "B",
            Span::PhaseC => "C",
            Span::PhaseD => "D",
            Span::PhaseE => "E",
            Span::Endpoint => "endpoint",
            Span::Link => "link",
            Span::Connection => "connection",
            Span::Driver => "driver",
            Span::Memory => "memory",
            Span::Interrupt => "interrupt",
            Span::Receive => "receive",
            Span::Deliver => "deliver",
            Span::Acknowledge => "acknowledge",
            Span::Notice => "notice",
        }
    }
}

/// Which end of a span is stamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The span begins.
    Enter,
    /// The span ends.
    Leave,
}

/// What a node notes of its messages and waits, for a platform that keeps a trace.
///
/// Both ends of a link number what goes over it alike, so a platform that knows which two ends
/// belong together finds the two halves of each message's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// The application hands over what is sent next, or an answer is going to be sent.
    Begins,
    /// Something is published on a link.
    Sent(Passage),
    /// Something was taken off a link and waits at this node in an entry of the link's inbox; with
    /// none, it was taken straight to where it is used.
    Taken(Passage, Option<u16>),
    /// What waited in an entry of a link's inbox is used: handed out, or served.
    Used {
        /// The platform's name for the link.
        link: u32,
        /// The entry.
        entry: u16,
    },
    /// The wait that comes is for this.
    Waits(For),
}

/// What a sender waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// A slot of the ring.
    Credit,
    /// A block of the pool.
    Block,
    /// The peer's answer to a change of strategy.
    Switch,
}

/// One message on one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The platform's name for the link.
    pub link: u32,
    /// Its number on the link in its direction, or on its channel, from 1. Numbers wrap round.
    pub number: u32,
    /// What it carries.
    pub kind: Carried,
    /// Bytes of payload.
    pub bytes: u32,
    /// A port, a function, a flow or a channel, by kind.
    pub source: u16,
    /// Where it goes.
    pub target: u16,
    /// 0 is the most urgent, 7 the least; of a response its status.
    pub priority: u8,
    /// The sender's mark, or the number of a call.
    pub tag: u16,
}

/// What a message carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// A message to a port.
    Message,
    /// A request to a function.
    Request,
    /// The response to a request.
    Response,
    /// A word between the two stacks.
    Control,
    /// A packet of a channel.
    Packet,
    /// A word of a channel.
    Scalar,
}

impl Carried {
    /// Its name in traces.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Carried::Message => "message",
            Carried::Request => "request",
            Carried::Response => "response",
            Carried::Control => "control",
            Carried::Packet => "packet",
            Carried::Scalar => "scalar",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_span_has_a_name_of_its_own() {
        let names: BTreeSet<_> = Span::ALL.into_iter().map(Span::name).collect();
        assert_eq!(names.len(), Span::ALL.len());
        assert!(names.contains("endpoint") && !names.contains(""));
    }
}
