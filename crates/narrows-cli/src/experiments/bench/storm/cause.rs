//! How long a death took to be known, and what took the time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::machine::Root;

/// The longest that a survivor may take to be told.
pub const PROMISED: Duration = Duration::from_millis(10);

/// Where the time between the kill and the telling went, in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Telling {
    /// From just before the kill until the survivor's stack told its application.
    pub told_ms: f64,
    /// From just before the kill until the killed process had ended.
    pub ended_ms: f64,
    /// Of that, how long the killed process was ready and had no core.
    pub victim_waited_ms: f64,
    /// From the kill to the telling, how long the survivor was ready and had no core.
    pub survivor_waited_ms: f64,
    /// What the hypervisor took from all cores meanwhile; it is counted in steps of 10 ms.
    pub stolen_ms: f64,
    /// Where in the kernel the killed process was when it had not ended in the time promised.
    pub stuck_in: Option<String>,
}

impl Telling {
    /// Whether it took longer than promised.
    pub fn late(&self) -> bool {
        self.told_ms > ms(PROMISED)
    }

    /// What took most of the time.
    pub fn cause(&self) -> &'static str {
        let ending = (self.ended_ms.min(self.told_ms) - self.victim_waited_ms).max(0.0);
        let after = (self.told_ms - self.ended_ms).max(0.0);
        let stack = (after - self.survivor_waited_ms).max(0.0);
        let parts = [
            (self.stolen_ms, "the hypervisor took the cores away"),
            (self.victim_waited_ms, "the killed process waited for a core to end on"),
            (self.survivor_waited_ms, "the survivor waited for its core"),
            (ending, "the kernel took that long to end the killed process"),
            (stack, "the survivor's stack looked that late"),
        ];
        // The first of the longest: the hypervisor's time is in the others as well.
        let most = parts.iter().copied().reduce(|a, b| if b.0 > a.0 { b } else { a });
        most.map_or("", |(_, cause)| cause)
    }
}

/// A death that was told late.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Late {
    /// Which kill.
    pub round: u64,
    /// Where the time went.
    #[serde(flatten)]
    pub telling: Telling,
    /// What took most of it.
    pub cause: String,
}

impl Late {
    /// The particulars, in a sentence.
    pub fn sentence(&self, simulated: bool) -> String {
        if simulated {
            let told_ms = self.telling.told_ms;
            return format!("kill {} was told after {told_ms:.1} ms: {}", self.round, self.cause);
        }
        let Telling { told_ms, ended_ms, victim_waited_ms, survivor_waited_ms, stolen_ms, .. } =
            self.telling;
        let stuck = self.telling.stuck_in.as_ref();
        let stuck = stuck.map_or(String::new(), |place| format!("; it was in {place}"));
        format!(
            "kill {} was told after {told_ms:.1} ms: {} (killed process ended after {ended_ms:.1} \
             ms, {victim_waited_ms:.1} of them without a core; survivor {survivor_waited_ms:.1} \
             without its core; hypervisor {stolen_ms:.0}{stuck})",
            self.round, self.cause
        )
    }
}

/// A time in milliseconds.
pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// How long a thread has been ready and had no core, since it began; none where the kernel does not
/// say. `thread` is its number, or a process's for its first thread.
pub fn waited(root: &Root, thread: u32) -> Option<Duration> {
    let text = root.text(&format!("proc/{thread}/schedstat"))?;
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// Where in the kernel a process waits; none if it does not, or the kernel does not say.
pub fn stuck(root: &Root, process: u32) -> Option<String> {
    root.text(&format!("proc/{process}/wchan")).filter(|place| place != "0" && !place.is_empty())
}

/// What the hypervisor has taken from all cores since they started.
pub fn stolen(root: &Root) -> Duration {
    let text = root.text("proc/stat").unwrap_or_default();
    let first = text.lines().next().unwrap_or_default();
    let ticks = first.split_whitespace().nth(8).and_then(|ticks| ticks.parse().ok());
    // In hundredths of a second, on every machine that runs Linux today.
    Duration::from_millis(ticks.unwrap_or(0) * 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_longest_is_the_cause() {
        let usual = Telling { told_ms: 12.0, ended_ms: 11.5, ..Telling::default() };
        assert!(usual.late() && usual.cause().contains("kernel"));
        let shared = Telling { victim_waited_ms: 11.0, ..usual.clone() };
        assert!(shared.cause().contains("a core to end on"));
        let stolen = Telling { stolen_ms: 20.0, ..shared };
        assert!(stolen.cause().contains("hypervisor"));
        let survivor = Telling { ended_ms: 0.4, survivor_waited_ms: 11.0, ..usual.clone() };
        assert!(survivor.cause().contains("its core"));
        let stack = Telling { ended_ms: 0.4, ..usual };
        assert!(stack.cause().contains("stack"));
        assert!(!Telling { told_ms: 9.9, ..Telling::default() }.late());
    }

    #[test]
    fn the_kernel_is_read_as_it_writes() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("proc/7")).unwrap();
        std::fs::write(place.path().join("proc/7/schedstat"), "5 1500000 3\n").unwrap();
        std::fs::write(place.path().join("proc/stat"), "cpu  1 2 3 4 5 6 7 42 9 0\n").unwrap();
        let root = Root::at(place.path());
        std::fs::write(place.path().join("proc/7/wchan"), "__flush_work").unwrap();
        assert_eq!(stuck(&root, 7).as_deref(), Some("__flush_work"));
        std::fs::write(place.path().join("proc/7/wchan"), "0").unwrap();
        assert_eq!(stuck(&root, 7), None);
        assert_eq!(waited(&root, 7), Some(Duration::from_micros(1500)));
        assert_eq!(waited(&root, 8), None);
        assert_eq!(stolen(&root), Duration::from_millis(420));
    }
}
