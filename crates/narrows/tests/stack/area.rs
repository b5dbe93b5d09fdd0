//! The frame drivers over areas, on memory of the heap: two ends in one thread.

use crate::carry::{carry, pattern};
use crate::common::heap::{Care, Heap, cared};
use narrows::connection::point_to_point::PointToPoint;
use narrows::connection::{Arrived, Settings, State};
use narrows::driver::area::{
    ADMINISTRATION, Acknowledges, AreaState, Copied, Copies, Engine, Exposes, GATHERED_HEADER,
    Gathered, Mover, state,
};
use narrows::driver::{Frames, NoFrame, NotSent, NotThere};
use narrows::platform::{Instant, Memory, OwnMemory};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A heap of signals that both ends reach, and whose copy engine is done at once.
#[derive(Clone)]
struct Desk {
    signals: Rc<RefCell<Vec<Vec<u8>>>>,
    /// The other end's memory, as its engine sees it.
    other: Heap,
    rings: Rc<Cell<u32>>,
}

/// A signal, by its place.
type Signal = usize;

impl Desk {
    fn pair(size: u32) -> [(Desk, Heap, Heap); 2] {
        let memory = [Heap::new(size), Heap::new(size)];
        for half in &memory {
            (0..size / 4).for_each(|word| half.poke(word * 4, 0));
        }
        let signals = Rc::default();
        [(0, 1), (1, 0)].map(|(own, other)| {
            let desk = Desk {
                signals: Rc::clone(&signals),
                other: memory[other].clone(),
                rings: Rc::default(),
            };
            (desk, memory[own].clone(), memory[other].clone())
        })
    }

    fn make(&self, bytes: &[u8]) -> Signal {
        self.signals.borrow_mut().push(bytes.to_vec());
        self.signals.borrow().len() - 1
    }

    fn show(&self, signal: &Signal) -> Vec<u8> {
        self.signals.borrow()[*signal].clone()
    }

    fn bytes(&self, signal: Signal, at: usize, len: usize) -> Result<Vec<u8>, NotThere> {
        let signals = self.signals.borrow();
        let part = signals.get(signal).and_then(|all| all.get(at..at.checked_add(len)?));
        part.map(<[u8]>::to_vec).ok_or(NotThere)
    }

    fn fill(
        &self,
        to: Signal,
        at: usize,
        from: &impl Memory,
        offset: u32,
        len: usize,
    ) -> Result<(), NotThere> {
        let mut bytes = vec![0; len];
        from.read(offset, &mut bytes).map_err(|_| NotThere)?;
        let mut signals = self.signals.borrow_mut();
        let end = at.checked_add(len).ok_or(NotThere)?;
        let place = signals.get_mut(to).and_then(|all| all.get_mut(at..end)).ok_or(NotThere)?;
        place.copy_from_slice(&bytes);
        Ok(())
    }
}

impl Mover for Desk {
    type Own = Heap;
    type Peer = Heap;
    type Buffer = Signal;
    fn put(
        &self,
        own: &Heap,
        to: u32,
        from: &Signal,
        at: usize,
        len: usize,
    ) -> Result<(), NotThere> {
        own.write(to, &self.bytes(*from, at, len)?).map_err(|_| NotThere)
    }
    fn get(
        &self,
        peer: &Heap,
        from: u32,
        to: &mut Signal,
        at: usize,
        len: usize,
    ) -> Result<(), NotThere> {
        self.fill(*to, at, peer, from, len)
    }
    fn ring(&self) {
        self.rings.set(self.rings.get() + 1);
    }
}

impl Exposes for Desk {
    fn expose(&self, from: &Signal, at: usize, len: usize) -> Result<u32, NotThere> {
        self.bytes(*from, at, len)?;
        Ok((*from as u32) << 16 | at as u32)
    }
    fn fetch(&self, place: u32, to: &mut Signal, at: usize, len: usize) -> Result<(), NotThere> {
        let bytes = self.bytes((place >> 16) as usize, (place & 0xffff) as usize, len)?;
        let end = at.checked_add(len).ok_or(NotThere)?;
        let mut signals = self.signals.borrow_mut();
        let to = signals.get_mut(*to).and_then(|all| all.get_mut(at..end)).ok_or(NotThere)?;
        to.copy_from_slice(&bytes);
        Ok(())
    }
}

