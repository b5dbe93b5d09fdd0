//! MCAPI 2.015.
//!
//! From the outside in: [`ffi`] is the C functions, which are short ways and a few words for the rest, and what sees to that;
//! `process` finds the node that a call is for, `call` locks it, in a `slot`, and waits; `home` is what
//! they ask of where they are, and `here` this machine's answer; `node` is a node's state, and what the parts of that state do is in a file of its own each: `endpoint`, `peer` (other nodes and
//! their endpoints), `channel` and `closing`, `request` and `pending`, `message`, `packet`, `scalar` and what
//! they have in common, `transfer`, `control` and `hear` (what nodes say to each other), `short` (the sides of open channels that the short way has) and
//! `lender` (packets that were received and not released).

pub mod ffi;

mod attribute;
mod call;
mod channel;
mod closing;
mod connect;
mod control;
mod endpoint;
mod foreign;
mod hear;
mod here;
mod home;
mod id;
mod lender;
mod lock;
mod message;
mod node;
mod packet;
mod peer;
mod pending;
mod process;
mod request;
mod route;
mod scalar;
mod short;
mod slot;
mod status;
mod transfer;

pub use status::Status;
#[cfg(feature = "elsewhere")]
pub use {home::Home, node::layout, process::Process, slot::Slot};
