//! One suite that every medium of frames passes, and a medium that makes another one worse.

use crate::driver::{Frames, NoFrame, NotSent, NotThere};

/// Bytes of the headers that the suite sends.
const HEADER: usize = 20;
/// The longest frame that it sends.
const LONGEST: usize = 4096;
/// More frames than any medium has room for.
const MANY: usize = 100_000;

/// What the suite has to know of a medium beside [`Frames`].
pub trait Medium {
    /// One end.
    type End: Frames;

    /// Two ends, over which nothing has travelled.
    fn pair(&self) -> [Self::End; 2];
    /// A buffer with these bytes.
    fn buffer(&self, bytes: &[u8]) -> <Self::End as Frames>::Buffer;
    /// The first bytes of a buffer.
    fn show(&self, buffer: &<Self::End as Frames>::Buffer, to: &mut [u8]);
    /// Has what was sent go, where that takes more than sending it.
    fn push(&self, _end: &mut Self::End) {}
}

/// Runs every check.
///
/// # Panics
/// When the medium breaks a promise of [`Frames`]: the message says which.
pub fn run<M: Medium>(medium: &M) {
    whole_and_in_order(medium);
    room_comes_back(medium);
    an_end_is_told_behind_what_was_sent(medium);
}

/// Bytes that tell one frame from the next.
fn pattern(number: usize) -> [u8; LONGEST] {
    core::array::from_fn(|at| (at * 7 + number * 31 + at / 256 + 1) as u8)
}

fn header(number: usize) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header.copy_from_slice(&pattern(number + 100)[..HEADER]);
    header
}

/// Sends a frame with `len` bytes behind its header. The medium may read the buffer that comes back
/// for as long as it holds it.
fn send<M: Medium>(
    medium: &M,
    end: &mut M::End,
    number: usize,
    len: usize,
) -> Result<<M::End as Frames>::Buffer, NotSent> {
    let buffer = medium.buffer(&pattern(number)[..len]);
    let sent = end.try_send(&header(number), (len > 0).then_some((&buffer, 0, len)));
    medium.push(end);
    sent.map(|()| buffer)
}

/// Sends a frame from one end to the other. `way` says which.
fn pass<M: Medium>(medium: &M, ends: [&mut M::End; 2], (number, len): (usize, usize), way: &str) {
    let [from, to] = ends;
    let sent = send(medium, from, number, len);
    assert!(sent.is_ok(), "{len} bytes {way}: {:?}", sent.err());
    assert!(receive(medium, to, number, len), "{len} bytes {way}");
    medium.push(from);
    // The frame was taken: the medium has no reason left to read the buffer.
    while from.holds() {
        core::hint::spin_loop();
    }
}

/// Receives the frame of this number. False if none has come.
fn receive<M: Medium>(medium: &M, end: &mut M::End, number: usize, len: usize) -> bool {
    let mut got = [0; HEADER];
    match end.try_receive(&mut got) {
        Err(NoFrame::Empty) => return false,
        came => assert_eq!(came, Ok(HEADER + len), "the length of frame {number}"),
    }
    assert_eq!(got, header(number), "the header of frame {number}");
    assert_eq!(end.try_receive(&mut got), Ok(HEADER + len), "the same until it is released");
    let mut buffer = medium.buffer(&[0xee; LONGEST][..len]);
    assert_eq!(end.read(HEADER + len, 1, &mut buffer, 0), Err(NotThere), "behind its end");
    assert_eq!(end.read(usize::MAX, 2, &mut buffer, 0), Err(NotThere), "far behind its end");
    let half = len / 2;
    assert_eq!(end.read(HEADER + half, len - half, &mut buffer, half), Ok(()));
    assert_eq!(end.read(HEADER, half, &mut buffer, 0), Ok(()));
    while end.brings() {
        core::hint::spin_loop();
    }
    end.release();
    end.release();
    let mut bytes = [0; LONGEST];
    medium.show(&buffer, &mut bytes[..len]);
    assert_eq!(bytes[..len], pattern(number)[..len], "the bytes of frame {number}");
    true
}

