//! The errors of `narrows.h`, and the sentence of the calling thread's last one.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt::Display;
use std::time::Duration;

use narrows::endpoint::{
    CallError, Failure, FlowError, LinkError, PortError, SendError, ServeError,
};
use narrows::platform::HuntError;
use narrows_host::OpenError;

/// `narrows_error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Code {
    Again = 1,
    Timeout,
    PeerGone,
    Closed,
    Busy,
    Argument,
    Name,
    Strategy,
    TooLong,
    Short,
    NotFound,
    Failed,
    Order,
    Finished,
    Outstanding,
    Taken,
    Full,
    Refused,
    System,
    Types,
}

/// What each number means, as a sentence.
const SENTENCES: [&CStr; 21] = [
    c"nothing went wrong",
    c"it has not happened yet, or there is no room now, and the call was not to wait: try again later, or give it time",
    c"it did not happen in the time that was given: see that the peer runs and serves, or wait longer",
    c"the peer is gone: hunt it again, and open its flows again",
    c"there is no such node, peer or flow in this process: it is NULL or was closed, or this is a forked child, which opens its own",
    c"another call with this node has not ended: use a node from one thread at a time, and not from a function that it serves",
    c"an argument is NULL, out of range or not for this: see what narrows.h says of the function",
    c"a name has 1 to 31 letters, digits, '.', '_' or '-' and starts with no dot",
    c"the strategy is none, or not possible between these nodes: see docs/CHOOSING.md for the words",
    c"it is longer than a block, or than the caller takes: send it in parts, or open the node for longer messages",
    c"the buffer is too short: try again with one of the length that the call has given",
    c"the peer has no function of that name, or the port is not open: see what it offers, or open the port first",
    c"the function on the other core says that it failed",
    c"an earlier call of this flow has to be finished first: calls are finished in the order they were started",
    c"the call has been finished, or none is outstanding: start one before finishing it",
    c"calls are outstanding, or memory is out: finish the calls, and give the memory back, first",
    c"the name, or the port, is in use: choose another",
    c"a table is full: close what is not used any more",
    c"the other side does not have it: its port is closed, or it is of another user or version",
    c"the system refused something",
    c"the service has other types than this program: build both with the same",
];

/// What a number means that is none.
const UNKNOWN: &CStr = c"this number is no error of narrows.h";

/// The sentence of a number.
pub(super) fn sentence(code: c_int) -> &'static CStr {
    usize::try_from(code).ok().and_then(|at| SENTENCES.get(at).copied()).unwrap_or(UNKNOWN)
}

/// Why a call failed: which error, and a sentence of its own if it has more to say.
#[derive(Debug)]
pub(super) struct Fault {
    pub code: Code,
    text: Option<String>,
}

pub(super) type Outcome<T = ()> = Result<T, Fault>;

impl Fault {
    /// With a sentence of its own.
    pub fn said(code: Code, text: impl Display) -> Fault {
        Fault { code, text: Some(text.to_string()) }
    }
}

impl From<Code> for Fault {
    fn from(code: Code) -> Fault {
        Fault { code, text: None }
    }
}

impl From<SendError> for Fault {
    fn from(error: SendError) -> Fault {
        let code = match error {
            // Asked for again and again: without a sentence to be made each time.
            SendError::RingFull | SendError::PoolEmpty | SendError::Switching => {
                return Code::Again.into();
            }
            SendError::TooLong { .. } => Code::TooLong,
            SendError::Deadline => Code::Timeout,
            // A peer or flow that is in the table and that the node does not know: its link ended.
            SendError::Gone(_) | SendError::Unknown => Code::PeerGone,
            SendError::Closed => Code::NotFound,
            SendError::NoEngine => Code::Strategy,
            SendError::NoPort | SendError::NoFunction | SendError::NotReserved => Code::Argument,
            _ => Code::System,
        };
        Fault::said(code, error)
    }
}

