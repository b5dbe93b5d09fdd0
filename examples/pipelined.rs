//! Pipelined calls: the next requests are on their way while the other core works on the first, so
//! neither core waits for the other. Responses come in the order the calls were started.
//!
//! ```text
//!   process gpp                                   process dsp
//!
//!     start  ── 5² ── 4² ── 3² ── 2² ─► at most four ─► square
//!     finish ◄──────────────── 1 ◄──── under way ◄──┘
//! ```
//!
//! Expected output:
//!
//! ```text
//! call 0: 1 squared is 1, with 3 more under way
//! call 1: 2 squared is 4, with 3 more under way
//! call 2: 3 squared is 9, with 3 more under way
//! call 3: 4 squared is 16, with 3 more under way
//! call 4: 5 squared is 25, with 3 more under way
//! call 5: 6 squared is 36, with 2 more under way
//! call 6: 7 squared is 49, with 1 more under way
//! call 7: 8 squared is 64, with 0 more under way
//! ```

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use narrows::endpoint::{Function, Sink, Source};
use narrows::strategy::Strategy;
use narrows_host::Options;

const SOON: Option<Duration> = Some(Duration::from_secs(5));
const CALLS: u32 = 8;
const UNDER_WAY: u16 = 4;

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
    let flow = node.open_flow(link, &"square".parse()?, Strategy::default(), 4, SOON)?;

    let mut numbers = 1..=CALLS;
    for finished in 1..=CALLS {
        while node.flow(flow).outstanding() < Some(UNDER_WAY) {
            let Some(number) = numbers.next() else { break };
            node.flow(flow).start(&number.to_le_bytes())?;
        }
        let mut square = [0; 4];
        let call = node.flow(flow).finish(&mut square, SOON)?.number;
        let (square, more) =
            (u32::from_le_bytes(square), node.flow(flow).outstanding().unwrap_or(0));
        println!("call {call}: {finished} squared is {square}, with {more} more under way");
    }

    node.link(link).close();
    other.wait()?;
    Ok(())
}

fn dsp(directory: &str) -> Result<(), Box<dyn Error>> {
    let mut square = |request: &dyn Source, response: &mut dyn Sink| {
        let mut number = [0; 4];
        request.read(0, &mut number)?;
        let square = u32::from_le_bytes(number).pow(2);
        response.write(0, &square.to_le_bytes())
    };
    let mut library = [Function { name: "square".parse()?, run: &mut square }];

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
