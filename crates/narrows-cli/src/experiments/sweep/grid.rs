//! The points of a sweep: every platform with every value of every key, every strategy and all
//! traffic, or every mechanism and all packets. What comes last in that order changes first from
//! point to point.

use super::file::{Carried, Sweep, Traffic};
use super::set::Places;
use crate::base::failure::Failure;
use crate::base::input;
use crate::rig::cluster::Mechanism;
use narrows::strategy::Strategy;
use narrows_sim::chip::Chip;
use narrows_sim::file::At;

/// Points of a grid at most.
const MOST: usize = 100_000;

/// A sweep, all of whose points are possible chips.
pub(super) struct Grid<'a> {
    pub sweep: &'a Sweep,
    places: Vec<Places<'a>>,
    /// How many points there are.
    pub points: usize,
}

/// What is simulated at a point.
pub(super) struct Point<'a> {
    pub number: usize,
    pub chip: Chip,
    /// The value of each key that is set.
    pub values: Vec<&'a At<String>>,
    pub what: What<'a>,
}

/// What is carried at a point, and by what.
pub(super) enum What<'a> {
    /// Over links of the stack.
    Links { strategy: Strategy, traffic: &'a Traffic },
    /// Between clusters: packets of `bytes` bytes.
    Packets { mechanism: Mechanism, bytes: u32 },
}

impl Carried {
    /// How many points each chip has.
    fn points(&self) -> usize {
        match self {
            Carried::Links { strategies, traffic } => {
                strategies.len().saturating_mul(traffic.len())
            }
            Carried::Packets { sizes } => Mechanism::ALL.len() * sizes.len(),
        }
    }

    /// One of these.
    fn at(&self, number: usize) -> What<'_> {
        match self {
            Carried::Links { strategies, traffic } => What::Links {
                strategy: strategies[number / traffic.len()],
                traffic: &traffic[number % traffic.len()],
            },
            Carried::Packets { sizes } => What::Packets {
                mechanism: Mechanism::ALL[number / sizes.len()],
                bytes: sizes[number % sizes.len()],
            },
        }
    }
}

impl<'a> Grid<'a> {
    /// Makes every chip once, and has it looked at.
    ///
    /// # Errors
    /// [`Kind::Workload`](crate::base::failure::Kind): a key is not there, a value cannot be, or
    /// there are too many points.
    pub fn new(
        sweep: &'a Sweep,
        look: impl Fn(&Chip) -> Result<(), Failure>,
    ) -> Result<Grid<'a>, Failure> {
        let counts = sweep.settings.iter().map(|setting| setting.values.len());
        let chips = counts.fold(sweep.platforms.len(), usize::saturating_mul);
        let each = sweep.carried.points();
        let points = chips.saturating_mul(each);
        if points > MOST {
            let text = format!("{points} points; expected at most {MOST}: fewer values");
            return Err(input::wrong(sweep.file().fail(&(0..0), text)));
        }
        let places = sweep.platforms.iter().map(|platform| Places::find(sweep, platform));
        let grid = Grid { sweep, places: places.collect::<Result<_, _>>()?, points };
        for first in (0..points).step_by(each) {
            look(&grid.point(first)?.chip)?;
        }
        Ok(grid)
    }

    /// One of its points.
    ///
    /// # Errors
    /// As [`Grid::new`], which has tried all of them.
    pub fn point(&self, number: usize) -> Result<Point<'_>, Failure> {
        let Sweep { settings, carried, .. } = self.sweep;
        let each = carried.points();
        let mut rest = number / each;
        let mut next = |count: usize| {
            let at = rest % count;
            rest /= count;
            at
        };
        let mut values: Vec<&At<String>> =
            settings.iter().rev().map(|one| &one.values[next(one.values.len())]).collect();
        values.reverse();
        let chip = self.places[next(self.places.len())].chip(self.sweep, &values)?;
        Ok(Point { number, chip, values, what: carried.at(number % each) })
    }

    /// How many rows a point gives.
    pub fn rows(&self, number: usize) -> usize {
        match &self.sweep.carried {
            Carried::Links { traffic, .. } => traffic[number % traffic.len()].rows(),
            Carried::Packets { .. } => 1,
        }
    }
}
