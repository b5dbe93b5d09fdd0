//! How long after the DSP is done the ARM knows of it.

use crate::base::failure::Failure;
use crate::experiments::papers::pair::{self, Outcome, Side};
use crate::experiments::papers::row::Found;
use crate::formats::strategy::literal;
use narrows::endpoint::Address;
use narrows::span::{Edge, Span};
use narrows::strategy::Notification;
use narrows_sim::chip::Chip;
use narrows_sim::cpu::Stamp;
use narrows_sim::time::Time;
use std::cell::RefCell;
use std::rc::Rc;

const PORT: u16 = 1;
const MESSAGES: u64 = 101;

/// How the figures of section 3.5 are told.
pub(super) const INTERRUPT: &str = "interrupt";
pub(super) const POLLING: &str = "spin";

/// Between two messages at least.
pub(super) const REST: Time = Time::nanos(500_000);

/// What a notification lasts from. An interrupt begins when the bell has been rung, which is the
/// last that a driver does; what is polled for is there when the descriptor is published.
pub(super) fn from(how: Notification) -> (Span, Edge) {
    let span = if how == Notification::Interrupt { Span::Driver } else { Span::Memory };
    (span, Edge::Leave)
}

/// By interrupt and by polling, of messages of these many bytes, in microseconds.
fn each(chip: &Chip, bytes: usize) -> Result<[f64; 2], Failure> {
    Ok([longest(chip, INTERRUPT, bytes)?, longest(chip, POLLING, bytes)?])
}

/// By interrupt and by polling, in microseconds.
///
/// # Errors
/// As [`pair::run`].
pub fn notification(chip: &Chip) -> Result<Found, Failure> {
    let [interrupt, polling] = each(chip, 16)?;
    Ok([
        ("interrupt", interrupt),
        ("polling", polling),
        ("reduction", (1.0 - polling / interrupt) * 100.0),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into())
}

/// The same for other sizes.
///
/// # Errors
/// As [`pair::run`].
pub fn sizes(chip: &Chip) -> Result<Found, Failure> {
    let mut found = Found::new();
    for bytes in [128, 1024, 8192, 32768] {
        let [interrupt, polling] = each(chip, bytes)?;
        found.insert(format!("interrupt.{bytes}"), interrupt);
        found.insert(format!("polling.{bytes}"), polling);
    }
    Ok(found)
}

/// The longest of messages that come at all moments between two looks, from the end of a span of
/// their sender until their receiver's wait has ended.
fn longest(chip: &Chip, how: &str, bytes: usize) -> Result<f64, Failure> {
    let strategy = literal(how);
    let sent: Rc<RefCell<Vec<Stamp>>> = Rc::default();
    let left = Rc::clone(&sent);
    let receiver = move |mut side: Side| -> Outcome<Vec<Time>> {
        side.node.open(PORT).map_err(|error| format!("{error:?}"))?;
        side.node.set_notification(strategy.notification);
        let (mut known, mut buffer) = (Vec::new(), vec![0; bytes]);
        while known.len() < MESSAGES as usize {
            side.node.wait_any(None);
            let at = side.cpu.time();
            if side.node.try_receive_into(PORT, &mut buffer)?.is_some() {
                known.push(at);
            }
        }
        Ok(known)
    };
    let sender = move |mut side: Side| -> Outcome<()> {
        side.node.open(PORT).map_err(|error| format!("{error:?}"))?;
        side.cpu.set_tracing(true);
        let payload = vec![1; bytes];
        for number in 0..MESSAGES {
            // In between the receiver has gone to wait again.
            side.cpu.compute(REST + Time::nanos(29 * number));
            let to = Address { link: side.link, port: PORT };
            side.node.send(PORT, to, &payload[..], None)?;
        }
        left.borrow_mut().extend(side.cpu.take_trace());
        pair::serve(side, &mut [])
    };
    let known = pair::run(chip, |_| {}, receiver, sender)?;
    let sent = sent.borrow();
    let from = from(strategy.notification);
    let sent = sent.iter().filter(|stamp| (stamp.span, stamp.edge) == from);
    let each = sent.zip(known).map(|(stamp, known)| known.since(stamp.time).micros());
    Ok(each.fold(0.0, f64::max))
}
