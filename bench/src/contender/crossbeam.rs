//! crossbeam-channel: a bounded channel between threads. Up to a line by value, beyond that as a
//! box, whose receiver keeps it for what it sends next.

use std::io;

use crossbeam_channel::{Receiver, RecvError, Sender, TryRecvError, TrySendError, bounded};

use super::{Contender, Counted, End, Mode, Port, Role, Setup, Sides, failed};
use crate::control::Control;
use crate::payload;

pub struct Crossbeam;

/// Payload that goes by value.
const BY_VALUE: usize = 64;
/// Boxes that are kept.
const KEPT: usize = 4;

impl Contender for Crossbeam {
    fn name(&self) -> &'static str {
        "crossbeam-channel"
    }
    fn version(&self) -> String {
        crate::versions::of("crossbeam-channel")
    }
    fn sides(&self) -> Sides {
        Sides::Threads
    }
    fn copies(&self, bytes: usize) -> &'static str {
        if bytes <= BY_VALUE { "2: into the channel, out of it" } else { "0: a box" }
    }
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str> {
        match mode {
            Mode::Spinning => Ok("try_recv"),
            Mode::Hybrid => Ok("recv: looks for a while, then sleeps"),
            Mode::Blocked => Err("no such mode: its recv looks for a while first"),
        }
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        match setup.bytes {
            8 => values::<8>(role, setup, control),
            48 => values::<48>(role, setup, control),
            64 => values::<64>(role, setup, control),
            _ => {
                let channel = Channel::open(role, setup, control)?;
                Ok(Counted::boxed(Boxes { channel, bytes: setup.bytes, kept: Vec::new() }))
            }
        }
    }
}

/// This end of two channels.
struct Channel<T> {
    out: Sender<T>,
    into: Receiver<T>,
    mode: Mode,
}

impl<T: Send + 'static> Channel<T> {
    fn open(role: Role, setup: &Setup, control: &mut Control) -> io::Result<Channel<T>> {
        let (out, into) = match role {
            Role::Caller => {
                let (there, theirs) = bounded::<T>(setup.depth);
                let (back, mine) = bounded::<T>(setup.depth);
                control.give((back, theirs))?;
                (there, mine)
            }
            Role::Callee => control.take()?,
        };
        Ok(Channel { out, into, mode: setup.mode })
    }

    fn send(&self, mut message: T) -> io::Result<()> {
        if self.mode != Mode::Spinning {
            return self.out.send(message).map_err(|error| failed("send", error));
        }
        loop {
            match self.out.try_send(message) {
                Err(TrySendError::Full(back)) => message = back,
                sent => return sent.map_err(|error| failed("send", error)),
            }
            std::hint::spin_loop();
        }
    }

    fn receive(&self) -> io::Result<T> {
        let received = match self.mode {
            Mode::Blocked | Mode::Hybrid => self.into.recv(),
            Mode::Spinning => loop {
                match self.into.try_recv() {
                    Err(TryRecvError::Empty) => std::hint::spin_loop(),
                    Err(TryRecvError::Disconnected) => break Err(RecvError),
                    Ok(message) => break Ok(message),
                }
            },
        };
        received.map_err(|error| failed("receive", error))
    }
}

fn values<const N: usize>(
    role: Role,
    setup: &Setup,
    control: &mut Control,
) -> io::Result<Box<dyn End>> {
    Ok(Counted::boxed(Values::<N>(Channel::open(role, setup, control)?)))
}

struct Values<const N: usize>(Channel<[u8; N]>);

impl<const N: usize> Port for Values<N> {
    fn send(&mut self, number: u64) -> io::Result<()> {
        let mut message = [0; N];
        payload::make(number, &mut message);
        self.0.send(message)
    }
    fn receive(&mut self, number: u64) -> io::Result<()> {
        payload::check(number, N, &self.0.receive()?)
    }
}

struct Boxes {
    channel: Channel<Box<[u8]>>,
    bytes: usize,
    kept: Vec<Box<[u8]>>,
}

impl Port for Boxes {
    fn send(&mut self, number: u64) -> io::Result<()> {
        let kept = self.kept.pop();
        let mut message = kept.unwrap_or_else(|| vec![0; self.bytes].into_boxed_slice());
        payload::make(number, &mut message);
        self.channel.send(message)
    }
    fn receive(&mut self, number: u64) -> io::Result<()> {
        let message = self.channel.receive()?;
        payload::check(number, self.bytes, &message)?;
        if self.kept.len() < KEPT {
            self.kept.push(message);
        }
        Ok(())
    }
}
