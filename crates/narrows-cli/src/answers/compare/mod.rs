//! `narrows compare`: what changed between two runs, and whether that is more than noise.
//!
//! Both files are what `run` or a bench printed with `--json`. `read` checks them and takes the
//! figures out, a `row` has a figure before and after, `carried` what runs carried and refused;
//! `text` and `page` show them.

mod carried;
pub mod flags;
mod page;
mod read;
mod row;
#[cfg(test)]
mod tests;
mod text;

use crate::base::failure::{Failure, Kind};
use crate::base::options::Global;
use crate::base::output;
use crate::base::page::PageOut;
use crate::base::report::{self, Report};
use carried::{Carried, Refused};
use flags::Compare;
use read::{Figure, Measured, name, said};
use row::Row;
use serde::Serialize;
use std::collections::HashMap;

/// What came of a comparison.
#[derive(Serialize)]
struct Compared {
    #[serde(flatten)]
    report: Report<Row>,
    /// What either run refused.
    refused: Vec<Refused>,
    /// Names of the figures that one report has alone.
    #[serde(skip)]
    only: [Vec<String>; 2],
    /// How the files are named.
    #[serde(skip)]
    files: [String; 2],
}

impl Compared {
    fn rows(&self) -> &[Row] {
        &self.report.results
    }

    /// How many changed by more than noise, of how many, and of how many that is not known though
    /// they are of the same traffic.
    fn counts(&self) -> [usize; 3] {
        let count =
            |is: Option<bool>| self.rows().iter().filter(|row| row.significant == is).count();
        let unknown = count(None) - self.unlike();
        [count(Some(true)), count(Some(true)) + count(Some(false)), unknown]
    }

    /// How many are of other traffic than before.
    fn unlike(&self) -> usize {
        self.rows().iter().filter(|row| !row.same_traffic).count()
    }

    /// Rows, those first that changed most of those that changed by more than noise.
    fn sorted(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows().iter().collect();
        let size = |row: &Row| row.change_percent.map_or(f64::INFINITY, f64::abs);
        let rank = |row: &Row| match row.significant {
            Some(true) => (0, -size(row)),
            Some(false) => (1, 0.0),
            None => (2, 0.0),
        };
        rows.sort_by(|one, other| {
            let (one, other) = (rank(one), rank(other));
            one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
        });
        rows
    }

    /// The sentence above all others.
    fn summary(&self) -> String {
        let [changed, known, unknown] = self.counts();
        let mut said = match known {
            0 if unknown == 0 => "no figure can be compared".to_owned(),
            0 => "of no figure is it known whether it changed by more than noise".to_owned(),
            known => format!("{changed} of {known} figures changed by more than noise"),
        };
        if changed > 0 {
            let better = self.rows().iter().filter(|row| row.better() == Some(true)).count();
            said += &format!(": {better} better, {} worse", changed - better);
        }
        if unknown > 0 && known > 0 {
            said += &format!("; of {unknown} more the noise is not known");
        }
        match self.unlike() {
            0 => {}
            unlike => said += &format!("; {unlike} are of other traffic than before"),
        }
        match self.refused.len() {
            0 => {}
            refused => said += &format!("; refused: {refused}, see below"),
        }
        said
    }
}

/// Compares two reports and prints what changed.
///
/// # Errors
/// [`Kind::Input`] if one cannot be read or they are not of the same command.
pub fn run(global: &Global, args: &Compare) -> Result<(), Failure> {
    let page = PageOut::new(&args.page)?;
    if args.before.as_os_str() == "-" && args.after.as_os_str() == "-" {
        let text = "standard input can be one of the two reports, not both";
        return Err(Failure::new(Kind::Usage, text));
    }
    let (before, after) = (read::read(&args.before)?, read::read(&args.after)?);
    let compared = compare(before, after, [name(&args.before), name(&args.after)])?;
    if global.json {
        report::print(&compared)?;
    } else {
        output::print(text::text(&compared).as_bytes())?;
    }
    page.write(|| page::page(&compared))
}

fn compare(before: Measured, after: Measured, files: [String; 2]) -> Result<Compared, Failure> {
    if before.command != after.command {
        let [one, other] = &files;
        let text = format!(
            "{one} is of {}, {other} is of {}: compare two reports of the same command",
            said(&before.command),
            said(&after.command)
        );
        return Err(Failure::new(Kind::Input, text));
    }
    let exact = before.machine.r#virtual && after.machine.r#virtual;
    let named = |all: &Measured| -> HashMap<_, _> {
        all.figures.iter().map(|one| (one.key(), one.clone())).collect()
    };
    let (old, new) = (named(&before), named(&after));
    let carried = Carried::new(&before.flows, &after.flows);
    let pair = |one: &Figure| {
        let same = carried.is_same(&one.strategy);
        Some(Row::new(one, new.get(&one.key())?, exact, same))
    };
    let rows: Vec<Row> = before.figures.iter().filter_map(pair).collect();
    let refused = carried.refused();
    let only = |one: &Measured, other: &HashMap<_, _>| -> Vec<String> {
        let alone = one.figures.iter().filter(|one| !other.contains_key(&one.key()));
        // Why those of a refused flow are not in both is said of the flow.
        let alone = alone.filter(|one| refused.iter().all(|row| row.name != one.of));
        alone.map(Figure::name).collect()
    };
    let only = [only(&before, &new), only(&after, &old)];
    if rows.is_empty() && refused.is_empty() {
        let [one, other] = &files;
        let text = format!("{one} and {other} have no figure in common: measure the same in both");
        return Err(Failure::new(Kind::Input, text));
    }
    let mut report = Report::new("compare", before.machine.clone(), rows);
    report.notes = notes(&before, &after, exact, &report.results, &only, &files);
    report.notes.extend(carried.notes(&files));
    Ok(Compared { report, refused, only, files })
}

/// What to know when reading the rows.
fn notes(
    before: &Measured,
    after: &Measured,
    exact: bool,
    rows: &[Row],
    only: &[Vec<String>; 2],
    files: &[String; 2],
) -> Vec<String> {
    let mut notes = vec![format!("both are of {}", said(&before.command))];
    if before.version != after.version {
        let [before, after] = [before, after].map(|one| said(&one.version));
        notes.push(format!(
            "printed by different versions of narrows: {before} before, {after} after"
        ));
    }
    if before.machine != after.machine {
        notes.push(format!(
            "the machines differ: {} before, {} after",
            before.machine.line(),
            after.machine.line()
        ));
    }
    let judged = rows.iter().filter(|row| row.significant.is_some()).count();
    if exact {
        notes.push("simulated figures have no noise: whatever differs has changed".into());
    } else if judged > 0 {
        notes.push(
            "the interval knows the noise within each run alone, and not what differs from one run to \
             the next; measure both again, in turns, before you rely on a small change"
                .into(),
        );
        notes.push(format!(
            "of {judged} figures that did not change, about {:.0} are beyond noise by chance (5 %)",
            (judged as f64 * 0.05).max(1.0)
        ));
    }
    for (names, file) in only.iter().zip(files) {
        if !names.is_empty() {
            notes.push(format!("only in {file}: {}", text::shortened(names)));
        }
    }
    notes
}
