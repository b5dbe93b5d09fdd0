//! The frames of a conversation of the phone, by what differs between them.

use narrows_sim::time::Time;

const FRAMES: usize = 1000;
/// Both functions on the ARM: for a load of 46.53 % in the first row of S0 table 3, an input.
const CODEC: Time = Time::nanos(6_014_000);
/// By how much they take more or less: for the deviation of that row, 0.48 ms.
const CODEC_VARIES: Time = Time::nanos(181_000);
/// What holds up the media process, in this many of a thousand frames: for 20.40 ms between packets
/// and a deviation of 0.40 ms in the second row, inputs.
const HELD_UP: (usize, Time) = (445, Time::nanos(805_000));

/// What is different from frame to frame.
pub(super) struct Frame {
    pub held_up: Time,
    pub codec: Time,
}

/// Frames of a conversation, in an order that is the same for every one.
pub(super) fn frames() -> Vec<Frame> {
    let mut random = fastrand::Rng::with_seed(1);
    let (thousandths, time) = HELD_UP;
    let held_up = FRAMES * thousandths / 1000;
    let mut all: Vec<Time> =
        (0..FRAMES).map(|at| if at < held_up { time } else { Time::ZERO }).collect();
    random.shuffle(&mut all);
    all.into_iter()
        .map(|held_up| {
            let codec = if random.bool() { CODEC + CODEC_VARIES } else { CODEC - CODEC_VARIES };
            Frame { held_up, codec }
        })
        .collect()
}
