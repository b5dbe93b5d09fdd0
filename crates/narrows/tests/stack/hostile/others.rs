//! What one peer asks for by the rules must not be at the cost of others either.

use std::cell::RefCell;
use std::time::Duration;

use narrows::endpoint::{Address, Limits, Select, What};
use narrows::memory::Layout;
use narrows::platform::{Lost, Platform};
use narrows::strategy::{Notification, Strategy};

use crate::common::forge::{Forger, Random};
use crate::common::heap::Heap;
use crate::common::world::{SECOND, World, name, small};

/// How long a message takes whose sender opened no flow, while another peer asks to be polled once
/// an hour. Which of the two was there first?
fn beside_slow_polling(slow_first: bool) -> Duration {
    let world = World::new();
    let mut node = world.node("node", Limits::default());
    node.open(1).expect("free");
    let mut slow = world.node("slow", Limits::default());
    let mut honest = world.node("honest", Limits::default());
    honest.open(1).expect("free");
    let mut back = None;
    for turn in [slow_first, !slow_first] {
        if !turn {
            back = Some(honest.hunt(&name("node"), SECOND).expect("it is there"));
            node.poll();
            continue;
        }
        let link = slow.hunt(&name("node"), SECOND).expect("it is there");
        let hour = Notification::Poll { every: Duration::from_secs(3600) };
        let lazy = Strategy { notification: hour, ..Strategy::default() };
        let flow = slow.begin_flow_to(Address { link, port: 1 }, lazy).expect("room");
        for _ in 0..2 {
            node.poll();
            slow.poll();
        }
        assert_eq!(slow.flow(flow).is_ready(), Ok(true));
    }
    let link = back.expect("they are linked");
    let honest = RefCell::new(honest);
    node.platform().on_wait(move || {
        let _ = honest.borrow_mut().try_send(1, Address { link, port: 1 }, b"now");
    });
    let before = node.platform().now();
    let day = Duration::from_secs(86400);
    let got = node.receive(1, &Select::default(), Some(day)).expect("sent");
    let took = node.platform().now().since(before);
    node.release(got);
    node.platform().off_wait();
    took
}

#[test]
fn a_peer_that_asks_for_slow_polling_does_not_slow_those_that_were_there() {
    let took = beside_slow_polling(false);
    assert!(took < Duration::from_secs(1), "of the clock of this test, {took:?} passed");
}

#[test]
fn a_peer_that_asks_for_slow_polling_does_not_slow_those_that_come_later() {
    let took = beside_slow_polling(true);
    assert!(took < Duration::from_secs(1), "of the clock of this test, {took:?} passed");
}

#[test]
fn a_peer_that_writes_on_after_its_end_does_not_put_off_the_notice() {
    let world = World::new();
    let mut node = world.node("node", Limits::default());
    node.open(1).expect("free");
    let mut liar = world.node("liar", Limits::default());
    let wide = Layout::new(64, 256, small().classes()).expect("possible");
    liar.platform().state.layout.set(wide);
    let link = node.hunt(&name("liar"), SECOND).expect("it is there");
    liar.poll();
    node.link(link).attach(1).expect("room");
    let (own, victim) = (world.region("liar", "node"), world.region("node", "liar"));
    let pen: Forger<Heap, Heap> = Forger::new(Random::new(1), wide, own, victim);
    drop(liar);
    world.kill("liar");
    for _ in 0..100 {
        pen.fill([1 << 5, 9, 0xffff << 16]);
        node.poll();
        pen.fill([1 << 5, 9, 0xffff << 16]);
        if let Some(lent) = node.try_receive(1, &Select::default()).expect("open") {
            assert_eq!(lent.what, What::PeerGone(Lost::Died));
            node.release(lent);
            return;
        }
    }
    panic!("nobody was told");
}

#[test]
fn a_dead_peers_messages_for_closed_ports_do_not_put_off_the_notice() {
    let world = World::new();
    let mut node = world.node("node", Limits { inbox: 7, ..Limits::default() });
    node.open(1).expect("free");
    let mut other = world.node("other", Limits::default());
    other.open(1).expect("free");
    let back = other.hunt(&name("node"), SECOND).expect("it is there");
    let link = node.hunt(&name("other"), SECOND).expect("it is there");
    node.link(link).attach(1).expect("room");
    for _ in 0..12 {
        other.try_send(1, Address { link: back, port: 9 }, b"nobody").expect("room");
    }
    world.kill("other");
    (0..10).for_each(|_| node.poll());
    let told = node.try_receive(1, &Select::default()).expect("open").expect("told");
    assert_eq!(told.what, What::PeerGone(Lost::Died));
    node.release(told);
}
