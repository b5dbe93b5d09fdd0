//! Calls that are on their way: many at once, late, in batches, and where there is no room for
//! them.

use std::time::Duration;

use crate::common::ground::inside;
use crate::common::world::{Pair, SECOND, all, bytes, name, pair, pair_with, serve};
use narrows::endpoint::{
    Address, CallError, Completed, Failure, FlowError, Limits, Select, SendError, Source,
};
use narrows::strategy::{Notification, Strategy, Transfer};

const TRANSFERS: [Transfer; 4] =
    [Transfer::Copy, Transfer::SingleCopy, Transfer::InPlace, Transfer::CopyEngine];

fn by(transfer: Transfer, granularity: u16) -> Strategy {
    Strategy { transfer, granularity, ..Strategy::default() }
}

/// Lets `a` wait without anybody serving.
fn alone(pair: &Pair) {
    pair.a.platform().off_wait();
}

#[test]
fn a_late_response_is_dropped_and_the_next_call_gets_its_own() {
    inside(|| {
        for granularity in [1, 3] {
            let mut pair = pair();
            let flow = pair.flow("echo", by(Transfer::Copy, granularity), 100);
            alone(&pair);
            let late = Some(Duration::from_millis(1));
            let mut to = [0; 100];
            for seed in 0..3 {
                let error = pair.a.flow(flow).call(&bytes(100, seed), &mut to, late);
                assert_eq!(error, Err(CallError::Deadline));
            }
            let b = pair.b.clone();
            pair.a.platform().on_wait(move || {
                serve(&mut b.borrow_mut());
            });
            assert_eq!(pair.a.flow(flow).call(&bytes(99, 9), &mut to, SECOND), Ok(99));
            assert!(to[..99] == bytes(99, 9));
            alone(&pair);
            assert_eq!(
                pair.a.flow(flow).call(&bytes(100, 4), &mut to, late),
                Err(CallError::Deadline)
            );
            assert_eq!(pair.a.flow(flow).close(), Err(FlowError::Outstanding));
            serve(&mut pair.b.borrow_mut());
            pair.a.poll();
            pair.check_empty();
            pair.a.flow(flow).close().expect("the late response has been dropped");
        }
    });
}

#[test]
fn calls_that_are_abandoned_before_or_behind_their_responses_leave_nothing_behind() {
    inside(|| {
        for granularity in [1, 3] {
            for answered in [false, true] {
                let mut pair = pair();
                let flow = pair.flow("echo", by(Transfer::Copy, granularity), 100);
                for seed in 0..3 {
                    pair.a.flow(flow).start(&bytes(100, seed)).expect("there is room");
                }
                if answered {
                    serve(&mut pair.b.borrow_mut());
                    pair.a.poll();
                }
                pair.a.abandon(flow);
                assert_eq!(pair.a.flow(flow).outstanding(), Some(0));
                let mut to = [0; 100];
                assert_eq!(pair.a.flow(flow).call(&bytes(99, 9), &mut to, SECOND), Ok(99));
                assert!(to[..99] == bytes(99, 9));
                pair.check_empty();
                pair.a.flow(flow).close().expect("nothing is outstanding");
            }
        }
    });
}

#[test]
fn a_flow_is_closed_with_a_request_that_was_never_sent() {
    inside(|| {
        let mut pair = pair();
        let flow = pair.flow("echo", by(Transfer::Copy, 8), 100);
        let filler = pair.flow("echo", Strategy::default(), 100);
        alone(&pair);
        while pair.a.flow(filler).start(b"x").is_ok() {}
        let late = pair.a.flow(flow).call(b"y", &mut [0; 9], Some(Duration::from_millis(1)));
        assert_eq!(late, Err(CallError::Deadline));
        pair.a.flow(flow).close().expect("nothing of it is on its way");
        let mut done = 0;
        while done < 16 {
            serve(&mut pair.b.borrow_mut());
            done += pair
                .a
                .flow(filler)
                .complete(|_, source| assert_eq!(all(source), b"x"))
                .expect("up");
            pair.a.arm();
            pair.b.borrow_mut().arm();
        }
        pair.check_empty();
    });
}

