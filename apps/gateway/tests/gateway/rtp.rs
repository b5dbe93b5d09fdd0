//! RTP as the tests send and receive it.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// Bytes of a frame of 20 ms.
pub const FRAME: u32 = 160;
const EVERY: Duration = Duration::from_millis(20);

/// Sends frames of sound, one each 20 ms.
pub struct Sender {
    socket: UdpSocket,
    pub to: u16,
    pub sequence: u16,
    pub time: u32,
    pub payload_type: u8,
    /// Of the frame that is sent next.
    pub number: u32,
    next: Instant,
}

impl Sender {
    pub fn new(to: u16, payload_type: u8) -> Sender {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (sequence, time) = (65_500, u32::MAX - 8000);
        Sender { socket, to, sequence, time, payload_type, number: 0, next: Instant::now() }
    }

    pub fn packet(&self) -> Vec<u8> {
        let mut packet = vec![0x80, self.payload_type];
        packet.extend(self.sequence.to_be_bytes());
        packet.extend(self.time.to_be_bytes());
        packet.extend([0, 0, 0, 77]);
        // A tone, as µ-law has it, then its number in three digits of base 16, as sounds that are
        // loud, which both laws tell apart. What follows a lost frame is blended at its beginning.
        packet.extend((3..FRAME).map(|sample| if sample % 16 < 8 { 0x10 } else { 0x90 }));
        packet.extend([8, 4, 0].map(|shift| 0x80 + 4 * (self.number >> shift & 15) as u8));
        packet
    }

    /// Goes on to the next frame, when it is time for it.
    pub fn step(&mut self) {
        self.sequence = self.sequence.wrapping_add(1);
        self.time = self.time.wrapping_add(FRAME);
        self.number += 1;
        self.next += EVERY;
        std::thread::sleep(self.next.saturating_duration_since(Instant::now()));
    }

    pub fn throw(&self, packet: &[u8]) {
        self.socket.send_to(packet, ("127.0.0.1", self.to)).unwrap();
    }

    pub fn send(&mut self, frames: usize) {
        for _ in 0..frames {
            self.throw(&self.packet());
            self.step();
        }
    }
}

/// A packet that came.
#[derive(Clone, Debug)]
pub struct Packet {
    pub payload_type: u8,
    pub sequence: u16,
    pub time: u32,
    pub payload: Vec<u8>,
}

pub struct Receiver {
    socket: UdpSocket,
    pub port: u16,
}

impl Receiver {
    pub fn new() -> Receiver {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let port = socket.local_addr().unwrap().port();
        Receiver { socket, port }
    }

    /// Waits until something comes, which is not taken.
    pub fn first(&self) {
        let until = Instant::now() + Duration::from_secs(10);
        while self.socket.peek(&mut [0; 64]).is_err() {
            assert!(Instant::now() < until, "nothing comes");
        }
    }

    /// All that has come until it is quiet.
    pub fn all(&self) -> Vec<Packet> {
        let mut packets = Vec::new();
        let mut bytes = [0; 2048];
        while let Ok(length) = self.socket.recv(&mut bytes) {
            assert!(length > 12 && bytes[0] == 0x80, "what comes out is RTP");
            packets.push(Packet {
                payload_type: bytes[1] & 0x7f,
                sequence: u16::from_be_bytes([bytes[2], bytes[3]]),
                time: u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
                payload: bytes[12..length].to_vec(),
            });
        }
        packets
    }
}

/// Numbers of the frames that came in A-law. The stream has no packet twice and none out of order.
pub fn numbers(packets: &[Packet]) -> Vec<u32> {
    for pair in packets.windows(2) {
        assert_eq!(pair[1].sequence, pair[0].sequence.wrapping_add(1), "in order, none missing");
    }
    // Loud sounds have the same code in both laws but for a step and for which bits are inverted.
    let digit = |byte: u8| (u32::from(0x7f - ((byte ^ 0xd5) & 0x7f)) + 2) / 4;
    let number =
        |packet: &Packet| packet.payload[157..].iter().fold(0, |n, byte| 16 * n + digit(*byte));
    packets.iter().map(number).collect()
}

/// The longest hole of a stream, in frames, as its time stamps have it.
pub fn longest_hole(packets: &[Packet]) -> u32 {
    let holes = packets.windows(2).map(|pair| {
        let step = pair[1].time.wrapping_sub(pair[0].time);
        assert!(step < 1 << 31, "time goes on");
        (step / FRAME).saturating_sub(1)
    });
    holes.max().unwrap_or(0)
}
