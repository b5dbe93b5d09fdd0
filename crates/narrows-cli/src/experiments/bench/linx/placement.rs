//! Where the layers run: each in a process of its own with S4's priorities, or all that sends in the
//! sender's call and all that receives in the service routine.

use std::rc::Rc;

use narrows::connection::{Arrived, Refused, Signal};
use narrows::platform::{Instant, Platform};
use narrows::span::{Edge, Span};
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::Simulation;
use narrows_sim::rtos::Os;
use narrows_sim::time::Time;

use super::core::{Core, Letter, Link, Taken, Unit};
use crate::formats::linx::{Counter, Stack};

/// S4's priorities (section 3.3.5), where 0 is the most urgent of 32.
const HANDLER: u32 = 31 - 9;
const RECEIVER: u32 = 31 - 10;
pub(super) const APPLICATION: u32 = 31 - 12;
/// What runs when nothing else does.
const IDLE: u32 = 0;

/// Frames that the receiver is woken for, at once.
const COALESCED: u32 = 4;
/// Frames that may wait before interrupts are masked, and that may still when they are unmasked.
const MOST_WAITING: usize = 4;
const FEW_WAITING: usize = 1;
/// What the service routine may have of the core, and in which time.
const QUOTA: Time = Time::nanos(1_000_000);
const PERIOD: Time = Time::nanos(2_000_000);

/// Adds the processes of a core.
pub(super) fn add(simulation: &mut Simulation<'_>, core: &Rc<Core>) {
    let serves = Rc::clone(core);
    let name = |what: &str| format!("{what} of core {}", core.number);
    let mut known = false;
    let service = simulation.interrupt(core.number, &name("driver"), 0, move |os| {
        if !std::mem::replace(&mut known, true) {
            serves.hands.add(os.cpu());
        }
        serve(&serves, os);
    });
    core.service.set(Some(service));
    if core.setup.stack == Stack::Flat {
        return;
    }
    let handles = Rc::clone(core);
    let body = move |cpu: Cpu| handle(&handles, &cpu);
    core.handler.set(Some(simulation.process(core.number, &name("link handler"), HANDLER, body)));
    let receives = Rc::clone(core);
    let body = move |cpu: Cpu| receive(&receives, &cpu);
    core.receiver.set(Some(simulation.process(core.number, &name("receiver"), RECEIVER, body)));
    if core.setup.counter == Some(Counter::Coalesce) {
        let idles = Rc::clone(core);
        simulation.process(core.number, &name("idle"), IDLE, move |cpu| idle(&idles, &cpu));
    }
}

/// The service routine: takes frames off and sees acknowledgements, until there is none of either.
fn serve(core: &Core, os: &Os) {
    let cpu = os.cpu();
    let began = cpu.time();
    if core.setup.counter == Some(Counter::Poll) && core.setup.stack == Stack::Layered {
        acknowledge(core, cpu);
        if anything(core) {
            mask(core, os, true);
            wake(core, os);
        }
        return;
    }
    loop {
        let mut any = acknowledge(core, cpu);
        for (peer, unit) in core.units() {
            if core.masked.get() || !unit.receives.borrow_mut().look() {
                continue;
            }
            any |= match core.setup.stack {
                Stack::Layered => take(core, cpu, unit),
                Stack::Flat => {
                    let taken = core.layer(cpu, "driver", Some(Span::Interrupt), || {
                        unit.receives.borrow_mut().straight()
                    });
                    if let Some(taken) = taken {
                        arrived(core, cpu, peer, unit, taken);
                    }
                    true
                }
            };
            if over_quota(core, cpu, began) {
                mask(core, os, true);
            }
            let waiting = unit.taken.borrow().len();
            if core.setup.counter == Some(Counter::Mask) && waiting >= MOST_WAITING {
                mask(core, os, true);
            }
        }
        if !any || core.masked.get() {
            break;
        }
    }
    if core.owed.get() >= if core.setup.counter == Some(Counter::Coalesce) { COALESCED } else { 1 }
    {
        wake(core, os);
    }
    let (since, had) = core.account.get();
    core.account.set((since, had + cpu.time().since(began)));
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
    let (mut since, mut had) = core.account.get();
    if cpu.time().since(since) > PERIOD {
        (since, had) = (began, Time::ZERO);
        core.account.set((since, had));
    }
    had + cpu.time().since(began) > QUOTA
}

