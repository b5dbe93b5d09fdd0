//! The kernel's sockets, used by hand: Unix sockets that keep messages apart, and streams of bytes.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::socketpair;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send};

use super::{Contender, Counted, EITHER, End, Kind, Mode, Over, Port, Role, Setup, failed};
use crate::control::Control;
use crate::payload;

pub struct Socket {
    name: &'static str,
    version: &'static str,
    over: Over,
    /// Whether it keeps messages apart.
    packets: bool,
    /// Whether an end that sleeps could be woken by something else as well, as one that has two
    /// peers.
    of_several: bool,
}

pub const PACKETS: Socket = Socket {
    name: "Unix socket",
    version: "the kernel's; SOCK_SEQPACKET",
    over: Over::Machine,
    packets: true,
    of_several: false,
};
pub const UNIX: Socket = Socket {
    name: "Unix stream socket",
    version: "the kernel's; SOCK_STREAM",
    over: Over::Unix,
    packets: false,
    of_several: false,
};
pub const OF_SEVERAL: Socket =
    Socket { name: "Unix stream socket, one of several", of_several: true, ..UNIX };
pub const TCP: Socket = Socket {
    name: "TCP socket",
    version: "the kernel's; TCP_NODELAY",
    over: Over::Tcp,
    packets: false,
    of_several: false,
};

impl Socket {
    fn connect(&self, role: Role, control: &mut Control) -> io::Result<OwnedFd> {
        if self.over == Over::Tcp {
            let stream = match role {
                Role::Caller => {
                    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                    control.say(&listener.local_addr()?.to_string())?;
                    listener.accept()?.0
                }
                Role::Callee => TcpStream::connect(control.hear()?)?,
            };
            stream.set_nodelay(true)?;
            return Ok(stream.into());
        }
        if role == Role::Callee {
            let [socket] = control.take_fds()?;
            return Ok(socket);
        }
        let kind = if self.packets { SocketType::SEQPACKET } else { SocketType::STREAM };
        let (mine, theirs) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
        control.give_fds([theirs])?;
        Ok(mine)
    }
}

impl Contender for Socket {
    fn name(&self) -> &'static str {
        self.name
    }
    fn kind(&self) -> Kind {
        // An end that reads a stream has to know how long each message is.
        if self.packets { Kind::Peer } else { Kind::Floor }
    }
    fn over(&self) -> Over {
        self.over
    }
    fn version(&self) -> String {
        self.version.into()
    }
    fn copies(&self, _: usize) -> &'static str {
        "2: into the kernel, out of it"
    }
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str> {
        match mode {
            Mode::Spinning if self.of_several => Err("no such mode: it sleeps on several"),
            Mode::Spinning => Ok("receives without blocking"),
            Mode::Blocked if self.of_several => Ok("sleeps in epoll"),
            Mode::Blocked => Ok("sleeps in recv"),
            Mode::Hybrid => Err(EITHER),
        }
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        let socket = self.connect(role, control)?;
        let spin = setup.mode == Mode::Spinning;
        let set = self.of_several.then(|| set_of(&socket)).transpose()?;
        Ok(Counted::boxed(Ends { set, ..Ends::new(socket, self.packets, spin, setup.bytes) }))
    }
}

/// A set of several descriptors, of which the socket is one.
fn set_of(socket: &OwnedFd) -> io::Result<OwnedFd> {
    let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&set, socket, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
    Ok(set)
}

