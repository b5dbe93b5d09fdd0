//! ipc-channel: channels of bytes between processes.

use std::io;

use ipc_channel::TryRecvError;
use ipc_channel::ipc::{
    IpcBytesReceiver, IpcBytesSender, IpcOneShotServer, IpcSender, bytes_channel,
};

use super::{Contender, Counted, EITHER, End, Mode, Port, Role, Setup, failed};
use crate::control::Control;
use crate::payload;

pub struct IpcChannel;

/// What the callee hands over: where to send to it, and where it will send from.
type Hello = (IpcBytesSender, IpcBytesReceiver);

impl Contender for IpcChannel {
    fn name(&self) -> &'static str {
        "ipc-channel"
    }
    fn version(&self) -> String {
        crate::versions::of("ipc-channel")
    }
    fn copies(&self, _: usize) -> &'static str {
        "2: into the kernel, out of it"
    }
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str> {
        match mode {
            Mode::Spinning => Ok("try_recv; it sends by blocking"),
            Mode::Blocked => Ok("sleeps in recv"),
            Mode::Hybrid => Err(EITHER),
        }
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        let (out, into) = match role {
            Role::Caller => {
                let (server, name) = IpcOneShotServer::<Hello>::new()?;
                control.say(&name)?;
                let accepted = server.accept().map_err(|error| failed("accept", error))?;
                accepted.1
            }
            Role::Callee => {
                let name = control.hear()?;
                let caller = IpcSender::<Hello>::connect(name)?;
                let ((there, theirs), (back, mine)) = (bytes_channel()?, bytes_channel()?);
                caller.send((there, mine)).map_err(|error| failed("hand over", error))?;
                (back, theirs)
            }
        };
        let from = vec![0; setup.bytes];
        Ok(Counted::boxed(Ends { out, into, from, spin: setup.mode == Mode::Spinning }))
    }
}

struct Ends {
    out: IpcBytesSender,
    into: IpcBytesReceiver,
    from: Vec<u8>,
    spin: bool,
}

impl Port for Ends {
    fn send(&mut self, number: u64) -> io::Result<()> {
        payload::make(number, &mut self.from);
        self.out.send(&self.from)
    }
    fn receive(&mut self, number: u64) -> io::Result<()> {
        let message = if self.spin {
            loop {
                match self.into.try_recv() {
                    Err(TryRecvError::Empty) => std::hint::spin_loop(),
                    received => break received.map_err(|error| failed("receive", error))?,
                }
            }
        } else {
            self.into.recv().map_err(|error| failed("receive", error))?
        };
        payload::check(number, self.from.len(), &message)
    }
}
