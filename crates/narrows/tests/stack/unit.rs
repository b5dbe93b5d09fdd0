//! LINX's unit over a driver of frames whose frames are taken off first: what waits, which
//! side gives what back, and an interrupt in the middle of a process.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use crate::common::frames::{Lane, Line, line};
use narrows::connection::flattened::Flattened;
use narrows::connection::point_to_point::{PointToPoint, Waiting};
use narrows::connection::{Arrived, Broken, Closed, Refused, Settings, Signal};
use narrows::driver::{Frames, NoFrame, NotSent, NotThere};
use narrows::linx::station::Connection;
use narrows::linx::unit::{Left, Staged, Unit};
use narrows::platform::Instant;

const NOW: Instant = Instant(0);

type End = Unit<Vec<u8>, Vec<u8>, Vec<Waiting<Vec<u8>>>, Vec<Option<Vec<u8>>>>;

/// One side of a line, whose frames are taken off one by one.
struct Stage {
    line: Line,
    into: Rc<RefCell<Lane>>,
    /// Signals that memory is left for.
    memory: Rc<Cell<u32>>,
    /// Whether there is a buffer for the next frame.
    buffer: bool,
    released: Rc<Cell<u32>>,
    kept: Rc<Cell<u32>>,
    /// What comes in the middle of a frame that is sent.
    interrupt: Option<Box<dyn FnOnce()>>,
}

fn stage(line: Line) -> Stage {
    let into = Rc::clone(&line.into);
    let memory = Rc::new(Cell::new(u32::MAX));
    Stage {
        line,
        into,
        memory,
        buffer: true,
        released: Rc::default(),
        kept: Rc::default(),
        interrupt: None,
    }
}

impl Staged for Stage {
    type Buffer = Vec<u8>;
    type Frame = Vec<u8>;

    fn mtu(&self) -> usize {
        self.line.mtu()
    }

    fn try_send(
        &mut self,
        header: &[u8],
        payload: Option<(&Vec<u8>, usize, usize)>,
    ) -> Result<(), NotSent> {
        if let Some(interrupt) = self.interrupt.take() {
            interrupt();
        }
        self.line.try_send(header, payload)
    }

    fn take(&mut self) -> Option<Result<Vec<u8>, NoFrame>> {
        let mut lane = self.into.borrow_mut();
        lane.frames.front()?;
        if !self.buffer {
            return Some(Err(NoFrame::Empty));
        }
        lane.frames.pop_front().map(Ok)
    }

    fn look(&mut self, frame: &Vec<u8>, header: &mut [u8]) -> Result<usize, NoFrame> {
        let fits = header.len().min(frame.len());
        header[..fits].copy_from_slice(&frame[..fits]);
        Ok(frame.len())
    }

    fn read(
        &mut self,
        frame: &Vec<u8>,
        from: usize,
        len: usize,
        buffer: &mut Vec<u8>,
        at: usize,
    ) -> Result<(), NotThere> {
        let part = frame.get(from..from + len).ok_or(NotThere)?;
        buffer.get_mut(at..at + len).ok_or(NotThere)?.copy_from_slice(part);
        Ok(())
    }

    fn release(&mut self, _: Vec<u8>) {
        self.released.set(self.released.get() + 1);
    }

    fn make(&mut self, len: usize) -> Option<Vec<u8>> {
        self.memory.set(self.memory.get().checked_sub(1)?);
        Some(vec![0; len])
    }

    fn keep(&mut self, _: Vec<u8>) {
        self.kept.set(self.kept.get() + 1);
    }
}

fn layered(settings: Settings) -> Connection<Vec<u8>, Vec<Waiting<Vec<u8>>>> {
    Connection::Layered(PointToPoint::new((0..8).map(|_| None).collect(), settings, NOW))
}

fn unit(settings: Settings, places: usize) -> End {
    Unit::new(layered(settings), (0..places).map(|_| None).collect())
}

fn signal(bytes: &[u8]) -> Signal<Vec<u8>> {
    Signal { from: 1, to: 5, len: bytes.len(), buffer: bytes.to_vec() }
}

/// Takes one frame off and receives it.
fn one(unit: &End, stage: &mut Stage) -> Arrived<Vec<u8>> {
    unit.take(stage);
    let frame = unit.next();
    unit.receive(stage, NOW, frame)
}

/// Two units whose connections are up.
fn pair(settings: Settings, places: usize) -> [(End, Stage); 2] {
    let (a, b) = line(64, 64);
    let mut sides = [a, b].map(|line| (unit(settings, places), stage(line)));
    for (unit, stage) in &mut sides {
        assert_eq!(unit.transmit(stage, NOW), Left::Nothing);
    }
    for (unit, stage) in &mut sides {
        assert_eq!(one(unit, stage), Arrived::Up);
        assert_eq!(stage.released.replace(0), 1);
    }
    sides
}

