//! `narrows advise` of flows through accelerators: how many ports and how much credit are enough.

use serde::Serialize;

use super::flags::Advise;
use super::print;
use crate::base::failure::{Failure, Kind};
use crate::base::options::{Global, HOST};
use crate::base::page::PageOut;
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::base::table::{Align, Table, counted, number, wrap};
use crate::experiments::offload::{self, Advice, Reason, Setting, Trial, WITHIN, Waits, beside};
use crate::formats::offload::Offload;
use crate::formats::platform;
use crate::rig::sim;
use narrows_sim::chip::Chip;

/// A flow by a setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its name in the workload.
    pub flow: String,
    /// The accelerator that it goes through.
    pub accelerator: String,
    /// Pairs of ports at the accelerator, for each flow.
    pub ports: u32,
    /// Bytes of credit of each port that sends, and of the FIFO behind it.
    pub credit_bytes: u32,
    /// Blocks of the flow.
    pub blocks: u32,
    /// Bytes of its blocks by the time in which results came.
    pub throughput_mbit_s: f64,
    /// What 99 of 100 results took at most.
    pub p99_us: f64,
    /// For how much of the time the accelerator worked.
    pub busy_percent: f64,
    /// For how much of it the accelerator had a result and no room for it.
    pub held_percent: f64,
    /// All flows together beside the chosen setting: 1 is as good, more is better.
    pub score: f64,
    /// Whether this is what is advised.
    pub chosen: bool,
}

/// Whether everything that was asked for means something for such flows.
fn sensible(global: &Global, args: &Advise) -> Result<(), Failure> {
    let load = (args.load < 100.0).then_some("--load");
    if let Some(flag) = args.of_strategies(global).or(load) {
        let text = format!("{flag} means nothing to flows through accelerators: leave it out");
        return Err(Failure::new(Kind::Usage, text));
    }
    if args.on == HOST {
        let text = "flows through accelerators run on a chip that has them: name one with --on, \
                    such as bmm-clusters";
        return Err(Failure::new(Kind::Usage, text));
    }
    Ok(())
}

/// Tries all settings, and says which is enough.
///
/// # Errors
/// The chip does not have what flows name, or a trial fails.
pub(super) fn run(
    global: &Global,
    args: &Advise,
    page: &PageOut,
    work: &Offload,
) -> Result<(), Failure> {
    sensible(global, args)?;
    let chip = platform::load_any(&args.on)?;
    let progress = Progress::new(0, global.json);
    progress.say("simulating");
    let advice = offload::advise(&chip, work, |all| {
        progress.expect(all);
        progress.step();
    })?;
    drop(progress);
    let mut report = Report::new("advise", sim::machine(&chip), rows(&chip, work, &advice));
    report.notes = said(work, &advice);
    print(global, page, &work.name, &report, text)
}

fn rows(chip: &Chip, work: &Offload, advice: &Advice) -> Vec<Row> {
    let clusters = chip.clusters.as_ref();
    let all = clusters.map_or(&[][..], |clusters| &clusters.accelerators);
    let mut rows = Vec::new();
    for (at, Trial { setting, flows }) in advice.trials.iter().enumerate() {
        let score = beside(work, flows, &advice.best().flows);
        for (flow, figures) in work.flows.iter().zip(flows) {
            let block = all.iter().find(|one| one.name == flow.accelerator);
            let bits = block.map_or(0.0, |one| f64::from(one.block) * 8.0);
            rows.push(Row {
                flow: flow.name.clone(),
                accelerator: flow.accelerator.clone(),
                ports: setting.ports,
                credit_bytes: setting.credits * 4,
                blocks: flow.count,
                throughput_mbit_s: figures.per_second * bits / 1e6,
                p99_us: figures.p99,
                busy_percent: figures.busy * 100.0,
                held_percent: figures.held * 100.0,
                score,
                chosen: at == advice.chosen,
            });
        }
    }
    rows
}

/// Which figure of flows counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counts {
    Throughput,
    Late,
    Both,
}

impl Counts {
    fn of(work: &Offload) -> Counts {
        match work.flows.iter().filter(|flow| flow.period.is_some()).count() {
            0 => Counts::Throughput,
            all if all == work.flows.len() => Counts::Late,
            _ => Counts::Both,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Counts::Throughput => "throughput",
            Counts::Late => "the 99th percentile",
            Counts::Both => "the mean of throughput and the 99th percentile",
        }
    }

    /// How it changes where flows get `gain` times as good.
    fn changed(self, gain: f64) -> String {
        let (part, words) = match self {
            Counts::Throughput => (gain - 1.0, ["higher", "lower"]),
            Counts::Late => (1.0 / gain - 1.0, ["longer", "shorter"]),
            Counts::Both => (gain - 1.0, ["better", "worse"]),
        };
        let [more, less] = words;
        format!("{} % {}", number(part.abs() * 100.0), if part < 0.0 { less } else { more })
    }
}

/// What is enough, why, and what fewer would cost.
fn said(work: &Offload, advice: &Advice) -> Vec<String> {
    let counts = Counts::of(work);
    let Setting { ports, credits } = advice.best().setting;
    let enough = format!(
        "Enough: {} for each flow and credit for {} each way, by which {} is within {:.0} % of the \
         best of {} settings.",
        counted(ports as usize, "pair of ports", "pairs of ports"),
        size(credits),
        counts.name(),
        WITHIN * 100.0,
        advice.trials.len()
    );
    vec![enough, why(counts, &advice.reasons), cost(work, counts, advice)]
}

