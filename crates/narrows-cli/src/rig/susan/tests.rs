//! The same, found directly: no tables, no bands, nothing left out early.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

use super::mask::{ALIKE, MASK, PIXELS, SIGMA, THRESHOLD, Tables};
use super::scene::{SEED, scene};
use super::{Find, Work, bands};
use crate::formats::picture::Picture;

type Point = (i64, i64);

/// A picture, a threshold, and the paper's definitions, word for word.
struct Direct<'a> {
    picture: &'a Picture,
    t: f64,
}

impl Direct<'_> {
    fn at(&self, (x, y): Point) -> Option<i64> {
        let (width, height) = (self.picture.width as i64, self.picture.height as i64);
        let there = (0..width).contains(&x) && (0..height).contains(&y);
        there.then(|| i64::from(self.picture.pixels[(y * width + x) as usize]))
    }

    fn points(&self) -> impl Iterator<Item = Point> + use<> {
        let (width, height) = (self.picture.width as i64, self.picture.height as i64);
        (0..height).flat_map(move |y| (0..width).map(move |x| (x, y)))
    }

    /// How much alike a pixel at a distance is, in hundredths.
    fn alike(&self, (x, y): Point, (dx, dy): Point, power: f64) -> Option<i64> {
        let difference = (self.at((x + dx, y + dy))? - self.at((x, y))?).abs() as f64;
        Some((100.0 * (-(difference / self.t).powf(power)).exp()).round() as i64)
    }

    /// The mask: all within 3.4 pixels.
    fn mask() -> impl Iterator<Item = Point> {
        let square = (-4..=4).flat_map(|dy| (-4..=4).map(move |dx| (dx, dy)));
        square.filter(|(dx, dy)| ((dx * dx + dy * dy) as f64).sqrt() <= 3.4)
    }

    /// Sums over the mask of what is alike, by a weight of the distance. `None` without a whole
    /// mask.
    fn sum(&self, at: Point, weight: impl Fn(i64, i64) -> i64) -> Option<i64> {
        Self::mask().map(|(dx, dy)| Some(self.alike(at, (dx, dy), 6.0)? * weight(dx, dy))).sum()
    }

    fn smooth(&self, at: Point) -> u8 {
        let (mut above, mut below) = (0, 0);
        for (dx, dy) in Self::mask().filter(|distance| *distance != (0, 0)) {
            let Some(alike) = self.alike(at, (dx, dy), 2.0) else { continue };
            let far = (dx * dx + dy * dy) as f64;
            let near = (100.0 * (-far / (2.0 * SIGMA * SIGMA)).exp()).round() as i64;
            above += near * alike * self.at((at.0 + dx, at.1 + dy)).unwrap();
            below += near * alike;
        }
        if below > 0 {
            return ((above as f64 / below as f64) + 0.5).floor() as u8;
        }
        let around = Self::mask().filter(|(dx, dy)| dx.abs().max(dy.abs()) == 1);
        let mut all: Vec<i64> =
            around.filter_map(|(dx, dy)| self.at((at.0 + dx, at.1 + dy))).collect();
        all.sort_unstable();
        match all.len() {
            0 => 0,
            count if count % 2 == 1 => all[count / 2] as u8,
            count => ((all[count / 2 - 1] + all[count / 2]) / 2) as u8,
        }
    }

    fn edge_strength(&self, at: Point) -> i64 {
        self.sum(at, |_, _| 1).map_or(0, |size| (3700 * 3 / 4 - size).max(0))
    }

    /// In radians, the way across an edge.
    fn across(&self, at: Point) -> f64 {
        let of = |weight: fn(i64, i64) -> i64| self.sum(at, weight).unwrap() as f64;
        let size = of(|_, _| 1);
        let (x, y) = (of(|dx, _| dx), of(|_, dy| dy));
        if size > 700.0 && x.hypot(y) >= size {
            return y.atan2(x);
        }
        let (xx, yy) = (of(|dx, _| dx * dx), of(|_, dy| dy * dy));
        // A nucleus alone has no direction: it is as if it went up to the right.
        let along = if xx + yy == 0.0 { FRAC_PI_4 } else { (yy / xx).sqrt().atan() };
        let along = if of(|dx, dy| dx * dy) > 0.0 { along } else { -along };
        along + FRAC_PI_2
    }

    fn is_edge(&self, at: Point) -> bool {
        let own = self.edge_strength(at);
        if own == 0 {
            return false;
        }
        let eighth = (self.across(at) / FRAC_PI_4).round() as i64;
        let (dx, dy) = [(1, 0), (1, 1), (0, 1), (-1, 1)][eighth.rem_euclid(4) as usize];
        own > self.edge_strength((at.0 - dx, at.1 - dy))
            && own >= self.edge_strength((at.0 + dx, at.1 + dy))
    }

    fn corner_strength(&self, at: Point) -> i64 {
        let Some(size) = self.sum(at, |_, _| 1).filter(|size| *size < 1850) else { return 0 };
        let (x, y) = (self.sum(at, |dx, _| dx).unwrap(), self.sum(at, |_, dy| dy).unwrap());
        if (x as f64).hypot(y as f64) / size as f64 <= 0.5_f64.sqrt() {
            return 0;
        }
        let longer = x.abs().max(y.abs()) as f64;
        for step in [1.0, 2.0, 3.0] {
            let part = |of: i64| (step * of as f64 / longer).round() as i64;
            let way = (part(x), part(y));
            let alike = self.alike(at, way, 6.0).unwrap();
            if Self::mask().any(|spot| spot == way) && alike < 50 {
                return 0;
            }
        }
        1850 - size
    }

    fn is_corner(&self, at: Point) -> bool {
        let own = self.corner_strength(at);
        let around = (-2..=2).flat_map(|dy| (-2..=2).map(move |dx| (dx, dy)));
        own > 0
            && around.filter(|way| *way != (0, 0)).all(|(dx, dy)| {
                let other = self.corner_strength((at.0 + dx, at.1 + dy));
                if (dy, dx) < (0, 0) { own > other } else { own >= other }
            })
    }

    fn find(&self, find: Find) -> Vec<u8> {
        let each = |at: Point| match find {
            Find::Smoothing => self.smooth(at),
            Find::Edges => u8::from(self.is_edge(at)) * 255,
            Find::Corners => u8::from(self.is_corner(at)) * 255,
        };
        self.points().map(each).collect()
    }
}

