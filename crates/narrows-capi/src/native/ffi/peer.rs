//! Finding peers, and what is asked of one.

use std::ffi::{c_char, c_int, c_void};

use super::{Out, name, name_room, put_name, within};
use crate::native::code::{answer, hurried};
use crate::native::node;
use crate::native::table;

/// Looks for a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_hunt(
    node: *mut c_void,
    called: *const c_char,
    timeout: i64,
    peer: *mut *mut c_void,
) -> c_int {
    let hunt = || {
        // SAFETY: as was promised.
        let (peer, called) = unsafe { (Out::new(peer)?, name(called)?) };
        table::node(node as usize, |state| {
            let within = within(timeout);
            let found = state.hunt(node::name(called)?, within);
            peer.put(hurried(within, found)? as *mut c_void);
            Ok(())
        })
    };
    answer(hunt())
}

/// Whether a link is up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_check(peer: *mut c_void) -> c_int {
    answer(table::peer(peer as usize, |state, link| {
        let mut node = state.node()?;
        node.poll();
        Ok(node.link(link).check()?)
    }))
}

/// A peer's name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_peer_name(peer: *mut c_void, to: *mut c_char) -> c_int {
    // SAFETY: there is room for a name, as the declaration says.
    let to = unsafe { name_room(to) };
    answer(to.and_then(|to| {
        table::peer(peer as usize, |state, link| {
            let (name, _) = state.node()?.link(link).peer()?;
            put_name(to, name.as_str());
            Ok(())
        })
    }))
}

/// Has a port receive a peer's end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_attach(peer: *mut c_void, port: u16) -> c_int {
    answer(table::peer(peer as usize, |state, link| Ok(state.node()?.link(link).attach(port)?)))
}

/// Ends a link.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_part(peer: *mut c_void) -> c_int {
    answer(table::part(peer as usize))
}
