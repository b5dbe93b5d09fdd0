//! Timers that always run: looks while nothing is awaited.

use std::time::Duration;

use crate::common::ground::inside;
use crate::common::world::{Pair, SECOND, Side, pair};
use narrows::endpoint::Node;
use narrows::platform::Platform as _;
use narrows::strategy::{Notification, Strategy};

const EVERY: Duration = Duration::from_millis(1);
/// Not a multiple of it.
const REST: Duration = Duration::from_micros(20_500);

fn by(text: &str) -> Strategy {
    text.parse().expect("a strategy")
}

/// A pair whose nodes sleep until they are rung for, unless a flow says something else.
fn asleep() -> Pair {
    let mut pair = pair();
    pair.a.set_notification(Notification::Interrupt);
    pair.b.borrow_mut().set_notification(Notification::Interrupt);
    pair
}

/// How many waits it takes to rest. Each but the last ends with a timer, if more than one.
fn waits(node: &mut Node<Side>) -> u64 {
    let every = EVERY.as_nanos() as u64;
    // What came before ends no wait.
    node.poll();
    node.arm();
    node.disarm();
    let until = node.platform().now() + REST;
    let mut waits = 0;
    loop {
        let before = node.platform().now();
        let left = until.since(before);
        if left.is_zero() {
            return waits;
        }
        node.wait_any(Some(left));
        node.poll();
        let after = node.platform().now();
        waits += 1;
        assert!(after >= until || after.0 / every > before.0 / every, "{before:?}, {after:?}");
    }
}

#[test]
fn a_timer_looks_whether_or_not_a_call_is_under_way() {
    inside(|| {
        for (text, most) in [("timer=1ms", 22), ("poll=1ms", 1), ("interrupt", 1)] {
            let mut pair = asleep();
            assert_eq!(waits(&mut pair.a), 1, "before {text}");
            pair.flow("echo", by(text), 64);
            let found = waits(&mut pair.a);
            assert!((most - most / 10..=most).contains(&found), "{found} waits by {text}");
        }
    });
}

#[test]
fn a_timer_ends_with_the_last_flow_that_looks_by_it() {
    inside(|| {
        let mut pair = asleep();
        let [one, other] = [(); 2].map(|()| pair.flow("echo", by("timer=1ms"), 64));
        pair.a.flow(one).close().expect("nothing is outstanding");
        assert!(waits(&mut pair.a) >= 20, "the other looks by it still");
        pair.a.flow(other).switch(by("interrupt"), SECOND).expect("it is possible");
        assert_eq!(waits(&mut pair.a), 1, "after a switch from it");
        pair.a.flow(other).switch(by("timer=1ms"), SECOND).expect("it is possible");
        assert!(waits(&mut pair.a) >= 20, "after a switch to it");
        pair.a.flow(other).close().expect("nothing is outstanding");
        assert_eq!(waits(&mut pair.a), 1, "after the last");
        pair.a.set_notification(Notification::Timer { every: EVERY });
        assert!(waits(&mut pair.a) >= 20, "of the node's own");
    });
}

#[test]
fn a_timer_ends_with_its_link() {
    inside(|| {
        let mut pair = asleep();
        pair.flow("echo", by("timer=1ms"), 64);
        pair.kill_b();
        waits(&mut pair.a);
        assert_eq!(waits(&mut pair.a), 1);
    });
}

#[test]
fn the_side_that_serves_looks_by_it_too_until_another_flow_is_rung_for() {
    inside(|| {
        let mut pair = asleep();
        let flow = pair.flow("echo", by("timer=1ms"), 64);
        let b = pair.b.clone();
        let before = b.borrow().platform().rings();
        pair.a.flow(flow).start(b"x").expect("room");
        assert!(waits(&mut b.borrow_mut()) >= 20);
        assert_eq!(b.borrow().platform().rings(), before, "nobody rings");
        // Beside it the timer goes on.
        pair.flow("echo", by("interrupt"), 64);
        assert!(waits(&mut b.borrow_mut()) >= 20);
        assert!(waits(&mut pair.a) >= 20);
    });
}

#[test]
fn a_response_is_met_by_the_look_behind_it_and_nobody_rings() {
    inside(|| {
        let mut pair = asleep();
        let flow = pair.flow("echo", by("timer=1ms"), 64);
        let (rings, mut response) = (pair.a.platform().rings(), [0; 64]);
        for _ in 0..10 {
            let before = pair.a.platform().now();
            pair.a.flow(flow).call(b"x", &mut response, SECOND).expect("an answer");
            let every = EVERY.as_nanos() as u64;
            let after = pair.a.platform().now();
            assert!(after.0 / every > before.0 / every, "{before:?}, {after:?}");
        }
        assert_eq!(pair.a.platform().rings(), rings);
    });
}
