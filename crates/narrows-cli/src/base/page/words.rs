//! Sentences of figures: which of several is best, by how much, and whether that is more than
//! noise.

use crate::base::noise::Change;
use crate::base::table::number;

/// One of several that are compared.
#[derive(Clone, Debug)]
pub struct Contender<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its figure.
    pub figure: f64,
    /// The figure of each round; empty if there are none.
    pub rounds: &'a [f64],
}

/// What is said of the best of several.
#[derive(Clone, Debug)]
pub struct Best<'a> {
    /// The best.
    pub first: Contender<'a>,
    /// The next.
    pub second: Option<Contender<'a>>,
    /// Whether they differ by more than noise, if that is known.
    pub apart: Option<bool>,
}

/// Which is best: the one with the smallest figure, or with the largest if `most` is. With `exact`
/// figures have no noise. None if there is nothing to compare.
pub fn best<'a>(
    contenders: impl IntoIterator<Item = Contender<'a>>,
    most: bool,
    exact: bool,
) -> Option<Best<'a>> {
    let mut all: Vec<Contender<'a>> = contenders.into_iter().collect();
    all.sort_by(|one, other| match most {
        true => other.figure.total_cmp(&one.figure),
        false => one.figure.total_cmp(&other.figure),
    });
    let mut all = all.into_iter();
    let (first, second) = (all.next()?, all.next());
    let apart = second.as_ref().and_then(|second| match exact {
        true => Some(first.figure != second.figure),
        false => Some(Change::of(first.rounds, second.rounds)?.is_beyond_noise()),
    });
    Some(Best { first, second, apart })
}

impl Best<'_> {
    /// The headline: `A is the fastest: call of 8 bytes, 1.2 µs`; or that the first two cannot be
    /// told apart.
    pub fn headline(&self, what: &str, word: &str, show: impl Fn(f64) -> String) -> String {
        let (name, figure) = (self.first.name, show(self.first.figure));
        match (self.apart, &self.second) {
            (_, Some(second)) if second.figure == self.first.figure => {
                format!("{name} and {} are equally good: {what}, {figure}", second.name)
            }
            (Some(false), Some(second)) => format!(
                "{name} ({figure}) and {} ({}) are within noise of each other: {what}",
                second.name,
                show(second.figure)
            ),
            _ => format!("{name} {word}: {what}, {figure}"),
        }
    }

    /// How the next compares: `; the next, B, takes 12 µs, 3.4 times as much`. Empty without one.
    pub fn beside(&self, show: impl Fn(f64) -> String) -> String {
        let Some(second) = &self.second else { return String::new() };
        let (name, figure) = (second.name, show(second.figure));
        match self.apart {
            _ if second.figure == self.first.figure => format!("; {name} is the same"),
            Some(false) => format!("; {name} with {figure} is within the noise of that"),
            _ => format!("; next is {name} with {figure}, {}", times(second, &self.first)),
        }
    }
}

fn times(other: &Contender<'_>, first: &Contender<'_>) -> String {
    let factor = other.figure / first.figure;
    match factor {
        _ if first.figure <= 0.0 => "which cannot be put as a ratio".to_owned(),
        factor if (0.9..1.1).contains(&factor) => {
            let percent = 100.0 * (factor - 1.0);
            let word = if percent > 0.0 { "more" } else { "less" };
            format!("{:.1} % {word}", percent.abs())
        }
        factor if factor < 1.0 => format!("{:.0} % less", 100.0 * (1.0 - factor)),
        factor => format!("{} times as much", number(factor)),
    }
}

/// A time in microseconds with the unit that suits it.
pub fn micros(us: f64) -> String {
    match us.abs() {
        size if size >= 1e6 => format!("{} s", number(us / 1e6)),
        size if size >= 1e3 => format!("{} ms", number(us / 1e3)),
        size if size < 1.0 => format!("{:.0} ns", us * 1e3),
        _ => format!("{} µs", number(us)),
    }
}

/// A figure with its unit; times in the unit that suits them.
pub fn figure(value: f64, unit: &str) -> String {
    match unit {
        "ns" => micros(value / 1e3),
        "us" | "µs" => micros(value),
        "" => number(value),
        _ if value.abs() >= 1e6 => format!("{} million {unit}", number(value / 1e6)),
        _ => format!("{} {unit}", number(value)),
    }
}

/// A part of a whole, in percent.
pub fn share(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.0} %", 100.0 * part / whole) } else { "nothing".to_owned() }
}

/// Which points no other is better than in both: less is better.
pub fn front(points: &[(f64, f64)]) -> Vec<bool> {
    let better = |one: &(f64, f64), other: &(f64, f64)| {
        one.0 <= other.0 && one.1 <= other.1 && (one.0 < other.0 || one.1 < other.1)
    };
    points.iter().map(|point| !points.iter().any(|other| better(other, point))).collect()
}
