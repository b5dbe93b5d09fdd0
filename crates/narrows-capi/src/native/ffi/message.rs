//! Messages between ports.

use std::ffi::{c_int, c_void};

use narrows::endpoint::{Address, Message, Received, What};

use super::{Length, Out, at_once, bytes, room, within};
use crate::native::code::{Code, Fault, Outcome, answer, hurried};
use crate::native::node::{State, below};
use crate::native::table::{self, Over};

/// `narrows_origin`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Origin {
    peer: *mut c_void,
    port: u16,
    tag: u16,
    priority: u8,
}

/// The middle priority.
const USUAL: u8 = 4;

/// Sends a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_send(
    peer: *mut c_void,
    from: u16,
    to: u16,
    message: *const c_void,
    length: usize,
    timeout: i64,
) -> c_int {
    // SAFETY: as was promised.
    unsafe { narrows_send_marked(peer, from, to, message, length, USUAL, 0, timeout) }
}

/// Sends a message with a priority and a mark.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_send_marked(
    peer: *mut c_void,
    from: u16,
    to: u16,
    message: *const c_void,
    length: usize,
    priority: u8,
    tag: u16,
    timeout: i64,
) -> c_int {
    // SAFETY: as was promised.
    let message = unsafe { bytes(message, length) };
    answer(message.and_then(|message| {
        if priority > 7 {
            return Err(Code::Argument.into());
        }
        table::peer(peer as usize, |state, link| {
            let (to, within) = (Address { link, port: to }, within(timeout));
            let message = Message::new(message).priority(priority).tag(tag);
            let mut node = state.node()?;
            let sent = match at_once(within) {
                true => node.try_send(from, to, message),
                false => node.send(from, to, message, within),
            };
            Ok(sent?)
        })
    }))
}

/// Sends a message over a flow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_send_over(
    flow: *mut c_void,
    from: u16,
    message: *const c_void,
    length: usize,
    timeout: i64,
) -> c_int {
    // SAFETY: as was promised.
    let message = unsafe { bytes(message, length) };
    answer(message.and_then(|message| {
        table::flow(flow as usize, |Over { node, flow, .. }| {
            let within = within(timeout);
            let sent = match at_once(within) {
                true => node.flow(flow.id).try_send(from, message),
                false => node.flow(flow.id).send(from, message, within),
            };
            Ok(sent?)
        })
    }))
}

/// Says where something came from, and what it means that it is no message.
fn came(state: &mut State, received: &Received, origin: Option<&Out<Origin>>) -> Outcome {
    if let Some(origin) = origin {
        let Received { from, tag, priority, .. } = *received;
        let peer = state.peer_of(from.link)? as *mut c_void;
        origin.put(Origin { peer, port: from.port, tag, priority });
    }
    match received.what {
        What::Message => Ok(()),
        What::PeerGone(reason) => Err(Fault::said(Code::PeerGone, reason)),
        _ => Err(Code::Refused.into()),
    }
}

/// Receives a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_receive(
    node: *mut c_void,
    port: u16,
    buffer: *mut c_void,
    length: *mut usize,
    origin: *mut Origin,
    timeout: i64,
) -> c_int {
    let receive = || {
        // SAFETY: as was promised.
        let length = unsafe { Length::new(length) }?;
        // SAFETY: as above.
        let (buffer, origin) = unsafe { (room(buffer, length.get())?, Out::new(origin).ok()) };
        table::node(node as usize, |state| {
            let within = within(timeout);
            let (received, whole) = hurried(within, state.receive(port, buffer, within))?;
            if !whole {
                return length.short(received.len);
            }
            length.put(received.len);
            came(state, &received, origin.as_ref())
        })
    };
    answer(receive())
}

/// Receives a message where it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_receive_view(
    node: *mut c_void,
    port: u16,
    view: *mut *const c_void,
    length: *mut usize,
    origin: *mut Origin,
    timeout: i64,
) -> c_int {
    let receive = || {
        // SAFETY: as was promised.
        let (view, length, origin) =
            unsafe { (Out::new(view)?, Out::new(length)?, Out::new(origin).ok()) };
        table::node(node as usize, |state| {
            let within = within(timeout);
            let lent = hurried(within, state.next(port, within))?;
            let received = *lent;
            if received.what != What::Message {
                state.node()?.release(lent);
                length.put(0);
                return came(state, &received, origin.as_ref());
            }
            if let Err(fault) = came(state, &received, origin.as_ref()) {
                state.node()?.release(lent);
                return Err(fault);
            }
            let State { node, memory, .. } = state;
            let at = memory.show(&mut *below(node)?, lent)?;
            view.put(at as *const c_void);
            length.put(received.len);
            Ok(())
        })
    };
    answer(receive())
}

/// Gives a message back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_release(node: *mut c_void, view: *const c_void) -> c_int {
    answer(table::node(node as usize, |State { node, memory, .. }| {
        memory.release(&mut *below(node)?, view as usize)
    }))
}
