//! The page of an advice: what to choose, why, and all that was tried.

use super::row::AdviceRow;
use super::said::Said;
use super::words::{Group, Verdict, capital};
use crate::base::machine::Machine;
use crate::base::page::Page;
use crate::base::page::chart::{Cell, Chart, Data, Kind};
use crate::base::table::number;
use crate::experiments::advice::Trial;

/// The page; `command` is what to type to try the choice.
pub(super) fn page(
    place: &Machine,
    name: &str,
    said: &Said,
    rows: &[AdviceRow],
    command: &str,
) -> Page {
    let title = format!("advise {name}: least {}", said.objective.name());
    let mut page = Page::new(title, place);
    let verdicts = said.verdicts();
    page.headline = headline(&verdicts);
    page.why = said.found.best().map_or(String::new(), |best| {
        format!("All flows together take {}. To try it: {command}.", said.taken(best))
    });
    for (group, verdict) in &verdicts {
        let late = format!("{}. {}", capital(&group.soon(verdict.best)), verdict.reason);
        let next = said.next(group, verdict).map_or(String::new(), |next| format!(" {next}"));
        page.find(group.name.as_str(), late + &next);
    }
    page.find("How sure this is", said.uncertainty());
    page.notes.extend(said.untimed.clone());
    page.first = Some(tried(said));
    page.section("All figures", "", vec![Chart::table("Every flow", "", Data::of(rows))]);
    page
}

fn headline(verdicts: &[(&Group, Verdict<'_>)]) -> String {
    let each = verdicts.iter().filter_map(|(group, verdict)| {
        let by = verdict.best.assignment.get(*group.flows.first()?)?;
        Some((group.name.as_str(), by.to_string()))
    });
    let each: Vec<_> = each.collect();
    match each.as_slice() {
        [(_, first), others @ ..] if others.iter().all(|(_, by)| by == first) => {
            format!("Choose {first}")
        }
        all => {
            let all: Vec<String> =
                all.iter().map(|(name, by)| format!("{by} for {name}")).collect();
            format!("Choose {}", all.join(", "))
        }
    }
}

/// All that was tried: load and latency of each.
fn tried(said: &Said) -> Chart {
    let mut data = Data::new(&["strategies", "load", "p99", "front", "holds"]);
    let late = |trial: &Trial| trial.p99.iter().sum::<f64>();
    let trials = &said.found.trials;
    for trial in trials.iter().filter(|trial| trial.refused.is_none()) {
        let beaten = trials.iter().any(|other| {
            said.judge.holds(other)
                && other.effort() <= trial.effort()
                && late(other) <= late(trial)
                && (other.effort() < trial.effort() || late(other) < late(trial))
        });
        let holds = said.judge.holds(trial);
        let mut names: Vec<String> = Vec::new();
        crate::formats::strategy::append(
            &mut names,
            trial.assignment.iter().map(ToString::to_string),
        );
        let yes = |yes: bool| Cell::from(if yes { "yes" } else { "no" });
        data.row([
            Cell::from(&names.join(" and ")),
            trial.effort().into(),
            late(trial).into(),
            yes(holds && !beaten),
            yes(holds),
        ]);
    }
    let paced = said.found.best().is_some_and(Trial::is_paced);
    Chart {
        title: "Everything that was tried".into(),
        says: format!(
            "Left is less load, down is sooner. The choice takes {}.",
            said.found.best().map_or(String::new(), |best| number(best.effort()))
        ),
        kind: Some(Kind::Scatter {
            label: "strategies".into(),
            x: "load".into(),
            y: "p99".into(),
            front: "front".into(),
            x_label: match paced {
                true => "load of the calling core, %".into(),
                false => "the calling core's µs for a call".into(),
            },
            y_label: "99th percentile of all flows together, µs".into(),
            log_y: true,
            front_means: "nothing that was tried is better in both".into(),
            others_mean: "another is better in both, or deadlines are missed".into(),
        }),
        data,
    }
}
