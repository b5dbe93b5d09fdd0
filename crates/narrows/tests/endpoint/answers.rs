//! What is answered when what was asked about has changed meanwhile, or there is no room.

use crate::common::ground::inside;
use crate::common::world::{Pair, SECOND, all, bytes, name, open, serve};
use narrows::endpoint::{Address, FlowId, Message, Select, Sink, Source};
use narrows::strategy::{Notification, Strategy, Transfer};

/// Both ends see to what came, without serving or waiting.
fn settle(pair: &mut Pair) {
    for _ in 0..5 {
        pair.a.poll();
        pair.b.borrow_mut().poll();
    }
}

/// The first flow of `b`, to a function of `a`.
fn flow_of_b(pair: &mut Pair) -> FlowId {
    let begun = pair.b.borrow_mut().begin_flow(pair.to_a, &name("echo"), Strategy::default(), 100);
    let flow = begun.expect("begun");
    for _ in 0..5 {
        serve(&mut pair.a);
        pair.b.borrow_mut().poll();
    }
    assert_eq!(pair.b.borrow_mut().flow(flow).is_ready(), Ok(true));
    flow
}

#[test]
fn a_refusal_for_a_port_that_was_closed_meanwhile_ends_no_flow() {
    inside(|| {
        let mut pair = open();
        let flow = flow_of_b(&mut pair);
        // The refusal names the port 0, and the flow is the first of its node.
        assert_eq!(flow.place(), 0);
        pair.a.try_send(2, pair.b_port(0), b"for nobody").expect("room");
        pair.a.close(2).expect("open");
        settle(&mut pair);
        pair.b.borrow_mut().flow(flow).start(b"hello").expect("room");
        assert_eq!(serve(&mut pair.a), 1);
        let mut b = pair.b.borrow_mut();
        let done = b.flow(flow).complete(|_, response| assert_eq!(all(response), b"hello"));
        assert_eq!(done, Ok(1));
    });
}

#[test]
fn a_port_receives_as_was_agreed_for_the_flow_that_leads_to_it() {
    inside(|| {
        let mut pair = open();
        pair.a.set_notification(Notification::Interrupt);
        let (transfer, notification) = (Transfer::CopyEngine, Notification::Spin);
        let agreed = Strategy { transfer, notification, ..Strategy::default() };
        let to = Address { link: pair.to_a, port: 1 };
        let flow = pair.b.borrow_mut().begin_flow_to(to, agreed).expect("begun");
        settle(&mut pair);
        assert_eq!(pair.b.borrow_mut().flow(flow).is_ready(), Ok(true));

        let (b, mut sent) = (pair.b.clone(), false);
        pair.a.platform().on_wait(move || {
            if !std::mem::replace(&mut sent, true) {
                b.borrow_mut().try_send(2, to, &bytes(1000, 3)).expect("room");
            }
        });
        let (rings, uses) = (pair.a.platform().rings(), pair.a.platform().state.engine_uses.get());
        let message = pair.a.receive(1, &Select::default(), SECOND).expect("sent");
        assert_eq!(pair.a.platform().rings(), rings, "who spins is not rung");
        let mut got = [0; 1000];
        assert!(pair.a.read(&message, 0, &mut got).is_ok());
        assert_eq!(got[..], bytes(1000, 3));
        assert!(pair.a.read(&message, 999, &mut [0; 2]).is_err(), "there is one byte");
        assert_eq!(pair.a.platform().state.engine_uses.get(), uses + 1, "the engine fetches");
        pair.a.release(message);
        for more in 2..5 {
            pair.b.borrow_mut().try_send(2, to, &bytes(1000, more)).expect("room");
            assert!(pair.a.receive_into(1, &mut got, SECOND).is_ok());
            assert_eq!(got[..], bytes(1000, more));
            assert_eq!(pair.a.platform().state.engine_uses.get(), uses + more as u32, "{more}");
        }
    });
}

#[test]
fn an_answer_without_room_is_given_when_there_is_some() {
    inside(|| {
        for to_function in [false, true] {
            let mut pair = open();
            let to_a = Address { link: pair.to_a, port: 1 };
            let (any, port) = (Strategy::default(), pair.b_port(1));
            while pair.b.borrow_mut().try_send(1, to_a, b"fills the ring").is_ok() {}
            let flow = if to_function {
                pair.a.begin_flow(pair.to_b, &name("echo"), any, 10)
            } else {
                pair.a.begin_flow_to(port, any)
            };
            let flow = flow.expect("begun");
            // It is looked up once. That the answer had no room then is not forgotten.
            serve(&mut pair.b.borrow_mut());
            while let Some(message) = pair.a.try_receive(1, &Select::default()).expect("open") {
                pair.a.release(message);
            }
            pair.a.arm();
            pair.a.disarm();
            settle(&mut pair);
            assert_eq!(pair.a.flow(flow).is_ready(), Ok(true), "to a function: {to_function}");
        }
    });
}

