//! What counts the descriptors, mappings or threads of its process, or measures it: each test holds
//! `alone()`, so that no other has any meanwhile.
//! `cargo test -p narrows-host --test alone meetings::` runs one theme.

mod background;
mod beside;
mod callees;
mod carry;
mod clients;
mod closing;
#[path = "../common/mod.rs"]
mod common;
mod crowded;
#[path = "../../../narrows/tests/common/forge.rs"]
mod forge;
mod framed;
mod fuse;
mod hostile;
mod liars;
mod meetings;
mod observed;
mod orderings;
mod processes;
mod strangers;
mod timers;
mod tracing;
mod users;