struct Ends {
    socket: OwnedFd,
    /// What it sleeps on, if it is not the socket itself.
    set: Option<OwnedFd>,
    packets: bool,
    spin: bool,
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Ends {
    fn new(socket: OwnedFd, packets: bool, spin: bool, bytes: usize) -> Ends {
        Ends { socket, set: None, packets, spin, from: vec![0; bytes], to: vec![0; bytes] }
    }
}

impl Port for Ends {
    fn send(&mut self, number: u64) -> io::Result<()> {
        payload::make(number, &mut self.from);
        let mut flags = SendFlags::NOSIGNAL;
        flags.set(SendFlags::DONTWAIT, self.spin);
        let mut sent = 0;
        // A stream takes as much as it has room for.
        while sent < self.from.len() {
            match send(&self.socket, self.from.get(sent..).unwrap_or_default(), flags) {
                Err(Errno::AGAIN) if self.spin => std::hint::spin_loop(),
                Err(Errno::INTR) => {}
                took => sent += took?,
            }
        }
        Ok(())
    }

    fn receive(&mut self, number: u64) -> io::Result<()> {
        let mut flags = RecvFlags::empty();
        flags.set(RecvFlags::DONTWAIT, self.spin);
        flags.set(RecvFlags::WAITALL, !self.spin && !self.packets);
        let mut got = 0;
        loop {
            if let Some(set) = &self.set {
                let none = epoll::EventFlags::empty();
                let data = epoll::EventData::new_u64(0);
                let mut events = [epoll::Event { flags: none, data }];
                epoll::wait(set, &mut events[..], None)?;
                flags = RecvFlags::DONTWAIT;
            }
            match recv(&self.socket, self.to.get_mut(got..).unwrap_or_default(), flags) {
                Err(Errno::AGAIN) if self.spin => {
                    std::hint::spin_loop();
                    continue;
                }
                Err(Errno::INTR) => continue,
                came => match came?.1 {
                    0 => return Err(failed("receive", "the other end is gone")),
                    more => got += more,
                },
            }
            if self.packets || got >= self.to.len() {
                break;
            }
        }
        payload::check(number, self.to.len(), self.to.get(..got).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;

    /// A message that comes in two parts, of which it sleeps for each.
    #[test]
    fn what_comes_in_parts_is_slept_for_on_a_set() {
        let (mut theirs, mine) = UnixStream::pair().unwrap();
        let mut message = vec![0; 64];
        payload::make(1, &mut message);
        let set = Some(set_of(&mine.as_fd().try_clone_to_owned().unwrap()).unwrap());
        let mut mine = Ends { set, ..end(mine, false, 64) };
        let sender = std::thread::spawn(move || {
            theirs.write_all(&message[..40]).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(5));
            theirs.write_all(&message[40..]).unwrap();
        });
        assert!(mine.receive(1).is_ok());
        sender.join().unwrap();
        assert!(mine.receive(2).unwrap_err().to_string().contains("gone"));
    }

    /// More than a socket holds, so that it is sent and comes in parts.
    const LONG: usize = 4 << 20;

    fn end(socket: UnixStream, spin: bool, bytes: usize) -> Ends {
        Ends::new(socket.into(), false, spin, bytes)
    }

    #[test]
    fn a_stream_that_ends_inside_a_message_is_an_error() {
        for spin in [false, true] {
            let (mut theirs, mine) = UnixStream::pair().unwrap();
            let mut message = vec![0; 64];
            payload::make(1, &mut message);
            theirs.write_all(&message).unwrap();
            theirs.write_all(&message[..63]).unwrap();
            drop(theirs);
            let mut mine = end(mine, spin, 64);
            assert!(mine.receive(1).is_ok());
            assert!(mine.receive(2).unwrap_err().to_string().contains("gone"));
        }
    }

    #[test]
    fn what_a_stream_takes_in_parts_arrives_whole() {
        for spin in [false, true] {
            let (theirs, mine) = UnixStream::pair().unwrap();
            let sender = std::thread::spawn(move || {
                let mut theirs = end(theirs, spin, LONG);
                theirs.send(1).and_then(|()| theirs.send(2))
            });
            let mut mine = end(mine, spin, LONG);
            assert!(mine.receive(1).and_then(|()| mine.receive(2)).is_ok());
            assert!(sender.join().unwrap().is_ok());
        }
    }
}