#[test]
fn a_function_knows_how_much_it_is_given_and_how_much_it_may_answer() {
    inside(|| {
        for transfer in [Transfer::Copy, Transfer::InPlace] {
            for granularity in [1, 2] {
                let mut pair = open();
                let strategy = Strategy { transfer, granularity, ..Strategy::default() };
                pair.a.platform().off_wait();
                let begun = pair.a.begin_flow(pair.to_b, &name("parts"), strategy, 40);
                let flow = begun.expect("begun");
                let mut seen = Vec::new();
                let mut parts = |request: &dyn Source, response: &mut dyn Sink| {
                    seen.push((request.is_empty(), request.len(), response.capacity()));
                    // Whatever is a request there, so are bytes.
                    assert_eq!(Source::len(&all(request)[..]), request.len());
                    // In two parts, each from its place.
                    for at in (0..request.len()).step_by(3) {
                        let mut part = vec![0; 3.min(request.len() - at)];
                        request.read(at, &mut part)?;
                        response.write(at, &part)?;
                    }
                    Ok(())
                };
                let run = &mut parts;
                let mut library = [narrows::endpoint::Function { name: name("parts"), run }];
                for _ in 0..5 {
                    pair.b.borrow_mut().try_serve(&mut library);
                    pair.a.poll();
                }
                let requests = [&b"hello"[..], b""];
                for request in requests {
                    pair.a.flow(flow).start(request).expect("room");
                }
                pair.b.borrow_mut().try_serve(&mut library);
                let mut responses = Vec::new();
                let done = pair.a.flow(flow).complete(|_, source| responses.push(all(source)));
                assert_eq!(
                    (done, responses),
                    (Ok(2), requests.map(Vec::from).into()),
                    "{strategy}"
                );
                assert_eq!(seen, [(false, 5, 40), (true, 0, 40)], "{strategy}");
            }
        }
    });
}

#[test]
fn the_longest_request_that_is_gathered_is_the_one_that_the_error_names() {
    inside(|| {
        let mut pair = open();
        let strategy = Strategy { granularity: 2, ..Strategy::default() };
        let flow = pair.flow("echo", strategy, 65532);
        let error = pair.a.flow(flow).start(&bytes(65533, 1));
        let Err(narrows::endpoint::SendError::TooLong { limit }) = error else {
            panic!("{error:?}");
        };
        let sent = bytes(limit as usize, 2);
        let mut got = vec![0; sent.len()];
        assert_eq!(pair.a.flow(flow).call(&sent, &mut got, SECOND), Ok(sent.len()));
        assert!(got == sent);
        got.fill(0);
        let mut made = pair.a.flow(flow).reserve(sent.len()).expect("a block");
        assert!(pair.a.write(&mut made, 0, &sent).is_ok());
        assert_eq!(pair.a.flow(flow).call(&mut made, &mut got, SECOND), Ok(sent.len()));
        assert!(got == sent, "made in a block");
        pair.check_empty();
    });
}

#[test]
fn a_change_of_strategy_sends_what_was_gathered_before_it() {
    inside(|| {
        let mut pair = open();
        let flow = pair.flow("echo", Strategy { granularity: 3, ..Strategy::default() }, 10);
        pair.a.flow(flow).start(b"early").expect("room");
        assert_eq!(pair.a.flow(flow).switch(Strategy::default(), SECOND), Ok(()));
        let done = pair.a.flow(flow).complete(|_, response| assert_eq!(all(response), b"early"));
        assert_eq!(done, Ok(1));
        pair.check_empty();
    });
}

#[test]
fn a_wait_for_a_response_sends_what_was_gathered_and_lasts_until_it_comes() {
    inside(|| {
        for granularity in [1, 3] {
            let mut pair = open();
            let flow = pair.flow("echo", Strategy { granularity, ..Strategy::default() }, 10);
            pair.a.flow(flow).start(b"hello").expect("room");
            let waits = pair.a.platform().state.waits.get();
            pair.a.flow(flow).wait(SECOND);
            assert!(pair.a.platform().state.waits.get() > waits);
            // Nobody serves from here on.
            pair.a.platform().off_wait();
            assert_eq!(pair.a.flow(flow).complete(|_, _| {}), Ok(1));
        }
    });
}

