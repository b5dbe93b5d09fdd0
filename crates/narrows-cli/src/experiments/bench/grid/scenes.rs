//! Scenes: what comes of a choice where the sessions of a cell begin at other moments, and where
//! some of them are not there.

use super::carry::Carried;
use super::traffic::Traffic;
use crate::base::failure::Failure;
use crate::base::threads;
use crate::formats::workload::Workload;
use std::time::Duration;

/// How long a scene is that says only whether anything is late.
const LASTS: Duration = Duration::from_secs(3);
/// Scenes that are carried before one that was late ends it.
const CHUNK: usize = 32;
/// Scenes with all sessions whose loads are compared.
const COMPARED: u64 = 16;

/// Whether `count` drawn scenes are carried in time, in which some sessions are not there.
///
/// # Errors
/// What `carry` refuses.
pub(super) fn keeps(
    traffic: Traffic,
    count: u64,
    carry: impl Fn(Workload) -> Result<Carried, Failure> + Sync,
) -> Result<bool, Failure> {
    let seeds: Vec<u64> = (0..count).collect();
    for some in seeds.chunks(CHUNK) {
        let made = threads::each(some, |seed| carry(traffic.scene(*seed, false, LASTS)?));
        for carried in made {
            if !carried?.holds() {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// The mean load of scenes with all sessions, each carried for `duration`; none if one of them is
/// not carried in time.
///
/// # Errors
/// What `carry` refuses.
pub(super) fn mean(
    traffic: Traffic,
    duration: Duration,
    carry: impl Fn(Workload) -> Result<Carried, Failure> + Sync,
) -> Result<Option<f64>, Failure> {
    let seeds: Vec<u64> = (0..COMPARED).collect();
    let made = threads::each(&seeds, |seed| carry(traffic.scene(*seed, true, duration)?));
    let mut sum = 0.0;
    for carried in made {
        let carried = carried?;
        if !carried.holds() {
            return Ok(None);
        }
        sum += carried.load;
    }
    Ok(Some(sum / COMPARED as f64))
}
