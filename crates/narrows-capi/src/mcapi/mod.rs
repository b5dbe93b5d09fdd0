//! MCAPI 2.015.
//!
//! From the outside in:
//!
//! | module | what it has |
//! |---|---|
//! | [`ffi`] | the C functions |
//! | `process` | finds the node that a call is for |
//! | `call`, `slot`, `lock` | lock the node for a call, and let the call wait |
//! | `home`, `here` | what these ask of the place where they run, and this machine's answer |
//! | `node` | the state of a node; what its parts do is in the files below |
//! | `endpoint`, `attribute` | the node's own endpoints |
//! | `peer` | other nodes, and their endpoints |
//! | `message`, `packet`, `scalar`, `transfer` | sending and receiving, and what they share |
//! | `channel`, `connect`, `closing` | channels, from the first offer to the last close |
//! | `request`, `pending` | operations that are not finished, and trying them again |
//! | `control`, `hear` | what nodes say to each other, and what they do when they hear it |
//! | `short`, `route` | what calls keep for the short way: open channels, and ways of messages |
//! | `lender` | packets that were received and not released |
//! | `id`, `status`, `foreign` | handles and numbers, the table of statuses, the caller's memory |

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
