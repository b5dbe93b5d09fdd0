//! Two cores under the model checker, and a link between them.

use std::rc::Rc;

use loom::sync::Notify;
use narrows::link::Name;
use narrows::memory::{Class, Layout, Shared};
use narrows::platform::{
    Event, HuntError, Instant, NoStorage, PeerWords, Platform, Wait, Watch, Woken,
};
use narrows::span::{Edge, Span};
use narrows::strategy::Placement;

use crate::memory::{LINE, Own, Peer, full_fence, region};

/// A core: a bell to sleep on.
pub struct Core(Rc<Notify>);

impl Platform for Core {
    type Own = Own;
    type Peer = Peer;
    type Bell = Rc<Notify>;
    type Slice<T> = Box<[T]>;
    type Books = Box<[u16]>;
    const LINE: u32 = LINE;

    fn storage<T>(&self, n: usize, make: impl FnMut(usize) -> T) -> Result<Box<[T]>, NoStorage> {
        Ok((0..n).map(make).collect())
    }

    fn books(&self, _own: &Own, len: usize) -> Result<Box<[u16]>, NoStorage> {
        self.storage(len, |_| 0)
    }
    fn wait<'a, S>(&self, mut set: S, how: Wait, _: Option<Instant>) -> Woken
    where
        S: Iterator<Item = Watch<'a, PeerWords<Self>>> + Clone,
    {
        if set.any(|watch| watch.changed()) {
            return Woken::Word;
        }
        match how {
            Wait::Spin | Wait::Look | Wait::Yield => loom::thread::yield_now(),
            Wait::Bell | Wait::Timer => self.0.wait(),
        }
        Woken::Bell
    }
    fn fence(&self) {
        full_fence();
    }
    fn ring(&self, bell: &Rc<Notify>) {
        bell.notify();
    }
    fn now(&self) -> Instant {
        Instant(0)
    }
    fn tracing(&self) -> bool {
        false
    }
    fn stamp(&self, _: Span, _: Edge, _: u32) {}
    fn hunt(&self, _: &Name) -> Result<(), HuntError> {
        Err(HuntError::Own)
    }
    fn give_up(&self, _: &Name) {}
    fn event(&self) -> Option<Result<Event<Self>, (Name, HuntError)>> {
        None
    }
    fn close(&self, _: u32) {}
}

/// One end of a link.
pub struct End {
    /// Its core.
    pub core: Core,
    /// Its regions.
    pub shared: Shared<Core>,
}

/// Both ends of a link of two slots and `blocks` blocks of 8 bytes each way.
pub fn link(blocks: u32) -> (End, End) {
    link_with(blocks, 0)
}

/// As [`link`], with `channels` channels of two slots.
pub fn link_with(blocks: u32, channels: u16) -> (End, End) {
    let class = Class { placement: Placement::Internal, size: 8, count: blocks };
    let layout =
        Layout::new(LINE, 2, &[class]).and_then(|layout| layout.with_channels(channels, 2));
    let layout = layout.expect("a small layout");
    let regions = [(); 2].map(|()| region(&layout));
    for (own, _) in &regions {
        layout.format(own).expect("the region has the layout's size");
    }
    let [(one, one_seen), (other, other_seen)] = regions;
    let bells = [(); 2].map(|()| Rc::new(Notify::new()));
    let end = |at: usize, own, peer| {
        let core = Core(bells[at].clone());
        let shared = Shared::new(&core, own, peer, bells[1 - at].clone()).expect("a link");
        End { core, shared }
    };
    (end(0, one, other_seen), end(1, other, one_seen))
}

/// Runs a model in every interleaving of at most five forced switches, or as many as
/// `LOOM_MAX_PREEMPTIONS` says. Every fault that `ci/mutate` makes needs fewer.
pub fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(5);
    builder.check(model);
}
