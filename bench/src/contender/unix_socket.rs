//! A pair of Unix sockets that keep messages apart.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::socketpair;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send};

use super::{Contender, Counted, EITHER, End, Mode, Port, Role, Setup, failed};
use crate::control::Control;
use crate::payload;

pub struct UnixSocket;

impl Contender for UnixSocket {
    fn name(&self) -> &'static str {
        "Unix socket"
    }
    fn version(&self) -> String {
        "the kernel's; SOCK_SEQPACKET".into()
    }
    fn copies(&self, _: usize) -> &'static str {
        "2: into the kernel, out of it"
    }
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str> {
        match mode {
            Mode::Spinning => Ok("receives without blocking"),
            Mode::Blocked => Ok("sleeps in recv"),
            Mode::Hybrid => Err(EITHER),
        }
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        let socket = match role {
            Role::Caller => {
                let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
                let (mine, theirs) = socketpair(AddressFamily::UNIX, kind, flags, None)?;
                control.give_fds([theirs])?;
                mine
            }
            Role::Callee => {
                let [socket] = control.take_fds()?;
                socket
            }
        };
        let spin = setup.mode == Mode::Spinning;
        let own = || vec![0; setup.bytes];
        Ok(Counted::boxed(Ends { socket, spin, from: own(), to: own() }))
    }
}

struct Ends {
    socket: OwnedFd,
    spin: bool,
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Port for Ends {
    fn send(&mut self, number: u64) -> io::Result<()> {
        payload::make(number, &mut self.from);
        let mut flags = SendFlags::NOSIGNAL;
        flags.set(SendFlags::DONTWAIT, self.spin);
        loop {
            match send(&self.socket, &self.from, flags) {
                Err(Errno::AGAIN) => std::hint::spin_loop(),
                sent => break sent.map(|_| ()).map_err(Into::into),
            }
        }
    }
    fn receive(&mut self, number: u64) -> io::Result<()> {
        let mut flags = RecvFlags::empty();
        flags.set(RecvFlags::DONTWAIT, self.spin);
        let got = loop {
            match recv(&self.socket, &mut self.to, flags) {
                Err(Errno::AGAIN) => std::hint::spin_loop(),
                received => break received?.1,
            }
        };
        if got == 0 {
            return Err(failed("receive", "the other end is gone"));
        }
        payload::check(number, self.to.len(), self.to.get(..got).unwrap_or_default())
    }
}
