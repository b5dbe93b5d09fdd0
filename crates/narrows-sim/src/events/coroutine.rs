//! A process's code on a stack of its own, which it leaves whenever it has to wait.
#![allow(unsafe_code)]

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::rc::Rc;

/// What a process's code runs on. Untouched pages cost nothing, and the one below is nobody's.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    /// Bytes.
    pub stack: usize,
    /// Whether what is on it is dropped if it does not end by itself.
    pub unwinds: bool,
}

impl Default for Frame {
    fn default() -> Frame {
        Frame { stack: 1 << 20, unwinds: true }
    }
}

/// How a process gives control back to the engine. Open only while that process runs.
#[derive(Clone, Default)]
pub(crate) struct Door(Rc<Cell<Option<*const Yielder<(), ()>>>>);

impl Door {
    /// Goes back to the engine until it resumes this process. False if this process is not the one
    /// that runs, or panics: nothing happened then.
    #[inline]
    pub fn leave(&self) -> bool {
        let Some(yielder) = self.0.get().filter(|_| !std::thread::panicking()) else {
            return false;
        };
        // SAFETY: only the body of the coroutine stores a pointer, to its own yielder, and
        // `Code::resume` takes it away whenever the coroutine is left, so this code runs on the
        // stack that the yielder is on.
        unsafe { (*yielder).suspend(()) };
        true
    }

    /// Whether its process runs.
    pub fn is_open(&self) -> bool {
        self.0.get().is_some()
    }
}

/// Closes a door when the process is left, even by a panic.
struct Closing<'a>(&'a Door);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.0.set(None);
    }
}

/// What a process does.
pub(crate) type Body<'a> = Box<dyn FnOnce() + 'a>;

/// There is no memory for a stack.
pub(crate) struct NoRoom;

/// The code of a process.
pub(crate) enum Code<'a> {
    /// It has not been resumed yet, and has no stack.
    New(Door, Body<'a>, Frame),
    /// Somewhere in the middle.
    Begun(Begun<'a>),
    /// It has ended.
    Over,
}

pub(crate) struct Begun<'a> {
    coroutine: ManuallyDrop<Coroutine<(), (), (), DefaultStack>>,
    unwinds: bool,
    door: Door,
    yielder: Option<*const Yielder<(), ()>>,
    body: PhantomData<Body<'a>>,
}

impl<'a> Code<'a> {
    /// Runs it until it leaves or ends. True if it has ended.
    pub fn resume(&mut self) -> Result<bool, NoRoom> {
        if let Code::New(..) = self
            && let Code::New(door, body, frame) = std::mem::replace(self, Code::Over)
        {
            *self = Code::Begun(Begun::new(door, body, frame)?);
        }
        let Code::Begun(begun) = self else { return Ok(true) };
        let ended = begun.resume();
        if ended {
            *self = Code::Over;
        }
        Ok(ended)
    }
}

impl<'a> Begun<'a> {
    fn new(door: Door, body: Body<'a>, frame: Frame) -> Result<Begun<'a>, NoRoom> {
        let stack = DefaultStack::new(frame.stack).map_err(|_| NoRoom)?;
        let own = door.clone();
        // SAFETY: what `body` borrows is borrowed for as long as the result lives. Only
        // `Simulation::run` makes one, and it keeps it in a vector that it drops before it returns.
        let coroutine = unsafe {
            Coroutine::with_stack_unchecked(stack, move |yielder: &Yielder<(), ()>, ()| {
                own.0.set(Some(std::ptr::from_ref(yielder)));
                body();
            })
        };
        let coroutine = ManuallyDrop::new(coroutine);
        Ok(Begun { coroutine, unwinds: frame.unwinds, door, yielder: None, body: PhantomData })
    }

    fn resume(&mut self) -> bool {
        let closing = Closing(&self.door);
        self.door.0.set(self.yielder);
        let ended = matches!(self.coroutine.resume(()), CoroutineResult::Return(()));
        self.yielder = self.door.0.get();
        drop(closing);
        ended
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if self.unwinds || self.coroutine.done() {
            // SAFETY: it is dropped once, and not used any more.
            unsafe { ManuallyDrop::drop(&mut self.coroutine) };
        }
    }
}
