//! The processes of the gateway and of its DSP, which `apps/gateway` builds.

use super::carry::Way;
use super::plan::Kind;
use super::statistics::{self, read};
use crate::base::failure::Failure;
use crate::experiments::house::helper::{Helper, Start};
use crate::experiments::house::load::Meter;
use crate::experiments::house::{self, House};
use crate::formats::workload::Workload;
use narrows::strategy::Strategy;
use rustix::process::Signal;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What has to be built.
pub(super) const PROGRAMS: [&str; 2] = ["narrows-gateway", "narrows-gateway-dsp"];
const PATIENCE: Duration = Duration::from_secs(20);
/// The node of the DSP, and where nodes meet.
const DSP: &str = "dsp";
const DOMAIN: &str = "gateway";

/// The DSP.
pub(super) struct Dsp {
    helper: Helper,
    words: Vec<OsString>,
    file: PathBuf,
}

impl Dsp {
    /// # Errors
    /// It leaves, or stays silent.
    pub fn start(house: &House, way: &Way<'_>) -> Result<Dsp, Failure> {
        let file = house.path("dsp.json");
        let mut words: Vec<OsString> = house.placed(None).into_iter().map(OsString::from).collect();
        words.push(way.programs.join(PROGRAMS[1]).into_os_string());
        let speed = way.args.speed.to_string();
        words.extend(texts(&["--domain", DOMAIN, "--node", DSP, "--speed", &speed]));
        let core = way.cores.map(|cores| cores.callee.to_string());
        words.extend(core.iter().flat_map(|core| texts(&["--core", core])));
        words.extend([OsString::from("--statistics"), file.clone().into_os_string()]);
        let helper = launch(house, "the DSP (narrows-gateway-dsp)", &words, "dsp.log")?;
        Ok(Dsp { helper, words, file })
    }

    pub fn kill(&mut self) {
        self.helper.kill();
    }

    /// # Errors
    /// It has left.
    pub fn see(&mut self) -> Result<(), Failure> {
        self.helper.see()
    }

    /// # Errors
    /// As [`Dsp::start`].
    pub fn start_again(&mut self, house: &House) -> Result<(), Failure> {
        self.helper = launch(house, "the DSP (narrows-gateway-dsp)", &self.words, "dsp.log")?;
        Ok(())
    }

    /// # Errors
    /// It has written no statistics, or the user stops it.
    pub fn stop(&mut self, house: &House) -> Result<statistics::Dsp, Failure> {
        self.helper.signal(Signal::TERM);
        self.helper.leave(house)?;
        read("the DSP", &self.file)
    }
}

/// The gateway.
pub(super) struct Server {
    helper: Helper,
    meter: Meter,
    looked: Instant,
    file: PathBuf,
    /// Of its control socket.
    pub port: u16,
}

impl Server {
    /// # Errors
    /// It leaves, or stays silent.
    pub fn start(house: &House, way: &Way<'_>) -> Result<Server, Failure> {
        let file = house.path("gateway.json");
        let port = house::free_port()?;
        let mut words: Vec<OsString> = house.placed(None).into_iter().map(OsString::from).collect();
        words.push(way.programs.join(PROGRAMS[0]).into_os_string());
        let control = format!("127.0.0.1:{port}");
        words.extend(texts(&["--domain", DOMAIN, "--dsp", DSP, "--control", &control]));
        words.extend(texts(&["--strategy", way.name]));
        for kind in Kind::ALL {
            let Some((strategy, deadline)) = told(way.workload, kind) else { continue };
            words.extend(texts(&[&format!("--{}", kind.name()), &strategy.to_string()]));
            let milliseconds = format!("{}ms", deadline.as_millis());
            words.extend(texts(&[&format!("--deadline-{}", kind.name()), &milliseconds]));
        }
        let memory = way.memory.map(|memory| memory.to_string());
        words.extend(memory.iter().flat_map(|memory| texts(&["--memory", memory])));
        let core = way.cores.map(|cores| cores.caller.to_string());
        words.extend(core.iter().flat_map(|core| texts(&["--core", core])));
        words.extend([OsString::from("--statistics"), file.clone().into_os_string()]);
        let helper = launch(house, "the gateway (narrows-gateway)", &words, "gateway.log")?;
        let meter = Meter::new(helper.pid());
        Ok(Server { helper, meter, looked: Instant::now(), file, port })
    }

    /// # Errors
    /// It has left.
    pub fn see(&mut self) -> Result<(), Failure> {
        /// A session has several threads, and each is a file to read.
        const APART: Duration = Duration::from_millis(100);
        if self.looked.elapsed() >= APART {
            self.meter.look();
            self.looked = Instant::now();
        }
        self.helper.see()
    }

    /// Nanoseconds of processor time since it was started.
    pub fn load(&mut self) -> u64 {
        self.meter.look();
        self.meter.used()
    }

    /// # Errors
    /// It has written no statistics, or the user stops it.
    pub fn stop(&mut self, house: &House) -> Result<statistics::Gateway, Failure> {
        self.helper.signal(Signal::TERM);
        self.helper.leave(house)?;
        read("the gateway", &self.file)
    }
}

/// By what sessions of a kind travel, and until when their answers are wanted.
fn told(workload: &Workload, kind: Kind) -> Option<(Strategy, Duration)> {
    let flow = workload.flows.iter().find(|flow| Kind::of(&flow.name) == Some(kind))?;
    Some((flow.r#static?, flow.deadline.unwrap_or(kind.period() * 4)))
}

fn texts(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn launch(house: &House, name: &str, words: &[OsString], log: &str) -> Result<Helper, Failure> {
    let nodes = house.folder("nodes")?;
    let mut helper = Helper::start(Start {
        name: name.to_owned(),
        words: words.iter().map(OsString::as_os_str).collect(),
        environment: vec![("NARROWS_DIR", OsStr::new(&nodes))],
        log: house.path(log),
    })?;
    helper.wait_for(house, "said that it is ready", PATIENCE, |text| {
        text.lines().any(|line| line.trim() == "ready")
    })?;
    Ok(helper)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn sessions_travel_by_what_the_workload_says() {
        let text = include_str!("../../../shipped/workloads/gateway.toml");
        let workload = crate::formats::workload::parse(Path::new("gateway.toml"), text);
        let workload = workload.expect("a workload");
        let (strategy, deadline) = told(&workload, Kind::Video).expect("it has video");
        assert_eq!(deadline, Duration::from_millis(300));
        // What the gateway is told it can read.
        let read: Result<Strategy, _> = strategy.to_string().parse();
        assert_eq!(read.ok(), Some(strategy));
    }
}
