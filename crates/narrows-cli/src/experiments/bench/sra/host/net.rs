//! Processors of this machine in MQX's terms, each with a task that sends back what it receives.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use narrows_host::mqx::{Limits, Message, Processor, QueueId, Task};
use narrows_host::{Carrier, system};
use narrows_sim::chip::{self, number};
use tempfile::TempDir;

use crate::base::failure::{Failure, Kind};

/// The longest message, in bytes.
pub(super) const LONGEST: usize = 4096;
/// Whatever comes to this queue of a processor is sent back.
const ECHO: u8 = 8;
/// How soon a task that waits sees that it is to end.
const LOOK: Duration = Duration::from_secs(1);
/// The longest wait for links and for an answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// The first byte of a message: the receiver says for how long it was held.
const SAY: u8 = 1;

/// Processors, and a task of the first that sends to the others'.
pub(super) struct Net {
    processors: Vec<Processor>,
    task: Task,
    answers: QueueId,
    /// The threads that send back.
    echoes: Vec<JoinHandle<()>>,
    ends: Arc<AtomicBool>,
    /// For how many nanoseconds the last receiver that was asked was held.
    held: Arc<AtomicU64>,
    _directory: TempDir,
}

/// For how long a message held the threads that sent and received it, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub sender: f64,
    pub receiver: f64,
}

impl Net {
    /// Opens the processors of a net, and waits until each has its links: before, it would pass
    /// messages on by another way.
    ///
    /// # Errors
    /// The machine refuses one, or a link is not up in time.
    pub fn open(net: &chip::Net, carrier: Carrier) -> Result<Net, Failure> {
        let directory = tempfile::tempdir().map_err(|error| refused(&error))?;
        let open = |node| {
            let host = |o: narrows_host::Options| o.directory(directory.path()).carrier(carrier);
            Processor::routed(number(node), net.table(node), Limits::default(), host)
        };
        let processors: Vec<Processor> =
            (0..net.nodes).map(open).collect::<Result<_, _>>().map_err(|error| refused(&error))?;
        for (one, other) in net.links.iter().flat_map(|[one, other]| [(one, other), (other, one)]) {
            let linked = processors[*one].wait_for(number(*other), Some(PATIENCE));
            linked.map_err(|error| Failure::new(Kind::Deadline, error.to_string()))?;
        }
        let first = processors.first().ok_or_else(|| refused(&"there are no processors"))?;
        let pool = first.create_system_pool(LONGEST as u32, 8, 0, 8);
        pool.map_err(|error| refused(&error))?;
        let task = first.task();
        let answers = task.open(0, 0).map_err(|error| refused(&error))?;
        let (ends, held) = <(Arc<AtomicBool>, Arc<AtomicU64>)>::default();
        let echoes = Vec::new();
        let mut net = Net { processors, task, answers, echoes, ends, held, _directory: directory };
        for processor in &net.processors {
            let task = processor.task();
            let queue = task.open(ECHO, 0).map_err(|error| refused(&error))?;
            let (ends, held) = (Arc::clone(&net.ends), Arc::clone(&net.held));
            net.echoes.push(thread::spawn(move || echo(&task, queue, &ends, &held)));
        }
        Ok(net)
    }

    /// Messages that each processor has passed on.
    #[cfg(test)]
    pub fn passed(&self) -> Vec<u64> {
        self.processors.iter().map(|processor| processor.counts().forwarded).collect()
    }

    fn message(&self, to: usize, bytes: usize, first: u8) -> Result<Message, Failure> {
        let message = self.task.alloc_system(bytes as u32);
        let mut message = message.map_err(|error| refused(&error))?;
        message.header.target = QueueId::new(number(to), ECHO);
        message.header.source = self.answers;
        message.fill(0);
        if let Some(byte) = message.first_mut() {
            *byte = first;
        }
        Ok(message)
    }

    fn answer(&self, bytes: usize) -> Result<(), Failure> {
        let got = self.task.receive(self.answers, Some(PATIENCE));
        match got.map_err(|error| refused(&error))? {
            Some(message) if message.len() == bytes => Ok(()),
            Some(_) => Err(refused(&"an answer is not as long as its message")),
            None => Err(Failure::new(Kind::Deadline, "no answer came to a message in 20 s")),
        }
    }

    fn send(&self, message: Message) -> Result<(), Failure> {
        self.task.send(message).map_err(|(why, _)| refused(&why))
    }

    /// What a cycle takes with the task of a processor, in microseconds.
    ///
    /// # Errors
    /// No answer comes.
    pub fn cycle(&self, to: usize, bytes: usize) -> Result<f64, Failure> {
        let begin = Instant::now();
        let message = self.message(to, bytes, 0)?;
        self.send(message)?;
        self.answer(bytes)?;
        Ok(begin.elapsed().as_secs_f64() * 1e6)
    }

    /// For how long a message holds the thread that sends it and the one that receives it.
    ///
    /// # Errors
    /// No answer comes.
    pub fn held(&self, to: usize, bytes: usize) -> Result<Held, Failure> {
        let message = self.message(to, bytes, SAY)?;
        let begin = system::thread_time();
        self.send(message)?;
        let sender = system::thread_time().saturating_sub(begin);
        self.answer(bytes)?;
        // Acquire: pairs with the release in `echo`, which comes before the answer.
        let receiver = self.held.load(Ordering::Acquire);
        Ok(Held { sender: sender.as_secs_f64() * 1e6, receiver: receiver as f64 / 1e3 })
    }
}

/// Sends back what comes, until it is to end.
fn echo(task: &Task, queue: QueueId, ends: &AtomicBool, held: &AtomicU64) {
    // Relaxed: nothing else is read by it.
    while !ends.load(Ordering::Relaxed) {
        let begin = system::thread_time();
        let mut message = match task.receive(queue, Some(LOOK)) {
            Ok(Some(message)) => message,
            Ok(None) => continue,
            Err(_) => return,
        };
        if message.first() == Some(&SAY) {
            let took = system::thread_time().saturating_sub(begin);
            // Release: pairs with the acquire of the thread that receives the answer.
            held.store(took.as_nanos() as u64, Ordering::Release);
        }
        message.header.target = message.header.source;
        // The one that waits for an answer says that none came.
        let _ = task.send(message);
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // Wakes those that wait; the others see it when they look.
        for node in 0..self.processors.len() {
            let _ = self.message(node, 1, 0).and_then(|message| self.send(message));
        }
        for echo in self.echoes.drain(..) {
            let _ = echo.join();
        }
    }
}

fn refused(what: &dyn Display) -> Failure {
    Failure::new(Kind::Internal, format!("the bench cannot go on: {what}"))
}
