//! The points of a sweep: every platform with every value of every key, every strategy and all
//! traffic. What comes last in that order changes first from point to point.

use super::file::{Sweep, Traffic};
use super::set::Places;
use crate::base::failure::Failure;
use crate::base::input;
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
    pub strategy: Strategy,
    pub traffic: &'a Traffic,
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
        let each = sweep.strategies.len().saturating_mul(sweep.traffic.len());
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
        let Sweep { settings, strategies, traffic, .. } = self.sweep;
        let mut rest = number;
        let mut next = |count: usize| {
            let at = rest % count;
            rest /= count;
            at
        };
        let traffic = &traffic[next(traffic.len())];
        let strategy = strategies[next(strategies.len())];
        let mut values: Vec<&At<String>> =
            settings.iter().rev().map(|one| &one.values[next(one.values.len())]).collect();
        values.reverse();
        let chip = self.places[next(self.places.len())].chip(self.sweep, &values)?;
        Ok(Point { number, chip, values, strategy, traffic })
    }

    /// How many rows a point gives.
    pub fn rows(&self, number: usize) -> usize {
        let traffic = &self.sweep.traffic;
        traffic[number % traffic.len()].rows()
    }
}
