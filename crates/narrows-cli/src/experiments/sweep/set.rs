//! Setting keys of a platform: in its text, before it is read, so that every check of the reader
//! holds.

use super::file::{Setting, Sweep};
use crate::base::failure::Failure;
use crate::formats::platform::Written;
use crate::formats::workload::parse::At;
use narrows_sim::chip::{Chip, Mistake};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

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
        let written = DeTable::parse(&platform.text).map_err(|error| {
            // The reader says it better.
            let said = Chip::parse(&platform.name(), &platform.text).err();
            let said = said.map_or_else(|| error.message().to_owned(), |said| said.to_string());
            let text = format!("{}:{said}", platform.path.display());
            Failure::new(crate::base::failure::Kind::Workload, text)
        })?;
        let mut places: Vec<Range<usize>> = Vec::new();
        for setting in &sweep.settings {
            let at = setting.values.first().map_or(0..0, |value| value.span.clone());
            let place = look(&platform.text, written.get_ref(), &setting.key).map_err(|why| {
                let name = platform.path.display();
                sweep.reader().fail(&at, &format!("{} cannot be set in {name}: {why}", setting.key))
            })?;
            let overlaps =
                |other: &Range<usize>| other.start < place.end && place.start < other.end;
            if places.iter().any(overlaps) {
                let text = format!("{} is a part of another key that is set", setting.key);
                return Err(sweep.reader().fail(&at, &text));
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
        Chip::parse(&self.platform.name(), &text).map_err(|mistake| {
            let at = offset(&text, &mistake);
            let blamed = new.iter().find(|(_, place)| (place.start..=place.end).contains(&at));
            let blamed = blamed.map(|(setting, _)| *setting);
            self.explain(sweep, values, &mistake, blamed)
        })
    }

    fn explain(
        &self,
        sweep: &Sweep,
        values: &[&At<String>],
        mistake: &Mistake,
        blamed: Option<usize>,
    ) -> Failure {
        let name = self.platform.path.display();
        let said = |(setting, value): (&Setting, &&At<String>)| {
            format!("{} = {}", setting.key, bare(&value.value))
        };
        let mut pairs = sweep.settings.iter().zip(values);
        if let Some((setting, value)) = blamed.and_then(|at| pairs.nth(at)) {
            let text = format!("{} in {name}: {}", said((setting, value)), mistake.problem);
            return sweep.reader().fail(&value.span, &text);
        }
        let (Some(first), false) = (values.first(), self.places.is_empty()) else {
            let text = format!("{name}:{mistake}");
            return Failure::new(crate::base::failure::Kind::Workload, text);
        };
        let all: Vec<String> = sweep.settings.iter().zip(values).map(said).collect();
        let text = format!("{name} with {}: {}", all.join(", "), mistake.problem);
        sweep.reader().fail(&first.span, &text)
    }
}

/// A value as rows have it: on one line, texts without their quotes.
pub(super) fn bare(written: &str) -> String {
    let words: Vec<&str> = written.split_whitespace().collect();
    let line = words.join(" ");
    let inner = |quote: char| line.strip_prefix(quote)?.strip_suffix(quote).map(str::to_owned);
    inner('"').or_else(|| inner('\'')).unwrap_or(line)
}

/// Where in the text a mistake is, in bytes.
fn offset(text: &str, mistake: &Mistake) -> usize {
    let before = text.split_inclusive('\n').take(mistake.line - 1).map(str::len).sum::<usize>();
    let line = text.get(before..).unwrap_or_default().chars();
    before + line.take(mistake.column - 1).map(char::len_utf8).sum::<usize>()
}

/// The place of a value by its keys, or what there is instead. Tables of a list go by their names.
fn look(text: &str, table: &DeTable<'_>, key: &str) -> Result<Range<usize>, String> {
    let behind = |name: &str| key.strip_prefix(name)?.strip_prefix('.');
    for (name, value) in table {
        let name: &str = name.get_ref();
        if key == name {
            return leaf(text, value);
        }
        let Some(rest) = behind(name) else { continue };
        match value.get_ref() {
            DeValue::Table(inner) => return look(text, inner, rest),
            DeValue::Array(all) => {
                let named = |item: &Spanned<DeValue<'_>>| {
                    let name = item.get_ref().as_table()?.get("name")?.get_ref().as_str()?;
                    Some(name.to_owned())
                };
                let mut names = Vec::new();
                for item in all.iter() {
                    let Some(name) = named(item) else { continue };
                    let of = rest.strip_prefix(&name).and_then(|rest| rest.strip_prefix('.'));
                    if let (Some(rest), Some(inner)) = (of, item.get_ref().as_table()) {
                        return look(text, inner, rest);
                    }
                    names.push(name);
                }
                return Err(match names.iter().any(|name| name == rest) {
                    true => A_TABLE.to_owned(),
                    false => format!("expected a key of one of {}", names.join(", ")),
                });
            }
            _ => return Err(format!("{name} is a value, which has no keys")),
        }
    }
    let keys: Vec<&str> = table.iter().map(|(key, _)| -> &str { key.get_ref() }).collect();
    Err(format!("expected one of {}", keys.join(", ")))
}

/// The place of something that is written where its key is.
fn leaf(text: &str, value: &Spanned<DeValue<'_>>) -> Result<Range<usize>, String> {
    let place = value.span();
    let written = text.get(place.clone()).unwrap_or_default();
    let whole = match value.get_ref() {
        DeValue::Table(_) => written.starts_with('{') && written.ends_with('}'),
        DeValue::Array(_) => {
            written.starts_with('[') && !written.starts_with("[[") && written.ends_with(']')
        }
        _ => true,
    };
    match whole {
        true => Ok(place),
        false => Err(A_TABLE.to_owned()),
    }
}
