//! Bridges between the two directories of a program in C.

use std::path::Path;

use narrows_host::bridge::{Bridge, Options};

/// Has the nodes of each directory reach those of the other. Until it is dropped.
pub fn run(directory: &Path) -> [Bridge; 4] {
    let [here, there] = ["here", "there"].map(|place| directory.join(place));
    let bridge = |place| Options::new().domain("mcapi").directory(place);
    let start = |options: Options| options.start(|_| ()).expect("it starts");
    let any = "127.0.0.1:0".parse().expect("an address");
    let [one, other] = [(&here, "d3.n1"), (&there, "d3.n2")]
        .map(|(place, name)| start(bridge(place).listen(any).offer(name)));
    let at = |bridge: &Bridge| bridge.address().expect("it listens");
    let (to_other, to_one) = (at(&other), at(&one));
    // Either node may be the first to look for the other.
    let reaches = start(bridge(&here).reach("d3.n2", to_other));
    let back = start(bridge(&there).reach("d3.n1", to_one));
    [one, other, reaches, back]
}
