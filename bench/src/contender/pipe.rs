//! Two pipes, a message after the other as bytes.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::{Errno, fcntl_getfd, fcntl_setfd, read, write};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

use super::{Contender, Counted, EITHER, End, Mode, Port, Role, Setup};
use crate::control::Control;
use crate::payload;

/// What any user may ask for by default.
const CAPACITY: usize = 1 << 20;

pub struct Pipe;

impl Contender for Pipe {
    fn name(&self) -> &'static str {
        "pipe"
    }
    fn version(&self) -> String {
        "the kernel's; 1 MiB each".into()
    }
    fn copies(&self, _: usize) -> &'static str {
        "2: into the kernel, out of it"
    }
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str> {
        match mode {
            Mode::Spinning => Ok("reads without blocking"),
            Mode::Blocked => Ok("sleeps in read"),
            Mode::Hybrid => Err(EITHER),
        }
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        let [out, into] = match role {
            Role::Caller => {
                let flags = match setup.mode {
                    Mode::Spinning => PipeFlags::CLOEXEC | PipeFlags::NONBLOCK,
                    _ => PipeFlags::CLOEXEC,
                };
                let (there, back) = (pipe_with(flags)?, pipe_with(flags)?);
                fcntl_setpipe_size(&there.1, CAPACITY)?;
                fcntl_setpipe_size(&back.1, CAPACITY)?;
                control.give_fds([back.1, there.0])?;
                [there.1, back.0]
            }
            Role::Callee => control.take_fds()?,
        };
        for fd in [&out, &into] {
            fcntl_setfd(fd, fcntl_getfd(fd)? | rustix::io::FdFlags::CLOEXEC)?;
        }
        let own = || vec![0; setup.bytes];
        Ok(Counted::boxed(Ends { out, into, from: own(), to: own() }))
    }
}

struct Ends {
    out: OwnedFd,
    into: OwnedFd,
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Port for Ends {
    fn send(&mut self, number: u64) -> io::Result<()> {
        payload::make(number, &mut self.from);
        write_all(&self.out, &self.from)
    }
    fn receive(&mut self, number: u64) -> io::Result<()> {
        read_all(&self.into, &mut self.to)?;
        payload::check(number, self.to.len(), &self.to)
    }
}

fn write_all(fd: impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match write(&fd, bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(Errno::AGAIN) => std::hint::spin_loop(),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn read_all(fd: impl AsFd, mut bytes: &mut [u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match read(&fd, &mut *bytes) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(got) => bytes = bytes.get_mut(got..).unwrap_or_default(),
            Err(Errno::AGAIN) => std::hint::spin_loop(),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
