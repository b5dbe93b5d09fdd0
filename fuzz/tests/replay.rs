//! Every file of the corpus through its target, with any compiler.

use std::fs;
use std::path::Path;

use narrows_fuzz::TARGETS;

#[test]
fn every_target_survives_its_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (name, run) in TARGETS {
        let folder = corpus.join(name);
        let entries = fs::read_dir(&folder).unwrap_or_else(|_| panic!("no corpus of {name}"));
        let mut files: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
        files.sort();
        assert!(files.len() >= 5, "the corpus of {name} has {} files", files.len());
        for file in files {
            println!("{}", file.display());
            run(&fs::read(&file).expect("a file of the corpus"));
        }
    }
}

#[test]
fn every_target_has_a_corpus_and_every_corpus_a_target() {
    let folder = |path: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let entries = fs::read_dir(path).expect("a folder of this package");
        let names = entries.map(|entry| entry.expect("readable").path());
        let mut names: Vec<String> =
            names.map(|path| path.file_stem().expect("a name").to_string_lossy().into()).collect();
        names.sort();
        names
    };
    let targets = TARGETS.map(|(name, _)| name.to_string());
    assert_eq!(folder("corpus"), targets);
    assert_eq!(folder("fuzz_targets"), targets);
}
