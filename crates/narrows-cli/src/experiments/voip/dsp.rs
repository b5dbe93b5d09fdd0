//! The DSP's process.

use crate::base::failure::Failure;
use crate::experiments::house::House;
use crate::experiments::house::helper::{Helper, Start};
use rustix::process::Signal;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

/// A DSP that others can find.
pub(super) struct Dsp {
    helper: Helper,
    words: Vec<OsString>,
    nodes: PathBuf,
}

impl Dsp {
    /// Starts it, on a core of its own if one is named. Each of its calls takes `work`.
    ///
    /// # Errors
    /// It leaves, or stays silent.
    pub fn start(
        house: &House,
        plugin: &Path,
        nodes: &Path,
        work: Duration,
        core: Option<usize>,
    ) -> Result<Dsp, Failure> {
        let mut words: Vec<OsString> = house.placed(None).into_iter().map(OsString::from).collect();
        words.push(plugin.join("dsp").into_os_string());
        words.extend(["--work".into(), work.as_micros().to_string().into()]);
        if let Some(core) = core {
            words.extend(["--core".into(), core.to_string().into()]);
        }
        let helper = launch(house, &words, nodes)?;
        Ok(Dsp { helper, words, nodes: nodes.to_owned() })
    }

    pub fn pid(&self) -> u32 {
        self.helper.pid()
    }

    pub fn kill(&mut self) {
        self.helper.kill();
    }

    pub fn ended(&mut self) -> Option<String> {
        self.helper.ended()
    }

    /// # Errors
    /// As [`Dsp::start`].
    pub fn start_again(&mut self, house: &House) -> Result<(), Failure> {
        self.helper = launch(house, &self.words, &self.nodes)?;
        Ok(())
    }

    /// Ends it. How many frames it has coded; none if it has left before.
    ///
    /// # Errors
    /// [`Kind::Stopped`](crate::base::failure::Kind::Stopped).
    pub fn stop(mut self, house: &House) -> Result<Option<u64>, Failure> {
        self.helper.signal(Signal::TERM);
        self.helper.leave(house)?;
        let text = self.helper.text();
        let count = |line: &str| line.strip_prefix("g711.")?.split_once(' ')?.1.parse::<u64>().ok();
        let counts: Vec<u64> = text.lines().filter_map(count).collect();
        Ok((!counts.is_empty()).then(|| counts.iter().sum()))
    }
}

fn launch(house: &House, words: &[OsString], nodes: &Path) -> Result<Helper, Failure> {
    let mut helper = Helper::start(Start {
        name: "the DSP's process".to_owned(),
        words: words.iter().map(OsString::as_os_str).collect(),
        environment: vec![("NARROWS_DIR", OsStr::new(nodes))],
        log: house.path("dsp.log"),
    })?;
    helper.wait_for(house, "opened its node", PATIENCE, |text| text.contains("ready"))?;
    Ok(helper)
}
