//! Workload files of an image, for `narrows run`: what `bench susan` takes as flags.

use std::path::Path;

use narrows_sim::file::{Mistake, Table, Text, Value, listed};

use super::flags::{Cpus, MOST, Susan};
use crate::base::failure::{Failure, Kind};
use crate::base::input;
use crate::base::options::Global;
use crate::base::output;
use crate::base::page::PageOut;
use crate::experiments::bench::flags::Common;
use crate::experiments::bench::task::Asked;
use crate::experiments::run::flags::Run;
use crate::rig::susan::Find;

const TOP: [&str; 2] = ["name", "susan"];
const KEYS: [&str; 4] = ["cpus", "find", "threshold", "image"];

/// An image, and how it is cut.
#[derive(Clone, Debug)]
pub struct File {
    name: String,
    susan: Susan,
}

/// The image of a file's text; none if the file has no `[susan]` and is a workload of flows. `path`
/// names it in messages.
///
/// # Errors
/// The first mistake with its place.
pub fn parse(path: &Path, text: &str) -> Result<Option<File>, Failure> {
    // What is no TOML is a mistake of a workload of flows, which says so.
    let Ok(document) = (Text { path, text }).parse() else { return Ok(None) };
    if document.any().find("susan").is_none() {
        return Ok(None);
    }
    let top = document.top(&TOP).map_err(input::wrong)?;
    file(path, &top).map(Some).map_err(input::wrong)
}

fn file(path: &Path, top: &Table<'_>) -> Result<File, Mistake> {
    let name = input::name(path, top)?;
    let table = top.get("susan", "a table")?.table(&KEYS)?;
    let mut susan = Susan::default();
    if let Some(value) = table.find("cpus") {
        for one in value.each("numbers of CPUs")? {
            let count = one.number(1..=MOST)?;
            susan.cpus.push(Cpus { from: count, to: count });
        }
    }
    if let Some(value) = table.find("find") {
        let all = Find::ALL.map(Find::name);
        for one in value.each(&listed(all))? {
            susan.find.push(find(&one)?);
        }
    }
    if let Some(value) = table.find("threshold") {
        susan.threshold = value.number(1..=255)?;
    }
    if let Some(value) = table.find("image") {
        let named = value.string("the name of a grey PGM or PNG file")?;
        susan.image = Some(path.parent().unwrap_or(Path::new("")).join(named));
    }
    Ok(File { name, susan })
}

fn find(value: &Value<'_>) -> Result<Find, Mistake> {
    let named = |find: &Find| value.as_str() == Some(find.name());
    let found = Find::ALL.into_iter().find(named);
    found.ok_or_else(|| value.wrong(&listed(Find::ALL.map(Find::name))))
}

/// Cuts the image among CPUs, measures and prints. With `--out`, what was found is written there.
///
/// # Errors
/// What is asked for says nothing to an image, or as of `bench susan`.
pub fn run(global: &Global, args: &Run, file: File) -> Result<(), Failure> {
    let nothing = [
        ("--strategy", !args.strategy.is_empty()),
        ("--memory", args.memory.is_some()),
        ("--costs", args.costs.is_some()),
        ("--details", args.details),
        ("--live", args.live),
        ("--duration", args.duration.is_some()),
        ("--hdr", args.hdr.is_some()),
    ];
    if let Some((flag, _)) = nothing.into_iter().find(|(_, given)| *given) {
        let text = format!(
            "{flag} is for flows, and {} is an image that is cut among CPUs: leave it out",
            args.workload.display()
        );
        return Err(Failure::new(Kind::Usage, text));
    }
    let mut susan = Susan { place: args.place.clone(), ..file.susan };
    if let Some(directory) = &args.out {
        output::make_directory(directory)?;
        susan.out = Some(directory.join(format!("{}.png", file.name)));
    }
    let common = Common { place: args.place.clone(), ..Common::default() };
    let page = PageOut::new(&args.page)?;
    super::measure(
        &Asked { global, args: &common, chip: None, page, details: false },
        &susan,
        "run",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Option<File>, String> {
        parse(Path::new("images/one.toml"), text).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_file_says_what_to_find_in_which_image_and_among_how_many_cpus() {
        let text = "[susan]\ncpus = [1, 4]\nfind = \"edges\"\nthreshold = 9\nimage = \"a.pgm\"\n";
        let file = parsed(text).expect("it is right").expect("an image");
        assert_eq!(file.name, "one");
        assert_eq!(file.susan.counts(vec![7]), [1, 4]);
        assert_eq!(file.susan.finds(), [Find::Edges]);
        assert_eq!(file.susan.threshold, 9);
        assert_eq!(file.susan.image.as_deref(), Some(Path::new("images/a.pgm")));
    }

    #[test]
    fn a_file_of_flows_is_none() {
        for text in ["[[flow]]\nname = \"a\"\n", "", "susan\n"] {
            assert!(parsed(text).is_ok_and(|file| file.is_none()), "{text}");
        }
    }

    #[test]
    fn mistakes_have_their_place() {
        for (text, said) in [
            ("[susan]\ncpus = 0\n", "images/one.toml:2:8: "),
            ("[susan]\ncpus = []\n", "images/one.toml:2:8: "),
            ("[susan]\ncpus = [1, 257]\n", "images/one.toml:2:12: "),
            ("[susan]\nfind = [\"edge\"]\n", "smoothing, edges or corners"),
            ("[susan]\nthreshold = 0\n", "a whole number from 1 to 255"),
            ("[susan]\nimage = 1\n", "the name of a grey PGM or PNG file"),
            ("[susan]\nsize = 1\n", "images/one.toml:2:1: "),
            ("duration = \"1s\"\n[susan]\n", "images/one.toml:1:1: "),
            ("susan = 1\n", "images/one.toml:1:9: "),
        ] {
            let failure = parsed(text).expect_err(text);
            assert!(failure.contains(said), "{text}: {failure}");
        }
    }
}
