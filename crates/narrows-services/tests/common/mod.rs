//! Processes of a test: its own program, that plays a part.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use narrows_services::{Node, Options};

/// What a process is to do, and in which directory.
const PART: &str = "NARROWS_PART";
const PLACE: &str = "NARROWS_PLACE";

pub fn open(directory: &Path, name: &str) -> Node {
    Node::with(Options::new(name).directory(directory)).unwrap()
}

/// A process that plays a part in the test `plays_its_part`. It ends with this.
pub struct Other(pub Child);

impl Other {
    pub fn start(part: &str, directory: &Path) -> Other {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "plays_its_part", "--nocapture"]);
        command.env(PART, part).env(PLACE, directory).env("RUST_BACKTRACE", "0");
        Other(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The part of such a process, and its node, which has the part's name; none in a test.
pub fn part() -> Option<(String, Node)> {
    let (part, place) = (std::env::var(PART).ok()?, std::env::var_os(PLACE)?);
    let node = open(&PathBuf::from(place), &part);
    Some((part, node))
}
