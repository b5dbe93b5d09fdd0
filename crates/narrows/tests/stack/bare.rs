//! Signals whose frames go without a header over the flattened connection are what they are with
//! one.

use crate::common::frames::{Line, line};
use narrows::connection::flattened::Flattened;
use narrows::connection::{Arrived, Header, Refused, Settings, Signal, UDATA};
use narrows::platform::Instant;

const NOW: Instant = Instant(0);
const MTU: usize = 256;

type End = (Flattened, Line);

/// Two ends that have begun. The second has received `before` signals and given `given` of them
/// back; the first has received `back` signals.
fn pair(window: u16, before: u32, given: u16, back: u32) -> [End; 2] {
    let (one, other) = line(MTU, 64);
    let settings = Settings { window, longest: 100, ..Settings::default() };
    let mut ends = [one, other].map(|line| (Flattened::new(settings, MTU, NOW), line));
    ends.iter_mut().for_each(|(end, line)| assert!(end.attend(line, NOW)));
    for (end, line) in &mut ends {
        assert_eq!(end.receive(line, NOW, make), Arrived::Up);
    }
    let [one, other] = &mut ends;
    bring(one, other, before);
    bring(other, one, back);
    ends[1].0.give_back(given);
    ends
}

/// Sends `count` signals, which are received.
fn bring(from: &mut End, to: &mut End, count: u32) {
    for number in 0..count {
        assert_eq!(send(from, number, &[1; 9]), Ok(()));
        assert!(matches!(to.0.receive(&mut to.1, NOW, make), Arrived::Signal(_)));
    }
}

fn make(len: usize) -> Option<Vec<u8>> {
    Some(vec![0; len])
}

fn send((end, line): &mut End, from: u32, bytes: &[u8]) -> Result<(), Refused> {
    let buffer = bytes.to_vec();
    end.send(line, NOW, Signal { from, to: 5, len: bytes.len(), buffer: &buffer })
}

/// The frame that a signal without a header stands for.
fn with_header(end: &Flattened, given: u16, bytes: &[u8]) -> Vec<u8> {
    let ([number, returned], mut header) = (end.numbers(), [0; UDATA]);
    let udata = Header::Udata { size: bytes.len() as u32, from: 77, to: 5 };
    udata.write(number, returned.wrapping_add(given), &mut header);
    [&header[..], bytes].concat()
}

#[test]
fn a_signal_goes_without_a_header_where_it_would_go_with_one_and_counts_the_same() {
    for len in [0, 30, 100, 101] {
        let [mut with, _] = pair(2, 1, 1, 1);
        let [mut without, _] = pair(2, 1, 1, 1);
        for _ in 0..3 {
            let sent = send(&mut with, 77, &vec![3; len]).is_ok();
            assert_eq!(without.0.bare(len).is_some(), sent, "{len} bytes");
            if sent {
                without.0.sent_bare(NOW);
            }
        }
        with.0.close();
        assert_eq!(with.0.bare(1), None, "it is closed");
    }
}

#[test]
fn what_a_signal_gives_back_is_what_was_not_said() {
    let [_, mut other] = pair(8, 5, 3, 0);
    assert_eq!(other.0.bare(9), Some(3));
    assert_eq!(other.0.bare(9), Some(3), "it has not gone");
    other.0.sent_bare(NOW);
    assert_eq!(other.0.bare(9), Some(0));
    other.0.give_back(2);
    assert_eq!(other.0.bare(9), Some(2));
    assert_eq!(send(&mut other, 77, b"said"), Ok(()));
    assert_eq!(other.0.bare(9), Some(0));
}

#[test]
fn what_is_taken_without_a_header_is_what_is_taken_with_one() {
    let mut taken = 0;
    // The last has its window full.
    for (window, before, used) in [(8, 0, 0), (8, 3, 1), (2, 2, 0), (2, 2, 1)] {
        for len in [0, 4, 100, 101] {
            for given in [0, 1, 2, 3, 0x7fff] {
                let [_, mut receiver] = pair(window, before, used, 2);
                let bytes = vec![3; len];
                let frame = with_header(&receiver.0, given, &bytes);
                let looked = receiver.0.look_bare(len, given);
                receiver.1.into.borrow_mut().frames.push_back(frame);
                let usual = match receiver.0.receive(&mut receiver.1, NOW, make) {
                    Arrived::Signal(signal) => signal.buffer == bytes,
                    _ => false,
                };
                assert_eq!(looked, usual, "{len} bytes, {given} given back of 2");
                taken += u32::from(usual);
            }
        }
    }
    assert_eq!(
        taken,
        3 * 3 * 3,
        "where the window has room, what is not too long and could be given"
    );
}

#[test]
fn both_ways_take_turns_on_one_connection() {
    let [mut sender, mut receiver] = pair(4, 0, 0, 0);
    for number in 0..40 {
        let bytes = vec![number as u8; 24];
        if number % 2 == 0 {
            assert_eq!(send(&mut sender, 77, &bytes), Ok(()), "{number}");
        } else {
            let given = sender.0.bare(24).expect("room");
            let frame = with_header(&receiver.0, given, &bytes);
            receiver.1.into.borrow_mut().frames.push_back(frame);
            sender.0.sent_bare(NOW);
        }
        if number % 3 == 0 {
            assert!(receiver.1.into.borrow_mut().frames.pop_front().is_some());
            assert!(receiver.0.look_bare(24, 0), "{number}");
            receiver.0.took_bare(0, NOW);
        } else {
            let arrived = receiver.0.receive(&mut receiver.1, NOW, make);
            assert!(matches!(arrived, Arrived::Signal(signal) if signal.buffer == bytes));
        }
        if receiver.0.give_back(1) {
            assert!(receiver.0.attend(&mut receiver.1, NOW));
            assert_eq!(sender.0.receive(&mut sender.1, NOW, make), Arrived::Part);
        }
    }
}
