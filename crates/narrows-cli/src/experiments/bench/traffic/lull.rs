//! A lull, in which a wake-up that is lost shows.
//!
//! At full load the next message repairs what was not rung for. Here one side sends a message and
//! nothing more until it is answered. The other side answers and goes to sleep. A message that was
//! neither seen nor rung for lies there until the sleeper's wait ends by deadline, which counts it
//! ([`Count::Unrung`](super::Count::Unrung)).
//!
//! A wake-up can be lost only if one side publishes within some tens of nanoseconds of the other's
//! last look before its sleep. So the side that answers does not sleep at once, and the sender
//! pauses behind each answer and seeks the pause at which they meet: each answer says whether the
//! message was seen or rung for, and the next pause is longer or shorter. A side that was rung has
//! cold caches, and goes to sleep more slowly than one that saw the message, so there is a pause
//! for either.

use std::time::Duration;

use narrows::endpoint::Node;

use super::linger::{LINGER, linger};
use super::load::{KNOCK, Load, Trouble};
use super::record::Counts;
use crate::rig::place::Place;

/// The first pause, in nanoseconds: a little too long.
const FIRST: u64 = LINGER.as_nanos() as u64;
/// By how much a pause is longer than the last if the message was seen, and shorter if it was rung
/// for, in nanoseconds. A ring takes longer, by so much that five of six messages are to be seen.
const LONGER: u64 = 20;
const SHORTER: u64 = 100;
/// What is drawn on top of each.
const DRAWN: u64 = 100;
/// The longest. A side that has a core to itself sleeps long before.
const LONGEST: u64 = 20_000;
/// Messages from one look at what else there is to do to the next, behind which the sleeper is
/// always asleep.
const TOGETHER: u64 = 256;

/// Sends one message after another, each once the last was answered, after both sides have fallen
/// quiet ([`Load::settle`]). How many; now and then `beside` is done.
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
    // Behind a message that was seen, and behind one that was rung for.
    let (mut pauses, mut rung) = ([FIRST; 2], false);
    while node.platform().time().since(begun) < time {
        if sent % TOGETHER == 0 {
            beside(node);
        }
        let pause = &mut pauses[usize::from(rung)];
        linger(node, Duration::from_nanos(*pause + random.u64(..DRAWN)));
        while !load.send_tagged(node, counts, None, KNOCK)? {
            load.turn(node, counts)?;
        }
        sent += 1;
        rung = loop {
            load.turn(node, counts)?;
            if let Some(rung) = load.answered.take() {
                break rung;
            }
        };
        *pause = match rung {
            true => pause.saturating_sub(SHORTER),
            false => LONGEST.min(*pause + LONGER),
        };
    }
    Ok(sent)
}
