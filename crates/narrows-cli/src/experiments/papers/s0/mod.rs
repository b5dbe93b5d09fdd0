//! S0 and S1: TI DaVinci. The chip is `platforms/davinci.toml`; here is what was run on it. The
//! gateway is there twice: by the model alone, and carried by the stack.

mod both;
mod copies;
mod frames;
mod gateway;
mod gateway_notes;
mod gateway_parts;
mod gateway_run;
mod notification;
mod phases;
mod phone;
mod readings;

use super::row::Found;
use crate::base::failure::Failure;
use crate::formats::platform;
use gateway::Static;
use narrows_sim::chip::Chip;

/// Runs an experiment.
pub type Run = fn(&Chip) -> Result<Found, Failure>;

/// The experiments, by their names.
pub const EXPERIMENTS: [(&str, Run); 16] = [
    ("S0.timer", phases::timer),
    ("S0.phases.128", |chip| phases::phases(chip, 128)),
    ("S0.phases.32768", |chip| phases::phases(chip, 32768)),
    ("S0.phases.between", phases::between),
    ("S0.instrument-overhead", phases::overhead),
    ("S0.aggregation", phases::aggregation),
    ("S0.internal-copy.8192", copies::internal),
    ("S1.notification", notification::notification),
    ("S0.notification.sizes", notification::sizes),
    (both::NAME, both::both),
    (phone::WORKLOAD, phone::workload),
    (phone::POLLING, phone::polling),
    ("S1.gateway.1K", |_| gateway::small(gateway::READING, Static::Named)),
    ("S1.gateway.1K.carried", |chip| gateway_run::small(chip, Static::Named)),
    ("S1.gateway.unlimited", |_| gateway::unlimited(gateway::READING)),
    ("S1.gateway.unlimited.carried", gateway_run::unlimited),
];

/// The experiment that what else the gateway gives is told beside.
pub const GATEWAY_BESIDE: &str = "S1.gateway.unlimited.carried";
pub use gateway_notes::notes as gateway_notes;
/// The experiment that other readings are told beside.
pub use phone::POLLING as READINGS_BESIDE;
pub use readings::notes;

/// The chip.
///
/// # Errors
/// As [`platform::load`].
pub fn chip() -> Result<Chip, Failure> {
    platform::load("davinci")
}
