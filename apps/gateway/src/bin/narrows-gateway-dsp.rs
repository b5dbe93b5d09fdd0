//! The DSP of the media gateway.

use std::process::ExitCode;

use clap::Parser;
use gateway::program::{self, Common, Failure};
use gateway::{dsp, transcode};

/// Codes frames of sound and pictures for a media gateway, which calls it over Narrows.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    /// Its node's name
    #[arg(long, default_value = "dsp")]
    node: String,
    /// Percent of a core of this machine that it is as fast as
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100))]
    speed: u32,
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let log = |sentence: &str| program::log(&format!("narrows-gateway-dsp: {sentence}"));
    transcode::silence_libavcodec();
    let stop = program::asked_to_end()?;
    let mut node = program::open(&arguments.common, &arguments.node)?;
    program::ready()?;
    let statistics = dsp::serve(&mut node, arguments.speed, &stop, &log).map_err(Failure::new)?;
    program::write(arguments.common.statistics.as_deref(), &statistics)
}

fn main() -> ExitCode {
    program::end("narrows-gateway-dsp", run(&Arguments::parse()))
}
