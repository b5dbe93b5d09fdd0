//! What the environment says: which processor this is, and how processors are linked.

use std::time::Duration;

use super::code::{Code, Outcome};

/// This processor's number, 1 if it does not say.
const PROCESSOR: &str = "NARROWS_MQX_PROCESSOR";
/// All pairs of adjacent processors, such as `1-2,2-3`; none if it does not say.
const LINKS: &str = "NARROWS_MQX_LINKS";
/// Milliseconds that the component waits at most for its neighbours when it is created.
const WAIT: &str = "NARROWS_MQX_WAIT";

/// The settings of a process.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub number: u8,
    pub links: Vec<(u8, u8)>,
    pub wait: Duration,
}

fn variable(name: &str) -> Outcome<String> {
    match std::env::var(name) {
        Ok(text) => Ok(text),
        Err(std::env::VarError::NotPresent) => Ok(String::new()),
        Err(std::env::VarError::NotUnicode(_)) => Err(Code::INVALID_CONFIGURATION),
    }
}

/// This processor's number.
///
/// # Errors
/// `MQX_INVALID_CONFIGURATION`.
pub(super) fn number() -> Outcome<u8> {
    let text = variable(PROCESSOR)?;
    if text.is_empty() { Ok(1) } else { processor(&text) }
}

fn processor(text: &str) -> Outcome<u8> {
    match text.trim().parse() {
        Ok(number @ 1..) => Ok(number),
        _ => Err(Code::INVALID_CONFIGURATION),
    }
}

fn links(text: &str) -> Outcome<Vec<(u8, u8)>> {
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    let pair = |text: &str| {
        let (one, other) = text.split_once('-').ok_or(Code::INVALID_CONFIGURATION)?;
        let pair = (processor(one)?, processor(other)?);
        if pair.0 == pair.1 { Err(Code::INVALID_CONFIGURATION) } else { Ok(pair) }
    };
    pairs.map(pair).collect()
}

fn wait(text: &str) -> Outcome<Duration> {
    let milliseconds = if text.is_empty() { Ok(0) } else { text.trim().parse() };
    milliseconds.map(Duration::from_millis).map_err(|_| Code::INVALID_CONFIGURATION)
}

impl Settings {
    /// Reads them.
    ///
    /// # Errors
    /// `MQX_INVALID_CONFIGURATION`: a variable says what it cannot mean.
    pub fn read() -> Outcome<Settings> {
        let (number, links) = (number()?, links(&variable(LINKS)?)?);
        Ok(Settings { number, links, wait: wait(&variable(WAIT)?)? })
    }

    /// The processors that this one has links to.
    pub fn neighbours(&self) -> Vec<u8> {
        let other = |&(one, other): &(u8, u8)| match self.number {
            number if number == one => Some(other),
            number if number == other => Some(one),
            _ => None,
        };
        let mut all: Vec<u8> = self.links.iter().filter_map(other).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_and_nothing_else() {
        assert_eq!(links(""), Ok(Vec::new()));
        assert_eq!(links(" 1-2, 2 - 255,"), Ok(vec![(1, 2), (2, 255)]));
        for bad in ["1", "1-", "-2", "1-2-3", "0-1", "1-256", "2-2", "a-b", "1-2;2-3"] {
            assert_eq!(links(bad), Err(Code::INVALID_CONFIGURATION), "{bad}");
        }
        assert_eq!((processor("255"), processor(" 7 ")), (Ok(255), Ok(7)));
        assert!(["0", "256", "-1", "one", ""].iter().all(|bad| processor(bad).is_err()));
        assert_eq!((wait(""), wait("25")), (Ok(Duration::ZERO), Ok(Duration::from_millis(25))));
        assert!(wait("soon").is_err());
    }

    #[test]
    fn a_neighbour_is_one_however_often_it_is_named() {
        let links = vec![(1, 2), (3, 2), (2, 1), (3, 4)];
        let settings = |number| Settings { number, links: links.clone(), wait: Duration::ZERO };
        assert_eq!(settings(2).neighbours(), [1, 3]);
        assert_eq!(settings(4).neighbours(), [3]);
        assert!(settings(5).neighbours().is_empty());
    }
}
