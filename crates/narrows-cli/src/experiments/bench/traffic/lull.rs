//! A lull, in which a wake-up that is lost shows.
//!
//! At full load the next message repairs what was not rung for. Here one side sends a message and
//! nothing more until it is answered. The other side answers and goes to sleep, so that messages
//! come while it does: before it arms its bell, just then, and behind that. A message that was
//! neither seen nor rung for lies there until the sleeper's wait ends by deadline, which counts it
//! ([`Count::Unrung`](super::Count::Unrung)).

use std::time::Duration;

use narrows::endpoint::Node;

use super::load::{KNOCK, Load, ROOM, Trouble};
use super::record::{Count, Counts};
use crate::rig::place::Place;

/// The longest pause between an answer and the next message, in nanoseconds. A host takes about
/// 2000 from its answer to its sleep.
const PAUSE: u64 = 4000;

/// Sends one message after another, each once the last was answered, after both sides have fallen
/// quiet ([`Load::settle`]). How many; `beside` is done before each.
///
/// # Errors
/// The traffic is over.
pub fn lull<P: Place>(
    load: &mut Load,
    node: &mut Node<P>,
    counts: &Counts,
    time: Duration,
    mut beside: impl FnMut(&mut Node<P>),
) -> Result<u64, Trouble> {
    let mut random = fastrand::Rng::with_seed(1);
    let (begun, mut sent) = (node.platform().time(), 0);
    while node.platform().time().since(begun) < time {
        beside(node);
        let pause = Duration::from_nanos(random.u64(..PAUSE));
        let (from, received) = (node.platform().time(), counts.get(Count::Received));
        while node.platform().time().since(from) < pause {
            std::hint::spin_loop();
        }
        while !load.send_tagged(node, counts, Some(ROOM), KNOCK)? {}
        while counts.get(Count::Received) == received {
            load.turn(node, counts)?;
        }
        sent += 1;
    }
    Ok(sent)
}
