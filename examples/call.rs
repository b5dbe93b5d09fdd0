//! A function on the other core, found by its name and called with values of types.
//!
//! ```text
//!   process gpp                          process dsp
//!
//!     call ───────────── 3, 4 ──────────► length
//!          ◄────────────── 5 ────────────
//! ```
//!
//! Expected output:
//!
//! ```text
//! length of dsp has other types: it is call Point{x@0:f32,y@4:f32}8 f32, …
//! the length is 5
//! ```

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use narrows_services::{FromBytes, Immutable, IntoBytes, KnownLayout, Node, Options, Typed};

const SOON: Option<Duration> = Some(Duration::from_secs(5));

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Typed)]
#[repr(C)]
struct Point {
    x: f32,
    y: f32,
}

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
    let node = Node::with(Options::new("gpp").directory(directory))?;
    if let Err(error) = node.client::<f32, f32>("length") {
        println!("{error}");
    }
    let length = node.client::<Point, f32>("length")?;
    println!("the length is {}", length.call(&Point { x: 3.0, y: 4.0 })?);
    Ok(())
}

fn dsp(directory: &Path) -> Result<(), Box<dyn Error>> {
    let node = Node::with(Options::new("dsp").directory(directory))?;
    node.serve::<Point, f32>("length", |point| point.x.hypot(point.y))?;
    while node.run_once(SOON)? == 0 {}
    Ok(())
}
