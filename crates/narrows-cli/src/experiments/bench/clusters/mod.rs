//! `bench throughput` and `bench pingpong` on a chip of clusters: packets between CPUs of two
//! clusters, by the DMA with FIFOs in software and by the buffer manager, as S3 measured them.

pub mod ends;
mod page;
pub mod pingpong;
pub mod throughput;

use narrows_sim::chip::Chip;

use super::flags::Which;
use super::task::Asked;
use crate::base::failure::{Failure, Kind};
use crate::base::options::Place;
use crate::base::page::Page;
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::base::table::{Table, wrap};
use crate::formats::platform;
use crate::rig::cluster::Mechanism;
use ends::Ends;
use serde::Serialize;

/// Bytes of the smallest and of the largest packet where nothing is said: S3's.
pub const PACKETS: [u32; 2] = [4, 8 << 10];

/// The sizes of packets where nothing is said.
pub fn usual() -> Vec<u32> {
    let [least, most] = PACKETS;
    std::iter::successors(Some(least), |size| Some(size * 2))
        .take_while(|size| *size <= most)
        .collect()
}

/// The chip that a bench runs on, if the bench has something to measure between clusters, and the
/// chip has clusters and no links of the stack.
///
/// # Errors
/// As [`platform::load_any`].
pub(super) fn named(which: &Which, place: &Place) -> Result<Option<Chip>, Failure> {
    if !matches!(which, Which::Throughput(_) | Which::Pingpong(_)) {
        return Ok(None);
    }
    let Some(name) = place.platform() else { return Ok(None) };
    let chip = platform::load_any(name)?;
    Ok(Some(chip).filter(|chip| chip.clusters.is_some() && !chip.is_linked()))
}

/// Measures and prints.
///
/// # Errors
/// What is asked for cannot be, or packets cannot be moved.
pub(super) fn run(asked: &Asked<'_>, which: &Which, chip: &Chip) -> Result<(), Failure> {
    sensible(asked)?;
    let ends = Ends::asked(asked.global, chip)?;
    match which {
        Which::Pingpong(_) => pingpong::run(asked, chip, ends),
        _ => throughput::run(asked, chip, ends),
    }
}

/// Refuses what says nothing of packets between clusters.
fn sensible(asked: &Asked<'_>) -> Result<(), Failure> {
    let axes = &asked.args.axes;
    for (given, flag) in [
        (!axes.transfer.is_empty(), "--transfer"),
        (!axes.notify.is_empty(), "--notify"),
        (!axes.placement.is_empty(), "--placement"),
        (asked.args.rounds.is_some(), "--rounds"),
    ] {
        if given {
            let why = "is for links of the stack, and clusters have none: leave it out";
            return Err(Failure::new(Kind::Usage, format!("{flag} {why}")));
        }
    }
    Ok(())
}

/// The sizes that are asked for, or the usual ones. Each divides `all` bytes into whole words.
fn asked_sizes(asked: &Asked<'_>, all: u32) -> Result<Vec<u32>, Failure> {
    let sizes: Result<Vec<u32>, Failure> =
        asked.args.bytes.iter().map(|bytes| whole(*bytes, all)).collect();
    Ok(Some(sizes?).filter(|sizes| !sizes.is_empty()).unwrap_or_else(usual))
}

/// A size of packets that divides all that is sent into whole words.
fn whole(bytes: usize, all: u32) -> Result<u32, Failure> {
    divides(bytes, all).ok_or_else(|| {
        let text = format!("--bytes {bytes}: packets are of 4, 8, 16 and so on up to {all} bytes");
        Failure::new(Kind::Usage, text)
    })
}

/// The size, if it is of whole words and `all` bytes are of whole packets of that size.
pub fn divides(bytes: usize, all: u32) -> Option<u32> {
    let size = u32::try_from(bytes).ok().filter(|size| *size > 0 && all.is_multiple_of(*size));
    size.filter(|size| size.is_multiple_of(4))
}

/// Measures each of what there is to try by each mechanism.
///
/// # Errors
/// The first of a row.
pub(super) fn rows<T: Copy, R>(
    asked: &Asked<'_>,
    trials: &[T],
    row: impl Fn(Mechanism, T) -> Result<R, Failure>,
) -> Result<Vec<R>, Failure> {
    let all: Vec<(Mechanism, T)> =
        Mechanism::ALL.iter().flat_map(|one| trials.iter().map(|trial| (*one, *trial))).collect();
    let progress = Progress::new(all.len() as u64, asked.global.json);
    let mut rows = Vec::new();
    for (done, (mechanism, trial)) in (0..).zip(all) {
        progress.reach(done);
        asked.global.monitor.of(mechanism.name());
        rows.push(row(mechanism, trial)?);
    }
    Ok(rows)
}

/// What calls of MCAPI take, and over how many links packets went.
fn in_words(chip: &Chip, ends: Ends) -> Vec<String> {
    let [over, without] = [Mechanism::Bmm, Mechanism::Dma].map(|one| {
        let [send, receive] = one.instructions(chip, ends.cores[0]);
        format!("a send {send} and a receive {receive}")
    });
    let [from, to] = ends.cores.map(|core| chip.cores[core].name.as_str());
    let links = match ends.hops(chip) {
        1 => "1 link".to_owned(),
        links => format!("{links} links"),
    };
    vec![
        format!(
            "of instructions, one a cycle, {over} have over the buffer manager, and {without} over FIFOs in software"
        ),
        format!("packets go from {from} to {to} over {links} of the network"),
    ]
}

/// Prints a report as it was asked for, and writes its page.
fn show<R: Serialize>(
    asked: &Asked<'_>,
    report: &Report<R>,
    (table, legend): (&Table, &str),
    page: impl FnOnce() -> Page,
) -> Result<(), Failure> {
    asked.print(report, || {
        let heading = report.machine.elsewhere().map(|on| on + "\n\n").unwrap_or_default();
        let notes: String = report.notes.iter().map(|note| wrap("", note)).collect();
        format!("{heading}{}\n{}{notes}", table.render(), wrap("", legend))
    })?;
    asked.page.write(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_sizes_of_packets_are_refused() {
        for bytes in [0, 2, 6, 12, 32768] {
            let said = whole(bytes, 16384).unwrap_err().to_string();
            assert!(said.contains(&format!("--bytes {bytes}: packets are of 4, 8, 16")), "{said}");
        }
        assert_eq!(whole(16384, 16384).unwrap(), 16384);
        assert!(whole(16384, 8192).is_err());
    }

    #[test]
    fn the_usual_packets_are_those_of_s3() {
        let sizes = usual();
        assert_eq!((sizes.first(), sizes.last(), sizes.len()), (Some(&4), Some(&8192), 12));
    }
}
