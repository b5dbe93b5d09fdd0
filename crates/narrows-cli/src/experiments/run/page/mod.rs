//! The page of a run: which strategy won and why, where the time goes, and how slow the slow ones
//! are.

mod charts;
mod chosen;

use crate::base::page::Page;
use crate::base::page::words::{Best, Contender, best, micros, share};
use crate::base::report::{RunReport, RunRow};
use crate::base::table::{counted, number};
use crate::formats::workload::Workload;
use std::time::Duration;

/// Flows that have charts of their own; the others are in the table.
const FLOWS: usize = 3;
/// The phases, and what each is in words.
pub(super) const PHASES: [(&str, &str); 5] = [
    ("A", "request into shared memory"),
    ("B", "message and bell"),
    ("C", "everything on the other core"),
    ("D", "response noticed and taken up"),
    ("E", "response out of shared memory"),
];
/// By how much a load has to be larger to be a price.
const DEARER: f64 = 1.5;

/// How the round trips of a flow by a strategy are distributed.
pub(super) struct Distribution {
    pub flow: String,
    pub strategy: String,
    /// For each N, in microseconds what one of N exceeds.
    pub points: Vec<(f64, f64)>,
}

/// The page.
pub(super) fn page(
    workload: &Workload,
    duration: Duration,
    run: &RunReport,
    distributions: &[Distribution],
) -> Page {
    let RunReport { report, decisions, .. } = run;
    let rows = &report.results;
    let strategies = distinct(rows.iter().map(|row| row.strategy.as_str()));
    let title = format!(
        "run {}: {}, {} each",
        workload.name,
        counted(strategies.len(), "strategy", "strategies"),
        humantime::format_duration(duration)
    );
    let mut page = Page::new(title, &report.machine);
    page.notes.clone_from(&report.notes);
    let exact = report.machine.r#virtual;
    let flows: Vec<Flow<'_>> =
        workload.flows.iter().map(|flow| Flow::of(&flow.name, rows)).collect();
    let flows: Vec<Flow<'_>> = flows.into_iter().filter(|flow| !flow.rows.is_empty()).collect();
    let auto = strategies.contains(&"auto");
    match auto {
        true => chosen::headline(&mut page, run),
        false => won(&mut page, &flows, exact),
    }
    if auto {
        cheapest(&mut page, rows, exact);
        kept(&mut page, workload, rows);
    }
    for (at, flow) in flows.iter().take(FLOWS).enumerate() {
        flow.findings(&mut page, exact, at > 0);
    }
    if !auto {
        cheapest(&mut page, rows, exact);
        kept(&mut page, workload, rows);
    }
    if !exact && strategies.len() > 1 {
        page.notes.push(
            "medians of round trips are compared by the medians of 20 parts of each run, 95 % \
             intervals by bootstrap; percentiles, loads and rates are of whole runs, whose noise is \
             not known"
                .into(),
        );
    }
    if flows.len() > FLOWS {
        let more = flows.len() - FLOWS;
        page.notes.push(format!(
            "{} have no charts: see the table of all figures",
            counted(more, "flow", "flows")
        ));
    }
    let shown: Vec<&Flow<'_>> = flows.iter().take(FLOWS).collect();
    let mut stacks: Vec<_> = shown.iter().map(|flow| charts::phases(flow)).collect();
    let mut slow: Vec<_> = shown.iter().map(|flow| charts::percentiles(flow)).collect();
    let first = match stacks.first().is_some_and(|chart| !chart.is_empty()) {
        true => stacks.remove(0),
        false if !decisions.is_empty() => charts::loads(decisions),
        false if !slow.is_empty() => slow.remove(0),
        false => charts::everything(rows),
    };
    page.first = Some(first);
    page.section("Where the time goes", "", stacks);
    if !decisions.is_empty() {
        let switches: u64 = rows.iter().map(|row| row.switches).sum();
        let words = format!(
            "{}, {}.",
            counted(decisions.len(), "decision", "decisions"),
            counted(switches as usize, "switch", "switches")
        );
        page.section("Decisions over time", words, charts::decisions(decisions));
    }
    page.section(
        "How slow the slow ones are",
        "99 of 100 round trips are no longer than p99, 999 of 1000 than p99.9, and so on.",
        slow,
    );
    let distributed = shown.iter().map(|flow| charts::distribution(flow, distributions));
    page.section("Distribution of round trips", "", distributed.collect());
    let loads = shown.iter().map(|flow| charts::load(flow)).collect();
    page.section("Load against latency", "Flows that ran together have the same load.", loads);
    page.section("All figures", "", vec![charts::everything(rows)]);
    page
}

