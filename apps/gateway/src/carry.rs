//! The way to the thread that has the link to the DSP, for those that have frames and calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SyncSender, TrySendError};

use narrows::link::Name;
use narrows_host::{Bell, Node};

use crate::figures::Figures;
use crate::frame::Codec;
use crate::link;
use crate::media::{Frame, Output};
use crate::tuner::{Choices, Decided};

/// Tasks and frames that wait for the thread.
pub(crate) const TASKS: usize = 4096;

/// What the thread is asked to do.
pub(crate) enum Task {
    Admit { id: u64, from: Codec, to: Codec, reply: mpsc::Sender<Result<(), String>> },
    Begin { id: u64, codecs: [Codec; 2], output: Output },
    Frame { id: u64, frame: Frame },
    Figures { id: u64, end: bool, reply: mpsc::Sender<Option<Box<Counted>>> },
    Stop,
}

/// What is told of a direction.
pub struct Counted {
    pub figures: Figures,
    pub strategy: String,
}

/// What the thread leaves.
pub struct Left {
    pub decided: Vec<Decided>,
    /// How often the DSP was found and lost.
    pub found: u64,
    pub lost: u64,
}

/// The way to the thread, for others.
#[derive(Clone)]
pub struct Carrier {
    tasks: SyncSender<Task>,
    bell: Arc<Bell>,
    linked: Arc<AtomicBool>,
}

impl Carrier {
    /// Starts the thread.
    ///
    /// # Errors
    /// What the system says, as a sentence.
    pub fn start(
        node: Node,
        dsp: Name,
        choices: Choices,
        log: fn(&str),
    ) -> Result<(Carrier, std::thread::JoinHandle<Left>), String> {
        let said = |error: std::io::Error| format!("no thread for the link: {error}");
        let bell = Arc::new(Bell::new().map_err(|error| said(error.into()))?);
        node.platform().listen(&bell).map_err(said)?;
        let (tasks, received) = mpsc::sync_channel(TASKS);
        let thread = std::thread::Builder::new().name("link".into());
        let linked = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&linked);
        let thread = thread.spawn(move || link::run(node, dsp, choices, log, &received, &told));
        Ok((Carrier { tasks, bell, linked }, thread.map_err(said)?))
    }

    fn post(&self, task: Task) {
        // The thread is there until it is told to stop.
        if self.tasks.send(task).is_ok() {
            self.bell.ring();
        }
    }

    fn ask<T>(&self, task: impl FnOnce(mpsc::Sender<T>) -> Task) -> Option<T> {
        let (reply, answer) = mpsc::channel();
        self.post(task(reply));
        answer.recv().ok()
    }

    /// Whether the DSP has been found, and measured if that is needed. Relaxed: it tells nothing
    /// else.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.linked.load(Ordering::Relaxed)
    }

    /// Whether there is room for a direction, which is kept for it.
    ///
    /// # Errors
    /// Why not, as a sentence.
    pub fn admit(&self, id: u64, from: Codec, to: Codec) -> Result<(), String> {
        self.ask(|reply| Task::Admit { id, from, to, reply })
            .unwrap_or_else(|| Err("the gateway ends".into()))
    }

    /// The direction's coded frames go there, with these codecs at last.
    pub fn begin(&self, id: u64, codecs: [Codec; 2], output: Output) {
        self.post(Task::Begin { id, codecs, output });
    }

    /// Hands over a frame. False if the queue of tasks is full and the frame is thrown away.
    pub fn frame(&self, id: u64, frame: Frame) -> bool {
        match self.tasks.try_send(Task::Frame { id, frame }) {
            Ok(()) => {
                self.bell.ring();
                true
            }
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => false,
        }
    }

    /// What was counted of a direction so far.
    #[must_use]
    pub fn figures(&self, id: u64, end: bool) -> Option<Box<Counted>> {
        self.ask(|reply| Task::Figures { id, end, reply }).flatten()
    }

    pub fn stop(&self) {
        self.post(Task::Stop);
    }
}
