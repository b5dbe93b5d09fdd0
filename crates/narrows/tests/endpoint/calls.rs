//! Calls, two ends in one thread.

use std::time::Duration;

use crate::common::ground::inside;
use crate::common::world::{Pair, SECOND, all, bytes, name, pair, pair_with, serve};
use narrows::endpoint::{
    Address, CallError, Completed, Failure, FlowError, Function, Limits, SendError, ServeError,
    Served, Sink, Source,
};
use narrows::strategy::{Notification, Placement, Strategy, Transfer};

const TRANSFERS: [Transfer; 4] =
    [Transfer::Copy, Transfer::SingleCopy, Transfer::InPlace, Transfer::CopyEngine];

fn by(transfer: Transfer, granularity: u16) -> Strategy {
    Strategy { transfer, granularity, ..Strategy::default() }
}

#[test]
fn a_call_of_every_size_in_every_way_by_every_notification() {
    inside(|| {
        let ms = Duration::from_millis(1);
        for notification in [
            Notification::Interrupt,
            Notification::Spin,
            Notification::Poll { every: ms },
            Notification::Timer { every: ms },
            Notification::Hybrid { longest: ms },
            Notification::Coalesced { messages: 4, within: ms },
        ] {
            for transfer in TRANSFERS {
                for placement in [Placement::Internal, Placement::External] {
                    let mut pair = pair();
                    let strategy =
                        Strategy { transfer, notification, placement, ..Strategy::default() };
                    let flow = pair.flow("echo", strategy, 65536);
                    for (seed, len) in [0, 1, 47, 48, 49, 1000, 65536].into_iter().enumerate() {
                        let (request, mut response) = (bytes(len, seed), vec![0; 65536]);
                        let got = pair.a.flow(flow).call(&request, &mut response, SECOND);
                        assert_eq!(got, Ok(len), "{strategy}");
                        assert!(response[..len] == request, "{len} bytes, {strategy}");
                    }
                    pair.a.flow(flow).close().expect("nothing is outstanding");
                    pair.check_empty();
                }
            }
        }
    });
}

#[test]
fn what_cannot_be_opened_says_why_and_takes_no_place() {
    inside(|| {
        let mut pair = pair();
        let any = Strategy::default();
        for _ in 0..100 {
            let error = pair.a.open_flow(pair.to_b, &name("nobody"), any, 10, SECOND);
            assert_eq!(error, Err(FlowError::NotFound));
            let error = pair.a.open_flow_to(Address { link: pair.to_b, port: 60 }, any, SECOND);
            assert_eq!(error, Err(FlowError::NotFound));
            let bad = Strategy { granularity: 0, ..any };
            let error = pair.a.open_flow(pair.to_b, &name("echo"), bad, 10, SECOND);
            assert!(matches!(error, Err(FlowError::Strategy(_))));
            let nowhere = Strategy { placement: Placement::Region(3), ..any };
            let error = pair.a.open_flow(pair.to_b, &name("echo"), nowhere, 10, SECOND);
            assert_eq!(error, Err(FlowError::Infeasible));
        }
        let flows: Vec<_> = (0..32).map(|_| pair.flow("echo", any, 10)).collect();
        assert_eq!(
            pair.a.open_flow(pair.to_b, &name("echo"), any, 10, SECOND),
            Err(FlowError::Full)
        );
        for flow in flows {
            pair.a.flow(flow).close().expect("idle");
            assert_eq!(pair.a.flow(flow).close(), Err(FlowError::Unknown));
        }
        pair.check_empty();
    });
}

#[test]
fn a_flow_is_opened_and_closed_any_number_of_times() {
    inside(|| {
        let mut pair = pair();
        let mut old = Vec::new();
        for round in 0..300 {
            let flow = pair.flow("echo", by(TRANSFERS[round % 4], 1), 100);
            let mut response = [0; 100];
            assert_eq!(pair.a.flow(flow).call(&bytes(100, round), &mut response, SECOND), Ok(100));
            pair.a.flow(flow).close().expect("idle");
            old.push(flow);
            let stale = old[round / 2];
            assert_eq!(pair.a.flow(stale).start(b"x"), Err(SendError::Unknown));
        }
        pair.check_empty();
    });
}

