//! A peer that dies or closes.

use crate::common::ground::inside;
use crate::common::world::{SECOND, all, bytes, in_use, name, open, pair, pair_with, serve};
use narrows::endpoint::{
    Address, CallError, FlowError, Limits, LinkError, Message, Select, SendError, What,
};
use narrows::memory::Kind;
use narrows::platform::Lost;
use narrows::strategy::{Strategy, Transfer};

#[test]
fn what_the_dead_had_not_taken_comes_back_in_order() {
    inside(|| {
        for transfer in [Transfer::Copy, Transfer::SingleCopy, Transfer::InPlace] {
            let mut pair = open();
            pair.a.set_strategy(Strategy { transfer, ..Strategy::default() });
            let to = Address { link: pair.to_b, port: 1 };
            for tag in 0..5 {
                pair.a
                    .try_send(2, to, Message::new(&bytes(40, tag.into())).tag(tag))
                    .expect("room");
            }
            pair.b.borrow_mut().poll();
            for tag in 5..15 {
                let len = 30 * usize::from(tag - 4);
                pair.a
                    .try_send(2, to, Message::new(&bytes(len, tag.into())).tag(tag))
                    .expect("room");
            }
            assert_eq!(pair.a.link(pair.to_b).undelivered(|_, _| panic!("it is up")), Ok(0));
            pair.kill_b();
            assert_eq!(pair.a.link(pair.to_b).check(), Err(LinkError::Gone(Lost::Died)));
            let mut tag = 5;
            let count = pair.a.link(pair.to_b).undelivered(|descriptor, source| {
                let ports = (descriptor.source, descriptor.target, descriptor.tag);
                assert_eq!((descriptor.kind, ports), (Kind::Message, (2, 1, tag)));
                assert!(all(source) == bytes(30 * usize::from(tag - 4), tag.into()));
                tag += 1;
            });
            assert_eq!((count, tag), (Ok(10), 15));
            assert_eq!(pair.a.try_send(2, to, b"x"), Err(SendError::Gone(Lost::Died)));
            assert_eq!(pair.a.link(pair.to_b).blocks_in_use(), Ok((0, 0)));
        }
    });
}

#[test]
fn calls_end_with_the_peer_behind_the_responses_that_arrived() {
    inside(|| {
        for granularity in [1, 3] {
            let mut pair = pair();
            let strategy = Strategy { granularity, ..Strategy::default() };
            let flow = pair.flow("echo", strategy, 100);
            let reserved = pair.a.flow(flow).reserve(100).expect("a block");
            for call in 0..6 {
                pair.a.flow(flow).start(&bytes(90, call)).expect("room");
            }
            serve(&mut pair.b.borrow_mut());
            for call in 6..10 {
                pair.a.flow(flow).start(&bytes(90, call)).expect("room");
            }
            pair.kill_b();
            let mut to = [0; 100];
            for call in 0..6_u16 {
                let done = pair.a.flow(flow).finish(&mut to, SECOND).expect("it arrived");
                assert_eq!((done.number, to[..90] == bytes(90, call.into())), (call, true));
            }
            let gone = Err(CallError::Gone(Lost::Died));
            assert_eq!(pair.a.flow(flow).finish(&mut to, None), gone);
            assert_eq!(pair.a.flow(flow).complete(|_, _| {}), Err(CallError::Gone(Lost::Died)));
            assert_eq!(pair.a.flow(flow).start(b"x"), Err(SendError::Gone(Lost::Died)));
            let called = pair.a.flow(flow).call(b"x", &mut to, SECOND);
            assert_eq!(called, Err(CallError::Gone(Lost::Died)), "calls are outstanding");
            assert_eq!(pair.a.flow(flow).switch(strategy, None), Err(FlowError::Gone(Lost::Died)));
            pair.a.cancel(reserved);
            assert_eq!(pair.a.link(pair.to_b).blocks_in_use(), Ok((0, 0)));
            pair.a.flow(flow).close().expect("over");
        }
    });
}

#[test]
fn waits_end_with_the_peer_though_the_inbox_is_full() {
    inside(|| {
        let limits = Limits { inbox: 3, ..Limits::default() };
        let mut pair = pair_with(limits, Limits::default(), |_| {});
        pair.a.open(1).expect("free");
        pair.b.borrow_mut().open(1).expect("free");
        let flow = pair.flow("echo", Strategy::default(), 10);
        let to_a = Address { link: pair.to_a, port: 1 };
        for tag in 0..8 {
            pair.b
                .borrow_mut()
                .try_send(1, to_a, Message::new(b"in the way").priority(0).tag(tag))
                .expect("room");
        }
        pair.a.flow(flow).start(b"x").expect("room");
        serve(&mut pair.b.borrow_mut());
        pair.kill_b();
        assert_eq!(pair.a.flow(flow).finish(&mut [0; 10], None), Err(CallError::Gone(Lost::Died)));
        for tag in 0..8 {
            let got = pair.a.receive(1, &Select::default(), None).expect("there");
            assert_eq!(got.tag, tag);
            pair.a.release(got);
        }
        assert_eq!(pair.a.flow(flow).finish(&mut [0; 10], None).map(|done| done.len), Ok(1));
    });
}

