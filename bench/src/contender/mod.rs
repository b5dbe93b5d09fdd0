//! The contenders: one file each, all behind the same small traits.
//!
//! A contender is asked to open one *end* of a pair on each of two cores. What the ends then do is
//! the same for everyone: [`Port`] sends and receives single messages, and the loops over it, round
//! trips and streams, are here once.

#[cfg(feature = "aeron")]
mod aeron;
mod crossbeam;
mod eventfd;
mod futex;
mod iceoryx2_call;
pub mod iceoryx2_pubsub;
mod ipc_channel;
mod line;
mod memcpy;
mod message_queue;
mod narrows_call;
mod narrows_client;
mod narrows_message;
pub mod narrows_topic;
mod nng;
mod pipe;
mod rtrb;
mod slots;
mod socket;
mod way;
mod zeromq;

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::control::Control;

#[cfg(feature = "aeron")]
pub use aeron::serve_driver as serve_aeron_driver;

/// Everyone, in the order of the tables.
pub fn all() -> Vec<&'static dyn Contender> {
    vec![
        &narrows_message::COPY,
        &narrows_message::TOGETHER,
        &narrows_message::SINGLE_COPY,
        &narrows_message::IN_PLACE,
        &narrows_call::COPY,
        &narrows_call::IN_PLACE,
        &narrows_client::NarrowsClient,
        &narrows_topic::NarrowsTopic,
        &iceoryx2_pubsub::Iceoryx2PubSub,
        &iceoryx2_call::Iceoryx2Call,
        #[cfg(feature = "aeron")]
        &aeron::Aeron,
        &rtrb::Rtrb,
        &crossbeam::Crossbeam,
        &ipc_channel::IpcChannel,
        &zeromq::IPC,
        &socket::PACKETS,
        &pipe::Pipe,
        &message_queue::MessageQueue,
        &line::Line,
        &slots::Slots,
        &memcpy::Memcpy,
        &futex::Futex,
        &eventfd::Eventfd,
        &narrows_message::STREAM,
        &narrows_call::STREAM,
        &narrows_message::BRIDGES,
        &narrows_call::BRIDGES,
        &nng::Nng,
        &zeromq::TCP,
        &socket::UNIX,
        &socket::OF_SEVERAL,
        &socket::TCP,
    ]
}

/// What a contender stands for in the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// This stack.
    Narrows,
    /// What one could use instead.
    Peer,
    /// What the machine itself allows: written by hand for this bench, and no messaging.
    Floor,
}

/// What a contender's bytes go over: like is compared with like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Whatever the contender makes of one machine: mostly memory.
    Machine,
    /// A Unix stream socket.
    Unix,
    /// TCP, over the loopback.
    Tcp,
}

impl Over {
    /// All of them.
    pub const ALL: [Over; 3] = [Over::Machine, Over::Unix, Over::Tcp];

    /// Where it is compared.
    pub fn group(self) -> Group {
        match self {
            Over::Machine => Group::Machine,
            Over::Unix | Over::Tcp => Group::Sockets,
        }
    }
}

/// Contenders that are compared, and can be measured alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Group {
    /// By whatever they make of one machine
    Machine,
    /// Over stream sockets, Unix or TCP
    Sockets,
}

impl Group {
    /// All of them.
    pub const ALL: [Group; 2] = [Group::Machine, Group::Sockets];
}

/// What the two ends run in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sides {
    /// Two processes.
    Processes,
    /// Two threads of one process, because it cannot do more.
    Threads,
}

/// How an end waits for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It looks again and again, and never sleeps.
    Spinning,
    /// It sleeps in the kernel until it is woken.
    Blocked,
    /// It looks for a while, then sleeps.
    Hybrid,
}

impl Mode {
    /// All of them.
    pub const ALL: [Mode; 3] = [Mode::Spinning, Mode::Blocked, Mode::Hybrid];
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// A message there, an answer of the same length back.
    RoundTrip,
    /// Messages one way, as fast as they go.
    OneWay,
}

/// Which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It measures.
    Caller,
    /// It answers.
    Callee,
}

/// What a pair is to be like. The same for both ends.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Bytes of a message.
    pub bytes: usize,
    /// How both ends wait.
    pub mode: Mode,
    /// Messages that may be under way, where that can be chosen.
    pub depth: usize,
    /// An empty directory of this pair's own, where it needs names.
    pub directory: PathBuf,
    /// A word that no other pair has, where names are not in a directory.
    pub tag: String,
    /// The cores of caller and callee.
    pub cores: (usize, usize),
}

/// One that takes part.
pub trait Contender: Sync {
    /// What it is called.
    fn name(&self) -> &'static str;
    /// What it stands for.
    fn kind(&self) -> Kind {
        Kind::Peer
    }
    /// What its bytes go over.
    fn over(&self) -> Over {
        Over::Machine
    }
    /// Which version of what.
    fn version(&self) -> String;
    /// What the ends run in.
    fn sides(&self) -> Sides {
        Sides::Processes
    }
    /// How often payload is copied between being made and being read, and where.
    fn copies(&self, bytes: usize) -> &'static str;
    /// How both ends wait in this mode, in a few words.
    ///
    /// # Errors
    /// It has no such mode, and why.
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str>;
    /// Whether this can be measured of it.
    ///
    /// # Errors
    /// Why it cannot.
    fn offers(&self, _: Measure, _: usize) -> Result<(), &'static str> {
        Ok(())
    }
    /// Opens one end. The callee's is opened first, or while the caller's is.
    ///
    /// # Errors
    /// What the system or the library refused.
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>>;
}

/// One end of a pair.
pub trait End {
    /// The caller: sends one message and takes the answer, `count` times.
    ///
    /// # Errors
    /// Something was not sent, or did not arrive as it was sent.
    fn round_trips(&mut self, count: u64) -> io::Result<()>;

