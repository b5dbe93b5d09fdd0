//! The host's copy engine: a thread that works off descriptors, as a DMA controller does.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering, fence};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use narrows::platform::EngineError;

use crate::error::OpenError;
use crate::memory::copy::copy;
use crate::memory::fork::Maker;
use crate::memory::{PeerRegion, Region};
use crate::system;

/// Descriptors that can be posted at a time.
const DESCRIPTORS: usize = 64;
/// Rounds of looking before either side sleeps.
const ROUNDS: u32 = 500;

#[derive(Default)]
struct Descriptor {
    from: AtomicPtr<u8>,
    to: AtomicPtr<u8>,
    len: AtomicUsize,
}

struct Shared {
    descriptors: [Descriptor; DESCRIPTORS],
    /// Descriptors posted; written by the node.
    posted: AtomicU32,
    /// Descriptors worked off; written by the engine.
    done: AtomicU32,
    /// The engine sleeps.
    idle: AtomicBool,
    /// The node sleeps until `awaited` descriptors are worked off.
    waiting: AtomicBool,
    awaited: AtomicU32,
    sleeper: Mutex<Option<Thread>>,
    /// The node wants no more.
    stop: AtomicBool,
    /// The engine touches nothing any more.
    gone: AtomicBool,
}

/// Says that the engine touches nothing any more, whatever made it end.
struct Gone<'a>(&'a Shared);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        self.0.gone.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        self.0.wake();
    }
}

impl Shared {
    fn new() -> Shared {
        Shared {
            descriptors: std::array::from_fn(|_| Descriptor::default()),
            posted: AtomicU32::new(0),
            done: AtomicU32::new(0),
            idle: AtomicBool::new(false),
            waiting: AtomicBool::new(false),
            awaited: AtomicU32::new(0),
            sleeper: Mutex::new(None),
            stop: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        }
    }

    /// The engine's life.
    fn run(&self) {
        let _gone = Gone(self);
        let mut done: u32 = 0;
        let mut rounds = 0;
        loop {
            // Acquire: pairs with the release in `Engine::copy`.
            if self.posted.load(Ordering::Acquire) == done {
                if self.stop.load(Ordering::Acquire) {
                    return;
                }
                rounds += 1;
                if rounds < ROUNDS {
                    std::hint::spin_loop();
                    continue;
                }
                self.idle.store(true, Ordering::Relaxed);
                fence(Ordering::SeqCst);
                if self.posted.load(Ordering::Relaxed) == done {
                    thread::park();
                }
                self.idle.store(false, Ordering::Relaxed);
                continue;
            }
            rounds = 0;
            if let Some(d) = self.descriptors.get(done as usize % DESCRIPTORS) {
                let (from, to) = (d.from.load(Ordering::Relaxed), d.to.load(Ordering::Relaxed));
                // SAFETY: `Engine::copy` posted ranges that its caller vouched for, and does not
                // return before `done` says that they were worked off.
                unsafe { copy::<true>(from, to, d.len.load(Ordering::Relaxed)) };
            }
            done = done.wrapping_add(1);
            // Release: pairs with the acquire in `Engine::wait`.
            self.done.store(done, Ordering::Release);
            fence(Ordering::SeqCst);
            if self.waiting.load(Ordering::Acquire)
                && done.wrapping_sub(self.awaited.load(Ordering::Relaxed)) as i32 >= 0
            {
                self.wake();
            }
        }
    }

    fn wake(&self) {
        if self.waiting.swap(false, Ordering::Acquire) {
            let sleeper = self.sleeper.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(sleeper) = sleeper {
                sleeper.unpark();
            }
        }
    }
}

/// The engine and the node's end of it.
pub(crate) struct Engine {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    posted: Cell<u32>,
    /// The process that has the thread.
    maker: Maker,
}

