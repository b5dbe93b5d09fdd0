//! Sleep until a number of messages stands for one bell, or a time runs out.

use core::time::Duration;

use super::{Awaited, sooner, watches};
use crate::platform::{Instant, Platform, Wait, Woken};

pub(super) fn wait<'a, P, I>(
    platform: &P,
    awaited: &I,
    messages: u16,
    within: Duration,
    deadline: Option<Instant>,
) -> Woken
where
    P: Platform + 'a,
    I: Iterator<Item = Awaited<'a, P>> + Clone,
{
    let messages = u32::from(messages);
    awaited.clone().for_each(|on| on.arm(messages));
    // As in `interrupt`: either this core sees the last of the messages, or its sender sees that
    // this core is armed.
    platform.fence();
    let enough = awaited.clone().flat_map(|on| on.watches_for(messages)).any(|w| w.changed());
    let woken = if enough {
        Woken::Word
    } else {
        platform.wait(watches(awaited), Wait::Bell, Some(sooner(platform, deadline, within)))
    };
    for on in awaited.clone() {
        on.disarm();
    }
    woken
}
