//! Connections over a driver of frames: two ends in one thread, on made-up time.

use std::time::Duration;

use crate::common::frames::{Line, line};
use narrows::connection::flattened::Flattened;
use narrows::connection::point_to_point::{PointToPoint, Waiting};
use narrows::connection::{
    Arrived, Broken, Closed, Header, Refused, Settings, Signal, State, UDATA,
};
use narrows::platform::Instant;
use proptest::prelude::*;

type End = PointToPoint<Vec<u8>, Vec<Waiting<Vec<u8>>>>;

const START: Instant = Instant(0);

fn end(queue: usize, settings: Settings) -> End {
    PointToPoint::new((0..queue).map(|_| None).collect(), settings, START)
}

fn signal(to: u32, bytes: &[u8]) -> Signal<Vec<u8>> {
    Signal { from: 1, to, len: bytes.len(), buffer: bytes.to_vec() }
}

fn make(len: usize) -> Option<Vec<u8>> {
    Some(vec![0; len])
}

/// Everything that comes until there is nothing more.
fn all(end: &mut End, line: &mut Line, now: Instant) -> Vec<Arrived<Vec<u8>>> {
    let mut arrived = Vec::new();
    loop {
        match end.receive(line, now, make) {
            Arrived::Nothing => return arrived,
            what => arrived.push(what),
        }
    }
}

/// Two ends that have begun.
fn pair(mtu: usize, settings: Settings) -> ((End, Line), (End, Line)) {
    let (mut a_line, mut b_line) = line(mtu, 64);
    let (mut a, mut b) = (end(16, settings), end(16, settings));
    a.transmit(&mut a_line, START, |_, _| {});
    b.transmit(&mut b_line, START, |_, _| {});
    assert_eq!(all(&mut a, &mut a_line, START), [Arrived::Up]);
    assert_eq!(all(&mut b, &mut b_line, START), [Arrived::Up]);
    ((a, a_line), (b, b_line))
}

fn received(arrived: Vec<Arrived<Vec<u8>>>) -> Vec<Vec<u8>> {
    let signals = arrived.into_iter().filter_map(|what| match what {
        Arrived::Signal(signal) => Some(signal.buffer),
        _ => None,
    });
    signals.collect()
}

#[test]
fn a_signal_that_fits_is_one_frame_and_a_longer_one_as_many_as_it_takes() {
    let ((mut a, mut to), (mut b, mut from)) = pair(64, Settings::default());
    let sizes = [0, 1, 44, 45, 200];
    // Behind a header of 20 bytes 44 fit, behind each of 12 another 52.
    let frames = [1, 1, 1, 2, 4];
    for (size, frames) in sizes.into_iter().zip(frames) {
        let bytes: Vec<u8> = (0..size).map(|n| n as u8).collect();
        a.send(signal(5, &bytes)).expect("room");
        assert!(a.transmit(&mut to, START, |sent, how| {
            assert_eq!((sent.len, how), (size, Ok(())));
        }));
        assert_eq!(to.out.borrow().frames.len(), frames, "{size} bytes");
        assert_eq!(received(all(&mut b, &mut from, START)), [bytes]);
    }
}

#[test]
fn what_the_driver_has_no_room_for_waits_and_goes_on_where_it_stopped() {
    let ((mut a, mut to), (mut b, mut from)) = pair(64, Settings::default());
    to.room = 2;
    let bytes: Vec<u8> = (0..300).map(|n| n as u8).collect();
    a.send(signal(5, &bytes)).expect("room");
    a.send(signal(5, b"next")).expect("room");
    let (mut got, mut turns) = (Vec::new(), 0);
    while !a.transmit(&mut to, START, |_, _| {}) {
        got.extend(received(all(&mut b, &mut from, START)));
        turns += 1;
    }
    got.extend(received(all(&mut b, &mut from, START)));
    assert_eq!((got, turns), (vec![bytes, b"next".to_vec()], 3));
}

#[test]
fn a_full_queue_gives_the_signal_back() {
    let mut a = end(2, Settings::default());
    assert_eq!(a.queued(), 0);
    a.send(signal(5, b"1")).expect("room");
    a.send(signal(5, b"2")).expect("room");
    assert_eq!(a.send(signal(5, b"3")), Err((Refused::Full, signal(5, b"3"))));
    assert_eq!(a.queued(), 2);
    assert_eq!(
        end(0, Settings::default()).send(signal(5, b"1")).err().map(|e| e.0),
        Some(Refused::Full)
    );
}

