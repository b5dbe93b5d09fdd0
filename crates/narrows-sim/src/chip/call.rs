//! The system calls that cost something, by the names that S4's table of their costs has.

/// A system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Call {
    /// Reserves a signal's buffer.
    Alloc,
    /// Gives one back.
    FreeBuf,
    /// Sends a signal.
    Send,
    /// Takes a signal, or waits for one without limit.
    Receive,
    /// Takes a signal, or waits for one for a while.
    ReceiveWTmo,
    /// Sets the own fast semaphore.
    SetFsem,
    /// Takes from the own fast semaphore.
    WaitFsem,
    /// Adds to a process's fast semaphore.
    SignalFsem,
    /// Looks at a process's fast semaphore.
    GetFsem,
    /// Makes a counting semaphore.
    CreateSem,
    /// Takes from a counting semaphore.
    WaitSem,
    /// Adds to a counting semaphore.
    SignalSem,
    /// Looks at a counting semaphore.
    GetSem,
    /// Ends a counting semaphore.
    KillSem,
    /// Asks how urgent a process is.
    GetPri,
    /// Changes how urgent a process is.
    SetPri,
    /// Stops a process.
    Stop,
    /// Starts a process that was stopped.
    Start,
    /// Sleeps for a while.
    Delay,
    /// Makes a process.
    CreateProcess,
    /// Looks for a process by its name.
    Hunt,
    /// Not a call: what each context switch takes more where there is a swap hook.
    SwapHook,
}

impl Call {
    /// All calls, in the order of their numbers.
    pub const ALL: [Call; 22] = [
        Call::Alloc,
        Call::FreeBuf,
        Call::Send,
        Call::Receive,
        Call::ReceiveWTmo,
        Call::SetFsem,
        Call::WaitFsem,
        Call::SignalFsem,
        Call::GetFsem,
        Call::CreateSem,
        Call::WaitSem,
        Call::SignalSem,
        Call::GetSem,
        Call::KillSem,
        Call::GetPri,
        Call::SetPri,
        Call::Stop,
        Call::Start,
        Call::Delay,
        Call::CreateProcess,
        Call::Hunt,
        Call::SwapHook,
    ];

    /// The call's name in platform files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Call::Alloc => "alloc",
            Call::FreeBuf => "free_buf",
            Call::Send => "send",
            Call::Receive => "receive",
            Call::ReceiveWTmo => "receive_w_tmo",
            Call::SetFsem => "set_fsem",
            Call::WaitFsem => "wait_fsem",
            Call::SignalFsem => "signal_fsem",
            Call::GetFsem => "get_fsem",
            Call::CreateSem => "create_sem",
            Call::WaitSem => "wait_sem",
            Call::SignalSem => "signal_sem",
            Call::GetSem => "get_sem",
            Call::KillSem => "kill_sem",
            Call::GetPri => "get_pri",
            Call::SetPri => "set_pri",
            Call::Stop => "stop",
            Call::Start => "start",
            Call::Delay => "delay",
            Call::CreateProcess => "create_process",
            Call::Hunt => "hunt",
            Call::SwapHook => "swap_hook",
        }
    }
}
