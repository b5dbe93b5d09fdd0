//! A process that comes to a node's socket without this library.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::path::Path;

use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, recv, recvmsg,
    sendmsg, socket_with,
};

pub fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

pub fn socket() -> OwnedFd {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap()
}

/// Connects to the node `a`, if it can take one more.
pub fn try_stranger(directory: &Path) -> Result<OwnedFd, Errno> {
    let socket = socket();
    let address = SocketAddrUnix::new(directory.join("default/a")).unwrap();
    rustix::net::connect(&socket, &address)?;
    Ok(socket)
}

pub fn stranger(directory: &Path) -> OwnedFd {
    try_stranger(directory).unwrap()
}

pub fn try_send(socket: &OwnedFd, packet: &[u8], with: &[BorrowedFd<'_>]) -> Result<usize, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !with.is_empty() {
        assert!(control.push(SendAncillaryMessage::ScmRights(with)));
    }
    sendmsg(socket, &[IoSlice::new(packet)], &mut control, SendFlags::NOSIGNAL)
}

pub fn send(socket: &OwnedFd, packet: &[u8], with: &[BorrowedFd<'_>]) {
    try_send(socket, packet, with).unwrap();
}

/// The descriptors that come with a packet.
pub fn descriptors_with_a_packet(socket: &OwnedFd) -> Vec<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut packet = [0; 128];
    let parts = &mut [IoSliceMut::new(&mut packet)];
    recvmsg(socket, parts, &mut control, RecvFlags::empty()).unwrap();
    let rights = control.drain().filter_map(|part| match part {
        RecvAncillaryMessage::ScmRights(received) => Some(received),
        _ => None,
    });
    rights.flatten().collect()
}

/// The answer's kind and code, or nothing if it was closed without one.
pub fn answer(socket: &OwnedFd) -> Option<(u32, u32)> {
    let mut packet = [0; 64];
    let len = loop {
        match recv(socket, &mut packet[..], RecvFlags::empty()) {
            Ok((_, len)) => break len,
            // What was said to whom had left already: the last words come after this.
            Err(Errno::CONNRESET) => {}
            Err(error) => panic!("{error}"),
        }
    };
    let word = |at| u32::from_le_bytes(packet[at..at + 4].try_into().unwrap());
    (len > 0).then(|| (word(8), word(12)))
}

pub const REFUSED: u32 = 2;
pub const FORBIDDEN: u32 = 1;
pub const INCOMPATIBLE: u32 = 2;
pub const MALFORMED: u32 = 3;
pub const AGAIN: u32 = 4;

/// The greeting of a node called mallory, for a region of this size.
pub fn greeting(size: u32) -> Vec<u8> {
    let mut packet = Vec::new();
    for value in [0x4e52_5748_u32, 1, 1, narrows_host::LINE, 7, 0, size, 7] {
        packet.extend(value.to_le_bytes());
    }
    packet.extend(b"mallory");
    packet.resize(64, 0);
    packet
}

pub fn seals() -> SealFlags {
    SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE | SealFlags::SEAL
}

/// A memory file that begins with these bytes.
pub fn memory(begin: &[u8], size: u64, seals: SealFlags) -> OwnedFd {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = memfd_create("test", flags).unwrap();
    ftruncate(&memory, size).unwrap();
    let mut written = 0;
    while written < begin.len() {
        written += rustix::io::pwrite(&memory, &begin[written..], written as u64).unwrap();
    }
    fcntl_add_seals(&memory, seals).unwrap();
    memory
}
