//! Two message queues of POSIX.

use std::ffi::CString;
use std::io;

use nix::errno::Errno;
use nix::mqueue::{
    MQ_OFlag, MqAttr, MqdT, mq_attr_member_t, mq_close, mq_open, mq_receive, mq_send, mq_unlink,
};
use nix::sys::stat::Mode as Permissions;

use super::{Contender, Counted, EITHER, End, Measure, Mode, Port, Role, Setup, failed};
use crate::control::Control;
use crate::payload;

/// Messages of a queue: what any user may ask for by default.
const DEPTH: usize = 10;
/// Bytes of a queue; two of them are within what a user may have by default.
const ROOM: usize = 384 << 10;

pub struct MessageQueue;

impl Contender for MessageQueue {
    fn name(&self) -> &'static str {
        "POSIX queue"
    }
    fn version(&self) -> String {
        "the kernel's; up to 10 messages".into()
    }
    fn copies(&self, _: usize) -> &'static str {
        "2: into the kernel, out of it"
    }
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str> {
        match mode {
            Mode::Spinning => Ok("receives without blocking"),
            Mode::Blocked => Ok("sleeps in mq_receive"),
            Mode::Hybrid => Err(EITHER),
        }
    }
    fn offers(&self, _: Measure, bytes: usize) -> Result<(), &'static str> {
        let limit = std::fs::read_to_string("/proc/sys/fs/mqueue/msgsize_max");
        let limit = limit.ok().and_then(|text| text.trim().parse::<usize>().ok());
        if limit.is_some_and(|limit| bytes > limit) {
            return Err("longer than fs.mqueue.msgsize_max");
        }
        Ok(())
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        let queue = |way: &str, receive: bool| {
            let name = CString::new(format!("/{}-{way}", setup.tag)).unwrap_or_default();
            open(&name, setup, receive)
        };
        let ends = match role {
            Role::Caller => {
                let (out, into) = (queue("there", false)?, queue("back", true)?);
                control.done()?;
                control.wait_done()?;
                for way in ["there", "back"] {
                    let name = CString::new(format!("/{}-{way}", setup.tag)).unwrap_or_default();
                    mq_unlink(name.as_c_str())?;
                }
                Ends::new(out, into, setup.bytes)
            }
            Role::Callee => {
                control.wait_done()?;
                let ends = Ends::new(queue("back", false)?, queue("there", true)?, setup.bytes);
                control.done()?;
                ends
            }
        };
        Ok(Counted::boxed(ends))
    }
}

fn open(name: &CString, setup: &Setup, receive: bool) -> io::Result<MqdT> {
    let messages = (ROOM / setup.bytes).clamp(1, DEPTH) as mq_attr_member_t;
    let attributes = MqAttr::new(0, messages, setup.bytes as mq_attr_member_t, 0);
    let mut flags = MQ_OFlag::O_CREAT | MQ_OFlag::O_CLOEXEC;
    flags |= if receive { MQ_OFlag::O_RDONLY } else { MQ_OFlag::O_WRONLY };
    flags.set(MQ_OFlag::O_NONBLOCK, setup.mode == Mode::Spinning);
    let access = Permissions::S_IRUSR | Permissions::S_IWUSR;
    mq_open(name.as_c_str(), flags, access, Some(&attributes))
        .map_err(|error| failed("open a message queue (see RLIMIT_MSGQUEUE and fs.mqueue)", error))
}

struct Ends {
    out: Option<MqdT>,
    into: Option<MqdT>,
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Ends {
    fn new(out: MqdT, into: MqdT, bytes: usize) -> Ends {
        Ends { out: Some(out), into: Some(into), from: vec![0; bytes], to: vec![0; bytes] }
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        for queue in [self.out.take(), self.into.take()].into_iter().flatten() {
            let _ = mq_close(queue);
        }
    }
}

impl Port for Ends {
    fn send(&mut self, number: u64) -> io::Result<()> {
        payload::make(number, &mut self.from);
        let Some(queue) = &self.out else { return Err(io::ErrorKind::NotConnected.into()) };
        loop {
            match mq_send(queue, &self.from, 0) {
                Err(Errno::EAGAIN) => std::hint::spin_loop(),
                sent => break sent.map_err(Into::into),
            }
        }
    }
    fn receive(&mut self, number: u64) -> io::Result<()> {
        let Some(queue) = &self.into else { return Err(io::ErrorKind::NotConnected.into()) };
        let mut priority = 0;
        let got = loop {
            match mq_receive(queue, &mut self.to, &mut priority) {
                Err(Errno::EAGAIN) => std::hint::spin_loop(),
                received => break received?,
            }
        };
        payload::check(number, self.to.len(), self.to.get(..got).unwrap_or_default())
    }
}