    /// The caller: sends `count` messages and takes one answer, which says that all were read.
    ///
    /// # Errors
    /// As [`End::round_trips`].
    fn one_way(&mut self, count: u64) -> io::Result<()>;

    /// The callee: reads `count` messages and answers, as often as `times` says.
    ///
    /// # Errors
    /// As [`End::round_trips`].
    fn serve(&mut self, count: u64, times: u64) -> io::Result<()>;
}

/// Sends and receives single messages.
pub trait Port {
    /// Makes message `number` and sends it, waiting for room.
    ///
    /// # Errors
    /// It was not sent.
    fn send(&mut self, number: u64) -> io::Result<()>;

    /// Waits for a message, reads it in full and checks that it is message `number`.
    ///
    /// # Errors
    /// It is not.
    fn receive(&mut self, number: u64) -> io::Result<()>;
}

/// The loops over a [`Port`].
pub struct Counted<P> {
    port: P,
    numbers: Numbers,
}

/// Numbers of the messages there and of the answers: both ends count alike.
#[derive(Default)]
pub struct Numbers {
    there: u64,
    back: u64,
}

impl Numbers {
    /// The next message's.
    #[inline]
    pub fn there(&mut self) -> u64 {
        self.there += 1;
        self.there
    }

    /// The next answer's: never one that a message has.
    #[inline]
    pub fn back(&mut self) -> u64 {
        self.back += 1;
        !self.back
    }
}

impl<P: Port + 'static> Counted<P> {
    /// An end that uses `port`.
    pub fn boxed(port: P) -> Box<dyn End> {
        Box::new(Counted { port, numbers: Numbers::default() })
    }
}

impl<P: Port> End for Counted<P> {
    fn round_trips(&mut self, count: u64) -> io::Result<()> {
        for _ in 0..count {
            self.port.send(self.numbers.there())?;
            self.port.receive(self.numbers.back())?;
        }
        Ok(())
    }

    fn one_way(&mut self, count: u64) -> io::Result<()> {
        for _ in 0..count {
            self.port.send(self.numbers.there())?;
        }
        self.port.receive(self.numbers.back())
    }

    fn serve(&mut self, count: u64, times: u64) -> io::Result<()> {
        for _ in 0..times {
            for _ in 0..count {
                self.port.receive(self.numbers.there())?;
            }
            self.port.send(self.numbers.back())?;
        }
        Ok(())
    }
}

/// Those whose name has one of these in it; all if there are none.
///
/// # Errors
/// No name has it.
pub fn named<T>(
    all: Vec<T>,
    name: impl Fn(&T) -> &'static str,
    only: &[String],
) -> io::Result<Vec<T>> {
    let meant = |one: &T, only: &String| name(one).to_lowercase().contains(&only.to_lowercase());
    if let Some(none) = only.iter().find(|only| !all.iter().any(|one| meant(one, only))) {
        let names: Vec<_> = all.iter().map(&name).collect();
        return Err(io::Error::other(format!("--only {none}: none of {}", names.join("; "))));
    }
    let any = |one: &T| only.is_empty() || only.iter().any(|only| meant(one, only));
    Ok(all.into_iter().filter(any).collect())
}

/// An error of a library, as text.
pub fn failed(what: &str, error: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("{what}: {error}"))
}

/// Whether a contender has a cell.
///
/// # Errors
/// Why it has not.
pub fn has(
    contender: &dyn Contender,
    measure: Measure,
    mode: Mode,
    bytes: usize,
) -> Result<(), &'static str> {
    contender.waits(mode)?;
    contender.offers(measure, bytes)
}

/// Why a contender has no such cell.
pub const POLLED: &str = "no such mode: it is polled";
/// See [`POLLED`].
pub const EITHER: &str = "no such mode: it looks or it sleeps, not one after the other";
/// See [`POLLED`].
pub const ANSWERED: &str = "no such mode: every call is answered";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;

    /// Round trips and a stream between two threads, both ends checked.
    fn carries(contender: &'static dyn Contender, mode: Mode, bytes: usize) -> io::Result<()> {
        let directory = tempfile::tempdir()?;
        let (directory, tag) = (directory.path().to_owned(), String::new());
        let setup = Setup { bytes, mode, depth: 4, directory, tag, cores: (0, 0) };
        let (mut mine, mut theirs) = Control::threads()?;
        let there = setup.clone();
        let callee = std::thread::spawn(move || {
            let mut end = contender.open(Role::Callee, &there, &mut theirs)?;
            theirs.done()?;
            end.serve(1, 3)?;
            if has(contender, Measure::OneWay, mode, bytes).is_ok() {
                end.serve(20, 1)?;
            }
            // Until the last answer has been read.
            theirs.wait_done()
        });
        let mut end = contender.open(Role::Caller, &setup, &mut mine)?;
        mine.wait_done()?;
        end.round_trips(3)?;
        if has(contender, Measure::OneWay, mode, bytes).is_ok() {
            end.one_way(20)?;
        }
        mine.done()?;
        callee.join().map_err(|_| failed("the other end", "it panicked"))?
    }

    #[test]
    fn whoever_goes_over_sockets_carries_what_it_is_given() {
        let sockets = all().into_iter().filter(|contender| contender.over() != Over::Machine);
        for contender in sockets {
            for bytes in [8, 65536] {
                let carried = carries(contender, Mode::Blocked, bytes);
                assert!(carried.is_ok(), "{}, {bytes}: {carried:?}", contender.name());
            }
        }
    }

    #[test]
    fn names_tell_contenders_apart() {
        let mut names: Vec<&str> = all().iter().map(|contender| contender.name()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
