//! What the two ends say to each other beside what is measured: a stream socket, over which they
//! agree when they open, hand over descriptors, and learn what to do next.

use std::any::Any;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// What the callee is to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Messages before each answer; none: it is to leave.
    pub count: u64,
    /// Answers.
    pub times: u64,
}

type Thing = Box<dyn Any + Send>;

/// One end's side of the conversation.
pub struct Control {
    stream: UnixStream,
    /// Between threads: what cannot go over a socket.
    things: Option<(Sender<Thing>, Receiver<Thing>)>,
}

impl Control {
    /// Over a socket to another process.
    pub fn new(stream: UnixStream) -> Control {
        Control { stream, things: None }
    }

    /// Both sides of a conversation between two threads.
    pub fn threads() -> io::Result<(Control, Control)> {
        let (mine, theirs) = UnixStream::pair()?;
        let ((a, b), (c, d)) = (channel(), channel());
        let first = Control { stream: mine, things: Some((a, d)) };
        Ok((first, Control { stream: theirs, things: Some((c, b)) }))
    }

    /// Hands an object to the other thread.
    pub fn give<T: Send + 'static>(&mut self, thing: T) -> io::Result<()> {
        let (to, _) = self.things.as_ref().ok_or_else(no_threads)?;
        to.send(Box::new(thing)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Takes an object that the other thread hands over.
    pub fn take<T: 'static>(&mut self) -> io::Result<T> {
        let (_, from) = self.things.as_ref().ok_or_else(no_threads)?;
        let thing = from.recv().map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        thing.downcast().map(|thing| *thing).map_err(|_| io::ErrorKind::InvalidData.into())
    }

    /// Hands descriptors to the other end.
    pub fn give_fds<const N: usize>(&mut self, fds: [OwnedFd; N]) -> io::Result<()> {
        let borrowed = std::array::from_fn::<_, N, _>(|i| fds[i].as_fd());
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !ancillary.push(SendAncillaryMessage::ScmRights(&borrowed)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        sendmsg(&self.stream, &[IoSlice::new(&[0])], &mut ancillary, SendFlags::empty())?;
        Ok(())
    }

    /// Takes descriptors that the other end hands over.
    pub fn take_fds<const N: usize>(&mut self) -> io::Result<[OwnedFd; N]> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let mut buffers = [IoSliceMut::new(&mut byte)];
        recvmsg(&self.stream, &mut buffers, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
        let mut fds = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                fds.extend(rights);
            }
        }
        fds.try_into().map_err(|_| io::ErrorKind::UnexpectedEof.into())
    }

    /// Says that a step is done.
    pub fn done(&mut self) -> io::Result<()> {
        self.say("")
    }

    /// Waits until the other end has done its step.
    pub fn wait_done(&mut self) -> io::Result<()> {
        self.hear().map(|_| ())
    }

    /// Whether the other end has said something that was not heard yet.
    pub fn said(&self) -> io::Result<bool> {
        let mut set = [PollFd::new(&self.stream, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        Ok(poll(&mut set, Some(&now))? > 0)
    }

    /// Says a short text; one that begins with [`FAILED`] ends the other end's wait with an error.
    pub fn say(&mut self, text: &str) -> io::Result<()> {
        let text = text.as_bytes();
        let text = &text[..text.len().min(usize::from(u16::MAX))];
        self.stream.write_all(&(text.len() as u16).to_le_bytes())?;
        self.stream.write_all(text)
    }

    /// Hears a short text.
    pub fn hear(&mut self) -> io::Result<String> {
        let mut length = [0; 2];
        self.stream.read_exact(&mut length)?;
        let mut text = vec![0; usize::from(u16::from_le_bytes(length))];
        self.stream.read_exact(&mut text)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        match text.strip_prefix(FAILED) {
            Some(error) => Err(io::Error::other(error.to_owned())),
            None => Ok(text),
        }
    }

    /// Tells the callee what to do.
    pub fn order(&mut self, order: Order) -> io::Result<()> {
        let [count, times] = [order.count, order.times].map(u64::to_le_bytes);
        self.stream.write_all(&[count, times].concat())
    }

    /// Waits to be told what to do; that the caller is gone means to leave.
    pub fn next_order(&mut self) -> io::Result<Order> {
        let mut words = [0; 16];
        match self.stream.read_exact(&mut words) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Ok(Order { count: 0, times: 0 });
            }
            read => read?,
        }
        let both = u128::from_le_bytes(words);
        Ok(Order { count: both as u64, times: (both >> 64) as u64 })
    }
}

/// What a text that tells of a failure begins with.
pub const FAILED: &str = "failed: ";

fn no_threads() -> io::Error {
    io::Error::other("objects are handed over between threads only")
}
