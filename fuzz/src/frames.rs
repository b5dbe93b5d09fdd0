//! Frames of a point-to-point connection's peer, and what its link handler says in them: both kinds
//! of connection take each stream, with frames that are numbered as they should be and frames that
//! are not.

use narrows::connection::flattened::Flattened;
use narrows::connection::point_to_point::{PointToPoint, Waiting};
use narrows::connection::{Arrived, Header, Settings, Signal, State, UDATA};
use narrows::platform::Instant;

use crate::common::frames::{Line, line};
use crate::input::Input;

const MTU: usize = 96;
/// The longest signal that is taken.
const LONGEST: usize = 300;
const WINDOW: u16 = 3;

/// What one end made of it.
#[derive(Default)]
struct Outcome {
    /// Signals for endpoints that were received and not given back.
    held: u16,
    down: bool,
}

impl Outcome {
    /// Looks at what arrived. False if there is no more now.
    fn saw(&mut self, arrived: Arrived<Vec<u8>>, longest: usize) -> bool {
        assert!(!self.down || matches!(arrived, Arrived::Nothing), "it goes on behind its end");
        match arrived {
            Arrived::Nothing => return false,
            Arrived::Signal(Signal { to, len, buffer, .. }) => {
                assert!(len == buffer.len() && len <= longest, "{len} bytes");
                self.held += u16::from(to != 0);
                assert!(self.held <= WINDOW, "more than the window");
            }
            Arrived::Down(_) => self.down = true,
            Arrived::Part | Arrived::Up | Arrived::NoBuffer => {}
        }
        true
    }
}

/// Buffers, no longer than may be asked for.
fn make(len: usize) -> Option<Vec<u8>> {
    assert!(len <= LONGEST, "a buffer of {len} bytes");
    Some(vec![0; len])
}

/// Puts a frame where the next is received from.
fn put(to: &mut Line, frame: &[u8]) {
    to.into.borrow_mut().frames.push_back(frame.to_vec());
}

/// A signal's only frame, with these numbers of the end that it is for.
fn completed([number, returned]: [u16; 2], given: u16, bytes: &[u8]) -> Vec<u8> {
    let mut header = [0; UDATA];
    let udata = Header::Udata { size: bytes.len() as u32, from: 1, to: 2 };
    udata.write(number, returned.wrapping_add(given), &mut header);
    [&header[..], bytes].concat()
}

/// Each step is a byte: a frame that comes, as the input has it or with the right number, or what
/// the application does.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let settings =
        Settings { window: WINDOW, longest: LONGEST as u32, heartbeat: None, patience: None };
    let start = Instant(0);
    let (mut long_line, _far) = line(MTU, 8);
    let (mut flat_line, _away) = line(MTU, 8);
    let queue: Vec<Waiting<Vec<u8>>> = (0..4).map(|_| None).collect();
    let mut long = PointToPoint::new(queue, settings, start);
    let mut flat = Flattened::new(settings, MTU, start);
    let (mut of_long, mut of_flat) = (Outcome::default(), Outcome::default());
    let mut number = 0_u16;
    while !input.is_empty() {
        let step = input.byte();
        match step % 8 {
            kind @ 0..=4 => {
                let mut frame = input.counted().to_vec();
                if kind < 4 {
                    // Mostly numbered as it should be, so that the rest is looked at.
                    frame.resize(frame.len().max(8), 0);
                    frame[2..4].copy_from_slice(&number.to_le_bytes());
                    frame[4..8].fill(0);
                    number = number.wrapping_add(1);
                }
                put(&mut long_line, &frame);
                put(&mut flat_line, &frame);
                while of_long.saw(long.receive(&mut long_line, start, make), LONGEST) {}
                while of_flat.saw(flat.receive(&mut flat_line, start, make), MTU) {}
            }
            5 => {
                // Without its header, which each end completes for itself.
                let given = u16::from(input.byte());
                let bytes = input.counted();
                let looked = flat.look_bare(bytes.len(), given);
                put(&mut long_line, &completed(long.numbers(), given, bytes));
                put(&mut flat_line, &completed(flat.numbers(), given, bytes));
                number = number.wrapping_add(1);
                while of_long.saw(long.receive(&mut long_line, start, make), LONGEST) {}
                let held = of_flat.held;
                while of_flat.saw(flat.receive(&mut flat_line, start, make), MTU) {}
                assert_eq!(
                    looked,
                    of_flat.held > held,
                    "the short way takes what the long one does"
                );
            }
            6 => {
                // Nobody gives back what was not received.
                let given = u16::from(input.byte());
                let (by_long, by_flat) = (given.min(of_long.held), given.min(of_flat.held));
                long.give_back(by_long);
                flat.give_back(by_flat);
                of_long.held -= by_long;
                of_flat.held -= by_flat;
            }
            _ => {
                let buffer = vec![step; usize::from(input.byte())];
                let len = buffer.len();
                let lent = Signal { from: 1, to: 2, len, buffer: &buffer };
                let _ = flat.send(&mut flat_line, start, lent);
                let _ = long.send(Signal { from: 1, to: 2, len, buffer });
                long.transmit(&mut long_line, start, |_, _| {});
                flat.attend(&mut flat_line, start);
                flat_line.out.borrow_mut().frames.clear();
                long_line.out.borrow_mut().frames.clear();
            }
        }
    }
    assert_eq!(of_long.down, matches!(long.state(), State::Down(_)));
    assert_eq!(of_flat.down, matches!(flat.state(), State::Down(_)));
}
