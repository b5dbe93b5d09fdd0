//! Look every so often and sleep between; nobody rings.

use core::time::Duration;

use super::{Awaited, sooner};
use crate::memory::Shared;
use crate::platform::{Instant, Platform, Wait, Woken};

pub(super) fn wait<'a, P, I>(
    platform: &P,
    awaited: &Awaited<'a, P, I>,
    every: Duration,
    deadline: Option<Instant>,
) -> Woken
where
    P: Platform + 'a,
    I: Iterator<Item = &'a Shared<P>> + Clone,
{
    let tick = sooner(platform, deadline, every);
    platform.wait(awaited.watches(), Wait::Timer, Some(tick))
}
