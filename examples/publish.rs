//! A message for many: a camera makes each frame where two viewers read it. One keeps up and misses
//! none; the other wants the latest alone.
//!
//! ```text
//!   process camera                         processes all, latest
//!
//!     loan ── frame ── send ──► slot ──┬──► queue of 8, waits ──► 1, 2, 3 … 100
//!                                      └──► queue of 1 ─────────► the latest
//! ```
//!
//! Expected output:
//!
//! ```text
//! latest: frame 100 is the last
//! all: 100 frames, 0 lost, frame 100 is the last
//! ```

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use narrows_host::Options;
use narrows_services::{Node, Overflow, Subscriber};

const FRAMES: u8 = 100;
const SOON: Option<Duration> = Some(Duration::from_secs(5));

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match &words[..] {
        [viewer, directory] => view(Node::with(Options::new(viewer).directory(directory))?, viewer),
        _ => camera(),
    }
}

fn camera() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let node = Node::with(Options::new("camera").directory(directory.path()))?;
    let frames = node.topic("frames").longest(640 * 480).history(1).publisher::<[u8]>()?;
    let viewer =
        |name| Command::new(std::env::current_exe()?).arg(name).arg(directory.path()).spawn();
    let (mut all, mut latest) = (viewer("all")?, viewer("latest")?);
    while frames.subscribers()? < 2 {
        frames.attend()?;
    }
    for number in 1..=FRAMES {
        let mut frame = frames.loan(640 * 480)?;
        frame.fill(number);
        frame.send()?;
    }
    latest.wait()?;
    drop(frames);
    drop(node);
    all.wait()?;
    Ok(())
}

fn view(node: Node, name: &str) -> Result<(), Box<dyn Error>> {
    let wish = node.subscribe("frames");
    let frames: Subscriber<[u8]> = match name {
        "all" => wish.depth(8).overflow(Overflow::Wait).subscriber()?,
        _ => wish.depth(1).history(1).subscriber()?,
    };
    let (mut count, mut last) = (0, 0);
    while last < FRAMES {
        let frame = frames.receive(SOON)?.read()?;
        (count, last) = (count + 1, frame[0]);
    }
    if name == "all" {
        // Behind the other, for the order of the lines.
        let _ = frames.receive(SOON);
        println!("all: {count} frames, {} lost, frame {last} is the last", frames.lost());
    } else {
        println!("latest: frame {last} is the last");
    }
    Ok(())
}
