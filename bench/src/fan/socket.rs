//! Unix sockets that keep messages apart: each message is sent to each subscriber.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketType, accept, bind, connect, listen,
    recv, send, socket, sockopt,
};

use super::{Publish, Read};
use crate::contender::Setup;
use crate::payload;

pub struct Socket;

fn address(setup: &Setup) -> io::Result<SocketAddrUnix> {
    Ok(SocketAddrUnix::new(setup.directory.join("fan"))?)
}

fn made() -> io::Result<OwnedFd> {
    Ok(socket(AddressFamily::UNIX, SocketType::SEQPACKET, None)?)
}

impl super::Contender for Socket {
    fn name(&self) -> &'static str {
        "Unix sockets"
    }
    fn publisher(&self, setup: &Setup, _: u32) -> io::Result<Box<dyn Publish>> {
        let listener = made()?;
        bind(&listener, &address(setup)?)?;
        listen(&listener, 64)?;
        let message = vec![0; setup.bytes];
        Ok(Box::new(Writer { listener, to: Vec::new(), message }))
    }
    fn reader(&self, setup: &Setup, _: u32) -> io::Result<Box<dyn Read>> {
        let socket = made()?;
        connect(&socket, &address(setup)?)?;
        Ok(Box::new(Taker { socket, message: vec![0; setup.bytes] }))
    }
}

struct Writer {
    listener: OwnedFd,
    to: Vec<OwnedFd>,
    message: Vec<u8>,
}

impl Publish for Writer {
    fn attend(&mut self) -> io::Result<()> {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        while poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&now))? > 0 {
            let peer = accept(&self.listener)?;
            // A message goes in one piece or not at all.
            sockopt::set_socket_send_buffer_size_force(&peer, 4 * self.message.len())
                .or_else(|_| sockopt::set_socket_send_buffer_size(&peer, 4 * self.message.len()))?;
            self.to.push(peer);
        }
        Ok(())
    }
    fn publish(&mut self, number: u64) -> io::Result<()> {
        payload::make(number, &mut self.message);
        for peer in &self.to {
            send(peer, &self.message, SendFlags::NOSIGNAL)?;
        }
        Ok(())
    }
}

struct Taker {
    socket: OwnedFd,
    message: Vec<u8>,
}

impl Read for Taker {
    fn read(&mut self, expected: u64) -> io::Result<()> {
        let (_, got) = recv(&self.socket, &mut self.message[..], RecvFlags::empty())?;
        payload::check(expected, self.message.len(), self.message.get(..got).unwrap_or_default())
    }
}
