//! Hello between two processes: they find each other by name, and a message goes each way.
//!
//! ```text
//!   process gpp                          process dsp
//!
//!     port 1 ────────── hello ──────────► port 1
//!     port 1 ◄─────── hello, gpp ──────── port 1
//! ```
//!
//! Expected output:
//!
//! ```text
//! dsp received: hello
//! gpp received: hello, gpp
//! ```

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use narrows::endpoint::Address;
use narrows_host::Options;

const SOON: Option<Duration> = Some(Duration::from_secs(5));

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1) {
        None => gpp(),
        Some(directory) => dsp(&directory),
    }
}

fn gpp() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let mut other = Command::new(std::env::current_exe()?).arg(directory.path()).spawn()?;

    let mut node = Options::new("gpp").directory(directory.path()).node()?;
    node.open(1)?;
    let link = node.hunt(&"dsp".parse()?, SOON)?;
    node.send(1, Address { link, port: 1 }, b"hello", SOON)?;

    let mut text = [0; 64];
    let answer = node.receive_into(1, &mut text, SOON)?;
    println!("gpp received: {}", std::str::from_utf8(answer.bytes(&text))?);

    other.wait()?;
    Ok(())
}

fn dsp(directory: &str) -> Result<(), Box<dyn Error>> {
    let mut node = Options::new("dsp").directory(directory).node()?;
    node.open(1)?;

    let mut text = [0; 64];
    let hello = node.receive_into(1, &mut text, SOON)?;
    println!("dsp received: {}", std::str::from_utf8(hello.bytes(&text))?);

    let (peer, _) = node.link(hello.from.link).peer()?;
    node.send(1, hello.from, &format!("hello, {peer}"), SOON)?;
    Ok(())
}
