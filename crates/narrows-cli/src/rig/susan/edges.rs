//! Edges: pixels whose area is below three quarters of the mask, and that are the strongest across
//! the edge.

use std::ops::Range;

use super::mask::{ALIKE, Area, DIAMETER, Laid, PIXELS, Tables, inside};
use super::{Work, pixel};
use crate::formats::picture::Picture;

/// How far a pixel looks for a stronger one.
pub const REACH: usize = 1;
/// The geometric threshold: three quarters of what the mask can count.
const GEOMETRIC: i32 = (3 * PIXELS as i32 * ALIKE as i32) / 4;

/// A pixel's response: how strong its edge is, and the way across it. Nothing is 0.
#[derive(Clone, Copy, Default)]
struct Response {
    strength: i32,
    across: (isize, isize),
}

pub fn rows(tables: &Tables, strip: &Picture, keep: Range<usize>, work: &mut Work) -> Vec<u8> {
    let width = strip.width;
    let first = keep.start.saturating_sub(REACH);
    let last = (keep.end + REACH).min(strip.height);
    let mut responses = Vec::with_capacity((last - first) * width);
    let laid = Laid::on(strip);
    for y in first..last {
        let start = responses.len();
        responses.resize(start + width, Response::default());
        for x in inside(strip, y) {
            responses[start + x] = response(tables, &laid, &strip.pixels, y * width + x, work);
        }
    }
    let mut found = Vec::with_capacity(keep.len() * width);
    for y in keep {
        for x in 0..width {
            let at = (y - first) * width + x;
            let Response { strength, across: (dx, dy) } = responses[at];
            if strength == 0 {
                found.push(pixel(false));
                continue;
            }
            work.challenged += 2;
            // A pixel with a response has neighbours on all sides, in rows of responses as well.
            let step = dy * width as isize + dx;
            let [before, behind] =
                [-step, step].map(|step| responses[at.wrapping_add_signed(step)].strength);
            found.push(pixel(strength > before && strength >= behind));
        }
    }
    found
}

fn response(tables: &Tables, laid: &Laid, pixels: &[u8], at: usize, work: &mut Work) -> Response {
    let nucleus = pixels[at];
    work.compared += PIXELS as u64;
    let alike = laid.around(pixels, at).map(|pixel| tables.similar(nucleus, pixel) as i32);
    let size: i32 = alike.sum();
    if size >= GEOMETRIC {
        return Response::default();
    }
    work.placed += PIXELS as u64;
    let area = Area::of(tables, nucleus, laid.around(pixels, at));
    Response { strength: GEOMETRIC - size, across: across(&area) }
}

/// The way across an edge, as columns and rows to the next pixel later in reading order.
fn across(area: &Area) -> (isize, isize) {
    let (x, y) = (i64::from(area.x), i64::from(area.y));
    let size = i64::from(area.size);
    // Between two pixels: the area lies to one side of the nucleus, and its centre of gravity tells
    // to which. It is a pixel or more away.
    if area.size > DIAMETER * ALIKE as i32 && x * x + y * y >= size * size {
        return towards(x, y);
    }
    // Within a pixel: the area is a strip along the edge, and its second moments tell which way.
    let (xx, yy) = (i64::from(area.xx), i64::from(area.yy));
    // The square of the tangent of half an eighth of a turn is 3 less the root of 8.
    let flat = |low: i64, high: i64| 3 * high > low && 8 * high * high < (3 * high - low).pow(2);
    if flat(yy, xx) {
        (0, 1)
    } else if flat(xx, yy) {
        (1, 0)
    } else if area.xy > 0 {
        (-1, 1)
    } else {
        (1, 1)
    }
}

/// The eighth of a turn that is next to a direction.
fn towards(x: i64, y: i64) -> (isize, isize) {
    // The tangent of half an eighth of a turn is the root of 2, less 1.
    let flat = |low: i64, high: i64| (low.abs() + high.abs()).pow(2) < 2 * high.pow(2);
    if flat(y, x) {
        (1, 0)
    } else if flat(x, y) {
        (0, 1)
    } else if (x > 0) == (y > 0) {
        (1, 1)
    } else {
        (-1, 1)
    }
}
