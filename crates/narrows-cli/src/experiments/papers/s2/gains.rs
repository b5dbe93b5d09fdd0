//! Frames beside bursts, and what the board would gain by what its authors proposed.

use super::{LONG, PACKET, SHORT, measured};
use crate::base::failure::Failure;
use crate::experiments::bench::sra::flags::Variant;
use crate::experiments::bench::sra::{Row, with};
use crate::experiments::papers::row::Found;
use narrows_sim::chip::{Chip, DmaMode};

/// A cycle of 1 kB in a burst and in a frame.
pub(super) fn packet(chip: &Chip) -> Result<Found, Failure> {
    let cycle = |mode| measured(chip, mode, PACKET).map(|row| row.sra_us);
    let [burst, frame] = [cycle(DmaMode::Burst)?, cycle(DmaMode::Frame)?];
    Ok([("burst", burst), ("frame", frame)].map(|(key, value)| (key.to_owned(), value)).into())
}

/// Four frames in one transfer, which the board cannot do.
pub(super) fn frames(chip: &Chip) -> Result<Found, Failure> {
    let Row { sra_us, ipc_us, rate_mbyte_s, .. } = having(chip, &[Variant::Frames])?;
    let all = [("two", sra_us), ("ipc", ipc_us), ("rate", rate_mbyte_s)];
    Ok(all.map(|(key, value)| (key.to_owned(), value)).into())
}

/// A long message on a board that has more: in frames if it can, else in a burst.
fn having(chip: &Chip, variants: &[Variant]) -> Result<Row, Failure> {
    let mode = if variants.contains(&Variant::Frames) { DmaMode::Frame } else { DmaMode::Burst };
    measured(&board(chip, variants), mode, LONG)
}

fn board(chip: &Chip, variants: &[Variant]) -> Chip {
    variants.iter().fold(chip.clone(), |chip, variant| with(chip, *variant))
}

/// Where the source contradicts itself, and what each thing that the board lacks would save.
///
/// # Errors
/// As the experiments.
pub fn notes(chip: &Chip) -> Result<Vec<String>, Failure> {
    let found = packet(chip)?;
    let of = |key: &str| found.get(key).copied().unwrap_or(f64::NAN);
    let mut notes = vec![format!(
        "S2 contradicts itself once: by its figures a frame of 1 kB saves 291 - 255 = 36 µs of a \
         burst, and its section 5.4 computes with 45. With 36 its estimate of 462 µs would be \
         498. Here a frame saves {:.1} µs.",
        of("burst") - of("frame")
    )];
    let now = having(chip, &[])?;
    for (variants, said) in [
        (&[Variant::Dedicated][..], NO_FIGURE),
        (&[Variant::OnChip][..], "the source says that such memory is about twice as fast"),
        (&[Variant::Frames][..], "the authors estimate 462 µs, 19.8 MB/s"),
        (&[Variant::Frames, Variant::Dedicated, Variant::OnChip][..], NO_FIGURE),
    ] {
        let then = having(chip, variants)?;
        notes.push(format!(
            "If the Quatro67 had {}, 4092 bytes would take {}, at {:.1} instead of {:.1} MB/s, \
             and hold their sender for {}; {said}.",
            names(variants),
            change(now.sra_us, then.sra_us),
            then.rate_mbyte_s,
            now.rate_mbyte_s,
            change(now.sender_held_us, then.sender_held_us),
        ));
    }
    let variants = [Variant::Interrupts];
    let better = board(chip, &variants);
    let [now, then] = [chip, &better].map(|chip| measured(chip, DmaMode::ReadWrite, SHORT));
    let (now, then) = (now?, then?);
    notes.push(format!(
        "If the Quatro67 had {}, 24 bytes by element would take {}, and hold their sender for {}; \
         the source says that it did not measure that.",
        names(&variants),
        change(now.sra_us, then.sra_us),
        change(now.sender_held_us, then.sender_held_us),
    ));
    Ok(notes)
}

const NO_FIGURE: &str = "the source proposes it without a figure";

fn names(variants: &[Variant]) -> String {
    variants.iter().map(|variant| variant.name()).collect::<Vec<_>>().join(", ")
}

fn change(now: f64, then: f64) -> String {
    format!("{then:.1} instead of {now:.1} µs ({:+.1} %)", (then / now - 1.0) * 100.0)
}
