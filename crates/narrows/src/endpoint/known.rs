//! What is known of the port that was looked at last. A look at it then takes a few instructions:
//! it does not look up the port, its queue and the links again.

use super::Port;
use crate::link::SHARE;

/// Looks at the rings between two that see to everything: traffic that never pauses does not hide
/// news.
const LOOKS: u8 = 254;

/// No port.
const NONE: u32 = u32::MAX;

/// See the module page. Whatever puts something in a port's queue, or changes a link, a port or
/// what is to be done at the next look, makes it forget.
pub(super) struct Known {
    /// A port that is open and has an empty queue.
    port: u32,
    /// The same port, if one link alone is up and its last message fitted a slot.
    short: u32,
    /// Whether one link alone is up; it lies at hand then.
    one: bool,
    /// Whether this core copies out what comes to the port.
    copied: bool,
    /// Looks left until one sees to everything.
    looks: u8,
    /// Messages from queues until all rings are looked at.
    trusted: u8,
}

impl Known {
    /// Nothing: the next look sees to everything.
    pub const NOTHING: Known =
        Known { port: NONE, short: NONE, one: false, copied: false, looks: 0, trusted: 0 };

    /// Forgets everything: something changed.
    pub fn forget(&mut self) {
        *self = Known::NOTHING;
    }

    /// Whether the first message in a queue is taken to be the next without a look at the rings: of
    /// a node with many links the look would cost more than all else that a message takes.
    pub fn trust(&mut self, links: u16) -> bool {
        if let Some(left) = self.trusted.checked_sub(1) {
            self.trusted = left;
            return true;
        }
        // The caller looks now.
        self.trusted = u8::try_from(links / SHARE).unwrap_or(u8::MAX);
        false
    }

    /// Forgets what is known of a port: something waits in its queue.
    pub fn forget_port(&mut self) {
        (self.port, self.short) = (NONE, NONE);
    }

    /// Notes that everything has been seen to, and whether there is more to do at once.
    pub fn seen(&mut self, restless: bool) {
        self.looks = if restless { 0 } else { LOOKS };
    }

    /// Whether there is nothing to see to besides messages.
    #[inline(always)]
    pub fn is_calm(&self) -> bool {
        self.looks > 0
    }

    /// Counts a look. False if it has to see to everything.
    #[inline(always)]
    pub fn count(&mut self) -> bool {
        let (left, none) = self.looks.overflowing_sub(1);
        self.looks = left;
        if none {
            self.looks = 0;
        }
        !none
    }

    /// Whether this port is open and has an empty queue.
    #[inline(always)]
    pub fn is_port(&self, port: Port) -> bool {
        self.port == u32::from(port)
    }

    /// Whether the next message for a port is expected in a slot of the one link that is up.
    #[inline(always)]
    pub fn is_short(&self, port: Port) -> bool {
        self.short == u32::from(port)
    }

    /// Whether one link alone is up.
    #[inline(always)]
    pub fn is_one(&self) -> bool {
        self.one
    }

    /// Whether this core copies out what comes to the port.
    #[inline(always)]
    pub fn copied(&self) -> bool {
        self.copied
    }

    /// Notes that a port is open and has an empty queue.
    pub fn learn(&mut self, port: Port, one: bool, copied: bool) {
        (self.port, self.short) = (port.into(), NONE);
        (self.one, self.copied) = (one, copied);
    }

    /// Notes whether the last message for the port fitted a slot, as the next is likely to.
    #[inline(always)]
    pub fn expect(&mut self, in_slot: bool) {
        self.short = if in_slot && self.is_one() { self.port } else { NONE };
    }
}
