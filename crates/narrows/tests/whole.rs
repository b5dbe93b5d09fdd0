//! Signals in one piece over the flattened connection: made and looked at in words, with no driver in
//! between, they are what the usual way sends and takes.
#![cfg(not(loom))]

#[path = "common/mod.rs"]
mod common;

use common::frames::{Line, line};
use narrows::connection::flattened::Flattened;
use narrows::connection::{Arrived, Refused, Settings, Signal, UDATA};
use narrows::platform::Instant;

const NOW: Instant = Instant(0);
const MTU: usize = 256;

/// Two ends that have begun, with so many signals received here already.
fn pair(window: u16, before: u32) -> [(Flattened, Line); 2] {
    let (one, other) = line(MTU, 64);
    let settings = Settings { window, longest: 100, ..Settings::default() };
    let mut ends = [one, other].map(|line| (Flattened::new(settings, MTU, NOW), line));
    ends.iter_mut().for_each(|(end, line)| assert!(end.attend(line, NOW)));
    for (end, line) in &mut ends {
        assert_eq!(end.receive(line, NOW, make), Arrived::Up);
    }
    let [sender, receiver] = &mut ends;
    for number in 0..before {
        assert_eq!(send(sender, number, &[1; 9]), Ok(()));
        assert!(matches!(receiver.0.receive(&mut receiver.1, NOW, make), Arrived::Signal(_)));
    }
    ends
}

fn make(len: usize) -> Option<Vec<u8>> {
    Some(vec![0; len])
}

fn send((end, line): &mut (Flattened, Line), from: u32, bytes: &[u8]) -> Result<(), Refused> {
    let buffer = bytes.to_vec();
    end.send(line, NOW, Signal { from, to: 5, len: bytes.len(), buffer: &buffer })
}

#[test]
fn a_header_made_in_words_is_the_one_that_is_sent_and_none_is_where_none_would_be() {
    let [mut one, _] = pair(2, 0);
    for number in 0..2 {
        let header = one.0.whole(number, 5, 30, MTU).unwrap();
        assert_eq!(one.0.whole(number, 5, 101, MTU), None, "longer than the peer takes");
        assert_eq!(one.0.whole(number, 5, 30, 45), None, "longer than a frame");
        assert_eq!(send(&mut one, number, &[3; 30]), Ok(()));
        let sent = one.1.out.borrow().frames.back().unwrap()[..UDATA].to_vec();
        assert_eq!(sent, header);
    }
    assert_eq!(one.0.whole(2, 5, 30, MTU), None, "the window is used up");
    assert!(one.0.whole(2, 0, 30, MTU).is_some(), "what link handlers say is not counted");
    // What is told counts as what was sent.
    let [mut one, _] = pair(2, 0);
    let first = one.0.whole(7, 5, 30, MTU);
    assert_eq!(one.0.whole(7, 5, 30, MTU), first);
    one.0.sent_whole(5, NOW);
    assert_ne!(one.0.whole(7, 5, 30, MTU), first, "the next has the next number");
    one.0.sent_whole(5, NOW);
    assert_eq!(one.0.whole(7, 5, 30, MTU), None, "the window is used up");
    assert_eq!(send(&mut one, 7, &[3; 30]), Err(Refused::Full));
    one.0.close();
    assert_eq!(one.0.whole(7, 0, 30, MTU), None, "it is closed");
}

#[test]
fn what_is_taken_for_a_whole_signal_is_what_the_usual_way_takes() {
    let mut taken = 0;
    for (window, before) in [(8, 0), (8, 3), (2, 2)] {
        for at in 0..UDATA {
            for value in 0..=255 {
                let [mut sender, mut receiver] = pair(window, before);
                if send(&mut sender, 77, &[3; 24]) != Ok(()) {
                    // More than the window lets a peer send.
                    let full = receiver.1.into.borrow_mut().frames.len();
                    assert_eq!((full, window), (0, 2));
                    let mut frame = vec![0; UDATA + 24];
                    frame[..4].copy_from_slice(&[2, 0, before as u8 + 1, 0]);
                    frame[8..UDATA].copy_from_slice(&[24, 0, 0, 0, 77, 0, 0, 0, 5, 0, 0, 0]);
                    receiver.1.into.borrow_mut().frames.push_back(frame);
                }
                receiver.1.into.borrow_mut().frames[0][at] = value;
                let frame = receiver.1.into.borrow().frames[0].clone();
                let header = frame.first_chunk().unwrap();
                let found = receiver.0.look_whole(header, frame.len());
                let usual = match receiver.0.receive(&mut receiver.1, NOW, make) {
                    Arrived::Signal(signal) => Some((signal.from, signal.to)),
                    _ => None,
                };
                // Those of link handlers go the usual way.
                assert_eq!(found, usual.filter(|(_, to)| *to != 0), "byte {at} is {value}");
                taken += u32::from(found.is_some());
            }
        }
    }
    assert!(taken > 2 * 4 * 256, "those that differ by sender or receiver alone: {taken}");
}

#[test]
fn both_ways_take_turns_on_one_connection() {
    let [mut sender, mut receiver] = pair(4, 0);
    for number in 0..40 {
        assert_eq!(send(&mut sender, number, &[3; 24]), Ok(()), "{number}");
        if number % 3 == 0 {
            let frame = receiver.1.into.borrow_mut().frames.pop_front().unwrap();
            let header = frame.first_chunk().unwrap();
            assert_eq!(receiver.0.look_whole(header, frame.len()), Some((number, 5)));
            receiver.0.took_whole(header, NOW);
            assert_eq!(receiver.0.look_whole(header, frame.len()), None, "it comes once");
        } else {
            let arrived = receiver.0.receive(&mut receiver.1, NOW, make);
            assert!(matches!(arrived, Arrived::Signal(signal) if signal.from == number));
        }
        if receiver.0.give_back(1) {
            assert!(receiver.0.attend(&mut receiver.1, NOW));
            assert_eq!(sender.0.receive(&mut sender.1, NOW, make), Arrived::Part);
        }
    }
}
