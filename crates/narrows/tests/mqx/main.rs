//! Queues and pools in MQX's terms, and the IPC service, between processors of one thread.
#![cfg(not(loom))]

#[path = "../common/mod.rs"]
mod common;
mod hostile;
mod load;
mod local;
mod net;
mod routes;
mod wire;
