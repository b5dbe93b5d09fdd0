//! The work that the other core does, as functions over bytes; no messaging in here.
//!
//! A request of `busy` and of `log` begins with an [`Order`] that says what to do. The other
//! functions take the request as it is. Those of shared libraries are in [`foreign`].

pub mod cost;
pub mod foreign;
pub mod g711;
pub mod log;

use g711::Law;
use std::fmt;
use std::time::Duration;

/// The longest duration, period or deadline.
pub const MAX_DURATION: Duration = Duration::from_secs(24 * 3600);

/// What a flow's function is, as workload files name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// Sends the request back.
    Echo,
    /// Works for a given time.
    Busy,
    /// 16-bit samples to one byte each.
    G711Encode,
    /// One byte to a 16-bit sample.
    G711Decode,
    /// A readable text of a given size.
    Log,
    /// One of a shared library, which has its own name.
    Foreign,
}

impl Function {
    /// Every function that has its name here.
    pub const ALL: [Function; 5] =
        [Function::Echo, Function::Busy, Function::G711Encode, Function::G711Decode, Function::Log];

    /// Its name in workload files.
    pub fn name(self) -> &'static str {
        match self {
            Function::Echo => "echo",
            Function::Busy => "busy",
            Function::G711Encode => "g711.encode",
            Function::G711Decode => "g711.decode",
            Function::Log => "log",
            Function::Foreign => "those of a library",
        }
    }

    /// The function of that name.
    pub fn from_name(name: &str) -> Option<Function> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// The names of all functions, for a message.
pub fn names() -> String {
    Function::ALL.map(Function::name).join(", ")
}

/// Bytes of an [`Order`].
pub const ORDER_BYTES: usize = 16;

/// What the first bytes of a request of `busy` and `log` say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// How long to work, in nanoseconds; `log` ignores it.
    pub busy_ns: u64,
    /// Bytes of the response.
    pub response: u32,
    /// Number of the call, which `log` mentions.
    pub call: u32,
}

impl Order {
    /// The bytes of an order, little-endian.
    pub fn to_bytes(self) -> [u8; ORDER_BYTES] {
        let mut bytes = [0; ORDER_BYTES];
        let (time, rest) = bytes.split_at_mut(8);
        let (response, call) = rest.split_at_mut(4);
        time.copy_from_slice(&self.busy_ns.to_le_bytes());
        response.copy_from_slice(&self.response.to_le_bytes());
        call.copy_from_slice(&self.call.to_le_bytes());
        bytes
    }

    /// The order at the beginning of a request, if the request is long enough.
    pub fn from_bytes(request: &[u8]) -> Option<Order> {
        let (time, rest) = request.split_first_chunk()?;
        let (response, rest) = rest.split_first_chunk()?;
        let (call, _) = rest.split_first_chunk()?;
        Some(Order {
            busy_ns: u64::from_le_bytes(*time),
            response: u32::from_le_bytes(*response),
            call: u32::from_le_bytes(*call),
        })
    }
}

/// Why a function refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The request has a length that this function cannot take. Later calls work.
    Request,
    /// The response does not fit into the room given for it. Later calls work.
    Response,
    /// The order asks for more work than a workload may. Later calls work.
    TooLong,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Request => "the request has a length that this function cannot take",
            Refusal::Response => "the response does not fit into the room for it",
            Refusal::TooLong => "the request asks for more than 24 hours of work",
        })
    }
}

impl std::error::Error for Refusal {}

/// Writes the response to a request into the slice and returns its length.
pub type Answer = fn(request: &[u8], response: &mut [u8]) -> Result<usize, Refusal>;

/// How long a core works on a request; none if the request does not say.
pub type Work = fn(request: &[u8]) -> Option<Duration>;

/// A function as the other core offers it: its name on the link, and the work.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The name that calls use; the two laws of a codec have a name each.
    pub name: &'static str,
    /// Answers a whole request.
    pub answer: Answer,
    /// Answers a piece of a request with that piece of the response, which is at most twice as
    /// long; none if the function needs its request whole. Pieces but the last are even.
    pub stream: Option<Answer>,
    /// How long the core has to work on a request besides; none if it is done with the answer.
    pub work: Option<Work>,
}

