//! Task error codes: what MQX calls what goes wrong. `include/mqx.h` and `include/mqx_message.h`
//! have the same numbers.

use std::cell::Cell;

use narrows_host::mqx::{MessageError, PoolError, QueueError, QueueId, SendError};

/// A task error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code(pub u32);

pub(super) type Outcome<T> = Result<T, Code>;

impl Code {
    pub const OK: Code = Code(0);
    pub const INVALID_POINTER: Code = Code(0x01);
    pub const NOT_RESOURCE_OWNER: Code = Code(0x03);
    pub const OUT_OF_MEMORY: Code = Code(0x04);
    pub const INVALID_PARAMETER: Code = Code(0x0c);
    pub const CANNOT_CALL_FUNCTION_FROM_ISR: Code = Code(0x0d);
    pub const INVALID_PROCESSOR_NUMBER: Code = Code(0x13);
    pub const INVALID_CONFIGURATION: Code = Code(0x16);
    pub const COMPONENT_DOES_NOT_EXIST: Code = Code(0x18);
    pub const OUT_OF_MESSAGES: Code = Code(0x701);
    pub const OUT_OF_POOLS: Code = Code(0x702);
    pub const INVALID_POOL_ID: Code = Code(0x703);
    pub const ALL_MESSAGES_NOT_FREE: Code = Code(0x704);
    pub const MESSAGE_SIZE_TOO_SMALL: Code = Code(0x705);
    pub const INVALID_QUEUE_ID: Code = Code(0x710);
    pub const QUEUE_IN_USE: Code = Code(0x711);
    pub const NOT_QUEUE_OWNER: Code = Code(0x712);
    pub const QUEUE_IS_NOT_OPEN: Code = Code(0x713);
    pub const MESSAGE_NOT_AVAILABLE: Code = Code(0x714);
    pub const INVALID_MESSAGE_PRIORITY: Code = Code(0x715);
    pub const INVALID_MESSAGE: Code = Code(0x716);
    pub const QUEUE_FULL: Code = Code(0x717);
    pub const RECEIVE_TIMEOUT: Code = Code(0x718);
    pub const MESSAGE_IS_QUEUED: Code = Code(0x71a);
    pub const INVALID_QUEUE_NUMBER: Code = Code(0x71b);
    pub const CANNOT_CREATE_COMPONENT: Code = Code(0x720);
}

impl From<PoolError> for Code {
    fn from(error: PoolError) -> Code {
        match error {
            PoolError::OutOfPools => Code::OUT_OF_POOLS,
            PoolError::NoMemory => Code::OUT_OF_MEMORY,
            PoolError::Unknown => Code::INVALID_POOL_ID,
            PoolError::Empty => Code::OUT_OF_MESSAGES,
            PoolError::InUse => Code::ALL_MESSAGES_NOT_FREE,
        }
    }
}

impl From<QueueError> for Code {
    fn from(error: QueueError) -> Code {
        match error {
            // C asks for any queue by its number only when that is what a processor has.
            QueueError::InUse | QueueError::TooMany => Code::QUEUE_IN_USE,
            QueueError::NotOpen => Code::QUEUE_IS_NOT_OPEN,
            QueueError::NotOwner => Code::NOT_QUEUE_OWNER,
        }
    }
}

/// What freeing a message that C does not have is called.
pub(super) fn of_free(error: MessageError) -> Code {
    match error {
        MessageError::Invalid => Code::NOT_RESOURCE_OWNER,
        MessageError::Queued => Code::MESSAGE_IS_QUEUED,
    }
}

/// What an error of a send to a queue is called.
pub(super) fn of_send(error: SendError, to: QueueId) -> Code {
    match error {
        SendError::Invalid | SendError::Queued | SendError::Priority => Code::INVALID_MESSAGE,
        SendError::Size => Code::MESSAGE_SIZE_TOO_SMALL,
        SendError::UnknownQueue if to.queue() != 0 => Code::QUEUE_IS_NOT_OPEN,
        SendError::UnknownQueue | SendError::NoRoute => Code::INVALID_QUEUE_ID,
        SendError::Full => Code::QUEUE_FULL,
    }
}

thread_local! {
    /// Each thread is a task, and has a code.
    static TASK: Cell<u32> = const { Cell::new(0) };
}

/// Sets the code, unless one is set already; [`Code::OK`] resets it. What it was.
pub(super) fn set(code: Code) -> Code {
    TASK.with(|task| {
        let old = task.get();
        if old == 0 || code == Code::OK {
            task.set(code.0);
        }
        Code(old)
    })
}

/// The code.
pub(super) fn get() -> Code {
    Code(TASK.with(Cell::get))
}

/// Where the code is, while the thread runs.
pub(super) fn place() -> *mut u32 {
    TASK.with(Cell::as_ptr)
}

/// What a call returns: what it came to, or `failed` and a code.
pub(super) fn answer<T>(outcome: Outcome<T>, failed: T) -> T {
    outcome.unwrap_or_else(|code| {
        set(code);
        failed
    })
}
