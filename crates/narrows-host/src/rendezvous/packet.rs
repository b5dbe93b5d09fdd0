//! The packets of the rendezvous: two greetings that carry descriptors, a refusal, a farewell.
//!
//! Everything received here is untrusted: the length is exact, every word is checked, and a
//! descriptor that nobody wants is closed, by whom that can keep waiting.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;

use crate::closing::Foreign;
use narrows::link::Name;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::{self, Errno};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, send,
    sendmsg, socket_with,
};

const MAGIC: u32 = 0x4e52_5748;
const VERSION: u32 = 1;
const HELLO: u32 = 1;
const REFUSE: u32 = 2;
const BYE: u32 = 3;
const HELLO_BYTES: usize = 64;
const SHORT_BYTES: usize = 16;
/// Where a greeting says what carries the link: behind the longest name.
const CARRIER: usize = 63;
/// Descriptors that the system lets travel with one packet. There is room for all of them, because
/// those that there is none for the kernel closes at once, on this thread.
const MOST: usize = 253;

/// How a node presents itself for one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub name: Name,
    pub incarnation: u64,
    pub line: u32,
    pub size: u32,
    /// Whether frames carry the link: the first descriptor is then the end of a stream.
    pub framed: bool,
}

/// Why a node does not answer a greeting with its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The user is not allowed here.
    Forbidden = 1,
    /// Another version, line size or layout.
    Incompatible = 2,
    /// The greeting makes no sense.
    Malformed = 3,
    /// Not now: there is a link, or the other direction wins, or descriptors ran out.
    Again = 4,
    /// Greet again, with a stream: frames alone reach the node of this name.
    Framed = 5,
}

impl Refusal {
    fn of(code: Option<u32>) -> Option<Refusal> {
        match code? {
            1 => Some(Refusal::Forbidden),
            2 => Some(Refusal::Incompatible),
            3 => Some(Refusal::Malformed),
            4 => Some(Refusal::Again),
            5 => Some(Refusal::Framed),
            _ => None,
        }
    }
}

/// Why a node ends a link in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Farewell {
    /// It was closed.
    Closed = 0,
    /// There is no place for it.
    Full = 1,
}

/// What a packet says, without the descriptors that go with a greeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// A greeting.
    Hello(Hello),
    /// A refusal; none if its code is unknown.
    Refused(Option<Refusal>),
    /// The end of a link.
    Bye(Farewell),
}

impl Said {
    #[cfg(feature = "bridge")]
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            Said::Hello(hello) => hello.encode().into(),
            Said::Refused(why) => short(REFUSE, why.map_or(0, |why| why as u32)).into(),
            Said::Bye(why) => short(BYE, *why as u32).into(),
        }
    }

    /// What an untrusted packet says.
    ///
    /// # Errors
    /// What it deserves to be answered.
    pub(crate) fn decode(packet: &[u8]) -> Result<Said, Refusal> {
        if word(packet, 0) != Some(MAGIC) {
            return Err(Refusal::Malformed);
        }
        if !word(packet, 4).is_some_and(speaks_ours) {
            return Err(Refusal::Incompatible);
        }
        let short = packet.len() == SHORT_BYTES;
        match word(packet, 8) {
            Some(HELLO) if packet.len() == HELLO_BYTES => {
                Hello::decode(packet).map(Said::Hello).ok_or(Refusal::Malformed)
            }
            Some(REFUSE) if short => Ok(Said::Refused(Refusal::of(word(packet, 12)))),
            Some(BYE) if short => Ok(Said::Bye(match word(packet, 12) {
                Some(1) => Farewell::Full,
                _ => Farewell::Closed,
            })),
            _ => Err(Refusal::Malformed),
        }
    }
}

/// What came over a socket.
#[derive(Debug)]
pub(crate) enum Received {
    /// Nothing yet.
    Nothing,
    /// The peer's end is closed.
    End,
    /// A greeting with its region and its doorbell.
    Hello(Hello, Foreign, Foreign),
    /// A refusal; none if its code is unknown.
    Refused(Option<Refusal>),
    /// The end of a link.
    Bye(Farewell),
    /// What deserves this refusal.
    Bad(Refusal),
}

