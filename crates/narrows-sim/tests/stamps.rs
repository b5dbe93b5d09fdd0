//! Stamps of a process: which are kept, and what they take.

mod common;

use narrows::platform::Platform;
use narrows::span::{Edge, Span};
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::Time;

#[test]
fn stamps_that_are_not_wanted_are_not_kept_and_take_no_time() {
    let mut simulation = Simulation::new(&common::chip(), Settings::default());
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