#[test]
fn many_are_outstanding_and_come_back_in_order() {
    inside(|| {
        for transfer in TRANSFERS {
            for granularity in [1, 2, 3, 8] {
                let mut pair = pair();
                let flow = pair.flow("echo", by(transfer, granularity), 200);
                let (mut started, mut finished) = (0_u16, 0_u16);
                while finished < 300 {
                    while started < 300 {
                        let request = bytes(usize::from(started % 200), started.into());
                        match pair.a.flow(flow).start(&request) {
                            Ok(number) => assert_eq!(number, started),
                            Err(SendError::RingFull | SendError::PoolEmpty) => break,
                            Err(error) => panic!("{error:?}"),
                        }
                        started += 1;
                    }
                    assert!(started > finished);
                    let mut to = [0; 200];
                    let done = pair.a.flow(flow).finish(&mut to, SECOND).expect("served");
                    let wanted = bytes(usize::from(finished % 200), finished.into());
                    assert_eq!((done.number, done.len), (finished, wanted.len()));
                    assert!(to[..done.len] == wanted, "{finished}, {transfer}, {granularity}");
                    finished += 1;
                }
                pair.a.flow(flow).close().expect("all finished");
                pair.check_empty();
            }
        }
    });
}

#[test]
fn the_numbers_of_calls_wrap_round() {
    inside(|| {
        let mut pair = pair();
        let flow = pair.flow("echo", Strategy::default(), 8);
        for call in 0..70_000_u32 {
            let number = pair.a.flow(flow).start(&call.to_le_bytes()).expect("room");
            assert_eq!(number, call as u16);
            serve(&mut pair.b.borrow_mut());
            let mut to = [0; 8];
            let done = pair.a.flow(flow).try_finish(&mut to).expect("up").expect("served");
            assert_eq!((done.number, &to[..4]), (call as u16, &call.to_le_bytes()[..]));
        }
        pair.check_empty();
    });
}

#[test]
fn the_numbers_of_questions_wrap_round() {
    inside(|| {
        let mut pair = pair();
        // Each flow takes three: to open it, to agree how it travels, to close it.
        for _ in 0..22_000 {
            let flow = pair.flow("echo", Strategy::default(), 10);
            pair.a.flow(flow).close().expect("idle");
        }
        let flow = pair.flow("echo", Strategy::default(), 10);
        assert_eq!(pair.a.flow(flow).call(b"hello", &mut [0; 5], SECOND), Ok(5));
    });
}

#[test]
fn a_callback_gets_every_response() {
    inside(|| {
        let mut pair = pair();
        let flow = pair.flow("echo", by(Transfer::InPlace, 2), 100);
        for call in 0..5 {
            pair.a.flow(flow).start(&bytes(90, call)).expect("room");
        }
        let mut got = Vec::new();
        assert_eq!(pair.a.flow(flow).complete(|_, _| panic!("not served")), Ok(0));
        serve(&mut pair.b.borrow_mut());
        let count = pair.a.flow(flow).complete(|done, source| got.push((done.number, all(source))));
        assert_eq!(count, Ok(5), "asking for responses sent the last, partial batch");
        assert!(got.into_iter().eq((0..5).map(|call| (call as u16, bytes(90, call)))));
        assert_eq!(pair.a.flow(flow).complete(|_, _| {}), Ok(0));
        pair.check_empty();
    });
}

#[test]
fn a_partial_batch_is_sent_on_demand() {
    inside(|| {
        let mut pair = pair();
        let flow = pair.flow("echo", by(Transfer::Copy, 8), 100);
        for _ in 0..3 {
            pair.a.flow(flow).start(b"abc").expect("room");
        }
        assert_eq!(serve(&mut pair.b.borrow_mut()), 0);
        pair.a.flow(flow).flush().expect("room");
        assert_eq!(serve(&mut pair.b.borrow_mut()), 1);
        assert_eq!(pair.a.flow(flow).complete(|_, _| {}), Ok(3));
        pair.check_empty();
    });
}

#[test]
fn responses_of_a_batch_that_do_not_fit_together_fail_and_none_is_cut() {
    inside(|| {
        let callee = Limits { longest: 1000, ..Limits::default() };
        for transfer in TRANSFERS {
            let mut pair = pair_with(Limits::default(), callee, |_| {});
            let flow = pair.flow("long", by(transfer, 3), 40_000);
            for length in [900_u32, 30_000, 90] {
                pair.a.flow(flow).start(&length.to_le_bytes()).expect("room");
            }
            serve(&mut pair.b.borrow_mut());
            let mut got = Vec::new();
            let keep = |done: Completed, source: &dyn Source| {
                got.push((done.failure, all(source)));
            };
            assert_eq!(pair.a.flow(flow).complete(keep), Ok(3));
            let pool = matches!(transfer, Transfer::SingleCopy | Transfer::InPlace);
            assert!(got[0] == (None, bytes(900, 5)));
            let second =
                if pool { (None, bytes(30_000, 5)) } else { (Some(Failure::TooLong), vec![]) };
            assert!(got[1] == second);
            let fits = pool;
            let third = if fits { (None, bytes(90, 5)) } else { (Some(Failure::TooLong), vec![]) };
            assert!(got[2] == third, "{:?}, {} bytes", got[2].0, got[2].1.len());
            pair.check_empty();
        }
    });
}