#[test]
fn an_engine_fetches_of_responses_in_one_message_what_is_long() {
    inside(|| {
        for (len, fetched) in [(8, 0), (40, 0), (300, 3)] {
            let mut pair = open();
            let (transfer, granularity) = (Transfer::CopyEngine, 3);
            let flow =
                pair.flow("echo", Strategy { transfer, granularity, ..Strategy::default() }, 300);
            for number in 0..3 {
                pair.a.flow(flow).start(&bytes(len, number)).expect("room");
            }
            pair.a.flow(flow).wait(SECOND);
            let uses = pair.a.platform().state.engine_uses.get();
            for number in 0..3 {
                let mut response = [0; 300];
                let done = pair.a.flow(flow).finish(&mut response, SECOND).expect("it comes");
                assert_eq!(response[..done.len], bytes(len, number));
            }
            assert_eq!(pair.a.platform().state.engine_uses.get(), uses + fetched, "{len}");
        }
    });
}

#[test]
fn a_program_that_only_sends_learns_that_its_peer_is_gone() {
    use narrows::endpoint::SendError;
    use narrows::platform::Lost;
    inside(|| {
        for what in ["message", "call"] {
            let mut pair = open();
            let flow = pair.flow("echo", Strategy::default(), 10);
            let to = pair.b_port(1);
            let send = |pair: &mut Pair| match what {
                "message" => pair.a.try_send(1, to, Message::new(b"x")),
                _ => pair.a.flow(flow).start(b"x").map(|_| ()),
            };
            while send(&mut pair).is_ok() {}
            pair.bury_b();
            let errors = [send(&mut pair), send(&mut pair)];
            assert_eq!(errors[1], Err(SendError::Gone(Lost::Died)), "{what}: {errors:?}");
        }
    });
}

#[test]
fn a_flow_that_could_not_be_opened_stays_unusable_and_says_why() {
    use narrows::endpoint::{FlowError, SendError};
    inside(|| {
        let mut pair = open();
        let many = Strategy { granularity: u16::MAX, ..Strategy::default() };
        for (function, strategy, error) in [
            ("nobody", Strategy::default(), FlowError::NotFound),
            ("echo", many, FlowError::Infeasible),
        ] {
            let begun = pair.a.begin_flow(pair.to_b, &name(function), strategy, 10);
            let flow = begun.expect("begun");
            for _ in 0..5 {
                serve(&mut pair.b.borrow_mut());
                pair.a.poll();
            }
            for _ in 0..2 {
                assert_eq!(pair.a.flow(flow).is_ready(), Err(error));
                assert_eq!(pair.a.flow(flow).start(b"x"), Err(SendError::Unknown));
                assert_eq!(pair.a.flow(flow).begin_switch(Strategy::default()), Err(error));
            }
            pair.a.flow(flow).close().expect("idle");
        }
    });
}

#[test]
fn a_flow_is_not_closed_over_calls_that_were_not_finished() {
    use narrows::endpoint::FlowError;
    inside(|| {
        let mut pair = open();
        for granularity in [1, 3] {
            let flow = pair.flow("echo", Strategy { granularity, ..Strategy::default() }, 10);
            pair.a.flow(flow).start(b"hello").expect("room");
            assert_eq!(pair.a.flow(flow).outstanding(), Some(1));
            assert_eq!(pair.a.flow(flow).close(), Err(FlowError::Outstanding), "not answered");
            let _ = pair.a.flow(flow).flush();
            serve(&mut pair.b.borrow_mut());
            pair.a.poll();
            assert_eq!(pair.a.flow(flow).close(), Err(FlowError::Outstanding), "answered");
            assert_eq!(pair.a.flow(flow).complete(|_, _| {}), Ok(1));
            assert_eq!(pair.a.flow(flow).outstanding(), Some(0));
            assert_eq!(pair.a.flow(flow).close(), Ok(()));
            assert_eq!(pair.a.flow(flow).outstanding(), None);
        }
    });
}

#[test]
fn an_engine_moves_what_is_longer_than_a_slot_and_nothing_else() {
    inside(|| {
        let mut pair = open();
        let engine = Strategy { transfer: Transfer::CopyEngine, ..Strategy::default() };
        let flow = pair.flow("echo", engine, 1000);
        let mut uses = 0;
        for (len, more) in [(48, 0), (49, 2)] {
            let mut back = vec![0; len];
            let request = bytes(len, 1);
            assert_eq!(pair.a.flow(flow).call(&request, &mut back, SECOND), Ok(len));
            assert!(back == request);
            // Out by the caller's engine, and in again.
            uses += more;
            assert_eq!(pair.a.platform().state.engine_uses.get(), uses, "{len} bytes");
        }
    });
}