#[test]
fn failures_of_the_function_and_of_room_are_told_apart() {
    inside(|| {
        let callee = Limits { longest: 2000, ..Limits::default() };
        for transfer in TRANSFERS {
            for granularity in [1, 3] {
                let mut pair = pair_with(Limits::default(), callee, |_| {});
                let strategy = by(transfer, granularity);
                let (refuse, long) =
                    (pair.flow("refuse", strategy, 100), pair.flow("long", strategy, 100));
                let echo = pair.flow("echo", strategy, 60000);
                let mut to = vec![0; 60000];
                for _ in 0..50 {
                    let failed = |failure| Err(CallError::Failed(failure));
                    let refused = pair.a.flow(refuse).call(b"please", &mut to, SECOND);
                    assert_eq!(refused, failed(Failure::Refused));
                    let too_long = pair.a.flow(long).call(&101_u32.to_le_bytes(), &mut to, SECOND);
                    assert_eq!(too_long, failed(Failure::TooLong));
                    assert_eq!(
                        pair.a.flow(long).call(&100_u32.to_le_bytes(), &mut to, SECOND),
                        Ok(100)
                    );
                    assert!(to[..100] == bytes(100, 5));
                    let big = pair.a.flow(echo).call(&bytes(3000, 1), &mut to, SECOND);
                    let fits = transfer == Transfer::InPlace;
                    assert_eq!(big, if fits { Ok(3000) } else { failed(Failure::NoRoom) });
                }
                let limit = if granularity == 1 { 65536 } else { 65532 };
                let error = pair.a.flow(echo).call(&bytes(65537, 1), &mut to, SECOND);
                assert_eq!(error, Err(CallError::Start(SendError::TooLong { limit })));
                pair.check_empty();
            }
        }
    });
}

#[test]
fn a_response_longer_than_the_buffer_can_be_finished_with_a_larger_one() {
    inside(|| {
        let mut pair = pair();
        let flow = pair.flow("echo", Strategy::default(), 1000);
        let short = pair.a.flow(flow).call(&bytes(500, 3), &mut [0; 499], SECOND);
        assert_eq!(short, Err(CallError::Short { needed: 500 }));
        let again = pair.a.flow(flow).call(b"x", &mut [0; 10], SECOND);
        assert_eq!(again, Err(CallError::Outstanding));
        let mut whole = [0; 500];
        let done = pair.a.flow(flow).finish(&mut whole, SECOND);
        assert_eq!(done, Ok(Completed { number: 0, len: 500, failure: None }));
        assert!(whole[..] == bytes(500, 3));
        assert_eq!(pair.a.flow(flow).try_finish(&mut whole), Err(CallError::Nothing));
        pair.check_empty();
    });
}

#[test]
fn a_granularity_that_the_callee_cannot_answer_is_infeasible() {
    inside(|| {
        let callee = Limits { longest: 100, ..Limits::default() };
        let mut pair = pair_with(Limits::default(), callee, |_| {});
        let (link, echo) = (pair.to_b, name("echo"));
        let error = pair.a.open_flow(link, &echo, by(Transfer::Copy, 26), 10, SECOND);
        assert_eq!(error, Err(FlowError::Infeasible));
        let flow = pair.flow("echo", by(Transfer::Copy, 25), 10);
        assert_eq!(
            pair.a.flow(flow).switch(by(Transfer::Copy, 26), SECOND),
            Err(FlowError::Infeasible)
        );
        for _ in 0..25 {
            pair.a.flow(flow).start(b"").expect("room");
        }
        serve(&mut pair.b.borrow_mut());
        assert_eq!(pair.a.flow(flow).complete(|done, _| assert_eq!(done.failure, None)), Ok(25));
        pair.check_empty();
    });
}

#[test]
fn serving_says_why_it_returned() {
    inside(|| {
        let mut pair = pair();
        let flow = pair.flow("echo", Strategy::default(), 100);
        let short = Some(Duration::from_millis(1));
        pair.a.flow(flow).start(b"one").expect("room");
        pair.a.flow(flow).start(b"two").expect("room");
        let mut run =
            |request: &dyn Source, response: &mut dyn Sink| response.write(0, &all(request));
        let mut library = [Function { name: name("echo"), run: &mut run }];
        let mut b = pair.b.borrow_mut();
        assert_eq!(b.serve(&mut library, None), Ok(Served::Calls(2)));
        assert_eq!(b.serve(&mut library, short), Err(ServeError::Deadline));
        pair.a.link(pair.to_b).close();
        assert_eq!(b.serve(&mut library, None), Ok(Served::News));
        assert!(b.links().next().is_none());
    });
}

#[test]
fn a_function_sees_whether_its_caller_can_change_the_request_meanwhile() {
    inside(|| {
        for (transfer, granularity, len) in TRANSFERS
            .into_iter()
            .flat_map(|transfer| [(transfer, 1, 8), (transfer, 1, 1000), (transfer, 2, 1000)])
        {
            let mut pair = pair();
            let flow = pair.flow("echo", by(transfer, granularity), 1000);
            for call in 0..granularity {
                pair.a.flow(flow).start(&bytes(len, call.into())).expect("room");
            }
            let mut seen = Vec::new();
            let mut run = |request: &dyn Source, _: &mut dyn Sink| {
                seen.push(request.in_place());
                Ok(())
            };
            let mut library = [Function { name: name("echo"), run: &mut run }];
            let served = pair.b.borrow_mut().serve(&mut library, None);
            assert!(matches!(served, Ok(Served::Calls(_))), "{transfer:?}: {served:?}");
            let expected = transfer == Transfer::InPlace && len == 1000;
            assert_eq!(seen, vec![expected; granularity.into()], "{transfer:?}, {len} bytes");
            assert_eq!(pair.a.flow(flow).complete(|_, _| ()), Ok(granularity.into()));
            pair.check_empty();
        }
    });
}

