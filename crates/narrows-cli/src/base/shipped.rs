//! The files that come with the program: examples run from any folder, and after an installation.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

/// Where they are in the sources, and what is in each.
const FILES: [(&str, &[u8]); 14] = [
    ("workloads/voice.toml", include_bytes!("../../shipped/workloads/voice.toml")),
    ("workloads/gateway.toml", include_bytes!("../../shipped/workloads/gateway.toml")),
    ("workloads/mixed.toml", include_bytes!("../../shipped/workloads/mixed.toml")),
    ("workloads/susan.toml", include_bytes!("../../shipped/workloads/susan.toml")),
    ("workloads/speech.wav", include_bytes!("../../shipped/workloads/speech.wav")),
    (
        "workloads/accelerators/spectra.toml",
        include_bytes!("../../shipped/workloads/accelerators/spectra.toml"),
    ),
    ("workloads/tasks/sensor.toml", include_bytes!("../../shipped/workloads/tasks/sensor.toml")),
    ("sweeps/chips.toml", include_bytes!("../../shipped/sweeps/chips.toml")),
    ("sweeps/clusters.toml", include_bytes!("../../shipped/sweeps/clusters.toml")),
    ("sweeps/clusters-links.toml", include_bytes!("../../shipped/sweeps/clusters-links.toml")),
    (
        "sweeps/clusters-partitioning.toml",
        include_bytes!("../../shipped/sweeps/clusters-partitioning.toml"),
    ),
    (
        "sweeps/clusters-threshold.toml",
        include_bytes!("../../shipped/sweeps/clusters-threshold.toml"),
    ),
    ("sweeps/memory.toml", include_bytes!("../../shipped/sweeps/memory.toml")),
    ("sweeps/voice.toml", include_bytes!("../../shipped/sweeps/voice.toml")),
];

/// The names of the workloads or sweeps that come with the program.
pub fn names(folder: &str) -> impl Iterator<Item = &'static str> {
    let stem = move |path: &'static str| {
        path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".toml")
    };
    let stem = move |path| stem(path).filter(|stem| !stem.contains('/'));
    FILES.iter().filter_map(move |(path, _)| stem(path))
}

/// Opens a file, or the one of this path that comes with the program if there is none on disk.
///
/// # Errors
/// What the system says of the file on disk.
pub fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    match File::open(path) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => match find(path) {
            Some(bytes) => Ok(Box::new(bytes)),
            None => Err(error),
        },
        Err(error) => Err(error),
    }
}

/// What a path of these files holds.
fn find(path: &Path) -> Option<&'static [u8]> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop().then_some(())?),
            other => plain.push(other),
        }
    }
    FILES.iter().find(|(known, _)| Path::new(known) == plain).map(|(_, bytes)| *bytes)
}

/// For the command line, where a workload or sweep of the `folder` is read from: the path that was
/// said, or the one of the file of this name that comes with the program.
pub fn path(
    folder: &'static str,
) -> impl Fn(&str) -> Result<PathBuf, Infallible> + Clone + Send + Sync + 'static {
    move |said| {
        Ok(match names(folder).find(|name| *name == said) {
            Some(name) if !Path::new(said).exists() => {
                Path::new(folder).join(format!("{name}.toml"))
            }
            _ => said.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_with_the_program_is_found_by_its_path_and_by_its_name() {
        let read = |path: &str| find(Path::new(path)).map(<[u8]>::len);
        let voice = FILES[0].1.len();
        assert_eq!(read("workloads/voice.toml"), Some(voice));
        assert_eq!(read("./sweeps/../workloads/voice.toml"), Some(voice));
        for other in ["voice.toml", "../workloads/voice.toml", "/workloads/voice.toml", "voice"] {
            assert_eq!(read(other), None, "{other}");
        }
        let path = |folder, said| path(folder)(said).expect("a path");
        assert_eq!(path("workloads", "voice"), Path::new("workloads/voice.toml"));
        assert_eq!(path("sweeps", "voice"), Path::new("sweeps/voice.toml"));
        assert_eq!(path("workloads", "mine.toml"), Path::new("mine.toml"));
        let sweeps: Vec<&str> = names("sweeps").collect();
        assert_eq!(
            sweeps,
            [
                "chips",
                "clusters",
                "clusters-links",
                "clusters-partitioning",
                "clusters-threshold",
                "memory",
                "voice"
            ]
        );
        assert_eq!(names("workloads").count(), 4);
    }

    /// What is listed here is all that there is.
    #[test]
    fn every_file_that_is_shipped_is_found() {
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("shipped");
        let mut count = 0;
        for folder in ["workloads", "workloads/accelerators", "workloads/tasks", "sweeps"] {
            for file in std::fs::read_dir(shipped.join(folder)).expect("a folder") {
                let file = file.expect("a file");
                if file.path().is_dir() {
                    continue;
                }
                let path = Path::new(folder).join(file.file_name());
                assert!(find(&path).is_some(), "{}", path.display());
                count += 1;
            }
        }
        assert_eq!(count, FILES.len());
    }
}