const fn whole(name: &'static str, answer: Answer) -> Entry {
    Entry { name, answer, stream: None, work: None }
}

const fn stream(name: &'static str, answer: Answer) -> Entry {
    Entry { name, answer, stream: Some(answer), work: None }
}

/// Everything the other core offers.
pub const LIBRARY: [Entry; 7] = [
    stream("echo", echo),
    Entry { name: "busy", answer: busy, stream: None, work: Some(busy_time) },
    stream("g711.encode.a", |from, to| g711::encode(Law::A, from, to)),
    stream("g711.encode.mu", |from, to| g711::encode(Law::Mu, from, to)),
    stream("g711.decode.a", |from, to| g711::decode(Law::A, from, to)),
    stream("g711.decode.mu", |from, to| g711::decode(Law::Mu, from, to)),
    whole("log", log),
];

/// The entry of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    LIBRARY.iter().find(|entry| entry.name == name)
}

fn echo(request: &[u8], response: &mut [u8]) -> Result<usize, Refusal> {
    let room = response.get_mut(..request.len()).ok_or(Refusal::Response)?;
    room.copy_from_slice(request);
    Ok(request.len())
}

fn busy(request: &[u8], response: &mut [u8]) -> Result<usize, Refusal> {
    let (_, room) = ordered(request, response)?;
    if busy_time(request).is_some_and(|time| time > crate::formats::functions::MAX_DURATION) {
        return Err(Refusal::TooLong);
    }
    room.fill(0);
    Ok(room.len())
}

fn busy_time(request: &[u8]) -> Option<Duration> {
    Order::from_bytes(request).map(|order| Duration::from_nanos(order.busy_ns))
}

fn log(request: &[u8], response: &mut [u8]) -> Result<usize, Refusal> {
    let (order, room) = ordered(request, response)?;
    log::write(order.call, room);
    Ok(room.len())
}

fn ordered<'a>(request: &[u8], response: &'a mut [u8]) -> Result<(Order, &'a mut [u8]), Refusal> {
    let order = Order::from_bytes(request).ok_or(Refusal::Request)?;
    let room = usize::try_from(order.response)
        .ok()
        .and_then(|bytes| response.get_mut(..bytes))
        .ok_or(Refusal::Response)?;
    Ok((order, room))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_go_there_and_back() {
        let order = Order { busy_ns: 1 << 40, response: 300, call: 7 };
        assert_eq!(Order::from_bytes(&order.to_bytes()), Some(order));
        assert_eq!(Order::from_bytes(&[0; ORDER_BYTES - 1]), None);
    }

    #[test]
    fn platform_files_may_say_the_cost_of_each() {
        assert_eq!(LIBRARY.map(|entry| entry.name), narrows_sim::chip::FUNCTIONS);
    }

    #[test]
    fn every_function_answers_with_the_length_it_promises() {
        let order = Order { busy_ns: 1, response: 33, call: 1 }.to_bytes();
        let expected = [16, 33, 8, 8, 32, 32, 33];
        for (entry, expected) in LIBRARY.iter().zip(expected) {
            let mut room = [0xff; 64];
            let found = (find(entry.name).unwrap().answer)(&order, &mut room);
            assert_eq!(found, Ok(expected), "{}", entry.name);
            assert!(room[expected..].iter().all(|byte| *byte == 0xff), "{}", entry.name);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let order = Order { busy_ns: 1, response: u32::MAX, call: 1 }.to_bytes();
        for entry in &LIBRARY {
            let refusal = (entry.answer)(&order, &mut [0; 4]);
            assert_eq!(refusal, Err(Refusal::Response), "{}", entry.name);
        }
        assert_eq!(busy(&[1, 2], &mut [0; 64]), Err(Refusal::Request));
        let forever = Order { busy_ns: u64::MAX, response: 1, call: 1 }.to_bytes();
        assert_eq!(busy(&forever, &mut [0; 64]), Err(Refusal::TooLong));
    }
}
