//! Time in which a side does nothing and does not sleep.

use std::time::Duration;

use narrows::endpoint::Node;

use crate::rig::place::Place;

/// How long a side goes on behind its answer before it may sleep: longer than the other takes to
/// see the answer and to send the next message.
pub(super) const LINGER: Duration = Duration::from_micros(5);

/// Does nothing for this long, without a sleep.
pub(super) fn linger<P: Place>(node: &Node<P>, time: Duration) {
    let from = node.platform().time();
    while node.platform().time().since(from) < time {
        std::hint::spin_loop();
    }
}
