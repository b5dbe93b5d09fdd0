//! The frame drivers over areas under the model checker. The counts that make the state are
//! atomics; what they hand over (lengths, headers, payload, the name of a buffer) is in checked
//! cells: a look at it that is not ordered against its writing fails the model.
#![cfg(loom)]

use std::rc::Rc;

use loom::cell::Cell as Checked;
use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::thread::{spawn, yield_now};
use narrows::driver::area::{
    ADMINISTRATION, Acknowledges, Copied, Copies, Engine, Exposes, GATHERED_HEADER, Gathered, Mover,
};
use narrows::driver::{Frames, NoFrame, NotSent, NotThere};
use narrows::platform::{Memory, OutOfRange, OwnMemory, Words, WordsMut};

/// The owner's counts as a sender and as a receiver, and of signals that were collected.
const RACING: [u32; 3] = [0, 3, 4];
const PAYLOAD: usize = 8;
const HEADER: [u8; 8] = [9; 8];
const MTU: usize = 64;

/// One side's memory.
struct Half {
    counts: [AtomicU32; RACING.len()],
    words: [Checked<u32>; 16],
    /// What is behind the words, by byte; only as much as these frames use is ever looked at.
    bytes: Vec<Checked<u8>>,
    /// Where signals are that the other side copies.
    signal: [Checked<u8>; PAYLOAD],
    /// Frames that this side's engine has put.
    done: AtomicU32,
}

#[derive(Clone)]
struct View(Rc<Half>);

impl View {
    fn new(size: u32) -> View {
        View(Rc::new(Half {
            counts: std::array::from_fn(|_| AtomicU32::new(0)),
            words: std::array::from_fn(|_| Checked::new(0)),
            bytes: (ADMINISTRATION..size).map(|_| Checked::new(0)).collect(),
            signal: std::array::from_fn(|_| Checked::new(0)),
            done: AtomicU32::new(0),
        }))
    }

    fn count(&self, index: u32) -> Option<&AtomicU32> {
        self.0.counts.get(RACING.iter().position(|at| *at == index)?)
    }

    fn part(&self, offset: u32, len: usize) -> &[Checked<u8>] {
        let first = (offset - ADMINISTRATION) as usize;
        &self.0.bytes[first..first + len]
    }
}

impl Words for View {
    fn load(&self, index: u32) -> u32 {
        let count = self.count(index).map(|count| count.load(Relaxed));
        count.unwrap_or_else(|| self.0.words[index as usize].get())
    }
    fn load_acquire(&self, index: u32) -> u32 {
        self.count(index).expect("a count").load(Acquire)
    }
    fn read_bytes(&self, _: u32, _: &mut [u8]) {
        unreachable!("areas have no slots")
    }
}

impl WordsMut for View {
    fn store(&self, index: u32, value: u32) {
        match self.count(index) {
            Some(count) => count.store(value, Relaxed),
            None => self.0.words[index as usize].set(value),
        }
    }
    fn store_release(&self, index: u32, value: u32) {
        match self.count(index) {
            Some(count) => count.store(value, Release),
            // The name of a buffer: released for an engine on its own side, which there is none of
            // here. The sender looks at it behind a count.
            None => self.0.words[index as usize].set(value),
        }
    }
    fn write_bytes(&self, _: u32, _: &[u8]) {
        unreachable!("areas have no slots")
    }
}

impl Memory for View {
    type Words = View;
    fn size(&self) -> u32 {
        ADMINISTRATION + self.0.bytes.len() as u32
    }
    fn words(&self, _: u32, _: u32) -> Result<View, OutOfRange> {
        Ok(self.clone())
    }
    fn read(&self, offset: u32, to: &mut [u8]) -> Result<(), OutOfRange> {
        let from = self.part(offset, to.len());
        to.iter_mut().zip(from).for_each(|(to, from)| *to = from.get());
        Ok(())
    }
}

impl OwnMemory for View {
    fn write(&self, offset: u32, from: &[u8]) -> Result<(), OutOfRange> {
        let to = self.part(offset, from.len());
        to.iter().zip(from).for_each(|(to, from)| to.set(*from));
        Ok(())
    }
}

type Signal = [u8; PAYLOAD];

/// A side's hand; the engine is done in the call that tells it, behind what the sender has said.
struct Hand {
    own: View,
    peer: View,
}

