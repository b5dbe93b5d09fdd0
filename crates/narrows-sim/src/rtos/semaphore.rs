//! Semaphores: the fast one that each process has, and counting ones that are made.

use super::{Call, Os};
use crate::events::Pid;
use crate::events::state::{Progress, State};
use crate::kernel::{Counting, Semaphore, Unknown};
use crate::time::Time;

impl Os {
    /// Sets this process's fast semaphore.
    pub fn set_fsem(&self, count: u32) {
        self.charge(Call::SetFsem);
        self.cpu.act(|_, own| {
            self.cpu.machine().kernel.borrow_mut().mail(own).fast = count;
            false
        });
    }

    /// Takes `count` from this process's fast semaphore, and waits until it holds that much. False
    /// if the time is up first.
    pub fn wait_fsem(&self, count: u32, within: Time) -> bool {
        self.charge(Call::WaitFsem);
        let took = self.wait(within, "its fast semaphore".into(), |kernel, own| {
            let mail = kernel.mail(own);
            mail.needed = count;
            mail.fast = mail.fast.checked_sub(count)?;
            Some(())
        });
        self.cpu.act(|_, own| {
            self.cpu.machine().kernel.borrow_mut().mail(own).needed = 0;
            false
        });
        took.is_some()
    }

    /// Adds one to a process's fast semaphore. An interrupt process is triggered by it instead.
    ///
    /// # Errors
    /// See [`Unknown`].
    pub fn signal_fsem(&self, process: Pid) -> Result<(), Unknown> {
        self.charge_waking(Call::SignalFsem, process, |state, kernel, process| {
            let mail = kernel.mail(process);
            let enough = mail.needed > 0 && mail.fast + 1 >= mail.needed;
            enough && state.processes[process].could_wake()
        });
        let signalled = self.with(process, |state, process| {
            let mut kernel = self.cpu.machine().kernel.borrow_mut();
            let mail = kernel.mail(process);
            mail.fast = mail.fast.saturating_add(1);
            let enough = mail.needed > 0 && mail.fast >= mail.needed;
            Os::ready(state, process, enough);
        });
        self.cpu.act(State::give_way);
        signalled
    }

    /// What a process's fast semaphore holds.
    ///
    /// # Errors
    /// See [`Unknown`].
    pub fn fsem(&self, process: Pid) -> Result<u32, Unknown> {
        self.charge(Call::GetFsem);
        self.with(process, |_, process| self.cpu.machine().kernel.borrow_mut().mail(process).fast)
    }

    /// Makes a counting semaphore.
    #[must_use]
    pub fn create_sem(&self, count: u32) -> Semaphore {
        self.charge(Call::CreateSem);
        let mut kernel = self.cpu.machine().kernel.borrow_mut();
        kernel.semaphores.push(Counting::new(self.cpu.core(), count));
        Semaphore(kernel.semaphores.len() - 1)
    }

    /// Takes one from a semaphore, and waits its turn for it. False if the time is up first.
    ///
    /// # Errors
    /// See [`Unknown`]: it is none of this core's, or was killed meanwhile.
    pub fn wait_sem(&self, semaphore: Semaphore, within: Time) -> Result<bool, Unknown> {
        self.charge(Call::WaitSem);
        self.semaphore(semaphore, |_, _| ())?;
        let what = format!("semaphore {}", semaphore.0).into();
        let took = self
            .wait(within, what, |kernel, own| kernel.semaphores.get_mut(semaphore.0)?.take(own));
        if took.is_none() {
            let _ = self.semaphore(semaphore, |_, counting| {
                let own = self.cpu.process();
                counting.waiting.retain(|waiting| *waiting != own);
            });
        }
        took.transpose().map(|took| took.is_some())
    }

    /// Adds one to a semaphore, or hands it to the process that has waited the longest.
    ///
    /// # Errors
    /// See [`Unknown`].
    pub fn signal_sem(&self, semaphore: Semaphore) -> Result<(), Unknown> {
        let first = {
            let kernel = self.cpu.machine().kernel.borrow();
            let counting = kernel.semaphores.get(semaphore.0);
            counting.and_then(|counting| counting.waiting.front().copied())
        };
        match first {
            None => self.charge(Call::SignalSem),
            Some(first) => self.charge_waking(Call::SignalSem, Pid(first), |state, _, process| {
                state.processes[process].could_wake()
            }),
        }
        let signalled = self.semaphore(semaphore, |state, counting| {
            // One that was killed while it waited takes nothing.
            let lives = |process: &usize| state.processes[*process].progress != Progress::Done;
            match std::iter::from_fn(|| counting.waiting.pop_front()).find(lives) {
                None => counting.count = counting.count.saturating_add(1),
                Some(process) => {
                    counting.handed.push(process);
                    state.wake(process, Time::ZERO);
                }
            }
        });
        self.cpu.act(State::give_way);
        signalled
    }

    /// What a semaphore holds.
    ///
    /// # Errors
    /// See [`Unknown`].
    pub fn sem(&self, semaphore: Semaphore) -> Result<u32, Unknown> {
        self.charge(Call::GetSem);
        self.semaphore(semaphore, |_, counting| counting.count)
    }

    /// Ends a semaphore. Those that wait for it are told.
    ///
    /// # Errors
    /// See [`Unknown`].
    pub fn kill_sem(&self, semaphore: Semaphore) -> Result<(), Unknown> {
        self.charge(Call::KillSem);
        let killed = self.semaphore(semaphore, |state, counting| {
            counting.killed = true;
            for process in counting.waiting.drain(..) {
                state.wake(process, Time::ZERO);
            }
        });
        self.cpu.act(State::give_way);
        killed
    }

    /// Does something with a semaphore of this core.
    fn semaphore<T>(
        &self,
        semaphore: Semaphore,
        what: impl FnOnce(&mut State, &mut Counting) -> T,
    ) -> Result<T, Unknown> {
        let mut done = Err(Unknown);
        self.cpu.act(|state, own| {
            let core = state.processes[own].core;
            let mut kernel = self.cpu.machine().kernel.borrow_mut();
            let counting = kernel.semaphores.get_mut(semaphore.0);
            if let Some(counting) = counting.filter(|one| one.core == core && !one.killed) {
                done = Ok(what(state, counting));
            }
            false
        });
        done
    }
}
