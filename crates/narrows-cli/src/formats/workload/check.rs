//! From values to flows: what goes with what, and which flow follows which.

use super::changes;
use super::cut;
use super::parse::{RawFlow, RawWorkload};
use super::sessions;
use super::{DEFAULT_DURATION, DEFAULT_FRAME, Flow, MAX_BYTES, Source, Work, Workload};
use crate::formats::functions::cost::Costs;
use crate::formats::functions::foreign::Named as Foreign;
use crate::formats::functions::g711::Law;
use crate::formats::functions::{self, Function, ORDER_BYTES};
use crate::formats::strategy::Policy;
use narrows::strategy::Strategy;
use narrows_sim::file::{At, Mistake, Text, listed};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) fn check(file: &Text<'_>, raw: RawWorkload) -> Result<Workload, Mistake> {
    if raw.flows.is_empty() {
        return Err(file.fail(&file.end(), "no flow; expected one or more [[flow]] tables"));
    }
    let stem = || Some(file.path.file_stem()?.to_string_lossy().into_owned());
    let name = raw.name.map(|name| name.value).or_else(stem);
    let strategies = match raw.strategies {
        none if none.is_empty() => vec![Policy::Same(Strategy::default())],
        named => named,
    };
    let flows = flows(file, &raw.flows)?;
    let seed = raw.seed.as_ref().map_or(sessions::SEED, |seed| seed.value);
    let flows = sessions::expand(file, &raw.flows, flows, seed)?;
    if let (Some(flow), true) =
        (flows.iter().find(|flow| flow.r#static.is_none()), strategies.contains(&Policy::Static))
    {
        let sentence = format!("strategy static needs static = \"...\" in flow {}", flow.name);
        return Err(file.fail(&file.end(), sentence));
    }
    let changes = changes::check(file, &raw.changes, &flows)?;
    Ok(Workload {
        name: name.unwrap_or_else(|| "workload".to_owned()),
        duration: raw.duration.map_or(DEFAULT_DURATION, |time| time.value),
        strategies,
        memory: raw.memory.map(|memory| memory.value),
        flows,
        changes,
    })
}

/// Resolves the flows in the order in which they follow each other, keeping the file's order.
fn flows(file: &Text<'_>, raw: &[RawFlow]) -> Result<Vec<Flow>, Mistake> {
    let mut named: Vec<Named<'_>> = Vec::new();
    for flow in raw {
        let one = named_flow(file, flow)?;
        if named.iter().any(|other| other.name == one.name) {
            return Err(file.wrong("flow.name", &one.at, "a name that no other flow has"));
        }
        let twice = |other: &Named<'_>| match (&other.raw.output, &flow.output) {
            (Some(theirs), Some(ours)) => theirs.value == ours.value,
            _ => false,
        };
        if let (Some(output), true) = (&flow.output, named.iter().any(twice)) {
            let expected = "a file name that no other flow writes";
            return Err(output.wrong(file, expected));
        }
        named.push(one);
    }
    let mut done: Vec<Option<Flow>> = vec![None; named.len()];
    while done.iter().any(Option::is_none) {
        let mut progress = false;
        for (index, one) in named.iter().enumerate() {
            if done.get(index).is_none_or(Option::is_some) {
                continue;
            }
            let before = match &one.raw.after {
                None => None,
                Some(after) => {
                    let found = named.iter().position(|other| other.name == after.value);
                    let Some(found) = found else {
                        let names: Vec<&str> = named.iter().map(|flow| flow.name).collect();
                        let expected = format!("the name of a flow: {}", names.join(", "));
                        return Err(after.wrong(file, &expected));
                    };
                    match done.get(found) {
                        Some(Some(flow)) => Some((found, flow.clone())),
                        _ => continue,
                    }
                }
            };
            let flow = resolve(file, one, before)?;
            if let Some(place) = done.get_mut(index) {
                *place = Some(flow);
                progress = true;
            }
        }
        if !progress {
            let stuck = named.iter().zip(&done).find(|(_, flow)| flow.is_none());
            let span = stuck.and_then(|(one, _)| Some(one.raw.after.as_ref()?.span.clone()));
            let expected = "a flow that does not itself come after this one";
            return Err(file.wrong("flow.after", &span.unwrap_or(0..0), expected));
        }
    }
    Ok(done.into_iter().flatten().collect())
}

struct Named<'a> {
    name: &'a str,
    at: Range<usize>,
    function: Function,
    /// What the flow calls it.
    called: &'a str,
    raw: &'a RawFlow,
}

