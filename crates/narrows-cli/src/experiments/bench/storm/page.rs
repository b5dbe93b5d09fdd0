//! The page of a storm: how soon deaths were told, and whether a promise was broken.

use super::mesh::Mesh;
use super::report::Storm;
use crate::base::page::Page;
use crate::base::page::chart::{Cell, Chart, Data, Kind};
use crate::base::report::Report;
use crate::base::statistics::Summary;
use crate::base::table::{counted, number};

const POINTS: [&str; 5] = ["median", "p99", "p99.9", "p99.99", "max"];

/// The page.
pub(super) fn page(storm: &Storm) -> Page {
    let (kills, tellings) = (storm.kills(), storm.tellings());
    let mut page = Page::new("bench storm", &storm.machine);
    let count = counted(tellings.len(), "kill", "kills");
    page.headline = match storm.broken() {
        0 => format!("{count}, and no promise was broken"),
        1 => format!("{count}, and one promise was broken"),
        broken => format!("{count}, and {broken} promises were broken"),
    };
    let mut told: Vec<f64> = tellings.iter().map(|one| one.told_ms).collect();
    if let Some(told) = Summary::of(&mut told) {
        page.why = format!(
            "The survivor was told of a death after {} ms (median), {} ms (99 of 100), {} ms (the \
             longest).",
            number(told.median),
            number(told.p99),
            number(told.max)
        );
    }
    let columns: Vec<&str> = ["kills"].into_iter().chain(POINTS).collect();
    let mut data = Data::new(&columns);
    for one in &kills {
        let told = one.told_ms;
        let figures = [told.median, told.p99, told.p999, told.p9999, told.max].map(Cell::from);
        let name = format!("{}, {}", one.notification, one.traffic);
        data.row([Cell::from(name)].into_iter().chain(figures));
    }
    page.first = Some(Chart {
        title: "From a kill until the survivor was told, in ms".into(),
        says: "By how both sides waited, and by the direction of traffic.".into(),
        kind: Some(Kind::Spread {
            label: "kills".into(),
            points: POINTS.map(str::to_owned).into(),
            unit: "ms, logarithmic".into(),
            log: true,
        }),
        data,
    });
    page.notes = storm.notes();
    let stops = Chart::table("A peer that was stopped and went on", "", Data::of(&storm.stops));
    let all = Chart::table("Kills, and what became of every message", "", Data::of(&kills));
    page.section("All figures", "", vec![all, stops]);
    page
}

/// The page of a storm over a mesh.
pub(super) fn of_mesh(report: &Report<Mesh>, mesh: &Mesh) -> Page {
    let Mesh { members, kills, told_ms, broken, .. } = mesh;
    let promises = match broken.len() {
        0 => "no promise was broken".to_owned(),
        1 => "one promise was broken".to_owned(),
        some => format!("{some} promises were broken"),
    };
    Page {
        headline: format!("{kills} kills in a mesh of {members}, and {promises}"),
        why: format!(
            "All others were told after {} ms (median), {} ms (the longest).",
            number(told_ms.median),
            number(told_ms.max)
        ),
        notes: broken.clone(),
        ..Page::of(report)
    }
}
