//! Descriptions of chips for the simulator: `narrows platform`.
//!
//! What a platform file says is in `docs/PLATFORMS.md`; reading it is the simulator's. Here is
//! where it comes from, and how it is shown: [`drawing`] has the words, [`text`] and [`svg`] the
//! lines.

mod clusters;
pub mod drawing;
pub mod flags;
pub mod json;
pub mod svg;
#[cfg(test)]
mod tests;
pub mod text;

use crate::base::failure::{Failure, Kind};
use crate::base::machine::{Machine, Root};
use crate::base::options::Global;
use crate::base::report::Report;
use crate::base::table::{Align, Table};
use crate::base::{input, output};
use flags::Platform;
use narrows_sim::chip::{Chip, SHIPPED};
use std::path::{Path, PathBuf};

/// `narrows platform`.
///
/// # Errors
/// [`Kind::Workload`] for a platform that cannot be read or is not possible, [`Kind::Output`] for a
/// result that cannot be written.
pub fn run(global: &Global, args: &Platform) -> Result<(), Failure> {
    match args {
        Platform::List => {
            let chips = SHIPPED.map(|(name, _)| load_any(name));
            let chips: Vec<Chip> = chips.into_iter().collect::<Result<_, _>>()?;
            print(global, "platform list", &chips, &list(&chips))
        }
        Platform::Check(args) => {
            let chip = read(&args.file)?.parse()?;
            let words = text::summary(&chip);
            print(global, "platform check", &[chip], &words)
        }
        Platform::Show(args) => {
            let chip = load_any(&args.platform)?;
            let drawing = drawing::of(&chip);
            if let Some(path) = &args.svg {
                output::write_file(path, svg::draw(&drawing).as_bytes())?;
            }
            let words = text::draw(&drawing);
            print(global, "platform show", &[chip], &words)
        }
    }
}

/// A platform as it is written: what its file's path is, or would be, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The path of its file, or the name of a shipped platform.
    pub path: PathBuf,
    /// The text.
    pub text: String,
}

impl Written {
    /// The name of the chip: that of the file without its ending.
    pub fn name(&self) -> String {
        self.path.file_stem().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }

    /// The chip that it describes.
    ///
    /// # Errors
    /// [`Kind::Workload`] with file, line and column of the first mistake.
    pub fn parse(&self) -> Result<Chip, Failure> {
        Chip::parse(&self.path, &self.text).map_err(input::wrong)
    }
}

/// The chip that a name of a shipped platform or the path of a file stands for, with links between
/// its cores.
///
/// # Errors
/// [`Kind::Workload`] with file, line and column of the first mistake, or for a chip whose cores
/// have no memory in common.
pub fn load(name_or_file: &str) -> Result<Chip, Failure> {
    linked(load_any(name_or_file)?)
}

/// As [`load`], whether there are links between its cores or not.
///
/// # Errors
/// [`Kind::Workload`] with file, line and column of the first mistake.
pub fn load_any(name_or_file: &str) -> Result<Chip, Failure> {
    find(name_or_file, Path::new(""))?.parse()
}

/// The chip, if there are links between its cores.
///
/// # Errors
/// [`Kind::Workload`] if there are none.
pub fn linked(chip: Chip) -> Result<Chip, Failure> {
    if chip.is_linked() {
        return Ok(chip);
    }
    let text = if chip.clusters.is_some() {
        format!(
            "{} has clusters on a network and no links of the stack: run narrows bench throughput \
             on it, or narrows platform show",
            chip.name
        )
    } else {
        format!(
            "the cores of {} share no memory: run narrows bench sra on it, or narrows advise of \
             tasks",
            chip.name
        )
    };
    Err(Failure::new(Kind::Workload, text))
}

/// The text of the platform that is shipped under a name, or of a file. Paths are relative to
/// `directory`.
///
/// # Errors
/// [`Kind::Workload`] if there is none of that name, or it cannot be read.
pub fn find(name_or_file: &str, directory: &Path) -> Result<Written, Failure> {
    if let Some((name, text)) = SHIPPED.iter().find(|(name, _)| *name == name_or_file) {
        return Ok(Written { path: name.into(), text: (*text).to_owned() });
    }
    let path = directory.join(name_or_file);
    if path.extension().is_none() && !name_or_file.contains('/') && !path.exists() {
        let names: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
        let sentence = format!(
            "there is no platform {name_or_file}: name one of {}, or the path of a platform file",
            names.join(", ")
        );
        return Err(Failure::new(Kind::Workload, sentence));
    }
    read(&path)
}

/// The text of a platform file.
///
/// # Errors
/// [`Kind::Workload`] if it cannot be read.
pub(crate) fn read(path: &Path) -> Result<Written, Failure> {
    const EXAMPLE: &str = "a platform file, such as platforms/generic-amp.toml";
    Ok(Written { path: path.to_owned(), text: input::text(path, "the platform", EXAMPLE)? })
}

fn print(global: &Global, command: &str, chips: &[Chip], words: &str) -> Result<(), Failure> {
    if !global.json {
        return output::print(words.as_bytes());
    }
    let machine = Machine::look(&Root::default());
    Report::new(command, machine, chips.iter().map(json::row).collect()).print()
}

fn list(chips: &[Chip]) -> String {
    let mut table = Table::new(&[("platform", Align::Left), ("cores", Align::Right)]);
    for chip in chips {
        table.row(vec![chip.name.clone(), chip.cores.len().to_string()]);
    }
    let mut lines = String::new();
    for (line, about) in table
        .render()
        .lines()
        .zip(["about"].into_iter().chain(chips.iter().map(|chip| chip.about.as_str())))
    {
        lines.push_str(&crate::base::table::wrap(&format!("{line}  "), about));
    }
    lines
}