#[test]
fn two_flows_to_one_function_do_not_mix() {
    inside(|| {
        let mut pair = pair();
        let one = pair.flow("echo", by(Transfer::Copy, 1), 100);
        let two = pair.flow("echo", by(Transfer::InPlace, 3), 100);
        for call in 0..6 {
            pair.a.flow(one).start(&bytes(50, call)).expect("room");
            pair.a.flow(two).start(&bytes(60, call)).expect("room");
        }
        serve(&mut pair.b.borrow_mut());
        for (flow, len) in [(two, 60), (one, 50)] {
            let mut call = 0;
            let check = |done: Completed, source: &dyn Source| {
                assert_eq!((usize::from(done.number), all(source)), (call, bytes(len, call)));
                call += 1;
            };
            assert_eq!(pair.a.flow(flow).complete(check), Ok(6));
        }
        pair.check_empty();
    });
}

#[test]
fn calls_need_a_function_and_messages_a_port() {
    inside(|| {
        let mut pair = pair();
        pair.a.open(1).expect("free");
        pair.b.borrow_mut().open(1).expect("free");
        let call = pair.flow("echo", Strategy::default(), 100);
        let port = Address { link: pair.to_b, port: 1 };
        let message = pair.a.open_flow_to(port, Strategy::default(), SECOND).expect("open");
        assert_eq!(pair.a.flow(message).start(b"x"), Err(SendError::NoFunction));
        let error = pair.a.flow(message).call(b"x", &mut [], SECOND);
        assert_eq!(error, Err(CallError::Start(SendError::NoFunction)));
        let error = pair.a.flow(call).try_send(1, b"x");
        assert_eq!(error, Err(SendError::NoPort));
        let error = pair.a.flow(message).try_send(2, b"x");
        assert_eq!(error, Err(SendError::Closed));
        pair.check_empty();
    });
}

#[test]
fn a_callee_with_fewer_places_for_flows_says_no() {
    inside(|| {
        let callee = Limits { flows: 2, ..Limits::default() };
        let mut pair = pair_with(Limits::default(), callee, |_| {});
        let any = Strategy::default();
        let flows = [(); 2].map(|()| pair.flow("echo", any, 10));
        let third = pair.a.open_flow(pair.to_b, &name("echo"), any, 10, SECOND);
        assert_eq!(third, Err(FlowError::NotFound));
        for flow in flows {
            assert_eq!(pair.a.flow(flow).call(b"hello", &mut [0; 5], SECOND), Ok(5));
        }
        pair.check_empty();
    });
}

#[test]
fn an_engine_that_fails_loses_no_response() {
    inside(|| {
        let mut pair = pair();
        let flow = pair.flow("echo", by(Transfer::CopyEngine, 1), 1000);
        pair.a.flow(flow).start(&bytes(1000, 6)).expect("room");
        pair.b.borrow().platform().state.broken.set(true);
        serve(&mut pair.b.borrow_mut());
        pair.a.platform().state.broken.set(true);
        assert_eq!(
            pair.a.flow(flow).complete(|_, source| assert!(all(source) == bytes(1000, 6))),
            Ok(1)
        );
        let error = pair.a.flow(flow).start(&bytes(1000, 6));
        assert_eq!(error, Err(SendError::NoEngine));
        pair.check_empty();
    });
}

#[test]
fn without_an_engine_a_flow_goes_on_as_it_was() {
    inside(|| {
        for side in ["a", "b"] {
            let mut pair = pair();
            let flow = pair.flow("echo", Strategy::default(), 1000);
            let b = pair.b.clone();
            let state = if side == "a" {
                &pair.a.platform().state
            } else {
                &b.borrow().platform().state.clone()
            };
            state.engine.set(false);
            let error = pair.a.flow(flow).switch(by(Transfer::CopyEngine, 1), SECOND);
            assert_eq!(error, Err(FlowError::Infeasible), "no engine at {side}");
            assert_eq!(pair.a.flow(flow).strategy(), Some(Strategy::default()));
            assert_eq!(pair.a.flow(flow).call(&bytes(1000, 2), &mut [0; 1000], SECOND), Ok(1000));
            pair.check_empty();
        }
    });
}

#[test]
fn nothing_is_allocated_once_a_link_is_up() {
    inside(|| {
        let mut pair = pair();
        let storages = |pair: &Pair| {
            let b = pair.b.borrow();
            (pair.a.platform().state.storages.get(), b.platform().state.storages.get())
        };
        let before = storages(&pair);
        for granularity in [1, 4] {
            let flow = pair.flow("echo", by(Transfer::Copy, granularity), 1000);
            for call in 0..50 {
                let mut to = [0; 1000];
                assert_eq!(
                    pair.a.flow(flow).call(&bytes(20 * call, call), &mut to, SECOND),
                    Ok(20 * call)
                );
            }
            pair.a.flow(flow).switch(by(Transfer::InPlace, 2), SECOND).expect("both can");
            pair.a.flow(flow).close().expect("idle");
        }
        assert_eq!(storages(&pair), before);
    });
}
