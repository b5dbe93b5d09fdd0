//! What the phone gives where the sources are read otherwise.

use super::both;
use super::phone::{
    EVERY, Looks, Measured, OWN, OWN_LATER, POLLING, READING, Reading, WORKLOAD, measure,
};
use crate::base::failure::Failure;
use crate::base::table::listed;
use narrows_sim::chip::Chip;

/// What other readings of the sources give, a sentence for each.
///
/// # Errors
/// As `measure`.
pub fn notes(chip: &Chip) -> Result<Vec<String>, Failure> {
    let mut notes = vec![both::note(chip)?];
    let [asked, free] = [Looks::Asked, Looks::Free].map(|looks| Reading { looks, ..READING });
    for (what, reading, callee) in [
        ("looked only while a call is under way", asked, "/callee=interrupt"),
        ("looked by a timer that runs whenever frames begin", free, "/callee=interrupt"),
        ("had the DSP look as often, too", READING, ""),
    ] {
        let (mut loads, mut calls) = (Vec::new(), Vec::new());
        for every in EVERY {
            let strategy = format!("in_place/poll={every}ms/internal{callee}");
            let Measured { load, longest, .. } =
                measure(chip, Some(&strategy), OWN_LATER, reading)?;
            loads.push(format!("{load:.2}"));
            calls.push(format!("{longest:.2}"));
        }
        notes.push(format!(
            "If the phone of {POLLING} {what}, its loads every 5, 10, 15 and 20 ms were {} %, and \
             its longest calls {} ms.",
            listed(&loads),
            listed(&calls)
        ));
    }
    let mut saved = Vec::new();
    for (what, reading) in [
        ("calls twice a frame", Reading { ticks: 2, ..READING }),
        ("copies", Reading { copies: true, ..READING }),
        ("does both", Reading { ticks: 2, copies: true, ..READING }),
    ] {
        let load = |placement: &str| {
            let strategy = format!("in_place/interrupt/{placement}");
            measure(chip, Some(&strategy), OWN, reading).map(|measured| measured.load)
        };
        saved.push(format!("{:.2} % if it {what}", load("external")? - load("internal")?));
    }
    notes.push(format!(
        "By internal memory the phone of {WORKLOAD} saves {} of the ARM: not 6.4.",
        listed(&saved)
    ));
    Ok(notes)
}
