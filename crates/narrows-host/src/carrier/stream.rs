//! A Unix stream socket as a medium of frames: each is its length, in a little-endian word, and its
//! bytes.

use narrows::driver::{Frames, NoFrame, NotSent, NotThere};
use narrows::platform::{Memory as _, OwnMemory as _};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{self, Errno};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, recv, send, shutdown,
    socketpair, sockopt,
};

use crate::closing::Foreign;
use crate::memory::Region;

/// The longest frame, without its length.
const MTU: usize = 32 << 10;
/// Bytes of a frame's length.
const PREFIX: usize = 4;
/// Bytes that wait here to be sent before there is no room for another frame.
const WAITING: usize = 2 * MTU;

/// One end of a stream.
pub(crate) struct Stream {
    socket: OwnedFd,
    /// Frames to be sent, and how much of them the system has.
    out: Vec<u8>,
    sent: usize,
    /// What came: from `taken` on it has not been used.
    into: Vec<u8>,
    taken: usize,
    /// Bytes of the frame that is being received.
    frame: Option<usize>,
    /// The peer sends nothing any more, or cannot be understood.
    ended: bool,
}

impl Stream {
    /// Two ends: one to use, one to send to a peer.
    pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)
    }

    /// A descriptor that a peer sent, if it is the end of a Unix stream.
    ///
    /// # Errors
    /// What the system says if it does not say what the descriptor is.
    pub(crate) fn received(descriptor: Foreign) -> io::Result<Option<OwnedFd>> {
        let Some(socket) = descriptor.socket()? else { return Ok(None) };
        let is_stream = sockopt::socket_domain(&socket)? == AddressFamily::UNIX
            && sockopt::socket_type(&socket)? == SocketType::STREAM;
        Ok(is_stream.then_some(socket))
    }

    pub(crate) fn new(socket: OwnedFd) -> Stream {
        let (out, into) = (Vec::new(), Vec::new());
        Stream { socket, out, sent: 0, into, taken: 0, frame: None, ended: false }
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

    /// Says that nothing more will be sent.
    pub(crate) fn part(&self) {
        let _ = shutdown(&self.socket, Shutdown::Write);
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
        let came = self.into.get(self.taken..)?;
        let (prefix, rest) = came.split_first_chunk::<PREFIX>()?;
        let len = u32::from_le_bytes(*prefix) as usize;
        // A peer that says so is not understood any more: where the next frame begins is lost.
        self.ended |= len > MTU;
        (len <= rest.len() && !self.ended).then_some(len)
    }

    /// Takes some bytes. False if none are there.
    fn take_more(&mut self) -> bool {
        self.into.drain(..self.taken);
        self.taken = 0;
        let have = self.into.len();
        self.into.resize(have + PREFIX + MTU, 0);
        let came = loop {
            let to = self.into.get_mut(have..).unwrap_or_default();
            match recv(&self.socket, to, RecvFlags::DONTWAIT) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => break None,
                Ok((0, _)) | Err(_) => {
                    self.ended = true;
                    break None;
                }
                Ok((came, _)) => break Some(came),
            }
        };
        self.into.truncate(have + came.unwrap_or(0));
        came.is_some()
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Frames for Stream {
    type Buffer = Region;

    fn mtu(&self) -> usize {
        MTU
    }

    fn try_send(
        &mut self,
        header: &[u8],
        payload: Option<(&Region, usize, usize)>,
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
        if let Some((region, at, _)) = payload {
            self.out.resize(begin + PREFIX + len, 0);
            let to = self.out.get_mut(begin + PREFIX + header.len()..).unwrap_or_default();
            if u32::try_from(at).map(|at| region.read(at, to)) != Ok(Ok(())) {
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

    fn read(
        &mut self,
        from: usize,
        len: usize,
        buffer: &mut Region,
        at: usize,
    ) -> Result<(), NotThere> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use narrows::conformance::frames::{self, Medium};
    use narrows::memory::Layout;

    struct Streams;

    impl Medium for Streams {
        type End = Stream;

        fn pair(&self) -> [Stream; 2] {
            let (a, b) = Stream::pair().expect("two ends");
            [a, b].map(Stream::new)
        }
        fn buffer(&self, bytes: &[u8]) -> Region {
            let (region, _) = Region::new(&Layout::standard(64).expect("a line")).expect("memory");
            region.write(0, bytes).expect("it is longer");
            region
        }
        fn show(&self, buffer: &Region, to: &mut [u8]) {
            buffer.read(0, to).expect("it is longer");
        }
        fn push(&self, end: &mut Stream) {
            // What ended it, the next frame is told.
            let _ = end.flush();
        }
    }

    #[test]
    fn a_stream_is_a_medium_of_frames() {
        frames::run(&Streams);
    }

    #[test]
    fn what_cannot_be_understood_ends_it_and_what_is_cut_is_no_frame() {
        for bytes in [&[0xff; 8][..], &[1, 0x80, 0, 0, 0], &[5, 0, 0, 0, 1, 2, 3, 4], &[9, 0]] {
            let (a, b) = Stream::pair().expect("two ends");
            send(&a, bytes, SendFlags::empty()).expect("room");
            drop(a);
            assert_eq!(Stream::new(b).try_receive(&mut [0; 4]), Err(NoFrame::Gone), "{bytes:?}");
        }
    }
}
