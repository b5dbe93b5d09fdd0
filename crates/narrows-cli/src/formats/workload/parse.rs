//! From text to values with their places; each value is checked on its own.

use super::changes::{self, RawChange};
use super::{MAX_BURST, MAX_BYTES, MAX_DEPTH, MAX_FLOWS, parse_duration};
use crate::base::failure::{Failure, Kind};
use crate::formats::functions::g711::Law;
use crate::formats::functions::{self, Function};
use crate::formats::strategy::{self, Policy};
use narrows::strategy::{Strategy, StrategyError};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and where it was written.
#[derive(Clone)]
pub(crate) struct At<T> {
    pub value: T,
    pub span: Range<usize>,
}

/// The file as written.
#[derive(Default)]
pub(super) struct RawWorkload {
    pub name: Option<At<String>>,
    pub duration: Option<At<Duration>>,
    pub strategies: Vec<Policy>,
    pub memory: Option<At<u32>>,
    pub seed: Option<At<u64>>,
    pub flows: Vec<RawFlow>,
    pub changes: Vec<RawChange>,
}

/// One `[[flow]]` as written.
pub(super) struct RawFlow {
    pub span: Range<usize>,
    pub name: Option<At<String>>,
    pub function: Option<At<Function>>,
    pub period: Option<At<Duration>>,
    pub request: Option<At<usize>>,
    pub response: Option<At<usize>>,
    pub deadline: Option<At<Duration>>,
    pub count: Option<At<u64>>,
    pub input: Option<At<String>>,
    pub after: Option<At<String>>,
    pub law: Option<At<Law>>,
    pub busy: Option<At<Duration>>,
    pub depth: Option<At<usize>>,
    pub jitter: Option<At<Duration>>,
    pub burst: Option<At<u64>>,
    pub output: Option<At<String>>,
    pub r#static: Option<At<Strategy>>,
    pub arrives: Option<At<Duration>>,
    pub leaves: Option<At<Duration>>,
    pub sessions: Option<At<u64>>,
    pub on: Option<At<Duration>>,
    pub off: Option<At<Duration>>,
}

const TOP_KEYS: &str = "name, duration, strategy, memory, seed, [[flow]] or [[change]]";
const FLOW_KEYS: &str = "name, function, period, request, response, deadline, count, input, \
                         after, law, busy, depth, jitter, burst, output, static, arrives, leaves, sessions, on or \
                         off";
const A_DURATION: &str = "a duration above zero, such as \"20ms\"";
const A_STRATEGY: &str = "the name of a strategy, such as \"in_place/hybrid\", or a list of them";
const A_SIZE: &str = "a size of memory, such as \"16KiB\", of less than 4 GiB";

