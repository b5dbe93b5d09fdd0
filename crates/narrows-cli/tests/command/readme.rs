//! What the pages say that the program knows better.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;
use narrows_cli::base::failure::Kind;
use narrows_cli::flags::Flags;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn exit_codes_are_those_of_the_program() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    for kind in Kind::ALL {
        let row = format!("| {} | {} |", kind.code(), kind.meaning());
        assert!(readme.contains(&row), "README.md lacks the row '{row}'");
    }
}

/// Every page that a reader may open.
fn pages() -> Vec<PathBuf> {
    let singles = ["README.md", "CONTRIBUTING.md", "workloads/README.md", "sweeps/README.md"];
    let mut pages: Vec<PathBuf> = singles.iter().map(|page| root().join(page)).collect();
    for folder in ["docs", "docs/measured"] {
        let entries = fs::read_dir(root().join(folder)).expect("a folder of pages");
        let paths = entries.map(|entry| entry.expect("a page").path());
        pages.extend(paths.filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    assert!(pages.len() > 20, "{} pages", pages.len());
    pages
}

#[test]
fn links_lead_to_files_that_exist() {
    for path in pages() {
        let text = fs::read_to_string(&path).expect("a page");
        // In a block of code it is no link, but a function without a name in C++.
        let text: String = text.split("```").step_by(2).collect();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            if !file.is_empty() && !file.contains("://") {
                let there = path.parent().is_some_and(|folder| folder.join(file).exists());
                assert!(there, "{} links to {target}, which does not exist", path.display());
            }
        }
    }
}

/// The command lines of a page's shell blocks that begin with `narrows`, without comments.
fn commands(page: &str) -> Vec<String> {
    let blocks = page.split("```").skip(1).step_by(2);
    let shell = blocks.filter(|block| block.starts_with("sh\n") || block.starts_with("console\n"));
    let joined = shell.map(|block| block.replace("\\\n", " ")).collect::<Vec<_>>();
    let lines = joined.iter().flat_map(|block| block.lines());
    let lines = lines.map(|line| line.trim_start_matches("$ ").trim());
    let ours = lines.filter(|line| line.starts_with("narrows "));
    ours.map(|line| line.split(&['#', '|', '>', '&', ';'][..]).next().unwrap_or(line).to_string())
        .collect()
}

#[test]
fn commands_that_pages_show_are_accepted() {
    let mut seen = 0;
    for path in pages() {
        for line in commands(&fs::read_to_string(&path).expect("a page")) {
            seen += 1;
            if let Err(error) = Flags::try_parse_from(line.split_whitespace()) {
                assert!(!error.use_stderr(), "{}: {line}: {error}", path.display());
            }
        }
    }
    assert!(seen > 30, "only {seen} commands were found");
}

/// The commands on simulated chips of which a page has the output, each with that: the command is
/// in its first line, or in a block of its own before it.
fn shown_on_chips(page: &str) -> Vec<(String, String)> {
    let parts: Vec<&str> = page.split("```").collect();
    let mut shown = Vec::new();
    for (at, block) in parts.iter().enumerate().skip(1).step_by(2) {
        let Some(text) = block.strip_prefix("text\n") else { continue };
        let (first, rest) = text.split_once('\n').expect("a line");
        let before = || {
            let (gap, block) = (parts[at - 1], at.checked_sub(2).map(|at| parts[at])?);
            let line = block.strip_prefix("sh\ncargo run --release -- ")?;
            gap.trim().is_empty().then_some((line.trim(), text))
        };
        let found = first.strip_prefix("$ narrows ").map(|line| (line, rest)).or_else(before);
        let chips = found.filter(|(line, _)| line.contains("--on ") && !line.contains("--on host"));
        shown.extend(chips.map(|(line, output)| (line.to_owned(), output.to_owned())));
    }
    shown
}

/// A chip's time is virtual, so what these two pages show of it is what the command prints, but for
/// what an ellipsis stands for.
#[test]
fn outputs_on_chips_are_what_the_command_prints() {
    for (page, least) in [("README.md", 1), ("docs/TUTORIAL.md", 2)] {
        let text = fs::read_to_string(root().join(page)).expect("a page");
        let shown = shown_on_chips(&text);
        assert!(shown.len() >= least, "{page} has {} outputs", shown.len());
        for (line, shown) in shown {
            let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
            let output = command.args(line.split_whitespace()).current_dir(root()).output();
            let printed = String::from_utf8(output.expect("narrows").stdout).expect("text");
            let mut printed = printed.as_str();
            for part in shown.split("…\n") {
                let from = printed.find(part).unwrap_or_else(|| {
                    panic!("{page}: narrows {line} does not print\n{part}but\n{printed}")
                });
                printed = &printed[from + part.len()..];
            }
        }
    }
}