fn mask(core: &Core, os: &Os, masked: bool) {
    if core.masked.replace(masked) != masked
        && let Some(service) = core.service.get()
    {
        os.mask(service, masked);
    }
}

fn wake(core: &Core, os: &Os) {
    core.owed.set(0);
    if let Some(receiver) = core.receiver.get() {
        let _ = os.signal_fsem(receiver);
    }
}

/// Sees to frames that were acknowledged: what waits is sent. Whether there was any.
fn acknowledge(core: &Core, cpu: &Cpu) -> bool {
    let mut any = false;
    for (_, unit) in core.units() {
        if !core.setup.driver.acknowledges() || !unit.awaits.get() {
            continue;
        }
        let Ok(sends) = unit.sends.try_borrow() else { continue };
        let acknowledged = sends.acknowledged();
        drop(sends);
        if acknowledged {
            any = true;
            unit.awaits.set(false);
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

/// Takes a frame off its driver and has it wait for the receiver.
fn take(core: &Core, cpu: &Cpu, unit: &Unit) -> bool {
    let taken = core.layer(cpu, "driver", Some(Span::Interrupt), || {
        unit.receives.borrow_mut().detach(&mut unit.buffers.borrow_mut())
    });
    let Ok(taken) = taken else {
        unit.stalled.set(true);
        return false;
    };
    unit.taken.borrow_mut().push_back(taken);
    core.owed.set(core.owed.get() + 1);
    true
}

/// A frame goes up through connection and link.
fn arrived(core: &Core, cpu: &Cpu, peer: usize, unit: &Unit, taken: Taken) {
    let arrived =
        core.layer(cpu, "connection", Some(Span::Receive), || core.receive(cpu, unit, Some(taken)));
    if core.setup.counter == Some(Counter::Window) {
        // The peer may have given signals back.
        core.transmit(cpu, unit);
    }
    if let Arrived::Signal(signal) = arrived {
        core.deliver(cpu, peer, &signal);
    }
}

/// The connection's receiver.
fn receive(core: &Core, cpu: &Cpu) {
    core.hands.add(cpu);
    let os = cpu.os();
    while !core.over.get() {
        os.wait_fsem(1, Time::NEVER);
        loop {
            let mut any = false;
            for (peer, unit) in core.units() {
                let polls = core.setup.counter == Some(Counter::Poll);
                if polls && unit.receives.borrow_mut().look() {
                    take(core, cpu, unit);
                }
                let next = unit.taken.borrow_mut().pop_front();
                let Some(taken) = next else { continue };
                any = true;
                let full = unit.stalled.replace(false);
                arrived(core, cpu, peer, unit, taken);
                // A frame that found no buffer has rung already.
                if let Some(service) = core.service.get().filter(|_| full && !core.masked.get()) {
                    let _ = os.signal_fsem(service);
                }
            }
            let waiting: usize = core.units().map(|(_, unit)| unit.taken.borrow().len()).sum();
            if core.masked.get() && (waiting <= FEW_WAITING || !any) {
                let polls = core.setup.counter == Some(Counter::Poll);
                if !polls || !any {
                    core.account.set((cpu.time(), Time::ZERO));
                    mask(core, &os, false);
                    // What came before it was masked does not ring again.
                    if let Some(service) = core.service.get().filter(|_| anything(core)) {
                        let _ = os.signal_fsem(service);
                    }
                }
            }
            if !any {
                break;
            }
        }
    }
}

/// Runs when the core has nothing else to do.
fn idle(core: &Core, cpu: &Cpu) {
    let os = cpu.os();
    while !core.over.get() {
        if core.owed.get() > 0 {
            wake(core, &os);
        }
        cpu.compute(Time::nanos(2000));
    }
}

/// The link handler.
fn handle(core: &Core, cpu: &Cpu) {
    core.hands.add(cpu);
    let os = cpu.os();
    for (_, unit) in core.units() {
        send_on(core, cpu, unit);
    }
    while !core.over.get() {
        let Some(letter) = os.receive(&[], Time::NEVER) else { return };
        let read = Letter::read(&letter.bytes);
        os.free(letter);
        let Some(letter) = read else { continue };
        let Some(Some(unit)) = core.units.get(letter.peer) else { continue };
        core.layer(cpu, "link", Some(Span::Link), || {
            let signal = Signal {
                from: letter.id,
                to: 1,
                len: letter.len,
                buffer: core.pool.at(&core.hands, letter.address),
            };
            core.layer(cpu, "connection", Some(Span::Connection), || {
                if letter.len > 0
                    && let Link::Layered(link) = &mut *unit.link.borrow_mut()
                {
                    let _ = link.send(signal);
                }
                send_on(core, cpu, unit);
            });
        });
    }
}

/// Sends what waits, looking at the driver until it has room if it does not say when.
fn send_on(core: &Core, cpu: &Cpu, unit: &Unit) {
    while !core.transmit(cpu, unit) && !core.setup.driver.acknowledges() {
        look_again(cpu);
    }
}

fn look_again(cpu: &Cpu) {
    let core = cpu.chip().cores.get(cpu.core());
    cpu.compute(core.map_or(Time::nanos(100), |core| core.poll.at(core.clock)));
}

/// Sends a signal, as the application: hands it to the link handler, or sends it in this call.
pub(super) fn send(core: &Core, cpu: &Cpu, letter: Letter) {
    let os = cpu.os();
    if let Some(handler) = core.handler.get() {
        let _ = os.send(os.alloc(0, letter.bytes()), handler);
        return;
    }
    let Some(Some(unit)) = core.units.get(letter.peer) else { return };
    let buffer = core.pool.at(&core.hands, letter.address);
    core.layer(cpu, "link", Some(Span::Link), || {
        core.layer(cpu, "connection", Some(Span::Connection), || {
            loop {
                // The service routine uses the same connection.
                mask(core, &os, true);
                let sent = attempt(core, cpu, unit, &letter, &buffer);
                mask(core, &os, false);
                match sent {
                    Ok(()) | Err(Refused::TooLong { .. } | Refused::Closed(_)) => break,
                    Err(Refused::Full) => wait_for_room(core, cpu, unit),
                }
            }
        });
    });
    core.keep(unit, buffer);
}

fn attempt(
    core: &Core,
    cpu: &Cpu,
    unit: &Unit,
    letter: &Letter,
    buffer: &narrows_sim::cpu::Stretch,
) -> Result<(), Refused> {
    let Link::Flat(link) = &mut *unit.link.borrow_mut() else { return Ok(()) };
    let signal = Signal { from: letter.id, to: 1, len: letter.len, buffer };
    link.send(&mut core.way(cpu, unit), Instant(0), signal)
}

fn wait_for_room(core: &Core, cpu: &Cpu, unit: &Unit) {
    if core.setup.driver.acknowledges() && unit.awaits.get() {
        cpu.os().wait_fsem(1, Time::nanos(200_000));
    } else {
        look_again(cpu);
    }
}

/// Has the handler, or this call, say what the connections have to say.
pub(super) fn attend(core: &Core, cpu: &Cpu) {
    match core.handler.get() {
        Some(handler) => {
            for (peer, _) in core.units() {
                let letter = Letter { peer, address: 0, len: 0, id: 0 };
                let _ = cpu.os().send(cpu.os().alloc(0, letter.bytes()), handler);
            }
        }
        None => {
            for (_, unit) in core.units() {
                mask(core, &cpu.os(), true);
                core.transmit(cpu, unit);
                mask(core, &cpu.os(), false);
            }
        }
    }
}

/// Ends the processes of a core, as its application.
pub(super) fn end(core: &Core, cpu: &Cpu) {
    core.over.set(true);
    if core.handler.get().is_some() {
        attend(core, cpu);
    }
    wake(core, &cpu.os());
}

/// A stamp of the application's, which takes what reading the clock takes.
pub(super) fn stamp(cpu: &Cpu) -> Time {
    cpu.stamp(Span::Endpoint, Edge::Leave, 0);
    cpu.time()
}
