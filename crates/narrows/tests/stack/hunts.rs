//! What becomes of a hunt: a name that comes later, one that nobody waits for any more, and a peer
//! that ends the link at once.

use std::time::Duration;

use crate::common::world::{SECOND, World, name, pair};
use narrows::endpoint::{Address, FlowError, Limits, LinkError, Message, Select, SendError};
use narrows::platform::{HuntError, Lost};
use narrows::strategy::Strategy;

const BRIEFLY: Option<Duration> = Some(Duration::from_micros(5));

#[test]
fn a_hunt_goes_on_until_it_is_given_up() {
    for given_up in [false, true] {
        let world = World::new();
        let mut a = world.node("a", Limits::default());
        assert_eq!(a.try_hunt(&name("b")), Ok(None));
        if given_up {
            a.give_up(&name("b"));
        }
        let _b = world.node("b", Limits::default());
        a.poll();
        assert_eq!(a.links().count(), usize::from(!given_up));
        if !given_up {
            let link = a.try_hunt(&name("b"));
            assert_eq!(link, Ok(a.links().next().map(|(link, _)| link)));
        }
    }
}

#[test]
fn a_peer_that_ends_the_link_at_once_ends_the_hunt_with_its_reason() {
    for who in ["b", "c"] {
        let world = World::new();
        let mut a = world.node("a", Limits::default());
        let (inside, mut done) = (world.clone(), false);
        if who == "c" {
            assert_eq!(a.try_hunt(&name("c")), Ok(None));
        }
        a.platform().on_wait(move || {
            if !std::mem::replace(&mut done, true) {
                let node = inside.node(who, Limits::default());
                inside.kill(who);
                drop(node);
            }
        });
        // Only the one that is hunted ends the hunt.
        let expected = if who == "b" { LinkError::Gone(Lost::Died) } else { LinkError::Deadline };
        assert_eq!(a.hunt(&name("b"), SECOND), Err(expected), "{who}");
    }
}

#[test]
fn a_link_that_ended_before_does_not_end_a_hunt() {
    let mut pair = pair();
    pair.kill_b();
    assert_eq!(pair.a.hunt(&name("b"), BRIEFLY), Err(LinkError::Deadline));
    let (inside, mut made) = (pair.world.clone(), None);
    pair.a.platform().on_wait(move || {
        let _ = made.get_or_insert_with(|| inside.node("b", Limits::default()));
    });
    let next = pair.a.hunt(&name("b"), SECOND).expect("the next life");
    assert_ne!(next, pair.to_b);
}

#[test]
fn a_link_that_ended_keeps_its_place_while_a_message_of_it_waits() {
    let limits = Limits { links: 1, ..Limits::default() };
    let mut pair =
        crate::common::world::opened(crate::common::world::pair_with(limits, limits, |_| {}));
    let to = Address { link: pair.to_a, port: 1 };
    pair.b.borrow_mut().try_send(1, to, Message::new(b"last").tag(9)).expect("room");
    pair.kill_b();
    let _c = pair.world.node("c", limits);
    assert!(matches!(pair.a.hunt(&name("c"), BRIEFLY), Err(LinkError::Hunt(_))));
    let last = pair.a.try_receive(1, &Select::default()).expect("open").expect("it waits");
    assert_eq!(last.tag, 9);
    pair.a.release(last);
    assert!(pair.a.hunt(&name("c"), SECOND).is_ok());
}

#[test]
fn a_flow_says_why_its_peer_is_gone_when_another_link_has_its_place() {
    let limits = Limits { links: 1, ..Limits::default() };
    let mut pair = crate::common::world::pair_with(limits, limits, |_| {});
    let flow = pair.flow("echo", Strategy::default(), 10);
    pair.kill_b();
    let _c = pair.world.node("c", limits);
    assert!(pair.a.hunt(&name("c"), SECOND).is_ok());
    let gone = FlowError::Gone(Lost::Died);
    assert_eq!(pair.a.flow(flow).is_ready(), Err(gone));
    assert_eq!(pair.a.flow(flow).begin_switch(Strategy::default()), Err(gone));
    assert_eq!(pair.a.flow(flow).start(b"x"), Err(SendError::Gone(Lost::Died)));
}

#[test]
fn the_failure_of_the_hunt_that_is_waited_for_is_told_though_others_failed_before() {
    // As many failures are kept as there may be links.
    let limits = Limits { links: 1, ..Limits::default() };
    let mut pair = crate::common::world::pair_with(limits, Limits::default(), |_| {});
    let mut c = pair.world.node("c", Limits::default());
    let _ = c.hunt(&name("a"), BRIEFLY);
    pair.a.poll();
    let _d = pair.world.node("d", Limits::default());
    let full = Err(LinkError::Hunt(HuntError::TooManyLinks));
    assert_eq!(pair.a.hunt(&name("d"), BRIEFLY), full);
}
