//! What the phone gives where the sources are read otherwise.

use super::both;
use super::phone::{
    self, EVERY, Looks, Measured, OWN_LATER, POLLING, READING, Reading, WORKLOAD, measure,
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
    for (what, reading) in [
        ("called twice a frame", Reading { ticks: 2, ..READING }),
        ("copied at both ends", Reading { copies: true, ..READING }),
        ("did both", Reading { ticks: 2, copies: true, ..READING }),
    ] {
        notes.push(internal(chip, what, reading)?);
    }
    Ok(notes)
}

/// What the phone saves by internal memory, and all rows of it, by a reading.
fn internal(chip: &Chip, what: &str, reading: Reading) -> Result<String, Failure> {
    let found = phone::rows(chip, reading)?;
    let of = |how: &str, key: &str| found[&format!("ARM+DSP+{how}.{key}")];
    let all = |key: &str| {
        let rows = ["Intr+Extl", "Poll+Extl", "Intr+Intl", "Poll+Intl"];
        listed(&rows.map(|how| format!("{:.2}", of(how, key))))
    };
    let saved = of("Intr+Extl", "arm_percent") - of("Intr+Intl", "arm_percent");
    Ok(format!(
        "If the phone of {WORKLOAD} {what}, internal memory would save {saved:.2} % of the ARM, not \
         6.4. By interrupt and by polling with external memory, and then with internal, its loads \
         would be {} %, its packets {} ms apart, with deviations of {} ms.",
        all("arm_percent"),
        all("interarrival_ms"),
        all("stddev_ms"),
    ))
}
