//! What changes at some moment of a run: the size of a flow, or the memory that flows may take.

use super::parse::{At, Reader};
use super::{Flow, Work};
use crate::base::failure::Failure;
use crate::formats::functions::ORDER_BYTES;
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const KEYS: &str = "at, memory, flow, request or response";
/// The most changes of a workload.
const MOST: usize = 1000;

/// Something that changes while a workload runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// At this moment of the run.
    pub at: Duration,
    /// What changes.
    pub what: Changed,
}

/// What changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// Flows that are chosen may take this many bytes of internal memory of each core that is
    /// called.
    Memory(u32),
    /// Requests and responses of these flows, by their place in the workload, have this many bytes.
    Size {
        /// The flow, or all its sessions.
        flows: Vec<usize>,
        /// Bytes of each request.
        request: usize,
        /// Bytes of each response.
        response: usize,
    },
}

/// One `[[change]]` as written.
pub(super) struct RawChange {
    span: Range<usize>,
    at: Option<At<Duration>>,
    memory: Option<At<u32>>,
    flow: Option<At<String>>,
    request: Option<At<usize>>,
    response: Option<At<usize>>,
}

/// The changes as written.
pub(super) fn read(
    reader: &Reader<'_>,
    value: &Spanned<DeValue<'_>>,
) -> Result<Vec<RawChange>, Failure> {
    let wrong = |span: Range<usize>| reader.wrong("change", &span, "one or more [[change]] tables");
    let DeValue::Array(array) = value.get_ref() else { return Err(wrong(value.span())) };
    if array.len() > MOST {
        let sentence = format!("{} changes; expected at most {MOST}", array.len());
        return Err(reader.fail(&value.span(), &sentence));
    }
    let each = array.iter().map(|one| match one.get_ref() {
        DeValue::Table(table) => read_one(reader, one.span(), table),
        _ => Err(wrong(one.span())),
    });
    each.collect()
}

fn read_one(
    reader: &Reader<'_>,
    span: Range<usize>,
    table: &DeTable<'_>,
) -> Result<RawChange, Failure> {
    let mut raw =
        RawChange { span, at: None, memory: None, flow: None, request: None, response: None };
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "at" => raw.at = Some(reader.duration("at", value)?),
            "memory" => raw.memory = Some(reader.size("memory", value)?),
            "flow" => raw.flow = Some(reader.name("flow", value)?),
            "request" => raw.request = Some(reader.bytes("request", value)?),
            "response" => raw.response = Some(reader.bytes("response", value)?),
            other => return Err(reader.unknown(&key.span(), other, KEYS)),
        }
    }
    Ok(raw)
}

/// The changes, the earliest first; `flows` are those of the workload, sessions and all.
pub(super) fn check(
    reader: &Reader<'_>,
    raw: &[RawChange],
    flows: &[Flow],
) -> Result<Vec<Change>, Failure> {
    let mut all: Vec<Change> = Vec::new();
    let mut latest: Vec<&RawChange> = raw.iter().collect();
    latest.sort_by_key(|one| one.at.as_ref().map(|at| at.value));
    for one in latest {
        let Some(at) = &one.at else {
            let sentence = "this change has no moment; expected at = \"2s\"";
            return Err(reader.fail(&one.span, sentence));
        };
        let at = at.value;
        let what = match (&one.memory, &one.flow) {
            (Some(memory), None) if one.request.is_none() && one.response.is_none() => {
                Changed::Memory(memory.value)
            }
            (None, Some(flow)) if one.request.is_some() || one.response.is_some() => {
                size(reader, one, flow, flows, &all)?
            }
            _ => {
                let sentence =
                    "a change is either memory, or a flow with its request, its response or both";
                return Err(reader.fail(&one.span, sentence));
            }
        };
        all.push(Change { at, what });
    }
    Ok(all)
}

fn size(
    reader: &Reader<'_>,
    raw: &RawChange,
    named: &At<String>,
    flows: &[Flow],
    before: &[Change],
) -> Result<Changed, Failure> {
    let session = |name: &str| {
        let number = name.strip_prefix(&named.value).and_then(|rest| rest.strip_prefix('-'));
        name == named.value || number.is_some_and(|digits| digits.parse::<u16>().is_ok())
    };
    let found = flows.iter().enumerate().filter(|(_, flow)| session(&flow.name));
    let (numbers, found): (Vec<usize>, Vec<&Flow>) = found.unzip();
    let Some(flow) = found.first() else {
        return Err(reader.wrong("flow", &named.span, "the name of a flow of this workload"));
    };
    if found.iter().any(|flow| !matches!(flow.work, Work::Busy(_))) {
        let sentence = "only flows with function busy change their size: that of others follows from \
                        their input, or from each other";
        return Err(reader.fail(&named.span, sentence));
    }
    if let Some(request) = raw.request.as_ref().filter(|one| one.value < ORDER_BYTES) {
        let expected = format!("at least {ORDER_BYTES} bytes, which function busy reads");
        return Err(reader.wrong("request", &request.span, &expected));
    }
    // What is not named stays as the change before has left it.
    let earlier = before.iter().rev().find_map(|change| match &change.what {
        Changed::Size { flows, request, response } if *flows == numbers => {
            Some((*request, *response))
        }
        _ => None,
    });
    let (request, response) = earlier.unwrap_or((flow.request, flow.response));
    let of = |named: &Option<At<usize>>, usual| named.as_ref().map_or(usual, |one| one.value);
    Ok(Changed::Size {
        flows: numbers,
        request: of(&raw.request, request),
        response: of(&raw.response, response),
    })
}
