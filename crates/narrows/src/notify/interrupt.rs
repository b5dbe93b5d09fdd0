//! Sleep; the first message rings.

use super::Awaited;
use crate::memory::Shared;
use crate::platform::{Instant, Platform, Wait, Woken};

pub(super) fn wait<'a, P, I>(
    platform: &P,
    awaited: &Awaited<'a, P, I>,
    deadline: Option<Instant>,
) -> Woken
where
    P: Platform + 'a,
    I: Iterator<Item = &'a Shared<P>> + Clone,
{
    awaited.arm(1);
    // Pairs with the fence in `Shared::ring_if_armed` and `Shared::flush`: either this core sees
    // the message now, or its sender sees that this core is armed.
    platform.fence();
    let woken = if awaited.watches().any(|w| w.changed()) {
        Woken::Word
    } else {
        platform.wait(awaited.watches(), Wait::Bell, deadline)
    };
    awaited.disarm();
    woken
}
