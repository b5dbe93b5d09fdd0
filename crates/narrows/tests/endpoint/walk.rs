//! The way of one message and of one call through the layers, as the spans tell it.

use crate::common::ground::inside;
use crate::common::world::{Pair, pair, serve};
use narrows::endpoint::{Address, Message, Select, SendError};
use narrows::link::Name;
use narrows::span::{Edge, Span};
use narrows::strategy::Strategy;

const LAYERS: [Span; 5] =
    [Span::Endpoint, Span::Link, Span::Connection, Span::Driver, Span::Memory];

fn stamps(pair: &Pair) -> Vec<(Name, Span, Edge, u32)> {
    pair.world.tracing.set(true);
    std::mem::take(&mut pair.world.stamps.borrow_mut())
}

/// The layers one inside the other: into memory and out again.
fn nested() -> Vec<(Span, Edge)> {
    let down = LAYERS.into_iter().map(|layer| (layer, Edge::Enter));
    down.chain(LAYERS.into_iter().rev().map(|layer| (layer, Edge::Leave))).collect()
}

#[test]
fn a_message_passes_every_layer_in_order() {
    inside(|| {
        for len in [0, 48, 1000] {
            let mut pair = pair();
            pair.a.open(1).expect("free");
            pair.b.borrow_mut().open(2).expect("free");
            stamps(&pair);
            let to = Address { link: pair.to_b, port: 2 };
            pair.a.try_send(1, to, Message::new(&vec![0; len]).tag(77)).expect("room");
            let seen = stamps(&pair);
            let way: Vec<_> = seen.iter().map(|(_, span, edge, _)| (*span, *edge)).collect();
            assert_eq!(way, nested(), "{len} bytes");
            assert!(seen.iter().all(|(who, _, _, id)| (who.as_str(), *id) == ("a", 1 << 16 | 77)));
        }
    });
}

#[test]
fn each_message_is_stamped_while_stamps_are_kept_and_none_before_and_behind() {
    inside(|| {
        let mut pair = pair();
        pair.a.open(1).expect("free");
        pair.b.borrow_mut().open(2).expect("free");
        let to = Address { link: pair.to_b, port: 2 };
        for tracing in [false, true, false] {
            pair.a.platform_mut().set_tracing(tracing);
            pair.world.stamps.borrow_mut().clear();
            for _ in 0..3 {
                pair.a.try_send(1, to, b"short").expect("room");
            }
            let messages = if tracing { 3 } else { 0 };
            assert_eq!(pair.world.stamps.borrow().len(), messages * nested().len());
        }
    });
}

#[test]
fn a_message_that_cannot_be_sent_leaves_the_layers_it_entered() {
    inside(|| {
        let mut pair = pair();
        pair.a.open(1).expect("free");
        let to = Address { link: pair.to_b, port: 2 };
        while pair.a.try_send(1, to, b"x").is_ok() {}
        for (payload, error) in
            [(vec![0; 3], SendError::RingFull), (vec![0; 1 << 17], SendError::RingFull)]
        {
            stamps(&pair);
            assert_eq!(pair.a.try_send(1, to, &payload), Err(error));
            let way = stamps(&pair).into_iter().map(|(_, span, edge, _)| (span, edge));
            let without_memory: Vec<_> =
                nested().into_iter().filter(|(span, _)| *span != Span::Memory).collect();
            assert_eq!(way.collect::<Vec<_>>(), without_memory);
        }
    });
}

#[test]
fn a_call_has_the_phases_a_to_e_in_order() {
    inside(|| {
        for len in [4, 1000] {
            let mut pair = pair();
            let other = pair.flow("echo", Strategy::default(), 1000);
            let flow = pair.flow("echo", Strategy::default(), 1000);
            assert_eq!((other.place(), flow.place()), (0, 1));
            for number in 0..3 {
                stamps(&pair);
                pair.a.flow(flow).start(&vec![0; len][..]).expect("room");
                serve(&mut pair.b.borrow_mut());
                assert_eq!(pair.a.flow(flow).complete(|_, _| {}), Ok(1));
                let seen = stamps(&pair);
                let phases = seen.iter().filter(|(_, span, ..)| !LAYERS.contains(span));
                let way: Vec<_> =
                    phases.clone().map(|(who, s, e, _)| (who.as_str(), *s, *e)).collect();
                let expected = [
                    ("a", Span::PhaseA, Edge::Enter),
                    ("a", Span::PhaseA, Edge::Leave),
                    ("a", Span::PhaseB, Edge::Enter),
                    ("a", Span::PhaseB, Edge::Leave),
                    ("b", Span::PhaseC, Edge::Enter),
                    ("b", Span::PhaseC, Edge::Leave),
                    ("b", Span::PhaseD, Edge::Enter),
                    ("a", Span::PhaseD, Edge::Leave),
                    ("a", Span::PhaseE, Edge::Enter),
                    ("a", Span::PhaseE, Edge::Leave),
                ];
                assert_eq!(way, expected);
                assert!(phases.clone().all(|(.., id)| *id == 1 << 16 | number), "flow and call");
            }
        }
    });
}

#[test]
fn nothing_is_entered_that_is_not_left() {
    inside(|| {
        let mut pair = pair();
        pair.a.open(1).expect("free");
        let flow = pair.flow("echo", Strategy { granularity: 3, ..Strategy::default() }, 100);
        stamps(&pair);
        for call in 0..40 {
            while pair.a.flow(flow).start(&vec![call; 90][..]).is_err() {
                serve(&mut pair.b.borrow_mut());
                pair.a.flow(flow).complete(|_, _| {}).expect("up");
                pair.a.arm();
                pair.b.borrow_mut().arm();
            }
        }
        for _ in 0..20 {
            serve(&mut pair.b.borrow_mut());
            pair.a.flow(flow).complete(|_, _| {}).expect("up");
            assert_eq!(pair.a.try_receive(1, &Select::default()), Ok(None));
        }
        let mut open: Vec<(Name, Span)> = Vec::new();
        for (who, span, edge, _) in stamps(&pair).into_iter().filter(|s| LAYERS.contains(&s.1)) {
            match edge {
                Edge::Enter => open.push((who, span)),
                Edge::Leave => assert_eq!(open.pop(), Some((who, span))),
            }
        }
        assert!(open.is_empty());
    });
}

#[test]
fn what_is_gathered_is_stamped_with_the_first_call_of_its_message() {
    inside(|| {
        let mut pair = pair();
        let gathered = Strategy { granularity: 2, ..Strategy::default() };
        let other = pair.flow("echo", gathered, 100);
        let flow = pair.flow("echo", gathered, 100);
        assert_eq!((other.place(), flow.place()), (0, 1));
        for first in [0, 2] {
            stamps(&pair);
            for _ in 0..2 {
                pair.a.flow(flow).start(b"x").expect("room");
            }
            let seen = stamps(&pair);
            assert!(seen.iter().any(|(_, span, ..)| *span == Span::PhaseA));
            assert!(seen.iter().all(|(.., id)| *id == 1 << 16 | first), "{seen:?}");
            serve(&mut pair.b.borrow_mut());
            assert_eq!(pair.a.flow(flow).complete(|_, _| {}), Ok(2));
        }
    });
}
