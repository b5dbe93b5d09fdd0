//! Traces: what happened on each core and when, in Perfetto's format.
//!
//! A trace is a file of packets. [`Writer`] writes one while a program or a simulation runs, and
//! [`read`] reads it back. Perfetto's viewer and its `trace_processor` open the same file. Files of
//! several processes of one machine become one trace by writing them one behind the other: each
//! row has a number that is its own, and all times are of one clock.
//!
//! ```
//! use narrows_trace::{Category, Message, Row, Writer};
//!
//! let mut file = Vec::new();
//! let mut writer = Writer::new(&mut file);
//! writer.group(1, 1, "arm")?;
//! let row = Row(2);
//! writer.thread(row, 1, 1, 1, "caller")?;
//! writer.begin(row, 1_000, Category::Call, "endpoint")?;
//! let message = Message { id: 7, began: 1_000, bytes: 48, ..Message::default() };
//! writer.sent(row, 1_500, &message)?;
//! writer.end(row, 1_600)?;
//! drop(writer);
//! let trace = narrows_trace::read(&file[..])?;
//! assert_eq!(trace.messages[0].bytes, 48);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod causes;
mod read;
#[allow(missing_docs, reason = "the fields are Perfetto's")]
mod schema;
mod write;

use narrows::span::Passage;

pub use causes::{Cause, Causes, Of, Step};
pub use read::{Counted, Happened, Journey, Kind, ReadError, Slice, Trace, Track, read};
pub use write::{Sealed, Value, Writer};

/// A row of the picture: a thread or process, or what belongs to one. Its number is unique in the
/// whole trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Row(pub u64);

/// What kind of thing a stretch or a moment of a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Category {
    /// What a process is doing or waiting for: its row `state` has one at any time.
    State,
    /// A layer of the stack, nested as they call each other.
    Call,
    /// A phase of a call, A to E.
    Phase,
    /// A message is sent, taken or received.
    Message,
    /// A core serves an interrupt.
    Interrupt,
    /// Who has a bus or a link.
    Bus,
    /// A strategy is chosen or changed, or a session is refused.
    Decision,
    /// A fault that was injected, or a peer that was lost.
    Fault,
    /// Something about the trace itself: how many events were dropped.
    Trace,
    /// What a program says of itself.
    Span,
}

impl Category {
    /// All of them.
    pub const ALL: [Category; 10] = [
        Category::State,
        Category::Call,
        Category::Phase,
        Category::Message,
        Category::Interrupt,
        Category::Bus,
        Category::Decision,
        Category::Fault,
        Category::Trace,
        Category::Span,
    ];

    /// Its name in the file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Category::State => "state",
            Category::Call => "call",
            Category::Phase => "phase",
            Category::Message => "message",
            Category::Interrupt => "interrupt",
            Category::Bus => "bus",
            Category::Decision => "decision",
            Category::Fault => "fault",
            Category::Trace => "trace",
            Category::Span => "span",
        }
    }

    /// The category of that name; foreign ones count as a program's own.
    #[must_use]
    pub fn of(name: &str) -> Category {
        Category::ALL.into_iter().find(|c| c.name() == name).unwrap_or(Category::Span)
    }
}

/// What a process is in, in its row `state`. These names are what `narrows why` goes by.
pub mod state {
    use narrows::span::For;

    /// It runs.
    pub const RUNNING: &str = "running";
    /// It is ready and another process, more urgent or earlier, has its core.
    pub const READY: &str = "ready";
    /// Its core goes over to it from another process.
    pub const SWITCH: &str = "switch";
    /// Its core serves an interrupt.
    pub const INTERRUPTED: &str = "interrupted";
    /// It waits for its turn on a bus.
    pub const BUS: &str = "bus";
    /// It copies payload, or has the copy engine do so.
    pub const COPY: &str = "copy";
    /// It looks again and again whether something has come.
    pub const SPINNING: &str = "spinning";
    /// It sleeps until something comes.
    pub const ASLEEP: &str = "asleep";
    /// It sleeps until its timer.
    pub const TIMER: &str = "timer";
    /// It waits for a slot of a ring: the receiver has taken too little.
    pub const NO_CREDIT: &str = "no credit";
    /// It waits for a block of its pool.
    pub const NO_BLOCK: &str = "no block";
    /// A bell was rung for it, and it does not run yet.
    pub const WAKING: &str = "waking";
    /// A sender waits for its peer's answer to a change of strategy.
    pub const SWITCHING: &str = "switching";
    /// It sleeps, and a bell was rung for it that comes late: a fault that was injected.
    pub const BELL_LATE: &str = "bell late";
    /// It sleeps, and the bell that was rung for it never comes: a fault that was injected.
    pub const BELL_LOST: &str = "bell lost";
    /// It was stopped, or its core stands still: a fault that was injected.
    pub const STOPPED: &str = "stopped";

    /// All of them.
    pub const ALL: [&str; 16] = [
        RUNNING,
        READY,
        SWITCH,
        INTERRUPTED,
        BUS,
        COPY,
        SPINNING,
        ASLEEP,
        TIMER,
        NO_CREDIT,
        NO_BLOCK,
        WAKING,
        SWITCHING,
        BELL_LATE,
        BELL_LOST,
        STOPPED,
    ];

    /// The state of that name; none of a foreign one.
    #[must_use]
    pub fn known(name: &str) -> Option<&'static str> {
        ALL.into_iter().find(|known| *known == name)
    }

    /// The state of a sender that waits for this.
    #[must_use]
    pub fn of_sender(what: For) -> &'static str {
        match what {
            For::Credit => NO_CREDIT,
            For::Block => NO_BLOCK,
            For::Switch => SWITCHING,
        }
    }
}

/// What a message waits for that is no state of a process.
pub mod cause {
    /// The sender's stack works on it.
    pub const SENDING: &str = "sending";
    /// The receiver's stack works on it.
    pub const RECEIVING: &str = "receiving";
    /// The receiver sees to others first.
    pub const QUEUE: &str = "queue";
    /// The receiver is at work on what is no message.
    pub const BUSY: &str = "busy";
    /// The trace does not say.
    pub const UNKNOWN: &str = "unknown";
}

/// A message, as its sender knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Tells it from all others of the trace, at both ends.
    pub id: u64,
    /// When the sender began to send it, in nanoseconds: [`Writer::sent`] has when it was
    /// published.
    pub began: u64,
    /// Its number on its link, from 1.
    pub number: u32,
    /// Bytes of payload.
    pub bytes: u32,
    /// `message`, `request`, `response`, `control`, `packet`, `scalar` or `signal`.
    pub kind: String,
    /// Whom the sender sends it to.
    pub peer: String,
    /// The flow of a call, or the port that it comes from.
    pub source: u32,
    /// The port or function that it goes to, or the flow of a response.
    pub target: u32,
    /// 0 is the most urgent, 7 the least.
    pub priority: u8,
    /// The sender's mark, or the number of a call.
    pub tag: u16,
    /// What it carries, if that was kept.
    pub payload: Option<Vec<u8>>,
}

impl Message {
    /// A message that the stack notes, with what its trace alone knows of it.
    #[must_use]
    pub fn of(passage: &Passage, id: u64, began: u64, peer: String) -> Message {
        Message {
            id,
            began,
            number: passage.number,
            bytes: passage.bytes,
            kind: passage.kind.name().to_owned(),
            peer,
            source: passage.source.into(),
            target: passage.target.into(),
            priority: passage.priority,
            tag: passage.tag,
            payload: None,
        }
    }
}
