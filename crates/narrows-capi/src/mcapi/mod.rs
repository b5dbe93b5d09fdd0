//! MCAPI 2.015.
//!
//! From the outside in:
//!
//! | module | what it has |
//! |---|---|
//! | [`ffi`] | the C functions |
//! | `here` | this machine as a place of nodes, for the functions that have the standard's names |
//! | `process` | finds the node that a call is for |
//! | `helper` | drives nodes whose program makes no call |
//! | `call`, `slot`, `lock` | lock the node for a call, and let the call wait |
//! | `node` | a node: its state, and in the files of its folder what it does |
//! | `endpoint`, `attribute` | the node's own endpoints |
//! | `request` | operations that are not finished |
//! | `lender` | packets that were received and not released |
//! | `home` | what nodes ask of the place where they run |
//! | `control` | what nodes say to each other |
//! | `id`, `status`, `foreign` | handles and numbers, the table of statuses, the caller's memory |
//!
//! `ci/imports` holds this order.

pub mod ffi;

mod attribute;
mod call;
mod control;
mod endpoint;
mod foreign;
mod helper;
mod here;
mod home;
mod id;
mod lender;
mod lock;
mod node;
mod places;
mod process;
mod request;
mod slot;
mod status;
mod table;

pub use status::Status;
#[cfg(feature = "elsewhere")]
pub use {
    home::Home,
    node::layout,
    process::{Process, Processes},
    slot::Slot,
};