/// A flow, and how it fared by each strategy that could carry it.
pub(super) struct Flow<'a> {
    pub name: &'a str,
    pub rows: Vec<&'a RunRow>,
}

impl<'a> Flow<'a> {
    fn of(name: &'a str, rows: &'a [RunRow]) -> Flow<'a> {
        let mut rows: Vec<&RunRow> =
            rows.iter().filter(|row| row.flow == name && row.received > 0).collect();
        rows.sort_by(|one, other| one.rtt_us.median.total_cmp(&other.rtt_us.median));
        Flow { name, rows }
    }

    fn row(&self, strategy: &str) -> Option<&'a RunRow> {
        self.rows.iter().copied().find(|row| row.strategy == strategy)
    }

    /// By median of round trips.
    fn fastest(&self, exact: bool) -> Option<Best<'a>> {
        let contenders = self.rows.iter().map(|row| Contender {
            name: &row.strategy,
            figure: row.rtt_us.median,
            rounds: &row.parts_us,
        });
        best(contenders, false, exact)
    }

    /// `all` or what the headline does not say already.
    fn findings(&self, page: &mut Page, exact: bool, all: bool) {
        let (name, several) = (self.name, self.rows.len() > 1);
        if let Some(fastest) = self.fastest(exact).filter(|_| several && all) {
            let (strategy, median) = (fastest.first.name, micros(fastest.first.figure));
            page.find(
                format!("{name}: shortest median"),
                format!("{strategy} with {median}{}.", fastest.beside(micros)),
            );
        }
        let slowest = self.rows.iter().map(|row| Contender {
            name: &row.strategy,
            figure: row.rtt_us.p99,
            rounds: &[],
        });
        if let Some(steady) = best(slowest, false, exact).filter(|_| several) {
            page.find(
                format!("{name}: shortest p99"),
                format!(
                    "{} with {}{}.",
                    steady.first.name,
                    micros(steady.first.figure),
                    steady.beside(micros)
                ),
            );
        }
        page.find(format!("{name}: where the time goes"), self.dominant());
    }

    /// Which phase takes most, and what no strategy can shorten.
    fn dominant(&self) -> String {
        let phased = self.rows.iter();
        let phased = phased.filter_map(|row| Some((row.strategy.as_str(), row.phase_medians()?)));
        let phased: Vec<(&str, [f64; 5])> = phased.collect();
        let Some((first, own)) = phased.first() else { return String::new() };
        let longest = |medians: &[f64; 5]| {
            (0..medians.len()).max_by(|a, b| medians[*a].total_cmp(&medians[*b])).unwrap_or(0)
        };
        let most = (0..PHASES.len())
            .max_by_key(|phase| phased.iter().filter(|(_, row)| longest(row) == *phase).count())
            .unwrap_or(0);
        let count = phased.iter().filter(|(_, row)| longest(row) == most).count();
        let (letter, meaning) = PHASES[most];
        let mut said = match phased.len() {
            1 => format!("{letter}, {meaning}, is the longest phase: "),
            all => format!(
                "{letter}, {meaning}, is the longest phase of {count} of {all} strategies. "
            ),
        };
        let at = longest(own);
        let part = share(own[at], own.iter().sum());
        said += &format!("In {first} {} is {part} of A to E.", PHASES[at].0);
        let least = phased.iter().map(|(_, row)| row[2]).reduce(f64::min).unwrap_or(0.0);
        if least > 0.0 && phased.len() > 1 {
            said += &format!(
                " The limit is the other core's own work: C is never below {}.",
                micros(least)
            );
        }
        said
    }
}

