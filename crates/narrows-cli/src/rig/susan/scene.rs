//! A picture to try it on: shapes and noise, drawn from a seed.

use fastrand::Rng;

use crate::formats::picture::Picture;

/// What the noise of a usual scene is drawn with.
pub const SEED: u64 = 1997;
/// The noise's largest value to either side.
const NOISE: u8 = 12;
/// Of this many pixels one is black or white instead.
const SPECKS: u32 = 200;

/// Shapes of several brightnesses with corners and round edges, under noise.
pub fn scene(width: usize, height: usize, seed: u64) -> Picture {
    let mut random = Rng::with_seed(seed);
    let mut scene = Picture::black(width, height);
    for y in 0..height {
        for x in 0..width {
            // As parts of the picture, so that each size shows the same.
            let part = |at: usize, of: usize| (2 * at + 1) as f64 / (2 * of.max(1)) as f64;
            let noise = i16::from(random.u8(0..=2 * NOISE)) - i16::from(NOISE);
            let bright = (i16::from(shapes(part(x, width), part(y, height))) + noise).clamp(0, 255);
            scene.pixels[y * width + x] = match random.u32(0..SPECKS) {
                0 => 0,
                1 => u8::MAX,
                _ => bright as u8,
            };
        }
    }
    scene
}

/// The brightness of a place, whose parts are from 0 to 1.
fn shapes(x: f64, y: f64) -> u8 {
    let within = |value: f64, from: f64, to: f64| (from..to).contains(&value);
    let disc = (x - 0.72).hypot(y - 0.28) < 0.18;
    let square = within(x, 0.12, 0.44) && within(y, 0.12, 0.44);
    let hole = within(x, 0.24, 0.34) && within(y, 0.22, 0.36);
    let triangle = within(y, 0.56, 0.9) && (x - 0.28).abs() < (y - 0.56) * 0.6;
    // A step, and a ramp that no edge is at.
    let steps = within(x, 0.56, 0.92) && within(y, 0.58, 0.9);
    match () {
        () if hole => 90,
        () if square => 200,
        () if disc => 30,
        () if triangle => 170,
        () if steps && x < 0.72 => 130,
        () if steps => 190 + (60.0 * (x - 0.72)) as u8,
        () => 80,
    }
}
