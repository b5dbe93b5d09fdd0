//! What a run does, on a terminal, while it does it.

use crate::base::failure::{Failure, Kind};
use crate::base::report::DecisionRow;
use crate::base::table::{Align, Table, WIDTH};
use console::Term;
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// The shortest time between two pictures, of this machine's time.
const EVERY: Duration = Duration::from_millis(100);
/// By how much the time of a chip may be ahead of this machine's.
const AHEAD: Duration = Duration::from_millis(10);
/// Decisions that are shown, and flows, which leaves a terminal of 24 lines its last one.
const DECISIONS: usize = 6;
const FLOWS: usize = 13;

/// A terminal that is drawn on again and again, below what was there before.
pub(super) struct Live {
    term: Term,
    drawn: RefCell<Vec<String>>,
    last: Cell<Option<Instant>>,
    pace: Cell<Pace>,
}

/// Keeps virtual time from running away from the user that watches it.
#[derive(Clone, Copy)]
struct Pace(Instant);

impl Pace {
    /// Sleeps until as much time has passed since the beginning as on the chip.
    fn keep(self, ran: Duration) {
        let ahead = ran.saturating_sub(self.0.elapsed());
        // On this machine both are the same but for the clocks' reading.
        if ahead >= AHEAD {
            std::thread::sleep(ahead);
        }
    }
}

/// A flow in the picture.
pub(super) struct Shown {
    pub flow: String,
    pub state: &'static str,
    pub strategy: String,
    /// What it is reckoned to take, in percent.
    pub load: Option<f64>,
    pub received: u64,
    pub late: u64,
    pub switches: u64,
}

impl Live {
    /// # Errors
    /// [`Kind::Usage`] if standard output is no terminal.
    pub fn new() -> Result<Live, Failure> {
        let term = Term::stdout();
        if !term.is_term() {
            let text = "--live draws on a terminal, and standard output is none: leave --live out, or \
                        take --json for what it would show";
            return Err(Failure::new(Kind::Usage, text));
        }
        Ok(Live {
            term,
            drawn: RefCell::default(),
            last: Cell::default(),
            pace: Cell::new(Pace(Instant::now())),
        })
    }

    /// A strategy begins.
    pub fn begin(&self) {
        self.pace.set(Pace(Instant::now()));
    }

    /// Waits where the strategy ran longer in virtual time than in this machine's.
    pub fn keep_pace(&self, ran: Duration) {
        self.pace.get().keep(ran);
    }

    /// Whether it is time for another picture.
    pub fn is_due(&self) -> bool {
        self.last.get().is_none_or(|last| last.elapsed() >= EVERY)
    }

    /// Draws a picture over the one before.
    pub fn draw(&self, heading: &str, flows: &[Shown], log: &[DecisionRow]) {
        self.last.set(Some(Instant::now()));
        let (lines, columns) = self.term.size();
        let most = usize::from(lines).saturating_sub(1).max(1);
        let mut picture = picture(heading, flows, log);
        picture.truncate(most);
        let columns = usize::from(columns).min(WIDTH);
        for line in &mut picture {
            *line = line.chars().take(columns).collect();
        }
        let mut drawn = self.drawn.borrow_mut();
        // A terminal that refuses is gone, and with it everyone that could be told.
        let _ = self.term.clear_last_lines(drawn.len());
        let _ = self
            .term
            .write_str(&picture.iter().map(|line| format!("{line}\n")).collect::<String>());
        *drawn = picture;
    }
}

impl Drop for Live {
    /// The report takes the place of the picture.
    fn drop(&mut self) {
        let _ = self.term.clear_last_lines(self.drawn.borrow().len());
    }
}

fn picture(heading: &str, flows: &[Shown], log: &[DecisionRow]) -> Vec<String> {
    let mut table = Table::new(&[
        ("flow", Align::Left),
        ("", Align::Left),
        ("strategy", Align::Left),
        ("load %", Align::Right),
        ("calls", Align::Right),
        ("late", Align::Right),
        ("sw.", Align::Right),
    ]);
    for one in flows.iter().take(FLOWS) {
        table.row(vec![
            one.flow.clone(),
            one.state.to_owned(),
            one.strategy.clone(),
            one.load.map_or_else(|| "-".to_owned(), |load| format!("{load:.2}")),
            one.received.to_string(),
            one.late.to_string(),
            one.switches.to_string(),
        ]);
    }
    let mut lines = vec![heading.to_owned()];
    lines.extend(table.render().lines().map(str::to_owned));
    if flows.len() > FLOWS {
        lines.push(format!("and {} flows more", flows.len() - FLOWS));
    }
    let recent = log.iter().rev().take(DECISIONS).map(sentence);
    lines.extend(recent);
    lines
}

/// A decision on one line.
pub(super) fn sentence(row: &DecisionRow) -> String {
    let flow = row.flow.as_ref().map_or(String::new(), |flow| format!("{flow} "));
    let what = match (&row.refused, row.switches.as_slice()) {
        (Some(why), _) => why.clone(),
        (None, []) => format!("{}: all stay", row.reason),
        (None, [one]) => format!("{}: {} to {}", row.reason, one.flow, one.to),
        (None, several) => {
            let names: Vec<&str> = several.iter().map(|one| one.flow.as_str()).collect();
            format!("{}: {} switch", row.reason, names.join(", "))
        }
    };
    format!("{:9.3} s  {flow}{}: {what}", row.at_s, row.cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::report::SwitchRow;

    #[test]
    fn virtual_time_passes_no_faster_than_this_machines() {
        let pace = Pace(Instant::now());
        for ran in [30, 60].map(Duration::from_millis) {
            pace.keep(ran);
            assert!(pace.0.elapsed() >= ran, "{ran:?}");
        }
        // A simulation that is behind is not held up.
        let began = Instant::now();
        Pace(began - Duration::from_secs(60)).keep(Duration::from_secs(50));
        assert!(began.elapsed() < Duration::from_secs(50));
    }

    #[test]
    fn a_picture_fits_a_terminal_of_eighty_columns_and_24_lines() {
        let flow = |number| Shown {
            flow: format!("audio-{number}"),
            state: "switching",
            strategy: "copy_batched/interrupt/external".into(),
            load: Some(12.345),
            received: 123_456,
            late: 1,
            switches: 99,
        };
        let flows: Vec<Shown> = (0..20).map(flow).collect();
        let to = "copy_batched/poll=20ms/internal".to_owned();
        let switch = SwitchRow { flow: "audio-1".into(), to, ..SwitchRow::default() };
        let row = DecisionRow {
            at_s: 1234.5,
            cause: "arrived".into(),
            flow: Some("video-3".into()),
            reason: "memory".into(),
            switches: vec![switch],
            ..DecisionRow::default()
        };
        let lines = picture("gateway auto", &flows, &vec![row.clone(); 10]);
        assert!(lines.len() < 24, "{}", lines.len());
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:?}");
        let said = sentence(&row);
        assert_eq!(
            said,
            " 1234.500 s  video-3 arrived: memory: audio-1 to copy_batched/poll=20ms/internal"
        );
        let refused = DecisionRow { refused: Some("no room".into()), ..row };
        assert!(sentence(&refused).ends_with("video-3 arrived: no room"));
    }
}