#[test]
fn a_reserved_payload_is_sent_cancelled_and_kept_when_sending_fails() {
    inside(|| {
        for granularity in [1, 2] {
            let mut pair = pair();
            let flow = pair.flow("echo", by(Transfer::SingleCopy, granularity), 100);
            let mut reserved = pair.a.flow(flow).reserve(100).expect("a block");
            assert!(pair.a.write(&mut reserved, 99, b"xx").is_err());
            assert!(pair.a.write(&mut reserved, 0, &bytes(100, 8)).is_ok());
            let mut to = [0; 100];
            let sent = pair.a.flow(flow).call(&mut reserved, &mut to, SECOND);
            assert_eq!((sent, to[..] == bytes(100, 8)), (Ok(100), true));
            let again = pair.a.flow(flow).call(&mut reserved, &mut to, SECOND);
            assert_eq!(again, Err(CallError::Start(SendError::NotReserved)));
            assert!(pair.a.write(&mut reserved, 0, b"x").is_err());
            pair.a.cancel(reserved);

            let unwanted = pair.a.flow(flow).reserve(65536).expect("a block");
            pair.a.cancel(unwanted);
            let long = pair.a.flow(flow).reserve(65537);
            assert_eq!(long.err(), Some(SendError::TooLong { limit: 65536 }));

            let mut kept = pair.a.flow(flow).reserve(100).expect("a block");
            assert!(pair.a.write(&mut kept, 0, &bytes(100, 4)).is_ok());
            alone(&pair);
            let filler = pair.a.flow(flow).start(b"x").map(|_| 1).expect("room");
            let mut outstanding = filler;
            while pair.a.flow(flow).start(b"").is_ok() {
                outstanding += 1;
            }
            assert!(pair.a.flow(flow).start(&mut kept).is_err());
            assert_eq!(kept.len(), 100);
            let mut done = 0;
            while done < outstanding {
                serve(&mut pair.b.borrow_mut());
                done += pair.a.flow(flow).complete(|_, _| {}).expect("up");
                pair.a.arm();
                pair.b.borrow_mut().arm();
            }
            pair.a.flow(flow).start(&mut kept).expect("room again");
            let _ = pair.a.flow(flow).flush();
            serve(&mut pair.b.borrow_mut());
            let same = |_, source: &dyn Source| assert_eq!(all(source), bytes(100, 4));
            assert_eq!(pair.a.flow(flow).complete(same), Ok(1));
            pair.check_empty();
        }
    });
}

#[test]
fn a_stale_answer_is_not_taken_for_a_new_flows() {
    inside(|| {
        let mut pair = pair();
        let late = Some(Duration::from_micros(100));
        let (link, any) = (pair.to_b, Strategy::default());
        alone(&pair);
        for _ in 0..3 {
            let error = pair.a.open_flow(link, &name("nobody"), any, 10, late);
            assert_eq!(error, Err(FlowError::Deadline));
            let error = pair.a.open_flow(link, &name("echo"), any, 10, late);
            assert_eq!(error, Err(FlowError::Deadline));
            let port = Address { link, port: 9 };
            assert_eq!(pair.a.open_flow_to(port, any, late), Err(FlowError::Deadline));
            let echo = pair.a.begin_flow(link, &name("echo"), any, 10).expect("begun");
            for _ in 0..10 {
                serve(&mut pair.b.borrow_mut());
                pair.a.poll();
            }
            assert_eq!(pair.a.flow(echo).is_ready(), Ok(true));
            pair.a.flow(echo).start(b"hello").expect("room");
            serve(&mut pair.b.borrow_mut());
            assert_eq!(pair.a.flow(echo).complete(|_, s| assert_eq!(all(s), b"hello")), Ok(1));

            let other = Strategy { transfer: Transfer::InPlace, ..any };
            assert_eq!(pair.a.flow(echo).switch(other, late), Err(FlowError::Deadline));
            pair.a.flow(echo).close().expect("idle");
            let again = pair.a.begin_flow(link, &name("refuse"), any, 10).expect("begun");
            for _ in 0..10 {
                serve(&mut pair.b.borrow_mut());
                pair.a.poll();
            }
            assert_eq!(
                (pair.a.flow(again).is_ready(), pair.a.flow(again).strategy()),
                (Ok(true), Some(any))
            );
            pair.a.flow(again).close().expect("idle");
        }
        pair.check_empty();
        assert_eq!(pair.a.link(link).check(), Ok(()));
    });
}

