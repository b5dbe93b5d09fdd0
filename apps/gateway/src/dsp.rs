//! The DSP: serves the functions that code frames, and counts what they take.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use narrows::endpoint::{Body, Failure, Function, ServeError, Sink, Source};
use narrows_host::{Node, system};
use serde::Serialize;

use crate::frame::{Header, Kind, LONGEST, REQUEST};
use crate::throttle::Throttle;
use crate::transcode::Transcoder;

/// How often it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);
/// The function that only gives back what it is given, by which a gateway measures the machine.
pub const ECHO: &str = "gateway.echo";

/// What a function has done.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Counted {
    name: &'static str,
    calls: u64,
    errors: u64,
    cpu_ms: f64,
    busy_ms: f64,
}

/// What the statistics file has.
#[derive(Debug, Serialize)]
pub struct Statistics {
    functions: Vec<Counted>,
    cpu_ms: f64,
}

/// What the functions share.
struct Dsp<'a> {
    transcoder: Transcoder,
    throttle: Option<Throttle>,
    counted: [Counted; 2],
    frame: Vec<u8>,
    coded: Vec<u8>,
    said: u32,
    log: &'a dyn Fn(&str),
}

/// Bad frames that get a line of the log each.
const SAID: u32 = 5;

impl Dsp<'_> {
    fn serve(
        &mut self,
        kind: Kind,
        request: &dyn Source,
        response: &mut dyn Sink,
    ) -> Result<(), Failure> {
        let (began, worked) = (Instant::now(), system::thread_time());
        let result = self.transcode(kind, request);
        let worked = system::thread_time().saturating_sub(worked);
        self.sleep(worked);
        let took = began.elapsed();
        if self.frame.len() == REQUEST {
            // The end of a session is no frame.
            return response.write(0, &[0; 4]);
        }
        let counted = &mut self.counted[usize::from(kind == Kind::Video)];
        counted.calls += 1;
        counted.errors += u64::from(result.is_err());
        counted.cpu_ms += worked.as_secs_f64() * 1e3;
        counted.busy_ms += took.as_secs_f64() * 1e3;
        result?;
        let took = u32::try_from(took.as_nanos()).unwrap_or(u32::MAX);
        response.write(0, &took.to_le_bytes())?;
        response.write(4, &self.coded)
    }

    fn transcode(&mut self, kind: Kind, request: &dyn Source) -> Result<(), Failure> {
        if request.len() > REQUEST + LONGEST {
            return Err(Failure::NoRoom);
        }
        self.frame.resize(request.len(), 0);
        request.read(0, &mut self.frame)?;
        let read = Header::read(&self.frame).filter(|(header, _)| header.from.kind() == kind);
        let (header, frame) = read.ok_or(Failure::Refused)?;
        let result = self.transcoder.run(&header, frame, &mut self.coded);
        if self.coded.len() > LONGEST {
            return Err(Failure::TooLong);
        }
        result.map_err(|error| {
            self.said += 1;
            if self.said <= SAID {
                (self.log)(&format!("session {:x}: {error}", header.session));
            }
            Failure::Refused
        })
    }

    fn sleep(&mut self, worked: Duration) {
        let Some(throttle) = &mut self.throttle else { return };
        let sleep = throttle.owes(worked);
        if sleep.is_zero() {
            return;
        }
        let began = Instant::now();
        std::thread::sleep(sleep);
        throttle.overslept(began.elapsed().saturating_sub(sleep));
    }
}

/// Serves calls until `stop` is set. `percent` of this machine's speed is what it has.
///
/// # Errors
/// What the node says when it can serve no more.
pub fn serve(
    node: &mut Node,
    percent: u32,
    stop: &AtomicBool,
    log: &dyn Fn(&str),
) -> Result<Statistics, ServeError> {
    let counted = [Kind::Audio, Kind::Video]
        .map(|kind| Counted { name: kind.function(), ..Counted::default() });
    let dsp = RefCell::new(Dsp {
        transcoder: Transcoder::default(),
        throttle: (percent < 100).then(|| Throttle::new(percent)),
        counted,
        frame: Vec::new(),
        coded: Vec::new(),
        said: 0,
        log,
    });
    // One at a time: the node serves a call before it looks for the next.
    let of = |kind| {
        let dsp = &dsp;
        move |request: &dyn Source, response: &mut dyn Sink| {
            dsp.borrow_mut().serve(kind, request, response)
        }
    };
    let (mut audio, mut video) = (of(Kind::Audio), of(Kind::Video));
    let mut bytes = Vec::new();
    let mut echo = |request: &dyn Source, response: &mut dyn Sink| {
        bytes.resize(request.len(), 0);
        request.read(0, &mut bytes)?;
        response.write(0, &bytes)
    };
    let function = |name: &str, run| -> Option<Function<'_>> {
        Some(Function { name: name.parse().ok()?, run })
    };
    let mut library: Vec<Function<'_>> = [
        function(Kind::Audio.function(), &mut audio as &mut Body<'_>),
        function(Kind::Video.function(), &mut video),
        function(ECHO, &mut echo),
    ]
    .into_iter()
    .flatten()
    .collect();
    while !stop.load(Ordering::Relaxed) {
        match node.serve(&mut library, Some(LOOK)) {
            Ok(_) | Err(ServeError::Deadline) => {}
            Err(error) => return Err(error),
        }
    }
    drop(library);
    let functions = dsp.borrow().counted.to_vec();
    Ok(Statistics { functions, cpu_ms: system::process_time().as_secs_f64() * 1e3 })
}
