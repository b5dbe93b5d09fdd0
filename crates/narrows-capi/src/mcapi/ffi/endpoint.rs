//! Endpoints.

use std::ffi::c_void;

use super::super::attribute::{self, GET_SOURCE};
use super::super::control::Said;
use super::super::foreign::Output;
use super::super::home::Home;
use super::super::id::{EndpointId, MAX_PORT};
use super::super::process;
use super::super::request::Operation;
use super::super::status::{Outcome, Status};
use super::node::{in_range, port_in_range};
use super::{Begun, Verdict, begin};

/// How long another node has to say what an attribute is, in milliseconds.
const SAID_WITHIN: u32 = 1000;

/// Makes an endpoint of the thread's node.
#[inline(always)]
pub(super) unsafe extern "C" fn endpoint_create<H: Home>(port_id: u32, status: *mut u32) -> u32 {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return 0 };
    let create = || {
        let mut call = process::current::<H>()?;
        let node = call.node();
        node.progress();
        let inner = node.endpoints.create(port_id)?;
        let id = node.endpoints.get(inner).map(|endpoint| endpoint.id);
        let id = id.filter(|_| node.stack.open(inner).is_ok()).ok_or(Status::General)?;
        node.created(id);
        Ok(id.0)
    };
    verdict.of(create(), 0)
}

fn named(domain: u32, node: u32, port: u32) -> Outcome<EndpointId> {
    const { assert!(MAX_PORT < 1 << 12) };
    Ok(in_range(domain, node)?.endpoint(port_in_range(port)?))
}

/// Looks for an endpoint, without waiting.
#[inline(always)]
pub(super) unsafe extern "C" fn endpoint_get_i<H: Home>(
    domain_id: u32,
    node_id: u32,
    port_id: u32,
    endpoint: *mut u32,
    request: *mut u32,
    status: *mut u32,
) {
    let get = || {
        // SAFETY: as was promised.
        let out = unsafe { Output::new(endpoint) };
        let mut call = process::current::<H>()?;
        if out.is_null() {
            return Err(Status::Parameter);
        }
        let id = named(domain_id, node_id, port_id)?;
        let begun = call.node().get_endpoint(id, out, false);
        begun.map(Begun::from)
    };
    // SAFETY: as was promised.
    unsafe { begin::<H>(status, request, &get) };
}

/// Looks for an endpoint until it is there.
#[inline(always)]
pub(super) unsafe extern "C" fn endpoint_get<H: Home>(
    domain_id: u32,
    node_id: u32,
    port_id: u32,
    timeout: u32,
    status: *mut u32,
) -> u32 {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return 0 };
    let get = || {
        let mut call = process::current::<H>()?;
        let id = named(domain_id, node_id, port_id)?;
        // SAFETY: null is allowed.
        let out = unsafe { Output::new(std::ptr::null_mut()) };
        match call.node().get_endpoint(id, out, true)? {
            None => Ok(id.0),
            Some(request) => call.until_ended(request, timeout).map(|_| id.0),
        }
    };
    verdict.of(get(), 0)
}

/// Gives an endpoint back that was got.
#[inline(always)]
pub(super) unsafe extern "C" fn endpoint_release<H: Home>(endpoint: u32, status: *mut u32) {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return };
    let id = EndpointId(endpoint);
    let release = || {
        let mut call = process::current::<H>()?;
        let node = call.node();
        node.progress();
        node.release_endpoint(id)
    };
    verdict.of(release(), ());
}

/// Deletes an endpoint.
#[inline(always)]
pub(super) unsafe extern "C" fn endpoint_delete<H: Home>(endpoint: u32, status: *mut u32) {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return };
    let id = EndpointId(endpoint);
    let delete = || {
        let mut call = process::of_endpoint::<H>(id)?;
        let node = call.node();
        node.progress();
        node.delete_endpoint(id)
    };
    verdict.of(delete(), ());
}

/// The value of an attribute.
#[inline(always)]
pub(super) unsafe extern "C" fn endpoint_get_attribute<H: Home>(
    endpoint: u32,
    number: u32,
    value: *mut c_void,
    size: usize,
    status: *mut u32,
) {
    // SAFETY: as was promised; a value of eight bytes is two words.
    let (verdict, one, two) = unsafe {
        (
            Verdict::new(status),
            Output::new(value.cast::<u32>()),
            Output::new(value.cast::<[u32; 2]>()),
        )
    };
    let Some(verdict) = verdict else { return };
    let id = EndpointId(endpoint);
    let get = || {
        let mut call = process::of_endpoint::<H>(id)?;
        let node = call.node();
        if one.is_null() {
            return Err(Status::Parameter);
        }
        node.progress();
        let fits = attribute::size(number).and_then(|of| match of == size {
            true => Ok(()),
            false => Err(Status::AttrSize),
        });
        if node.endpoints.find(id).is_some() {
            fits?;
            let value = node.attribute(id, number);
            return value;
        }
        let remote = *node.peers.find(id).ok_or(Status::EndpInvalid)?;
        remote.check()?;
        fits?;
        let request = node.begin(Operation::Query { asked: remote.link }, true)?;
        node.say(remote.link, Said::Query, &[request.0, remote.place.0, number]);
        let value = call.until_ended(request, SAID_WITHIN);
        let value = value.map_err(|status| match status {
            Status::Timeout => Status::Transmission,
            other => other,
        })?;
        Ok([value as u32, (value >> 32) as u32])
    };
    let value = get();
    if let Ok(value) = value {
        match number {
            GET_SOURCE => two.put(value),
            _ => one.put(value[0]),
        }
    }
    verdict.of(value.map(|_| ()), ());
}

/// Sets an attribute.
#[inline(always)]
pub(super) unsafe extern "C" fn endpoint_set_attribute<H: Home>(
    endpoint: u32,
    number: u32,
    value: *const c_void,
    size: usize,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return };
    let id = EndpointId(endpoint);
    let set = || {
        let mut call = process::of_endpoint::<H>(id)?;
        let node = call.node();
        if value.is_null() {
            return Err(Status::Parameter);
        }
        node.progress();
        let fits = attribute::size(number).is_ok_and(|of| of == size && of == 4);
        // SAFETY: valid for reads of its size, which is that of a word.
        let value = fits.then(|| unsafe { value.cast::<u32>().read_unaligned() });
        node.set_attribute(id, number, value)
    };
    verdict.of(set(), ());
}