#[test]
fn questions_without_room_are_asked_later_and_answers_without_room_given_later() {
    inside(|| {
        let mut pair = pair();
        for node in [&mut pair.a, &mut pair.b.borrow_mut()] {
            node.open(1).expect("free");
        }
        let (to_b, to_a) = (Address { link: pair.to_b, port: 1 }, pair.to_a);
        while pair.a.try_send(1, to_b, b"x").is_ok() {}
        {
            let mut b = pair.b.borrow_mut();
            while b.try_send(1, Address { link: to_a, port: 1 }, b"x").is_ok() {}
        }
        alone(&pair);
        let any = Strategy::default();
        let too_late = Some(Duration::from_micros(1));
        let error = pair.a.open_flow(pair.to_b, &name("echo"), any, 10, too_late);
        assert_eq!(error, Err(FlowError::Deadline));
        let b = pair.b.clone();
        pair.a.platform().on_wait(move || {
            let mut b = b.borrow_mut();
            serve(&mut b);
            b.arm();
        });
        pair.a.set_notification(Notification::Interrupt);
        let flow = pair.a.open_flow(pair.to_b, &name("echo"), any, 10, None).expect("in the end");
        assert_eq!(pair.a.flow(flow).call(b"hello", &mut [0; 5], None), Ok(5));
        pair.a.flow(flow).close().expect("idle");
    });
}

#[test]
fn a_response_leaves_room_for_the_words_of_those_behind_it() {
    inside(|| {
        let callee = Limits { longest: 1000, ..Limits::default() };
        let mut pair = pair_with(Limits::default(), callee, |_| {});
        let flow = pair.flow("long", by(Transfer::Copy, 3), 40_000);
        // Three words leave 988 bytes.
        for (lengths, first) in [([988_u32, 0, 0], None), ([989, 1, 0], Some(Failure::TooLong))] {
            for length in lengths {
                pair.a.flow(flow).start(&length.to_le_bytes()).expect("room");
            }
            serve(&mut pair.b.borrow_mut());
            let mut failures = Vec::new();
            let count = pair.a.flow(flow).complete(|done, _| failures.push(done.failure));
            assert_eq!((count, failures), (Ok(3), vec![first, None, None]));
        }
        pair.check_empty();
    });
}

#[test]
fn credit_that_came_before_a_wait_is_not_slept_through() {
    inside(|| {
        let mut pair = pair();
        pair.a.open(1).expect("free");
        pair.b.borrow_mut().open(1).expect("free");
        let to = Address { link: pair.to_b, port: 1 };
        while pair.a.try_send(1, to, b"x").is_ok() {}
        let any = Strategy::default();
        let flow = pair.a.begin_flow(pair.to_b, &name("echo"), any, 10).expect("begun");
        pair.a.arm();
        assert!(!pair.a.arm(), "there is no room for the question, and nothing new to look at");
        pair.a.disarm();
        pair.b.borrow_mut().poll();
        pair.b.borrow_mut().arm();
        assert!(pair.a.arm(), "there is room now");
        pair.a.disarm();
        for _ in 0..5 {
            pair.a.poll();
            serve(&mut pair.b.borrow_mut());
        }
        assert_eq!(pair.a.flow(flow).is_ready(), Ok(true));
    });
}

#[test]
fn who_serves_and_had_no_room_for_a_response_is_rung_when_there_is() {
    inside(|| {
        let mut pair = pair();
        let flow = pair.flow("echo", Strategy::default(), 100);
        alone(&pair);
        pair.a.open(1).expect("free");
        {
            let mut b = pair.b.borrow_mut();
            b.open(1).expect("free");
            let to = Address { link: pair.to_a, port: 1 };
            while b.try_send(1, to, b"fills the ring").is_ok() {}
        }
        pair.a.flow(flow).start(b"x").expect("room");
        assert_eq!(serve(&mut pair.b.borrow_mut()), 0, "no room");
        let rings = pair.b.borrow().platform().rings();
        pair.b.borrow_mut().arm();
        while let Some(message) = pair.a.try_receive(1, &Select::default()).expect("open") {
            pair.a.release(message);
        }
        pair.a.arm();
        assert!(pair.b.borrow().platform().rings() > rings, "rung");
        assert_eq!(serve(&mut pair.b.borrow_mut()), 1);
        assert_eq!(pair.a.flow(flow).complete(|_, source| assert_eq!(all(source), b"x")), Ok(1));
        pair.check_empty();
    });
}
