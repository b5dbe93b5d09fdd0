//! A station: a node of LINX whose layers run in processes of their own.
//!
//! ```text
//!   application ── outgoing ──► link handler ── connection, driver ──► the other side
//!   application ◄─── queue ─── receiver ◄─── frames ─── interrupt ◄─── the other side
//! ```
//!
//! The processes are written here once, over what runs them ([`Processes`]): threads of a host,
//! which hold the node's lock but while they wait, or the processes of a chip's operating system,
//! which an interrupt can come in the middle of.

mod connection;

pub use connection::Connection;

use core::time::Duration;

/// How long a process whose work has no room waits before it tries again, if nobody wakes it.
pub const AGAIN: Duration = Duration::from_millis(1);

/// A process of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// Takes frames off the drivers.
    Interrupt,
    /// Puts signals together and delivers them.
    Receiver,
    /// Sends what applications have handed over.
    Handler,
    /// An application that waits for room.
    Application,
}

/// What runs the processes of a station: threads of a host, or a chip's operating system.
pub trait Processes {
    /// Whether the processes are to end.
    fn is_over(&self) -> bool;

    /// Lets the process wait until it is woken, at most `within`. What was brought about for it
    /// since it last looked ends the wait at once.
    fn wait(&mut self, own: Process, within: Option<Duration>);

    /// Wakes a process, if it waits.
    fn wake(&mut self, whom: Process);

    /// Masks interrupts, so that frames stay with their drivers, or unmasks them: then what came
    /// meanwhile interrupts.
    fn mask(&mut self, masked: bool);

    /// Whether they are masked.
    fn is_masked(&self) -> bool;
}

/// What became of the next signal that an application has handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// There is none.
    Nothing,
    /// It was sent.
    Sent,
    /// There is no room for it now: it is the next one again.
    NoRoom,
}

/// The work of a station's processes.
pub trait Station: Processes {
    /// How many links there are to take frames of.
    fn links(&self) -> usize;

    /// Sees to the frames that were acknowledged: what waits is sent. Whether there were any.
    fn acknowledge(&mut self) -> bool;

    /// Takes the next frame of a link off its driver. None if none has come, false if there is no
    /// buffer for it.
    fn take(&mut self, link: usize) -> Option<bool>;

    /// Whether enough frames of a link wait, or enough time was spent, that interrupts are to be
    /// masked.
    fn is_enough(&self, link: usize) -> bool;

    /// Whether the receiver is to be woken for the frames that were taken.
    fn is_news(&self) -> bool;

    /// Puts together what the next frames bring, at most one of each link, and delivers signals
    /// that are complete. Whether there were any.
    fn put_together(&mut self) -> bool;

    /// Whether so few frames wait that interrupts can be unmasked, though some do.
    fn is_little(&self) -> bool;

    /// Whether frames wait that nobody will wake the receiver for.
    fn is_held(&self) -> bool;

    /// Sends the next signal that an application has handed over.
    fn send_next(&mut self) -> Handled;

    /// What else is to be done by the process that waits for interrupts.
    fn attend(&mut self) {}
}

/// The interrupt's routine: takes frames off and sees acknowledgements, until there is none of
/// either.
pub fn interrupt<S: Station>(station: &mut S) {
    loop {
        let mut any = station.acknowledge();
        for link in 0..station.links() {
            if station.is_masked() {
                break;
            }
            if let Some(taken) = station.take(link) {
                any |= taken;
                if station.is_enough(link) {
                    station.mask(true);
                }
            }
        }
        if !any || station.is_masked() {
            break;
        }
    }
    if station.is_news() {
        station.wake(Process::Receiver);
    }
}

/// The process that waits for interrupts, where no routine is called for them.
pub fn interrupts<S: Station>(station: &mut S) {
    while !station.is_over() {
        station.attend();
        interrupt(station);
        station.wait(Process::Interrupt, None);
    }
}

/// The connection's receiver.
pub fn receive<S: Station>(station: &mut S) {
    while !station.is_over() {
        let any = station.put_together();
        if station.is_masked() && (!any || station.is_little()) {
            station.mask(false);
        }
        if !any {
            let within = station.is_held().then_some(AGAIN);
            station.wait(Process::Receiver, within);
        }
    }
}

/// The link handler.
pub fn handle<S: Station>(station: &mut S) {
    while !station.is_over() {
        match station.send_next() {
            Handled::Nothing => station.wait(Process::Handler, None),
            Handled::Sent => station.wake(Process::Application),
            Handled::NoRoom => station.wait(Process::Handler, Some(AGAIN)),
        }
    }
}
