//! What the tests of this crate share.
#![allow(dead_code, reason = "each test file uses its part of it")]

pub mod process;
pub mod rig;
pub mod stranger;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use narrows::link::Name;
use narrows::platform::{Connected, Event, HuntError, Platform, Wait, Watch};
use narrows_host::{Host, Options, PeerWords};

/// Says over when it goes, however the test that holds it ends: a thread that works until then
/// would keep a failing test for ever.
pub struct Over<'a>(pub &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Far more than anything here takes.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Fails, with what to do about it, where two users cannot be played.
#[track_caller]
pub fn need_root() {
    assert!(rustix::process::geteuid().is_root(), "two users are needed: run this test as root");
}

/// A platform whose every turn at the rendezvous is the test's.
pub fn open(directory: &Path, name: &str) -> Host {
    Options::new(name).directory(directory).background(false).open().unwrap()
}

pub fn name(text: &str) -> Name {
    text.parse().unwrap()
}

pub fn no_words<'a>() -> std::iter::Empty<Watch<'a, PeerWords>> {
    std::iter::empty()
}

pub type News = Result<Event<Host>, (Name, HuntError)>;

/// The next news of a node.
pub fn next(host: &Host, how: Wait) -> News {
    let deadline = host.now() + PATIENCE;
    loop {
        if let Some(news) = host.event() {
            return news;
        }
        host.wait(no_words(), how, Some(deadline));
        assert!(host.now() < deadline, "no news");
    }
}

/// Lets a node do what it has to, without waiting for anything: one turn does a part of it.
pub fn pump(host: &Host) {
    for _ in 0..8 {
        host.wait(no_words(), Wait::Timer, Some(host.now()));
    }
}

/// Lets nodes of one thread work until `done`.
pub fn until(hosts: &[&Host], mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        hosts.iter().for_each(|host| pump(host));
        assert!(Instant::now() < deadline, "it does not happen");
    }
}

pub fn connected(news: News) -> Connected<Host> {
    match news {
        Ok(Event::Connected(link)) => link,
        Ok(Event::Lost { key, reason }) => panic!("link {key} lost: {reason:?}"),
        Err((name, error)) => panic!("hunt for {name}: {error:?}"),
    }
}

/// Links two nodes of one thread: the first hunts.
pub fn link(a: &Host, b: &Host, name_of_b: &str) -> (Connected<Host>, Connected<Host>) {
    a.hunt(&name(name_of_b)).unwrap();
    let (mut of_a, mut of_b) = (None, None);
    until(&[a, b], || {
        of_a = of_a.take().or_else(|| a.event());
        of_b = of_b.take().or_else(|| b.event());
        of_a.is_some() && of_b.is_some()
    });
    (connected(of_a.unwrap()), connected(of_b.unwrap()))
}
