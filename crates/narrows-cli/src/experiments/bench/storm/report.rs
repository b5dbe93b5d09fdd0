//! What a storm came to, as a table or as rows of JSON.

use serde::{Deserialize, Serialize};

use super::account::Tally;
use super::cause::{Late, PROMISED, Telling, ms};
use super::plan::{Life, Traffic};
use super::round::Outcome;
use super::stop::Stop;
use crate::base::failure::{Failure, Kind as Failed};
use crate::base::machine::Machine;
use crate::base::report::Report;
use crate::base::statistics::Summary;
use crate::base::table::{Align, Table, number, wrap};
use crate::experiments::bench::task::Asked;
use crate::experiments::bench::traffic::churn::Churn;

/// Private memory that the survivor may have more of at the end than after a quarter of the
/// rounds, in KiB: far less than one link's.
const GROWTH: u64 = 1024;

/// Why a simulated survivor is told late: nothing else takes time there.
const FILLING: &str = "the survivor filled its ring before its stack looked";

/// Notes that the text has at most.
const SHOWN: usize = 40;

/// The latest deaths, of which notes have the particulars.
const WORST: usize = 5;

/// A row of the report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "row", rename_all = "lowercase")]
pub enum Row {
    /// Kills of one kind.
    Kills(Kills),
    /// A peer that was stopped and went on.
    Stop(Stop),
    /// Nodes that linked and went again.
    Churn(Churn),
}

/// Kills with traffic in one direction, told in one way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kills {
    /// How both sides waited.
    pub notification: String,
    /// Which way the traffic went.
    pub traffic: String,
    /// How many.
    pub kills: u64,
    /// From just before the kill until the survivor's stack told it.
    pub told_ms: Summary,
    /// From just before the kill until the killed process had ended.
    pub ended_ms: Summary,
    /// Those that took longer than promised, and why.
    pub late: Vec<Late>,
    /// What became of everything.
    pub tally: Tally,
    /// Each promise that was broken, as a sentence.
    pub broken: Vec<String>,
}

#[derive(Default)]
struct Group {
    kills: Kills,
    tellings: Vec<Telling>,
}

/// Everything that a storm came to.
pub struct Storm {
    seed: u64,
    pub(super) machine: Machine,
    groups: Vec<(Traffic, Group)>,
    /// The stops, in order.
    pub stops: Vec<Stop>,
    /// Private memory of the survivor after a quarter of the rounds and at the end, in KiB.
    pub memory: [Option<u64>; 2],
    /// What was left when all was over.
    pub left: Vec<String>,
    /// Calls to the bystander that were answered.
    pub bystander: u64,
    /// The longest of them, in milliseconds.
    pub bystander_ms: f64,
    /// What others did that came and went, if they were asked for.
    pub churn: Option<Churn>,
}

impl Storm {
    /// Nothing yet.
    pub fn new(seed: u64, machine: Machine) -> Storm {
        Storm {
            seed,
            machine,
            groups: Vec::new(),
            stops: Vec::new(),
            memory: [None; 2],
            left: Vec::new(),
            bystander: 0,
            bystander_ms: 0.0,
            churn: None,
        }
    }

    /// Adds a life.
    pub fn add(&mut self, round: u64, life: &Life, outcome: Outcome) {
        let same = |(traffic, group): &(Traffic, Group)| {
            *traffic == life.traffic && group.kills.notification == life.notification
        };
        let at = match self.groups.iter().position(same) {
            Some(at) => at,
            None => {
                let kills = Kills {
                    notification: life.notification.clone(),
                    traffic: life.traffic.name().into(),
                    ..Kills::default()
                };
                self.groups.push((life.traffic, Group { kills, tellings: Vec::new() }));
                self.groups.len() - 1
            }
        };
        let simulated = self.machine.r#virtual;
        let Some((_, group)) = self.groups.get_mut(at) else { return };
        let Outcome { telling, tally, broken } = outcome;
        group.kills.kills += 1;
        group.kills.tally.add(&tally);
        let say = |what| format!("kill {round}, {}: {what}", life.strategy);
        group.kills.broken.extend(broken.into_iter().map(say));
        if telling.late() {
            let cause = if simulated { FILLING } else { telling.cause() }.to_owned();
            group.kills.late.push(Late { round, telling: telling.clone(), cause });
        }
        group.tellings.push(telling);
    }

