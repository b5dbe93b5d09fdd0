//! Floor: two event counters, read and written by system calls. A bare notification: the number is
//! all it carries, and several in a row become one.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, read, write};

use super::{Contender, Counted, EITHER, End, Kind, Measure, Mode, Port, Role, Setup, failed};
use crate::control::Control;

pub struct Eventfd;

impl Contender for Eventfd {
    fn name(&self) -> &'static str {
        "eventfd"
    }
    fn kind(&self) -> Kind {
        Kind::Floor
    }
    fn version(&self) -> String {
        "the kernel's".into()
    }
    fn copies(&self, _: usize) -> &'static str {
        "carries none"
    }
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str> {
        match mode {
            Mode::Spinning => Ok("reads without blocking"),
            Mode::Blocked => Ok("sleeps in read"),
            Mode::Hybrid => Err(EITHER),
        }
    }
    fn offers(&self, measure: Measure, bytes: usize) -> Result<(), &'static str> {
        match measure {
            Measure::OneWay => Err("no such mode: notifications merge"),
            _ if bytes > 8 => Err("carries no payload"),
            _ => Ok(()),
        }
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        let fds = match role {
            Role::Caller => {
                let flags = match setup.mode {
                    Mode::Spinning => EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK,
                    _ => EventfdFlags::CLOEXEC,
                };
                let both = [eventfd(0, flags)?, eventfd(0, flags)?];
                control.give_fds([both[0].try_clone()?, both[1].try_clone()?])?;
                both
            }
            Role::Callee => control.take_fds()?,
        };
        let [there, back] = fds;
        Ok(Counted::boxed(match role {
            Role::Caller => Ends { out: there, into: back },
            Role::Callee => Ends { out: back, into: there },
        }))
    }
}

struct Ends {
    out: OwnedFd,
    into: OwnedFd,
}

/// What is written for a message: never nought, and far from what overflows the counter.
fn mark(number: u64) -> u64 {
    (number & 0xffff_ffff) + 1
}

impl Port for Ends {
    fn send(&mut self, number: u64) -> io::Result<()> {
        write(&self.out, &mark(number).to_ne_bytes())?;
        Ok(())
    }
    fn receive(&mut self, number: u64) -> io::Result<()> {
        let mut value = [0; 8];
        loop {
            match read(&self.into, &mut value) {
                Err(Errno::AGAIN) => std::hint::spin_loop(),
                read => break read.map(|_| ())?,
            }
        }
        if u64::from_ne_bytes(value) == mark(number) {
            Ok(())
        } else {
            Err(failed("notification", "another one than was sent"))
        }
    }
}
