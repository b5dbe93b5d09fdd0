//! One suite that every driver passes, on every platform: each check runs two nodes that are
//! linked, the *caller* and the *callee*, each in a thread of control of its own.
//!
//! A platform's tests implement [`Rig`] and call [`run`] for every strategy of [`strategies`]. The
//! tests of a medium of frames implement [`frames::Medium`].

mod calls;
mod channels;
pub mod frames;
mod messages;

use core::time::Duration;

use crate::endpoint::Node;
use crate::link::LinkId;
use crate::platform::Platform;
use crate::strategy::{Acknowledgement, Notification, Parts, Placement, Strategy, Transfer};

/// Longer than anything in here takes, unless something is lost.
const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));

/// What one side does in a check.
pub type Side<'a, P> = &'a mut (dyn FnMut(&mut Node<P>, LinkId) + Send);

/// A platform that can run two linked nodes.
pub trait Rig {
    /// The platform.
    type Platform: Platform;

    /// Makes two nodes that are linked, with default limits, the standard layout and two channels,
    /// runs a side on each until both are done, and passes on a panic of either. Nodes do not
    /// outlive the run: the one that is done first must not close its link before the other is
    /// done.
    fn run(&self, caller: Side<'_, Self::Platform>, callee: Side<'_, Self::Platform>);
}

/// Every driver with every notification in every placement.
pub fn strategies() -> impl Iterator<Item = Strategy> {
    let drivers = [
        (Transfer::Copy, Acknowledgement::Interrupt),
        (Transfer::Copy, Acknowledgement::Lazy),
        (Transfer::Copy, Acknowledgement::Batched),
        (Transfer::SingleCopy, Acknowledgement::Batched),
        (Transfer::InPlace, Acknowledgement::Lazy),
        (Transfer::CopyEngine, Acknowledgement::Batched),
    ];
    let notifications = [
        Notification::Interrupt,
        Notification::Spin,
        Notification::Poll { every: Duration::from_micros(200) },
        Notification::Timer { every: Duration::from_micros(200) },
        Notification::Hybrid { longest: Duration::from_micros(50) },
        Notification::Coalesced { messages: 4, within: Duration::from_micros(200) },
    ];
    let placements = [Placement::Internal, Placement::External];
    drivers.into_iter().flat_map(move |(transfer, acknowledgement)| {
        notifications.into_iter().flat_map(move |notification| {
            placements.into_iter().map(move |placement| Strategy {
                placement,
                transfer,
                notification,
                callee: None,
                acknowledgement,
                granularity: 1,
                parts: Parts::WHOLE,
                fragment: 4096,
            })
        })
    })
}

/// Runs every check with one strategy.
///
/// # Panics
/// When the platform, a driver or the stack breaks a promise: the message says which.
pub fn run<R: Rig>(rig: &R, strategy: Strategy) {
    messages::there_and_back(rig, strategy);
    messages::pressed(rig, strategy);
    calls::blocking(rig, strategy);
    calls::pipelined(rig, strategy);
    calls::gathered(rig, strategy);
    calls::switched(rig, strategy);
    channels::pressed(rig, strategy);
}

/// Waits until every block is back. A peer returns what it is done with at the latest when it
/// waits.
fn all_back<P: Platform>(node: &mut Node<P>, link: LinkId, strategy: Strategy) {
    for _ in 0..20_000 {
        if node.link(link).blocks_in_use() == Ok((0, 0)) {
            return;
        }
        node.wait_any(Some(Duration::from_millis(1)));
    }
    assert_eq!(node.link(link).blocks_in_use(), Ok((0, 0)), "{strategy}: blocks are missing");
}

/// Sizes at the edges: nothing, around what fits a slot, around block sizes.
const SIZES: [usize; 12] = [0, 1, 15, 16, 47, 48, 49, 64, 65, 1024, 8193, 65536];

/// Fills a payload so that another message's, or another part's, cannot pass for it.
fn fill(bytes: &mut [u8], number: usize) {
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = (at.wrapping_mul(31) ^ (at >> 8)).wrapping_add(number.wrapping_mul(17)) as u8;
    }
}

/// Checks what [`fill`] made.
fn check(bytes: &[u8], number: usize, what: &str) {
    for (at, byte) in bytes.iter().enumerate() {
        let expected = (at.wrapping_mul(31) ^ (at >> 8)).wrapping_add(number.wrapping_mul(17));
        assert_eq!(*byte, expected as u8, "{what}: byte {at} of message {number}");
    }
}
