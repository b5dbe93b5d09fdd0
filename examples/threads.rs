//! One node, used by several threads: a lock is in front of it.
//!
//! ```text
//!   process gpp                            process dsp
//!
//!     thread 0 ─┐
//!     thread 1 ─┼─ lock ── 100 calls each ──► square
//!     thread 2 ─┘
//! ```
//!
//! Expected output:
//!
//! ```text
//! 3 threads made 300 calls
//! ```

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use narrows_services::{Node, Options};

const SOON: Option<Duration> = Some(Duration::from_secs(5));

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
    let node = Node::with(Options::new("gpp").directory(directory))?.share()?;
    let square = node.client::<u64, u64>("square")?;
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let square = square.clone();
            scope.spawn(move || {
                for number in 100 * thread..100 * (thread + 1) {
                    assert_eq!(square.call(&number), Ok(number * number));
                }
            });
        }
    });
    println!("3 threads made 300 calls");
    Ok(())
}

fn dsp(directory: &Path) -> Result<(), Box<dyn Error>> {
    let node = Node::with(Options::new("dsp").directory(directory))?;
    node.serve::<u64, u64>("square", |number| number * number)?;
    let mut count = 0;
    while count < 300 {
        count += node.run_once(SOON)?;
    }
    Ok(())
}