impl Mover for Hand {
    type Own = View;
    type Peer = View;
    type Buffer = Signal;
    fn put(&self, own: &View, to: u32, from: &Signal, _: usize, _: usize) -> Result<(), NotThere> {
        own.write(to, from).map_err(|_| NotThere)
    }
    fn get(
        &self,
        peer: &View,
        from: u32,
        to: &mut Signal,
        _: usize,
        _: usize,
    ) -> Result<(), NotThere> {
        peer.read(from, to).map_err(|_| NotThere)
    }
    fn ring(&self) {}
}

impl Exposes for Hand {
    fn expose(&self, from: &Signal, _: usize, _: usize) -> Result<u32, NotThere> {
        self.own.0.signal.iter().zip(from).for_each(|(to, from)| to.set(*from));
        Ok(0)
    }
    fn fetch(&self, _: u32, to: &mut Signal, _: usize, _: usize) -> Result<(), NotThere> {
        to.iter_mut().zip(&self.peer.0.signal).for_each(|(to, from)| *to = from.get());
        Ok(())
    }
}

impl Engine for Hand {
    fn gather(
        &self,
        own: &View,
        head: usize,
        payload: Option<(&Signal, usize, usize)>,
        to: u32,
    ) -> Result<(), NotThere> {
        let mut bytes = vec![0; head];
        own.read(ADMINISTRATION, &mut bytes).map_err(|_| NotThere)?;
        bytes.extend(payload.map(|(signal, ..)| *signal).unwrap_or_default());
        self.peer.write(to, &bytes).map_err(|_| NotThere)?;
        self.peer.0.done.fetch_add(1, Release);
        Ok(())
    }
    fn arrived(&self, number: u32) -> Result<bool, NotThere> {
        Ok(self.own.0.done.load(Acquire) >= number)
    }
    fn take(
        &self,
        own: &View,
        from: u32,
        to: &mut Signal,
        _: usize,
        _: usize,
    ) -> Result<(), NotThere> {
        own.read(from, to).map_err(|_| NotThere)
    }
}

/// What the frame of a number carries.
fn signal(number: u8) -> Signal {
    [number + 1; PAYLOAD]
}

fn send(end: &mut impl Frames<Buffer = Signal>, number: u8) {
    loop {
        match end.try_send(&HEADER, Some((&signal(number), 0, PAYLOAD))) {
            Ok(()) => break,
            Err(why) => assert_eq!(why, NotSent::Full),
        }
        yield_now();
    }
    // Its buffer is used again for the next.
    while end.holds() {
        yield_now();
    }
}

fn take(end: &mut impl Frames<Buffer = Signal>, number: u8) {
    let mut header = [0; HEADER.len()];
    loop {
        match end.try_receive(&mut header) {
            Ok(len) => break assert_eq!(len, HEADER.len() + PAYLOAD),
            Err(why) => assert_eq!(why, NoFrame::Empty),
        }
        yield_now();
    }
    let mut to = [0; PAYLOAD];
    end.read(HEADER.len(), PAYLOAD, &mut to, 0).unwrap();
    end.release();
    assert_eq!((header, to), (HEADER, signal(number)));
}

fn carry<E: Frames<Buffer = Signal> + 'static>(make: fn(Hand, View, View) -> E, size: u32) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    builder.check(move || {
        let [one, other] = [View::new(size), View::new(size)];
        let end = |own: &View, peer: &View| {
            let hand = Hand { own: own.clone(), peer: peer.clone() };
            make(hand, own.clone(), peer.clone())
        };
        let (mut sends, mut receives) = (end(&one, &other), end(&other, &one));
        spawn(move || {
            for number in 0..2 {
                send(&mut sends, number);
                // Its memory is used for something else.
                one.0.signal.iter().for_each(|byte| byte.set(0xee));
            }
        });
        (0..2).for_each(|number| take(&mut receives, number));
    });
}

const SIZE: u32 = ADMINISTRATION + MTU as u32;

#[test]
fn an_area_is_written_again_only_after_it_was_read() {
    carry(
        |hand, own, peer| Copied::new(hand, own, peer, Copies::Both, Acknowledges::Lazily).unwrap(),
        SIZE,
    );
}

#[test]
fn a_signal_that_the_receiver_copies_is_its_senders_again_only_after_that() {
    carry(
        |hand, own, peer| {
            Copied::new(hand, own, peer, Copies::Receiver, Acknowledges::Lazily).unwrap()
        },
        SIZE,
    );
}

#[test]
fn a_buffer_is_given_only_after_it_was_read_and_read_only_when_it_is_there() {
    let stride = (MTU + GATHERED_HEADER).next_multiple_of(64) as u32;
    carry(
        |hand, own, peer| Gathered::new(hand, own, peer, (2, MTU), Acknowledges::Lazily).unwrap(),
        ADMINISTRATION * 2 + stride * 2,
    );
}
