//! A node's copy engine: a thread that takes what its peer tells it from the peer's memory to the
//! node's, and interrupts the node when it is there.
//!
//! What it is told lies in the peer's half, so the words have one writer, and nothing there is
//! believed: the engine writes only where the node waits for a frame.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use std::thread::{Builder, JoinHandle};

use narrows::driver::NotThere;
use narrows::driver::area::{ADMINISTRATION, Gathered};
use narrows::platform::{Memory, OutOfRange, Words, WordsMut};
use rustix::thread::futex;

use super::{BUFFERS, CHAIN, Hand, Shape};
use crate::Bell;
use crate::memory::words::{OwnWords, PeerWords};
use crate::memory::{PeerRegion, Region};

/// Rounds of looking before the engine sleeps.
const ROUNDS: u32 = 500;
/// How many frames an engine was told of.
const POSTED: u32 = 0;
/// Where the two pieces of the last are, how long each is, and where they go.
const PIECES: [u32; 5] = [1, 2, 3, 4, 5];

/// Where a node says what its peer's engine is to do.
pub(super) struct Post(OwnWords);

impl Post {
    pub fn new(own: &Region, chain: u32) -> Option<Post> {
        own.words(chain, CHAIN / 4).ok().map(Post)
    }

    /// Tells the peer's engine of one frame more.
    pub fn post(&self, pieces: [u32; 5]) {
        for (at, word) in PIECES.into_iter().zip(pieces) {
            self.0.store(at, word);
        }
        // Release: pairs with the acquire in `run`. The pieces are there, and what they name.
        self.0.store_release(POSTED, self.0.load(POSTED).wrapping_add(1));
        // Always, as a register is written: the engine does not say whether it sleeps.
        // What fails here is an address that cannot be: it is this process's own memory.
        let _ = futex::wake(self.0.0.word(POSTED), futex::Flags::empty(), 1);
    }
}

#[derive(Default)]
struct State {
    stop: AtomicBool,
    /// Frames that are where they belong.
    done: AtomicU32,
    /// The peer has told it what cannot be done.
    broken: AtomicBool,
}

/// A node's end of its engine.
pub(super) struct Engine {
    state: Arc<State>,
    /// What the engine sleeps on.
    posted: PeerWords,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    pub fn start(
        own: &Region,
        peer: &PeerRegion,
        shape: &Shape,
        bell: Bell,
    ) -> std::io::Result<Engine> {
        let invalid = |OutOfRange| std::io::Error::from(std::io::ErrorKind::InvalidInput);
        let theirs = || peer.words(shape.chain(), CHAIN / 4).map_err(invalid);
        let state = Arc::new(State::default());
        let works = Works {
            state: Arc::clone(&state),
            chain: theirs()?,
            words: own.words(shape.base(), ADMINISTRATION / 4).map_err(invalid)?,
            own: own.share(),
            peer: peer.clone(),
            base: shape.base(),
            mtu: shape.mtu as usize,
            bell,
        };
        peer.mark_slept_on();
        let thread = Builder::new().name("narrows-dma".to_owned()).spawn(move || works.run())?;
        Ok(Engine { state, posted: theirs()?, thread: Some(thread) })
    }

    /// Whether the frame of this number is where it belongs.
    pub fn done(&self, number: u32) -> Result<bool, NotThere> {
        // Acquire: pairs with the release in `run`. The bytes are there.
        let done = self.state.done.load(Ordering::Acquire);
        if self.state.broken.load(Ordering::Relaxed) {
            return Err(NotThere);
        }
        // Numbers wrap round at 2³¹.
        Ok((done.wrapping_sub(number) << 1) as i32 >= 0)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::SeqCst);
        let Some(thread) = self.thread.take() else { return };
        // It may have looked just before: it is woken until it has seen it.
        while !thread.is_finished() {
            let _ = futex::wake(self.posted.0.word(POSTED), futex::Flags::empty(), 1);
            std::thread::yield_now();
        }
        let _ = thread.join();
    }
}

/// What the engine has.
struct Works {
    state: Arc<State>,
    chain: PeerWords,
    /// Where the node says which buffer is free.
    words: OwnWords,
    own: Region,
    peer: PeerRegion,
    base: u32,
    mtu: usize,
    bell: Bell,
}

impl Works {
    fn run(&self) {
        let (mut done, mut rounds) = (0, 0);
        while !self.state.stop.load(Ordering::SeqCst) {
            // Acquire: pairs with the release in `post`.
            let posted = self.chain.load_acquire(POSTED);
            if posted == done {
                rounds += 1;
                if rounds < ROUNDS {
                    std::hint::spin_loop();
                } else {
                    // However it ends, everything is looked at again.
                    let word = self.chain.0.word(POSTED);
                    let _ = futex::wait(word, futex::Flags::empty(), done, None);
                }
                continue;
            }
            rounds = 0;
            done = done.wrapping_add(1);
            let carried = posted == done && self.carry().is_ok();
            self.state.broken.store(!carried, Ordering::Relaxed);
            // Release: pairs with the acquire in `done`.
            self.state.done.store(done, Ordering::Release);
            fence(Ordering::SeqCst);
            self.bell.ring();
            if !carried {
                // The connection ends too.
                return;
            }
        }
    }

    /// Carries the two pieces of a frame to where the node waits for it.
    fn carry(&self) -> Result<(), OutOfRange> {
        let [first, head, from, len, to] = PIECES.map(|at| self.chain.load(at));
        let due = Gathered::<Hand>::due(&self.words, (BUFFERS, self.mtu));
        let (place, room) = due.ok_or(OutOfRange)?;
        let fits = head.checked_add(len).is_some_and(|both| both <= room);
        if to != place || !fits {
            return Err(OutOfRange);
        }
        let to = self.base + place;
        self.own.fetch(to, &self.peer, first, head as usize)?;
        self.own.fetch(to + head, &self.peer, from, len as usize)
    }
}
