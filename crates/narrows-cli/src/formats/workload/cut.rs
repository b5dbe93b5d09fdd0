//! Requests that may be cut into parts: what a part is to the function of a flow.

use super::parse::RawFlow;
use super::{Flow, Work};
use crate::base::table::counted;
use crate::formats::functions::{Function, ORDER_BYTES};
use narrows::strategy::Parts;
use narrows_sim::file::{Mistake, Text};

/// The fewest bytes that a function reads of a request.
pub(super) fn least(function: Function) -> usize {
    match function {
        Function::Busy | Function::Log => ORDER_BYTES,
        Function::G711Encode => 2,
        Function::Echo | Function::G711Decode | Function::Foreign => 1,
    }
}

/// Into how many parts requests of `request` bytes may be cut at most, as a flow's key says.
pub(super) fn most(
    file: &Text<'_>,
    raw: &RawFlow,
    (function, called): (Function, &str),
    request: usize,
) -> Result<u16, Mistake> {
    let Some(parts) = &raw.parts else { return Ok(1) };
    if let (Some(burst), 2..) = (&raw.burst, parts.value) {
        let sentence = "burst does not go with parts: the parts of a request are due at once, as a \
                        burst is";
        return Err(file.fail(&burst.span, sentence));
    }
    let least = least(function);
    if request / usize::from(parts.value) < least {
        let expected = format!(
            "at most {}: function {called} reads {} of each part",
            request / least,
            counted(least, "byte", "bytes")
        );
        return Err(parts.wrong(file, &expected));
    }
    Ok(parts.value)
}

impl Flow {
    /// Bytes that no part divides.
    pub fn unit(&self) -> usize {
        if matches!(self.work, Work::Encode(_)) { 2 } else { 1 }
    }

    /// The longest request and response of a part, if the whole request and response have this many
    /// bytes.
    pub fn part(&self, parts: Parts, [request, response]: [usize; 2]) -> [usize; 2] {
        if parts == Parts::WHOLE {
            return [request, response];
        }
        let long = parts.ranges(request, self.unit()).map(|range| range.len()).max();
        let request = long.unwrap_or(request);
        let response = match self.work {
            Work::Echo => request,
            Work::Encode(_) => request / 2,
            Work::Decode(_) => request * 2,
            Work::Busy(_) | Work::Log => parts.longest(response),
            // What it makes of a part nobody knows.
            Work::Foreign(_) => response,
        };
        [request, response]
    }

    /// Why requests may not be cut so, if they may not.
    pub fn uncut(&self, parts: Parts) -> Option<String> {
        match self.parts {
            most if parts.count <= most => None,
            1 => Some(format!(
                "its requests may not be cut into {} parts: the workload has no parts = {0} for it",
                parts.count
            )),
            most => Some(format!(
                "its requests may be cut into {most} parts at most, by the workload, and not into {}",
                parts.count
            )),
        }
    }
}
