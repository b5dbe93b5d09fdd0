//! Speech in eight bits a sample, after ITU-T Recommendation G.711: A-law and mu-law.
//!
//! Samples are 16 bits wide; A-law uses the upper 13 of them, mu-law the upper 14. A negative
//! sample `-1 - x` has the code of `x` with the other sign, so both halves are divided alike.
//! The Recommendation leaves open to which side a value on a boundary falls; here it is the
//! interval further from zero for positive values, the nearer one for negative values.

use super::Refusal;

/// The two laws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// A-law, of most of the world.
    A,
    /// Mu-law, of North America and Japan.
    Mu,
}

impl Law {
    /// Its name in workload files.
    pub fn name(self) -> &'static str {
        match self {
            Law::A => "a",
            Law::Mu => "mu",
        }
    }
}

/// A-law inverts every other bit on the line.
const EVEN_BITS: u8 = 0x55;
const SIGN: u8 = 0x80;
/// Mu-law adds this to a 14-bit magnitude, so that every segment begins at a power of two.
const MU_BIAS: u16 = 33;
/// The largest biased magnitude of mu-law; louder samples are clipped.
const MU_LOUDEST: u16 = 0x1fff;

/// The code of a sample.
pub fn encode_sample(law: Law, sample: i16) -> u8 {
    let magnitude = (if sample < 0 { !sample } else { sample }).cast_unsigned();
    match law {
        Law::A => {
            let steps = magnitude >> 4;
            // The two lowest segments have equal steps; each further one doubles them.
            let segment = bits(steps).saturating_sub(4);
            let within = (steps >> segment.saturating_sub(1)) & 0xf;
            let sign = if sample < 0 { 0 } else { SIGN };
            (sign | byte(segment << 4 | within)) ^ EVEN_BITS
        }
        Law::Mu => {
            let biased = ((magnitude >> 2) + MU_BIAS).min(MU_LOUDEST);
            let segment = bits(biased).saturating_sub(6);
            let within = (biased >> (segment + 1)) & 0xf;
            let sign = if sample < 0 { SIGN } else { 0 };
            !(sign | byte(segment << 4 | within))
        }
    }
}

/// The sample that a code stands for: the middle of its interval.
pub fn decode_sample(law: Law, code: u8) -> i16 {
    match law {
        Law::A => {
            let code = code ^ EVEN_BITS;
            let segment = (code >> 4) & 7;
            let within = i16::from(code & 0xf);
            let magnitude = match segment {
                0 => (within << 4) + 8,
                _ => ((within << 4) + 0x108) << (segment - 1),
            };
            if code & SIGN == 0 { -magnitude } else { magnitude }
        }
        Law::Mu => {
            let code = !code;
            let segment = (code >> 4) & 7;
            let within = i16::from(code & 0xf);
            let biased = ((within << 3) + 0x84) << segment;
            let magnitude = biased - (MU_BIAS << 2).cast_signed();
            if code & SIGN == 0 { magnitude } else { -magnitude }
        }
    }
}

/// Encodes a frame of little-endian 16-bit samples; returns how many codes it wrote.
///
/// # Errors
/// [`Refusal::Request`] if the frame has half a sample at its end, [`Refusal::Response`] if
/// `codes` is shorter than half of it.
pub fn encode(law: Law, samples: &[u8], codes: &mut [u8]) -> Result<usize, Refusal> {
    let (samples, []) = samples.as_chunks::<2>() else {
        return Err(Refusal::Request);
    };
    let room = codes.get_mut(..samples.len()).ok_or(Refusal::Response)?;
    for (code, sample) in room.iter_mut().zip(samples) {
        *code = encode_sample(law, i16::from_le_bytes(*sample));
    }
    Ok(samples.len())
}

/// Decodes a frame into little-endian 16-bit samples; returns how many bytes it wrote.
///
/// # Errors
/// [`Refusal::Response`] if `samples` is shorter than twice the frame.
pub fn decode(law: Law, codes: &[u8], samples: &mut [u8]) -> Result<usize, Refusal> {
    let bytes = codes.len().checked_mul(2).ok_or(Refusal::Response)?;
    let room = samples.get_mut(..bytes).ok_or(Refusal::Response)?;
    let (room, _) = room.as_chunks_mut::<2>();
    for (sample, code) in room.iter_mut().zip(codes) {
        *sample = decode_sample(law, *code).to_le_bytes();
    }
    Ok(bytes)
}

/// Number of bits from the highest one down.
fn bits(value: u16) -> u16 {
    (u16::BITS - value.leading_zeros()) as u16
}

fn byte(value: u16) -> u8 {
    value.to_le_bytes()[0]
}

#[cfg(test)]
#[path = "g711_tests.rs"]
mod tests;
