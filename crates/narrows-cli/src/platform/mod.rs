//! Descriptions of chips for the simulator: `narrows platform`.
//!
//! What a platform file says is in `docs/PLATFORMS.md`; reading it is the simulator's. Here is where
//! it comes from, and how it is shown: [`drawing`] has the words, [`text`] and [`svg`] the lines.

pub mod drawing;
pub mod flags;
pub mod json;
pub mod svg;
#[cfg(test)]
mod tests;
pub mod text;

use crate::failure::{Failure, Kind};
use crate::flags::Global;
use crate::machine::{Machine, Root};
use crate::output::{self, without_code};
use crate::report::Report;
use crate::table::{Align, Table};
use flags::Platform;
use narrows_sim::chip::{Chip, SHIPPED};
use std::fs::File;
use std::io::Read;
use std::path::Path;

const MAX_FILE: u64 = 1 << 20;

/// `narrows platform`.
///
/// # Errors
/// [`Kind::Workload`] for a platform that cannot be read or is not possible, [`Kind::Output`] for a
/// result that cannot be written.
pub fn run(global: &Global, args: &Platform) -> Result<(), Failure> {
    match args {
        Platform::List => {
            let chips = SHIPPED.map(|(name, text)| parse(Path::new(name), name, text));
            let chips: Vec<Chip> = chips.into_iter().collect::<Result<_, _>>()?;
            print(global, "platform list", &chips, &list(&chips))
        }
        Platform::Check(args) => {
            let chip = read(&args.file)?;
            let words = text::summary(&chip);
            print(global, "platform check", &[chip], &words)
        }
        Platform::Show(args) => {
            let chip = load(&args.platform)?;
            let drawing = drawing::of(&chip);
            if let Some(path) = &args.svg {
                output::write_file(path, svg::draw(&drawing).as_bytes())?;
            }
            let words = text::draw(&drawing);
            print(global, "platform show", &[chip], &words)
        }
    }
}

/// The chip that a name of a shipped platform or the path of a file stands for.
///
/// # Errors
/// [`Kind::Workload`] with file, line and column of the first mistake.
pub fn load(name_or_file: &str) -> Result<Chip, Failure> {
    if let Some((name, text)) = SHIPPED.iter().find(|(name, _)| *name == name_or_file) {
        return parse(Path::new(name), name, text);
    }
    let path = Path::new(name_or_file);
    if path.extension().is_none() && !name_or_file.contains('/') && !path.exists() {
        let names: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
        let sentence = format!(
            "there is no platform {name_or_file}: name one of {}, or the path of a platform file",
            names.join(", ")
        );
        return Err(Failure::new(Kind::Workload, sentence));
    }
    read(path)
}

/// The chip that a file describes. Its name is that of the file without its ending.
///
/// # Errors
/// As [`load`].
pub fn read(path: &Path) -> Result<Chip, Failure> {
    let refuse = |cause: String| {
        let sentence = format!(
            "cannot read the platform {}: {cause}: name a platform file, such as \
             platforms/generic-amp.toml",
            path.display()
        );
        Failure::new(Kind::Workload, sentence)
    };
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes))
        .map_err(|error| refuse(without_code(&error)))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(refuse(format!("it is larger than {MAX_FILE} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| refuse("it is not UTF-8 text".into()))?;
    let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
    parse(path, &name, &text)
}

fn parse(path: &Path, name: &str, text: &str) -> Result<Chip, Failure> {
    Chip::parse(name, text)
        .map_err(|mistake| Failure::new(Kind::Workload, format!("{}:{mistake}", path.display())))
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
        lines.push_str(&crate::table::wrap(&format!("{line}  "), about));
    }
    lines
}