#[test]
fn a_buffer_that_the_driver_reads_stays_until_it_does_not() {
    let ((mut a, mut to), _) = pair(64, Settings::default());
    to.holding = true;
    a.send(signal(5, b"held")).expect("room");
    assert!(!a.transmit(&mut to, START, |_, _| panic!("it is held")));
    assert_eq!((to.out.borrow().frames.len(), a.queued()), (1, 1));
    to.holding = false;
    let mut through = 0;
    assert!(a.transmit(&mut to, START, |_, _| through += 1));
    assert_eq!((through, to.out.borrow().frames.len()), (1, 1));
}

#[test]
fn the_window_holds_signals_until_the_application_has_used_some() {
    let settings = Settings { window: 2, ..Settings::default() };
    let ((mut a, mut to), (mut b, mut from)) = pair(64, settings);
    for n in 0..5 {
        a.send(signal(5, &[n])).expect("room");
    }
    // The link handler's signals are not counted, but keep their place.
    a.send(signal(0, b"handler")).expect("room");
    assert!(!a.transmit(&mut to, START, |_, _| {}));
    assert_eq!(received(all(&mut b, &mut from, START)), [[0], [1]]);
    assert!(!a.transmit(&mut to, START, |_, _| {}));
    b.give_back(1);
    b.transmit(&mut from, START, |_, _| {});
    assert_eq!(all(&mut a, &mut to, START), [Arrived::Part]);
    assert!(!a.transmit(&mut to, START, |_, _| {}));
    assert_eq!(received(all(&mut b, &mut from, START)), [[2]]);
    b.give_back(2);
    b.transmit(&mut from, START, |_, _| {});
    all(&mut a, &mut to, START);
    assert!(a.transmit(&mut to, START, |_, _| {}));
    let rest = received(all(&mut b, &mut from, START));
    assert_eq!(rest, [vec![3], vec![4], b"handler".to_vec()]);
}

#[test]
fn a_signal_without_a_buffer_waits_with_the_driver() {
    let ((mut a, mut to), (mut b, mut from)) = pair(64, Settings::default());
    a.send(signal(5, b"late")).expect("room");
    a.transmit(&mut to, START, |_, _| {});
    for _ in 0..3 {
        assert_eq!(b.receive(&mut from, START, |_| None), Arrived::NoBuffer);
    }
    assert_eq!(received(all(&mut b, &mut from, START)), [b"late"]);
}

#[test]
fn a_signal_that_is_too_long_comes_back_whenever_that_is_found_out() {
    let short = Settings { longest: 10, ..Settings::default() };
    let (mut to, mut from) = line(64, 64);
    let (mut a, mut b) = (end(4, Settings::default()), end(4, short));
    a.send(signal(5, &[1; 11])).expect("not known yet");
    a.send(signal(5, &[2; 10])).expect("room");
    b.transmit(&mut from, START, |_, _| {});
    all(&mut a, &mut to, START);
    let mut ways = Vec::new();
    assert!(a.transmit(&mut to, START, |sent, how| ways.push((sent.len, how))));
    assert_eq!(ways, [(11, Err(Refused::TooLong { limit: 10 })), (10, Ok(()))]);
    assert_eq!(
        a.send(signal(5, &[1; 11])).err().map(|e| e.0),
        Some(Refused::TooLong { limit: 10 })
    );
    assert_eq!(received(all(&mut b, &mut from, START)), [[2; 10]]);
}

#[test]
fn heartbeats_keep_a_connection_and_their_loss_ends_it() {
    let second = Duration::from_secs(1);
    let settings =
        Settings { heartbeat: Some(second), patience: Some(3 * second), ..Settings::default() };
    let ((mut a, mut to), (mut b, mut from)) = pair(64, settings);
    let mut now = START;
    for _ in 0..10 {
        now = now + second;
        assert_eq!(a.next_look(), Some(now));
        a.transmit(&mut to, now, |_, _| {});
        b.transmit(&mut from, now, |_, _| {});
        assert_eq!(all(&mut a, &mut to, now), [Arrived::Part]);
        assert_eq!(all(&mut b, &mut from, now), [Arrived::Part]);
    }
    for _ in 0..2 {
        now = now + second;
        a.transmit(&mut to, now, |_, _| {});
        to.out.borrow_mut().frames.clear();
        assert_eq!(all(&mut b, &mut from, now), []);
    }
    now = now + second;
    assert_eq!(all(&mut b, &mut from, now), [Arrived::Down(Closed::TimedOut)]);
    assert_eq!(all(&mut b, &mut from, now), []);
    assert_eq!(b.next_look(), None);
    // The peer is told.
    b.transmit(&mut from, now, |_, _| {});
    assert_eq!(all(&mut a, &mut to, now), [Arrived::Down(Closed::Peer)]);
}

