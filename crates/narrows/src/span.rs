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
