//! Nodes, and the names of statuses.

use std::ffi::{c_char, c_void};

use super::super::call::Call;
use super::super::endpoint::MAX_ENDPOINTS;
use super::super::foreign::Output;
use super::super::id::{MAX_DOMAIN, MAX_NODE, NodeId};
use super::super::node::MAX_CHANNELS;
use super::super::process::{self, Processes};
use super::super::request::{Done, MAX_REQUESTS};
use super::super::status::{Outcome, Status};
use super::Verdict;

/// In attributes of nodes that this library made.
const MARK: u32 = 0x6e61_7272;
/// The one attribute of a node, and the one value that it has.
const TYPE: u32 = 0;
const REGULAR: u32 = 0;

/// `MCA_ORG_ID_NARROWS`.
const ORGANIZATION: u32 = 0x6e61;

/// How long another node has to be found, in milliseconds.
const FOUND_WITHIN: u32 = 100;

/// `mcapi_node_attributes_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NodeAttributes {
    kind: u32,
    mark: u32,
}

/// `mcapi_info_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Info {
    pub mcapi_version: u32,
    pub organization_id: u32,
    pub implementation_version: u32,
    pub number_of_domains: u32,
    pub number_of_nodes: u32,
    pub number_of_ports: u32,
    pub max_requests: u32,
    pub max_channels: u32,
    pub max_links: u32,
}

/// Makes this thread a node's.
#[inline(always)]
pub(super) unsafe extern "C" fn initialize<H: Processes>(
    domain_id: u32,
    node_id: u32,
    attributes: *const NodeAttributes,
    _parameters: *const u32,
    info: *mut Info,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    let (verdict, info) = unsafe { (Verdict::new(status), Output::new(info)) };
    let Some(verdict) = verdict else { return };
    // SAFETY: null, or valid for reads.
    let made = unsafe { attributes.as_ref() }.is_none_or(|attributes| attributes.mark == MARK);
    verdict.of(|| {
        if info.is_null() || !made {
            return Err(Status::Parameter);
        }
        let node = in_range(domain_id, node_id)?;
        let peers = process::initialize::<H>(node)?;
        info.put(Info {
            mcapi_version: 2015,
            organization_id: ORGANIZATION,
            implementation_version: 0x0001,
            number_of_domains: MAX_DOMAIN + 1,
            number_of_nodes: MAX_NODE + 1,
            number_of_ports: MAX_ENDPOINTS as u32,
            max_requests: MAX_REQUESTS as u32,
            max_channels: u32::from(MAX_CHANNELS),
            max_links: peers as u32,
        });
        Ok(())
    });
}

pub(super) unsafe extern "C" fn finalize<H: Processes>(status: *mut u32) {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return };
    verdict.of(|| {
        match process::of_thread::<H>() {
            // By a signal's handler, from within a call that waits.
            Err(Status::General) => Err(Status::NodeFinalFailed),
            found => found.map(process::finalize),
        }
    });
}

pub(super) unsafe extern "C" fn domain_id_get<H: Processes>(status: *mut u32) -> u32 {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return u32::MAX };
    verdict.value(u32::MAX, || Ok(process::of_thread::<H>()?.node().id.domain()))
}

pub(super) unsafe extern "C" fn node_id_get<H: Processes>(status: *mut u32) -> u32 {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return u32::MAX };
    verdict.value(u32::MAX, || Ok(process::of_thread::<H>()?.node().id.node()))
}

#[inline(never)]
pub(super) fn in_range(domain: u32, node: u32) -> Outcome<NodeId> {
    if domain > MAX_DOMAIN {
        return Err(Status::DomainInvalid);
    }
    if node > MAX_NODE {
        return Err(Status::NodeInvalid);
    }
    Ok(NodeId::new(domain, node))
}

/// Gives attributes of a node their defaults.
#[inline(always)]
pub(super) unsafe extern "C" fn node_init_attributes<H: Processes>(
    attributes: *mut NodeAttributes,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    let (verdict, attributes) = unsafe { (Verdict::new(status), Output::new(attributes)) };
    let Some(verdict) = verdict else { return };
    if attributes.is_null() {
        return verdict.say(Status::Parameter);
    }
    attributes.put(NodeAttributes { kind: REGULAR, mark: MARK });
    verdict.say(Status::Success);
}

/// Changes an attribute of a node that is not initialised yet.
#[inline(always)]
pub(super) unsafe extern "C" fn node_set_attribute<H: Processes>(
    attributes: *mut NodeAttributes,
    number: u32,
    value: *const c_void,
    size: usize,
    status: *mut u32,
) {
    // SAFETY: as was promised.
    let Some(verdict) = (unsafe { Verdict::new(status) }) else { return };
    // SAFETY: null, or valid for reads and writes.
    let attributes = unsafe { attributes.as_mut() }.filter(|attributes| attributes.mark == MARK);
    verdict.of(|| {
        let attributes = attributes.filter(|_| !value.is_null()).ok_or(Status::Parameter)?;
        attribute_size(number, size)?;
        // SAFETY: valid for reads of that size.
        let value = unsafe { value.cast::<u32>().read_unaligned() };
        if value != REGULAR {
            return Err(Status::AttrValue);
        }
        attributes.kind = value;
        Ok(())
    });
}

/// Whether a node has an attribute of this size.
#[inline(never)]
fn attribute_size(number: u32, size: usize) -> Outcome<()> {
    match (number, size) {
        (TYPE, 4) => Ok(()),
        (TYPE, _) => Err(Status::AttrSize),
        _ => Err(Status::AttrNum),
    }
}

pub(super) unsafe extern "C" fn node_get_attribute<H: Processes>(
    domain_id: u32,
    node_id: u32,
    number: u32,
    value: *mut c_void,
    size: usize,
    status: *mut u32,
) {
    // SAFETY: as was promised; the one attribute that there is has the size of a word.
    let (verdict, value) = unsafe { (Verdict::new(status), Output::new(value.cast())) };
    let Some(verdict) = verdict else { return };
    verdict.of(|| {
        let mut call = process::of_thread::<H>()?;
        if value.is_null() {
            return Err(Status::Parameter);
        }
        let id = in_range(domain_id, node_id)?;
        attribute_size(number, size)?;
        if id != call.node().id {
            look_for(call, id)?;
        }
        value.put(REGULAR);
        Ok(())
    });
}

/// Waits until another node is found.
fn look_for<H: Processes>(call: Call<H>, id: NodeId) -> Outcome<()> {
    let done = call.until(FOUND_WITHIN, &mut |node, over| {
        if over {
            node.give_up(id);
            return Status::Pending.into();
        }
        Done::from(match node.link_to(id) {
            Ok(None) => Status::Pending,
            Ok(Some(_)) => Status::Success,
            Err(_) => Status::NodeInvalid,
        })
    });
    match done.outcome() {
        Err(Status::Timeout) => Err(Status::NodeInvalid),
        found => found.map(drop),
    }
}

/// The name of a status.
#[inline(always)]
pub(super) unsafe extern "C" fn display_status<H: Processes>(
    status: u32,
    text: *mut c_char,
    size: usize,
) -> *mut c_char {
    if text.is_null() || size == 0 {
        return std::ptr::null_mut();
    }
    let named = Status::named(status);
    let name = named.map_or("unknown status", |(_, name)| name);
    let len = name.len().min(size - 1);
    // SAFETY: valid for writes of `size` bytes, of which these are no more.
    unsafe {
        text.copy_from_nonoverlapping(name.as_ptr().cast(), len);
        text.add(len).write(0);
    }
    if named.is_some() { text } else { std::ptr::null_mut() }
}
