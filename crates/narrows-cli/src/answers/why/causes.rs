//! What a message waits for, by name and in words.

use narrows_trace::state;

/// Whose state it is that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Of {
    /// The sender's, until the message is published.
    Sender,
    /// The receiver's, from then on.
    Receiver,
}

impl Of {
    pub fn name(self) -> &'static str {
        match self {
            Of::Sender => "sender",
            Of::Receiver => "receiver",
        }
    }
}

/// What a message waits for at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Cause {
    pub of: Of,
    pub name: &'static str,
}

/// The sender's stack works on it.
pub(super) const SENDING: &str = "sending";
/// The receiver's stack works on it.
pub(super) const RECEIVING: &str = "receiving";
/// The receiver has others to see to first.
pub(super) const QUEUE: &str = "queue";
/// The receiver is at work on what is no message.
pub(super) const BUSY: &str = "busy";
/// The trace does not say.
pub(super) const UNKNOWN: &str = "unknown";

/// Every state that has a name, and what it is when a sender or a receiver is in it.
const WORDS: [(&str, &str); 16] = [
    (state::READY, "another process had the {}'s core"),
    (state::SWITCH, "the {}'s core went over to it"),
    (state::INTERRUPTED, "the {}'s core served interrupts"),
    (state::BUS, "the {} waited for its turn on a bus"),
    (state::COPY, "the {} copied"),
    (state::SPINNING, "the {} looked for something to come"),
    (state::ASLEEP, "the {} slept until something comes"),
    (state::TIMER, "the {} slept until its timer"),
    (state::NO_CREDIT, "the {} waited for a slot: its peer took too little"),
    (state::NO_BLOCK, "the {} waited for a block of its pool"),
    (state::SWITCHING, "the {} waited for a change of strategy"),
    (state::BELL_LATE, "the {} slept, and its bell came late"),
    (state::BELL_LOST, "the {} slept, and its bell was lost"),
    (state::WAKING, "the {} was woken and did not run yet"),
    (state::STOPPED, "the {} or its core was stopped"),
    (state::RUNNING, "the {} was at work"),
];

impl Cause {
    pub fn new(of: Of, name: &'static str) -> Cause {
        Cause { of, name }
    }

    /// What a state of the trace is called; none of a foreign one.
    pub fn state(name: &str) -> Option<&'static str> {
        WORDS.iter().map(|(known, _)| *known).find(|known| *known == name)
    }

    /// The cause as a sentence.
    pub fn words(self) -> String {
        match self.name {
            SENDING => "the sender's stack worked on it".into(),
            RECEIVING => "the receiver's stack worked on it".into(),
            QUEUE => "the receiver saw to other messages first".into(),
            BUSY => "the receiver was at work on something else".into(),
            UNKNOWN => format!("the trace does not say what the {} did", self.of.name()),
            name => {
                let words = WORDS.iter().find(|(known, _)| *known == name);
                words.map_or(name, |(_, words)| words).replace("{}", self.of.name())
            }
        }
    }
}