fn named_flow<'a>(file: &Text<'_>, raw: &'a RawFlow) -> Result<Named<'a>, Mistake> {
    let Some(name) = &raw.name else {
        let sentence = "this flow has no name; expected name = \"...\"";
        return Err(file.fail(&raw.span, sentence));
    };
    let Some(named) = &raw.function else {
        let expected = functions::names();
        let sentence = format!("flow {} has no function; expected {expected}", name.value);
        return Err(file.fail(&raw.span, sentence));
    };
    let function = match &raw.library {
        Some(_) if Foreign::is_name(&named.value) => Function::Foreign,
        Some(_) => return Err(named.wrong(file, "the name in C of a function of its library")),
        None => Function::from_name(&named.value).ok_or_else(|| {
            let expected = format!("{}, or one of a library = \"...\"", functions::names());
            named.wrong(file, &expected)
        })?,
    };
    if let (Some(after), Function::Busy | Function::Log) = (&raw.after, function) {
        let sentence = format!(
            "after does not go with function {}; expected it only with echo, g711.encode, \
             g711.decode or those of a library",
            function.name()
        );
        return Err(file.fail(&after.span, sentence));
    }
    if let (Some(cost), Function::Busy) = (&raw.cost, function) {
        let sentence = "cost does not go with function busy, which takes the time of its key busy";
        return Err(file.fail(&cost.span, sentence));
    }
    let called = &named.value;
    Ok(Named { name: &name.value, at: name.span.clone(), function, called, raw })
}

fn resolve(
    file: &Text<'_>,
    one: &Named<'_>,
    before: Option<(usize, Flow)>,
) -> Result<Flow, Mistake> {
    allowed_keys(file, one, before.is_some())?;
    let raw = one.raw;
    let request = request(file, one, before.as_ref().map(|(_, flow)| flow))?;
    let work = work(file, one, before.as_ref().map(|(_, flow)| flow))?;
    let response = match work {
        Work::Echo => request,
        Work::Encode(_) => request / 2,
        Work::Decode(_) => request * 2,
        Work::Busy(_) => raw.response.as_ref().map_or(request, |bytes| bytes.value),
        Work::Log => match &raw.response {
            Some(bytes) => bytes.value,
            None => return Err(missing(file, one, "response", "the bytes of its text")),
        },
        Work::Foreign(_) => match &raw.response {
            Some(bytes) => bytes.value,
            None => return Err(missing(file, one, "response", "the most bytes that it returns")),
        },
    };
    if response > MAX_BYTES {
        let span = raw.request.as_ref().map_or(&raw.span, |bytes| &bytes.span);
        let sentence = format!(
            "flow {} has responses of {response} bytes; expected at most {MAX_BYTES}",
            one.name
        );
        return Err(file.fail(span, sentence));
    }
    let source = match before {
        Some((index, _)) => Source::After(index),
        None => {
            paced(file, one)?;
            Source::Own {
                input: raw.input.as_ref().map(|path| beside(file, &path.value)),
                period: raw.period.as_ref().map(|time| time.value),
                count: raw.count.as_ref().map(|count| count.value),
                depth: raw.depth.as_ref().map_or(1, |depth| depth.value),
                recorded: None,
                jitter: raw.jitter.as_ref().map_or(Duration::ZERO, |time| time.value),
                burst: raw.burst.as_ref().map_or(1, |count| count.value as u16),
            }
        }
    };
    let parts = cut::most(file, raw, (one.function, one.called), request)?;
    let flow = Flow {
        name: one.name.to_owned(),
        work,
        cost: raw.cost.as_ref().map_or(Costs::Unsaid, |cost| cost.value.clone()),
        source,
        request,
        response,
        parts,
        deadline: raw.deadline.as_ref().map(|time| time.value),
        output: raw.output.as_ref().map(|name| name.value.clone()),
        r#static: raw.r#static.as_ref().map(|one| one.value),
        presence: sessions::presence(file, one.name, raw)?,
        seed: sessions::SEED,
        dsp: raw.dsp.as_ref().map(|dsp| dsp.value),
    };
    let named = raw.r#static.as_ref();
    let uncut = named.and_then(|one| Some((&one.span, flow.uncut(one.value.parts)?)));
    match uncut {
        Some((span, why)) => Err(file.fail(span, format!("flow {}: {why}", one.name))),
        None => Ok(flow),
    }
}

/// A path that is relative to the file.
fn beside(file: &Text<'_>, path: &str) -> PathBuf {
    file.path.parent().unwrap_or(Path::new("")).join(path)
}

/// Jitter and bursts are of a period.
fn paced(file: &Text<'_>, one: &Named<'_>) -> Result<(), Mistake> {
    let raw = one.raw;
    let spans = [
        (place(&raw.jitter), "jitter"),
        (place(&raw.burst), "burst"),
        (place(&raw.parts), "parts"),
    ];
    for (span, name) in spans {
        if let (Some(span), None) = (span, &raw.period) {
            let sentence = format!("flow {} has no period; {name} expects one", one.name);
            return Err(file.fail(&span, sentence));
        }
    }
    match (&raw.jitter, &raw.period) {
        (Some(jitter), Some(period)) if jitter.value > period.value => {
            let expected = "at most the period, so that requests stay in their order";
            Err(jitter.wrong(file, expected))
        }
        _ => Ok(()),
    }
}