/// Knows the file, so that it can say where something is.
pub(crate) struct Reader<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl Reader<'_> {
    pub(super) fn read(&self) -> Result<RawWorkload, Failure> {
        let table = self.table()?;
        let mut raw = RawWorkload::default();
        for (key, value) in table.get_ref() {
            match key.get_ref().as_ref() {
                "name" => raw.name = Some(self.name("name", value)?),
                "duration" => raw.duration = Some(self.duration("duration", value)?),
                "strategy" => raw.strategies = self.each(value, strategy::policies)?,
                "memory" => raw.memory = Some(self.size("memory", value)?),
                "seed" => raw.seed = Some(self.number("seed", value, 0, i64::MAX as u64)?),
                "flow" => raw.flows = self.flows(value)?,
                "change" => raw.changes = changes::read(self, value)?,
                other => return Err(self.unknown(&key.span(), other, TOP_KEYS)),
            }
        }
        Ok(raw)
    }

    /// The file as a table.
    pub fn table(&self) -> Result<Spanned<DeTable<'_>>, Failure> {
        DeTable::parse(self.text).map_err(|error| {
            let message = error.message().replace('\n', "; ");
            self.fail(&error.span().unwrap_or(0..0), &message)
        })
    }

    /// A mistake at a place, in the form `file:line:column: sentence`.
    pub fn fail(&self, span: &Range<usize>, sentence: &str) -> Failure {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before.get(start..).map_or(0, |rest| rest.chars().count()) + 1;
        Failure::new(Kind::Workload, format!("{}:{line}:{column}: {sentence}", self.path.display()))
    }

    /// A value that is not what it should be; `span` is the value's.
    pub fn wrong(&self, key: &str, span: &Range<usize>, expected: &str) -> Failure {
        let found = self.text.get(span.clone()).unwrap_or_default();
        let found = match found {
            "\"\"" | "''" => found,
            _ => found.trim_matches(['"', '\'']),
        };
        let mut line: String = found.lines().next().unwrap_or_default().chars().collect();
        if line.chars().count() > 40 || found.lines().count() > 1 {
            line = line.chars().take(40).collect::<String>() + "…";
        }
        self.fail(span, &format!("{key} is {line}; expected {expected}"))
    }

    pub fn unknown(&self, span: &Range<usize>, key: &str, expected: &str) -> Failure {
        self.fail(span, &format!("unknown key {key}; expected {expected}"))
    }

    fn flows(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<RawFlow>, Failure> {
        let expected = "one or more [[flow]] tables";
        let array = match value.get_ref() {
            DeValue::Array(array) => array,
            _ => return Err(self.wrong("flow", &value.span(), expected)),
        };
        if array.len() > MAX_FLOWS {
            let sentence = format!("{} flows; expected at most {MAX_FLOWS}", array.len());
            return Err(self.fail(&value.span(), &sentence));
        }
        array
            .iter()
            .map(|flow| match flow.get_ref() {
                DeValue::Table(table) => self.flow(flow.span(), table),
                _ => Err(self.wrong("flow", &flow.span(), expected)),
            })
            .collect()
    }

    fn flow(&self, span: Range<usize>, table: &DeTable<'_>) -> Result<RawFlow, Failure> {
        let mut flow = RawFlow {
            span,
            name: None,
            function: None,
            period: None,
            request: None,
            response: None,
            deadline: None,
            count: None,
            input: None,
            after: None,
            law: None,
            busy: None,
            depth: None,
            jitter: None,
            burst: None,
            output: None,
            r#static: None,
            arrives: None,
            leaves: None,
            sessions: None,
            on: None,
            off: None,
        };
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "name" => flow.name = Some(self.name("name", value)?),
                "function" => flow.function = Some(self.function(value)?),
                "period" => flow.period = Some(self.duration("period", value)?),
                "request" => flow.request = Some(self.bytes("request", value)?),
                "response" => flow.response = Some(self.bytes("response", value)?),
                "deadline" => flow.deadline = Some(self.duration("deadline", value)?),
                "count" => flow.count = Some(self.number("count", value, 1, i64::MAX as u64)?),
                "input" => flow.input = Some(self.input(value)?),
                "after" => flow.after = Some(self.name("after", value)?),
                "law" => flow.law = Some(self.law(value)?),
                "busy" => flow.busy = Some(self.duration("busy", value)?),
                "depth" => flow.depth = Some(self.depth(value)?),
                "jitter" => flow.jitter = Some(self.duration("jitter", value)?),
                "burst" => flow.burst = Some(self.number("burst", value, 1, MAX_BURST)?),
                "output" => flow.output = Some(self.output(value)?),
                "static" => flow.r#static = Some(self.one_strategy("static", value)?),
                "arrives" => flow.arrives = Some(self.duration("arrives", value)?),
                "leaves" => flow.leaves = Some(self.duration("leaves", value)?),
                "sessions" => {
                    flow.sessions = Some(self.number("sessions", value, 1, MAX_FLOWS as u64)?);
                }
                "on" => flow.on = Some(self.duration("on", value)?),
                "off" => flow.off = Some(self.duration("off", value)?),
                other => return Err(self.unknown(&key.span(), other, FLOW_KEYS)),
            }
        }
        Ok(flow)
    }

    pub fn string(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        expected: &str,
    ) -> Result<String, Failure> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.wrong(key, &value.span(), expected)),
        }
    }

    pub fn name(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<At<String>, Failure> {
        let expected = "a name of 1 to 40 letters, digits, \"-\", \"_\" and \".\"";
        let text = self.string(key, value, expected)?;
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if text.is_empty() || text.len() > 40 || !text.chars().all(fits) {
            return Err(self.wrong(key, &value.span(), expected));
        }
        Ok(at(value, text))
    }

    pub fn duration(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<At<Duration>, Failure> {
        let text = self.string(key, value, A_DURATION)?;
        let time = parse_duration(&text).ok_or_else(|| {
            let too_long = humantime::parse_duration(&text).is_ok_and(|time| !time.is_zero());
            let expected = if too_long { "at most 24h" } else { A_DURATION };
            self.wrong(key, &value.span(), expected)
        })?;
        Ok(at(value, time))
    }

    pub fn number(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        least: u64,
        most: u64,
    ) -> Result<At<u64>, Failure> {
        let number = value
            .get_ref()
            .as_integer()
            .and_then(|digits| u64::from_str_radix(digits.as_str(), digits.radix()).ok());
        match number {
            Some(number) if (least..=most).contains(&number) => Ok(at(value, number)),
            _ if most == i64::MAX as u64 => {
                let expected = format!("a whole number from {least} up");
                Err(self.wrong(key, &value.span(), &expected))
            }
            _ => {
                let expected = format!("a whole number from {least} to {most}");
                Err(self.wrong(key, &value.span(), &expected))
            }
        }
    }

    pub fn bytes(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<At<usize>, Failure> {
        let number = self.number(key, value, 1, MAX_BYTES as u64)?;
        Ok(at(value, number.value as usize))
    }

    fn depth(&self, value: &Spanned<DeValue<'_>>) -> Result<At<usize>, Failure> {
        let number = self.number("depth", value, 1, MAX_DEPTH as u64)?;
        Ok(at(value, number.value as usize))
    }

    fn function(&self, value: &Spanned<DeValue<'_>>) -> Result<At<Function>, Failure> {
        let expected = functions::names();
        let text = self.string("function", value, &expected)?;
        let function = Function::from_name(&text)
            .ok_or_else(|| self.wrong("function", &value.span(), &expected))?;
        Ok(at(value, function))
    }

    fn law(&self, value: &Spanned<DeValue<'_>>) -> Result<At<Law>, Failure> {
        let expected = "\"a\" or \"mu\"";
        match self.string("law", value, expected)?.as_str() {
            "a" => Ok(at(value, Law::A)),
            "mu" => Ok(at(value, Law::Mu)),
            _ => Err(self.wrong("law", &value.span(), expected)),
        }
    }

    fn input(&self, value: &Spanned<DeValue<'_>>) -> Result<At<String>, Failure> {
        let expected = "the path of a WAV file, relative to this file";
        let text = self.string("input", value, expected)?;
        if text.is_empty() || text.contains('\0') {
            return Err(self.wrong("input", &value.span(), expected));
        }
        Ok(at(value, text))
    }

    fn output(&self, value: &Spanned<DeValue<'_>>) -> Result<At<String>, Failure> {
        let expected = "a file name without a directory, such as \"returned.wav\"";
        let text = self.string("output", value, expected)?;
        let directory = text.contains(['/', '\0']) || text == "." || text == "..";
        if text.is_empty() || text.len() > 200 || directory {
            return Err(self.wrong("output", &value.span(), expected));
        }
        Ok(at(value, text))
    }

    pub fn size(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<At<u32>, Failure> {
        let text = self.string(key, value, A_SIZE)?;
        let bytes = crate::base::options::memory(&text);
        let bytes = bytes.map_err(|_| self.wrong(key, &value.span(), A_SIZE))?;
        Ok(at(value, bytes))
    }

    fn one_strategy(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<At<Strategy>, Failure> {
        let text = self.string(key, value, A_STRATEGY)?;
        let strategy = text.parse().map_err(|error: StrategyError| {
            let expected = format!("a name such as \"in_place/hybrid\": {error}");
            self.wrong(key, &value.span(), &expected)
        })?;
        Ok(at(value, strategy))
    }

    /// Strategies, by one name or by several.
    pub fn strategies(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<Strategy>, Failure> {
        self.each(value, strategy::expand)
    }

    /// What each name stands for.
    fn each<T: PartialEq>(
        &self,
        value: &Spanned<DeValue<'_>>,
        expand: fn(&str) -> Result<Vec<T>, StrategyError>,
    ) -> Result<Vec<T>, Failure> {
        let one = |value: &Spanned<DeValue<'_>>| {
            let text = self.string("strategy", value, A_STRATEGY)?;
            expand(&text).map_err(|error| {
                let expected = format!("a name such as \"in_place/hybrid\": {error}");
                self.wrong("strategy", &value.span(), &expected)
            })
        };
        match value.get_ref() {
            DeValue::Array(array) if !array.is_empty() => {
                let mut all = Vec::new();
                for item in array.iter() {
                    strategy::append(&mut all, one(item)?);
                }
                Ok(all)
            }
            DeValue::Array(_) => Err(self.wrong("strategy", &value.span(), A_STRATEGY)),
            _ => one(value),
        }
    }
}

fn at<T>(place: &Spanned<DeValue<'_>>, value: T) -> At<T> {
    At { value, span: place.span() }
}
