//! One connection between two bridges: records in order, over TCP, encrypted or not.
//!
//! A record is a little-endian word, its kind in the highest byte and its length in the others, and
//! then as many bytes as the length says.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::fd::{AsFd, BorrowedFd};
use rustix::net::sockopt;
use rustls::Connection;

use super::keys::Keys;

/// Bytes of a record's head, and of its body at most.
const HEAD: usize = 4;
pub(super) const LONGEST: usize = 16 << 10;
/// Bytes that wait to be sent before no more are taken in.
const WAITING: usize = 8 * LONGEST;
/// How long a peer may be silent, whose machine may be gone, before it is asked, and how often that
/// is done; and how long what was sent may stay unanswered.
const ASK_AFTER: Duration = Duration::from_secs(1);
const ASKED: u32 = 3;
const UNANSWERED_MS: u32 = 4000;

/// What a record has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// What the end that connected wants: the first, and no other.
    Open = 1,
    /// A packet of the rendezvous.
    Packet = 2,
    /// Bytes of the link's stream.
    Bytes = 3,
    /// The stream's end.
    End = 4,
}

/// Why there is no line any more.
#[derive(Debug)]
pub(super) enum Ended {
    /// The other end closed it, or the system did.
    Gone(io::Error),
    /// The other end has none of the keys that are trusted here, or trusts none of this end's.
    Key,
    /// What came is no record.
    Garbage,
    /// It said nothing for too long.
    Late,
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Ended {
        Ended::Gone(error)
    }
}

impl From<rustls::Error> for Ended {
    fn from(error: rustls::Error) -> Ended {
        use rustls::{AlertDescription as Alert, Error};
        match error {
            Error::InvalidCertificate(_)
            | Error::NoCertificatesPresented
            | Error::PeerIncompatible(_)
            | Error::AlertReceived(
                Alert::UnknownCA
                | Alert::BadCertificate
                | Alert::CertificateRequired
                | Alert::CertificateUnknown
                | Alert::AccessDenied
                | Alert::HandshakeFailure
                | Alert::UnsupportedCertificate
                | Alert::DecryptError,
            ) => Ended::Key,
            _ => Ended::Garbage,
        }
    }
}

/// One end of the connection.
pub(super) struct Line {
    socket: TcpStream,
    tls: Option<Box<Connection>>,
    /// Records to be sent, and how much of them has gone.
    out: Vec<u8>,
    sent: usize,
    /// What came and was not used.
    into: Vec<u8>,
}

impl Line {
    /// Connects to another bridge.
    pub(super) fn connect(
        address: SocketAddr,
        keys: Option<&Keys>,
        until: Instant,
    ) -> Result<Line, Ended> {
        let within = until.saturating_duration_since(Instant::now());
        let socket = TcpStream::connect_timeout(&address, within.max(Duration::from_millis(1)))?;
        Line::agree(socket, keys, true, until)
    }

    /// Takes the connection of another bridge.
    pub(super) fn accept(
        socket: TcpStream,
        keys: Option<&Keys>,
        until: Instant,
    ) -> Result<Line, Ended> {
        Line::agree(socket, keys, false, until)
    }

    fn agree(
        socket: TcpStream,
        keys: Option<&Keys>,
        asked_for: bool,
        until: Instant,
    ) -> Result<Line, Ended> {
        socket.set_nodelay(true)?;
        sockopt::set_socket_keepalive(&socket, true).map_err(io::Error::from)?;
        sockopt::set_tcp_keepidle(&socket, ASK_AFTER).map_err(io::Error::from)?;
        sockopt::set_tcp_keepintvl(&socket, ASK_AFTER).map_err(io::Error::from)?;
        sockopt::set_tcp_keepcnt(&socket, ASKED).map_err(io::Error::from)?;
        sockopt::set_tcp_user_timeout(&socket, UNANSWERED_MS).map_err(io::Error::from)?;
        socket.set_nonblocking(true)?;
        let tls = keys.map(|keys| keys.side(asked_for).map(Box::new)).transpose()?;
        let (out, into) = (Vec::new(), Vec::new());
        let mut line = Line { socket, tls, out, sent: 0, into };
        match line.shake(until) {
            Ok(()) => Ok(line),
            Err(ended) => {
                // The other end is told why, and reads it.
                line.part(until);
                Err(ended)
            }
        }
    }

    fn shake(&mut self, until: Instant) -> Result<(), Ended> {
        let shaking = |line: &Line| line.tls.as_ref().is_some_and(|tls| tls.is_handshaking());
        while shaking(self) {
            self.flush()?;
            if shaking(self) && !self.take()? {
                self.wait(until)?;
            }
        }
        Ok(())
    }

