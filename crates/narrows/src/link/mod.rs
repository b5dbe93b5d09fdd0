//! Links: names, hunting, attaching, and what is left when a peer dies.

mod inbox;
mod places;
pub mod route;
mod table;

pub use crate::name::{Name, NameError};
pub use inbox::{Entry, EntryId, Inbox};
pub use places::grow;
pub use table::{Links, News, SHARE};

use crate::connection::direct;
use crate::driver::{self, DriverError, Payload};
use crate::memory::{Descriptor, Kind, Shared, Taken};
use crate::platform::{Lost, Platform};
use crate::span::{Edge, Span};
use crate::strategy::{Notification, Strategy};

/// A link of this node. Stays valid as a name after the link has ended: it then names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkId {
    pub(crate) index: u16,
    pub(crate) life: u32,
}

impl LinkId {
    /// What names nothing. No link has this life, and 0 is none either.
    pub const NONE: LinkId = LinkId { index: u16::MAX, life: u32::MAX };
}

/// What a peer has opened on this node over one link: a flow of its own.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// Where the flow goes.
    pub target: Target,
    /// What was agreed for it.
    pub strategy: Strategy,
    /// Whether anything was.
    pub agreed: bool,
    /// The longest response that its caller takes, in bytes.
    pub longest_response: u32,
    /// An answer that the peer waits for.
    pub owed: Option<Reply>,
    /// The number of the peer's last question, which its answer repeats.
    pub question: u16,
}

impl Served {
    /// A flow that is not open.
    pub const NONE: Served = Served {
        target: Target::Nowhere,
        strategy: Strategy::DEFAULT,
        agreed: false,
        longest_response: 0,
        owed: None,
        question: 0,
    };
}

/// Where a flow goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// To a function, by its place in the library.
    Function(u16),
    /// To an endpoint, by its port.
    Port(u16),
    /// To a function that has not been looked up yet.
    Named(Name),
    /// Nowhere: the flow is not open.
    Nowhere,
}

/// An answer to a control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The function's place, or nothing if there is none of that name.
    Opened(Option<u16>),
    /// Whether a strategy is agreed to.
    Agreed(bool),
}

/// One link.
pub struct Link<P: Platform> {
    /// Regions, rings and pool.
    pub shared: Shared<P>,
    /// The platform's name for it.
    pub key: u32,
    /// The peer.
    pub name: Name,
    /// Which life of the peer.
    pub incarnation: u64,
    /// Why it ended, if it has.
    pub lost: Option<Lost>,
    /// How many links had ended when it did.
    pub(crate) ended: u32,
    /// Messages that had been taken off its ring when it ended.
    pub(crate) taken: u32,
    /// Messages waiting.
    pub inbox: Inbox<P::Slice<Entry>>,
    /// The peer's flows, by the peer's number for them.
    pub served: P::Slice<Served>,
    /// Entries that are delivered to attached endpoints when the link ends.
    pub attached: Option<EntryId>,
    /// Answers that the peer waits for: among [`Link::served`], and for what it sent in vain.
    pub replies: u32,
    /// Whether something waits until this link has credit or blocks.
    pub starved: bool,
    /// Whether a flow over it has something to say, while a wait is prepared.
    pub unsaid: bool,
    /// Whether the application asked that waits include room for its messages.
    pub wanting: bool,
    /// Whether the flows and the attached endpoints have been told that it ended.
    pub told: bool,
    /// Its life while it is up and known that nothing is noted of what its channels carry, else 0.
    pub(crate) unnoted: u32,
    pub(crate) life: u32,
    /// The same while it is up, then 0: one look tells both.
    pub(crate) up: u32,
}

impl<P: Platform> Link<P> {
    /// How each flow that the peer has opened here wants to learn of messages.
    pub(crate) fn notifications(&self) -> impl Iterator<Item = Notification> {
        let open = self.served.iter().filter(|served| served.target != Target::Nowhere);
        open.map(|served| served.strategy.at_callee())
    }

    /// Whether it is known that nothing is noted of what its channels carry.
    #[inline]
    pub(crate) fn is_unnoted(&self) -> bool {
        self.unnoted == self.life
    }

    /// Finds out whether something is noted of what its channels carry, on the ways that are made
    /// to be short. Where notes are part of those, they are open to whatever is noted.
    pub(crate) fn find_out(&mut self, platform: &P) {
        if P::RECEIPTS || !platform.tracing() {
            self.unnoted = self.up;
        }
    }

    /// Whether a link that has ended has brought all that it will: a ring holds no more than its
    /// slots, though its peer may be alive in truth and write on.
    pub(crate) fn drained(&self) -> bool {
        let since = self.shared.rx.taken().wrapping_sub(self.taken);
        matches!(self.lost, Some(Lost::Corrupt(_)))
            || since >= self.shared.theirs().slots()
            || self.shared.rx.head() == Ok(None)
    }

    /// Whether a link that is over has nothing for a program that asks either: nothing of this
    /// node's that its peer did not take, and no channel of which it could ask that.
    pub(crate) fn has_left_nothing(&self) -> bool {
        let untaken = self.shared.tx.sent().wrapping_sub(self.shared.first_untaken());
        untaken == 0 && self.shared.pool().layout().channels() == 0
    }

    /// Whether it has ended and left nothing that waits to be received, and the application has
    /// none of its blocks: it may be writing there.
    pub(crate) fn is_over(&self) -> bool {
        let nothing = self.inbox.is_empty() && self.shared.pool().held() == 0;
        self.lost.is_some() && self.told && nothing && !self.shared.keeps_channels()
    }
}

/// Sends one message over a link.
///
/// # Errors
/// See [`DriverError`]; nothing was sent.
#[inline]
pub fn send<P: Platform>(
    platform: &P,
    link: &mut Link<P>,
    strategy: &Strategy,
    descriptor: Descriptor,
    payload: Payload<'_>,
) -> Result<(), DriverError> {
    let id = driver::call_id(&descriptor);
    platform.stamp(Span::Link, Edge::Enter, id);
    let sent = direct::send(platform, link.key, &mut link.shared, strategy, descriptor, payload);
    platform.stamp(Span::Link, Edge::Leave, id);
    sent
}

/// Calls `each` for every message that was sent and not taken before the link ended, in order:
/// what the peer never had. Returns how many there were.
pub fn undelivered<P: Platform>(link: &Link<P>, mut each: impl FnMut(&Taken, &Shared<P>)) -> u32 {
    let shared = &link.shared;
    let mut found = 0;
    if link.lost == Some(Lost::Forked) {
        // What was sent is the other process's.
        return 0;
    }
    let first = shared.first_untaken();
    // Numbers of messages wrap round.
    for index in (0..shared.tx.sent().wrapping_sub(first)).map(|n| first.wrapping_add(n)) {
        let mut in_slot = [0; crate::memory::IN_SLOT];
        let Some(descriptor) = shared.tx.recall(index, &mut in_slot) else { continue };
        if descriptor.kind != Kind::Control {
            found += 1;
            each(&Taken { descriptor, in_slot }, shared);
        }
    }
    found
}
