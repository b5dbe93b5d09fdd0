//! Section 3.5 with both sides told alike: what learning of a request and of its response takes of
//! a call, where the DSP and the ARM are interrupted, and where both look at a flag.

use super::notification::{INTERRUPT, POLLING, REST, from};
use crate::base::failure::Failure;
use crate::experiments::papers::pair::{self, Outcome, Side};
use crate::experiments::papers::row::Found;
use crate::formats::strategy::literal;
use narrows::endpoint::{Function, Sink, Source};
use narrows::strategy::{Notification, Strategy};
use narrows_sim::chip::Chip;
use narrows_sim::cpu::{Cpu, Stamp};
use narrows_sim::time::Time;
use std::cell::RefCell;
use std::rc::Rc;

/// The experiment.
pub const NAME: &str = "S0.notification.both";

const CALLS: usize = 101;
/// The ARM looks all the time, and the DSP now and then.
const SELDOM: &str = "spin/callee=poll=1ms";

/// What the other side left: when its wait for a message ended, and its stamps.
type Left = Rc<RefCell<(Vec<Time>, Vec<Stamp>)>>;

/// Of the time that both notifications of a call take by interrupts, how much is saved where both
/// sides poll, in percent: the least for requests of several sizes.
///
/// # Errors
/// As [`pair::run`].
pub fn both(chip: &Chip) -> Result<Found, Failure> {
    let mut least = f64::INFINITY;
    for bytes in [128, 1024, 8192, 32768] {
        let of = |how| longest(chip, how, bytes).map(|[there, back]| there + back);
        least = least.min((1.0 - of(POLLING)? / of(INTERRUPT)?) * 100.0);
    }
    Ok([("reduction".to_owned(), least)].into())
}

/// What each notification takes, and where the DSP looks now and then, in a sentence.
///
/// # Errors
/// As [`pair::run`].
pub fn note(chip: &Chip) -> Result<String, Failure> {
    let of = |how| longest(chip, how, 128);
    let [told, heard] = of(INTERRUPT)?;
    let [looked, seen] = of(POLLING)?;
    let [seldom, _] = of(SELDOM)?;
    Ok(format!(
        "A request of {NAME} is noticed after {told:.1} us by interrupt and its response after \
         {heard:.1}; after {looked:.1} and {seen:.1} if both sides look all the time. If the DSP \
         looks every millisecond, and the ARM all the time, a request is noticed after {seldom:.0} \
         us at most."
    ))
}

/// What the notification of a request and of its response take, in microseconds: the longest of
/// calls that begin at all moments between two looks of the DSP.
///
/// # Errors
/// As [`pair::run`].
pub(super) fn longest(chip: &Chip, how: &str, bytes: usize) -> Result<[f64; 2], Failure> {
    let chip = chip.clone().with_free_timers();
    let strategy = literal(&format!("in_place/{how}"));
    let left = Left::default();
    let theirs = Rc::clone(&left);
    let callee = move |side: Side| serve(side, &theirs);
    let (known, stamps) =
        pair::run(&chip, |_| {}, move |side| call(side, strategy, bytes), callee)?;
    let theirs = left.borrow();
    let there = waited(&stamps, &theirs.0, strategy.at_callee());
    let back = waited(&theirs.1, &known, strategy.notification);
    Ok([there, back])
}

/// From the end of what tells a message until the wait for it has ended, at most.
fn waited(stamps: &[Stamp], known: &[Time], how: Notification) -> f64 {
    let from = from(how);
    let sent = stamps.iter().filter(|stamp| (stamp.span, stamp.edge) == from);
    // What was sent to open the flow came before.
    let sent = sent.rev().zip(known.iter().rev()).take(CALLS);
    sent.map(|(stamp, known)| known.since(stamp.time).micros()).fold(0.0, f64::max)
}

fn call(mut side: Side, strategy: Strategy, bytes: usize) -> Outcome<(Vec<Time>, Vec<Stamp>)> {
    let name = "nothing".parse()?;
    let flow = side.node.open_flow(side.link, &name, strategy, 1, None)?;
    side.node.set_notification(strategy.notification);
    side.cpu.set_tracing(true);
    let (request, mut known) = (vec![1; bytes], Vec::new());
    // Of looks without a pause two are so near that this meets all moments between them.
    let apart = 29 + strategy.at_callee().pause().as_nanos() as u64 / CALLS as u64;
    for number in 0..CALLS as u64 {
        // In between the DSP has gone to wait again.
        side.cpu.compute(REST + Time::nanos(apart * number));
        side.node.flow(flow).start(&request[..])?;
        loop {
            side.node.wait_any(None);
            let at = side.cpu.time();
            if side.node.flow(flow).try_finish(&mut [0])?.is_some() {
                known.push(at);
                break;
            }
        }
    }
    Ok((known, side.cpu.take_trace()))
}

/// A function that does nothing.
fn serve(mut side: Side, left: &Left) -> Outcome<()> {
    let cpu: Cpu = side.cpu.clone();
    cpu.set_tracing(true);
    let mut nothing = |_: &dyn Source, response: &mut dyn Sink| response.write(0, &[1]);
    let mut library = [Function { name: "nothing".parse()?, run: &mut nothing }];
    while side.node.link(side.link).check().is_ok() {
        side.node.wait_any(None);
        let at = cpu.time();
        if side.node.try_serve(&mut library) > 0 {
            left.borrow_mut().0.push(at);
        }
    }
    left.borrow_mut().1.extend(cpu.take_trace());
    Ok(())
}
