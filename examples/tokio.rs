//! A node in an asynchronous program: it receives what another process publishes, and calls a
//! function of it, without a thread.
//!
//! ```text
//!   process gpp, tokio                   process dsp
//!
//!     stream ◄────── 1, 2, 3 ──────────── numbers
//!     call ───────────────────────────────► square
//! ```
//!
//! Expected output:
//!
//! ```text
//! the square of 1 is 1
//! the square of 2 is 4
//! the square of 3 is 9
//! ```

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use futures_util::StreamExt as _;
use narrows_services::{Node, Options};

const MOMENT: Option<Duration> = Some(Duration::from_millis(5));

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(directory) = std::env::args().nth(1) {
        return dsp(directory.as_ref());
    }
    let directory = tempfile::tempdir()?;
    let mut other = Command::new(std::env::current_exe()?).arg(directory.path()).spawn()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(gpp(directory.path()))?;
    other.wait()?;
    Ok(())
}

async fn gpp(directory: &Path) -> Result<(), Box<dyn Error>> {
    let node = narrows_tokio::watched(Node::with(Options::new("gpp").directory(directory))?)?;
    let square = node.client::<u32, u64>("square").await?;
    let mut numbers = node.subscriber::<u32>("numbers").await?.take(3);
    while let Some(number) = numbers.next().await {
        let number = number?.read()?;
        println!("the square of {number} is {}", square.call(&number).await?);
    }
    Ok(())
}

fn dsp(directory: &Path) -> Result<(), Box<dyn Error>> {
    let node = Node::with(Options::new("dsp").directory(directory))?;
    node.serve::<u32, u64>("square", |number| u64::from(*number).pow(2))?;
    let numbers = node.publisher::<u32>("numbers")?;
    while numbers.subscribers()? == 0 {
        node.run(MOMENT)?;
    }
    (1..=3).try_for_each(|number| numbers.send(&number))?;
    while numbers.subscribers()? > 0 {
        node.run(MOMENT)?;
    }
    Ok(())
}
