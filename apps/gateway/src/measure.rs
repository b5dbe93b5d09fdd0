//! What this machine takes for calls, measured with the DSP at the other end, as the controller has
//! to know it.
//!
//! Both placements lie in the same memory here, and both sides run on cores of one kind, so one
//! side and one memory are measured. Waits are short, so this takes a part of a second.

use std::time::Duration;

use narrows::endpoint::CallError;
use narrows::link::LinkId;
use narrows::strategy::Strategy;
use narrows_host::{Node, system};
use narrows_tune::model::{Access, Costs, Parameters, Pool, Side};

use crate::dsp::ECHO;

/// Bytes of a short call and of a long one.
const SHORT: usize = 32;
const LONG: usize = 8000;
/// Calls of a round.
const CALLS: u32 = 32;
/// Calls under way at once, where nothing waits for any of them.
const TOGETHER: u32 = 8;
const EVERY: Duration = Duration::from_millis(2);
const SOON: Duration = Duration::from_secs(1);

/// What a call takes, in seconds.
struct Taken {
    trip: f64,
    processor: f64,
}

/// Measures; none if the DSP does not answer.
pub(crate) fn measure(node: &mut Node, link: LinkId) -> Option<Costs> {
    let told = alone(node, link, "copy_batched/interrupt/external", SHORT)?;
    let polled = alone(node, link, "copy_batched/poll=2ms/external", SHORT)?;
    let acknowledged = alone(node, link, "copy/interrupt/external", SHORT)?;
    let short = together(node, link, SHORT)?;
    let long = together(node, link, LONG)?;
    let byte = ((long - short) / (2.0 * (LONG - SHORT) as f64)).max(0.0);
    let request = short;
    let copy = Access { write: byte, read: byte, block: 0.0 };
    let interrupt = (told.processor - request).max(0.0);
    let side = Side {
        request,
        interrupt,
        poll: (polled.processor - request).max(0.0),
        late: (polled.trip - EVERY.as_secs_f64()).clamp(0.0, EVERY.as_secs_f64()),
        internal: Pool::even(copy),
        external: Pool::even(copy),
        internal_spin: copy,
        external_spin: copy,
        slot: copy,
        ..Side::default()
    };
    let parameters = Parameters {
        caller: side,
        callee: side,
        in_slot: 32,
        wake: ((told.trip - 2.0 * told.processor) / 2.0).max(0.0),
        ack_interrupt: (acknowledged.processor - told.processor).max(0.0),
        ..Parameters::default()
    };
    parameters.costs().ok()
}

/// Calls one after the other, each waited for; the medians.
fn alone(node: &mut Node, link: LinkId, by: &str, bytes: usize) -> Option<Taken> {
    let by: Strategy = by.parse().ok()?;
    let name = ECHO.parse().ok()?;
    let flow = node.open_flow(link, &name, by, bytes as u32, Some(SOON)).ok()?;
    let (request, mut answer) = (vec![1; bytes], vec![0; bytes]);
    node.set_notification(by.notification);
    let mut trips = Vec::new();
    let mut processor = Vec::new();
    let mut works = true;
    for _ in 0..CALLS {
        let (began, used) = (std::time::Instant::now(), system::thread_time());
        works &= node.flow(flow).call(request.as_slice(), &mut answer, Some(SOON)).is_ok();
        if !works {
            break;
        }
        trips.push(began.elapsed().as_secs_f64());
        processor.push(system::thread_time().saturating_sub(used).as_secs_f64());
    }
    // With a call outstanding it stays open until the link ends.
    let _ = node.flow(flow).close();
    works.then(|| Taken { trip: median(&mut trips), processor: median(&mut processor) })
}

/// Processor time of one of many calls that nobody waits for, in seconds.
fn together(node: &mut Node, link: LinkId, bytes: usize) -> Option<f64> {
    let by: Strategy = "copy_batched/interrupt/external".parse().ok()?;
    let flow = node.open_flow(link, &ECHO.parse().ok()?, by, bytes as u32, Some(SOON)).ok()?;
    let (request, mut answer) = (vec![1; bytes], vec![0; bytes]);
    let mut taken = Vec::new();
    let mut works = true;
    'rounds: for _ in 0..CALLS / TOGETHER {
        let used = system::thread_time();
        for _ in 0..TOGETHER {
            works &= node.flow(flow).start(request.as_slice()).is_ok();
        }
        let started = system::thread_time().saturating_sub(used);
        // The answers come meanwhile, so that taking them needs no wait.
        std::thread::sleep(EVERY);
        let used = system::thread_time();
        while node.flow(flow).outstanding().is_some_and(|count| count > 0) {
            match node.flow(flow).finish(&mut answer, Some(SOON)) {
                Ok(_) => {}
                Err(CallError::Failed(_)) | Err(_) => {
                    works = false;
                    break 'rounds;
                }
            }
        }
        let finished = system::thread_time().saturating_sub(used);
        taken.push((started + finished).as_secs_f64() / f64::from(TOGETHER));
    }
    let _ = node.flow(flow).close();
    works.then(|| median(&mut taken))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
