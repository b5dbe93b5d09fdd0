//! A progress bar on standard error, for people who watch.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;

/// A bar that is silent when standard error is no terminal or `--json` was asked for.
pub struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// A bar of `steps` steps.
    pub fn new(steps: u64, json: bool) -> Progress {
        if json || !std::io::stderr().is_terminal() {
            return Progress { bar: None };
        }
        let bar = ProgressBar::new(steps);
        let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {elapsed}  {msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Progress { bar: Some(bar) }
    }

    /// Says what is going on.
    pub fn say(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(what.to_owned());
        }
    }

    /// Sets how many steps there are.
    pub fn expect(&self, steps: u64) {
        if let Some(bar) = &self.bar {
            bar.set_length(steps);
        }
    }

    /// One step more is done.
    pub fn step(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    /// Sets how many steps are done.
    pub fn reach(&self, steps: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(steps);
        }
    }
}

impl Drop for Progress {
    /// Leaves nothing of the bar on the screen, however the work ended.
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