fn noise(width: usize, height: usize, seed: u64) -> Picture {
    let mut random = fastrand::Rng::with_seed(seed);
    let pixels = std::iter::repeat_with(|| random.u8(..)).take(width * height).collect();
    Picture { width, height, pixels }
}

/// Pictures of few brightnesses, where strengths are often equal.
fn blocks(width: usize, height: usize, seed: u64) -> Picture {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut picture = Picture::black(width, height);
    for _ in 0..6 {
        let (left, top) = (random.usize(0..width), random.usize(0..height));
        let (right, low) = (random.usize(left..width), random.usize(top..height));
        let bright = random.u8(0..4) * 60;
        for y in top..=low {
            picture.pixels[y * width + left..=y * width + right].fill(bright);
        }
    }
    picture
}

fn drawn(width: usize, height: usize, draw: impl Fn(usize, usize) -> u8) -> Picture {
    let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let pixels = pixels.map(|(x, y)| draw(x, y)).collect();
    Picture { width, height, pixels }
}

fn points(picture: &Picture) -> Vec<(usize, usize)> {
    let found = picture.pixels.iter().enumerate().filter(|(_, pixel)| **pixel > 0);
    found.map(|(at, _)| (at % picture.width, at / picture.width)).collect()
}

#[test]
fn the_mask_is_all_within_three_pixels_and_four_tenths() {
    let direct: Vec<Point> = Direct::mask().collect();
    let own: Vec<Point> = MASK.iter().map(|spot| (spot.x.into(), spot.y.into())).collect();
    assert_eq!(own, direct);
    assert_eq!(own.len(), PIXELS);
    assert_eq!(own[PIXELS / 2], (0, 0));
    let tables = Tables::new(THRESHOLD);
    assert_eq!(tables.similar(9, 9), ALIKE);
    assert_eq!((tables.similar(0, 255), tables.similar(255, 0)), (0, 0));
}

#[test]
fn everything_found_is_what_the_direct_way_finds() {
    let pictures = [
        scene(48, 40, SEED),
        noise(23, 19, 1),
        noise(7, 7, 2),
        blocks(40, 30, 3),
        blocks(30, 40, 4),
        blocks(25, 25, 5),
        noise(3, 20, 6),
        noise(1, 1, 7),
        noise(2, 1, 8),
        Picture::black(0, 0),
        drawn(20, 20, |x, y| if x.abs_diff(10) + y.abs_diff(10) < 6 { 200 } else { 20 }),
        drawn(20, 20, |x, y| if x == y || x + 2 == y { 200 } else { 20 }),
        drawn(20, 20, |x, y| (x * 9 + y * 3) as u8),
    ];
    for (number, picture) in pictures.iter().enumerate() {
        for threshold in [1, 10, THRESHOLD, 255] {
            let tables = Tables::new(threshold);
            let direct = Direct { picture, t: threshold.into() };
            for find in Find::ALL {
                let found = find.whole(&tables, picture);
                assert!(found.pixels == direct.find(find), "{number} {threshold} {find:?}");
            }
        }
    }
}

#[test]
fn bands_find_what_the_whole_picture_shows_however_many_there_are() {
    let tables = Tables::new(THRESHOLD);
    for picture in [scene(40, 37, 3), noise(9, 37, 4), blocks(33, 37, 5), noise(8, 4, 6)] {
        for find in Find::ALL {
            let whole = find.whole(&tables, &picture);
            for count in (1..=12).chain([picture.height, picture.height + 3]) {
                let mut found = Vec::new();
                for band in bands(picture.height, count, &[find]) {
                    let rows = band.strip.clone();
                    let strip = Picture {
                        width: picture.width,
                        height: rows.len(),
                        pixels: rows.flat_map(|row| picture.row(row).to_vec()).collect(),
                    };
                    found.extend(find.rows(&tables, &strip, band.keep(), &mut Work::default()));
                }
                assert!(found == whole.pixels, "{find:?} in {count} bands");
            }
        }
    }
}

