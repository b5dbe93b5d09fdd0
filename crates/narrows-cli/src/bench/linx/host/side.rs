//! What both sides have: an endpoint of each stack, and signals that bear their number and what they
//! are for.

use std::time::Duration;

use narrows::platform::Instant;
use narrows_host::linx::{Endpoint, Error, Options, Select, Signal, Spid, Stack as Placed};
use narrows_host::system;

use super::order::{How, Order};
use super::threads::{self, ROLES, Times};
use crate::bench::linx::cases::Purpose;
use crate::bench::linx::flags::{Counter, Stack};

/// How long the other side may take for the next signal.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of a log, and of a request for one and of a confirmation.
pub const LOG: usize = 1500;
pub const SHORT: usize = 32;
/// How long fewer frames than are waited for may wait.
const COALESCED: Duration = Duration::from_millis(1);
/// Numbers of signals: what they are for, a report.
const REPORT: u32 = 100;
const HUNT: u32 = 102;

/// What either side says when something fails that only the other side can be the cause of.
pub const SILENT: &str = "no signal came in time";

/// A stamp of one signal: when it was sent, when that returned, when it was received; those that this
/// side does not know are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    pub id: u32,
    pub sent: u64,
    pub returned: u64,
    pub received: u64,
}

const STAMP: usize = 4 + 3 * 8;
/// Bytes of a report before its stamps.
const HEAD: usize = 4 + 8 * (ROLES.len() + 1);

/// One side's endpoints.
pub struct Ends {
    flat: Endpoint,
    layered: Endpoint,
}

impl Ends {
    /// Opens both.
    pub fn open(number: u32, side: &str, how: How) -> Result<Ends, Error> {
        let open = |stack| options(name(number, side, stack), stack, how).open();
        Ok(Ends { flat: open(Stack::Flat)?, layered: open(Stack::Layered)? })
    }

    /// The one of a stack.
    pub fn of(&self, stack: Stack) -> &Endpoint {
        match stack {
            Stack::Flat => &self.flat,
            Stack::Layered => &self.layered,
        }
    }

    /// The other side's endpoint of a stack.
    pub fn find(&self, number: u32, side: &str, stack: Stack) -> Option<Spid> {
        let own = self.of(stack);
        own.hunt(&name(number, side, stack), Signal::with(HUNT, &[])).ok()?;
        Some(own.receive(&Select::only(&[HUNT]), Some(PATIENCE))?.sender())
    }
}

/// A node for a trial.
pub fn options(name: String, stack: Stack, how: How) -> Options {
    let placed = match stack {
        Stack::Flat => Placed::Flat,
        Stack::Layered => Placed::Layered,
    };
    let options = Options::new(name).domain("bench").stack(placed);
    let options = match how.mtu.filter(|_| stack == Stack::Layered) {
        Some(mtu) => options.mtu(mtu),
        None => options,
    };
    match how.counter {
        Some(Counter::Coalesce) => options.coalesce(4, COALESCED),
        Some(Counter::Mask) => options.mask(4),
        Some(Counter::Window) => options.window(8),
        Some(Counter::Quota | Counter::Poll) | None => options,
    }
}

fn name(number: u32, side: &str, stack: Stack) -> String {
    format!("{side}-{}-{number}", stack.name())
}

/// The number of a signal for a purpose.
fn number_of(purpose: Purpose) -> u32 {
    Purpose::ALL.iter().position(|one| *one == purpose).unwrap_or(0) as u32
}

/// What a signal is for, if it is for anything that is measured.
pub fn purpose_of(signal: &Signal) -> Option<Purpose> {
    Purpose::ALL.get(signal.number() as usize).copied()
}

/// A signal of so many bytes for a purpose, which bears its number at both ends.
pub fn make(purpose: Purpose, id: u32, bytes: usize) -> Option<Signal> {
    let mut signal = Signal::new(bytes.max(8), number_of(purpose))?;
    mark(&mut signal, id)?;
    Some(signal)
}

/// Writes a signal's number to both its ends.
pub fn mark(signal: &mut Signal, id: u32) -> Option<()> {
    let all = signal.bytes_mut();
    all.get_mut(4..8)?.copy_from_slice(&id.to_le_bytes());
    // The shortest have room for one only.
    if all.len() >= 12 {
        all.last_chunk_mut::<4>()?.copy_from_slice(&id.to_le_bytes());
    }
    Some(())
}

/// The number of a signal, if it came as it was made.
pub fn read(signal: &Signal) -> Option<u32> {
    let bytes = signal.bytes();
    let id = u32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?);
    let end = u32::from_le_bytes(*bytes.last_chunk()?);
    (bytes.len() < 12 || end == id).then_some(id)
}

/// What a side has used: all of it, and by what its threads do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    pub cpu: Duration,
    pub by: Times,
}

impl Used {
    /// So far.
    pub fn now() -> Used {
        Used { cpu: system::process_time(), by: threads::times(&threads::all()) }
    }

    /// Since then.
    pub fn since(mut self, before: &Used) -> Used {
        self.cpu = self.cpu.saturating_sub(before.cpu);
        for (now, before) in self.by.iter_mut().zip(before.by) {
            *now = now.saturating_sub(before);
        }
        self
    }
}

