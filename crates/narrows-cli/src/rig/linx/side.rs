//! What both sides have: an endpoint of each stack, and signals that bear their number and what
//! they are for.

use std::time::Duration;

use narrows::platform::Instant;
use narrows_host::linx::{Select, Signal};
use narrows_host::system;

use super::end::{self, End, PATIENCE, Post};
use super::threads::{self, ENGINE, ROLES, Times};
use crate::formats::linx::Stack;
use crate::rig::service::linx::{How, Order};

/// What a signal is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Request,
    Reply,
    LogRequest,
    Log,
    Burst,
    Confirmation,
}

impl Purpose {
    /// All of them.
    pub const ALL: [Purpose; 6] = [
        Purpose::Request,
        Purpose::Reply,
        Purpose::LogRequest,
        Purpose::Log,
        Purpose::Burst,
        Purpose::Confirmation,
    ];
}

/// Bytes of a log, and of a request for one and of a confirmation.
pub const LOG: usize = 1500;
pub const SHORT: usize = 32;
/// The number of a signal that reports.
const REPORT: u32 = 100;
/// Stamps that one report has, and so the bytes of the longest.
const STAMPS: usize = 100;
pub const LONGEST_REPORT: usize = HEAD + STAMPS * STAMP;

/// What either side says when something fails that only the other side can be the cause of.
pub const SILENT: &str = "no signal came in time";

/// A stamp of one signal: when it was sent, when that returned, when it was received; those that
/// this side does not know are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    pub id: u32,
    pub sent: u64,
    pub returned: u64,
    pub received: u64,
}

const STAMP: usize = 4 + 3 * 8;
/// Bytes of a report before its stamps: its number, how many reports follow, what was used.
const HEAD: usize = 8 + 8 * (ROLES.len() + 1);

/// One side's endpoints.
pub struct Ends {
    flat: End,
    layered: End,
}

impl Ends {
    /// Opens both.
    ///
    /// # Errors
    /// Why one cannot be opened.
    pub fn open(number: u32, side: &str, how: How) -> Result<Ends, String> {
        let open = |stack| end::open(name(number, side, stack), stack, how);
        Ok(Ends { flat: open(Stack::Flat)?, layered: open(Stack::Layered)? })
    }

    /// The one of a stack.
    pub fn of(&mut self, stack: Stack) -> &mut End {
        match stack {
            Stack::Flat => &mut self.flat,
            Stack::Layered => &mut self.layered,
        }
    }