#[test]
fn what_was_not_sent_when_a_connection_ends_is_had_back_in_order() {
    let ((mut a, mut to), (mut b, mut from)) = pair(64, Settings::default());
    to.room = 2;
    a.send(signal(5, &[1; 200])).expect("room");
    a.send(signal(5, b"2")).expect("room");
    a.transmit(&mut to, START, |_, _| {});
    all(&mut b, &mut from, START);
    assert_eq!(a.reclaim(), None, "it has not ended");
    b.close();
    b.transmit(&mut from, START, |_, _| {});
    assert_eq!(all(&mut a, &mut to, START), [Arrived::Down(Closed::Peer)]);
    assert_eq!(a.send(signal(5, b"3")).err().map(|e| e.0), Some(Refused::Closed(Closed::Peer)));
    let back: Vec<usize> = std::iter::from_fn(|| a.reclaim()).map(|signal| signal.len).collect();
    assert_eq!(back, [200, 1]);
    // And what had come of it is not lost track of at the other side.
    assert_eq!(b.reclaim().map(|signal| signal.len), Some(200));
}

#[test]
fn what_a_peer_sent_before_it_was_lost_is_received_first() {
    let ((mut a, mut to), (mut b, mut from)) = pair(64, Settings::default());
    a.send(signal(5, b"last")).expect("room");
    a.transmit(&mut to, START, |_, _| {});
    for lane in [&to.out, &to.into] {
        lane.borrow_mut().gone = true;
    }
    b.send(signal(5, b"in vain")).expect("not known yet");
    assert!(!b.transmit(&mut from, START, |_, _| panic!("nothing is sent")));
    assert_eq!(b.send(signal(5, b"3")).err().map(|e| e.0), Some(Refused::Closed(Closed::Lost)));
    let arrived = all(&mut b, &mut from, START);
    assert_eq!(arrived.last(), Some(&Arrived::Down(Closed::Lost)));
    assert_eq!(received(arrived), [b"last"]);
    assert_eq!(b.reclaim().map(|signal| signal.buffer), Some(b"in vain".to_vec()));
}

/// What becomes of an end to which `frames` come behind the one that begins.
fn attacked(frames: &[&[u8]]) -> (State, Vec<Vec<u8>>, bool) {
    let settings = Settings { window: 2, longest: 100, ..Settings::default() };
    let ((mut a, _), (mut b, mut from)) = pair(64, settings);
    a.close();
    from.into.borrow_mut().frames.extend(frames.iter().map(|frame| frame.to_vec()));
    let arrived = all(&mut b, &mut from, START);
    b.transmit(&mut from, START, |_, _| {});
    let told = from.out.borrow().frames.back().is_some_and(|frame| frame[..2] == [5, 1]);
    let down = arrived.iter().filter(|what| matches!(what, Arrived::Down(_))).count();
    assert_eq!(down, usize::from(b.state() != State::Up));
    (b.state(), received(arrived), told)
}

fn udata(sequence: u8, size: u8, to: u8, payload: &[u8]) -> Vec<u8> {
    let header = [2, 0, sequence, 0, 0, 0, 0, 0, size, 0, 0, 0, 1, 0, 0, 0, to, 0, 0, 0];
    [&header[..], payload].concat()
}

fn frag(sequence: u8, offset: u8, payload: &[u8]) -> Vec<u8> {
    [&[3, 0, sequence, 0, 0, 0, 0, 0, offset, 0, 0, 0][..], payload].concat()
}

