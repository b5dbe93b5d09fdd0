//! What a message waited for, of traces that were written by hand.

use narrows_trace::{Category, Causes, Message, Of, Row, Trace, Writer, cause, read, state};

const SENDER: Row = Row(10);
const RECEIVER: Row = Row(20);

/// A trace of two processes with these states; each row's `state` has the next number.
fn trace(states: &[(Row, u64, u64, &str)], messages: &[(u64, [u64; 4])]) -> Trace {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file);
    writer.group(1, 1, "core").unwrap();
    for (row, name) in [(SENDER, "sender"), (RECEIVER, "receiver")] {
        writer.thread(row, 1, 1, row.0 as i32, name).unwrap();
        writer.row(Row(row.0 + 1), row.0, "state").unwrap();
    }
    for &(row, from, to, name) in states {
        writer.begin(Row(row.0 + 1), from, Category::State, name).unwrap();
        writer.end(Row(row.0 + 1), to).unwrap();
    }
    for &(id, [began, sent, taken, received]) in messages {
        let message = Message { id, began, number: id as u32, ..Message::default() };
        writer.sent(SENDER, sent, &message).unwrap();
        writer.taken(RECEIVER, taken, id).unwrap();
        writer.received(RECEIVER, received, id).unwrap();
    }
    drop(writer);
    read(&file[..]).unwrap()
}

/// The causes of a message: whose, which, and how long.
fn causes(trace: &Trace, place: usize) -> Vec<(Of, &'static str, u64)> {
    let steps = Causes::new(trace).steps(place);
    let all: Vec<_> = steps.iter().map(|s| (s.cause.of, s.cause.name, s.ns)).collect();
    let sum: u64 = all.iter().map(|(.., ns)| ns).sum();
    assert_eq!(sum, trace.messages[place].latency().unwrap());
    all
}

#[test]
fn the_senders_states_count_until_it_is_published_and_then_the_receivers() {
    let states = [
        (SENDER, 0, 40, state::RUNNING),
        (SENDER, 40, 50, state::NO_CREDIT),
        (SENDER, 50, 90, state::RUNNING),
        (RECEIVER, 0, 80, state::ASLEEP),
        (RECEIVER, 80, 85, state::WAKING),
        (RECEIVER, 85, 100, state::RUNNING),
    ];
    let trace = trace(&states, &[(1, [30, 60, 95, 95])]);
    let expected = [
        (Of::Sender, cause::SENDING, 20),
        (Of::Sender, state::NO_CREDIT, 10),
        (Of::Receiver, state::ASLEEP, 20),
        (Of::Receiver, state::WAKING, 5),
        (Of::Receiver, cause::RECEIVING, 10),
    ];
    assert_eq!(causes(&trace, 0), expected);
}

#[test]
fn a_message_is_queued_behind_those_that_the_receiver_has_first() {
    let states = [
        (SENDER, 0, 100, state::RUNNING),
        (RECEIVER, 0, 20, state::SPINNING),
        (RECEIVER, 20, 90, state::RUNNING),
    ];
    let trace = trace(&states, &[(1, [0, 10, 25, 30]), (2, [12, 15, 40, 80])]);
    assert_eq!(causes(&trace, 1)[2], (Of::Receiver, cause::QUEUE, 60));
    assert_eq!(Causes::new(&trace).steps(1)[2].behind, [0]);
    assert_eq!(causes(&trace, 0)[2], (Of::Receiver, cause::RECEIVING, 10));
}

#[test]
fn work_that_began_before_and_is_no_message_is_the_receivers_own() {
    let states = [(SENDER, 0, 50, state::RUNNING), (RECEIVER, 0, 50, state::RUNNING)];
    let trace = trace(&states, &[(1, [10, 10, 40, 40])]);
    assert_eq!(causes(&trace, 0), [(Of::Receiver, cause::BUSY, 30)]);
}

#[test]
fn what_no_state_covers_is_unknown_and_counted() {
    let states = [(RECEIVER, 20, 30, state::ASLEEP), (RECEIVER, 30, 35, "a foreign one")];
    let trace = trace(&states, &[(1, [0, 10, 40, 40])]);
    let expected = [
        (Of::Sender, cause::UNKNOWN, 10),
        (Of::Receiver, cause::UNKNOWN, 20),
        (Of::Receiver, state::ASLEEP, 10),
    ];
    assert_eq!(causes(&trace, 0), expected);
}

/// Times that contradict each other, as only a foreign or hostile file has them.
#[test]
fn impossible_times_add_up_too() {
    let states = [(RECEIVER, 90, 10, state::ASLEEP), (RECEIVER, 5, u64::MAX, state::RUNNING)];
    let messages = [
        (1, [50, 10, 5, 20]),
        (2, [0, u64::MAX, 0, u64::MAX]),
        (3, [u64::MAX, u64::MAX, 0, 1]),
        (4, [0, 5, 9, u64::MAX]),
    ];
    let trace = trace(&states, &messages);
    (0..messages.len()).for_each(|place| drop(causes(&trace, place)));
}
