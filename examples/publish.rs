//! A message for many: each number is written once, and five processes read it where it is.
//!
//! ```text
//!   process source                       processes 0 to 4
//!
//!     send ── 1, 2, 3 … 100 ──► slot ──┬──► queue ──► their sum
//!                                      ├──► queue ──► their sum
//!                                      └──► …
//! ```
//!
//! Expected output:
//!
//! ```text
//! the sum is 5050
//! the sum is 5050
//! the sum is 5050
//! the sum is 5050
//! the sum is 5050
//! ```

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use narrows_services::{Node, Options, Overflow};

const SOON: Option<Duration> = Some(Duration::from_secs(5));

fn main() -> Result<(), Box<dyn Error>> {
    match &std::env::args().skip(1).collect::<Vec<_>>()[..] {
        [name, directory] => sum(name, directory.as_ref()),
        _ => source(tempfile::tempdir()?.path()),
    }
}

fn source(directory: &Path) -> Result<(), Box<dyn Error>> {
    let node = Node::with(Options::new("source").directory(directory))?;
    let numbers = node.topic("numbers").slots(100).publisher::<u32>()?;
    let start =
        |n: u32| Command::new(std::env::current_exe()?).arg(n.to_string()).arg(directory).spawn();
    let mut others = (0..5).map(start).collect::<Result<Vec<_>, _>>()?;
    while numbers.subscribers()? < 5 {
        numbers.attend()?;
    }
    for number in 1..=100 {
        numbers.send(&number)?;
    }
    others.iter_mut().try_for_each(|other| other.wait().map(drop))?;
    Ok(())
}

fn sum(name: &str, directory: &Path) -> Result<(), Box<dyn Error>> {
    let node = Node::with(Options::new(name).directory(directory))?;
    let numbers = node.subscribe("numbers").overflow(Overflow::Wait).subscriber::<u32>()?;
    let sum: Result<u32, _> = (0..100).map(|_| numbers.receive(SOON)?.read()).sum();
    println!("the sum is {}", sum?);
    Ok(())
}
