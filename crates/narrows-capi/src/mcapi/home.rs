//! Where nodes of MCAPI are: what they ask of it beyond what the stack asks of its platform.
//!
//! The C functions are generic over it, so that each place has them as if they were written for it
//! alone: `Here` is this machine, and a simulator is another.

use std::sync::OnceLock;

use narrows::link::Name;
use narrows::memory::Layout;
use narrows::platform::Platform;
use narrows_host::Bell;

/// The platform of a place's nodes.
pub(super) type On<H> = <H as Home>::Platform;
/// A peer's memory there.
pub(super) type Peer<H> = <On<H> as Platform>::Peer;

/// A place of nodes.
pub trait Home: Sized + 'static {
    /// The stack's platform.
    type Platform: Platform<Peer: Clone>;
    /// What keeps packets where the application reads them.
    type Lent;

    /// How often a call looks for what it wants before it makes a request: for about as long as an
    /// answer takes, or once where looks are better left to waits.
    const LOOKS: u32;

    /// Whether looking may keep what is looked for from coming: another program of the same core
    /// sends it, and the platform's waits do not leave the core to it.
    fn shares() -> bool {
        false
    }

    /// The time since some moment, in nanoseconds.
    fn now() -> u64;

    /// The platform of a node that is opened: with its name, the layout of its half of each link,
    /// and what wakes the thread that waits in it, where another thread may want it.
    fn open(name: &Name, layout: Layout, wakes: &OnceLock<Bell>) -> Option<Self::Platform>;

    /// Whether packets that are taken the short way have to be [brought](Home::bring).
    const BROUGHT_SHORT: bool = true;

    /// Has a peer's memory where packets in it are read, and the address where it begins there.
    fn lend(peer: &Peer<Self>, layout: &Layout) -> Option<(Self::Lent, usize)>;

    /// Whether packets of this memory are taken the short way.
    fn takes_short(_: &Self::Lent) -> bool {
        true
    }

    /// Sees to it that a packet can be read there.
    fn bring(lent: &Self::Lent, peer: &Peer<Self>, offset: u32, len: u32);
}