    /// The other side's endpoint of a stack.
    pub fn find(&mut self, number: u32, side: &str, stack: Stack) -> Option<u32> {
        self.of(stack).find(&name(number, side, stack))
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
pub fn purpose_of(own: &mut End, post: &Post) -> Option<Purpose> {
    let number = u32::from_le_bytes(own.read(post, 0)?);
    Purpose::ALL.get(number as usize).copied()
}

/// A signal of this many bytes for a purpose, which bears its number at both ends.
pub fn make(own: &mut End, to: u32, (purpose, id, bytes): (Purpose, u32, usize)) -> Option<Post> {
    let (number, id_bytes) = (number_of(purpose).to_le_bytes(), id.to_le_bytes());
    let len = bytes.max(8);
    // The shortest have room for one only.
    let end = if len >= 12 { len - 4 } else { 4 };
    own.make(to, len, &[(0, &number), (4, &id_bytes), (end, &id_bytes)])
}

/// The number of a signal, if it came as it was made.
pub fn read(own: &mut End, post: &Post) -> Option<u32> {
    let id = u32::from_le_bytes(own.read(post, 4)?);
    let len = own.len(post);
    let end = u32::from_le_bytes(own.read(post, len.checked_sub(4)?)?);
    (len < 12 || end == id).then_some(id)
}

/// Writes a signal's number to where [`make`] does.
pub fn mark(signal: &mut Signal, id: u32) -> Option<()> {
    let all = signal.bytes_mut();
    all.get_mut(4..8)?.copy_from_slice(&id.to_le_bytes());
    if all.len() >= 12 {
        all.last_chunk_mut::<4>()?.copy_from_slice(&id.to_le_bytes());
    }
    Some(())
}

/// The number of a signal, as [`read`] reads it.
pub fn marked(signal: &Signal) -> Option<u32> {
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
    /// So far. A copy engine is no part of a core.
    pub fn now() -> Used {
        let by = threads::times(&threads::all());
        Used { cpu: system::process_time().saturating_sub(by[ENGINE]), by }
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

/// Tells the other side of a trial: what was used in nanoseconds, and stamps.
fn report(own: &mut End, to: u32, used: &Used, stamps: &[Stamp]) -> Option<()> {
    let mut left = stamps.len().div_ceil(STAMPS).max(1) as u32;
    let mut chunks = stamps.chunks(STAMPS);
    while left > 0 {
        left -= 1;
        let some = chunks.next().unwrap_or_default();
        let times = used.by.iter().chain([&used.cpu]).map(|time| time.as_nanos() as u64);
        let mut bytes: Vec<u8> = [REPORT, left].into_iter().flat_map(u32::to_le_bytes).collect();
        bytes.extend(times.flat_map(u64::to_le_bytes));
        for stamp in some {
            bytes.extend(stamp.id.to_le_bytes());
            let values = [stamp.sent, stamp.returned, stamp.received];
            bytes.extend(values.into_iter().flat_map(u64::to_le_bytes));
        }
        let post = own.make(to, bytes.len(), &[(0, &bytes)])?;
        own.send(to, post)?;
    }
    Some(())
}

/// Waits for what the other side tells.
pub fn hear(own: &mut End) -> Option<(Used, Vec<Stamp>)> {
    let mut stamps = Vec::new();
    loop {
        let post = own.receive()?;
        let word = |own: &mut End, at| Some(u32::from_le_bytes(own.read(&post, at)?));
        let long = |own: &mut End, at| Some(u64::from_le_bytes(own.read(&post, at)?));
        if word(own, 0)? != REPORT {
            return None;
        }
        let mut used = Used::default();
        for (at, by) in used.by.iter_mut().chain([&mut used.cpu]).enumerate() {
            *by = Duration::from_nanos(long(own, 8 + at * 8)?);
        }
        for at in (HEAD..own.len(&post)).step_by(STAMP) {
            let (sent, returned) = (long(own, at + 4)?, long(own, at + 12)?);
            let (id, received) = (word(own, at)?, long(own, at + 20)?);
            stamps.push(Stamp { id, sent, returned, received });
        }
        let left = word(own, 4)?;
        own.used(post);
        if left == 0 {
            return Some((used, stamps));
        }
    }
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
    Open(String),
    /// No signal came, or not what was sent.
    Silent,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refused::Open(why) => f.write_str(why),
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
        match (order, &mut self.ends) {
            (Order::Open(number, how), _) => {
                // Names are free again before others are opened.
                self.ends = None;
                let mut ends = Ends::open(number, "callee", how).map_err(Refused::Open)?;
                // The hunts of the caller are answered in calls of a flat endpoint.
                let begun = ends.of(Stack::Flat).receive();
                let begun = begun.map(|post| ends.of(Stack::Flat).used(post));
                self.ends = Some(ends);
                begun.ok_or(Refused::Silent)
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

fn echo(own: &End, signals: u32) -> Option<()> {
    let own = own.linx()?;
    for _ in 0..signals {
        let signal = own.receive(&Select::any(), Some(PATIENCE))?;
        own.send(signal.sender(), signal).ok()?;
    }
    Some(())
}

fn serve(own: &mut End, signals: u32, now: impl Fn() -> Instant) -> Option<()> {
    let began = Used::now();
    let mut stamps = Vec::new();
    let mut last = 0;
    for left in (0..signals).rev() {
        let signal = own.receive()?;
        let received = now().0;
        last = own.sender(&signal);
        let (id, purpose) = (read(own, &signal)?, purpose_of(own, &signal)?);
        stamps.push(Stamp { id, received, ..Stamp::default() });
        let answer = match purpose {
            Purpose::LogRequest => Some((Purpose::Log, LOG)),
            Purpose::Request => Some((Purpose::Reply, own.len(&signal))),
            Purpose::Burst if left == 0 => Some((Purpose::Confirmation, SHORT)),
            _ => None,
        };
        own.used(signal);
        if let Some((purpose, bytes)) = answer {
            // Its number is that of what it answers.
            let answer = make(own, last, (purpose, id, bytes))?;
            let sent = now().0;
            own.send(last, answer)?;
            stamps.push(Stamp { id, sent, returned: now().0, received: 0 });
        }
    }
    report(own, last, &Used::now().since(&began), &stamps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_was_changed_on_its_way_has_no_number() {
        for bytes in [8, 11, 12, 1500] {
            let mut signal = Signal::new(bytes, 0).unwrap();
            mark(&mut signal, 77).unwrap();
            assert_eq!(marked(&signal), Some(77));
            if bytes >= 12 {
                *signal.bytes_mut().last_mut().unwrap() ^= 1;
                assert_eq!(marked(&signal), None, "another end");
            }
        }
    }
}