/// The bytes of a signal that is complete.
fn bytes(arrived: Arrived<Vec<u8>>) -> Option<Vec<u8>> {
    match arrived {
        Arrived::Signal(signal) => Some(signal.buffer),
        _ => None,
    }
}

const BOTH: [&[u8; 3]; 2] = [b"one", b"two"];

/// Sends two signals, a frame each.
fn send_both(unit: &End, stage: &mut Stage) {
    for text in BOTH {
        unit.send(stage, NOW, signal(text)).expect("room");
        assert_eq!(unit.transmit(stage, NOW), Left::Nothing);
    }
}

/// Receives both, in their order, from frames that wait.
fn receive_both(unit: &End, stage: &mut Stage) {
    for text in BOTH {
        let frame = unit.next();
        assert_eq!(bytes(unit.receive(stage, NOW, frame)).as_deref(), Some(&text[..]));
    }
}

#[test]
fn a_frame_that_is_a_lie_ends_the_connection_and_no_frame_stays() {
    let [(a, mut to), (b, mut from)] = pair(Settings::default(), 4);
    send_both(&a, &mut to);
    // The first frame comes after the second.
    from.into.borrow_mut().frames.swap(0, 1);
    assert_eq!((b.take(&mut from), b.take(&mut from)), (Some(true), Some(true)));
    let mut arrived = Vec::new();
    for _ in 0..2 {
        let frame = b.next().expect("a frame waits");
        arrived.push(b.receive(&mut from, NOW, Some(frame)));
    }
    assert_eq!(arrived[0], Arrived::Down(Closed::Broken(Broken::Sequence)));
    assert_eq!(arrived[1], Arrived::Nothing, "said once");
    assert_eq!((b.waiting(), from.released.get()), (0, 2));
}

#[test]
fn a_frame_without_memory_for_its_signal_is_the_next_one_again() {
    let [(a, mut to), (b, mut from)] = pair(Settings::default(), 4);
    send_both(&a, &mut to);
    assert_eq!(to.kept.get(), 2, "what was sent is kept for as long as the driver may read it");
    from.memory.set(0);
    assert_eq!((b.take(&mut from), b.take(&mut from)), (Some(true), Some(true)));
    let frame = b.next();
    assert_eq!(b.receive(&mut from, NOW, frame), Arrived::NoBuffer);
    assert_eq!((b.waiting(), from.released.get()), (2, 0));
    from.memory.set(2);
    receive_both(&b, &mut from);
    assert_eq!(from.released.get(), 2);
}

#[test]
fn frames_without_a_place_or_a_buffer_stay_with_the_driver_and_are_owed() {
    let [(a, mut to), (b, mut from)] = pair(Settings::default(), 1);
    send_both(&a, &mut to);
    from.buffer = false;
    assert_eq!((b.take(&mut from), b.is_starved()), (Some(false), true));
    from.buffer = true;
    assert_eq!((b.take(&mut from), b.is_starved()), (Some(true), false));
    assert_eq!((b.take(&mut from), b.was_starved()), (Some(false), true), "one place");
    assert!(!b.is_starved(), "forgotten once it was said");
    assert_eq!(b.move_to(Vec::new()), Err(Vec::new()), "fewer places than frames");
    assert_eq!(b.move_to((0..3).map(|_| None).collect()), Ok(()));
    assert_eq!((b.take(&mut from), b.take(&mut from)), (Some(true), None));
    receive_both(&b, &mut from);
}

#[test]
fn what_is_left_says_whether_the_driver_or_the_peer_has_no_room() {
    let [(a, mut to), _] = pair(Settings { window: 2, ..Settings::default() }, 4);
    to.line.room = 1;
    a.send(&mut to, NOW, signal(b"one")).expect("room");
    assert_eq!(a.transmit(&mut to, NOW), Left::Nothing);
    a.send(&mut to, NOW, signal(b"two")).expect("room");
    assert_eq!((a.transmit(&mut to, NOW), a.queues()), (Left::Room, true));
    to.line.room = 64;
    assert_eq!((a.transmit(&mut to, NOW), a.queues()), (Left::Nothing, false));
    a.send(&mut to, NOW, signal(b"three")).expect("room");
    assert_eq!((a.transmit(&mut to, NOW), a.queues()), (Left::Credit, true));
}

