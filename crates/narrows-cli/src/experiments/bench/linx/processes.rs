//! The processes of a core, and its service routine, as the simulator's operating system runs them.

use std::time::Duration;

use narrows::connection::Arrived;
use narrows::linx::station::{self, Handled, Process, Processes, Station};
use narrows::platform::Instant;
use narrows::span::Span;
use narrows_sim::cpu::Cpu;
use narrows_sim::rtos::Os;
use narrows_sim::time::Time;

use super::core::{Core, Letter, Taken, Unit};
use super::handing::{hand_on, hand_over};
use crate::formats::linx::{Counter, Stack};

/// Frames that the receiver is woken for, at once.
const COALESCED: u32 = 4;
/// Frames that may wait before interrupts are masked, and that may still when they are unmasked.
const MOST_WAITING: usize = 4;
const FEW_WAITING: usize = 1;
/// What the service routine may have of the core, and in which time.
const QUOTA: Time = Time::nanos(1_000_000);
const PERIOD: Time = Time::nanos(2_000_000);

/// A core in one of its processes, or in its service routine.
pub(super) struct Running<'a> {
    core: &'a Core,
    cpu: &'a Cpu,
    /// When the routine began.
    began: Time,
    /// What the link handler has received and not sent.
    pub next: Option<Letter>,
}

impl<'a> Running<'a> {
    pub fn new(core: &'a Core, cpu: &'a Cpu) -> Running<'a> {
        Running { core, cpu, began: cpu.time(), next: None }
    }

    fn polls(&self) -> bool {
        self.core.setup.counter == Some(Counter::Poll)
    }
}

impl Processes for Running<'_> {
    fn is_over(&self) -> bool {
        self.core.over.get()
    }

    fn wait(&mut self, own: Process, _: Option<Duration>) {
        let os = self.cpu.os();
        if own == Process::Handler {
            let Some(letter) = os.receive(&[], Time::NEVER) else { return };
            self.next = Letter::read(&letter.bytes);
            os.free(letter);
        } else {
            os.wait_fsem(1, Time::NEVER);
        }
    }

    fn wake(&mut self, whom: Process) {
        match whom {
            Process::Interrupt => {
                if let Some(service) = self.core.service.get() {
                    let _ = self.cpu.os().signal_fsem(service);
                }
            }
            Process::Receiver => wake(self.core, &self.cpu.os()),
            // The system keeps what they are sent.
            Process::Handler | Process::Application => {}
        }
    }

    fn mask(&mut self, masked: bool) {
        if !masked {
            self.core.quota.set((self.cpu.time(), Time::ZERO));
        }
        mask(self.core, &self.cpu.os(), masked);
        // What came before it was masked does not ring again.
        if !masked && anything(self.core) {
            self.wake(Process::Interrupt);
        }
    }

    fn is_masked(&self) -> bool {
        self.core.masked.get()
    }
}

impl Station for Running<'_> {
    fn links(&self) -> usize {
        self.core.units.len()
    }

    fn acknowledge(&mut self) -> bool {
        acknowledge(self.core, self.cpu)
    }

    fn take(&mut self, link: usize) -> Option<bool> {
        let unit = self.core.units.get(link)?.as_ref()?;
        let taken = take(self.core, self.cpu, unit)?;
        if taken && self.core.setup.stack == Stack::Flat {
            arrived(self.core, self.cpu, link, unit, unit.unit.next());
        }
        Some(taken)
    }

    fn is_enough(&self, link: usize) -> bool {
        let unit = self.core.units.get(link).and_then(Option::as_ref);
        let waiting = unit.map_or(0, |unit| unit.unit.waiting());
        let masks = self.core.setup.counter == Some(Counter::Mask);
        over_quota(self.core, self.cpu, self.began) || (masks && waiting >= MOST_WAITING)
    }

    fn is_news(&self) -> bool {
        let coalesces = self.core.setup.counter == Some(Counter::Coalesce);
        self.core.owed.get() >= if coalesces { COALESCED } else { 1 }
    }

    fn put_together(&mut self) -> bool {
        let (core, mut any) = (self.core, false);
        for (peer, unit) in core.units() {
            if self.polls() {
                take(core, self.cpu, unit);
            }
            let Some(taken) = unit.unit.next() else { continue };
            let full = unit.unit.was_starved();
            any |= arrived(core, self.cpu, peer, unit, Some(taken));
            // A frame that found no buffer has rung already.
            if full && !core.masked.get() {
                self.wake(Process::Interrupt);
            }
        }
        any
    }

    fn is_little(&self) -> bool {
        let waiting: usize = self.core.units().map(|(_, unit)| unit.unit.waiting()).sum();
        !self.polls() && waiting <= FEW_WAITING
    }

    fn is_held(&self) -> bool {
        false
    }

    fn send_next(&mut self) -> Handled {
        let Some(letter) = self.next.take() else { return Handled::Nothing };
        hand_on(self.core, self.cpu, letter);
        Handled::Sent
    }
}

