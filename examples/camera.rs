//! Frames of 1 MiB, made where the viewer reads them.
//!
//! ```text
//!   process camera                         process viewer
//!
//!     loan ── frame ── send ──► slot ──► queue of 8 ──► read
//! ```
//!
//! Expected output:
//!
//! ```text
//! viewer: 100 frames, 100 MiB, none lost
//! ```

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use narrows_services::{Node, Options, Overflow};

const SOON: Option<Duration> = Some(Duration::from_secs(5));
const FRAMES: u8 = 100;
const FRAME: usize = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(directory) = std::env::args().nth(1) {
        return viewer(directory.as_ref());
    }
    let directory = tempfile::tempdir()?;
    let mut other = Command::new(std::env::current_exe()?).arg(directory.path()).spawn()?;
    camera(directory.path())?;
    other.wait()?;
    Ok(())
}

fn camera(directory: &Path) -> Result<(), Box<dyn Error>> {
    let node = Node::with(Options::new("camera").directory(directory))?;
    let frames = node.topic("frames").longest(FRAME).publisher::<[u8]>()?;
    while frames.subscribers()? == 0 {
        frames.attend()?;
    }
    for number in 0..FRAMES {
        let mut frame = frames.loan(FRAME)?;
        frame.fill(number);
        frame.send()?;
    }
    Ok(())
}

fn viewer(directory: &Path) -> Result<(), Box<dyn Error>> {
    let node = Node::with(Options::new("viewer").directory(directory))?;
    let frames = node.subscribe("frames").overflow(Overflow::Wait).subscriber::<[u8]>()?;
    let mut bytes = 0;
    for number in 0..FRAMES {
        let frame = frames.receive(SOON)?.read()?;
        assert!(frame.iter().all(|byte| *byte == number));
        bytes += frame.len();
    }
    println!("viewer: {FRAMES} frames, {} MiB, none lost", bytes >> 20);
    Ok(())
}
