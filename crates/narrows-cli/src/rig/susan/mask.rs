//! The mask, and how much alike two pixels are.

use crate::formats::picture::Picture;

/// Rows of the mask above and below its nucleus.
pub const RADIUS: usize = 3;
/// Pixels of the mask, the nucleus among them.
pub const PIXELS: usize = 37;
/// Pixels of its longest row.
pub const DIAMETER: i32 = 7;
/// The brightness difference at which pixels are no longer alike: that of the paper's figure 5.
pub const THRESHOLD: u8 = 27;
/// Standard deviation of smoothing's weights, in pixels: at the rim of the mask they are a quarter.
pub const SIGMA: f64 = 2.0;
/// What two pixels of one brightness count.
pub const ALIKE: u32 = 100;

/// How far each row of the mask reaches to either side, from the top down.
const REACHES: [i32; 2 * RADIUS + 1] = [1, 2, 3, 3, 3, 2, 1];
/// Differences of two pixels begin at this one.
const LEAST: i32 = -255;
const DIFFERENCES: usize = 511;

/// A pixel of the mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Columns to the right of the nucleus.
    pub x: i32,
    /// Rows below it.
    pub y: i32,
}

/// The mask, row by row.
pub const MASK: [Spot; PIXELS] = {
    let mut mask = [Spot { x: 0, y: 0 }; PIXELS];
    let (mut row, mut at) = (0, 0);
    while row < REACHES.len() {
        let mut x = -REACHES[row];
        while x <= REACHES[row] {
            mask[at] = Spot { x, y: row as i32 - RADIUS as i32 };
            at += 1;
            x += 1;
        }
        row += 1;
    }
    assert!(at == PIXELS);
    mask
};

/// How much alike pixels are, by the difference of their brightness: [`ALIKE`] for none.
pub struct Tables {
    /// As edges and corners take it: nearly a step, exp(-(d / t)^6).
    similar: [u8; DIFFERENCES],
    /// As smoothing takes it: exp(-(d / t)^2).
    blended: [u8; DIFFERENCES],
    /// What smoothing gives each pixel of the mask for how near it is.
    near: [u32; PIXELS],
}

impl Tables {
    /// For a brightness difference threshold, which is at least 1.
    pub fn new(threshold: u8) -> Tables {
        let t = f64::from(threshold.max(1));
        let scaled = |part: f64| (f64::from(ALIKE) * part).round() as u8;
        let table = |power: i32| {
            let alike = |at: usize| {
                let difference = f64::from(at as i32 + LEAST);
                scaled((-(difference / t).powi(power)).exp())
            };
            std::array::from_fn(alike)
        };
        let near = MASK.map(|Spot { x, y }| {
            let distance = f64::from(x * x + y * y);
            u32::from(scaled((-distance / (2.0 * SIGMA * SIGMA)).exp()))
        });
        Tables { similar: table(6), blended: table(2), near }
    }

    /// How much alike two pixels are, for edges and corners.
    pub fn similar(&self, nucleus: u8, pixel: u8) -> u32 {
        u32::from(entry(&self.similar, nucleus, pixel))
    }

    /// How much alike two pixels are, for smoothing.
    pub fn blended(&self, nucleus: u8, pixel: u8) -> u32 {
        u32::from(entry(&self.blended, nucleus, pixel))
    }

    /// What smoothing gives each pixel of the mask for how near it is.
    pub fn near(&self) -> &[u32; PIXELS] {
        &self.near
    }
}

fn entry(table: &[u8; DIFFERENCES], nucleus: u8, pixel: u8) -> u8 {
    // 255 + 255 is the last.
    table[(i32::from(pixel) - i32::from(nucleus) - LEAST) as usize]
}

/// The mask on pixels of a strip, as distances from the nucleus's place in it.
pub struct Laid {
    offsets: [isize; PIXELS],
}

impl Laid {
    /// On a strip.
    pub fn on(strip: &Picture) -> Laid {
        let width = strip.width as isize;
        Laid { offsets: MASK.map(|Spot { x, y }| y as isize * width + x as isize) }
    }

    /// The pixels of the mask around a place that has a whole one.
    pub fn around<'a>(&'a self, pixels: &'a [u8], at: usize) -> impl Iterator<Item = u8> + 'a {
        self.offsets.iter().map(move |offset| pixels[at.wrapping_add_signed(*offset)])
    }
}

/// The columns, and whether a row is one, of pixels that have a whole mask around them.
pub fn inside(strip: &Picture, row: usize) -> std::ops::Range<usize> {
    let fits = row >= RADIUS && row + RADIUS < strip.height && strip.width > 2 * RADIUS;
    if fits { RADIUS..strip.width - RADIUS } else { 0..0 }
}

/// An area that is smaller than a geometric threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Area {
    /// What its pixels count.
    pub size: i32,
    /// How far to the right its pixels are, in sum.
    pub x: i32,
    /// How far down.
    pub y: i32,
    /// The squares of how far to the right.
    pub xx: i32,
    /// The squares of how far down.
    pub yy: i32,
    /// The products of both.
    pub xy: i32,
}

impl Area {
    /// Of a nucleus and the pixels of its mask.
    pub fn of(tables: &Tables, nucleus: u8, mask: impl Iterator<Item = u8>) -> Area {
        let mut area = Area::default();
        for (Spot { x, y }, pixel) in MASK.iter().zip(mask) {
            let alike = tables.similar(nucleus, pixel) as i32;
            area.size += alike;
            area.x += alike * x;
            area.y += alike * y;
            area.xx += alike * x * x;
            area.yy += alike * y * y;
            area.xy += alike * x * y;
        }
        area
    }
}
