//! Look every so often and sleep between; nobody rings.

use core::time::Duration;

use super::{Awaited, sooner, watches};
use crate::platform::{Instant, Platform, Wait, Woken};

pub(super) fn wait<'a, P, I>(
    platform: &P,
    awaited: &I,
    every: Duration,
    deadline: Option<Instant>,
) -> Woken
where
    P: Platform + 'a,
    I: Iterator<Item = Awaited<'a, P>> + Clone,
{
    let tick = sooner(platform, deadline, every);
    platform.wait(watches(awaited), Wait::Timer, Some(tick))
}
