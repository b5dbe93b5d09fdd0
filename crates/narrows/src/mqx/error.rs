//! Why something was not done, in a type for each kind of call, with MQX's name for it.

use core::fmt;

/// Gives an error its sentences and MQX's names.
macro_rules! says {
    ($error:ident: $($which:ident, $code:literal, $text:literal;)+) => {
        impl $error {
            /// What MQX calls it: the name of a task error code.
            #[must_use]
            pub fn code(self) -> &'static str {
                match self { $($error::$which => $code,)+ }
            }
            /// All of them.
            pub const ALL: &'static [$error] = &[$($error::$which),+];
        }
        impl fmt::Display for $error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $($error::$which => $text,)+ })
            }
        }
        impl core::error::Error for $error {}
    };
}

/// Why there is no pool, or no message of it, or why it stays. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolError {
    /// No place for a pool is left.
    OutOfPools,
    /// No memory for its messages.
    NoMemory,
    /// There is no such pool, or it is not for the application.
    Unknown,
    /// All its messages are in use, and it cannot grow: try again when one was freed.
    Empty,
    /// Not all its messages are free: try again when they are.
    InUse,
}

says! { PoolError:
    OutOfPools, "MSGPOOL_OUT_OF_POOLS", "the processor has no place for another pool";
    NoMemory, "MQX_OUT_OF_MEMORY", "there is no memory for the messages of the pool";
    Unknown, "MSGPOOL_INVALID_POOL_ID", "there is no such pool of the application's";
    Empty, "MSGPOOL_OUT_OF_MESSAGES", "all messages of the pool are in use: free one and try again";
    InUse, "MSGPOOL_ALL_MESSAGES_NOT_FREE", "messages of the pool are in use: free them first";
}

/// Why a message cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageError {
    /// It was freed or sent: it names nothing that the caller has.
    Invalid,
    /// It is in a queue, or on its way.
    Queued,
}

says! { MessageError:
    Invalid, "MSGQ_INVALID_MESSAGE", "there is no such message: it was freed";
    Queued, "MSGQ_MESSAGE_IS_QUEUED", "the message was sent: it is its receiver's";
}

/// Why a message was not sent. It is still the sender's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// See [`MessageError::Invalid`].
    Invalid,
    /// See [`MessageError::Queued`].
    Queued,
    /// Its header says that it is longer than its memory, or that of the processors on its way.
    Size,
    /// Its header has a priority over 15.
    Priority,
    /// Its target is no queue that is open on this processor.
    UnknownQueue,
    /// No link leads to its target's processor now.
    NoRoute,
    /// Its target's queue, or that of the way there, is full: try again.
    Full,
}

says! { SendError:
    Invalid, "MSGQ_INVALID_MESSAGE", "there is no such message: it was freed";
    Queued, "MSGQ_MESSAGE_IS_QUEUED", "the message was sent before: it is its receiver's";
    Size, "MSGPOOL_MESSAGE_SIZE_TOO_SMALL", "the header says more bytes than there is memory";
    Priority, "MSGQ_INVALID_MESSAGE", "priorities go from 0 to 15";
    UnknownQueue, "MSGQ_INVALID_QUEUE_ID", "the target is no open queue of this processor";
    NoRoute, "MSGQ_INVALID_QUEUE_ID", "no link leads to the target's processor now";
    Full, "MSGQ_QUEUE_FULL", "the target's queue, or that of the way there, is full: try again";
}

impl From<MessageError> for SendError {
    fn from(error: MessageError) -> SendError {
        match error {
            MessageError::Invalid => SendError::Invalid,
            MessageError::Queued => SendError::Queued,
        }
    }
}

/// Why a queue is not opened, closed or looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueError {
    /// The number is taken.
    InUse,
    /// The processor has no queue of that number, or all are open.
    TooMany,
    /// No queue of that id is open on this processor.
    NotOpen,
    /// It is another task's, or a system queue where a task's is asked for.
    NotOwner,
}

says! { QueueError:
    InUse, "MSGQ_QUEUE_IN_USE", "a queue of that number is open: choose another, or 0 for any";
    TooMany, "MSGQ_TOO_MANY_QUEUES", "the processor has no such queue, or all of them are open";
    NotOpen, "MSGQ_QUEUE_IS_NOT_OPEN", "no queue of that id is open on this processor";
    NotOwner, "MSGQ_NOT_QUEUE_OWNER", "the queue is not the task's";
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn every_error_is_a_sentence_of_its_own_and_has_a_code() {
        fn check<E: Copy + ToString>(all: &[E], code: impl Fn(E) -> &'static str) {
            let mut said: std::vec::Vec<_> = all.iter().map(E::to_string).collect();
            assert!(said.iter().all(|text| text.len() > 15), "{said:?}");
            said.sort();
            said.dedup();
            assert_eq!(said.len(), all.len());
            assert!(all.iter().all(|e| code(*e).starts_with("M") && code(*e).contains('_')));
        }
        check(PoolError::ALL, PoolError::code);
        check(MessageError::ALL, MessageError::code);
        check(SendError::ALL, SendError::code);
        check(QueueError::ALL, QueueError::code);
    }
}
