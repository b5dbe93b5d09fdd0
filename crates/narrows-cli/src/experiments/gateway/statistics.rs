//! What the gateway and the DSP have counted, as they write it.

use crate::base::failure::{Failure, Kind};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The file of the gateway. A key that is missing is one that this command can do without.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Gateway {
    pub sessions: Vec<Session>,
    pub decisions: Vec<Decision>,
    pub refused: u64,
    /// Its processor time.
    pub cpu_ms: f64,
}

/// A session.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Session {
    pub call: String,
    /// Packets that were sent on, and that never came.
    pub sent: u64,
    pub lost: u64,
    /// Frames out of the jitter buffer, and of those, the ones that were made up for lost ones.
    pub frames: u64,
    pub concealed: u64,
    /// Frames that the DSP answered after their deadline, that it did not carry, of both those that
    /// the gateway coded itself, and those that could not be transcoded.
    pub late: u64,
    pub dropped: u64,
    pub own: u64,
    pub failed: u64,
    /// How long answers of the DSP took.
    pub answer_us_median: Option<f64>,
    pub answer_us_p99: Option<f64>,
    /// What it travelled by at its end.
    pub strategy: String,
}

/// What the controller decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Decision {
    /// When, from the beginning.
    pub s: f64,
    /// What it is about.
    pub flow: String,
    /// The strategy before, and the one after.
    pub from: Option<String>,
    /// The strategy from then on.
    pub to: Option<String>,
    /// Why.
    pub why: String,
}

/// The file of the DSP.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Dsp {
    pub functions: Vec<Function>,
}

/// A function of the DSP.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Function {
    pub name: String,
    pub calls: u64,
    pub errors: u64,
    /// With what it is slowed by.
    pub busy_ms: f64,
}

/// Reads a file of statistics.
///
/// # Errors
/// [`Kind::Peer`] if it was not written, or is none.
pub(super) fn read<T: for<'a> Deserialize<'a>>(whose: &str, path: &Path) -> Result<T, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
    let read = text.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
    read.map_err(|why| {
        let text = format!(
            "{whose} has written no statistics to {}: {why}: see its log, which --keep keeps",
            path.display()
        );
        Failure::new(Kind::Peer, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_as_far_as_they_are_known() {
        let text = r#"{"sessions":[{"call":"audio-1.1","kind":"audio","from":"PCMU","to":"PCMA",
            "received":300,"frames":301,"sent":299,"lost":1,"concealed":1,"late":2,"dropped":2,
            "answer_us_median":12.5,"answer_us_p99":80.0,"first_s":0.1,"last_s":6.1,
            "strategy":"copy/interrupt/internal"}],"decisions":[{"s":1.5,"flow":"audio",
            "from":"a","to":"b","why":"saves"}],"refused":3,"cpu_ms":70.5,"elapsed_s":8.0,
            "tomorrow":[]}"#;
        let read: Gateway = serde_json::from_str(text).expect("it is read");
        let session = read.sessions.first().expect("a session");
        assert_eq!((session.frames, session.sent, session.dropped), (301, 299, 2));
        assert_eq!((read.refused, read.decisions.len()), (3, 1));
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("s.json");
        for bad in ["", "{\"sessions\":7}"] {
            std::fs::write(&path, bad).expect("it is written");
            let failure = read_bad(&path);
            assert!(failure.to_string().contains("no statistics"), "{failure}");
        }
        std::fs::remove_file(&path).expect("it is there");
        assert_eq!(read_bad(&path).kind, Kind::Peer);
    }

    fn read_bad(path: &Path) -> Failure {
        read_as(path).expect_err("it is none")
    }

    fn read_as(path: &Path) -> Result<Gateway, Failure> {
        super::read("the gateway", path)
    }
}
