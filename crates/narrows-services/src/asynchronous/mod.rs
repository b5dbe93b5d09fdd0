//! Nodes in asynchronous programs, whatever the runtime.
//!
//! A runtime watches one descriptor for a [`Node`], and wakes its task when that can be read from:
//! see [`Watch`]. The crate narrows-tokio does that for tokio. There is no thread, and time that is
//! waited for is in the descriptor too.
//!
//! Futures do nothing when they are dropped but to give back what they have: what was not received
//! is received by the next, and a response that nobody waits for is dropped when it comes.

mod call;
mod node;
mod publish;
mod reactor;
mod receive;
mod search;

pub use call::Client;
pub use node::Node;
pub use publish::Publisher;
pub use reactor::Watch;
pub use receive::Subscriber;
