//! ZeroMQ: a pair of PAIR sockets, over its transport `ipc` or over TCP, each with one input/output
//! thread on its end's core.

use std::io;

use zmq::{Context, DONTWAIT, Message, PAIR, Socket};

use super::{Contender, Counted, EITHER, End, Mode, Over, Port, Role, Setup, failed};
use crate::control::Control;
use crate::payload;

pub struct ZeroMq {
    name: &'static str,
    over: Over,
}

pub const IPC: ZeroMq = ZeroMq { name: "ZeroMQ", over: Over::Machine };
pub const TCP: ZeroMq = ZeroMq { name: "ZeroMQ over TCP", over: Over::Tcp };

impl Contender for ZeroMq {
    fn name(&self) -> &'static str {
        self.name
    }
    fn over(&self) -> Over {
        self.over
    }
    fn version(&self) -> String {
        let (major, minor, patch) = zmq::version();
        let binding = crate::versions::of("zmq");
        format!("libzmq {major}.{minor}.{patch}, by the crate zmq {binding}")
    }
    fn copies(&self, _: usize) -> &'static str {
        "2 or more: into a socket, out of it; batches of small ones"
    }
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str> {
        match mode {
            Mode::Spinning => Ok("receives without blocking; its own threads sleep"),
            Mode::Blocked => Ok("sleeps in recv"),
            Mode::Hybrid => Err(EITHER),
        }
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        let context = Context::new();
        let socket = context.socket(PAIR).map_err(|error| failed("socket", error))?;
        let depth = setup.depth as i32;
        socket.set_sndhwm(depth).map_err(|error| failed("set_sndhwm", error))?;
        socket.set_rcvhwm(depth).map_err(|error| failed("set_rcvhwm", error))?;
        match role {
            Role::Caller => {
                let address = match self.over {
                    Over::Tcp => "tcp://127.0.0.1:*".to_owned(),
                    _ => format!("ipc://{}", setup.directory.join("zmq").display()),
                };
                socket.bind(&address).map_err(|error| failed("bind", error))?;
                let bound = socket.get_last_endpoint();
                let bound = bound.map_err(|error| failed("get_last_endpoint", error))?;
                control.say(&bound.map_err(|_| failed("bind", "its address is no text"))?)?;
            }
            Role::Callee => {
                let address = control.hear()?;
                socket.connect(&address).map_err(|error| failed("connect", error))?;
            }
        }
        let flags = if setup.mode == Mode::Spinning { DONTWAIT } else { 0 };
        let (bytes, came) = (setup.bytes, Message::new());
        Ok(Counted::boxed(Ends { socket, _context: context, bytes, flags, came }))
    }
}

struct Ends {
    socket: Socket,
    // Behind the socket: it waits until that is closed.
    _context: Context,
    bytes: usize,
    flags: i32,
    came: Message,
}

impl Port for Ends {
    fn send(&mut self, number: u64) -> io::Result<()> {
        let mut message = Message::with_size(self.bytes);
        payload::make(number, &mut message);
        if self.flags == 0 {
            return self.socket.send(message, 0).map_err(|error| failed("send", error));
        }
        // A message is given away even when there is no room for it, so room comes first.
        loop {
            let events = self.socket.get_events().map_err(|error| failed("events", error))?;
            if events.contains(zmq::POLLOUT) {
                return self.socket.send(message, 0).map_err(|error| failed("send", error));
            }
            std::hint::spin_loop();
        }
    }
    fn receive(&mut self, number: u64) -> io::Result<()> {
        loop {
            match self.socket.recv(&mut self.came, self.flags) {
                Ok(()) => return payload::check(number, self.bytes, &self.came),
                Err(zmq::Error::EAGAIN) if self.flags != 0 => std::hint::spin_loop(),
                Err(zmq::Error::EINTR) => {}
                Err(error) => return Err(failed("receive", error)),
            }
        }
    }
}
