//! The part of Perfetto's trace format that is used here, with the numbers of its fields from
//! `perfetto/trace/trace_packet.proto` and the files that it names.

use prost::Message;

/// The tag of a packet in a file: field 1, with a length behind it.
pub const PACKET: u8 = 1 << 3 | 2;

/// One packet of a file. The file is a row of them, each as field 1 of the message `Trace`.
#[derive(Clone, PartialEq, Message)]
pub struct Packet {
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    pub sequence: Option<u32>,
    #[prost(message, optional, tag = "11")]
    pub event: Option<Event>,
    #[prost(message, optional, tag = "60")]
    pub track: Option<TrackDescriptor>,
    /// Not Perfetto's: its readers skip it.
    #[prost(message, optional, tag = "20021")]
    pub seal: Option<Seal>,
}

/// What is said of the packets that follow.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Seal {
    /// How many bytes they have.
    #[prost(uint32, tag = "1")]
    pub bytes: u32,
    /// CRC-32 (ISO-HDLC) of them.
    #[prost(fixed32, tag = "2")]
    pub sum: u32,
}

impl Seal {
    pub fn of(packets: &[u8]) -> Seal {
        Seal { bytes: packets.len() as u32, sum: crc32fast::hash(packets) }
    }

    pub fn len(self) -> u64 {
        self.bytes.into()
    }

    pub fn holds(self, packets: &[u8]) -> bool {
        self == Seal::of(packets)
    }
}

/// `TrackEvent`.
#[derive(Clone, PartialEq, Message)]
pub struct Event {
    #[prost(message, repeated, tag = "4")]
    pub annotations: Vec<Annotation>,
    #[prost(int32, optional, tag = "9")]
    pub kind: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    pub track: Option<u64>,
    #[prost(string, repeated, tag = "22")]
    pub categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    #[prost(int64, optional, tag = "30")]
    pub value: Option<i64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flows: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub ending_flows: Vec<u64>,
    /// Not Perfetto's, in its range for extensions.
    #[prost(bytes = "vec", optional, tag = "9921")]
    pub payload: Option<Vec<u8>>,
}

/// `TrackEvent.Type`.
pub const BEGIN: i32 = 1;
pub const END: i32 = 2;
pub const INSTANT: i32 = 3;
pub const COUNTER: i32 = 4;

/// `DebugAnnotation`.
#[derive(Clone, PartialEq, Message)]
pub struct Annotation {
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
    #[prost(uint64, optional, tag = "3")]
    pub number: Option<u64>,
    #[prost(string, optional, tag = "6")]
    pub text: Option<String>,
}

/// `TrackDescriptor`.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    #[prost(message, optional, tag = "4")]
    pub thread: Option<ThreadDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    pub parent: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
}

/// `ProcessDescriptor`.
#[derive(Clone, PartialEq, Message)]
pub struct ProcessDescriptor {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(string, optional, tag = "6")]
    pub name: Option<String>,
}

/// `ThreadDescriptor`.
#[derive(Clone, PartialEq, Message)]
pub struct ThreadDescriptor {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub tid: Option<i32>,
    #[prost(string, optional, tag = "5")]
    pub name: Option<String>,
}

/// `CounterDescriptor`.
#[derive(Clone, PartialEq, Message)]
pub struct CounterDescriptor {
    #[prost(string, optional, tag = "6")]
    pub unit: Option<String>,
}
