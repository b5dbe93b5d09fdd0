//! What a message says about itself.

use super::QueueId;

/// How urgent a message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Control {
    /// 0 to 15: the higher comes first.
    pub priority: u8,
    /// Before all that are not, whatever their priority.
    pub urgent: bool,
}

impl Control {
    const URGENT: u8 = 0x10;

    /// As bits: the priority in the lower four, then whether it is urgent. The higher number comes
    /// first. None if the priority is over 15.
    #[must_use]
    pub fn bits(self) -> Option<u8> {
        let urgent = if self.urgent { Self::URGENT } else { 0 };
        (self.priority < Self::URGENT).then_some(self.priority | urgent)
    }

    /// Of bits, if they are some.
    #[must_use]
    pub fn of(bits: u8) -> Option<Control> {
        let control =
            Control { priority: bits & (Self::URGENT - 1), urgent: bits & Self::URGENT != 0 };
        (bits < 2 * Self::URGENT).then_some(control)
    }
}

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// Bytes of the message, at most as many as its memory has.
    pub size: u32,
    /// The queue that it is for.
    pub target: QueueId,
    /// The queue that answers go to, if its sender says so.
    pub source: QueueId,
    /// How urgent it is.
    pub control: Control,
}
