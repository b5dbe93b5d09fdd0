//! What papers published: `published.toml`, read.

use crate::base::failure::{Failure, Kind};
use narrows_sim::file::Text;
use serde::{Deserialize, Serialize};
use std::path::Path;

const TEXT: &str = include_str!("published.toml");

/// What a figure may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Something may be set from it.
    Input,
    /// It has to come out by itself.
    Check,
}

impl Role {
    /// How far ours may be from it, in percent.
    pub fn allowed_percent(self) -> f64 {
        match self {
            Role::Input => 1.0,
            Role::Check => 15.0,
        }
    }

    /// Its name in the data, in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Role::Input => "input",
            Role::Check => "check",
        }
    }
}

/// An experiment of a source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its name, which begins with the source's.
    pub id: String,
    /// Where in the source.
    pub at: String,
    /// What was done.
    pub what: String,
    /// What came of it.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Figures whose order counts.
    #[serde(default)]
    pub orders: Vec<Order>,
    /// Why some are not as they should be.
    #[serde(default)]
    pub explained: Vec<Explanation>,
}

impl Experiment {
    /// The source's name.
    pub fn source(&self) -> &str {
        self.id.split('.').next().unwrap_or_default()
    }

    /// Why the figure of a key is not as it should be, if somebody has said.
    pub fn why(&self, key: &str) -> Option<&str> {
        let one = self.explained.iter().find(|one| one.of.iter().any(|of| of == key));
        one.map(|one| one.why.as_str())
    }
}

/// A figure as it was published.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its name in the experiment.
    pub key: String,
    /// What it is.
    pub what: String,
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// What it may be used for.
    pub role: Role,
    /// Whether a constant of the platform file was solved from it: then it holds by construction.
    #[serde(default)]
    pub solved: bool,
    /// Whether it is a limit that ours must not be above.
    #[serde(default)]
    pub bound: bool,
}

/// Figures whose order counts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// Its name in the experiment.
    pub key: String,
    /// What is in order.
    pub what: String,
    /// The keys of the figures; where the source has words and no figures, what it compares, the
    /// largest first.
    pub of: Vec<String>,
    /// Whether the source has words and no figures.
    #[serde(default)]
    pub in_words: bool,
}

/// Why some figures miss or some orders are lost.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    /// Keys of figures, and of orders behind `order.`.
    pub of: Vec<String>,
    /// What the source does not say, in a sentence.
    pub why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    experiment: Vec<Experiment>,
}

/// All experiments.
///
/// # Errors
/// [`Kind::Internal`] if the data are not as they have to be.
pub fn published() -> Result<Vec<Experiment>, Failure> {
    read(TEXT)
}

/// Experiments of a text in the form of `published.toml`.
pub(super) fn read(text: &str) -> Result<Vec<Experiment>, Failure> {
    let file = Text { path: Path::new("published.toml"), text };
    let read = file.into().map(|Published { experiment }| experiment);
    read.map_err(|mistake| Failure::new(Kind::Internal, mistake.to_string()))
}