fn whole_and_in_order<M: Medium>(medium: &M) {
    let [mut a, mut b] = medium.pair();
    let most = a.mtu().min(LONGEST) - HEADER;
    assert!(a.mtu() >= 64, "the longest frame is {} bytes", a.mtu());
    assert_eq!(b.try_receive(&mut [0; HEADER]), Err(NoFrame::Empty), "before anything is sent");
    let lengths = [0, 1, 4, 31, 32, 33, 44, most / 2, most - 1, most, 5];
    for (number, len) in lengths.into_iter().enumerate() {
        pass(medium, [&mut a, &mut b], (number, len), "one way");
        assert!(!receive(medium, &mut b, number, len), "it came once");
        pass(medium, [&mut b, &mut a], (number, len), "the other way");
    }
    if a.mtu() < LONGEST {
        let long = medium.buffer(&pattern(0)[..a.mtu()]);
        let sent = a.try_send(&[0; HEADER], Some((&long, 0, a.mtu())));
        assert_eq!(sent, Err(NotSent::TooLong), "a header more than the longest frame");
    }
    let short = medium.buffer(&[1; 8]);
    for (at, len) in [(usize::MAX, 2), (0, usize::MAX)] {
        let sent = a.try_send(&[0; HEADER], Some((&short, at, len)));
        assert_eq!(sent, Err(NotSent::TooLong), "what is not in the buffer");
    }
    medium.push(&mut a);
    assert_eq!(b.try_receive(&mut [0; HEADER]), Err(NoFrame::Empty), "nothing of it is sent");
}

fn room_comes_back<M: Medium>(medium: &M) {
    let [mut a, mut b] = medium.pair();
    let len = a.mtu().min(LONGEST) - HEADER;
    let mut sent = 0;
    let full = loop {
        let buffer = medium.buffer(&pattern(sent)[..len]);
        match a.try_send(&header(sent), Some((&buffer, 0, len))) {
            Ok(()) if a.holds() => {
                medium.push(&mut a);
                break NotSent::Full;
            }
            Ok(()) => medium.push(&mut a),
            Err(why) => break why,
        }
        sent += 1;
        assert!(sent < MANY, "it is full at some time");
    };
    assert_eq!(full, NotSent::Full);
    let held = usize::from(a.holds());
    for number in 0..sent + held {
        assert!(receive(medium, &mut b, number, len), "frame {number} of {sent}");
        medium.push(&mut a);
    }
    pass(medium, [&mut a, &mut b], (sent, 8), "when there is room again");
}

fn an_end_is_told_behind_what_was_sent<M: Medium>(medium: &M) {
    let [mut a, mut b] = medium.pair();
    let sent = send(medium, &mut a, 0, 40);
    assert!(sent.is_ok(), "{:?}", sent.err());
    drop(a);
    assert!(receive(medium, &mut b, 0, 40), "what it had sent");
    assert_eq!(b.try_receive(&mut [0; HEADER]), Err(NoFrame::Gone));
    assert_eq!(b.try_receive(&mut [0; HEADER]), Err(NoFrame::Gone), "and again");
    let gone = (0..MANY).any(|number| send(medium, &mut b, number, 8).err() == Some(NotSent::Gone));
    assert!(gone, "who goes on sending is told");
}

/// A medium that refuses frames now and then for want of room, and is gone after some.
pub struct Faulty<F> {
    /// The medium itself.
    pub inner: F,
    /// One frame in this many is refused; none if it is 0.
    pub refuses: u32,
    /// Frames until it is gone; never if there is no number.
    pub left: Option<u32>,
    state: u32,
}

impl<F> Faulty<F> {
    /// A medium without faults.
    pub fn new(inner: F, seed: u32) -> Faulty<F> {
        Faulty { inner, refuses: 0, left: None, state: seed | 1 }
    }
}

impl<F: Frames> Frames for Faulty<F> {
    type Buffer = F::Buffer;

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    fn try_send(
        &mut self,
        header: &[u8],
        payload: Option<(&F::Buffer, usize, usize)>,
    ) -> Result<(), NotSent> {
        if self.left == Some(0) {
            return Err(NotSent::Gone);
        }
        // Xorshift: the same each time, and no order that a frame's place could follow.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 17;
        self.state ^= self.state << 5;
        if self.refuses > 0 && self.state.is_multiple_of(self.refuses) {
            return Err(NotSent::Full);
        }
        self.inner.try_send(header, payload)?;
        self.left = self.left.map(|left| left - 1);
        Ok(())
    }

    fn holds(&mut self) -> bool {
        self.inner.holds()
    }

    fn is_drained(&mut self) -> bool {
        self.inner.is_drained()
    }

    fn brings(&mut self) -> bool {
        self.inner.brings()
    }

    fn try_receive(&mut self, header: &mut [u8]) -> Result<usize, NoFrame> {
        match self.inner.try_receive(header) {
            Err(NoFrame::Empty) if self.left == Some(0) => Err(NoFrame::Gone),
            came => came,
        }
    }

    fn read(
        &mut self,
        from: usize,
        len: usize,
        buffer: &mut F::Buffer,
        at: usize,
    ) -> Result<(), NotThere> {
        self.inner.read(from, len, buffer, at)
    }

    fn release(&mut self) {
        self.inner.release();
    }
}
