//! A node that has no place for one more link.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::Over;
use narrows::endpoint::{Limits, LinkError, What};
use narrows::platform::Lost;
use narrows_host::Options;

const PORT: u16 = 1;
const WITHIN: Option<Duration> = Some(Duration::from_secs(20));
const PLACES: usize = 3;

/// The ninth of a publisher's subscribers was linked, and then told that the link was closed.
#[test]
fn a_peer_that_there_is_no_place_for_is_told_so_and_the_others_notice_nothing() {
    let place = tempfile::tempdir().expect("a directory");
    let options = |name: &str| Options::new(name).directory(place.path());
    let hub = "hub".parse().expect("a name");
    let limits = Limits { links: PLACES, ..Limits::default() };
    let mut server = options("hub").limits(limits).node().expect("a node");
    let done = &AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                server.wait_any(Some(Duration::from_millis(1)));
                server.poll();
            }
        });
        let _over = Over(done);
        let mut subscribers: Vec<_> = (0..PLACES)
            .map(|number| {
                let mut node = options(&format!("subscriber-{number}")).node().expect("a node");
                let link = node.hunt(&hub, WITHIN).expect("a place");
                (node, link)
            })
            .collect();
        let mut late = options("late").node().expect("a node");
        late.open(PORT).expect("a port");
        let told = match late.hunt(&hub, WITHIN) {
            Err(LinkError::Gone(reason)) => reason,
            // It is told when it looks next.
            Ok(link) => match late.link(link).attach(PORT) {
                Err(LinkError::Gone(reason)) => reason,
                attached => {
                    attached.expect("the link is up");
                    match late.receive_into(PORT, &mut [], WITHIN).expect("a notice").what {
                        What::PeerGone(reason) => reason,
                        what => panic!("{what:?}"),
                    }
                }
            },
            Err(error) => panic!("{error}"),
        };
        assert_eq!(told, Lost::Full);
        for (node, link) in &mut subscribers {
            node.poll();
            assert_eq!(node.link(*link).check(), Ok(()));
        }
        // Where one goes there is a place again.
        drop(subscribers.pop());
        let again = loop {
            match late.hunt(&hub, WITHIN) {
                Err(LinkError::Gone(Lost::Full)) => {}
                Ok(link) if late.link(link).check().is_ok() => {
                    late.wait_any(Some(Duration::from_millis(50)));
                    late.poll();
                    if late.link(link).check().is_ok() {
                        break Ok(());
                    }
                }
                Ok(_) => {}
                Err(error) => break Err(error),
            }
        };
        assert_eq!(again, Ok(()));
    });
}