    /// Promises that were broken.
    pub fn broken(&self) -> usize {
        let kills: usize = self.groups.iter().map(|(_, group)| group.kills.broken.len()).sum();
        let stops: usize = self.stops.iter().map(|stop| stop.broken.len()).sum();
        let churn = self.churn.as_ref().map_or(0, |churn| churn.broken.len());
        kills + stops + churn + self.left.len() + usize::from(self.grown().is_some())
    }

    /// Whether all promises were kept.
    ///
    /// # Errors
    /// How many were not.
    pub fn verdict(&self) -> Result<(), Failure> {
        let (count, seed) = (self.broken(), self.seed);
        let sentence =
            format!("{count} promises were broken, as said above: report it with --seed {seed}");
        if count == 0 { Ok(()) } else { Err(Failure::new(Failed::Internal, sentence)) }
    }

    /// By how much memory grew, if it is more than it may.
    fn grown(&self) -> Option<u64> {
        let [Some(first), Some(last)] = self.memory else { return None };
        Some(last.saturating_sub(first)).filter(|grown| *grown > GROWTH)
    }

    pub(super) fn kills(&self) -> Vec<Kills> {
        let mut groups: Vec<&(Traffic, Group)> = self.groups.iter().collect();
        // Stable: notifications stay in the order they were asked for.
        groups.sort_by_key(|(traffic, _)| *traffic);
        let row = |group: &Group| Kills {
            told_ms: summary(&group.tellings, |one| one.told_ms),
            ended_ms: summary(&group.tellings, |one| one.ended_ms),
            ..group.kills.clone()
        };
        groups.into_iter().map(|(_, group)| row(group)).collect()
    }

    pub(super) fn tellings(&self) -> Vec<Telling> {
        self.groups.iter().flat_map(|(_, group)| group.tellings.iter().cloned()).collect()
    }

    fn tally(&self) -> Tally {
        let mut sum = Tally::default();
        self.groups.iter().for_each(|(_, group)| sum.add(&group.kills.tally));
        sum
    }

    /// What to know, a sentence each; then what was broken, then why the late
    /// were.
    pub(super) fn notes(&self) -> Vec<String> {
        let explained = "what died with the stack that had taken it was off the ring and not yet \
                         handed to the application (P10): its sender cannot tell";
        let mut notes = vec![explained.to_owned()];
        notes.extend(self.groups.iter().flat_map(|(_, group)| group.kills.broken.clone()));
        notes.extend(self.stops.iter().flat_map(|stop| stop.broken.clone()));
        notes.extend(self.churn.iter().flat_map(|churn| churn.broken.clone()));
        notes.extend(self.left.clone());
        if let Some(grown) = self.grown() {
            notes.push(format!("the survivor's private memory grew by {grown} KiB"));
        }
        notes.extend(self.causes());
        let mut late: Vec<&Late> = self.late().collect();
        late.sort_by(|a, b| b.telling.told_ms.total_cmp(&a.telling.told_ms));
        let simulated = self.machine.r#virtual;
        notes.extend(late.into_iter().take(WORST).map(|late| late.sentence(simulated)));
        notes
    }

    fn late(&self) -> impl Iterator<Item = &Late> {
        self.groups.iter().flat_map(|(_, group)| &group.kills.late)
    }

    /// Why deaths were told late, and how many.
    fn causes(&self) -> Vec<String> {
        let mut causes: Vec<&str> = self.late().map(|late| late.cause.as_str()).collect();
        causes.sort_unstable();
        let alike = causes.chunk_by(|a, b| a == b);
        alike.filter_map(|same| Some(format!("late {}: {}", same.len(), same.first()?))).collect()
    }

    /// Prints the report.
    ///
    /// # Errors
    /// Standard output refuses it.
    pub fn print(&self, asked: &Asked<'_>) -> Result<(), Failure> {
        let kills = self.kills().into_iter().map(Row::Kills);
        let stops = self.stops.iter().cloned().map(Row::Stop);
        let rows = kills.chain(stops).chain(self.churn.clone().map(Row::Churn)).collect();
        let mut report = Report::new("bench storm", self.machine.clone(), rows);
        report.notes = self.notes();
        asked.print(&report, || self.text())
    }