impl Engine {
    /// Starts the engine, on a core of its own if one is named.
    pub(crate) fn start(core: Option<usize>) -> Result<Engine, OpenError> {
        let shared = Arc::new(Shared::new());
        let (tell, told) = mpsc::channel();
        let theirs = Arc::clone(&shared);
        let run = move || {
            let pinned = core.map_or(Ok(()), system::pin);
            let ok = pinned.is_ok();
            let _ = tell.send(pinned);
            if ok {
                theirs.run();
            }
        };
        let thread = thread::Builder::new()
            .name("narrows-copy".into())
            .spawn(run)
            .map_err(|e| OpenError::Engine(e.to_string()))?;
        match told.recv() {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(OpenError::Engine(error.to_string())),
            Err(error) => return Err(OpenError::Engine(error.to_string())),
        }
        Ok(Engine { shared, thread: Some(thread), posted: Cell::new(0), maker: Maker::this() })
    }

    /// Copies to own memory.
    pub(crate) fn store(
        &self,
        own: &Region,
        offset: u32,
        from: &[u8],
        fragment: u32,
    ) -> Result<(), EngineError> {
        let to = own.range(offset, from.len()).map_err(|_| EngineError)?;
        // SAFETY: `from` is borrowed and the range checked until this returns, which is after the
        // last access; the own mapping is writable.
        unsafe { self.copy(from.as_ptr(), to.as_ptr(), from.len(), fragment) }
    }

    /// Copies from a peer's memory.
    pub(crate) fn fetch(
        &self,
        peer: &PeerRegion,
        offset: u32,
        to: &mut [u8],
        fragment: u32,
    ) -> Result<(), EngineError> {
        let from = peer.range(offset, to.len()).map_err(|_| EngineError)?;
        // SAFETY: `to` is borrowed and the range checked until this returns, which is after the
        // last access.
        unsafe { self.copy(from.as_ptr(), to.as_mut_ptr(), to.len(), fragment) }
    }

    /// CPU time of the engine's thread.
    pub(crate) fn time(&self) -> Option<Duration> {
        use std::os::unix::thread::JoinHandleExt as _;
        let thread = self.thread.as_ref().filter(|t| !t.is_finished())?.as_pthread_t();
        let mut clock = 0;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the thread has not been joined, so its handle is valid; both results are written
        // to variables of their types.
        let failed = unsafe {
            libc::pthread_getcpuclockid(thread, &raw mut clock) != 0
                || libc::clock_gettime(clock, &raw mut time) != 0
        };
        (!failed).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }

    /// Has `len` bytes copied in descriptors of `fragment` bytes, and returns once the engine is
    /// done with both ranges.
    ///
    /// # Safety
    /// Both ranges are valid for `len` bytes, the second for writing, and do not overlap.
    unsafe fn copy(
        &self,
        from: *const u8,
        to: *mut u8,
        len: usize,
        fragment: u32,
    ) -> Result<(), EngineError> {
        if self.maker.is_another() {
            return Err(EngineError);
        }
        let fragment = fragment.max(1) as usize;
        let mut at = 0;
        let mut posted = self.posted.get();
        let mut result = Ok(());
        while at < len && result.is_ok() {
            let done = self.shared.done.load(Ordering::Acquire);
            let free = DESCRIPTORS - posted.wrapping_sub(done) as usize;
            for _ in 0..free {
                let part = fragment.min(len - at);
                if part == 0 {
                    break;
                }
                if let Some(d) = self.shared.descriptors.get(posted as usize % DESCRIPTORS) {
                    // SAFETY: `at` is below `len`, the length of both ranges.
                    let (from, to) = unsafe { (from.add(at), to.add(at)) };
                    d.from.store(from.cast_mut(), Ordering::Relaxed);
                    d.to.store(to, Ordering::Relaxed);
                    d.len.store(part, Ordering::Relaxed);
                }
                posted = posted.wrapping_add(1);
                at += part;
            }
            // Release: pairs with the acquire in `run`. The descriptors are there.
            self.shared.posted.store(posted, Ordering::Release);
            // Against the engine's between `idle` and its last look at `posted`.
            fence(Ordering::SeqCst);
            if self.shared.idle.load(Ordering::Relaxed)
                && let Some(thread) = &self.thread
            {
                thread.thread().unpark();
            }
            // With more to post, half of the descriptors are enough to wait for.
            let until = if at < len { posted.wrapping_sub(DESCRIPTORS as u32 / 2) } else { posted };
            result = self.wait(until);
        }
        self.posted.set(posted);
        result
    }

