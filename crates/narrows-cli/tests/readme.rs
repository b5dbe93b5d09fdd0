//! What the README says that the program knows better.

use std::fs;
use std::path::Path;

use narrows_cli::base::failure::Kind;

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

#[test]
fn links_lead_to_files_that_exist() {
    let docs = ["docs/DESIGN.md", "docs/CAVEATS.md", "docs/PLATFORMS.md", "docs/RELIABILITY.md"];
    for page in ["README.md", "workloads/README.md", "sweeps/README.md"].into_iter().chain(docs) {
        let path = root().join(page);
        let text = fs::read_to_string(&path).expect("a page");
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            if !file.is_empty() && !file.contains("://") {
                let there = path.parent().is_some_and(|folder| folder.join(file).exists());
                assert!(there, "{page} links to {target}, which does not exist");
            }
        }
    }
}
