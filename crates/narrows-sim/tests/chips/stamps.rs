//! Stamps of a process: which are kept, and what they take.

use narrows::endpoint::{Address, Limits, Message, Select};
use narrows::platform::Platform;
use narrows::span::{Edge, Span};
use narrows_sim::chip::SpanCost;
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::{Cost, Time};
use std::time::Duration;

#[test]
fn stamps_that_are_not_wanted_are_not_kept_and_take_no_time() {
    let mut simulation = Simulation::new(&crate::common::chip(), Settings::default());
    simulation.process(0, "stamping", 1, |cpu: Cpu| {
        let took = |span, edge| {
            let began = cpu.time();
            cpu.stamp(span, edge, 7);
            cpu.time().since(began)
        };
        // A reading takes 5 cycles of 10 ns in the system, 50 in the application.
        assert_eq!(took(Span::Link, Edge::Enter), Time::ZERO);
        cpu.set_tracing(true);
        assert_eq!(took(Span::Link, Edge::Enter), Time::nanos(50));
        assert_eq!(took(Span::PhaseE, Edge::Leave), Time::nanos(500));
        cpu.trace_only(|span, edge| (span, edge) == (Span::PhaseA, Edge::Leave));
        assert_eq!(took(Span::Link, Edge::Enter), Time::ZERO);
        assert_eq!(took(Span::PhaseA, Edge::Leave), Time::nanos(50));
        let kept: Vec<_> = cpu.take_trace().iter().map(|stamp| (stamp.span, stamp.edge)).collect();
        assert_eq!(
            kept,
            [(Span::Link, Edge::Enter), (Span::PhaseE, Edge::Leave), (Span::PhaseA, Edge::Leave)]
        );
    });
    simulation.run().unwrap();
}

/// What a message takes its receiver is in the receiver's stamps, whichever way it takes it.
#[test]
fn a_message_is_stamped_where_it_is_received() {
    const TAKES: Time = Time::nanos(7_000);
    let patience = Some(Duration::from_secs(5));
    let mut chip = crate::common::chip();
    let receive = SpanCost { enter: Cost::Time(TAKES), ..SpanCost::NONE };
    chip.cores[1].spans = vec![(Span::Receive, receive)];
    let chip = chip.with_free_timers();
    let mut simulation = Simulation::new(&chip, Settings::default());
    simulation.process(0, "sender", 1, |cpu: Cpu| {
        let mut node = cpu.node("sender".parse().unwrap(), Limits::default()).unwrap();
        node.open(1).unwrap();
        let link = node.hunt(&"receiver".parse().unwrap(), patience).unwrap();
        cpu.set_tracing(true);
        for bytes in [8, 8, 200] {
            let message = Message::new(&[7; 200][..bytes]);
            node.send(1, Address { link, port: 1 }, message, patience).unwrap();
        }
        cpu.pause(Time::nanos(100_000_000));
        let stamps = cpu.take_trace();
        let count = |span| stamps.iter().filter(|stamp| stamp.span == span).count();
        assert_eq!((count(Span::Memory), count(Span::Receive)), (6, 0), "in and out, of three");
    });
    simulation.process(1, "receiver", 1, |cpu: Cpu| {
        let mut node = cpu.node("receiver".parse().unwrap(), Limits::default()).unwrap();
        node.open(1).unwrap();
        cpu.set_tracing(true);
        let mut buffer = [0; 200];
        for _ in 0..2 {
            assert!(node.receive_into(1, &mut buffer, patience).is_ok());
        }
        let lent = node.receive(1, &Select::default(), patience).unwrap();
        node.release(lent);
        let stamps = cpu.take_trace();
        let stamps: Vec<_> = stamps.iter().filter(|stamp| stamp.span == Span::Receive).collect();
        assert_eq!(stamps.len(), 6);
        for pair in stamps.chunks(2) {
            assert_eq!((pair[0].edge, pair[1].edge), (Edge::Enter, Edge::Leave));
            assert_eq!(pair[1].time - pair[0].time, TAKES);
        }
    });
    simulation.run().unwrap();
}