#[test]
fn an_interrupt_in_the_middle_of_a_process_leaves_a_note_that_is_seen_to() {
    let settings = Settings { window: 2, ..Settings::default() };
    let [(a, mut to), (b, mut from)] = pair(settings, 4);
    let (a, b) = (Rc::new(a), Rc::new(b));
    for text in [b"one", b"two"] {
        a.send(&mut to, NOW, signal(text)).expect("room");
    }
    assert_eq!(a.transmit(&mut to, NOW), Left::Nothing);
    for _ in 0..2 {
        assert!(bytes(one(&b, &mut from)).is_some());
    }
    // While b sends, an interrupt finds its connection in use: it can neither transmit nor receive
    // nor give back, and loses nothing.
    b.send(&mut from, NOW, signal(b"back")).expect("room");
    let found = Rc::new(RefCell::new(VecDeque::new()));
    let (inner, seen) = (Rc::clone(&b), Rc::clone(&found));
    let mut other = stage(line(64, 64).0);
    from.interrupt = Some(Box::new(move || {
        assert_eq!(inner.transmit(&mut other, NOW), Left::Busy);
        let refused = inner.send(&mut other, NOW, signal(b"late")).map_err(|(why, _)| why);
        assert_eq!(refused, Err(Refused::Full));
        assert_eq!(inner.receive(&mut other, NOW, Some(vec![1, 2, 3])), Arrived::Nothing);
        assert!(!inner.give_back(1) && !inner.give_back(1));
        seen.borrow_mut().extend(inner.next());
    }));
    assert_eq!(b.transmit(&mut from, NOW), Left::Nothing);
    assert_eq!(*found.borrow(), [vec![1, 2, 3]], "the frame waits");
    // Both signals were given back: a has its window again.
    for text in [b"three", b"four!"] {
        a.send(&mut to, NOW, signal(text)).expect("room");
    }
    assert_eq!(a.transmit(&mut to, NOW), Left::Credit);
    assert_eq!(bytes(one(&a, &mut to)).as_deref(), Some(&b"back"[..]));
    while one(&a, &mut to) != Arrived::Nothing {}
    assert_eq!((a.transmit(&mut to, NOW), a.queues()), (Left::Nothing, false));
}

#[test]
fn a_flat_unit_sends_at_once_or_gives_the_signal_back() {
    let (a, b) = line(64, 2);
    let mut sides = [a, b].map(|line| {
        let flat = Flattened::new(Settings::default(), line.mtu(), NOW);
        let link: Connection<Vec<u8>, Vec<Waiting<Vec<u8>>>> = Connection::Flat(flat);
        let places: Vec<Option<Vec<u8>>> = (0..4).map(|_| None).collect();
        (Unit::new(link, places), stage(line))
    });
    for (unit, stage) in &mut sides {
        assert_eq!(unit.transmit(stage, NOW), Left::Nothing);
    }
    for (unit, stage) in &mut sides {
        assert_eq!(one(unit, stage), Arrived::Up);
    }
    let [(a, mut to), (b, mut from)] = sides;
    for text in [b"one", b"two"] {
        assert!(a.send(&mut to, NOW, signal(text)).is_ok());
    }
    let (why, back) = a.send(&mut to, NOW, signal(b"three")).expect_err("two frames are under way");
    assert_eq!((why, back.buffer.as_slice(), to.kept.get()), (Refused::Full, &b"three"[..], 2));
    assert_eq!(bytes(one(&b, &mut from)).as_deref(), Some(&b"one"[..]));
    a.close();
    let (why, _) = a.send(&mut to, NOW, signal(b"four")).expect_err("closed");
    assert_eq!(why, Refused::Closed(Closed::Here));
}

#[test]
fn a_signal_that_has_no_room_where_it_goes_stalls_the_link_until_it_is_tried_again() {
    let [(a, _), _] = pair(Settings::default(), 4);
    assert!(!a.is_stalled() && a.resume().is_none());
    a.stall(signal(b"one"));
    assert!(a.is_stalled());
    assert_eq!(a.resume().map(|signal| signal.buffer), Some(b"one".to_vec()));
    assert!(!a.is_stalled());
}

#[test]
fn a_unit_says_when_its_connection_is_to_be_looked_at_whichever_that_is() {
    let second = std::time::Duration::from_secs(1);
    let settings = Settings { heartbeat: Some(second), ..Settings::default() };
    let flat = Connection::Flat(Flattened::new(settings, 64, NOW));
    for connection in [flat, layered(settings)] {
        let (line, _) = line::<Vec<u8>>(64, 64);
        let (mut unit, mut stage) = (End::new(connection, vec![None; 4]), stage(line));
        assert_eq!(unit.transmit(&mut stage, NOW), Left::Nothing);
        assert_eq!(unit.next_look(), Some(NOW + second));
        assert_eq!(unit.connection().next_look(), Some(NOW + second));
        assert_eq!(unit.connection().numbers(), [0, 0], "nothing has come");
        let mut first = [0; narrows::connection::UDATA];
        let hello = narrows::connection::Header::Hello { window: 1, longest: 64 };
        let len = hello.write(0, 0, &mut first);
        stage.into.borrow_mut().frames.push_back(first[..len].to_vec());
        assert_eq!(one(&unit, &mut stage), Arrived::Up);
        assert_eq!(unit.connection().numbers(), [1, 0]);
    }
}
