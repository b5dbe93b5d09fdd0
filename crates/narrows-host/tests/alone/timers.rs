//! Timers that always run, of two nodes of this machine.

use std::time::{Duration, Instant};

use crate::common::process::alone;
use crate::common::{PATIENCE, name};
use narrows::endpoint::{Function, Sink, Source};
use narrows::platform::Platform as _;
use narrows::strategy::Notification;
use narrows_host::{Node, Options};

const EVERY: Duration = Duration::from_millis(2);
const LOOKS: u32 = 20;

/// How often its timer has ended.
fn ends(node: &Node) -> u64 {
    node.platform().now().0 / EVERY.as_nanos() as u64
}

/// Waits for nothing: the timer ends the waits, long before their deadline, and hardly anything
/// else does.
fn looks(node: &mut Node) {
    // What came before ends no wait.
    node.arm();
    node.disarm();
    let (began, mut early) = (Instant::now(), 0);
    for _ in 0..LOOKS {
        let before = ends(node);
        node.wait_any(Some(PATIENCE));
        node.poll();
        early += u32::from(ends(node) == before);
    }
    assert!(early <= LOOKS / 10, "{early} of {LOOKS} waits ended before the timer did");
    assert!(began.elapsed() < PATIENCE, "no timer ended the waits");
}

#[test]
fn a_node_looks_by_its_timer_before_a_call_and_behind_it() {
    let _alone = alone();
    let place = tempfile::tempdir().unwrap();
    let node = |name: &str| {
        let mut node = Options::new(name).directory(place.path()).node().unwrap();
        node.set_notification(Notification::Interrupt);
        node
    };
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let mut callee = node("callee");
            let mut echo = |request: &dyn Source, response: &mut dyn Sink| {
                let mut byte = [0];
                request.read(0, &mut byte)?;
                response.write(0, &byte)
            };
            let mut library = [Function { name: name("echo"), run: &mut echo }];
            let link = callee.hunt(&name("caller"), Some(PATIENCE)).unwrap();
            while callee.link(link).check().is_ok() {
                let _ = callee.serve(&mut library, Some(PATIENCE));
            }
        });
        let mut caller = node("caller");
        let link = caller.hunt(&name("callee"), Some(PATIENCE)).unwrap();
        let by = "timer=2ms".parse().unwrap();
        let flow = caller.open_flow(link, &name("echo"), by, 8, Some(PATIENCE)).unwrap();
        // What the other side still says about the link.
        caller.poll();
        looks(&mut caller);
        let mut response = [0; 8];
        for number in 0..3 {
            let before = ends(&caller);
            let len = caller.flow(flow).call(&[number], &mut response, Some(PATIENCE)).unwrap();
            assert_eq!(response[..len], [number]);
            assert!(ends(&caller) > before, "the response was not met by a look");
        }
        looks(&mut caller);
        caller.link(link).close();
    });
}
