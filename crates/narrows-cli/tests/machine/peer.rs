//! The other core's process, as run and bench use it.

use narrows::endpoint::{Address, CallError, Message};
use narrows::span::{Edge, Span};
use narrows_cli::base::failure::Kind;
use narrows_cli::base::options::Global;
use narrows_cli::rig::limit::{Kind as Limit, Pace};
use narrows_cli::rig::peer::{Options, Peer, cores_of};
use narrows_cli::rig::service::{ECHO_PORT, LAST, Mode};
use std::time::{Duration, Instant};

const SOON: Option<Duration> = Some(Duration::from_secs(10));

fn start(options: Options) -> Peer {
    let program = Some(env!("CARGO_BIN_EXE_narrows").into());
    Peer::start(cores_of(&Global::default()).unwrap(), &Options { program, ..options }).unwrap()
}

/// Whether a process is there, waiting for it to go.
fn goes(pid: u32) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    while std::path::Path::new(&format!("/proc/{pid}")).exists() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

#[test]
fn it_answers_calls_messages_and_questions_and_leaves() {
    let mut peer = start(Options { engine: true, ..Options::default() });
    let pid = peer.other.child.id();
    let mut response = [0; 400];
    for strategy in ["copy/hybrid/internal", "in_place/spin/external", "copy_engine/interrupt"] {
        let flow = peer.flow("echo", strategy.parse().unwrap(), 400).unwrap();
        for bytes in [1, 48, 400] {
            let request = vec![bytes as u8; bytes];
            let len = peer.node.flow(flow).call(&request, &mut response, SOON).unwrap();
            assert_eq!(response[..len], request, "{strategy}");
        }
        peer.node.flow(flow).close().unwrap();
    }
    let before = peer.cpu_time().unwrap();
    assert!(before > Duration::ZERO && peer.cpu_time().unwrap() >= before);

    let strategy = "copy/spin/internal".parse().unwrap();
    peer.mode(Mode::Messages(strategy)).unwrap();
    peer.node.open(2).unwrap();
    let to = Address { link: peer.link, port: ECHO_PORT };
    for tag in [0, 7, LAST] {
        peer.node.send(2, to, Message::new(b"there and back").tag(tag), SOON).unwrap();
        let back = peer.node.receive_into(2, &mut response, SOON).unwrap();
        assert_eq!((back.tag, &response[..back.len]), (tag, &b"there and back"[..]));
    }
    peer.cpu_time().unwrap();
    drop(peer);
    assert!(goes(pid));
}

#[test]
fn stamps_of_both_sides_meet() {
    let mut peer = start(Options::default());
    let flow = peer.flow("echo", "copy/spin/internal".parse().unwrap(), 48).unwrap();
    peer.trace().unwrap();
    for _ in 0..3000 {
        peer.node.flow(flow).call(&[1; 48][..], &mut [0; 48], SOON).unwrap();
    }
    let (own, theirs) = peer.take_trace().unwrap();
    let last = |records: &[narrows_host::Record], span, edge, id| {
        let found =
            records.iter().rev().find(|r| (r.span, r.edge, r.id & 0xffff) == (span, edge, id));
        found.unwrap().ticks
    };
    let sent = last(&own.records, Span::PhaseA, Edge::Leave, 2999);
    let done = last(&theirs.records, Span::PhaseC, Edge::Leave, 2999);
    let taken = last(&own.records, Span::PhaseE, Edge::Enter, 2999);
    assert!(sent < done && done < taken, "{sent} {done} {taken}");
}

#[test]
fn limits_and_calls_take_turns() {
    let mut peer = start(Options { limits: true, ..Options::default() });
    let mut limits = peer.limits.take().unwrap();
    for _ in 0..2 {
        peer.mode(Mode::Limits).unwrap();
        assert!(limits.batch_at(Pace::default(), Limit::Copy, 100, 50).unwrap() > 0.0);
        peer.mode(Mode::Calls).unwrap();
        let flow = peer.flow("echo", "copy/spin".parse().unwrap(), 48).unwrap();
        peer.node.flow(flow).call(&[1; 48][..], &mut [0; 48], SOON).unwrap();
        peer.node.flow(flow).close().unwrap();
    }
}

#[test]
fn what_the_other_side_does_not_have_is_a_name() {
    let mut peer = start(Options::default());
    let failure = peer.flow("nothing.such", Default::default(), 8).unwrap_err();
    assert_eq!(failure.kind, Kind::Name);
    assert!(failure.to_string().contains("no function nothing.such"), "{failure}");
}

#[test]
fn a_killed_one_is_told_within_a_call() {
    let mut peer = start(Options::default());
    let flow = peer.flow("busy", "copy/interrupt".parse().unwrap(), 16).unwrap();
    peer.other.child.kill().unwrap();
    let order = narrows_cli::formats::functions::Order { busy_ns: 1 << 40, response: 16, call: 0 };
    let error = peer.node.flow(flow).call(&order.to_bytes(), &mut [0; 16], SOON).unwrap_err();
    assert_ne!(error, CallError::Deadline);
    let failure = peer.explain_call(error);
    assert_eq!(failure.kind, Kind::Peer);
    assert!(failure.to_string().contains("killed by signal 9"), "{failure}");
}

#[test]
fn one_that_cannot_begin_says_why() {
    let program = Some(env!("CARGO_BIN_EXE_narrows").into());
    let mut cores = cores_of(&Global::default()).unwrap();
    cores.callee = 4000;
    let failed = Peer::start(cores, &Options { program, ..Options::default() });
    let text = failed.err().unwrap().to_string();
    assert!(text.contains("core 4000"), "{text}");
}

#[test]
fn large_messages_have_large_blocks() {
    let longest = 1 << 20;
    let mut peer = start(Options { longest, ..Options::default() });
    let flow = peer.flow("echo", "in_place/hybrid".parse().unwrap(), longest as u32).unwrap();
    let (request, mut response) = (vec![7; longest], vec![0; longest]);
    assert_eq!(peer.node.flow(flow).call(&request, &mut response, SOON), Ok(longest));
    assert_eq!(request, response);
}
