//! Sleep until so many messages stand for one bell, or a time runs out.

use core::time::Duration;

use super::{Awaited, sooner};
use crate::memory::Shared;
use crate::platform::{Instant, Platform, Wait, Watch, Woken};

pub(super) fn wait<'a, P, I>(
    platform: &P,
    awaited: &Awaited<'a, P, I>,
    messages: u16,
    within: Duration,
    deadline: Option<Instant>,
) -> Woken
where
    P: Platform + 'a,
    I: Iterator<Item = &'a Shared<P>> + Clone,
{
    // A ring that is shorter than the count would never ring.
    let count = |shared: &Shared<P>| u32::from(messages).min(shared.theirs().slots());
    for shared in awaited.links.clone() {
        shared.rx.arm(count(shared));
    }
    if let Some(shared) = awaited.starved {
        shared.tx.want(true);
    }
    // As in `interrupt`: either this core sees the last of the messages, or its sender sees that
    // this core is armed.
    platform.fence();
    let enough = awaited.links.clone().any(|shared| shared.rx.watched(count(shared)).changed());
    let fed = awaited.starved.is_some_and(|shared| shared.starved().iter().any(Watch::changed));
    let woken = if enough || fed {
        Woken::Word
    } else {
        platform.wait(awaited.watches(), Wait::Bell, Some(sooner(platform, deadline, within)))
    };
    awaited.disarm();
    woken
}