impl From<CallError> for Fault {
    fn from(error: CallError) -> Fault {
        let code = match error {
            CallError::Start(error) => return error.into(),
            CallError::Unknown | CallError::Gone(_) => Code::PeerGone,
            CallError::Deadline => Code::Timeout,
            CallError::Failed(Failure::TooLong | Failure::NoRoom) => Code::TooLong,
            CallError::Failed(_) => return Code::Failed.into(),
            CallError::Short { .. } => Code::Short,
            CallError::Outstanding => Code::Outstanding,
            CallError::Nothing => return Code::Finished.into(),
            _ => Code::System,
        };
        Fault::said(code, error)
    }
}

impl From<FlowError> for Fault {
    fn from(error: FlowError) -> Fault {
        let code = match error {
            FlowError::Unknown | FlowError::Gone(_) => Code::PeerGone,
            FlowError::NotFound => Code::NotFound,
            FlowError::Deadline => Code::Timeout,
            FlowError::Full => Code::Full,
            FlowError::Strategy(_) | FlowError::Infeasible => Code::Strategy,
            FlowError::Switching => return Code::Again.into(),
            FlowError::Outstanding => Code::Outstanding,
            _ => Code::System,
        };
        Fault::said(code, error)
    }
}

impl From<LinkError> for Fault {
    fn from(error: LinkError) -> Fault {
        let code = match error {
            LinkError::Unknown | LinkError::Gone(_) => Code::PeerGone,
            LinkError::Deadline => Code::Timeout,
            LinkError::Full | LinkError::Hunt(HuntError::TooManyLinks | HuntError::NoRoom) => {
                Code::Full
            }
            LinkError::Hunt(HuntError::Forbidden | HuntError::Incompatible) => Code::Refused,
            LinkError::Hunt(HuntError::Own) => Code::Argument,
            _ => Code::System,
        };
        Fault::said(code, error)
    }
}

impl From<PortError> for Fault {
    fn from(error: PortError) -> Fault {
        let code = match error {
            PortError::OutOfRange => Code::Argument,
            PortError::Open => Code::Taken,
            PortError::Closed => Code::NotFound,
            PortError::Deadline => Code::Timeout,
            _ => Code::System,
        };
        Fault::said(code, error)
    }
}

impl From<ServeError> for Fault {
    fn from(error: ServeError) -> Fault {
        let code = match error {
            ServeError::Deadline => Code::Timeout,
            _ => Code::System,
        };
        Fault::said(code, error)
    }
}

impl From<OpenError> for Fault {
    fn from(error: OpenError) -> Fault {
        let code = match error {
            OpenError::Name(_) => Code::Name,
            OpenError::Longest(..) => Code::Argument,
            OpenError::Taken(_) | OpenError::Occupied(_) => Code::Taken,
            _ => Code::System,
        };
        Fault::said(code, error)
    }
}

impl From<narrows_services::Error> for Fault {
    fn from(error: narrows_services::Error) -> Fault {
        use narrows_services::{Error as Service, Refusal};
        let code = match error {
            Service::Link(_, error) => return error.into(),
            Service::Flow(_, error) => return error.into(),
            Service::Serve(error) => return error.into(),
            Service::Open(error) => return error.into(),
            Service::Busy => return Code::Busy.into(),
            Service::Name(_) => Code::Name,
            Service::Description(_) | Service::Slots(..) | Service::Terms(_) => Code::Argument,
            // It was not there in the time that was given.
            Service::NotFound(_) | Service::Nothing(_) | Service::Full(_) => Code::Timeout,
            Service::Types { .. } | Service::Refused(_, Refusal::Types) => Code::Types,
            Service::Refused(..) => Code::Refused,
            Service::Offered(_) => Code::Taken,
            Service::Ports => Code::Full,
            Service::Size(_) | Service::Limit { .. } | Service::Long { .. } => Code::TooLong,
            Service::Gone(_) => Code::PeerGone,
            Service::Holds(_) => Code::Outstanding,
            _ => Code::System,
        };
        Fault::said(code, error)
    }
}

