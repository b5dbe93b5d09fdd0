//! What changes at some moment of a run: the size of a flow, or the memory that flows may take.

use super::{Flow, Work, units};
use crate::formats::functions::ORDER_BYTES;
use narrows_sim::file::{At, Mistake, Table, Text, Value};
use std::ops::Range;
use std::time::Duration;

const KEYS: [&str; 5] = ["at", "memory", "flow", "request", "response"];
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
pub(super) fn read(top: &Table<'_>) -> Result<Vec<RawChange>, Mistake> {
    let all = top.tables("change", MOST, &KEYS)?;
    let each = all.iter().map(|one| {
        Ok(RawChange {
            span: one.span(),
            at: one.read("at", units::duration)?,
            memory: one.read("memory", units::size)?,
            flow: one.read("flow", Value::name)?,
            request: one.read("request", units::bytes)?,
            response: one.read("response", units::bytes)?,
        })
    });
    each.collect()
}

/// The changes, the earliest first; `flows` are those of the workload, sessions and all.
pub(super) fn check(
    file: &Text<'_>,
    raw: &[RawChange],
    flows: &[Flow],
) -> Result<Vec<Change>, Mistake> {
    let mut all: Vec<Change> = Vec::new();
    let mut latest: Vec<&RawChange> = raw.iter().collect();
    latest.sort_by_key(|one| one.at.as_ref().map(|at| at.value));
    for one in latest {
        let Some(at) = &one.at else {
            let sentence = "this change has no moment; expected at = \"2s\"";
            return Err(file.fail(&one.span, sentence));
        };
        let at = at.value;
        let what = match (&one.memory, &one.flow) {
            (Some(memory), None) if one.request.is_none() && one.response.is_none() => {
                Changed::Memory(memory.value)
            }
            (None, Some(flow)) if one.request.is_some() || one.response.is_some() => {
                size(file, one, flow, flows, &all)?
            }
            _ => {
                let sentence =
                    "a change is either memory, or a flow with its request, its response or both";
                return Err(file.fail(&one.span, sentence));
            }
        };
        all.push(Change { at, what });
    }
    Ok(all)
}

fn size(
    file: &Text<'_>,
    raw: &RawChange,
    named: &At<String>,
    flows: &[Flow],
    before: &[Change],
) -> Result<Changed, Mistake> {
    let session = |name: &str| {
        let number = name.strip_prefix(&named.value).and_then(|rest| rest.strip_prefix('-'));
        name == named.value || number.is_some_and(|digits| digits.parse::<u16>().is_ok())
    };
    let found = flows.iter().enumerate().filter(|(_, flow)| session(&flow.name));
    let (numbers, found): (Vec<usize>, Vec<&Flow>) = found.unzip();
    let Some(flow) = found.first() else {
        return Err(named.wrong(file, "the name of a flow of this workload"));
    };
    if found.iter().any(|flow| !matches!(flow.work, Work::Busy(_))) {
        let sentence = "only flows with function busy change their size: that of others follows from \
                        their input, or from each other";
        return Err(file.fail(&named.span, sentence));
    }
    // Each part has an order.
    let parts = found.iter().map(|flow| usize::from(flow.parts)).max().unwrap_or(1);
    let least = ORDER_BYTES * parts;
    if let Some(request) = raw.request.as_ref().filter(|one| one.value < least) {
        let of = if parts > 1 { format!(" of each of {parts} parts") } else { String::new() };
        let expected = format!("at least {least} bytes: function busy reads {ORDER_BYTES}{of}");
        return Err(request.wrong(file, &expected));
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
