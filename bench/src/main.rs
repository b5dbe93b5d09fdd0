//! Narrows beside its peers: every contender over the same two cores in one run, in turns, with the
//! same payload written and read by all.
//!
//! [`contender`] has a file for each of them. A [`visit`] measures one pair in a process of its
//! own; [`run`] makes visits in rounds, in a random order; [`report`] writes docs/BENCHMARKS.md.

mod contender;
mod control;
mod fan;
mod flags;
mod payload;
mod report;
mod results;
mod run;
mod shared;
mod supervise;
mod versions;
mod visit;

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use crate::contender::{Contender, Setup};
use crate::flags::{Command, Flags, Pair};
use crate::visit::Budget;

fn main() -> ExitCode {
    let flags = Flags::parse();
    let done = match &flags.command {
        None => run::run(&flags),
        Some(Command::Visit { pair, millis }) => visit(pair, *millis),
        Some(Command::End { pair }) => end(pair),
        Some(Command::Fan { flags }) => fan::run(flags),
        Some(Command::Reader { reader }) => fan::read(reader),
        #[cfg(feature = "aeron")]
        Some(Command::AeronDriver { directory, cores }) => {
            contender::serve_aeron_driver(directory, *cores)
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("narrows-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The process that measures a pair: what it found goes to its standard output.
fn visit(pair: &Pair, millis: u64) -> io::Result<()> {
    let (contender, setup) = setup(pair)?;
    let budget = match millis {
        0 => Budget::Smoke,
        time => Budget::Time(Duration::from_millis(time)),
    };
    let found = visit::run(contender, &setup, budget)?;
    io::stdout().write_all(&serde_json::to_vec(&found)?)
}

/// The process that is the other end: it talks over its standard input.
fn end(pair: &Pair) -> io::Result<()> {
    let (contender, setup) = setup(pair)?;
    let socket: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    let mut control = control::Control::new(UnixStream::from(socket));
    visit::callee(contender, &setup, &mut control);
    Ok(())
}

fn setup(pair: &Pair) -> io::Result<(&'static dyn Contender, Setup)> {
    let named = contender::all().into_iter().find(|contender| contender.name() == pair.name);
    let contender = named.ok_or_else(|| contender::failed(&pair.name, "no such contender"))?;
    let setup = Setup {
        bytes: pair.bytes,
        mode: pair.mode,
        depth: depth(pair.bytes),
        directory: pair.directory.clone(),
        tag: pair.tag.clone(),
        cores: pair.cores,
    };
    Ok((contender, setup))
}

/// Messages that may be under way, the same for all contenders that can choose.
fn depth(bytes: usize) -> usize {
    if bytes <= 4096 { 256 } else { 32 }
}
