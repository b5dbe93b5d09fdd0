//! Flows, and what is measured of them.

use std::ffi::{c_char, c_int, c_void};

use narrows::endpoint::Address;

use super::{Out, Phases, name, text, within};
use crate::native::code::{Code, answer, hurried};
use crate::native::node;
use crate::native::table::{self, Over};

/// Opens a flow of calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_open_flow(
    peer: *mut c_void,
    function: *const c_char,
    strategy: *const c_char,
    longest_response: usize,
    timeout: i64,
    flow: *mut *mut c_void,
) -> c_int {
    let open = || {
        // SAFETY: as was promised.
        let (flow, function) = unsafe { (Out::new(flow)?, name(function)?) };
        // SAFETY: as above.
        let strategy = unsafe { text(strategy, Code::Strategy) }?.unwrap_or_default();
        let longest = u32::try_from(longest_response).map_err(|_| Code::Argument)?;
        table::peer(peer as usize, |state, link| {
            let within = within(timeout);
            let (function, strategy) = (node::name(function)?, node::strategy(strategy)?);
            let opened = state.node()?.open_flow(link, &function, strategy, longest, within);
            let opened = hurried(within, opened.map_err(Into::into))?;
            flow.put(state.keep(opened, link)? as *mut c_void);
            Ok(())
        })
    };
    answer(open())
}

/// Opens a flow of messages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_open_flow_to_port(
    peer: *mut c_void,
    port: u16,
    strategy: *const c_char,
    timeout: i64,
    flow: *mut *mut c_void,
) -> c_int {
    let open = || {
        // SAFETY: as was promised.
        let flow = unsafe { Out::new(flow) }?;
        // SAFETY: as above.
        let strategy = unsafe { text(strategy, Code::Strategy) }?.unwrap_or_default();
        table::peer(peer as usize, |state, link| {
            let (within, strategy) = (within(timeout), node::strategy(strategy)?);
            let opened = state.node()?.open_flow_to(Address { link, port }, strategy, within);
            let opened = hurried(within, opened.map_err(Into::into))?;
            flow.put(state.keep(opened, link)? as *mut c_void);
            Ok(())
        })
    };
    answer(open())
}

/// Changes a flow's strategy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_switch(
    flow: *mut c_void,
    strategy: *const c_char,
    timeout: i64,
) -> c_int {
    // SAFETY: as was promised.
    let strategy = unsafe { text(strategy, Code::Strategy) };
    answer(strategy.and_then(|strategy| {
        table::flow(flow as usize, |Over { node, flow, .. }| {
            let within = within(timeout);
            let strategy = node::strategy(strategy.unwrap_or_default())?;
            hurried(within, node.flow(flow.id).switch(strategy, within).map_err(Into::into))
        })
    }))
}

/// Closes a flow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_close_flow(flow: *mut c_void) -> c_int {
    answer(table::close_flow(flow as usize))
}

/// What was measured of a flow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_spans(flow: *mut c_void, phases: *mut Phases) -> c_int {
    // SAFETY: as was promised.
    let out = unsafe { Out::new(phases) };
    answer(out.and_then(|out| {
        table::node_of(flow as usize, |state, place| {
            out.put(state.spans()?.of(place));
            Ok(())
        })
    }))
}