/// The headline where strategies were carried out one after the other.
fn won(page: &mut Page, flows: &[Flow<'_>], exact: bool) {
    let winners: Vec<(&Flow<'_>, Best<'_>)> =
        flows.iter().filter_map(|flow| Some((flow, flow.fastest(exact)?))).collect();
    let Some((flow, fastest)) = winners.first() else {
        page.headline = "No flow could be carried".into();
        return;
    };
    let first = &fastest.first;
    let median = micros(first.figure);
    if fastest.second.is_none() {
        page.headline = format!("{}: {} takes {median} there and back", first.name, flow.name);
        page.why = flow.dominant();
        return;
    }
    let same = winners.iter().filter(|(_, one)| one.first.name == first.name).count();
    let alike = fastest.apart == Some(false);
    page.headline = match winners.len() {
        all if alike || same == all => fastest.headline(flow.name, "is the fastest", micros),
        2 => {
            let each =
                winners.iter().map(|(flow, best)| format!("{} for {}", best.first.name, flow.name));
            format!("The fastest: {}", each.collect::<Vec<_>>().join(", "))
        }
        all => format!("{} is the fastest for {same} of {all} flows", first.name),
    };
    page.why = reason(flow, fastest);
}

/// Why the fastest is faster than the next, and at what price.
fn reason(flow: &Flow<'_>, fastest: &Best<'_>) -> String {
    let Best { first, second: Some(second), .. } = fastest else { return String::new() };
    let mut said = format!(
        "Median round trip of {}: {}{}.",
        flow.name,
        micros(first.figure),
        fastest.beside(micros)
    );
    let (Some(one), Some(other)) = (flow.row(first.name), flow.row(second.name)) else {
        return said;
    };
    if let (Some(own), Some(theirs)) = (one.phase_medians(), other.phase_medians())
        && fastest.apart != Some(false)
    {
        let saved = |at: &usize| theirs[*at] - own[*at];
        let most = (0..PHASES.len()).max_by(|a, b| saved(a).total_cmp(&saved(b))).unwrap_or(0);
        let (letter, meaning) = PHASES[most];
        if saved(&most) > 0.0 {
            said += &format!(
                " Most of the difference is {letter}, {meaning}: {} instead of {}.",
                micros(own[most]),
                micros(theirs[most])
            );
        }
    }
    let (own, theirs) = (one.cpu_percent.caller, other.cpu_percent.caller);
    if own > theirs * DEARER {
        said += &format!(
            " The price is load: {} % of the calling core, where {} takes {} %.",
            number(own),
            second.name,
            number(theirs)
        );
    } else if theirs > own * DEARER {
        said += &format!(
            " It also takes less of the calling core: {} % instead of {} %.",
            number(own),
            number(theirs)
        );
    }
    said
}

fn cheapest(page: &mut Page, rows: &[RunRow], exact: bool) {
    let mut seen = Vec::new();
    let contenders = rows.iter().filter(|row| row.received > 0).filter_map(|row| {
        if seen.contains(&row.strategy.as_str()) {
            return None;
        }
        seen.push(&row.strategy);
        Some(Contender { name: &row.strategy, figure: row.cpu_percent.caller, rounds: &[] })
    });
    let Some(least) = best(contenders, false, exact).filter(|best| best.second.is_some()) else {
        return;
    };
    let percent = |load: f64| format!("{} %", number(load));
    page.find(
        "Least load of the calling core",
        format!(
            "{} with {}{}.",
            least.first.name,
            percent(least.first.figure),
            least.beside(percent)
        ),
    );
}

/// What was lost, late or wrong, and how near deadlines are.
fn kept(page: &mut Page, workload: &Workload, rows: &[RunRow]) {
    let sum = |count: fn(&RunRow) -> u64| rows.iter().map(count).sum::<u64>();
    let mut said = format!(
        "{} requests sent, {} lost, {} late, {} wrong.",
        sum(|row| row.sent),
        sum(|row| row.lost),
        sum(|row| row.deadline_misses),
        sum(|row| row.wrong)
    );
    // Of the flow that came nearest to its deadline.
    let near = workload.flows.iter().filter_map(|flow| {
        let deadline = flow.deadline?;
        let own = rows.iter().filter(|row| row.flow == flow.name && row.received > 0);
        let latest = |row: &RunRow| row.since_due_us.max;
        let worst = own.max_by(|one, other| latest(one).total_cmp(&latest(other)))?;
        Some((worst, deadline, latest(worst) / 1e6 / deadline.as_secs_f64()))
    });
    if let Some((worst, deadline, _)) = near.max_by(|one, other| one.2.total_cmp(&other.2)) {
        said += &format!(
            " Nearest to its deadline came {}: {} of {} ({}).",
            worst.flow,
            micros(worst.since_due_us.max),
            humantime::format_duration(deadline),
            worst.strategy
        );
    }
    page.find("Kept and lost", said);
    let refused: Vec<&RunRow> = rows.iter().filter(|row| row.refused.is_some()).collect();
    if let Some(first) = refused.first() {
        let why = first.refused.as_deref().unwrap_or_default();
        let count = counted(refused.len(), "combination", "combinations");
        page.find(
            "Not possible",
            format!(
                "{count} of flow and strategy; the first, {} by {}: {why}.",
                first.flow, first.strategy
            ),
        );
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}