impl Engine for Desk {
    fn gather(
        &self,
        own: &Heap,
        head: usize,
        payload: Option<(&Signal, usize, usize)>,
        to: u32,
    ) -> Result<(), NotThere> {
        let mut bytes = vec![0; head];
        own.read(ADMINISTRATION, &mut bytes).map_err(|_| NotThere)?;
        assert!(payload.is_none_or(|(_, _, len)| len > 0), "no engine moves nothing");
        if let Some((from, at, len)) = payload {
            bytes.extend(self.bytes(*from, at, len)?);
        }
        self.other.write(to, &bytes).map_err(|_| NotThere)?;
        self.ring();
        Ok(())
    }
    fn take(
        &self,
        own: &Heap,
        from: u32,
        to: &mut Signal,
        at: usize,
        len: usize,
    ) -> Result<(), NotThere> {
        self.fill(*to, at, own, from, len)
    }
}

fn copied(copies: Copies, acknowledges: Acknowledges) -> ([Copied<Desk>; 2], [Desk; 2], [Heap; 2]) {
    let ends = Desk::pair(ADMINISTRATION + 256);
    let desks = ends.clone().map(|(desk, ..)| desk);
    let memory = ends.clone().map(|(_, own, _)| own);
    let ends =
        ends.map(|(desk, own, peer)| Copied::new(desk, own, peer, copies, acknowledges).unwrap());
    (ends, desks, memory)
}

fn gathered(acknowledges: Acknowledges) -> ([Gathered<Desk>; 2], [Desk; 2], [Heap; 2]) {
    let room = Gathered::<Desk>::room(3, 256).unwrap();
    let ends = Desk::pair(room);
    let desks = ends.clone().map(|(desk, ..)| desk);
    let memory = ends.clone().map(|(_, own, _)| own);
    let end = |(desk, own, peer)| Gathered::new(desk, own, peer, (3, 256), acknowledges).unwrap();
    (ends.map(end), desks, memory)
}

const BOTH: [Acknowledges; 2] = [Acknowledges::Interrupt, Acknowledges::Lazily];

#[test]
fn frames_that_cores_copy_come_whole_and_in_order() {
    for copies in [Copies::Both, Copies::Receiver] {
        for acknowledges in BOTH {
            let ([mut one, mut other], [desk, theirs], _) = copied(copies, acknowledges);
            let signals = (&|bytes: &[u8]| desk.make(bytes), &|signal: &Signal| desk.show(signal));
            assert_eq!(carry(&mut one, &mut other, (signals.0, signals.1)), Ok(()));
            assert_eq!(desk.rings.get(), 11, "for each frame");
            let expected = if acknowledges == Acknowledges::Interrupt { 11 } else { 0 };
            assert_eq!(theirs.rings.get(), expected);
            assert_eq!(carry(&mut other, &mut one, (signals.0, signals.1)), Ok(()));
        }
    }
}

#[test]
fn frames_that_an_engine_gathers_come_whole_and_in_order() {
    for acknowledges in BOTH {
        let ([mut one, mut other], [desk, theirs], _) = gathered(acknowledges);
        let signals = (&|bytes: &[u8]| desk.make(bytes), &|signal: &Signal| desk.show(signal));
        assert_eq!(carry(&mut one, &mut other, (signals.0, signals.1)), Ok(()));
        let expected = if acknowledges == Acknowledges::Interrupt { 11 } else { 0 };
        assert_eq!(theirs.rings.get(), expected);
    }
}

#[test]
fn the_state_is_where_two_counts_stand_to_each_other() {
    use AreaState::{Empty, Read, Reading, Writing, Written};
    let ([mut one, mut other], [desk, _], _) = copied(Copies::Both, Acknowledges::Lazily);
    assert_eq!(one.sending(), Some(Empty));
    let signal = desk.make(&pattern(1, 8));
    one.try_send(&[1; 8], Some((&signal, 0, 8))).unwrap();
    assert_eq!(one.sending(), Some(Written));
    other.try_receive(&mut [0; 8]).unwrap();
    assert_eq!(one.sending(), Some(Reading));
    other.release();
    assert_eq!(one.sending(), Some(Read));
    // Counts wrap round, at an even number.
    for (written, read, expected) in [
        (0, 0, Some(Empty)),
        (1, 0, Some(Writing)),
        (2, 0, Some(Written)),
        (2, 1, Some(Reading)),
        (2, 2, Some(Read)),
        (0, u32::MAX - 1, Some(Written)),
        (0, u32::MAX, Some(Reading)),
        (3, 0, None),
        (1, 1, None),
        (2, 3, None),
        (4, 0, None),
    ] {
        assert_eq!(state(written, read), expected, "{written}, {read}");
    }
}

