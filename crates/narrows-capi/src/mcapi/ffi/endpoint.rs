//! Endpoints: made, looked for, given back, deleted, and their attributes.

use std::ffi::c_void;

use super::super::attribute::{self, GET_SOURCE};
use super::super::call::Call;
use super::super::control::Said;
use super::super::foreign::Output;
use super::super::id::{EndpointId, Handle, MAX_PORT};
use super::super::process::{self, Processes};
use super::super::request::{Done, Operation};
use super::super::status::{Outcome, Status};
use super::node::in_range;
use super::{Verdict, begin};

/// How long another node has to say what an attribute is, in milliseconds.
const SAID_WITHIN: u32 = 1000;

pub(super) unsafe extern "C" fn endpoint_create<H: Processes>(
    port_id: u32,
    status: *mut u32,
) -> u32 {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return 0 };
    verdict.value(0, || {
        let mut call = process::of_thread::<H>()?;
        let node = call.node();
        node.progress();
        let inner = node.endpoints.create(port_id)?;
        let id = node.endpoints.get(inner).map(|endpoint| endpoint.id);
        let id = id.filter(|_| node.stack.open(inner).is_ok()).ok_or(Status::General)?;
        node.created(id);
        Ok(id.0)
    })
}

/// The endpoint that a domain, a node and a port are.
#[inline(never)]
fn named(domain: u32, node: u32, port: u32) -> Outcome<EndpointId> {
    const { assert!(MAX_PORT < 1 << 12) };
    let node = in_range(domain, node)?;
    let port = u16::try_from(port).ok().filter(|port| u32::from(*port) <= MAX_PORT);
    Ok(node.endpoint(port.ok_or(Status::PortInvalid)?))
}

/// An endpoint that was looked for, if it was found at once, or the request that goes on looking.
fn found(request: Option<Handle>) -> Done {
    request.map_or(Done::well(0), Done::goes_on)
}

pub(super) unsafe extern "C" fn endpoint_get_i<H: Processes>(
    domain_id: u32,
    node_id: u32,
    port_id: u32,
    endpoint: *mut u32,
    request: *mut u32,
    status: *mut u32,
) {
    let work = || {
        let mut call = process::of_thread::<H>()?;
        // SAFETY: as was promised.
        let out = unsafe { Output::new(endpoint) };
        if out.is_null() {
            return Err(Status::Parameter);
        }
        let id = named(domain_id, node_id, port_id)?;
        Ok(found(call.node().get_endpoint(id, out, false)?))
    };
    // SAFETY: as was promised.
    unsafe { begin::<H>(request, status, work) };
}

pub(super) unsafe extern "C" fn endpoint_get<H: Processes>(
    domain_id: u32,
    node_id: u32,
    port_id: u32,
    timeout: u32,
    status: *mut u32,
) -> u32 {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return 0 };
    verdict.value(0, || {
        let mut call = process::of_thread::<H>()?;
        let id = named(domain_id, node_id, port_id)?;
        let request = call.node().get_endpoint(id, Output::nowhere(), true)?;
        call.finish(found(request), timeout).outcome()?;
        Ok(id.0)
    })
}

pub(super) unsafe extern "C" fn endpoint_release<H: Processes>(endpoint: u32, status: *mut u32) {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return };
    verdict.of(|| {
        let mut call = process::of_thread::<H>()?;
        let node = call.node();
        node.progress();
        node.release_endpoint(EndpointId(endpoint))
    });
}

pub(super) unsafe extern "C" fn endpoint_delete<H: Processes>(endpoint: u32, status: *mut u32) {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return };
    verdict.of(|| {
        let mut call = process::of_owner::<H>(EndpointId(endpoint))?;
        let node = call.node();
        node.progress();
        node.delete_endpoint(EndpointId(endpoint))
    });
}

pub(super) unsafe extern "C" fn endpoint_get_attribute<H: Processes>(
    endpoint: u32,
    number: u32,
    value: *mut c_void,
    size: usize,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return };
    // SAFETY: valid for writes of the attribute's size, which is that of two words or of one.
    let (pair, word) = unsafe { (Output::new(value.cast()), Output::new(value.cast())) };
    verdict.of(|| {
        let id = EndpointId(endpoint);
        let call = process::near_endpoint::<H>(id)?;
        if value.is_null() {
            return Err(Status::Parameter);
        }
        let [low, high] = match attribute_of(call, id, number, size) {
            // One that was not got is looked for.
            Err(Status::EndpInvalid) if process::near_endpoint::<H>(id)?.learn(id) => {
                attribute_of(process::near_endpoint::<H>(id)?, id, number, size)?
            }
            said => said?,
        };
        match number {
            GET_SOURCE => pair.put([low, high]),
            _ => word.put(low),
        }
        Ok(())
    });
}

/// The value of an attribute of `size` bytes: of an own endpoint, or of one that was got,
/// whose node is asked.
fn attribute_of<H: Processes>(
    mut call: Call<H>,
    id: EndpointId,
    number: u32,
    size: usize,
) -> Outcome<[u32; 2]> {
    let fits = attribute::size(number)
        .and_then(|of| if of == size { Ok(()) } else { Err(Status::AttrSize) });
    let node = call.node();
    node.progress();
    if node.endpoints.find(id).is_some() {
        fits?;
        return node.attribute(id, number);
    }
    let remote = *node.peers.find(id).ok_or(Status::EndpInvalid)?;
    remote.check()?;
    fits?;
    let request = node.begin(Operation::Query { asked: remote.link }, true)?;
    node.say(remote.link, Said::Query, &[request.0, remote.place.0, number]);
    match call.finish(Done::goes_on(request), SAID_WITHIN).outcome() {
        Ok(value) => Ok([value as u32, (value >> 32) as u32]),
        Err(Status::Timeout) => Err(Status::Transmission),
        Err(status) => Err(status),
    }
}

pub(super) unsafe extern "C" fn endpoint_set_attribute<H: Processes>(
    endpoint: u32,
    number: u32,
    value: *const c_void,
    size: usize,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return };
    verdict.of(|| {
        let mut call = process::of_owner::<H>(EndpointId(endpoint))?;
        if value.is_null() {
            return Err(Status::Parameter);
        }
        let fits = attribute::size(number).is_ok_and(|of| of == size && of == 4);
        // SAFETY: valid for reads of its size, which is that of a word.
        let value = fits.then(|| unsafe { value.cast::<u32>().read_unaligned() });
        let node = call.node();
        node.progress();
        node.set_attribute(EndpointId(endpoint), number, value)
    });
}
