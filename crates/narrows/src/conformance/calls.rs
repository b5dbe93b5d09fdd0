//! Calls of functions.

use super::{PATIENCE, Rig, SIZES, all_back, check, fill};
use crate::endpoint::{
    CallError, Failure, FlowError, FlowId, Function, Node, Served, Sink, Source,
};
use crate::link::{LinkId, Name};
use crate::platform::Platform;
use crate::strategy::Strategy;

fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

fn open<P: Platform>(node: &mut Node<P>, link: LinkId, text: &str, strategy: Strategy) -> FlowId {
    node.open_flow(link, &name(text), strategy, 65536, PATIENCE).expect("a flow")
}

/// Sends the request back, a piece at a time, so that it is read where it is.
fn echo(request: &dyn Source, response: &mut dyn Sink) -> Result<(), Failure> {
    let mut piece = [0; 100];
    for at in (0..request.len()).step_by(piece.len()) {
        let piece = &mut piece[..(request.len() - at).min(100)];
        request.read(at, piece)?;
        response.write(at, piece)?;
    }
    Ok(())
}

fn refuse(_: &dyn Source, _: &mut dyn Sink) -> Result<(), Failure> {
    Err(Failure::Refused)
}

/// Serves until the caller says that it is done.
fn serve<P: Platform>(node: &mut Node<P>, link: LinkId) {
    let mut done = false;
    let mut stop = |_: &dyn Source, _: &mut dyn Sink| {
        done = true;
        Ok(())
    };
    let (mut echo, mut refuse) = (echo, refuse);
    let mut library = [
        Function { name: name("echo"), run: &mut echo },
        Function { name: name("refuse"), run: &mut refuse },
        Function { name: name("stop"), run: &mut stop },
    ];
    let mut calls = 0;
    while node.link(link).check().is_ok() {
        if let Ok(Served::Calls(some)) = node.serve(&mut library, PATIENCE) {
            calls += some;
        }
    }
    assert!(done, "the caller left without a word after {calls} calls");
}

/// Says so, and closes the link.
fn stop<P: Platform>(node: &mut Node<P>, link: LinkId) {
    let flow = open(node, link, "stop", Strategy::default());
    assert_eq!(node.flow(flow).call(b"", &mut [], PATIENCE), Ok(0));
    node.link(link).close();
}

/// Every size is called with, one at a time; what can go wrong is said.
pub fn blocking<R: Rig>(rig: &R, strategy: Strategy) {
    let mut buffers = [[0; 65536]; 2];
    rig.run(
        &mut |node, link| {
            let [request, response] = &mut buffers;
            let flow = open(node, link, "echo", strategy);
            for (number, size) in SIZES.into_iter().enumerate() {
                fill(&mut request[..size], number);
                let len = node.flow(flow).call(&request[..size], response, PATIENCE);
                assert_eq!(len, Ok(size), "{strategy}");
                check(&response[..size], number, "call");
            }
            let short = node.flow(flow).call(&request[..64], &mut response[..63], PATIENCE);
            assert_eq!(short, Err(CallError::Short { needed: 64 }), "{strategy}");
            assert_eq!(
                node.flow(flow).finish(response, PATIENCE).map(|c| c.len),
                Ok(64),
                "{strategy}"
            );
            let bad = open(node, link, "refuse", strategy);
            let failed = node.flow(bad).call(&request[..64], response, PATIENCE);
            assert_eq!(failed, Err(CallError::Failed(Failure::Refused)), "{strategy}");
            let nobody = node.open_flow(link, &name("nobody"), strategy, 64, PATIENCE);
            assert_eq!(nobody, Err(FlowError::NotFound), "{strategy}");
            assert_eq!(node.flow(bad).close(), Ok(()));
            assert_eq!(node.flow(flow).close(), Ok(()));
            all_back(node, link, strategy);
            stop(node, link);
        },
        &mut |node, link| serve(node, link),
    );
}

