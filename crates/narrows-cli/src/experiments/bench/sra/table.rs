//! The table of `bench sra`: boards have most of its columns, this machine has all of them.

use crate::base::table::{Align, Table};

/// What a line of the table says.
pub(super) struct Line {
    /// How DMA is driven, or what carries the links.
    pub mode: &'static str,
    /// How the processors are linked; boards have one way.
    pub shape: Option<&'static str>,
    pub bytes: usize,
    pub hops: usize,
    pub sra_us: f64,
    /// How far the rounds are apart; virtual time is the same in each.
    pub spread_us: Option<f64>,
    pub one_processor_us: f64,
    pub ipc_us: f64,
    /// None if IPC time is not above 0.
    pub rate_mbyte_s: Option<f64>,
    pub sender_held_us: f64,
    pub receiver_held_us: f64,
}

/// A column's heading, and what a line has there.
type Column = (&'static str, Align, fn(&Line) -> Option<String>);

const COLUMNS: [Column; 11] = [
    ("mode", Align::Left, |line| Some(line.mode.to_owned())),
    ("shape", Align::Left, |line| line.shape.map(str::to_owned)),
    ("bytes", Align::Right, |line| Some(line.bytes.to_string())),
    ("hops", Align::Right, |line| Some(line.hops.to_string())),
    ("SRA", Align::Right, |line| us(line.sra_us)),
    ("spread", Align::Right, |line| line.spread_us.and_then(us)),
    ("one", Align::Right, |line| us(line.one_processor_us)),
    ("IPC", Align::Right, |line| us(line.ipc_us)),
    ("MB/s", Align::Right, |line| line.rate_mbyte_s.map_or(Some("-".to_owned()), us)),
    ("sender", Align::Right, |line| us(line.sender_held_us)),
    ("receiver", Align::Right, |line| us(line.receiver_held_us)),
];

fn us(value: f64) -> Option<String> {
    Some(format!("{value:.1}"))
}

/// The table of these lines, without the columns that none of them has.
pub(super) fn render(lines: &[Line]) -> String {
    let had = |column: &Column| lines.iter().any(|line| column.2(line).is_some());
    let columns: Vec<Column> = COLUMNS.into_iter().filter(had).collect();
    let heads: Vec<(&str, Align)> =
        columns.iter().map(|(name, align, _)| (*name, *align)).collect();
    let mut table = Table::new(&heads);
    for line in lines {
        table.row(columns.iter().map(|column| column.2(line).unwrap_or_default()).collect());
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(shape: Option<&'static str>, rate_mbyte_s: Option<f64>) -> Line {
        Line {
            mode: "burst",
            shape,
            bytes: 24,
            hops: 1,
            sra_us: 10.0,
            spread_us: shape.map(|_| 2.5),
            one_processor_us: 4.0,
            ipc_us: 3.0,
            rate_mbyte_s,
            sender_held_us: 1.0,
            receiver_held_us: 2.0,
        }
    }

    fn words(text: &str) -> Vec<Vec<&str>> {
        text.lines().map(|line| line.split_whitespace().collect()).collect()
    }

    #[test]
    fn columns_that_no_line_has_are_left_out() {
        let text = render(&[line(None, Some(8.0))]);
        let heads = ["mode", "bytes", "hops", "SRA", "one", "IPC", "MB/s", "sender", "receiver"];
        let cells = ["burst", "24", "1", "10.0", "4.0", "3.0", "8.0", "1.0", "2.0"];
        assert_eq!(words(&text), [heads, cells]);
    }

    #[test]
    fn a_rate_that_is_none_is_a_dash() {
        let text = render(&[line(Some("ring"), None)]);
        let cells = ["burst", "ring", "24", "1", "10.0", "2.5", "4.0", "3.0", "-", "1.0", "2.0"];
        assert_eq!(words(&text)[1], cells);
    }
}
