//! rtrb: a ring of one producer and one consumer, between threads. Up to a line by value, beyond
//! that as chunks of bytes, which are made and read where they lie.

use std::io;

use rtrb::chunks::ChunkError;
use rtrb::{Consumer, Producer, RingBuffer};

use super::{Contender, Counted, End, Mode, POLLED, Port, Role, Setup, Sides, failed};
use crate::control::Control;
use crate::payload;

pub struct Rtrb;

/// Payload that goes by value.
const BY_VALUE: usize = 64;

impl Contender for Rtrb {
    fn name(&self) -> &'static str {
        "rtrb"
    }
    fn version(&self) -> String {
        crate::versions::of("rtrb")
    }
    fn sides(&self) -> Sides {
        Sides::Threads
    }
    fn copies(&self, bytes: usize) -> &'static str {
        if bytes <= BY_VALUE { "2: into the ring, out of it" } else { "0" }
    }
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str> {
        match mode {
            Mode::Spinning => Ok("looks at the ring"),
            Mode::Blocked | Mode::Hybrid => Err(POLLED),
        }
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        match setup.bytes {
            8 => values::<8>(role, setup, control),
            48 => values::<48>(role, setup, control),
            64 => values::<64>(role, setup, control),
            _ => {
                let (out, into) = rings(role, setup.depth * setup.bytes, control)?;
                Ok(Counted::boxed(Chunks { out, into, bytes: setup.bytes }))
            }
        }
    }
}

/// This end of two rings.
fn rings<T: Send + 'static>(
    role: Role,
    capacity: usize,
    control: &mut Control,
) -> io::Result<(Producer<T>, Consumer<T>)> {
    match role {
        Role::Caller => {
            let (there, theirs) = RingBuffer::<T>::new(capacity);
            let (back, mine) = RingBuffer::<T>::new(capacity);
            control.give((back, theirs))?;
            Ok((there, mine))
        }
        Role::Callee => control.take(),
    }
}

fn values<const N: usize>(
    role: Role,
    setup: &Setup,
    control: &mut Control,
) -> io::Result<Box<dyn End>> {
    let (out, into) = rings(role, setup.depth, control)?;
    Ok(Counted::boxed(Values::<N> { out, into }))
}

struct Values<const N: usize> {
    out: Producer<[u8; N]>,
    into: Consumer<[u8; N]>,
}

impl<const N: usize> Port for Values<N> {
    fn send(&mut self, number: u64) -> io::Result<()> {
        let mut message = [0; N];
        payload::make(number, &mut message);
        while self.out.push(message).is_err() {
            std::hint::spin_loop();
        }
        Ok(())
    }
    fn receive(&mut self, number: u64) -> io::Result<()> {
        loop {
            match self.into.pop() {
                Ok(message) => return payload::check(number, N, &message),
                Err(_) => std::hint::spin_loop(),
            }
        }
    }
}

/// The capacity is a multiple of the message, so none is in two pieces.
struct Chunks {
    out: Producer<u8>,
    into: Consumer<u8>,
    bytes: usize,
}

impl Port for Chunks {
    fn send(&mut self, number: u64) -> io::Result<()> {
        let mut chunk = loop {
            match self.out.write_chunk(self.bytes) {
                Err(ChunkError::TooFewSlots(_)) => std::hint::spin_loop(),
                chunk => break chunk.map_err(|error| failed("write", error))?,
            }
        };
        payload::make(number, chunk.as_mut_slices().0);
        chunk.commit_all();
        Ok(())
    }
    fn receive(&mut self, number: u64) -> io::Result<()> {
        let chunk = loop {
            match self.into.read_chunk(self.bytes) {
                Err(ChunkError::TooFewSlots(_)) => std::hint::spin_loop(),
                chunk => break chunk.map_err(|error| failed("read", error))?,
            }
        };
        let checked = payload::check(number, self.bytes, chunk.as_slices().0);
        chunk.commit_all();
        checked
    }
}