    /// Waits until this many descriptors are worked off, or the engine touches nothing any more.
    fn wait(&self, until: u32) -> Result<(), EngineError> {
        let mut rounds = 0;
        loop {
            // Acquire: pairs with the release in `run` and in `Gone`. The bytes are there, and
            // nobody touches the buffers.
            let gone = self.shared.gone.load(Ordering::Acquire);
            let done = self.shared.done.load(Ordering::Acquire);
            if done.wrapping_sub(until) as i32 >= 0 {
                self.shared.waiting.store(false, Ordering::Relaxed);
                return Ok(());
            }
            if gone {
                return Err(EngineError);
            }
            rounds += 1;
            if rounds < ROUNDS {
                std::hint::spin_loop();
            } else if rounds == ROUNDS {
                let mut sleeper =
                    self.shared.sleeper.lock().unwrap_or_else(PoisonError::into_inner);
                *sleeper = Some(thread::current());
                self.shared.awaited.store(until, Ordering::Relaxed);
                self.shared.waiting.store(true, Ordering::Release);
                // Against the engine's between its count and its look at `waiting`.
                fence(Ordering::SeqCst);
            } else {
                thread::park();
                // The engine may have meant the wait before this one, which ended without it: it
                // has to be asked again.
                rounds = ROUNDS - 1;
            }
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        let thread = self.thread.take();
        if self.maker.is_another() {
            // It runs in the parent: nobody here can wait for its end.
            std::mem::forget(thread);
        } else if let Some(thread) = thread {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows::memory::Layout;
    use narrows::platform::Memory as _;

    #[test]
    fn the_engine_copies_whatever_the_fragment_and_refuses_what_is_outside() {
        let engine = Engine::start(None).unwrap();
        let (region, descriptor) =
            Region::new(&Layout::standard(crate::memory::LINE).unwrap()).unwrap();
        use rustix::fd::AsFd as _;
        let seen = PeerRegion::new(descriptor.as_fd(), region.size()).unwrap();
        let bytes: Vec<u8> = (0..300_000_u32).map(|i| ((i * 7) >> 3) as u8).collect();
        for fragment in [0, 777, 4096, 65536, u32::MAX] {
            let bytes = if fragment == 0 { &bytes[..500] } else { &bytes[..] };
            let mut back = vec![0; bytes.len()];
            engine.store(&region, 1 << 20, bytes, fragment).unwrap();
            engine.fetch(&seen, 1 << 20, &mut back, fragment).unwrap();
            assert!(back == bytes, "fragment {fragment}");
        }
        let size = region.size();
        assert!(engine.store(&region, size - 10, &bytes[..11], 64).is_err());
        assert!(engine.store(&region, u32::MAX, &bytes[..1], 64).is_err());
        assert!(engine.fetch(&seen, size, &mut [0], 64).is_err());
        assert!(engine.time().unwrap() > Duration::ZERO);
    }

    #[test]
    fn a_wake_up_that_was_meant_for_the_wait_before_leaves_nobody_asleep() {
        let shared = Arc::new(Shared::new());
        let engine = Engine {
            shared: Arc::clone(&shared),
            thread: None,
            posted: Cell::new(0),
            maker: Maker::this(),
        };
        let waits = thread::spawn(move || engine.wait(1));
        let asked = || {
            let begun = std::time::Instant::now();
            while !shared.waiting.load(Ordering::Acquire) {
                assert!(
                    begun.elapsed() < Duration::from_secs(20),
                    "it sleeps unknown to the engine"
                );
                thread::yield_now();
            }
        };
        asked();
        // What the engine does late.
        shared.wake();
        asked();
        shared.done.store(1, Ordering::Release);
        fence(Ordering::SeqCst);
        shared.wake();
        assert_eq!(waits.join().unwrap(), Ok(()));
    }

    #[test]
    fn an_engine_that_is_gone_is_an_error_and_not_a_hang() {
        let mut engine = Engine::start(None).unwrap();
        let (region, _) = Region::new(&Layout::standard(crate::memory::LINE).unwrap()).unwrap();
        engine.shared.stop.store(true, Ordering::Release);
        let thread = engine.thread.take().unwrap();
        thread.thread().unpark();
        thread.join().unwrap();
        for _ in 0..3 {
            assert_eq!(engine.store(&region, 0, &[0; 100_000], 64), Err(EngineError));
        }
    }
}