#[test]
fn a_single_copy_holds_the_signal_until_it_was_copied() {
    let ([mut one, mut other], [desk, _], _) = copied(Copies::Receiver, Acknowledges::Interrupt);
    let signal = desk.make(&pattern(1, 100));
    one.try_send(&[1; 20], Some((&signal, 0, 100))).unwrap();
    assert!(one.holds());
    // A service routine takes the header off, and a process copies later.
    let mut nothing = desk.make(&[]);
    let frame = other.detach(&mut nothing).unwrap();
    assert_eq!(one.sending(), Some(AreaState::Read), "the next header may come");
    assert!(one.holds(), "but the signal is still there to be read");
    let mut to = desk.make(&[0; 100]);
    other.collect(&frame, 20, 100, &mut to, 0).unwrap();
    assert_eq!(other.collect(&frame, 19, 1, &mut to, 0), Err(NotThere), "the header is not there");
    other.collected();
    assert!(!one.holds());
    assert_eq!(desk.show(&to), pattern(1, 100));
}

/// S4 section 3.6.1.5: the header has a pointer to the signal, and so one header is enough.
#[test]
fn a_signal_of_any_length_that_its_receiver_copies_is_one_frame() {
    for (copies, frames) in [(Copies::Both, 17), (Copies::Receiver, 1)] {
        let ([mut one, mut other], [desk, _], _) = copied(copies, Acknowledges::Lazily);
        let len = 4000;
        let signal = desk.make(&pattern(1, len));
        let connection = || {
            let settings = Settings { longest: 65536, ..Settings::default() };
            PointToPoint::new((0..2).map(|_| None).collect::<Vec<_>>(), settings, Instant(0))
        };
        let (mut sends, mut receives) = (connection(), connection());
        let mut got = None;
        let before = desk.rings.get();
        let mut sent = 0;
        let make = |len| Some(desk.make(&vec![0; len]));
        for _ in 0..64 {
            sends.transmit(&mut one, Instant(0), |_, _| ());
            receives.transmit(&mut other, Instant(0), |_, _| ());
            if sends.state() == State::Up && sent == 0 {
                let signal = narrows::connection::Signal { from: 1, to: 1, len, buffer: signal };
                assert!(sends.send(signal).is_ok());
                sent = desk.rings.get() - before;
            }
            sends.receive(&mut one, Instant(0), make);
            if let Arrived::Signal(signal) = receives.receive(&mut other, Instant(0), make) {
                got = Some(signal.buffer);
                break;
            }
        }
        assert_eq!(desk.show(&got.unwrap()), pattern(1, len));
        assert_eq!(desk.rings.get() - before - sent, frames, "{copies:?}");
    }
}

#[test]
fn a_buffer_that_is_taken_is_not_given_again_until_it_comes_back() {
    let ([mut one, mut other], [desk, _], _) = gathered(Acknowledges::Interrupt);
    let mut taken = Vec::new();
    for number in 0..2 {
        let signal = desk.make(&pattern(number, 64));
        one.try_send(&[number as u8; 20], Some((&signal, 0, 64))).unwrap();
        taken.push(other.detach().unwrap());
    }
    let signal = desk.make(&pattern(2, 64));
    one.try_send(&[2; 20], Some((&signal, 0, 64))).unwrap();
    assert_eq!(other.detach(), Err(NoFrame::Empty), "there is none to give in its stead");
    for (number, frame) in taken.iter().enumerate() {
        let mut to = desk.make(&[0; 64]);
        other.collect(frame, 20, 64, &mut to, 0).unwrap();
        assert_eq!(desk.show(&to), pattern(number, 64));
        other.give_back(frame);
    }
    assert_eq!(other.detach().map(|frame| frame.first[0]), Ok(2));
    assert_eq!(one.try_send(&[3; 20], None), Ok(()));
}

