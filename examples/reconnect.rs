//! A service whose process is killed and started again: its client goes on.
//!
//! ```text
//!   process gpp                            processes dsp, one after the other
//!
//!     call ── 1 ──► square                 killed when it has answered
//!     call ── 2 ──► square                 the next
//! ```
//!
//! Expected output:
//!
//! ```text
//! life 1: the square of 1 is 1
//! the call failed: its service is gone
//! life 2: the square of 2 is 4
//! the call failed: its service is gone
//! life 3: the square of 3 is 9
//! ```

use std::error::Error;
use std::path::Path;
use std::process::Command;

use narrows_services::{Client, Error as Failure, Node, Options};

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(directory) = std::env::args().nth(1) {
        return dsp(directory.as_ref());
    }
    gpp(tempfile::tempdir()?.path())
}

fn gpp(directory: &Path) -> Result<(), Box<dyn Error>> {
    let node = Node::with(Options::new("gpp").directory(directory))?;
    let mut square: Option<Client<u32, u64>> = None;
    for life in 1..=3 {
        let mut dsp = Command::new(std::env::current_exe()?).arg(directory).spawn()?;
        let square = match &mut square {
            Some(square) => {
                let lost = square.call(&life);
                assert!(matches!(lost, Err(Failure::Call(..))), "{lost:?}");
                println!("the call failed: its service is gone");
                square
            }
            none => none.insert(node.client("square")?),
        };
        println!("life {life}: the square of {life} is {}", square.call(&life)?);
        dsp.kill()?;
        dsp.wait()?;
    }
    Ok(())
}

fn dsp(directory: &Path) -> Result<(), Box<dyn Error>> {
    let node = Node::with(Options::new("dsp").directory(directory))?;
    node.serve::<u32, u64>("square", |number| u64::from(*number).pow(2))?;
    Ok(node.run(None)?)
}