    /// Waits until something can be read, or written if that is wanted.
    pub(super) fn wait(&self, until: Instant) -> Result<(), Ended> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Ended::Late);
        }
        let out = if self.is_waiting() { PollFlags::OUT } else { PollFlags::empty() };
        let limit = Timespec::try_from(left).ok();
        let _ = poll(&mut [PollFd::new(&self.socket, PollFlags::IN | out)], limit.as_ref());
        Ok(())
    }

    /// The next record that comes in time.
    pub(super) fn receive(&mut self, until: Instant) -> Result<(Kind, Vec<u8>), Ended> {
        loop {
            self.flush()?;
            if let Some(record) = self.next()? {
                return Ok(record);
            }
            self.wait(until)?;
        }
    }

    /// Whether no more should be given to it before some of it has gone.
    pub(super) fn is_full(&self) -> bool {
        self.out.len() - self.sent > WAITING
    }

    /// Whether something waits to be sent.
    pub(super) fn is_waiting(&self) -> bool {
        self.sent < self.out.len() || self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// Puts a record behind what waits to be sent: at most [`LONGEST`] bytes.
    pub(super) fn put(&mut self, kind: Kind, body: &[u8]) {
        let head = (kind as u32) << 24 | body.len() as u32;
        self.out.extend_from_slice(&head.to_le_bytes());
        self.out.extend_from_slice(body);
    }

    /// Hands what waits to the system, as far as it takes it.
    pub(super) fn flush(&mut self) -> Result<(), Ended> {
        loop {
            let rest = self.out.get(self.sent..).unwrap_or_default();
            let gone = match &mut self.tls {
                None if rest.is_empty() => break,
                None => self.socket.write(rest),
                Some(tls) if tls.wants_write() => tls.write_tls(&mut self.socket).map(|_| 0),
                Some(_) if rest.is_empty() => break,
                // It takes what goes into its buffer.
                Some(tls) => tls.writer().write(rest),
            };
            match gone {
                Ok(gone) => self.sent += gone,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
    }

    /// Takes some of what has come. False if nothing has.
    fn take(&mut self) -> Result<bool, Ended> {
        let have = self.into.len();
        let came = match &mut self.tls {
            None => {
                self.into.resize(have + HEAD + LONGEST, 0);
                let came = self.socket.read(self.into.get_mut(have..).unwrap_or_default());
                self.into.truncate(have + came.as_ref().copied().unwrap_or(0));
                came
            }
            Some(tls) => tls.read_tls(&mut self.socket),
        };
        match came {
            Ok(0) => Err(Ended::Gone(ErrorKind::UnexpectedEof.into())),
            Ok(_) => {
                if let Some(tls) = &mut self.tls {
                    let state = tls.process_new_packets()?;
                    let came = state.plaintext_bytes_to_read();
                    self.into.resize(have + came, 0);
                    let to = self.into.get_mut(have..).unwrap_or_default();
                    tls.reader().read_exact(to)?;
                }
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// The next record, if it has come whole.
    pub(super) fn next(&mut self) -> Result<Option<(Kind, Vec<u8>)>, Ended> {
        loop {
            if let Some((head, rest)) = self.into.split_first_chunk::<HEAD>() {
                let head = u32::from_le_bytes(*head);
                let len = (head & 0xff_ffff) as usize;
                let kind = match head >> 24 {
                    1 => Kind::Open,
                    2 => Kind::Packet,
                    3 => Kind::Bytes,
                    4 => Kind::End,
                    _ => return Err(Ended::Garbage),
                };
                if len > LONGEST {
                    return Err(Ended::Garbage);
                }
                if let Some(body) = rest.get(..len) {
                    let body = body.to_vec();
                    self.into.drain(..HEAD + len);
                    return Ok(Some((kind, body)));
                }
            }
            if !self.take()? {
                return Ok(None);
            }
        }
    }

    /// Says that nothing more will be sent, and waits until the other end says so too: a socket
    /// that is closed while something comes takes back what it sent.
    pub(super) fn part(&mut self, until: Instant) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
        }
        let _ = self.flush();
        (self.tls, self.out, self.sent) = (None, Vec::new(), 0);
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
        while matches!(self.discard(), Ok(came) if came || self.wait(until).is_ok()) {}
    }

    fn discard(&mut self) -> io::Result<bool> {
        match self.socket.read(&mut [0; HEAD + LONGEST]) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