#[test]
fn a_peer_that_breaks_the_protocol_is_found_out() {
    // Its words, and what they are made.
    for (word, value) in [(0, 7), (1, 100_000), (2, 300), (2, u32::MAX)] {
        let ([mut one, mut other], [desk, _], [memory, _]) =
            copied(Copies::Both, Acknowledges::Lazily);
        let signal = desk.make(&pattern(1, 8));
        one.try_send(&[1; 20], Some((&signal, 0, 8))).unwrap();
        memory.poke(word * 4, value);
        assert_eq!(other.try_receive(&mut [0; 20]), Err(NoFrame::Gone), "word {word}: {value}");
    }
    let ([mut one, _], _, [_, memory]) = copied(Copies::Both, Acknowledges::Lazily);
    memory.poke(3 * 4, 5);
    assert_eq!(one.try_send(&[1; 20], None), Err(NotSent::Gone));
    let ([mut one, mut other], [desk, _], [memory, _]) =
        copied(Copies::Receiver, Acknowledges::Lazily);
    let signal = desk.make(&pattern(1, 8));
    one.try_send(&[1; 20], Some((&signal, 0, 8))).unwrap();
    memory.poke(ADMINISTRATION + 20, u32::MAX - 2);
    other.try_receive(&mut [0; 20]).unwrap();
    let mut to = desk.make(&[0; 8]);
    assert_eq!(other.read(20, 8, &mut to, 0), Err(NotThere), "a pointer to nowhere");
}

#[test]
fn a_core_whose_cache_nobody_sees_into_cares_for_what_is_written_and_read() {
    // Header, pointer and payload, as far as they go through the area.
    let cases = [
        (Copies::Both, 8, 28, 28),
        (Copies::Both, 0, 20, 20),
        (Copies::Receiver, 8, 24, 24),
        (Copies::Receiver, 0, 24, 20),
    ];
    for (copies, payload, written, read) in cases {
        let ([mut one, mut other], [desk, _], _) = copied(copies, Acknowledges::Lazily);
        let signal = desk.make(&pattern(1, payload));
        cared();
        assert_eq!(one.try_send(&[1; 20], Some((&signal, 0, payload))), Ok(()));
        assert_eq!(cared(), [(Care::Clean, ADMINISTRATION, written)], "{copies:?} {payload}");
        assert_eq!(other.try_receive(&mut [0; 20]), Ok(20 + payload));
        assert_eq!(cared(), [(Care::Invalidate, ADMINISTRATION, read)], "{copies:?} {payload}");
    }
    let ([mut one, mut other], [desk, _], [_, theirs]) = gathered(Acknowledges::Lazily);
    let signal = desk.make(&pattern(1, 100));
    cared();
    let (at, _) = Gathered::<Desk>::due(&theirs.words(0, 16).unwrap(), (3, 256)).unwrap();
    assert_eq!(one.try_send(&[1; 20], Some((&signal, 0, 100))), Ok(()));
    let before = GATHERED_HEADER as u32;
    assert_eq!(cared(), [(Care::Clean, ADMINISTRATION, before + 20)]);
    assert_eq!(other.try_receive(&mut [0; 20]), Ok(120));
    // First what tells whether it is there and how long it is, then the whole.
    let [first, whole] = cared()[..] else { panic!("twice") };
    assert_eq!((first.0, first.1), (Care::Invalidate, at));
    assert_eq!(whole, (Care::Invalidate, at, before + 120));
}

