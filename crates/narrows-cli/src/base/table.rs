//! Text for a screen of 80 columns.

/// Columns that a screen has.
pub const WIDTH: usize = 80;

/// On which side of its column a cell stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A number of things in words: `1 strategy`, `2 strategies`.
pub fn counted(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

/// A table with a heading; columns are as wide as their widest cell.
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(columns: &[(&str, Align)]) -> Table {
        let columns = columns.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect();
        Table { columns, rows: Vec::new() }
    }

    /// A table of figures behind names: the first column is words, the others are numbers.
    pub fn figures(names: &[&str]) -> Table {
        let columns = names.iter().enumerate();
        let columns: Vec<(&str, Align)> = columns
            .map(|(at, name)| (*name, if at == 0 { Align::Left } else { Align::Right }))
            .collect();
        Table::new(&columns)
    }

    /// Adds a row; cells that are missing stay empty.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The table's lines. Where it is wider than [`WIDTH`], the first column is shortened.
    pub fn render(&self) -> String {
        self.rows_of(|cell, width| vec![shorten(cell, width)]).concat()
    }

    /// The heading's lines, and those of each row. Where the table is wider than [`WIDTH`], cells
    /// of the first column go on in lines of their own, indented by four.
    pub fn wrapped(&self) -> Vec<String> {
        self.rows_of(|cell, width| {
            let options = textwrap::Options::new(width)
                .subsequent_indent("    ")
                .word_separator(textwrap::WordSeparator::AsciiSpace)
                .word_splitter(textwrap::WordSplitter::NoHyphenation);
            textwrap::wrap(cell, options).into_iter().map(|line| line.into_owned()).collect()
        })
    }

    /// The lines of the heading and of each row, with those that a first cell of such a width has.
    fn rows_of(&self, first: impl Fn(&str, usize) -> Vec<String>) -> Vec<String> {
        let cell = |row: &Vec<String>, at: usize| row.get(at).cloned().unwrap_or_default();
        let mut widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, (name, _))| {
                let cells = self.rows.iter().map(|row| length(&cell(row, at)));
                cells.chain([length(name)]).max().unwrap_or(0)
            })
            .collect();
        let gaps = 2 * self.columns.len().saturating_sub(1);
        let excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(WIDTH);
        if let Some(width) = widths.first_mut() {
            *width = width.saturating_sub(excess).max(8);
        }
        let heading: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let lines = |row| {
            let mut lines = first(&cell(row, 0), widths.first().copied().unwrap_or(0)).into_iter();
            let mut line = String::new();
            for (at, ((_, align), width)) in self.columns.iter().zip(&widths).enumerate() {
                let cell = match at {
                    0 => lines.next().unwrap_or_default(),
                    _ => {
                        line.push_str("  ");
                        shorten(&cell(row, at), *width)
                    }
                };
                match align {
                    Align::Left => line.push_str(&format!("{cell:<width$}")),
                    Align::Right => line.push_str(&format!("{cell:>width$}")),
                }
            }
            let lines = std::iter::once(line).chain(lines);
            lines.map(|line| line.trim_end().to_owned() + "\n").collect()
        };
        [&heading].into_iter().chain(&self.rows).map(lines).collect()
    }
}

/// Lines of at most [`WIDTH`] columns; all but the first are indented as far as `first` is long.
pub fn wrap(first: &str, words: &str) -> String {
    let rest = " ".repeat(length(first));
    let options = textwrap::Options::new(WIDTH).initial_indent(first).subsequent_indent(&rest);
    textwrap::fill(words, options) + "\n"
}

/// A text on one line.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A number with three significant digits, or whole if it is larger.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Words one after the other, "and" before the last.
pub fn listed(words: &[impl AsRef<str>]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match &words[..] {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// A text of at most this many columns.
pub fn shorten(text: &str, width: usize) -> String {
    if length(text) <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&[("name", Align::Left), ("µs", Align::Right)]);
        table.row(vec!["one".into(), "10.5".into()]);
        table.row(vec!["eleven".into()]);
        assert_eq!(table.render(), "name        µs\none       10.5\neleven\n");
    }

    #[test]
    fn a_wide_table_shortens_its_first_column() {
        let mut table = Table::new(&[("name", Align::Left), ("b", Align::Left)]);
        table.row(vec!["x".repeat(100), "y".repeat(20)]);
        let text = table.render();
        assert!(text.lines().all(|line| length(line) <= WIDTH), "{text}");
        assert!(text.contains('…'));
    }

    #[test]
    fn or_goes_on_with_it_in_the_next_line() {
        let mut table = Table::new(&[("name", Align::Left), ("b", Align::Left)]);
        table.row(vec!["words ".repeat(20), "y".repeat(50)]);
        table.row(vec!["x".into(), "z".into()]);
        let rows = table.wrapped();
        let text = rows.concat();
        assert!(text.lines().all(|line| length(line) <= WIDTH), "{text}");
        assert_eq!((rows.len(), text.matches("words").count()), (3, 20), "{text}");
        assert!(rows[1].lines().skip(1).all(|line| line.starts_with("    words")), "{text}");
        assert_eq!(rows[2].trim_end().chars().last(), Some('z'));
        assert_eq!(rows[2].lines().count(), 1);
    }

    #[test]
    fn numbers_keep_three_digits() {
        let found = [0.0, 1.234, 12.34, 123.4, 12_345.6].map(number);
        assert_eq!(found, ["0.00", "1.23", "12.3", "123", "12346"]);
    }
}
