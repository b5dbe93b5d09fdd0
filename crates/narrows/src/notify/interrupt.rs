//! Sleep; the first message rings.

use super::{Awaited, watches};
use crate::platform::{Instant, Platform, Wait, Woken};

pub(super) fn wait<'a, P, I>(platform: &P, awaited: &I, deadline: Option<Instant>) -> Woken
where
    P: Platform + 'a,
    I: Iterator<Item = Awaited<'a, P>> + Clone,
{
    awaited.clone().for_each(|on| on.arm(1));
    // Pairs with the fence in `Shared::ring_if_armed` and `Shared::flush`: either this core sees
    // the message now, or its sender sees that this core is armed.
    platform.fence();
    let woken = if watches(awaited).any(|w| w.changed()) {
        Woken::Word
    } else {
        platform.wait(watches(awaited), Wait::Bell, deadline)
    };
    for on in awaited.clone() {
        on.disarm();
    }
    woken
}