#[test]
fn every_lie_in_a_frame_ends_the_connection_with_its_reason_and_tells_the_peer() {
    let honest = udata(1, 3, 5, b"abc");
    let first = udata(1, 10, 5, b"abcde");
    let rows: [(&[&[u8]], Broken); 16] = [
        (&[b""], Broken::Kind),
        (&[&[9; 30]], Broken::Kind),
        (&[&honest[..UDATA - 1]], Broken::Kind),
        (&[&[4, 0, 1, 0, 0, 0, 0, 0, 0]], Broken::Kind),
        (&[&[1, 3, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]], Broken::Begin),
        (&[&udata(2, 3, 5, b"abc")], Broken::Sequence),
        (&[&honest, &honest], Broken::Sequence),
        (&[&frag(1, 0, b"abc")], Broken::Stray),
        (&[&first, &udata(2, 3, 5, b"abc")], Broken::Fragment),
        (&[&first, &frag(2, 6, b"abc")], Broken::Fragment),
        (&[&first, &frag(2, 5, b"abcdef")], Broken::Fragment),
        (&[&first, &frag(2, 5, b"")], Broken::Fragment),
        (&[&udata(1, 3, 5, b"")], Broken::Fragment),
        (&[&udata(1, 101, 5, b"abc")], Broken::TooLong),
        (&[&honest, &udata(2, 0, 5, b""), &udata(3, 1, 5, b"a")], Broken::Window),
        (&[&[4, 0, 1, 0, 1, 0, 0, 0]], Broken::Credit),
    ];
    for (frames, why) in rows {
        let (state, _, told) = attacked(frames);
        assert_eq!((state, told), (State::Down(Closed::Broken(why)), true), "{frames:?}");
    }
    let (state, got, _) = attacked(&[&honest, &first, &frag(3, 5, b"fghij")]);
    assert_eq!(state, State::Down(Closed::Broken(Broken::Sequence)));
    assert_eq!(got, [b"abc"]);
    let (state, got, _) = attacked(&[&first, &frag(2, 5, b"fghij")]);
    assert_eq!((state, got), (State::Up, vec![b"abcdefghij".to_vec()]));
}

#[test]
fn a_peer_that_does_not_begin_well_is_no_peer() {
    let rows: [(&[u8], Closed); 4] = [
        (&[4, 0, 0, 0, 0, 0, 0, 0], Closed::Broken(Broken::Begin)),
        (&[1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0], Closed::Broken(Broken::Version)),
        (&[1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0], Closed::Broken(Broken::Version)),
        (&[5, 0, 0, 0, 0, 0, 0, 0], Closed::Peer),
    ];
    for (frame, why) in rows {
        let (mut line, _other) = line(64, 4);
        line.into.borrow_mut().frames.push_back(frame.to_vec());
        let mut end = end(4, Settings::default());
        assert_eq!(all(&mut end, &mut line, START), [Arrived::Down(why)], "{frame:?}");
    }
}

#[test]
fn the_widest_window_is_one_that_numbers_can_count() {
    for (window, begins) in [(i16::MAX as u16, true), (i16::MAX as u16 + 1, false)] {
        let (mut line, _other) = line(64, 4);
        let [low, high] = window.to_le_bytes();
        let frame = vec![1, 3, 0, 0, 0, 0, 0, 0, low, high, 0, 0, 1, 0, 0, 0];
        line.into.borrow_mut().frames.push_back(frame);
        let mut end = end(4, Settings::default());
        let expected = match begins {
            true => Arrived::Up,
            false => Arrived::Down(Closed::Broken(Broken::Version)),
        };
        assert_eq!(all(&mut end, &mut line, START), [expected], "{window}");
    }
}

/// A flattened end and the driver below it, begun with a point-to-point end.
fn flat(settings: Settings) -> ((Flattened, Line), (End, Line)) {
    let (mut a_line, mut b_line) = line(64, 64);
    let (mut a, mut b) = (Flattened::new(settings, 64, START), end(16, settings));
    a.attend(&mut a_line, START);
    b.transmit(&mut b_line, START, |_, _| {});
    assert_eq!(a.receive(&mut a_line, START, make), Arrived::Up);
    assert_eq!(all(&mut b, &mut b_line, START), [Arrived::Up]);
    ((a, a_line), (b, b_line))
}

fn lent(to: u32, buffer: &Vec<u8>) -> Signal<&Vec<u8>> {
    Signal { from: 1, to, len: buffer.len(), buffer }
}

