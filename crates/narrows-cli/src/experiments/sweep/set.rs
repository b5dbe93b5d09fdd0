//! Setting keys of a platform: in its text, before it is read, so that every check of the reader
//! holds.

use super::file::{Carried, Setting, Sweep};
use crate::base::failure::{Failure, Kind};
use crate::base::input;
use crate::base::table::one_line;
use crate::formats::platform::{Written, linked};
use narrows_sim::chip::Chip;
use narrows_sim::file::{At, Mistake, Table, Text, Value};
use std::ops::Range;

const A_TABLE: &str = "it is a table; expected one of its keys";

/// The places in a platform's text that settings replace, in the order of the settings.
pub(super) struct Places<'a> {
    platform: &'a Written,
    places: Vec<Range<usize>>,
}

impl<'a> Places<'a> {
    /// Finds the keys of a sweep in a platform.
    ///
    /// # Errors
    /// [`Kind::Workload`](crate::base::failure::Kind): a key is not there, or is no single value.
    pub fn find(sweep: &Sweep, platform: &'a Written) -> Result<Places<'a>, Failure> {
        if sweep.settings.is_empty() {
            return Ok(Places { platform, places: Vec::new() });
        }
        let document = Text { path: &platform.path, text: &platform.text };
        let document = document.parse().map_err(input::wrong)?;
        let mut places: Vec<Range<usize>> = Vec::new();
        for setting in &sweep.settings {
            let at = setting.values.first().map_or(0..0, |value| value.span.clone());
            let place = look(document.any(), &setting.key).map_err(|why| {
                let name = platform.path.display();
                let text = format!("{} cannot be set in {name}: {why}", setting.key);
                input::wrong(sweep.file().fail(&at, text))
            })?;
            let overlaps =
                |other: &Range<usize>| other.start < place.end && place.start < other.end;
            if places.iter().any(overlaps) {
                let text = format!("{} is a part of another key that is set", setting.key);
                return Err(input::wrong(sweep.file().fail(&at, text)));
            }
            places.push(place);
        }
        Ok(Places { platform, places })
    }

    /// The chip with these values, one for each setting.
    ///
    /// # Errors
    /// [`Kind::Workload`](crate::base::failure::Kind): no chip can be so. It is said with the
    /// value's place in the sweep, and what the reader says of it in the platform.
    pub fn chip(&self, sweep: &Sweep, values: &[&At<String>]) -> Result<Chip, Failure> {
        let mut order: Vec<usize> = (0..self.places.len()).collect();
        order.sort_by_key(|at| self.places[*at].start);
        let mut text = String::with_capacity(self.platform.text.len());
        let mut new: Vec<(usize, Range<usize>)> = Vec::new();
        let mut done = 0;
        for at in order {
            let (place, value) = (&self.places[at], &values[at].value);
            text.push_str(&self.platform.text[done..place.start]);
            new.push((at, text.len()..text.len() + value.len()));
            text.push_str(value);
            done = place.end;
        }
        text.push_str(&self.platform.text[done..]);
        let chip = Chip::parse(&self.platform.path, &text).map_err(|mistake| {
            let at = mistake.byte;
            let blamed = new.iter().find(|(_, place)| (place.start..=place.end).contains(&at));
            let blamed = blamed.map(|(setting, _)| *setting);
            self.explain(sweep, values, mistake, blamed)
        })?;
        fitting(chip, &sweep.carried)
    }

    fn explain(
        &self,
        sweep: &Sweep,
        values: &[&At<String>],
        mistake: Mistake,
        blamed: Option<usize>,
    ) -> Failure {
        let name = self.platform.path.display();
        let said = |(setting, value): (&Setting, &&At<String>)| {
            format!("{} = {}", setting.key, bare(&value.value))
        };
        let mut pairs = sweep.settings.iter().zip(values);
        if let Some((setting, value)) = blamed.and_then(|at| pairs.nth(at)) {
            let text = format!("{} in {name}: {}", said((setting, value)), mistake.problem);
            return input::wrong(sweep.file().fail(&value.span, text));
        }
        let (Some(first), false) = (values.first(), self.places.is_empty()) else {
            return input::wrong(mistake);
        };
        let all: Vec<String> = sweep.settings.iter().zip(values).map(said).collect();
        let text = format!("{name} with {}: {}", all.join(", "), mistake.problem);
        input::wrong(sweep.file().fail(&first.span, text))
    }
}

/// The chip, if it has what the sweep's traffic goes over.
fn fitting(chip: Chip, carried: &Carried) -> Result<Chip, Failure> {
    let clusters = chip.clusters.is_some() && !chip.is_linked();
    let why = match carried {
        Carried::Packets { .. } if clusters => return Ok(chip),
        Carried::Links { .. } if !clusters => return linked(chip),
        Carried::Packets { .. } => {
            "it has no clusters, between which packets go: name bmm-clusters, or a strategy in \
             place of transfer"
        }
        Carried::Links { .. } => {
            "it has clusters and no links of the stack: transfer = \"packets\" in place of a \
             strategy sweeps what goes between clusters"
        }
    };
    Err(Failure::new(Kind::Workload, format!("{}: {why}", chip.name)))
}

/// A value as rows have it: on one line, texts without their quotes.
pub(super) fn bare(written: &str) -> String {
    let line = one_line(written);
    let inner = |quote: char| line.strip_prefix(quote)?.strip_suffix(quote).map(str::to_owned);
    inner('"').or_else(|| inner('\'')).unwrap_or(line)
}

/// The place of a value by its keys, or what there is instead. Tables of a list go by their names.
fn look(table: Table<'_>, key: &str) -> Result<Range<usize>, String> {
    let behind = |name: &str| key.strip_prefix(name)?.strip_prefix('.');
    let mut keys = Vec::new();
    for (name, _, value) in table.entries() {
        if key == name {
            return leaf(&value);
        }
        keys.push(name);
        let Some(rest) = behind(name) else { continue };
        if let Some(inner) = value.as_table() {
            return look(inner, rest);
        }
        let Some(all) = value.as_array() else {
            return Err(format!("{name} is a value, which has no keys"));
        };
        let mut names = Vec::new();
        for item in all.iter().filter_map(Value::as_table) {
            let Some(name) = item.find("name").and_then(|name| name.as_str()) else { continue };
            if let Some(rest) = rest.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')) {
                return look(item, rest);
            }
            names.push(name);
        }
        return Err(match names.contains(&rest) {
            true => A_TABLE.to_owned(),
            false => format!("expected a key of one of {}", names.join(", ")),
        });
    }
    Err(format!("expected one of {}", keys.join(", ")))
}

/// The place of something that is written where its key is.
fn leaf(value: &Value<'_>) -> Result<Range<usize>, String> {
    let written = value.written();
    let whole = if value.as_table().is_some() {
        written.starts_with('{') && written.ends_with('}')
    } else if value.as_array().is_some() {
        written.starts_with('[') && !written.starts_with("[[") && written.ends_with(']')
    } else {
        true
    };
    match whole {
        true => Ok(value.span()),
        false => Err(A_TABLE.to_owned()),
    }
}
