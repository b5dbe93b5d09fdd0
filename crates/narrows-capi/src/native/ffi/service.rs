//! Services: functions with types, found without knowing their node.

use std::ffi::{CString, c_char, c_int, c_void};

use narrows_services::Signature;

use super::{Body, Out, name, text, within};
use crate::native::code::{Code, Outcome, answer, hurried};
use crate::native::node;
use crate::native::served::Offered;
use crate::native::table;

/// `narrows_seen`.
pub type Seen = extern "C" fn(*mut c_void, *const c_char, *const c_char, *const c_char);

/// A service of C's.
///
/// # Safety
/// As for [`name`].
unsafe fn signature(
    service: *const c_char,
    request: *const c_char,
    response: *const c_char,
) -> Outcome<Signature> {
    // SAFETY: as was promised.
    let [service, request, response] = unsafe { [name(service), name(request), name(response)] };
    Ok(Signature::new(service?, request?, response?)?)
}

/// Offers a function as a service.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_offer_service(
    node: *mut c_void,
    service: *const c_char,
    request: *const c_char,
    response: *const c_char,
    function: Option<Body>,
    user: *mut c_void,
) -> c_int {
    let offer = || {
        // SAFETY: as was promised.
        let signature = unsafe { signature(service, request, response) }?;
        let body = function.ok_or(Code::Argument)?;
        table::node(node as usize, |state| {
            let offered = Offered::new(body, user as usize);
            state.offer(Some(&signature), *signature.function(), offered)
        })
    };
    answer(offer())
}

/// Looks for a service, and opens a flow of calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_open_service(
    node: *mut c_void,
    service: *const c_char,
    request: *const c_char,
    response: *const c_char,
    strategy: *const c_char,
    longest_response: usize,
    timeout: i64,
    flow: *mut *mut c_void,
) -> c_int {
    let open = || {
        // SAFETY: as was promised.
        let (flow, signature) =
            unsafe { (Out::new(flow)?, signature(service, request, response)?) };
        // SAFETY: as above.
        let strategy = unsafe { text(strategy, Code::Strategy) }?.unwrap_or_default();
        let strategy = node::strategy(strategy)?;
        table::node(node as usize, |state| {
            let within = within(timeout);
            let mut node = state.node()?;
            let opened = signature.open_flow(&mut node, strategy, longest_response, within);
            drop(node);
            let (link, id) = hurried(within, opened.map_err(Into::into))?;
            flow.put(state.keep(id, link)? as *mut c_void);
            Ok(())
        })
    };
    answer(open())
}

/// Shows the services that there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_services(
    node: *mut c_void,
    seen: Option<Seen>,
    user: *mut c_void,
) -> c_int {
    let show = || {
        let seen = seen.ok_or(Code::Argument)?;
        let offers = table::node(node as usize, |state| Ok(state.node()?.platform().offers()))?;
        // Behind the lock: the function may use the node.
        for offer in offers {
            let texts = [offer.node.as_str(), offer.service.as_str(), &offer.text];
            // A note with a zero in it is none of this library's.
            let [Ok(node), Ok(service), Ok(text)] = texts.map(CString::new) else { continue };
            seen(user, node.as_ptr(), service.as_ptr(), text.as_ptr());
        }
        Ok(())
    };
    answer(show())
}
