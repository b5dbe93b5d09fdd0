//! What a message waits for, in words.

use narrows_trace::{Cause, Of, cause, state};

/// Every state, and what is said when a sender or a receiver is in it.
const WORDS: [(&str, &str); state::ALL.len()] = [
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

/// A side's name.
pub(super) fn side(of: Of) -> &'static str {
    match of {
        Of::Sender => "sender",
        Of::Receiver => "receiver",
    }
}

/// The cause as a sentence.
pub(super) fn words(what: Cause) -> String {
    let said = match what.name {
        cause::SENDING => "the sender's stack worked on it",
        cause::RECEIVING => "the receiver's stack worked on it",
        cause::QUEUE => "the receiver saw to other messages first",
        cause::BUSY => "the receiver was at work on something else",
        cause::UNKNOWN => "the trace does not say what the {} did",
        name => WORDS.iter().find(|(known, _)| *known == name).map_or(name, |(_, words)| words),
    };
    said.replace("{}", side(what.of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_words() {
        for name in state::ALL {
            let said = words(Cause { of: Of::Receiver, name });
            assert!(said != name && said.contains("the receiver"), "{name}: {said}");
        }
    }
}