/// Several calls are outstanding at once, made in reserved blocks and in private memory in turn,
/// and answered in order.
pub fn pipelined<R: Rig>(rig: &R, strategy: Strategy) {
    const CALLS: usize = 200;
    const DEPTH: usize = 3;
    rig.run(
        &mut |node, link| {
            let flow = open(node, link, "echo", strategy);
            let size = |number: usize| 1 + number * 37 % 2000;
            let (mut started, mut finished) = (0, 0);
            let (mut request, mut response) = ([0; 2000], [0; 2000]);
            while finished < CALLS {
                while started < CALLS && started - finished < DEPTH {
                    let bytes = &mut request[..size(started)];
                    fill(bytes, started);
                    let number = if started % 2 == 0 {
                        node.flow(flow).start(&bytes)
                    } else {
                        let Ok(mut reserved) = node.flow(flow).reserve(bytes.len()) else { break };
                        assert!(node.write(&mut reserved, 0, bytes).is_ok(), "{strategy}");
                        let number = node.flow(flow).start(&mut reserved);
                        node.cancel(reserved);
                        number
                    };
                    let Ok(number) = number else { break };
                    assert_eq!(usize::from(number), started, "{strategy}");
                    started += 1;
                }
                let done = node.flow(flow).finish(&mut response, PATIENCE).expect("a response");
                assert_eq!(usize::from(done.number), finished, "{strategy}");
                assert_eq!(done.len, size(finished), "{strategy}");
                check(&response[..done.len], finished, "pipelined");
                finished += 1;
            }
            all_back(node, link, strategy);
            stop(node, link);
        },
        &mut |node, link| serve(node, link),
    );
}

/// Several requests travel in one message; the callback sees each by itself.
pub fn gathered<R: Rig>(rig: &R, strategy: Strategy) {
    const CALLS: u16 = 20;
    let strategy = Strategy { granularity: 3, ..strategy };
    rig.run(
        &mut |node, link| {
            // Three responses of 2000 bytes have to fit the placement's largest block.
            let flow =
                node.open_flow(link, &name("echo"), strategy, 2000, PATIENCE).expect("a flow");
            let mut request = [0; 100];
            for number in 0..CALLS {
                fill(&mut request, number.into());
                let number = node.flow(flow).start(&request[..usize::from(number)]).expect("room");
                assert!(number < CALLS, "{strategy}");
            }
            let mut next = 0;
            while next < CALLS {
                node.flow(flow).wait(PATIENCE);
                let seen = node.flow(flow).complete(|completed, source| {
                    let mut bytes = [0; 100];
                    let bytes = &mut bytes[..source.len()];
                    assert!(source.read(0, bytes).is_ok(), "{strategy}");
                    assert_eq!(completed.number, next, "{strategy}");
                    // Lengths travel in the block, as what they are of does.
                    assert_eq!(bytes.len(), next.into(), "gathered: byte count of message {next}");
                    check(bytes, next.into(), "gathered");
                    next += 1;
                });
                assert!(seen.is_ok(), "{strategy}: {seen:?}");
            }
            all_back(node, link, strategy);
            stop(node, link);
        },
        &mut |node, link| serve(node, link),
    );
}

/// The strategy changes while calls are outstanding, to another and back.
pub fn switched<R: Rig>(rig: &R, strategy: Strategy) {
    rig.run(
        &mut |node, link| {
            let flow = open(node, link, "echo", Strategy::default());
            let (mut request, mut response) = ([0; 500], [0; 500]);
            let mut finished = 0;
            for round in 0..6 {
                let (from, to) = (round * 3, round * 3 + 3);
                for number in from..to {
                    fill(&mut request, number);
                    assert!(node.flow(flow).start(&request).is_ok(), "{strategy}");
                }
                let next = if round % 2 == 0 { strategy } else { Strategy::default() };
                assert_eq!(node.flow(flow).switch(next, PATIENCE), Ok(()), "{strategy}");
                assert_eq!(node.flow(flow).strategy(), Some(next));
                while finished < to {
                    let done = node.flow(flow).finish(&mut response, PATIENCE).expect("a response");
                    assert_eq!(usize::from(done.number), finished, "{strategy}");
                    check(&response[..done.len], finished, "switched");
                    finished += 1;
                }
            }
            all_back(node, link, strategy);
            stop(node, link);
        },
        &mut |node, link| serve(node, link),
    );
}
