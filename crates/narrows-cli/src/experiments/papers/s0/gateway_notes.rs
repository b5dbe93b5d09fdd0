//! What the gateway gives beside its rows: against another static design, and where the source is
//! read otherwise.

use super::gateway::{
    self, FRAME_422, Gateway, READING, Reading, SAMPLES, SESSIONS, Static, percent,
};
use super::gateway_parts::{self, Cut, Order};
use super::gateway_run;
use crate::base::failure::Failure;
use narrows_sim::chip::Chip;

/// A sentence or two for each.
///
/// # Errors
/// As those that plan and carry.
pub fn notes(chip: &Chip) -> Result<Vec<String>, Failure> {
    let mut notes = vec![cheapest(chip)?, apart(chip)?, sampled()?];
    for kib in [1, 16] {
        notes.push(parts(kib)?);
    }
    notes.push(gateway_run::two_dsps(chip)?);
    Ok(notes)
}

/// The cuts against the cheapest static strategies.
fn cheapest(chip: &Chip) -> Result<String, Failure> {
    let [audio, video] = Gateway::new(READING, 1024)?.fixed(Static::Cheapest)?;
    let model = gateway::small(READING, Static::Cheapest)?;
    let carried = gateway_run::small(chip, Static::Cheapest)?;
    let whole = Reading { whole: true, response: SAMPLES, ..READING };
    let whole = gateway::small(whole, Static::Named)?;
    Ok(format!(
        "The cuts of the gateway with 1 KiB are against the static strategies that S1 section 5.2 \
         names. The cheapest static ones by the model are {audio} for audio and {video} for video. \
         Against those the cuts of one and two sessions of audio are {:.1} and {:.1} % by the model, \
         {:.1} and {:.1} % carried by the stack. Against the named ones they would be {:.1} and {:.1} % \
         by the model if a request took the whole row of 128 bytes and 320 bytes came back.",
        model["1A.cut"],
        model["2A.cut"],
        carried["1A.cut"],
        carried["2A.cut"],
        whole["1A.cut"],
        whole["2A.cut"],
    ))
}

/// Sessions that do not begin together.
fn apart(chip: &Chip) -> Result<String, Failure> {
    let [named, cheapest] = [Static::Named, Static::Cheapest].map(|fixed| {
        let cut = gateway_run::apart(chip, fixed)?;
        Ok::<String, Failure>(format!("{cut:.1}"))
    });
    Ok(format!(
        "Sessions carried by the stack begin together. If two sessions of audio began half a period \
         apart, the cut would be {} % against the named static strategies, {} % against the cheapest.",
        named?, cheapest?,
    ))
}

/// Frames of 4:2:2.
fn sampled() -> Result<String, Failure> {
    let found = gateway::unlimited(Reading { frame: FRAME_422, ..READING })?;
    Ok(format!(
        "S1 section 5.2 gives the resolution of a frame of video, not how its colours are sampled. \
         If frames were 4:2:2 ({FRAME_422} bytes; {} of 4:2:0 in the rows), three sessions of each \
         would take {:.1} KiB of internal memory and {:.1} % of the ARM, by the model.",
        READING.frame, found["memory_kib"], found["arm_percent"],
    ))
}

/// Frames cut into parts.
fn parts(kib: u32) -> Result<String, Failure> {
    let gateway = Gateway::new(READING, kib << 10)?;
    let one = percent(gateway.plan(&gateway.sessions(0, 1)?, false)?.load());
    let told = |order| {
        let cut = gateway_parts::best(&gateway, order)?;
        Ok::<String, Failure>(cut.map_or_else(|| "nothing that fits".to_owned(), said))
    };
    let all = |cutting| gateway_parts::load(&gateway, SESSIONS, SESSIONS, cutting);
    Ok(format!(
        "If the gateway with {kib} KiB could cut frames of video into parts that fit (S1 sections 4 \
         and 5.1), a session of video would take {} in turn, {} pipelined, and {one:.1} % of the ARM \
         with whole frames. Three sessions of each would take {:.1} % where the tuner chooses among \
         these, and take {:.1} % with whole frames, by the model.",
        told(Order::InTurn)?,
        told(Order::Pipelined)?,
        all(true)?,
        all(false)?,
    ))
}

fn said(cut: Cut) -> String {
    let load = percent(cut.estimate.load.into());
    format!("{load:.1} % in {} parts of {} bytes", cut.parts, cut.bytes)
}
