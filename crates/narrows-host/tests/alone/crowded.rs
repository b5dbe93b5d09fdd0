//! Two nodes that share one core: neither keeps the other from the answer that it waits for.

use std::time::Duration;

use crate::common::process::alone;
use narrows::endpoint::Address;
use narrows::strategy::Notification;
use narrows_host::{Node, Options, system};
use rustix::time::{ClockId, Timespec, clock_gettime};

const PORT: u16 = 1;
const TRIPS: u32 = 100;
const WITHIN: Option<Duration> = Some(Duration::from_secs(60));

/// Processor time that both threads of a round trip have used, which the machine's other work does
/// not change.
fn used() -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(tv_sec.cast_unsigned(), u32::try_from(tv_nsec).expect("less than a second"))
}

fn node(name: &str, place: &std::path::Path, core: usize, how: Notification) -> Node {
    let mut node = Options::new(name).directory(place).core(core).node().expect("a node");
    node.set_notification(how);
    node.open(PORT).expect("a port");
    node
}

/// What round trips between two threads take of the one core that both run on.
fn trips(core: usize, how: Notification) -> Duration {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path();
    // The echo's node lives until the caller has the last answer.
    let done = &std::sync::Barrier::new(2);
    std::thread::scope(|threads| {
        threads.spawn(move || {
            let mut echo = node("echo", path, core, how);
            let link = echo.hunt(&"caller".parse().expect("a name"), WITHIN).expect("the caller");
            let mut bytes = [0; 8];
            for _ in 0..=TRIPS {
                echo.receive_into(PORT, &mut bytes, WITHIN).expect("a message");
                echo.send(PORT, Address { link, port: PORT }, &bytes, WITHIN).expect("room");
            }
            done.wait();
        });
        let mut caller = node("caller", path, core, how);
        let link = caller.hunt(&"echo".parse().expect("a name"), WITHIN).expect("the echo");
        let mut trip = |n: u32| {
            let sent = u64::from(n).to_ne_bytes();
            caller.send(PORT, Address { link, port: PORT }, &sent, WITHIN).expect("room");
            let mut bytes = [0; 8];
            caller.receive_into(PORT, &mut bytes, WITHIN).expect("an answer");
            assert_eq!(bytes, sent);
        };
        // The first waits tell each where the other is.
        trip(0);
        let before = used();
        (1..=TRIPS).for_each(trip);
        let took = used() - before;
        done.wait();
        took
    })
}

#[test]
fn looking_takes_little_more_of_a_core_that_both_share_than_sleeping_does() {
    let _alone = alone();
    let core = system::cores()[0];
    let asleep = trips(core, Notification::Interrupt);
    let longest = Duration::from_micros(500);
    let hybrid = trips(core, Notification::Hybrid { longest });
    // With looks: a thousand microseconds a trip; a sleep and its end take some ten.
    assert!(hybrid < asleep * 8, "{hybrid:?} by hybrid, {asleep:?} by interrupt");
    // Without rests: the scheduler's slice at each end of a trip, which is milliseconds.
    let spinning = trips(core, Notification::Spin);
    assert!(spinning < asleep * 8, "{spinning:?} spinning, {asleep:?} by interrupt");
}