#[test]
fn bands_are_of_nearly_one_height_and_have_the_border_that_is_needed() {
    let all = bands(128, 3, &Find::ALL);
    let rows: Vec<_> = all.iter().map(|band| (band.rows.clone(), band.strip.clone())).collect();
    assert_eq!(rows, [(0..43, 0..48), (43..86, 38..91), (86..128, 81..128)]);
    assert_eq!(bands(10, 2, &[Find::Smoothing])[1].strip, 2..10);
    let none = &bands(2, 3, &Find::ALL)[2];
    assert!(none.rows.is_empty() && none.strip.is_empty());
}

/// A border of one row less is not enough: the test before would not see a border of any size.
#[test]
fn each_row_of_the_border_matters() {
    let tables = Tables::new(THRESHOLD);
    for find in Find::ALL {
        let differs = (0..3000).any(|seed| {
            let picture = blocks(24, 24, seed);
            let whole = find.whole(&tables, &picture);
            let strip = Picture {
                width: 24,
                height: 24 - (13 - find.border()),
                pixels: picture.pixels[(13 - find.border()) * 24..].to_vec(),
            };
            let keep = find.border() - 1..strip.height;
            let found = find.rows(&tables, &strip, keep, &mut Work::default());
            found != whole.pixels[12 * 24..]
        });
        assert!(differs, "{find:?}");
    }
}

#[test]
fn a_step_is_one_line_of_edge_and_a_square_has_four_corners() {
    let tables = Tables::new(THRESHOLD);
    let step = drawn(21, 15, |x, _| if x < 10 { 40 } else { 140 });
    let edge: Vec<_> = (3..12).map(|y| (9, y)).collect();
    assert_eq!(points(&Find::Edges.whole(&tables, &step)), edge);
    assert_eq!(points(&Find::Corners.whole(&tables, &step)), []);
    assert_eq!(Find::Smoothing.whole(&tables, &step), step, "what it keeps");

    let inside = |at: usize| (8..20).contains(&at);
    let square = drawn(28, 28, |x, y| if inside(x) && inside(y) { 200 } else { 50 });
    let corners = [(8, 8), (19, 8), (8, 19), (19, 19)];
    assert_eq!(points(&Find::Corners.whole(&tables, &square)), corners);

    let flat = drawn(20, 20, |_, _| 77);
    for find in [Find::Edges, Find::Corners] {
        assert_eq!(points(&find.whole(&tables, &flat)), []);
    }
    assert_eq!(Find::Smoothing.whole(&tables, &flat), flat);
}

#[test]
fn smoothing_takes_noise_away_and_replaces_a_speck_by_its_neighbours_median() {
    let tables = Tables::new(THRESHOLD);
    let speck = drawn(15, 15, |x, y| if (x, y) == (7, 7) { 255 } else { 60 });
    let found = Find::Smoothing.whole(&tables, &speck);
    assert_eq!(found, drawn(15, 15, |_, _| 60));
    let mut work = Work::default();
    Find::Smoothing.rows(&tables, &speck, 0..15, &mut work);
    assert_eq!(work.medians, 1);

    let rough = |picture: &Picture| {
        let differences =
            picture.pixels.windows(2).map(|pair| u64::from(pair[0].abs_diff(pair[1])));
        differences.sum::<u64>()
    };
    let noisy = scene(64, 64, SEED);
    let smooth = Find::Smoothing.whole(&tables, &noisy);
    assert!(2 * rough(&smooth) < rough(&noisy), "{} {}", rough(&smooth), rough(&noisy));
}

#[test]
fn what_it_takes_is_counted() {
    let tables = Tables::new(THRESHOLD);
    let flat = drawn(20, 10, |_, _| 77);
    let take = |find: Find| {
        let mut work = Work::default();
        find.rows(&tables, &flat, 0..10, &mut work);
        work
    };
    let inside = 14 * 4;
    let edges = Work { pixels: 200, compared: inside * 37, ..Work::default() };
    assert_eq!(take(Find::Edges), edges);
    // The area is at half of the mask after 19 pixels of it.
    assert_eq!(take(Find::Corners).compared, inside * 19);
    assert!(take(Find::Smoothing).averaged > inside * 36);
    assert!(take(Find::Smoothing).averaged < 200 * 36);
    let mut sum = edges;
    sum += edges;
    assert_eq!(sum.cycles(), 2 * edges.cycles());
}

#[test]
fn a_scene_is_drawn_again_by_its_seed_and_has_what_is_to_be_found() {
    assert_eq!(scene(32, 20, 5), scene(32, 20, 5));
    assert_ne!(scene(32, 20, 5), scene(32, 20, 6));
    let tables = Tables::new(THRESHOLD);
    let picture = scene(128, 128, SEED);
    for (find, least) in [(Find::Edges, 300), (Find::Corners, 8)] {
        assert!(points(&find.whole(&tables, &picture)).len() >= least, "{find:?}");
    }
}
