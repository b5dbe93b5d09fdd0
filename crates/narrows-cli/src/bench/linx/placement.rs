//! Where the layers run: each in a process of its own with S4's priorities, or all that sends in the
//! sender's call and all that receives in the service routine.

use std::rc::Rc;

use narrows::connection::{Refused, Signal};
use narrows::linx::station::{self, Process, Station as _};
use narrows::platform::{Instant, Platform};
use narrows::span::{Edge, Span};
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::Simulation;
use narrows_sim::time::Time;

use super::core::{Core, Letter, Link, Unit};
use super::flags::{Counter, Stack};
use super::processes::{Running, mask, serve, wake};

/// S4's priorities (section 3.3.5), where 0 is the most urgent of 32.
const HANDLER: u32 = 31 - 9;
const RECEIVER: u32 = 31 - 10;
pub(super) const APPLICATION: u32 = 31 - 12;
/// What runs when nothing else does.
const IDLE: u32 = 0;

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
    let body = move |cpu: Cpu| {
        handles.hands.add(&cpu);
        for (_, unit) in handles.units() {
            send_on(&handles, &cpu, unit);
        }
        let mut running = Running::new(&handles, &cpu);
        station::handle(&mut running);
        // What the end was told by.
        if let Some(letter) = running.next.take() {
            hand_on(&handles, &cpu, letter);
        }
    };
    core.handler.set(Some(simulation.process(core.number, &name("link handler"), HANDLER, body)));
    let receives = Rc::clone(core);
    let body = move |cpu: Cpu| {
        receives.hands.add(&cpu);
        let mut running = Running::new(&receives, &cpu);
        running.wait(Process::Receiver, None);
        station::receive(&mut running);
        // What came before the end.
        while running.put_together() {}
    };
    core.receiver.set(Some(simulation.process(core.number, &name("receiver"), RECEIVER, body)));
    if core.setup.counter == Some(Counter::Coalesce) {
        let idles = Rc::clone(core);
        simulation.process(core.number, &name("idle"), IDLE, move |cpu| idle(&idles, &cpu));
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

/// Sends a signal, as the link handler.
pub(super) fn hand_on(core: &Core, cpu: &Cpu, letter: Letter) {
    let Some(Some(unit)) = core.units.get(letter.peer) else { return };
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