#[test]
fn a_flattened_end_and_a_point_to_point_one_understand_each_other() {
    let ((mut a, mut to), (mut b, mut from)) = flat(Settings::default());
    let bytes = b"there".to_vec();
    a.send(&mut to, START, lent(5, &bytes)).expect("room");
    assert_eq!(received(all(&mut b, &mut from, START)), [b"there"]);
    b.send(signal(6, b"back")).expect("room");
    assert!(b.transmit(&mut from, START, |_, _| {}));
    assert_eq!(a.receive(&mut to, START, make), Arrived::Signal(signal(6, b"back")));
    // It has said how much fits one frame.
    let refused = b.send(signal(6, &[0; 45])).err().map(|e| e.0);
    assert_eq!(refused, Some(Refused::TooLong { limit: 44 }));
    let long = vec![0; 45];
    assert_eq!(a.send(&mut to, START, lent(5, &long)), Err(Refused::TooLong { limit: 44 }));
    a.close();
    a.attend(&mut to, START);
    assert_eq!(all(&mut b, &mut from, START), [Arrived::Down(Closed::Peer)]);
}

#[test]
fn a_flattened_end_tells_its_sender_that_there_is_no_room() {
    let settings = Settings { window: 2, ..Settings::default() };
    let ((mut a, mut to), (mut b, mut from)) = flat(settings);
    let bytes = b"x".to_vec();
    for expected in [Ok(()), Ok(()), Err(Refused::Full)] {
        assert_eq!(a.send(&mut to, START, lent(5, &bytes)), expected);
    }
    a.send(&mut to, START, lent(0, &bytes)).expect("the link handler's are not counted");
    assert_eq!(received(all(&mut b, &mut from, START)).len(), 3);
    b.give_back(1);
    b.transmit(&mut from, START, |_, _| {});
    assert_eq!(a.receive(&mut to, START, make), Arrived::Part);
    to.room = 0;
    assert_eq!(a.send(&mut to, START, lent(5, &bytes)), Err(Refused::Full));
    to.room = 64;
    assert_eq!(a.send(&mut to, START, lent(5, &bytes)), Ok(()));
}

#[test]
fn a_flattened_end_takes_no_fragments() {
    for (frame, why) in [
        (udata(1, 10, 5, b"abcde"), Broken::Fragment),
        (udata(1, 2, 5, b"abcde"), Broken::Fragment),
        (udata(1, 45, 5, b"abcde"), Broken::TooLong),
        (frag(1, 0, b"abc"), Broken::Stray),
        (udata(2, 5, 5, b"abcde"), Broken::Sequence),
    ] {
        let ((mut a, mut to), _) = flat(Settings::default());
        to.into.borrow_mut().frames.push_back(frame);
        let arrived = a.receive(&mut to, START, make);
        assert_eq!(arrived, Arrived::Down(Closed::Broken(why)));
        assert_eq!(a.receive(&mut to, START, make), Arrived::Nothing);
    }
}

proptest! {
    #[test]
    fn whatever_the_sizes_every_signal_arrives_once_whole_and_in_order(
        mtu in 64_usize..200,
        room in 1_usize..6,
        window in 1_u16..5,
        queue in 1_usize..6,
        sizes in prop::collection::vec(0_usize..700, 1..60),
        turns in prop::collection::vec(0_u8..4, 1..40),
    ) {
        let settings = Settings { window, ..Settings::default() };
        let (mut to, mut from) = line(mtu, room);
        let (mut a, mut b) = (end(queue, settings), end(queue, settings));
        let signals = sizes.iter().enumerate();
        let wanted: Vec<Vec<u8>> = signals.map(|(n, size)| vec![n as u8; *size]).collect();
        let (mut next, mut got, mut held) = (0, Vec::new(), 0);
        // At the latest after all of these turns for each frame there can be.
        let mut turns = turns.iter().cycle().chain([&0, &1, &2, &3].into_iter().cycle());
        let mut left = 40_000;
        while got.len() < wanted.len() {
            left -= 1;
            // The given turns may leave one out for ever.
            let turn = if left % 7 == 0 { (left / 7 % 4) as u8 } else { *turns.next().expect("endless") };
            prop_assert!(left > 0, "{} of {} came", got.len(), wanted.len());
            match turn {
                0 => {
                    if next < wanted.len() && a.send(signal(5, &wanted[next])).is_ok() {
                        next += 1;
                    }
                }
                1 => { a.transmit(&mut to, START, |_, _| {}); }
                2 => {
                    let came = received(all(&mut b, &mut from, START));
                    held += came.len() as u16;
                    got.extend(came);
                    let arrived = all(&mut a, &mut to, START);
                    prop_assert!(arrived.iter().all(|what| matches!(what, Arrived::Part | Arrived::Up)));
                }
                _ => {
                    prop_assert!(held <= window);
                    b.give_back(std::mem::take(&mut held));
                    b.transmit(&mut from, START, |_, _| {});
                }
            }
        }
        prop_assert_eq!(got, wanted);
        prop_assert_eq!((a.state(), b.state()), (State::Up, State::Up));
    }

    #[test]
    fn whatever_comes_is_a_signal_within_its_bounds_or_the_end(
        frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..20),
        kinds in prop::collection::vec(0_u8..7, 20),
    ) {
        let settings = Settings { longest: 100, ..Settings::default() };
        let ((_a, _), (mut b, mut from)) = pair(64, settings);
        for (n, (mut frame, kind)) in frames.into_iter().zip(kinds).enumerate() {
            // Mostly the right number, so that the rest is looked at too.
            for (at, value) in [(0, kind), (1, 0), (2, n as u8 + 1), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (9, 0), (10, 0), (11, 0)] {
                if let Some(place) = frame.get_mut(at) { *place = value; }
            }
            from.into.borrow_mut().frames.push_back(frame);
        }
        let mut down = 0;
        for what in all(&mut b, &mut from, START) {
            prop_assert_eq!(down, 0, "something came behind the end");
            match what {
                Arrived::Signal(signal) => prop_assert!(signal.len <= 100 && signal.buffer.len() == signal.len),
                Arrived::Down(_) => down += 1,
                _ => {}
            }
        }
    }
}