/// Whether a time of C's is none to wait.
#[inline]
pub(super) fn at_once(within: Option<Duration>) -> bool {
    within == Some(Duration::ZERO)
}

/// What a call that did not wait says of what has not happened.
pub(super) fn hurried<T>(within: Option<Duration>, outcome: Outcome<T>) -> Outcome<T> {
    match outcome {
        Err(fault) if fault.code == Code::Timeout && at_once(within) => Err(Code::Again.into()),
        other => other,
    }
}

/// The last error of a thread.
struct Last {
    code: c_int,
    /// None if the number's own sentence says all.
    text: Option<CString>,
}

thread_local! {
    static LAST: RefCell<Last> = const { RefCell::new(Last { code: 0, text: None }) };
}

/// What a call returns, and notes why it failed.
#[inline]
pub(super) fn answer(outcome: Outcome) -> c_int {
    match outcome {
        Ok(()) => 0,
        Err(fault) => note(fault),
    }
}

#[cold]
fn note(fault: Fault) -> c_int {
    let code = fault.code as c_int;
    let text = fault.text.and_then(|text| CString::new(text).ok());
    // A thread that ends has no such place any more, and nobody to read it.
    let _ = LAST.try_with(|last| {
        if let Ok(mut last) = last.try_borrow_mut() {
            *last = Last { code, text };
        }
    });
    code
}

/// The sentence of the calling thread's last error.
pub(super) fn last() -> *const c_char {
    let text = |last: &RefCell<Last>| {
        let last = last.try_borrow().ok()?;
        Some(last.text.as_ref().map_or(sentence(last.code).as_ptr(), |text| text.as_ptr()))
    };
    LAST.try_with(text).ok().flatten().unwrap_or(UNKNOWN.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the header numbers: name and number.
    fn declared() -> Vec<(String, c_int)> {
        let header = include_str!("../../include/narrows.h");
        let lines = header.lines().skip_while(|line| !line.contains("enum narrows_error"));
        let lines = lines.skip(1).take_while(|line| !line.starts_with('}'));
        let pair = |line: &str| {
            let (name, rest) = line.trim().split_once(" = ")?;
            let number = rest.split([',', ' ']).next()?.parse().ok()?;
            Some((name.to_owned(), number))
        };
        lines.filter_map(pair).collect()
    }

    #[test]
    fn the_header_numbers_each_error_as_the_library_does() {
        use Code::*;
        let all = [
            Again,
            Timeout,
            PeerGone,
            Closed,
            Busy,
            Argument,
            Name,
            Strategy,
            TooLong,
            Short,
            NotFound,
            Failed,
            Order,
            Finished,
            Outstanding,
            Taken,
            Full,
            Refused,
            System,
            Types,
        ];
        let capitals = |code: &Code| {
            let name = format!("{code:?}");
            let mut text = String::from("NARROWS");
            for letter in name.chars() {
                if letter.is_uppercase() {
                    text.push('_');
                }
                text.push(letter.to_ascii_uppercase());
            }
            text
        };
        let mut expected = vec![("NARROWS_OK".to_owned(), 0)];
        expected.extend(all.iter().map(|code| (capitals(code), *code as c_int)));
        assert_eq!(declared(), expected);
        assert_eq!(SENTENCES.len(), expected.len());
    }

    #[test]
    fn an_error_without_a_sentence_of_its_own_has_that_of_its_number() {
        assert_eq!(answer(Err(Code::Busy.into())), 5);
        assert_eq!(last(), sentence(5).as_ptr());
        assert_eq!(answer(Err(Fault::said(Code::Name, "no \0 text"))), 7);
        assert_eq!(last(), sentence(7).as_ptr());
        assert_eq!(sentence(-1), UNKNOWN);
        assert_eq!(sentence(21), UNKNOWN);
    }
}
