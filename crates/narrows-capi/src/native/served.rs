//! Functions that C offers, as the stack calls them.

use std::ffi::{c_int, c_void};

use narrows::endpoint::{Failure, Sink, Source};

/// `narrows_function`. The program that offers one promises that it is for the data given with it.
pub type Body = extern "C" fn(*mut c_void, *const c_void, usize, *mut c_void, *mut usize) -> c_int;

/// A function of C's, and what it is given.
pub(super) struct Offered {
    body: Body,
    user: usize,
    request: Vec<u8>,
    response: Vec<u8>,
}

impl Offered {
    pub fn new(body: Body, user: usize) -> Offered {
        Offered { body, user, request: Vec::new(), response: Vec::new() }
    }

    /// Calls it: C reads and writes memory of this library's alone.
    pub fn run(&mut self, request: &dyn Source, response: &mut dyn Sink) -> Result<(), Failure> {
        let (len, room) = (request.len(), response.capacity());
        // One byte at least, for an address that is not null.
        grow(&mut self.request, len.max(1))?;
        grow(&mut self.response, room.max(1))?;
        request.read(0, self.request.get_mut(..len).ok_or(Failure::NoRoom)?)?;
        // What the function leaves out must not show what another peer was sent.
        self.response.get_mut(..room).ok_or(Failure::NoRoom)?.fill(0);
        let mut made = room;
        let user = self.user as *mut c_void;
        let from = self.request.as_ptr().cast();
        let to = self.response.as_mut_ptr().cast();
        if (self.body)(user, from, len, to, &raw mut made) != 0 {
            return Err(Failure::Refused);
        }
        let made = self.response.get(..made).filter(|made| made.len() <= room);
        response.write(0, made.ok_or(Failure::TooLong)?)
    }
}

/// Makes a buffer at least `len` bytes long.
fn grow(buffer: &mut Vec<u8>, len: usize) -> Result<(), Failure> {
    if buffer.len() < len {
        buffer.try_reserve(len - buffer.len()).map_err(|_| Failure::NoRoom)?;
        buffer.resize(len, 0);
    }
    Ok(())
}