/// What a side tells of a trial: what it used in nanoseconds, and its stamps.
pub fn report(used: &Used, stamps: &[Stamp]) -> Option<Signal> {
    let mut signal = Signal::new(HEAD + stamps.len() * STAMP, REPORT)?;
    let (head, rest) = signal.bytes_mut().split_at_mut_checked(HEAD)?;
    for (to, time) in head.get_mut(4..)?.chunks_exact_mut(8).zip(used.by.iter().chain([&used.cpu]))
    {
        to.copy_from_slice(&(time.as_nanos() as u64).to_le_bytes());
    }
    for (stamp, to) in stamps.iter().zip(rest.chunks_exact_mut(STAMP)) {
        let (id, times) = to.split_at_mut_checked(4)?;
        id.copy_from_slice(&stamp.id.to_le_bytes());
        let values = [stamp.sent, stamp.returned, stamp.received];
        for (to, value) in times.chunks_exact_mut(8).zip(values) {
            to.copy_from_slice(&value.to_le_bytes());
        }
    }
    Some(signal)
}

/// Waits for what the other side tells.
pub fn hear(own: &Endpoint) -> Option<(Used, Vec<Stamp>)> {
    let signal = own.receive(&Select::only(&[REPORT]), Some(PATIENCE))?;
    let bytes = signal.bytes();
    let long = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?));
    let time = |at: usize| Some(Duration::from_nanos(long(bytes.get(at..at + 8)?)?));
    let mut used = Used { cpu: time(HEAD - 8)?, ..Used::default() };
    for (at, by) in used.by.iter_mut().enumerate() {
        *by = time(4 + at * 8)?;
    }
    let stamps = bytes.get(HEAD..)?.chunks_exact(STAMP).map(|one| {
        let id = u32::from_le_bytes(one.get(..4)?.try_into().ok()?);
        let (sent, returned) = (long(one.get(4..12)?)?, long(one.get(12..20)?)?);
        Some(Stamp { id, sent, returned, received: long(one.get(20..28)?)? })
    });
    Some((used, stamps.collect::<Option<_>>()?))
}

/// The side that answers.
#[derive(Default)]
pub struct Callee {
    ends: Option<Ends>,
}

/// Why the other side cannot go on.
#[derive(Debug)]
pub enum Refused {
    /// The endpoints cannot be opened.
    Open(Error),
    /// No signal came, or not what was sent.
    Silent,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refused::Open(why) => why.fmt(f),
            Refused::Silent => f.write_str(SILENT),
        }
    }
}

impl Callee {
    /// Does what the caller says.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn obey(&mut self, order: Order, now: impl Fn() -> Instant) -> Result<(), Refused> {
        match (order, &self.ends) {
            (Order::Open(number, how), _) => {
                self.ends = Some(Ends::open(number, "callee", how).map_err(Refused::Open)?);
                // The hunts of the caller are answered in calls of a flat endpoint.
                let flat = self.ends.as_ref().map(|ends| ends.of(Stack::Flat));
                let begun = flat.and_then(|flat| flat.receive(&Select::any(), Some(PATIENCE)));
                begun.map(drop).ok_or(Refused::Silent)
            }
            (Order::Serve(stack, signals), Some(ends)) => {
                serve(ends.of(stack), signals, now).ok_or(Refused::Silent)
            }
            (Order::Echo(stack, signals), Some(ends)) => {
                echo(ends.of(stack), signals).ok_or(Refused::Silent)
            }
            (Order::Close, _) => {
                self.ends = None;
                Ok(())
            }
            (_, None) => Err(Refused::Silent),
        }
    }
}

fn echo(own: &Endpoint, signals: u32) -> Option<()> {
    for _ in 0..signals {
        let signal = own.receive(&Select::any(), Some(PATIENCE))?;
        own.send(signal.sender(), signal).ok()?;
    }
    Some(())
}

fn serve(own: &Endpoint, signals: u32, now: impl Fn() -> Instant) -> Option<()> {
    let began = Used::now();
    let mut stamps = Vec::new();
    let mut last = Spid::NONE;
    for left in (0..signals).rev() {
        let signal = own.receive(&Select::any(), Some(PATIENCE))?;
        let received = now().0;
        last = signal.sender();
        stamps.push(Stamp { id: read(&signal)?, received, ..Stamp::default() });
        let answer = match purpose_of(&signal)? {
            Purpose::LogRequest => Some((Purpose::Log, LOG)),
            Purpose::Request => Some((Purpose::Reply, signal.bytes().len())),
            Purpose::Burst if left == 0 => Some((Purpose::Confirmation, SHORT)),
            _ => None,
        };
        if let Some((purpose, bytes)) = answer {
            // Its number is that of what it answers.
            let answer = make(purpose, read(&signal)?, bytes)?;
            let sent = now().0;
            own.send(last, answer).ok()?;
            let id = stamps.last()?.id;
            stamps.push(Stamp { id, sent, returned: now().0, received: 0 });
        }
    }
    let report = report(&Used::now().since(&began), &stamps)?;
    own.send(last, report).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_and_orders_are_read_as_they_were_made() {
        for (purpose, bytes) in [(Purpose::Request, 8), (Purpose::Log, LOG), (Purpose::Burst, 16)] {
            let mut signal = make(purpose, 77, bytes).unwrap();
            assert_eq!((purpose_of(&signal), read(&signal)), (Some(purpose), Some(77)));
            if bytes > 8 {
                *signal.bytes_mut().last_mut().unwrap() ^= 1;
                assert_eq!(read(&signal), None, "another end");
            }
        }
        for order in [
            Order::Open(7, How::default()),
            Order::Open(8, How { mtu: Some(512), counter: Some(Counter::Mask) }),
            Order::Serve(Stack::Layered, 100),
            Order::Echo(Stack::Flat, 9),
            Order::Close,
        ] {
            assert_eq!(order.to_string().parse(), Ok(order));
        }
        for text in [
            "",
            "open",
            "open x",
            "open 1 0",
            "open 1 0 deep",
            "serve flat",
            "echo deep 1",
            "close 1",
        ] {
            assert_eq!(text.parse::<Order>(), Err(()), "{text}");
        }
    }
}
