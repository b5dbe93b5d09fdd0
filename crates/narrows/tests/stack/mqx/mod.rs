//! Queues and pools in MQX's terms, and the IPC service, between processors of one thread.

mod lies;
mod load;
mod local;
mod net;
mod routes;
mod wire;
