//! A Unix stream socket as a medium of frames: each is its length, in a little-endian word, and its
//! bytes.

use std::marker::PhantomData;
use std::sync::Arc;

use narrows::driver::{Frames, NoFrame, NotSent, NotThere};
use narrows::platform::OwnMemory;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{self, Errno};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};

/// The longest frame, without its length.
const MTU: usize = 32 << 10;
/// Bytes of a frame's length.
const PREFIX: usize = 4;
/// Bytes that wait here to be sent before there is no room for another frame.
const WAITING: usize = 2 * MTU;

/// Bytes that are taken from the system and not used yet, at most: two frames.
const ROOM: usize = 2 * (PREFIX + MTU);

/// One end of a stream, for frames that are sent from and received to a `B`.
pub(crate) struct Stream<B> {
    buffer: PhantomData<fn() -> B>,
    socket: Arc<OwnedFd>,
    /// Frames to be sent, and how much of them the system has.
    out: Vec<u8>,
    sent: usize,
    /// Room for what comes: up to `came` it has, and from `taken` on it has not been used.
    into: Box<[u8]>,
    came: usize,
    taken: usize,
    /// The system had less than there was room for: at that time it had no more.
    drained: bool,
    /// Bytes of the frame that is being received.
    frame: Option<usize>,
    /// The peer sends nothing any more, or cannot be understood.
    ended: bool,
}

/// Two ends: one to use, one to send to a peer.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

impl<B> Stream<B> {
    pub(crate) fn new(socket: Arc<OwnedFd>) -> Stream<B> {
        Stream {
            buffer: PhantomData,
            socket,
            // All that it will ever hold: a node that sends makes no memory.
            out: Vec::with_capacity(WAITING + PREFIX + MTU),
            sent: 0,
            into: vec![0; ROOM].into_boxed_slice(),
            came: 0,
            taken: 0,
            drained: false,
            frame: None,
            ended: false,
        }
    }

    /// Whether frames wait here to be sent.
    pub(crate) fn is_waiting(&self) -> bool {
        self.sent < self.out.len()
    }

    /// Hands what waits to the system, as far as it takes it.
    pub(crate) fn flush(&mut self) -> Result<(), NotSent> {
        while let Some(rest) = self.out.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match send(&self.socket, rest, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(sent) => self.sent += sent,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => return Ok(()),
                Err(_) => return Err(NotSent::Gone),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
    }

    /// Whether a frame has come that the system says nothing of any more.
    pub(crate) fn holds_frame(&mut self) -> bool {
        self.complete().is_some()
    }

    /// Takes what the system has, until a frame is complete. False if it has not come yet.
    fn fill(&mut self) -> bool {
        loop {
            if let Some(len) = self.complete() {
                self.frame = Some(len);
                return true;
            }
            if self.ended || !self.take_more() {
                return false;
            }
        }
    }

    /// The length of the frame that begins what came, if all of it has come.
    fn complete(&mut self) -> Option<usize> {
        let came = self.into.get(self.taken..self.came)?;
        let (prefix, rest) = came.split_first_chunk::<PREFIX>()?;
        let len = u32::from_le_bytes(*prefix) as usize;
        // A peer that says so is not understood any more: where the next frame begins is lost.
        self.ended |= len > MTU;
        (len <= rest.len() && !self.ended).then_some(len)
    }

    /// Takes some bytes. False if none are there.
    fn take_more(&mut self) -> bool {
        if self.taken > 0 {
            self.into.copy_within(self.taken..self.came, 0);
            self.came -= self.taken;
            self.taken = 0;
        }
        let to = self.into.get_mut(self.came..).unwrap_or_default();
        match io::retry_on_intr(|| recv(&self.socket, &mut *to, RecvFlags::DONTWAIT)) {
            Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => false,
            Ok((0, _)) | Err(_) => {
                self.ended = true;
                false
            }
            Ok((came, _)) => {
                self.came += came;
                self.drained = self.came < self.into.len();
                true
            }
        }
    }
}

impl<B> AsFd for Stream<B> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl<B: OwnMemory> Frames for Stream<B> {
    type Buffer = B;

    fn mtu(&self) -> usize {
        MTU
    }

    fn try_send(
        &mut self,
        header: &[u8],
        payload: Option<(&B, usize, usize)>,
    ) -> Result<(), NotSent> {
        let bytes = payload.map_or(0, |(_, _, len)| len);
        let len = header.len().checked_add(bytes).filter(|len| *len <= MTU);
        let len = len.ok_or(NotSent::TooLong)?;
        if self.out.len() > WAITING {
            self.flush()?;
            if self.is_waiting() {
                return Err(NotSent::Full);
            }
        }
        let begin = self.out.len();
        self.out.extend_from_slice(&(len as u32).to_le_bytes());
        self.out.extend_from_slice(header);
        if let Some((buffer, at, _)) = payload {
            self.out.resize(begin + PREFIX + len, 0);
            let to = self.out.get_mut(begin + PREFIX + header.len()..).unwrap_or_default();
            if u32::try_from(at).map(|at| buffer.read(at, to)) != Ok(Ok(())) {
                self.out.truncate(begin);
                return Err(NotSent::TooLong);
            }
        }
        Ok(())
    }

    fn try_receive(&mut self, header: &mut [u8]) -> Result<usize, NoFrame> {
        if self.frame.is_none() && !self.fill() {
            return Err(if self.ended { NoFrame::Gone } else { NoFrame::Empty });
        }
        let len = self.frame.unwrap_or(0);
        let begin = self.taken + PREFIX;
        let fits = header.len().min(len);
        let came = self.into.get(begin..begin + fits).unwrap_or_default();
        header.iter_mut().zip(came).for_each(|(to, from)| *to = *from);
        Ok(len)
    }

    fn is_drained(&mut self) -> bool {
        self.drained && !self.holds_frame()
    }

    fn read(&mut self, from: usize, len: usize, buffer: &mut B, at: usize) -> Result<(), NotThere> {
        let begin = self.taken + PREFIX;
        let frame = self.into.get(begin..begin + self.frame.unwrap_or(0)).ok_or(NotThere)?;
        let end = from.checked_add(len).ok_or(NotThere)?;
        let part = frame.get(from..end).ok_or(NotThere)?;
        let at = u32::try_from(at).map_err(|_| NotThere)?;
        buffer.write(at, part).map_err(|_| NotThere)
    }

    fn release(&mut self) {
        if let Some(len) = self.frame.take() {
            self.taken += PREFIX + len;
        }
    }
}
