//! Corners: pixels whose area is below half of the mask, lies to one side and reaches from the
//! nucleus to the rim, and that are the strongest of five by five.

use std::ops::Range;

use super::mask::{ALIKE, Area, Laid, PIXELS, RADIUS, Tables, inside};
use super::{Work, pixel};
use crate::formats::picture::Picture;

/// How far a pixel looks for a stronger one.
pub const REACH: usize = 2;
/// The geometric threshold: half of what the mask can count.
const GEOMETRIC: i32 = PIXELS as i32 * ALIKE as i32 / 2;

pub fn rows(tables: &Tables, strip: &Picture, keep: Range<usize>, work: &mut Work) -> Vec<u8> {
    let width = strip.width;
    let first = keep.start.saturating_sub(REACH);
    let last = (keep.end + REACH).min(strip.height);
    let laid = Laid::on(strip);
    let mut strengths = vec![0; (last - first) * width];
    for y in first..last {
        for x in inside(strip, y) {
            strengths[(y - first) * width + x] =
                strength(tables, &laid, strip, y * width + x, work);
        }
    }
    let mut found = Vec::with_capacity(keep.len() * width);
    for y in keep {
        for x in 0..width {
            let place = (x, y - first);
            found.push(pixel(strongest(&strengths, width, place, work)));
        }
    }
    found
}

/// How strong a corner is; 0 if it is none.
fn strength(tables: &Tables, laid: &Laid, strip: &Picture, at: usize, work: &mut Work) -> i32 {
    let nucleus = strip.pixels[at];
    let mut size = 0;
    for pixel in laid.around(&strip.pixels, at) {
        work.compared += 1;
        size += tables.similar(nucleus, pixel) as i32;
        // It only grows.
        if size >= GEOMETRIC {
            return 0;
        }
    }
    work.placed += PIXELS as u64;
    let area = Area::of(tables, nucleus, laid.around(&strip.pixels, at));
    let alike = |x: i64, y: i64| {
        let offset = y as isize * strip.width as isize + x as isize;
        let pixel = strip.pixels[at.wrapping_add_signed(offset)];
        2 * tables.similar(nucleus, pixel) >= ALIKE
    };
    if leans(&area) && reaches(&area, alike) { GEOMETRIC - size } else { 0 }
}

/// Whether the area's centre of gravity is outside the nucleus, whose own corners are the root of a
/// half away. That of a line or of noise is in it.
fn leans(area: &Area) -> bool {
    let [x, y, size] = [area.x, area.y, area.size].map(i64::from);
    2 * (x * x + y * y) > size * size
}

/// Whether all pixels of the mask from the nucleus towards the centre of gravity are in the area.
fn reaches(area: &Area, alike: impl Fn(i64, i64) -> bool) -> bool {
    let (x, y) = (i64::from(area.x), i64::from(area.y));
    let longer = x.abs().max(y.abs()).max(1);
    let rounded = |part: i64| (2 * part + part.signum() * longer) / (2 * longer);
    (1..=RADIUS as i64)
        .map(|step| (rounded(x * step), rounded(y * step)))
        // The mask is round: a way to its corner leaves it earlier.
        .filter(|(x, y)| x * x + y * y <= 11)
        .all(|(x, y)| alike(x, y))
}

/// Whether none of five by five is stronger. Of those that are equal it is the first.
fn strongest(strengths: &[i32], width: usize, (x, y): (usize, usize), work: &mut Work) -> bool {
    let own = strengths[y * width + x];
    if own == 0 {
        return false;
    }
    // A corner is three pixels from the picture's sides; rows may end before.
    let rows = y.saturating_sub(REACH)..(y + REACH + 1).min(strengths.len() / width);
    for row in rows {
        for column in x - REACH..=x + REACH {
            if (row, column) == (y, x) {
                continue;
            }
            work.challenged += 1;
            let other = strengths[row * width + column];
            if other > own || (other == own && (row, column) < (y, x)) {
                return false;
            }
        }
    }
    true
}