#[test]
fn a_flattened_end_says_when_it_is_to_be_looked_at_and_what_its_next_header_has() {
    let second = Duration::from_secs(1);
    let settings =
        Settings { heartbeat: Some(second), patience: Some(3 * second), ..Settings::default() };
    let (mut one, mut other) = line::<Vec<u8>>(64, 64);
    let mut ends = [(); 2].map(|()| Flattened::new(settings, 64, START));
    let [a, b] = &mut ends;
    assert!(a.attend(&mut one, START) && b.attend(&mut other, START));
    assert_eq!(a.receive(&mut one, START, make), Arrived::Up);
    assert_eq!(a.next_look(), Some(START + second), "the heartbeat is due");
    assert!(a.attend(&mut one, START + second));
    assert_eq!(a.next_look(), Some(START + 2 * second));
}

#[test]
fn the_numbers_of_the_next_header_are_those_that_the_header_has() {
    let ((mut a, mut to), (mut b, mut from)) = pair(64, Settings::default());
    for round in 0..3 {
        b.send(signal(5, b"one")).expect("room");
        b.transmit(&mut from, START, |_, _| {});
        assert_eq!(received(all(&mut a, &mut to, START)).len(), 1);
        a.give_back(1);
        let [number, given] = b.numbers();
        assert!(number > 0 && given == round);
        a.send(signal(5, b"two")).expect("room");
        a.transmit(&mut to, START, |_, _| {});
        let frame = to.out.borrow().frames.back().cloned().expect("it was sent");
        let mut header = [0; UDATA];
        header.copy_from_slice(&frame[..UDATA]);
        let (_, _, sequence, freed) = Header::read(&header, frame.len()).expect("a header");
        assert_eq!((sequence, freed), (number, given + 1), "but for what it gives back itself");
        assert_eq!(received(all(&mut b, &mut from, START)).len(), 1);
    }
}

#[test]
fn a_farewell_without_room_is_still_to_be_said() {
    let settings = Settings::default();
    let (mut one, mut other) = line::<Vec<u8>>(64, 64);
    let mut ends = [(); 2].map(|()| Flattened::new(settings, 64, START));
    let [a, b] = &mut ends;
    assert!(a.attend(&mut one, START) && b.attend(&mut other, START));
    assert_eq!(a.receive(&mut one, START, make), Arrived::Up);
    assert_eq!(b.receive(&mut other, START, make), Arrived::Up);
    a.close();
    one.room = 0;
    assert!(!a.attend(&mut one, START));
    assert_eq!(b.receive(&mut other, START, make), Arrived::Nothing);
    one.room = 1;
    assert!(a.attend(&mut one, START));
    assert!(a.attend(&mut one, START), "it is said once");
    assert_eq!(b.receive(&mut other, START, make), Arrived::Down(Closed::Peer));
}
