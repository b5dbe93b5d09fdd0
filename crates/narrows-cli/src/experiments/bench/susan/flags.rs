//! What `bench susan` can be asked for.

use std::path::PathBuf;

use clap::Args;

use crate::base::number::number;
use crate::base::options::Place;
use crate::rig::susan::Find;
use crate::rig::susan::mask::THRESHOLD;

/// The most CPUs that can be asked for.
pub(super) const MOST: u16 = 256;

/// Numbers of CPUs: one, or all from one to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpus {
    /// The least.
    pub from: u16,
    /// The most.
    pub to: u16,
}

/// What `bench susan` takes.
#[derive(Clone, Debug, Args)]
pub struct Susan {
    /// Numbers of CPUs that the image is cut among, such as 1,2,4 or 1..8
    #[arg(long, value_delimiter = ',', value_name = "N,…|A..B", value_parser = cpus)]
    pub cpus: Vec<Cpus>,
    /// What to find; all if nothing is named
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", value_enum)]
    pub find: Vec<Find>,
    /// Difference in brightness from which on pixels are not alike
    #[arg(long, value_name = "N", default_value_t = THRESHOLD, value_parser = number::<u8>(1..=255))]
    pub threshold: u8,
    /// A grey PGM or PNG file; if none is named, shapes under noise, 128 by 128 pixels
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Write what was found, as PNG or PGM: of several results, the image and each beside it
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Where to run; this machine if nothing is named.
    #[command(flatten)]
    pub place: Place,
}

fn cpus(text: &str) -> Result<Cpus, String> {
    let one = number::<u16>(1..=MOST.into());
    let (from, to) = match text.split_once("..") {
        Some((from, to)) => (one(from)?, one(to)?),
        None => (one(text)?, one(text)?),
    };
    if from > to {
        return Err(format!("expected the smaller number first, as in {to}..{from}"));
    }
    Ok(Cpus { from, to })
}

impl Default for Susan {
    fn default() -> Susan {
        let (cpus, find, place) = (Vec::new(), Vec::new(), Place::default());
        Susan { cpus, find, threshold: THRESHOLD, image: None, out: None, place }
    }
}

impl Susan {
    /// All numbers of CPUs that were named, in order, or the usual ones.
    pub fn counts(&self, usual: Vec<u16>) -> Vec<u16> {
        let mut named: Vec<u16> = self.cpus.iter().flat_map(|one| one.from..=one.to).collect();
        named.sort_unstable();
        named.dedup();
        if named.is_empty() { usual } else { named }
    }

    /// What is to be found, each once.
    pub fn finds(&self) -> Vec<Find> {
        let named = |find: &Find| self.find.is_empty() || self.find.contains(find);
        Find::ALL.into_iter().filter(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_cpus_are_lists_and_ranges() {
        assert_eq!(cpus("3"), Ok(Cpus { from: 3, to: 3 }));
        assert_eq!(cpus("1..8"), Ok(Cpus { from: 1, to: 8 }));
        for text in ["", "0", "8..1", "1..", "..2", "x", "257", "1-2"] {
            assert!(cpus(text).is_err(), "{text}");
        }
    }
}
