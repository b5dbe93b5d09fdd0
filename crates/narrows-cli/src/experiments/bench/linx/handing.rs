//! What an application hands to its core's link handler.

use narrows::span::Span;
use narrows_sim::cpu::Cpu;

use super::core::{Core, Letter};

/// Does what the application asks of the link handler: sends a signal, looks for another core's
/// application, or says what the connections have to say.
pub(super) fn hand_on(core: &Core, cpu: &Cpu, letter: Letter) {
    let Some(Some(unit)) = core.units.get(letter.peer) else { return };
    core.layer(cpu, "link", Some(Span::Link), || {
        if letter.spid != 0 {
            core.send_signal(cpu, letter);
        } else if letter.len > 0 {
            core.hunt(cpu, letter);
        } else {
            core.layer(cpu, "connection", Some(Span::Connection), || core.send_on(cpu, unit));
        }
    });
}

/// Sends a letter to the link handler's process, if there is one.
pub(super) fn hand_over(core: &Core, cpu: &Cpu, letter: Letter) -> bool {
    let os = cpu.os();
    let Some(handler) = core.handler.get() else { return false };
    let _ = os.send(os.alloc(0, letter.bytes()), handler);
    true
}