#[test]
fn a_callee_forgets_the_requests_of_the_dead() {
    inside(|| {
        let limits = Limits { inbox: 4, ..Limits::default() };
        let mut pair = pair_with(Limits::default(), limits, |_| {});
        pair.b.borrow_mut().open(1).expect("free");
        let flow = pair.flow("echo", Strategy::default(), 10);
        pair.b.borrow_mut().link(pair.to_a).attach(1).expect("room");
        for _ in 0..10 {
            pair.a.flow(flow).start(b"x").expect("room");
        }
        pair.b.borrow_mut().poll();
        pair.kill_a();
        let mut b = pair.b.borrow_mut();
        b.poll();
        assert_eq!(serve(&mut b), 0);
        let told = b.try_receive(1, &Select::default()).expect("open").expect("told");
        assert_eq!(told.what, What::PeerGone(Lost::Died));
        b.release(told);
        assert_eq!(b.link(pair.to_a).blocks_in_use(), Ok((0, 0)));
    });
}

#[test]
fn the_next_life_is_linked_to_and_names_of_the_last_stay_dead() {
    inside(|| {
        let mut pair = open();
        let (old, to) = (pair.to_b, Address { link: pair.to_b, port: 1 });
        let flow = pair.flow("echo", Strategy::default(), 10);
        pair.b
            .borrow_mut()
            .try_send(1, Address { link: pair.to_a, port: 1 }, Message::new(b"x").tag(7))
            .expect("room");
        pair.a.poll();
        let held = pair.a.try_receive(1, &Select::default()).expect("open").expect("sent");
        for life in 0..20 {
            pair.kill_b();
            let mut b = pair.world.node("b", Limits::default());
            b.open(1).expect("free");
            let link = pair.a.hunt(&name("b"), SECOND).expect("alive again");
            let before = pair.a.link(pair.to_b).peer().expect("not closed").1;
            assert_ne!(pair.a.link(link).peer().expect("up").1, before);
            pair.a.link(pair.to_b).close();
            assert_eq!(pair.a.link(pair.to_b).check(), Err(LinkError::Unknown));
            assert_eq!(pair.a.link(old).check(), Err(LinkError::Unknown));
            assert_eq!(pair.a.try_send(1, to, b"x"), Err(SendError::Unknown));
            assert_eq!(pair.a.flow(flow).start(b"x"), Err(SendError::Unknown));
            assert!(pair.a.read(&held, 0, &mut [0]).is_err());
            assert_eq!(pair.a.links().count(), 1, "life {life}");
            pair.a
                .try_send(1, Address { link, port: 1 }, Message::new(b"hello").tag(life))
                .expect("room");
            b.poll();
            let got = b.try_receive(1, &Select::default()).expect("open").expect("sent");
            assert_eq!(got.tag, life);
            pair.to_a = got.from.link;
            b.release(got);
            pair.to_b = link;
        }
        pair.a.release(held);
    });
}

#[test]
fn closing_a_link_tells_the_peer_and_keeps_nothing() {
    inside(|| {
        let mut pair = open();
        let flow = pair.flow("echo", Strategy { granularity: 4, ..Strategy::default() }, 10);
        pair.a.flow(flow).start(b"gathered").expect("room");
        let to_a = Address { link: pair.to_a, port: 1 };
        pair.b.borrow_mut().try_send(1, to_a, &bytes(100, 0)).expect("room");
        pair.a.poll();
        pair.a.flow(flow).begin_switch(Strategy::default()).expect("runs");
        pair.a.link(pair.to_b).close();
        let nothing = pair.a.try_receive(1, &Select::default());
        assert_eq!(nothing, Ok(None));
        let mut b = pair.b.borrow_mut();
        b.poll();
        assert_eq!(b.link(pair.to_a).check(), Err(LinkError::Gone(Lost::Closed)));
        assert_eq!(in_use(&mut b, pair.to_a), (0, 0));
    });
}

#[test]
fn a_reservation_of_a_lost_link_is_worth_nothing() {
    inside(|| {
        let mut pair = open();
        let flow = pair.flow("echo", Strategy::default(), 10);
        let mut reserved = pair.a.flow(flow).reserve(100).expect("a block");
        pair.kill_b();
        let error = pair.a.flow(flow).start(&mut reserved);
        assert_eq!(error, Err(SendError::Gone(Lost::Died)));
        assert_eq!(pair.a.flow(flow).reserve(1).err(), Some(SendError::Gone(Lost::Died)));
        pair.a.link(pair.to_b).close();
        assert!(pair.a.write(&mut reserved, 0, b"x").is_err());
        pair.a.cancel(reserved);
    });
}

#[test]
fn who_waits_for_room_does_not_wait_for_the_dead() {
    inside(|| {
        for call in [false, true] {
            let mut pair = open();
            let flow = pair.flow("echo", Strategy::default(), 10);
            let to = pair.b_port(1);
            while pair.a.try_send(1, to, b"x").is_ok() {}
            let waits = std::rc::Rc::new(std::cell::Cell::new(0));
            let count = waits.clone();
            pair.bury_b();
            pair.a.platform().on_wait(move || count.set(count.get() + 1));
            // Nobody knows of the death yet: the first attempt finds the ring full, and what is
            // looked at before the wait finds the link ended.
            if call {
                let ended = pair.a.flow(flow).call(b"x", &mut [0; 10], SECOND);
                assert_eq!(ended, Err(CallError::Gone(Lost::Died)));
            } else {
                assert_eq!(pair.a.send(1, to, b"x", SECOND), Err(SendError::Gone(Lost::Died)));
            }
            assert_eq!(waits.get(), 0);
        }
    });
}
