//! nng over TCP: a pair of sockets of its protocol `pair`, with the threads that it starts itself
//! on its end's core.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

use nng_c::options::{RecvBuf, SendBuf};
use nng_c::{Message, Socket};

use super::{Contender, Counted, EITHER, End, Mode, Over, Port, Role, Setup, failed};
use crate::control::Control;
use crate::payload;

pub struct Nng;

impl Contender for Nng {
    fn name(&self) -> &'static str {
        "nng over TCP"
    }
    fn over(&self) -> Over {
        Over::Tcp
    }
    fn version(&self) -> String {
        let [library, binding] = ["nng-c-sys", "nng-c"].map(crate::versions::of);
        format!("nng {library}, by the crate nng-c {binding}")
    }
    fn copies(&self, _: usize) -> &'static str {
        "3: into a message, into the kernel, out of it"
    }
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str> {
        match mode {
            Mode::Spinning => Ok("receives without blocking; it sends by blocking"),
            Mode::Blocked => Ok("sleeps in nng_recvmsg"),
            Mode::Hybrid => Err(EITHER),
        }
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        let socket = Socket::pair1().map_err(|error| failed("socket", error))?;
        let depth = u16::try_from(setup.depth).map_err(io::Error::other)?;
        socket.set_opt(SendBuf(depth)).map_err(|error| failed("SendBuf", error))?;
        socket.set_opt(RecvBuf(depth)).map_err(|error| failed("RecvBuf", error))?;
        match role {
            Role::Caller => {
                let address = listen(&socket)?;
                control.say(&address)?;
            }
            Role::Callee => {
                let address = control.hear()?;
                let connected = socket.connect(address.as_str().into());
                connected.map_err(|error| failed("connect", error))?;
            }
        }
        let (spin, own) = (setup.mode == Mode::Spinning, vec![0; setup.bytes]);
        Ok(Counted::boxed(Ends { socket, spin, own }))
    }
}

/// Listens where nobody else does: the binding does not say which port the system chose.
fn listen(socket: &Socket) -> io::Result<String> {
    let mut last = None;
    for _ in 0..TRIES {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let address = format!("tcp://{free}");
        // Somebody may have taken it since.
        match socket.listen(address.as_str().into()) {
            Ok(()) => return Ok(address),
            Err(error) => last = Some(failed("listen", error)),
        }
    }
    Err(last.unwrap_or_else(|| failed("listen", "no port is free")))
}

/// Ports that are tried.
const TRIES: u32 = 8;

struct Ends {
    socket: Socket,
    spin: bool,
    own: Vec<u8>,
}

impl Port for Ends {
    fn send(&mut self, number: u64) -> io::Result<()> {
        payload::make(number, &mut self.own);
        let mut message = Message::new().ok_or(io::ErrorKind::OutOfMemory)?;
        message.append(&self.own).map_err(|error| failed("append", error))?;
        self.socket.send_msg(message).map_err(|(_, error)| failed("send", error))
    }

    fn receive(&mut self, number: u64) -> io::Result<()> {
        let came = loop {
            if !self.spin {
                break self.socket.recv_msg().map_err(|error| failed("receive", error))?;
            }
            match self.socket.try_recv_msg().map_err(|error| failed("receive", error))? {
                Some(came) => break came,
                None => std::hint::spin_loop(),
            }
        };
        payload::check(number, self.own.len(), came.body())
    }
}
