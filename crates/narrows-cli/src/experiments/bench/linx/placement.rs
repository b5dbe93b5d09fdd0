//! Where the layers run: each in a process of its own with S4's priorities, or all that sends in
//! the sender's call and all that receives in the service routine.

use std::rc::Rc;

use narrows::linx::station::{self, Process, Processes as _, Station as _};
use narrows::platform::Platform;
use narrows::span::{Edge, Span};
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::Simulation;
use narrows_sim::time::Time;

use super::core::{Core, Letter, Unit, look_again};
use super::handing::{hand_on, hand_over};
use super::processes::{Running, mask, serve, wake};
use crate::formats::linx::{Counter, Stack};

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
            handles.send_on(&cpu, unit);
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

/// Sends a signal, as the application: hands it to the link handler, or sends it in this call.
pub(super) fn send(core: &Core, cpu: &Cpu, letter: Letter) {
    if hand_over(core, cpu, letter) {
        return;
    }
    let Some(Some(unit)) = core.units.get(letter.peer) else { return };
    core.layer(cpu, "link", Some(Span::Link), || {
        core.layer(cpu, "connection", Some(Span::Connection), || {
            while !alone(core, cpu, || core.send_signal(cpu, letter)) {
                wait_for_room(core, cpu, unit);
            }
        });
    });
    core.reclaim(unit);
}

/// Looks for the application of another core, as the application.
pub(super) fn hunt(core: &Core, cpu: &Cpu, letter: Letter) {
    if !hand_over(core, cpu, letter) {
        alone(core, cpu, || core.hunt(cpu, letter));
    }
}

/// Does something that the service routine must not come in the middle of, as it uses the same
/// connections.
fn alone<T>(core: &Core, cpu: &Cpu, work: impl FnOnce() -> T) -> T {
    mask(core, &cpu.os(), true);
    let done = work();
    mask(core, &cpu.os(), false);
    done
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
    for (peer, unit) in core.units() {
        if !hand_over(core, cpu, Letter::nothing(peer)) {
            alone(core, cpu, || core.transmit(cpu, unit));
        }
    }
}

/// Has this call, where there is no process for it, say what link handlers have to say to each
/// other.
pub(super) fn say(core: &Core, cpu: &Cpu) {
    if core.handler.get().is_none() {
        alone(core, cpu, || core.say(cpu));
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