/// The service routine.
pub(super) fn serve(core: &Core, os: &Os) {
    let cpu = os.cpu();
    let mut running = Running::new(core, cpu);
    if running.polls() && core.setup.stack == Stack::Layered {
        acknowledge(core, cpu);
        if anything(core) {
            mask(core, os, true);
            wake(core, os);
        }
        return;
    }
    station::interrupt(&mut running);
    let (since, had) = core.quota.get();
    core.quota.set((since, had + cpu.time().since(running.began)));
}

/// Whether a frame has come that nobody has taken.
fn anything(core: &Core) -> bool {
    core.units().any(|(_, unit)| unit.receives.borrow_mut().look())
}

/// Whether the service routine has had its share.
fn over_quota(core: &Core, cpu: &Cpu, began: Time) -> bool {
    if core.setup.counter != Some(Counter::Quota) {
        return false;
    }
    let (mut since, mut had) = core.quota.get();
    if cpu.time().since(since) > PERIOD {
        (since, had) = (began, Time::ZERO);
        core.quota.set((since, had));
    }
    had + cpu.time().since(began) > QUOTA
}

pub(super) fn mask(core: &Core, os: &Os, masked: bool) {
    if core.masked.replace(masked) != masked
        && let Some(service) = core.service.get()
    {
        os.mask(service, masked);
    }
}

pub(super) fn wake(core: &Core, os: &Os) {
    core.owed.set(0);
    if let Some(receiver) = core.receiver.get() {
        let _ = os.signal_fsem(receiver);
    }
}

/// Sees to frames that were acknowledged: what waits is sent. Whether there was any.
fn acknowledge(core: &Core, cpu: &Cpu) -> bool {
    let mut any = false;
    for (_, unit) in core.units() {
        if core.acknowledged(unit) {
            any = true;
            core.layer(cpu, "driver", Some(Span::Notice), || {
                core.layer(cpu, "connection", Some(Span::Acknowledge), || {
                    core.transmit(cpu, unit);
                });
            });
            if core.setup.stack == Stack::Flat
                && let Some(application) = core.application.get()
            {
                let _ = cpu.os().signal_fsem(application);
            }
        }
    }
    any
}

/// Takes a frame off its driver and has it wait for the receiver. None if none has come, false if
/// there is no buffer for it.
fn take(core: &Core, cpu: &Cpu, unit: &Unit) -> Option<bool> {
    let taken = unit.unit.take(&mut core.way(cpu, unit))?;
    core.note_queues(unit);
    core.owed.set(core.owed.get() + u32::from(taken));
    Some(taken)
}

/// A frame goes up through connection and link. False if it waits for memory.
fn arrived(core: &Core, cpu: &Cpu, peer: usize, unit: &Unit, taken: Option<Taken>) -> bool {
    let arrived = core.layer(cpu, "connection", Some(Span::Receive), || {
        unit.unit.receive(&mut core.way(cpu, unit), Instant(0), taken)
    });
    if core.setup.counter == Some(Counter::Window)
        // The peer may have given signals back.
        && !core.transmit(cpu, unit)
        && !core.setup.driver.acknowledges()
    {
        // No interrupt will say when there is room for the others: the link handler looks for it.
        hand_over(core, cpu, Letter::nothing(peer));
    }
    let waits = matches!(arrived, Arrived::NoBuffer);
    if waits {
        core.short.set(true);
    }
    core.arrived(cpu, peer, unit, arrived);
    !waits
}
