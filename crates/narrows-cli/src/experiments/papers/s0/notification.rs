//! How long after the DSP is done the ARM knows of it.

use crate::base::failure::Failure;
use crate::experiments::papers::pair::{self, Outcome, Side};
use crate::experiments::papers::row::Found;
use narrows::endpoint::Address;
use narrows::span::{Edge, Span};
use narrows_sim::chip::Chip;
use narrows_sim::cpu::Stamp;
use narrows_sim::time::Time;
use std::cell::RefCell;
use std::rc::Rc;

const PORT: u16 = 1;
const MESSAGES: u64 = 101;

/// By interrupt and by polling, in microseconds.
///
/// # Errors
/// As [`pair::run`].
pub fn notification(chip: &Chip) -> Result<Found, Failure> {
    // An interrupt begins when the bell has been rung, which is the last that a driver does; what
    // is polled for is there when the descriptor is published.
    let interrupt = longest(chip, "interrupt", Span::Driver)?;
    let polling = longest(chip, "spin", Span::Memory)?;
    Ok([
        ("interrupt", interrupt),
        ("polling", polling),
        ("reduction", (1.0 - polling / interrupt) * 100.0),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into())
}

/// The longest of messages that come at all moments between two looks, from the end of a span of
/// their sender until their receiver's wait has ended.
fn longest(chip: &Chip, how: &'static str, from: Span) -> Result<f64, Failure> {
    let sent: Rc<RefCell<Vec<Stamp>>> = Rc::default();
    let left = Rc::clone(&sent);
    let receiver = move |mut side: Side| -> Outcome<Vec<Time>> {
        side.node.open(PORT).map_err(|error| format!("{error:?}"))?;
        let strategy: narrows::strategy::Strategy = how.parse()?;
        side.node.set_notification(strategy.notification);
        let mut known = Vec::new();
        while known.len() < MESSAGES as usize {
            side.node.wait_any(None);
            let at = side.cpu.time();
            if side.node.try_receive_into(PORT, &mut [0; 16])?.is_some() {
                known.push(at);
            }
        }
        Ok(known)
    };
    let sender = move |mut side: Side| -> Outcome<()> {
        side.node.open(PORT).map_err(|error| format!("{error:?}"))?;
        side.cpu.set_tracing(true);
        for number in 0..MESSAGES {
            // In between the receiver has gone to wait again.
            side.cpu.compute(Time::nanos(500_000 + 29 * number));
            let to = Address { link: side.link, port: PORT };
            side.node.send(PORT, to, &[1; 16], None)?;
        }
        left.borrow_mut().extend(side.cpu.take_trace());
        pair::serve(side, &mut [])
    };
    let known = pair::run(chip, |_| {}, receiver, sender)?;
    let sent = sent.borrow();
    let sent = sent.iter().filter(|stamp| (stamp.span, stamp.edge) == (from, Edge::Leave));
    let each = sent.zip(known).map(|(stamp, known)| known.since(stamp.time).micros());
    Ok(each.fold(0.0, f64::max))
}
