//! Look all the time.

use super::{Awaited, watches};
use crate::platform::{Instant, Platform, Wait, Woken};

pub(super) fn wait<'a, P, I>(platform: &P, awaited: &I, deadline: Option<Instant>) -> Woken
where
    P: Platform + 'a,
    I: Iterator<Item = Awaited<'a, P>> + Clone,
{
    platform.wait(watches(awaited), Wait::Spin, deadline)
}
