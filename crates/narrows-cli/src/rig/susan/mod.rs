//! SUSAN: smoothing, edges and corners of a picture, as S. M. Smith and J. M. Brady published it
//! ("SUSAN – A New Approach to Low Level Image Processing", IJCV 23, 1997). Written from that
//! description.
//!
//! A mask of 37 pixels is laid on each pixel, its *nucleus*. Those of the 37 that are about as
//! bright as the nucleus are its *area* (the paper's USAN). The area is the whole mask where a
//! picture is flat, half of it at an edge, and less at a corner. All sums are of whole numbers, so
//! every machine finds the same.
//!
//! Where the paper leaves something open:
//!
//! - A pixel without a whole mask around it is neither an edge nor a corner. Smoothing takes those
//!   pixels of its mask that there are.
//! - The paper smooths with a mask of any size. Here it is that of 37 pixels, with a Gaussian of
//!   [`mask::SIGMA`] pixels.
//! - Directions are rounded to eighths of a turn.
//! - Of pixels that are equally strong, the first in reading order stays.
//! - The paper's thinning by rules of connectivity, after its non-maximum suppression, is left out.
//!
//! A picture can be cut into *bands* of rows: each with [`Find::border`] rows more above and below
//! gives the same as the whole picture.

mod bands;
mod corners;
mod edges;
pub mod mask;
pub mod scene;
mod smoothing;
#[cfg(test)]
mod tests;
mod work;

pub use bands::{Band, bands};
pub use work::Work;

use std::ops::Range;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::formats::picture::Picture;
use mask::{RADIUS, Tables};

/// What is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
pub enum Find {
    /// The picture with less noise.
    Smoothing,
    /// Pixels at edges: 255; others: 0.
    Edges,
    /// Pixels at corners: 255; others: 0.
    Corners,
}

impl Find {
    /// All.
    pub const ALL: [Find; 3] = [Find::Smoothing, Find::Edges, Find::Corners];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Find::Smoothing => "smoothing",
            Find::Edges => "edges",
            Find::Corners => "corners",
        }
    }

    /// Rows beyond a band that its results depend on: those of the mask, and those of the pixels
    /// that a pixel has to be stronger than.
    pub fn border(self) -> usize {
        RADIUS
            + match self {
                Find::Smoothing => 0,
                Find::Edges => edges::REACH,
                Find::Corners => corners::REACH,
            }
    }

    /// Finds it in rows of a strip: their pixels, row by row. What it took is added to `work`.
    ///
    /// A strip is a picture, or [`Find::border`] rows of one above and below the rows that are
    /// kept, as far as there are any.
    pub fn rows(
        self,
        tables: &Tables,
        strip: &Picture,
        keep: Range<usize>,
        work: &mut Work,
    ) -> Vec<u8> {
        let keep = keep.start..keep.end.min(strip.height);
        work.pixels += (keep.len() * strip.width) as u64;
        match self {
            Find::Smoothing => smoothing::rows(tables, strip, keep, work),
            Find::Edges => edges::rows(tables, strip, keep, work),
            Find::Corners => corners::rows(tables, strip, keep, work),
        }
    }

    /// Finds it in a whole picture.
    pub fn whole(self, tables: &Tables, picture: &Picture) -> Picture {
        let pixels = self.rows(tables, picture, 0..picture.height, &mut Work::default());
        Picture { pixels, ..*picture }
    }
}

/// The bits of an answer as pixels.
fn pixel(found: bool) -> u8 {
    if found { u8::MAX } else { 0 }
}
