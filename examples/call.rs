//! A function on the other core, called twice: waiting for the response, and with a callback that
//! is called when the response has come, while this core does something else.
//!
//! ```text
//!   process gpp                          process dsp
//!
//!     call ──────────── hello ──────────► capitals
//!          ◄─────────── HELLO ───────────
//!     start ─────── how are you ────────► capitals
//!     other work
//!     complete ◄──── HOW ARE YOU ────────
//!        └─► callback
//! ```
//!
//! Expected output:
//!
//! ```text
//! call 0 gave: HELLO
//! call 1 is on its way, and this core is free
//! call 1 gave: HOW ARE YOU
//! ```

use std::error::Error;
use std::process::Command;
use std::time::{Duration, Instant};

use narrows::endpoint::{Failure, Function, Sink, Source};
use narrows::strategy::Strategy;
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
    let link = node.hunt(&"dsp".parse()?, SOON)?;
    let flow = node.open_flow(link, &"capitals".parse()?, Strategy::default(), 64, SOON)?;

    let mut text = [0; 64];
    let len = node.flow(flow).call(b"hello", &mut text, SOON)?;
    println!("call 0 gave: {}", std::str::from_utf8(&text[..len])?);

    let number = node.flow(flow).start(b"how are you")?;
    println!("call {number} is on its way, and this core is free");

    let deadline = Instant::now() + Duration::from_secs(5);
    while node.flow(flow).outstanding() != Some(0) && Instant::now() < deadline {
        // Other work goes here; this core has none, so it waits.
        node.flow(flow).wait(SOON);
        node.flow(flow).complete(|completed, response| {
            let part = &mut text[..completed.len];
            let whole = response.read(0, part);
            assert!(whole.is_ok() && completed.failure.is_none(), "a whole response");
            println!("call {} gave: {}", completed.number, String::from_utf8_lossy(part));
        })?;
    }

    node.link(link).close();
    other.wait()?;
    Ok(())
}

fn dsp(directory: &str) -> Result<(), Box<dyn Error>> {
    let mut capitals = |request: &dyn Source, response: &mut dyn Sink| {
        let mut text = [0; 64];
        let text = text.get_mut(..request.len()).ok_or(Failure::NoRoom)?;
        request.read(0, text)?;
        text.make_ascii_uppercase();
        response.write(0, text)
    };
    let mut library = [Function { name: "capitals".parse()?, run: &mut capitals }];

    let mut node = Options::new("dsp").directory(directory).node()?;
    loop {
        // An error if nobody calls in time.
        node.serve(&mut library, SOON)?;
        if node.links().next().is_none() {
            // The caller has gone.
            return Ok(());
        }
    }
}
