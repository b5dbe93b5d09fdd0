//! Smoothing: each pixel becomes the average of those around it that are about as bright, the
//! nearer the more. One that is like none of them becomes their median.

use std::ops::Range;

use super::Work;
use super::mask::{Laid, MASK, PIXELS, Spot, Tables, inside};
use crate::formats::picture::Picture;

/// The nucleus's place in the mask: it has no say in what it becomes.
const NUCLEUS: usize = PIXELS / 2;

pub fn rows(tables: &Tables, strip: &Picture, keep: Range<usize>, work: &mut Work) -> Vec<u8> {
    let laid = Laid::on(strip);
    let mut found = Vec::with_capacity(keep.len() * strip.width);
    for y in keep {
        let inside = inside(strip, y);
        for x in 0..strip.width {
            let at = y * strip.width + x;
            let nucleus = strip.pixels[at];
            let mut sum = Sum::default();
            if inside.contains(&x) {
                for (place, pixel) in laid.around(&strip.pixels, at).enumerate() {
                    sum.add(tables, place, nucleus, pixel);
                }
            } else {
                for (place, spot) in MASK.iter().enumerate() {
                    if let Some(pixel) = beside(strip, (x, y), *spot) {
                        sum.add(tables, place, nucleus, pixel);
                    }
                }
            }
            work.averaged += sum.pixels;
            found.push(sum.average().unwrap_or_else(|| {
                work.medians += 1;
                median(strip, (x, y))
            }));
        }
    }
    found
}

/// A weighted sum.
#[derive(Default)]
struct Sum {
    pixels: u64,
    weights: u32,
    bright: u32,
}

impl Sum {
    fn add(&mut self, tables: &Tables, place: usize, nucleus: u8, pixel: u8) {
        if place == NUCLEUS {
            return;
        }
        let weight = tables.near()[place] * tables.blended(nucleus, pixel);
        self.pixels += 1;
        self.weights += weight;
        self.bright += weight * u32::from(pixel);
    }

    /// To the nearest whole number. `None` if nothing has a weight.
    fn average(&self) -> Option<u8> {
        // It lies between the least and the greatest pixel.
        (self.bright + self.weights / 2).checked_div(self.weights).map(|average| average as u8)
    }
}

/// The pixel of a spot beside a place, if the strip has one.
fn beside(strip: &Picture, (x, y): (usize, usize), spot: Spot) -> Option<u8> {
    let x = x.checked_add_signed(spot.x as isize).filter(|x| *x < strip.width)?;
    let y = y.checked_add_signed(spot.y as isize).filter(|y| *y < strip.height)?;
    strip.pixels.get(y * strip.width + x).copied()
}

/// The median of the neighbours; of two in the middle, the whole number below their average.
fn median(strip: &Picture, place: (usize, usize)) -> u8 {
    let mut all = [0; 8];
    let mut count = 0;
    let spots = MASK.iter().filter(|spot| spot.x.abs().max(spot.y.abs()) == 1);
    for pixel in spots.filter_map(|spot| beside(strip, place, *spot)) {
        all[count] = pixel;
        count += 1;
    }
    let there = &mut all[..count];
    there.sort_unstable();
    match there {
        [] => 0,
        _ => {
            let (low, high) = (there[(count - 1) / 2], there[count / 2]);
            u16::midpoint(low.into(), high.into()) as u8
        }
    }
}
