//! Look all the time.

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
    platform.wait(awaited.watches(), Wait::Spin, deadline)
}
