//! Signals: messages with a number that go from process to process of a core. Each process has one
//! queue of them, and takes those whose numbers it asks for.

use super::{Call, Os};
use crate::events::Pid;
use crate::events::state::State;
use crate::kernel::{Signal, Unknown, wants};
use crate::time::Time;

impl Os {
    /// Reserves the buffer of a signal.
    #[must_use]
    pub fn alloc(&self, number: u32, bytes: Vec<u8>) -> Signal {
        self.charge(Call::Alloc);
        Signal { number, bytes, sender: self.own() }
    }

    /// Gives a signal's buffer back.
    pub fn free(&self, signal: Signal) {
        self.charge(Call::FreeBuf);
        drop(signal);
    }

    /// Sends a signal to a process of this core. If that waits for it and is more urgent, it runs
    /// before this returns. An interrupt process is triggered by it.
    ///
    /// # Errors
    /// See [`Unknown`]; the signal is lost with its buffer.
    pub fn send(&self, signal: Signal, to: Pid) -> Result<(), Unknown> {
        self.charge_waking(Call::Send, to, |state, kernel, process| {
            let wanted = kernel.mail(process).wanted.as_ref();
            wanted.is_some_and(|all| wants(all, signal.number))
                && state.processes[process].could_wake()
        });
        let signal = Signal { sender: self.own(), ..signal };
        let sent = self.with(to, |state, process| {
            let mut kernel = self.cpu.machine().kernel.borrow_mut();
            let mail = kernel.mail(process);
            let wanted = mail.wanted.as_ref().is_some_and(|all| wants(all, signal.number));
            mail.signals.push_back(signal);
            Os::ready(state, process, wanted);
        });
        self.cpu.act(State::give_way);
        sent
    }

    /// Takes the first signal whose number is among those wanted, or any if none are named; waits
    /// for it if there is none yet. None if the time is up first.
    ///
    /// [`Time::NEVER`] is a wait without limit.
    pub fn receive(&self, wanted: &[u32], within: Time) -> Option<Signal> {
        self.charge(if within == Time::NEVER { Call::Receive } else { Call::ReceiveWTmo });
        let got =
            self.wait(within, "a signal".into(), |kernel, own| kernel.take_signal(own, wanted));
        self.cpu.act(|_, own| {
            self.cpu.machine().kernel.borrow_mut().mail(own).wanted = None;
            false
        });
        got
    }
}
