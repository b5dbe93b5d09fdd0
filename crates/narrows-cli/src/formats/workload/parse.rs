//! From text to values with their places; each value is checked on its own.

use super::changes::{self, RawChange};
use super::units::{bytes, duration, size};
use super::{MAX_BURST, MAX_DEPTH, MAX_DSP, MAX_FLOWS, MAX_PARTS};
use crate::formats::functions::cost::{A_COST, Cost, Costs};
use crate::formats::functions::g711::Law;
use crate::formats::strategy::{self, Policy};
use narrows::strategy::{Strategy, StrategyError};
use narrows_sim::file::{At, Mistake, Table, Text, Value};
use std::ops::Range;
use std::time::Duration;

/// The file as written.
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
    pub function: Option<At<String>>,
    pub library: Option<At<String>>,
    pub cost: Option<At<Costs>>,
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
    pub parts: Option<At<u16>>,
    pub dsp: Option<At<u8>>,
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

const TOP: [&str; 7] = ["name", "duration", "strategy", "memory", "seed", "flow", "change"];
const FLOW: [&str; 25] = [
    "name", "function", "library", "cost", "period", "request", "response", "deadline", "count",
    "input", "after", "law", "busy", "depth", "parts", "dsp", "jitter", "burst", "output",
    "static", "arrives", "leaves", "sessions", "on", "off",
];
const A_FUNCTION: &str = "the name of a function";
const A_LIBRARY: &str = "the path of a shared library, relative to this file";
const AN_INPUT: &str = "the path of a WAV file, relative to this file";
const A_STRATEGY: &str = "the name of a strategy, such as \"in_place/hybrid\", or a list of them";

pub(super) fn read(file: Text<'_>) -> Result<RawWorkload, Mistake> {
    let document = file.parse()?;
    let top = document.top(&TOP)?;
    let policies = |value: &Value<'_>| each(value, strategy::policies);
    Ok(RawWorkload {
        name: top.read("name", Value::name)?,
        duration: top.read("duration", duration)?,
        strategies: top.read("strategy", policies)?.map_or(Vec::new(), |all| all.value),
        memory: top.read("memory", size)?,
        seed: top.read("seed", |value| value.number_from(0))?,
        flows: top.tables("flow", MAX_FLOWS, &FLOW)?.iter().map(flow).collect::<Result<_, _>>()?,
        changes: changes::read(&top)?,
    })
}

fn flow(table: &Table<'_>) -> Result<RawFlow, Mistake> {
    Ok(RawFlow {
        span: table.span(),
        name: table.read("name", Value::name)?,
        function: table.read("function", |value| Ok(value.string(A_FUNCTION)?.to_owned()))?,
        library: table.read("library", |value| path(value, A_LIBRARY))?,
        cost: table.read("cost", costs)?,
        period: table.read("period", duration)?,
        request: table.read("request", bytes)?,
        response: table.read("response", bytes)?,
        deadline: table.read("deadline", duration)?,
        count: table.read("count", |value| value.number_from(1))?,
        input: table.read("input", |value| path(value, AN_INPUT))?,
        after: table.read("after", Value::name)?,
        law: table.read("law", law)?,
        busy: table.read("busy", duration)?,
        depth: table.read("depth", |value| value.number(1..=MAX_DEPTH))?,
        parts: table.read("parts", |value| value.number(1..=MAX_PARTS))?,
        dsp: table.read("dsp", |value| value.number(0..=MAX_DSP))?,
        jitter: table.read("jitter", duration)?,
        burst: table.read("burst", |value| value.number(1..=MAX_BURST))?,
        output: table.read("output", output)?,
        r#static: table.read("static", one_strategy)?,
        arrives: table.read("arrives", duration)?,
        leaves: table.read("leaves", duration)?,
        sessions: table.read("sessions", |value| value.number(1..=MAX_FLOWS as u64))?,
        on: table.read("on", duration)?,
        off: table.read("off", duration)?,
    })
}

/// What a function takes, on every chip or on those that are named.
fn costs(value: &Value<'_>) -> Result<Costs, Mistake> {
    let cost = |value: &Value<'_>| {
        let read = value.string(A_COST)?.parse::<Cost>();
        read.map_err(|expected| value.wrong(&expected))
    };
    let Some(table) = value.as_table() else { return Ok(Costs::Everywhere(cost(value)?)) };
    let all = table.entries().map(|(chip, _, value)| Ok((chip.to_owned(), cost(&value)?)));
    let all: Vec<_> = all.collect::<Result<_, _>>()?;
    if all.is_empty() { Err(value.wrong(A_COST)) } else { Ok(Costs::On(all)) }
}

fn law(value: &Value<'_>) -> Result<Law, Mistake> {
    let expected = "\"a\" or \"mu\"";
    match value.string(expected)? {
        "a" => Ok(Law::A),
        "mu" => Ok(Law::Mu),
        _ => Err(value.wrong(expected)),
    }
}

fn path(value: &Value<'_>, expected: &str) -> Result<String, Mistake> {
    let text = value.string(expected)?;
    if text.is_empty() || text.contains('\0') {
        return Err(value.wrong(expected));
    }
    Ok(text.to_owned())
}

fn output(value: &Value<'_>) -> Result<String, Mistake> {
    let expected = "a file name without a directory, such as \"returned.wav\"";
    let text = value.string(expected)?;
    let directory = text.contains(['/', '\0']) || text == "." || text == "..";
    if text.is_empty() || text.len() > 200 || directory {
        return Err(value.wrong(expected));
    }
    Ok(text.to_owned())
}

fn one_strategy(value: &Value<'_>) -> Result<Strategy, Mistake> {
    value.string(A_STRATEGY)?.parse().map_err(|error| no_strategy(value, &error))
}

/// Strategies, by one name or by several.
pub(crate) fn strategies(value: &Value<'_>) -> Result<Vec<Strategy>, Mistake> {
    each(value, strategy::expand)
}

/// What each name stands for.
fn each<T: PartialEq>(
    value: &Value<'_>,
    expand: fn(&str) -> Result<Vec<T>, StrategyError>,
) -> Result<Vec<T>, Mistake> {
    let mut all = Vec::new();
    for one in value.each(A_STRATEGY)? {
        let named = expand(one.string(A_STRATEGY)?).map_err(|error| no_strategy(&one, &error))?;
        strategy::append(&mut all, named);
    }
    Ok(all)
}

fn no_strategy(value: &Value<'_>, error: &StrategyError) -> Mistake {
    let why =
        value.string(A_STRATEGY).map_or(error.to_string(), |name| strategy::explain(name, error));
    value.wrong(&format!("a name such as \"in_place/hybrid\": {why}"))
}
