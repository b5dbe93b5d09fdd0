//! How what the C functions are for begins.

use std::ptr::null_mut;

use super::super::attribute;
use super::super::call::Call;
use super::super::control::{Kind, Said};
use super::super::endpoint::Direction;
use super::super::foreign::{Buffer, Output};
use super::super::home::Home;
use super::super::id::{EndpointId, Handle, MAX_PORT};
use super::super::node::Node;
use super::super::request::{Done, Operation};
use super::super::status::{Outcome, Status};
use super::super::transfer::{Incoming, Outgoing};
use super::entry::{Args, Entry, What};
use super::node::{attribute_size, in_range};

/// How long another node has to say what an attribute is, in milliseconds.
const SAID_WITHIN: u32 = 1000;
/// How long another node has to be found, in milliseconds.
const FOUND_WITHIN: u32 = 100;

/// Begins what a function is for, and has a request for what cannot be done at once; how long a call may
/// wait for that.
#[inline(always)]
pub(super) unsafe fn begin<H: Home>(
    call: &mut Call<H>,
    args: &Args,
    entry: &Entry,
    key: Handle,
    timeout: &mut u32,
) -> Outcome<Done> {
    let slot = call.slot;
    let node = call.node();
    if entry.moves {
        node.progress();
    }
    let id = EndpointId(args.word(entry.endpoint));
    let of_call = !entry.begins;
    let (operation, fails) = match entry.what {
        What::DomainId => return Ok(Done::well(u64::from(node.id.domain()) + 1)),
        What::NodeId => return Ok(Done::well(u64::from(node.id.node()) + 1)),
        What::NodeAttribute => {
            let id = in_range(args.word(0), args.word(1))?;
            attribute_size(args.word(2), args.size(4))?;
            if id == node.id {
                return Ok(Done::well(0));
            }
            *timeout = FOUND_WITHIN;
            return Ok(Done::goes_on(Handle(id.0)));
        }
        What::Create => return create(node, args.word(0)),
        What::Get => {
            // SAFETY: as was promised; null is allowed.
            let out = unsafe { Output::new(if of_call { null_mut() } else { args.get(3).cast() }) };
            *timeout = args.word(3);
            let id = named(args)?;
            let request = node.get_endpoint(id, out, of_call)?;
            return Ok(request.map_or(Done::well(0), Done::goes_on));
        }
        What::Release => return node.release_endpoint(id).map(|()| Done::well(0)),
        What::Delete => return node.delete_endpoint(id).map(|()| Done::well(0)),
        What::GetAttribute => {
            let number = args.word(1);
            let fits = attribute::size(number).and_then(|of| match of == args.size(3) {
                true => Ok(()),
                false => Err(Status::AttrSize),
            });
            if node.endpoints.find(id).is_some() {
                fits?;
                let [low, high] = node.attribute(id, number)?;
                return Ok(Done::well(u64::from(high) << 32 | u64::from(low)));
            }
            let remote = *node.peers.find(id).ok_or(Status::EndpInvalid)?;
            remote.check()?;
            fits?;
            let request = node.begin(Operation::Query { asked: remote.link }, true)?;
            node.say(remote.link, Said::Query, &[request.0, remote.place.0, number]);
            *timeout = SAID_WITHIN;
            return Ok(Done::goes_on(request));
        }
        What::SetAttribute => {
            let (number, value) = (args.word(1), args.get(2).cast::<u32>());
            let fits = attribute::size(number).is_ok_and(|of| of == args.size(3) && of == 4);
            // SAFETY: valid for reads of its size, which is that of a word.
            let value = fits.then(|| unsafe { value.read_unaligned() });
            return node.set_attribute(id, number, value).map(|()| Done::well(0));
        }
        What::MessagesAvailable => {
            let (inner, _) = node.receiver(id)?;
            node.progress();
            let count = node.stack.available(inner).map_err(|_| Status::EndpInvalid)?;
            return Ok(Done::well(count.into()));
        }
        What::Connect => {
            let request = node.connect(id, EndpointId(args.word(1)), entry.kind)?;
            node.progress();
            return Ok(Done::goes_on(request));
        }
        What::Open => {
            let (inner, _) = node.receiver(id)?;
            node.progress();
            // SAFETY: as was promised.
            let out = unsafe { args.output(0) };
            let opened = node.open_channel(inner, entry.kind, entry.way, out);
            if (entry.kind, entry.way) == (Kind::Packet, Direction::Receive) {
                // Whose packets will be given back next, most likely.
                H::released_by(slot);
            }
            return Ok(opened?.map_or(Done::well(0), Done::goes_on));
        }
        What::Close => {
            node.close_channel(key, entry.kind, entry.way)?;
            // The other end may be this node's, too.
            node.progress();
            return Ok(Done::well(0));
        }
        What::Available => {
            let count = node.entries_available(key, entry.kind)?;
            return Ok(Done::well(count.into()));
        }
        What::Test => return Ok(node.ended_by_now(key)),
        What::Cancel => {
            if !node.cancel(key) {
                return Err(Status::RequestInvalid);
            }
            // SAFETY: as was promised.
            if let Some(variable) = unsafe { args.variable(0) } {
                variable.put(Done::from(Status::RequestCancelled).number());
            }
            return Ok(Done::well(0));
        }
        What::Wait => {
            node.requests.wait(key)?;
            *timeout = args.word(2);
            return Ok(Done::goes_on(key));
        }
        What::SendMessage => {
            let to = EndpointId(args.word(1));
            // SAFETY: as was promised.
            let bytes = unsafe { args.bytes(2) };
            let priority = args.word(4);
            let (most, fails) = match node.sender(id, &bytes, priority) {
                // The receiver is looked at before what is sent to it.
                Err(Status::MsgSize | Status::Priority) if !node.knows(to) => {
                    return Err(Status::EndpInvalid);
                }
                said => said?,
            };
            *timeout = most;
            (Operation::SendMessage { to, bytes, priority: priority as u8 }, fails)
        }
        What::ReceiveMessage => {
            // SAFETY: as was promised.
            let buffer = unsafe { Buffer::new(args.get(1).cast(), args.size(2)) };
            if buffer.missing() {
                return Err(Status::Parameter);
            }
            let (inner, most) = node.receiver(id)?;
            *timeout = most;
            (Operation::ReceiveMessage { inner, buffer }, false)
        }
        what => {
            let channel = node.channels.get(key);
            let (most, fails) =
                channel.map_or((0, false), |channel| (channel.timeout, channel.fails_at_limit));
            *timeout = most;
            let operation = match what {
                What::SendPacket => {
                    // SAFETY: as was promised.
                    let bytes = unsafe { args.bytes(1) };
                    Operation::Send { channel: key, what: Outgoing::Packet(bytes) }
                }
                What::SendScalar => {
                    // SAFETY: it is the library's own word.
                    let value = unsafe { args.get(1).cast::<u64>().read() };
                    let what = Outgoing::Scalar { value, len: args.word(2) };
                    Operation::Send { channel: key, what }
                }
                What::ReceivePacket => {
                    // SAFETY: as was promised.
                    let what = Incoming::Packet(unsafe { args.output(1) });
                    Operation::Receive { channel: key, what }
                }
                _ => {
                    let what = Incoming::Scalar { len: args.word(1) };
                    Operation::Receive { channel: key, what }
                }
            };
            (operation, fails)
        }
    };
    call.transfer(&operation, fails, of_call)
}

/// The endpoint that a domain, a node and a port are.
#[inline(never)]
pub(super) fn named(args: &Args) -> Outcome<EndpointId> {
    const { assert!(MAX_PORT < 1 << 12) };
    let (node, port) = (in_range(args.word(0), args.word(1))?, args.word(2));
    let port = u16::try_from(port).ok().filter(|port| u32::from(*port) <= MAX_PORT);
    Ok(node.endpoint(port.ok_or(Status::PortInvalid)?))
}

/// Makes an endpoint of a node's.
#[inline]
fn create<H: Home>(node: &mut Node<H>, port: u32) -> Outcome<Done> {
    let inner = node.endpoints.create(port)?;
    let id = node.endpoints.get(inner).map(|endpoint| endpoint.id);
    let id = id.filter(|_| node.stack.open(inner).is_ok()).ok_or(Status::General)?;
    node.created(id);
    Ok(Done::well(id.0.into()))
}
