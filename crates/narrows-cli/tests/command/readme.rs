//! What the pages say that the program knows better.

use std::fs;
use std::path::{Path, PathBuf};

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
