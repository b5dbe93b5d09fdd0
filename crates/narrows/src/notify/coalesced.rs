//! Sleep until so many messages stand for one bell, or a time runs out.

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
    // A ring that is shorter than the count would never ring.
    let count = |on: Awaited<'a, P>| u32::from(messages).min(on.shared.theirs().slots());
    awaited.clone().for_each(|on| on.arm(count(on)));
    // As in `interrupt`: either this core sees the last of the messages, or its sender sees that
    // this core is armed.
    platform.fence();
    let enough = awaited.clone().any(|on| {
        let message = on.messages.then(|| on.shared.rx.watched(count(on)));
        message.is_some_and(|watch| watch.changed()) || on.given().any(|watch| watch.changed())
    });
    let woken = if enough {
        Woken::Word
    } else {
        platform.wait(watches(awaited), Wait::Bell, Some(sooner(platform, deadline, within)))
    };
    awaited.clone().for_each(Awaited::disarm);
    woken
}