    fn text(&self) -> String {
        let (tellings, tally) = (self.tellings(), self.tally());
        let told = summary(&tellings, |one| one.told_ms);
        let late = tellings.iter().filter(|one| one.late()).count();
        let mut text = self.machine.elsewhere().map(|on| on + "\n\n").unwrap_or_default();
        text += &wrap(
            "",
            &format!(
                "{} kills, seed {}: told after {} ms (median), {} (99 of 100), {} (longest); {late} \
                 later than {} ms",
                tellings.len(),
                self.seed,
                number(told.median),
                number(told.p99),
                number(told.max),
                ms(PROMISED)
            ),
        );
        text += &wrap(
            "",
            &match self.broken() {
                0 => "no promise broken, nothing left behind".to_owned(),
                count => format!("{count} PROMISES BROKEN, see below"),
            },
        );
        text.push('\n');
        text += &self.kills_table();
        text.push('\n');
        text += &tally_table(&tally);
        text += &self.beside();
        if !self.stops.is_empty() {
            text.push('\n');
            text += &self.stops_table();
        }
        if let Some(churn) = &self.churn {
            text += &format!("\n{}", wrap("", &churn.sentence()));
        }
        text.push('\n');
        let notes = self.notes();
        for note in notes.iter().take(SHOWN) {
            text += &wrap("- ", note);
        }
        if notes.len() > SHOWN {
            text += &format!("- and {} more, which --json prints\n", notes.len() - SHOWN);
        }
        text
    }

    fn kills_table(&self) -> String {
        let mut table = Table::new(&[
            ("told by", Align::Left),
            ("traffic", Align::Left),
            ("kills", Align::Right),
            ("told ms", Align::Right),
            ("p99", Align::Right),
            ("max", Align::Right),
            ("late", Align::Right),
            ("ended ms", Align::Right),
            ("broken", Align::Right),
        ]);
        for row in self.kills() {
            table.row(vec![
                row.notification.clone(),
                row.traffic.clone(),
                row.kills.to_string(),
                number(row.told_ms.median),
                number(row.told_ms.p99),
                number(row.told_ms.max),
                row.late.len().to_string(),
                number(row.ended_ms.median),
                row.broken.len().to_string(),
            ]);
        }
        table.render()
    }

    fn stops_table(&self) -> String {
        let mut table = Table::new(&[
            ("stopped, told by", Align::Left),
            ("s", Align::Right),
            ("deadlines", Align::Right),
            ("over ms", Align::Right),
            ("messages there", Align::Right),
            ("and here", Align::Right),
            ("bystander", Align::Right),
            ("broken", Align::Right),
        ]);
        for stop in &self.stops {
            let [there, here] = stop.messages;
            table.row(vec![
                stop.notification.clone(),
                number(stop.stopped_ms / 1e3),
                stop.deadlines.to_string(),
                number(stop.over_ms),
                there.to_string(),
                here.to_string(),
                stop.bystander.to_string(),
                stop.broken.len().to_string(),
            ]);
        }
        table.render()
    }

    fn beside(&self) -> String {
        let mut text = match self.machine.r#virtual {
            true => String::new(),
            false => format!(
                "bystander: {} calls answered, the slowest after {} ms\n",
                self.bystander,
                number(self.bystander_ms)
            ),
        };
        if let [Some(first), Some(last)] = self.memory {
            text += &format!("survivor's private memory: {first} KiB, at the end {last} KiB\n");
        }
        text
    }
}

fn tally_table(tally: &Tally) -> String {
    let mut table = Table::new(&[("what became of", Align::Left), ("", Align::Right)]);
    for (what, count) in [
        ("messages to the killed", tally.sent),
        ("  delivered", tally.delivered),
        ("  came back", tally.returned),
        ("  died with the stack that had taken them", tally.died_with_peer),
        ("messages from the killed", tally.sent_here),
        ("  delivered", tally.delivered_here - tally.untold),
        ("  delivered though their sender died before it was told", tally.untold),
        ("calls to the killed", tally.calls),
        ("  answered", tally.answered),
        ("  came back, not run", tally.calls_returned),
        ("  ended by the death, perhaps run", tally.calls_lost),
        ("calls from the killed, run", tally.served),
        ("sends that found no room", tally.full),
    ] {
        table.row(vec![what.into(), count.to_string()]);
    }
    table.render()
}

fn summary(tellings: &[Telling], figure: impl Fn(&Telling) -> f64) -> Summary {
    Summary::of(&mut tellings.iter().map(figure).collect::<Vec<_>>()).unwrap_or_default()
}