/// Keys that say nothing about this function or about a flow that follows another.
fn allowed_keys(file: &Text<'_>, one: &Named<'_>, follows: bool) -> Result<(), Mistake> {
    use Function::{Busy, Echo, Foreign, G711Decode, G711Encode, Log};
    let raw = one.raw;
    let span = |key: Option<Range<usize>>, name, only: &'static [Function]| (key, name, only);
    let by_function = [
        span(place(&raw.law), "law", &[G711Encode, G711Decode]),
        span(place(&raw.busy), "busy", &[Busy]),
        span(place(&raw.input), "input", &[G711Encode, Foreign]),
        span(place(&raw.output), "output", &[G711Decode]),
        span(place(&raw.response), "response", &[Busy, Log, Foreign]),
        span(place(&raw.parts), "parts", &[Echo, Busy, G711Encode, G711Decode, Foreign]),
    ];
    for (key, name, only) in by_function {
        if let (Some(span), false) = (key, only.contains(&one.function)) {
            let names = listed(only.iter().map(|function| function.name()));
            let sentence = format!(
                "{name} does not go with function {}; expected it only with {names}",
                one.called
            );
            return Err(file.fail(&span, sentence));
        }
    }
    let own = [
        (place(&raw.request), "request"),
        (place(&raw.input), "input"),
        (place(&raw.period), "period"),
        (place(&raw.count), "count"),
        (place(&raw.depth), "depth"),
        (place(&raw.parts), "parts"),
        (place(&raw.jitter), "jitter"),
        (place(&raw.burst), "burst"),
        (place(&raw.arrives), "arrives"),
        (place(&raw.leaves), "leaves"),
        (place(&raw.sessions), "sessions"),
        (place(&raw.on), "on"),
        (place(&raw.off), "off"),
    ];
    for (key, name) in own {
        if let (Some(span), true) = (key, follows) {
            let sentence = format!(
                "{name} does not go with after; expected it only in the flow that begins the chain"
            );
            return Err(file.fail(&span, sentence));
        }
    }
    Ok(())
}

fn request(file: &Text<'_>, one: &Named<'_>, before: Option<&Flow>) -> Result<usize, Mistake> {
    let raw = one.raw;
    let bytes = match (before, &raw.request, one.function) {
        (Some(flow), _, _) => flow.response,
        (None, Some(bytes), _) => bytes.value,
        (None, None, Function::G711Encode) => DEFAULT_FRAME,
        (None, None, Function::Busy | Function::Log) => ORDER_BYTES,
        (None, None, Function::Echo | Function::G711Decode | Function::Foreign) => {
            return Err(missing(file, one, "request", "its bytes, or after"));
        }
    };
    let span = [&raw.request.as_ref().map(|at| &at.span), &raw.after.as_ref().map(|at| &at.span)]
        .into_iter()
        .find_map(|span| *span)
        .unwrap_or(&raw.span);
    match one.function {
        Function::G711Encode if bytes % 2 != 0 => {
            let sentence = format!(
                "requests of flow {} have {bytes} bytes; expected an even number, two for each \
                 sample",
                one.name
            );
            Err(file.fail(span, sentence))
        }
        Function::G711Encode if before.is_none() && raw.input.is_none() => {
            Err(missing(file, one, "input", "a WAV file, or after"))
        }
        Function::Busy | Function::Log if bytes < ORDER_BYTES => {
            let expected = format!(
                "at least {ORDER_BYTES} for function {}, which says in them what to do",
                one.called
            );
            Err(file.wrong("flow.request", span, &expected))
        }
        _ => Ok(bytes),
    }
}

fn work(file: &Text<'_>, one: &Named<'_>, before: Option<&Flow>) -> Result<Work, Mistake> {
    let raw = one.raw;
    let law = raw.law.as_ref().map(|law| law.value);
    Ok(match one.function {
        Function::Foreign => Work::Foreign(Foreign {
            file: beside(file, raw.library.as_ref().map_or("", |path| &path.value)),
            function: raw.function.as_ref().map_or(String::new(), |name| name.value.clone()),
        }),
        Function::Echo => Work::Echo,
        Function::Log => Work::Log,
        Function::G711Encode => Work::Encode(law.unwrap_or(Law::A)),
        Function::Busy => match &raw.busy {
            Some(time) => Work::Busy(time.value),
            None => return Err(missing(file, one, "busy", "the time to work")),
        },
        Function::G711Decode => {
            let written = match before.map(|flow| &flow.work) {
                Some(Work::Encode(law)) => Some(*law),
                _ => None,
            };
            match (&raw.law, written) {
                (Some(law), Some(written)) if law.value != written => {
                    let expected = format!("\"{}\", the law of the flow before it", written.name());
                    return Err(law.wrong(file, &expected));
                }
                _ => Work::Decode(law.or(written).unwrap_or(Law::A)),
            }
        }
    })
}

fn missing(file: &Text<'_>, one: &Named<'_>, key: &str, what: &str) -> Mistake {
    let function = one.called;
    file.fail(
        &one.raw.span,
        format!("flow {} has no {key}; function {function} expects {what}", one.name),
    )
}

fn place<T>(key: &Option<At<T>>) -> Option<Range<usize>> {
    key.as_ref().map(|at| at.span.clone())
}