#[test]
fn a_header_is_as_long_as_is_kept_and_no_longer() {
    // Behind the header of a single copy stands where the payload is.
    for (copies, kept) in [(Copies::Both, 28), (Copies::Receiver, 28)] {
        let ([mut one, mut other], [desk, _], [memory, _]) = copied(copies, Acknowledges::Lazily);
        let signal = desk.make(&pattern(1, 8));
        let payload = Some((&signal, 0, 8));
        let longer = vec![1; kept + 1];
        assert_eq!(one.try_send(&longer, payload), Err(NotSent::TooLong));
        assert_eq!(one.try_send(&longer[..kept], payload), Ok(()));
        assert_eq!(other.try_receive(&mut [0; 32]), Ok(kept + 8));
        assert_eq!(other.headers_only(), copies == Copies::Receiver);
        let frame = other.receiving().expect("it is being received");
        assert_eq!((frame.header, frame.len), (kept, kept + 8));
        let mut to = desk.make(&[0; 8]);
        assert_eq!(other.read(kept, 8, &mut to, 0), Ok(()));
        assert_eq!(desk.show(&to), pattern(1, 8));
        other.release();
        assert_eq!(other.receiving(), None);
        assert_eq!(one.try_send(&longer[..kept], payload), Ok(()));
        memory.poke(2 * 4, kept as u32 + 1);
        assert_eq!(other.try_receive(&mut [0; 32]), Err(NoFrame::Gone), "{copies:?}");
    }
    let ([mut one, mut other], [desk, _], [_, theirs]) = gathered(Acknowledges::Lazily);
    let signal = desk.make(&pattern(1, 8));
    assert_eq!(one.try_send(&[1; 33], Some((&signal, 0, 8))), Err(NotSent::TooLong));
    assert_eq!(one.try_send(&[1; 32], Some((&signal, 0, 8))), Ok(()));
    assert_eq!(other.try_receive(&mut [0; 32]), Ok(40));
    assert_eq!(other.receiving().map(|frame| frame.header), Some(32));
    other.release();
    // What the engine brings is not believed either: the length, and that of the header.
    for (word, lie) in [(1, 257), (2, 33), (2, 21)] {
        assert_eq!(one.try_send(&[1; 20], None), Ok(()), "{word}");
        let (at, _) = Gathered::<Desk>::due(&theirs.words(0, 16).unwrap(), (3, 256)).unwrap();
        let honest = theirs.word(at + word * 4);
        theirs.poke(at + word * 4, lie);
        assert_eq!(other.try_receive(&mut [0; 32]), Err(NoFrame::Gone), "word {word}: {lie}");
        theirs.poke(at + word * 4, honest);
        assert_eq!(other.try_receive(&mut [0; 32]), Ok(20));
        other.release();
    }
    // As long as the area is, and as is kept.
    assert_eq!(one.try_send(&[1; 32], Some((&desk.make(&[5; 224]), 0, 224))), Ok(()));
    assert_eq!(other.try_receive(&mut [0; 32]), Ok(256));
}

#[test]
fn an_engine_writes_where_the_next_frame_is_due_and_nowhere_else() {
    let ([mut one, mut other], [desk, _], [own, theirs]) = gathered(Acknowledges::Lazily);
    let stride = 256 + 64;
    let mut places = Vec::new();
    // More rounds than there are buffers, and none of them is lost.
    for round in 0..100_u8 {
        let words = theirs.words(0, 16).unwrap();
        let (at, most) = Gathered::<Desk>::due(&words, (3, 256)).expect("buffers");
        assert_eq!(most, stride);
        assert_eq!((at - ADMINISTRATION * 2) % stride, 0);
        let before = [own.bytes(), theirs.bytes()];
        let payload = if round % 2 == 0 { 0 } else { 100 };
        let signal = desk.make(&vec![round; payload]);
        assert_eq!(one.try_send(&[round; 20], Some((&signal, 0, payload))), Ok(()));
        assert!(one.holds(), "the engine may still read the signal");
        let after = theirs.bytes();
        let changed = (0..after.len()).filter(|byte| after[*byte] != before[1][*byte]);
        let (from, to) = (at as usize, (at + most) as usize);
        assert!(changed.into_iter().all(|byte| (from..to).contains(&byte)), "round {round}");
        // The other direction is used at the same time.
        assert_eq!(other.try_send(&[!round; 20], None), Ok(()));
        let frame = other.detach().expect("a frame");
        assert!(!one.holds());
        let next = Gathered::<Desk>::due(&theirs.words(0, 16).unwrap(), (3, 256));
        assert_ne!(next, Some((at, most)), "the frame is still in its buffer");
        assert_eq!(frame.first[..20], [round; 20]);
        let mut got = desk.make(&vec![0; payload]);
        assert_eq!(other.collect(&frame, 20, payload, &mut got, 0), Ok(()));
        assert_eq!(desk.show(&got), vec![round; payload]);
        let back = one.detach().expect("a frame");
        assert_eq!(back.first[..20], [!round; 20]);
        other.give_back(&frame);
        one.give_back(&back);
        places.push(at);
    }
    places.sort_unstable();
    places.dedup();
    assert!(places.len() >= 2, "a buffer is not used again at once");
}

#[test]
fn areas_have_room_for_a_frame() {
    let [(desk, own, peer), _] = Desk::pair(ADMINISTRATION + 63);
    assert!(Copied::new(desk, own, peer, Copies::Both, Acknowledges::Lazily).is_err());
    for (buffers, mtu, size) in [(1, 256, 4096), (33, 64, 65536), (2, 63, 4096), (4, 1024, 4096)] {
        let [(desk, own, peer), _] = Desk::pair(size);
        let end = Gathered::new(desk, own, peer, (buffers, mtu), Acknowledges::Lazily);
        assert!(end.is_err(), "{buffers} of {mtu}");
    }
}