fn why(counts: Counts, reasons: &[Reason]) -> String {
    match reasons.first() {
        Some(Reason { waits, gain }) if *gain > 1.0 + WITHIN => format!(
            "Why: flows wait for {}: {} {} would be {}.",
            name(*waits),
            match waits {
                Waits::Function => "if it took nothing,",
                Waits::Credit => "with all the credit that was tried,",
                Waits::Network | Waits::Buses => "ten times as fast,",
                Waits::Calls => "if they took nothing,",
            },
            counts.name(),
            counts.changed(*gain)
        ),
        _ => format!(
            "Why: flows wait for nothing alone: without the accelerator's time or calls, or with \
             more credit or a faster network or buses, {} is the same within {:.0} %.",
            counts.name(),
            WITHIN * 100.0
        ),
    }
}

fn name(waits: Waits) -> &'static str {
    match waits {
        Waits::Function => "the accelerator",
        Waits::Credit => "credit on its way back",
        Waits::Network => "the network",
        Waits::Calls => "the calls of the CPUs",
        Waits::Buses => "the buses of the clusters",
    }
}

fn cost(work: &Offload, counts: Counts, advice: &Advice) -> String {
    let own = advice.best();
    let worse = |trial: &Trial| counts.changed(beside(work, &trial.flows, &own.flows));
    let [credit, ports] = advice.fewer();
    let credit = credit
        .map(|trial| format!("{} with credit for {}", worse(trial), size(trial.setting.credits)));
    let ports = ports.map(|trial| {
        let pairs = counted(trial.setting.ports as usize, "pair", "pairs");
        format!("{} with {pairs} of ports", worse(trial))
    });
    let each: Vec<String> = credit.into_iter().chain(ports).collect();
    match each.as_slice() {
        [] => "Fewer: there are none, as a FIFO has to hold a block.".to_owned(),
        each => format!("Fewer: {} would be {}.", counts.name(), each.join(", and ")),
    }
}

/// Bytes of this many words.
fn size(words: u32) -> String {
    match words * 4 {
        bytes if bytes.is_multiple_of(1024) => format!("{} KiB", bytes / 1024),
        bytes => format!("{bytes} bytes"),
    }
}

fn text(report: &Report<Row>) -> String {
    let mut table = Table::new(&[
        ("flow", Align::Left),
        ("ports", Align::Right),
        ("credit", Align::Right),
        ("Mbit/s", Align::Right),
        ("p99 µs", Align::Right),
        ("busy %", Align::Right),
        ("held %", Align::Right),
        ("", Align::Left),
    ]);
    for row in &report.results {
        table.row(vec![
            row.flow.clone(),
            row.ports.to_string(),
            size(row.credit_bytes / 4),
            number(row.throughput_mbit_s),
            number(row.p99_us),
            number(row.busy_percent),
            number(row.held_percent),
            if row.chosen { "enough".to_owned() } else { String::new() },
        ]);
    }
    let legend = "Ports: pairs at the accelerator for each flow. Credit: of each port that sends, \
                  and the FIFO behind it. Busy: the accelerator works. Held: it has a result, and \
                  the one before waits for credit.";
    let notes: String = report.notes.iter().map(|note| wrap("", note)).collect();
    format!("{}\n{}\n{notes}", table.render(), wrap("", legend))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn said_of(text: &str) -> (Advice, Vec<String>) {
        let work = crate::formats::offload::parse(Path::new("w.toml"), text).unwrap().unwrap();
        let chip = platform::load_any("bmm-clusters").unwrap();
        let advice = offload::advise(&chip, &work, |_| {}).unwrap();
        let said = said(&work, &advice);
        (advice, said)
    }

    #[test]
    fn a_sentence_each_says_what_is_enough_and_why_and_what_fewer_cost() {
        let flow = "[[flow]]\nname = 'a'\naccelerator = 'fft'\ncount = 40\n";
        let (advice, sentences) = said_of(flow);
        assert_eq!(sentences.len(), 3);
        let beginnings = ["Enough: ", "Why: flows wait for ", "Fewer: "];
        for (sentence, beginning) in sentences.iter().zip(beginnings) {
            assert!(sentence.starts_with(beginning), "{sentence}");
        }
        assert!(sentences[0].contains(&size(advice.best().setting.credits)), "{sentences:?}");
        let slow = format!("{flow}period = '200us'\n");
        let (advice, sentences) = said_of(&slow);
        assert!(sentences[0].contains("the 99th percentile"), "{sentences:?}");
        assert_eq!(advice.best().setting.ports, 1);
    }

    #[test]
    fn a_change_is_of_the_figure_that_counts() {
        let of = |counts: Counts| [1.25, 0.5].map(|gain| counts.changed(gain));
        assert_eq!(of(Counts::Throughput), ["25.0 % higher", "50.0 % lower"]);
        assert_eq!(of(Counts::Late), ["20.0 % shorter", "100 % longer"]);
        assert_eq!(of(Counts::Both), ["25.0 % better", "50.0 % worse"]);
    }

    #[test]
    fn sizes_are_in_bytes_until_they_are_whole_kibibytes() {
        assert_eq!([1, 64, 256, 384].map(size), ["4 bytes", "256 bytes", "1 KiB", "1536 bytes"]);
    }
}
