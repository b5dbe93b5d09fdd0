//! A trace of two processes that call each other: when each waited, for what, and which phase of
//! each call took how long. `narrows view` opens it, and so does <https://ui.perfetto.dev>.
//!
//! ```text
//!   process gpp                            process dsp
//!
//!     call ── 1 … 100 ──► square
//!          └──► calls.pftrace ◄──┘
//! ```
//!
//! Expected output:
//!
//! ```text
//! calls.pftrace has … KiB
//! ```

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use narrows_services::{Node, Options};

const SOON: Option<Duration> = Some(Duration::from_secs(5));
const FILE: &str = "calls.pftrace";

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(directory) = std::env::args().nth(1) {
        return dsp(directory.as_ref());
    }
    let directory = tempfile::tempdir()?;
    let mut other = Command::new(std::env::current_exe()?).arg(directory.path()).spawn()?;
    gpp(directory.path())?;
    other.wait()?;
    Ok(())
}

fn gpp(directory: &Path) -> Result<(), Box<dyn Error>> {
    let file = directory.join(FILE);
    let node = Node::with(Options::new("gpp").directory(directory).trace(&file))?;
    let square = node.client::<u32, u64>("square")?;
    for number in 1..=100 {
        square.call(&number)?;
    }
    drop((square, node));
    println!("{FILE} has {} KiB", std::fs::metadata(file)?.len() >> 10);
    Ok(())
}

fn dsp(directory: &Path) -> Result<(), Box<dyn Error>> {
    let options = Options::new("dsp").directory(directory).trace(directory.join(FILE));
    let node = Node::with(options)?;
    node.serve::<u32, u64>("square", |number| u64::from(*number).pow(2))?;
    let mut count = 0;
    while count < 100 {
        count += node.run_once(SOON)?;
    }
    Ok(())
}
