//! A process of others: started with its output in a file, told things, and ended with this
//! command.

use super::House;
use crate::base::failure::{Failure, Kind};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a process that was asked to leave may take.
const FAREWELL: Duration = Duration::from_secs(5);

/// A process, which is killed when this is dropped.
pub(crate) struct Helper {
    name: String,
    child: Child,
    log: PathBuf,
}

/// What it is started with.
pub(crate) struct Start<'a> {
    /// What sentences call it.
    pub name: String,
    /// The program and its arguments.
    pub words: Vec<&'a OsStr>,
    /// Its environment, besides this command's.
    pub environment: Vec<(&'a str, &'a OsStr)>,
    /// Where its output goes.
    pub log: PathBuf,
}

impl Helper {
    /// Starts it.
    ///
    /// # Errors
    /// [`Kind::Internal`].
    pub fn start(start: Start<'_>) -> Result<Helper, Failure> {
        let Start { name, words, environment, log } = start;
        let failed = |error: std::io::Error| {
            Failure::new(Kind::Internal, format!("cannot start {name}: {error}"))
        };
        let output = File::create(&log).map_err(failed)?;
        // The system tells it to leave should this command be killed, and so could not.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "--"]).args(words).envs(environment);
        command.env("PATH", super::path());
        // What it leaves, as PulseAudio's library does, goes with the house.
        command.env("TMPDIR", log.parent().unwrap_or(Path::new("/tmp")));
        command.stdin(Stdio::piped()).stdout(output.try_clone().map_err(failed)?).stderr(output);
        // A group of its own: Ctrl-C is this command's to handle.
        let child = command.process_group(0).spawn().map_err(failed)?;
        Ok(Helper { name, child, log })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Says a line to it. One that has left hears nothing, which the code that waits for it finds
    /// out.
    pub fn say(&mut self, line: &str) {
        if let Some(input) = &mut self.child.stdin {
            let _ = writeln!(input, "{line}").and_then(|()| input.flush());
        }
    }

    /// What it has written.
    pub fn text(&self) -> String {
        std::fs::read(&self.log)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok()??;
        if let Some(signal) = status.signal() {
            return Some(format!("{} was killed by signal {signal}", self.name));
        }
        let text = self.text();
        let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
        Some(match last {
            Some(line) => format!("{} left with {status}: {line}", self.name),
            None => format!("{} left with {status}", self.name),
        })
    }

    /// # Errors
    /// [`Kind::Peer`] if it has left.
    pub fn see(&mut self) -> Result<(), Failure> {
        match self.ended() {
            Some(how) => Err(Failure::new(Kind::Peer, format!("{how}: start again"))),
            None => Ok(()),
        }
    }

    /// Waits until it has written something.
    ///
    /// # Errors
    /// [`Kind::Peer`] if it leaves, [`Kind::Deadline`], [`Kind::Stopped`].
    pub fn wait_for(
        &mut self,
        house: &House,
        what: &str,
        within: Duration,
        said: impl Fn(&str) -> bool,
    ) -> Result<(), Failure> {
        let deadline = Instant::now() + within;
        while !said(&self.text()) {
            self.see()?;
            if Instant::now() >= deadline {
                return Err(self.silent(what, within));
            }
            house.pause(Duration::from_millis(20))?;
        }
        Ok(())
    }

    /// What is said of one that has not done something in time.
    pub fn silent(&self, what: &str, within: Duration) -> Failure {
        let text = format!(
            "{} has not {what} within {} s: see {}, which --keep keeps",
            self.name,
            within.as_secs(),
            self.log.display()
        );
        Failure::new(Kind::Deadline, text)
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid_of_system() {
            // It may have left by itself.
            let _ = kill_process(pid, signal);
        }
    }

    fn pid_of_system(&self) -> Option<Pid> {
        i32::try_from(self.pid()).ok().and_then(Pid::from_raw)
    }

    /// Kills it, with the processes that it has started.
    pub fn kill(&mut self) {
        if let Some(pid) = self.pid_of_system() {
            // It may have left by itself.
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = self.child.wait();
    }

    /// Waits until it has left; kills one that does not.
    pub fn leave(&mut self, house: &House) -> Result<(), Failure> {
        let deadline = Instant::now() + FAREWELL;
        while self.child.try_wait().ok().flatten().is_none() {
            if Instant::now() >= deadline {
                self.kill();
                break;
            }
            house.pause(Duration::from_millis(10))?;
        }
        Ok(())
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.kill();
    }
}
