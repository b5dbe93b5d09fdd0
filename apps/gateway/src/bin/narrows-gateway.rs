//! The media gateway.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use gateway::carry::Carrier;
use gateway::control::Control;
use gateway::program::{self, Common, Failure};
use gateway::statistics::Statistics;
use gateway::transcode;
use gateway::tuner::{self, Choices};
use narrows::strategy::Strategy;
use narrows_host::system;

/// Carries sessions of sound and pictures over RTP; a second process codes their frames.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    /// The node of the DSP
    #[arg(long, default_value = "dsp")]
    dsp: String,
    /// Where a proxy says which calls there are; media come to the same address
    #[arg(long, default_value = "127.0.0.1:2223")]
    control: SocketAddr,
    /// Whether frames travel as is said here, or as is best while sessions come and go
    #[arg(long, value_enum, default_value_t = Policy::Static)]
    strategy: Policy,
    /// How frames of sound travel
    #[arg(long, default_value = "copy_batched/interrupt/internal", value_parser = strategy)]
    audio: Strategy,
    /// How pictures travel
    #[arg(long, default_value = "copy_batched/poll=100ms/external", value_parser = strategy)]
    video: Strategy,
    /// Bytes of internal memory that sessions may take, if not all that there is
    #[arg(long)]
    memory: Option<u32>,
    /// The longest that an answer for a frame of sound may take
    #[arg(long, default_value = "80ms", value_parser = time)]
    deadline_audio: Duration,
    /// The longest that an answer for a picture may take
    #[arg(long, default_value = "300ms", value_parser = time)]
    deadline_video: Duration,
}

/// How long the DSP is waited for before others are told that they can come.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Policy {
    Static,
    Auto,
}

fn strategy(text: &str) -> Result<Strategy, String> {
    let strategy: Strategy = text.parse().map_err(|error| format!("{error}"))?;
    tuner::allowed(&strategy)?;
    Ok(strategy)
}

fn time(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    match time.is_zero() || time > Duration::from_secs(3600) {
        true => Err("it is above zero and at most an hour".into()),
        false => Ok(time),
    }
}

fn log(sentence: &str) {
    program::log(&format!("narrows-gateway: {sentence}"));
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let began = Instant::now();
    let IpAddr::V4(address) = arguments.control.ip() else {
        return Err(Failure { sentence: "--control wants an address of IPv4".into(), code: 2 });
    };
    let address = if address.is_unspecified() { Ipv4Addr::LOCALHOST } else { address };
    let socket = UdpSocket::bind(arguments.control).map_err(|error| {
        let what = format!("cannot listen at {}: {error}", arguments.control);
        match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                Failure::taken(format!("{what}: end what has it, or name another --control"))
            }
            _ => Failure::new(what),
        }
    })?;
    let dsp = arguments.dsp.parse().map_err(|_| Failure {
        sentence: format!("--dsp: {:?} is no name of a node", arguments.dsp),
        code: 2,
    })?;
    transcode::silence_libavcodec();
    let stop = program::asked_to_end()?;
    let node = program::open(&arguments.common, &format!("gateway-{}", arguments.control.port()))?;
    gstreamer::init()
        .map_err(|error| Failure::new(format!("GStreamer does not start: {error}")))?;
    let choices = Choices {
        auto: arguments.strategy == Policy::Auto,
        fixed: [arguments.audio, arguments.video],
        memory: arguments.memory,
        deadlines: [arguments.deadline_audio, arguments.deadline_video],
    };
    let (carrier, thread) = Carrier::start(node, dsp, choices, log).map_err(Failure::new)?;
    let mut control = Control::new(socket, address, carrier.clone(), log)
        .map_err(|error| Failure::new(format!("the control socket cannot be used: {error}")))?;
    // Without a DSP it is of use as well, so it does not wait for long.
    while !carrier.is_linked() && began.elapsed() < PATIENCE && !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(2));
    }
    program::ready()?;
    let mut result = Ok(());
    while !stop.load(Ordering::Relaxed) && result.is_ok() {
        result = control.turn();
    }
    control.end_all();
    carrier.stop();
    let left =
        thread.join().map_err(|_| Failure::new("the thread of the link ended before its time"))?;
    let statistics = Statistics {
        sessions: std::mem::take(&mut control.rows),
        decisions: left.decided,
        refused: control.refused,
        dsp_found: left.found,
        dsp_lost: left.lost,
        cpu_ms: system::process_time().as_secs_f64() * 1e3,
        elapsed_s: began.elapsed().as_secs_f64(),
    };
    program::write(arguments.common.statistics.as_deref(), &statistics)?;
    result.map_err(|error| Failure::new(format!("the control socket is of no use: {error}")))
}

fn main() -> ExitCode {
    program::end("narrows-gateway", run(&Arguments::parse()))
}