fn word(packet: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(packet.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

impl Hello {
    fn encode(&self) -> [u8; HELLO_BYTES] {
        let mut packet = [0; HELLO_BYTES];
        let text = self.name.as_str().as_bytes();
        let mut rest = packet.as_mut_slice();
        let mut put = |bytes: &[u8]| {
            if let Some((head, tail)) = std::mem::take(&mut rest).split_at_mut_checked(bytes.len())
            {
                head.copy_from_slice(bytes);
                rest = tail;
            }
        };
        for value in [MAGIC, VERSION, HELLO, self.line] {
            put(&value.to_le_bytes());
        }
        put(&self.incarnation.to_le_bytes());
        put(&self.size.to_le_bytes());
        put(&(text.len() as u32).to_le_bytes());
        put(text);
        if let Some(carrier) = packet.get_mut(CARRIER) {
            *carrier = self.framed.into();
        }
        packet
    }

    fn decode(packet: &[u8]) -> Option<Hello> {
        let len = word(packet, 28)? as usize;
        let text = packet.get(32..32_usize.checked_add(len)?)?;
        let incarnation = packet.get(16..24)?.try_into().ok()?;
        Some(Hello {
            name: std::str::from_utf8(text).ok()?.parse().ok()?,
            incarnation: u64::from_le_bytes(incarnation),
            line: word(packet, 12)?,
            size: word(packet, 24)?,
            framed: match *packet.get(CARRIER)? {
                0 => false,
                1 => true,
                _ => return None,
            },
        })
    }
}

/// Whether a peer that says this of its versions speaks this one. The low half is the oldest that
/// it speaks, the high half the newest; zero there if it speaks one only. Two that have greeted
/// each other go on with the newest that both speak.
fn speaks_ours(versions: u32) -> bool {
    let (oldest, newest) = (versions & 0xffff, versions >> 16);
    (oldest..=newest.max(oldest)).contains(&VERSION)
}

/// Sends a greeting with a region and a doorbell.
pub(crate) fn greet(
    socket: BorrowedFd<'_>,
    hello: &Hello,
    memory: BorrowedFd<'_>,
    bell: BorrowedFd<'_>,
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [memory, bell];
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(socket, &[IoSlice::new(&hello.encode())], &mut control, flags).map(drop)
}

fn short(kind: u32, code: u32) -> [u8; SHORT_BYTES] {
    let mut packet = [0; SHORT_BYTES];
    for (to, value) in packet.chunks_exact_mut(4).zip([MAGIC, VERSION, kind, code]) {
        to.copy_from_slice(&value.to_le_bytes());
    }
    packet
}

/// Refuses a greeting. Whether that arrives does not matter.
pub(crate) fn refuse(socket: BorrowedFd<'_>, why: Refusal) {
    let _ = send(socket, &short(REFUSE, why as u32), SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
}

/// Says that a link ends in order. Whether that arrives does not matter: the end will.
pub(crate) fn part(socket: BorrowedFd<'_>, why: Farewell) {
    let _ = send(socket, &short(BYE, why as u32), SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
}

/// The next packet of a socket, without waiting.
pub(crate) fn receive(socket: BorrowedFd<'_>) -> Received {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut packet = [0; HELLO_BYTES];
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let mut attempts = 0;
    let message = loop {
        attempts += 1;
        match recvmsg(socket, &mut [IoSliceMut::new(&mut packet)], &mut control, flags) {
            Ok(message) => break message,
            Err(Errno::AGAIN) => return Received::Nothing,
            // A peer that closed with a packet of ours unread: its own last words come after this.
            Err(Errno::INTR | Errno::CONNRESET) if attempts < 4 => {}
            // It stays there until there is memory for it.
            Err(Errno::INTR | Errno::NOMEM | Errno::NOBUFS) => return Received::Nothing,
            Err(_) => return Received::End,
        }
    };
    // Taken out at once, so that they are closed on every way out of here.
    let mut descriptors = Vec::new();
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = part {
            descriptors.extend(received.map(Foreign::new));
        }
    }
    if message.bytes == 0 {
        return Received::End;
    }
    let Some(packet) = packet.get(..message.bytes) else {
        return Received::Bad(Refusal::Malformed);
    };
    let said = match Said::decode(packet) {
        Ok(said) => said,
        Err(why) => return Received::Bad(why),
    };
    if message.flags.contains(ReturnFlags::TRUNC) {
        return Received::Bad(Refusal::Malformed);
    }
    if message.flags.contains(ReturnFlags::CTRUNC) {
        // No descriptor was left here to receive them with.
        return Received::Bad(Refusal::Again);
    }
    let bare = descriptors.is_empty();
    match said {
        Said::Hello(hello) => match <[Foreign; 2]>::try_from(descriptors) {
            Ok([memory, bell]) => Received::Hello(hello, memory, bell),
            Err(_) => Received::Bad(Refusal::Malformed),
        },
        Said::Refused(why) if bare => Received::Refused(why),
        Said::Bye(why) if bare => Received::Bye(why),
        Said::Refused(_) | Said::Bye(_) => Received::Bad(Refusal::Malformed),
    }
}

/// The socket that packets travel on.
pub(crate) fn socket() -> io::Result<OwnedFd> {
    of_kind(SocketType::SEQPACKET)
}

/// A socket that finds out whether a name is anybody's. It is of another kind than a node's, so no
/// node takes its connection: where thousands come and go, each would wake all others otherwise.
pub(crate) fn probe() -> io::Result<OwnedFd> {
    of_kind(SocketType::DGRAM)
}

fn of_kind(kind: SocketType) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, kind, flags, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsFd as _;

    #[test]
    fn a_peer_that_speaks_this_version_among_others_is_heard() {
        use rustix::net::socketpair;
        let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
        let (a, b) = socketpair(AddressFamily::UNIX, kind, flags, None).unwrap();
        let heard = |versions: u32| {
            let mut packet = short(BYE, 0);
            packet[4..8].copy_from_slice(&versions.to_le_bytes());
            send(&a, &packet, SendFlags::empty()).unwrap();
            matches!(receive(b.as_fd()), Received::Bye(Farewell::Closed))
        };
        for (versions, is_heard) in [
            (1, true),
            (0x0001_0001, true),
            (0x0002_0001, true),
            (0x0009_0000, true),
            (2, false),
            (0x0003_0002, false),
            (0, false),
        ] {
            assert_eq!(heard(versions), is_heard, "{versions:#x}");
        }
    }

    #[test]
    fn a_greeting_survives_its_packet_and_a_cut_one_is_none() {
        let name = "a-name-of-thirty-one-characters".parse().unwrap();
        let hello =
            Hello { name, incarnation: u64::MAX - 1, line: 64, size: 1 << 20, framed: true };
        let packet = hello.encode();
        assert_eq!(Hello::decode(&packet), Some(hello));
        for cut in 0..packet.len() - 1 {
            assert_eq!(Hello::decode(&packet[..cut]), None, "{cut} bytes");
        }
    }
}
