//! The other end of a subject's links, whose calls do not fail: it sends messages back, answers
//! calls, and calls when it is asked to.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use narrows::endpoint::{Address, Function, Received};
use narrows::link::LinkId;
use narrows_host::{Node, Options};

use super::common::{PATIENCE, name};
use super::subject::{PORT, echo};

/// How long the partner sleeps at most before it looks at what it was told.
const PAUSE: Duration = Duration::from_millis(5);
/// What the partner gives one operation. Shorter than what a subject gives its own: the subject may
/// be gone, or between two attempts.
const WITHIN: Duration = Duration::from_secs(1);

pub struct Partner {
    node: Node,
    hunts: bool,
}

impl Partner {
    pub fn open(directory: &Path, hunts: bool) -> Partner {
        let mut node = Options::new("partner").directory(directory).node().unwrap();
        node.open(PORT).unwrap();
        Partner { node, hunts }
    }

    /// Works until `over`, and then until its links have ended.
    ///
    /// # Errors
    /// A link stays.
    pub fn work(mut self, over: &AtomicBool) -> Result<(), String> {
        while !over.load(Ordering::Acquire) {
            if self.hunts && self.node.links().next().is_none() {
                // What fails is tried again.
                let _ = self.node.try_hunt(&name("subject"));
            }
            self.turn();
        }
        self.node.give_up(&name("subject"));
        let end = Instant::now() + PATIENCE;
        while self.node.links().next().is_some() {
            self.turn();
            if Instant::now() > end {
                return Err("the partner still has a link with who is gone".into());
            }
        }
        Ok(())
    }

    fn turn(&mut self) {
        let mut run = echo;
        let _ = self.node.serve(&mut [Function { name: name("echo"), run: &mut run }], Some(PAUSE));
        let mut bytes = vec![0; 60_000];
        while let Some(came) = self.node.try_receive_into(PORT, &mut bytes).unwrap() {
            self.answer(came, &bytes[..came.len]);
        }
    }

    /// Answers a message. That its sender has gone meanwhile is no fault of this node.
    fn answer(&mut self, came: Received, bytes: &[u8]) {
        if bytes != b"call" {
            let _ = self.node.send(PORT, came.from, bytes, Some(WITHIN));
        } else if self.call(came.from.link).is_some() {
            let to = Address { link: came.from.link, port: PORT };
            let _ = self.node.send(PORT, to, b"called", Some(WITHIN));
        }
    }

    fn call(&mut self, link: LinkId) -> Option<()> {
        let strategy = "copy/interrupt".parse().unwrap();
        let flow = self.node.open_flow(link, &name("echo"), strategy, 64, Some(WITHIN)).ok()?;
        let mut back = [0; 64];
        let done = self.node.flow(flow).call(b"back", &mut back, Some(WITHIN));
        let _ = self.node.flow(flow).close();
        assert_eq!(&back[..done.ok()?], b"back");
        Some(())
    }
}
