//! How programs fared, and what blocks of clusters signalled, as rows and as text.

use super::counted::Counted;
use crate::base::table::{Align, Table, number, wrap};
use narrows_sim::cpu::cluster::{Mechanism, Signalled};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// How a program fared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Program {
    pub core: usize,
    pub program: String,
    pub arguments: Vec<String>,
    pub returned: i32,
    pub ended_ms: f64,
    /// What its functions took that the command line names.
    pub computed_ms: f64,
    pub functions: Vec<Function>,
}

/// A function of a program that the command line names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Function {
    pub function: String,
    pub calls: u64,
    pub computed_ms: f64,
}

impl Function {
    pub fn of(counted: &Counted) -> Function {
        let Counted { function, time, .. } = counted;
        let calls = counted.calls();
        Function { function: function.clone(), calls, computed_ms: (*time * calls).micros() / 1e3 }
    }
}

/// What came of one run.
pub(super) struct Ran {
    /// What moved data, if the chip has clusters.
    pub mechanism: Option<Mechanism>,
    pub programs: Vec<Program>,
    /// Bytes that went into the network.
    pub network_bytes: u64,
    pub signalled: Vec<Signalled>,
}

/// A row of a report.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Row {
    Program {
        #[serde(skip_serializing_if = "Option::is_none")]
        mechanism: Option<&'static str>,
        #[serde(flatten)]
        program: Program,
    },
    Network {
        mechanism: &'static str,
        network_bytes: u64,
    },
    Signal {
        mechanism: &'static str,
        at_us: f64,
        cluster: usize,
        cpu: Option<u8>,
        port: Option<u8>,
        signalled: String,
    },
}

/// What data goes over, for people.
pub(super) fn over(mechanism: Mechanism) -> &'static str {
    match mechanism {
        Mechanism::Dma => "FIFOs in software and the DMA (dma)",
        Mechanism::Bmm => "the buffer manager (bmm)",
    }
}

/// The rows of a run.
pub(super) fn rows(ran: &Ran) -> impl Iterator<Item = Row> + '_ {
    let name = ran.mechanism.map(Mechanism::name);
    let program = move |one: &Program| Row::Program { mechanism: name, program: one.clone() };
    let network_bytes = ran.network_bytes;
    let network = name.map(|mechanism| Row::Network { mechanism, network_bytes });
    let signal = move |one: &Signalled| Row::Signal {
        mechanism: name.unwrap_or_default(),
        at_us: one.at.micros(),
        cluster: one.cluster,
        cpu: one.noted.cpu,
        port: one.noted.port,
        signalled: one.noted.fault.to_string(),
    };
    ran.programs.iter().map(program).chain(network).chain(ran.signalled.iter().map(signal))
}

/// Runs as text.
pub(super) fn text(all: &[Ran]) -> String {
    let clusters = all.iter().any(|ran| ran.mechanism.is_some());
    let mut summary = String::new();
    for ran in all {
        let last = ran.programs.iter().map(|one| one.ended_ms).fold(0.0, f64::max);
        let well = ran.programs.iter().filter(|one| one.returned == 0).count();
        let over = ran.mechanism.map(|one| format!(" over {}", over(one))).unwrap_or_default();
        let count = ran.programs.len();
        let line = format!("{well} of {count} programs ended well{over}, after {last:.3} ms.");
        summary += &wrap("", &line);
    }
    let mut columns = vec![
        ("program", Align::Left),
        ("core", Align::Right),
        ("returned", Align::Right),
        ("ended at ms", Align::Right),
    ];
    if clusters {
        columns.insert(0, ("mechanism", Align::Left));
        columns.push(("network B", Align::Right));
    }
    let mut table = Table::new(&columns);
    for ran in all {
        for one in &ran.programs {
            let words = [&one.program].into_iter().chain(&one.arguments).cloned();
            let words = words.collect::<Vec<_>>().join(" ");
            let (core, returned) = (one.core.to_string(), one.returned.to_string());
            let mut row = vec![words, core, returned, number(one.ended_ms)];
            if let Some(mechanism) = ran.mechanism {
                row.insert(0, mechanism.name().to_owned());
                row.push(ran.network_bytes.to_string());
            }
            table.row(row);
        }
    }
    let mut signalled = String::new();
    for ran in all {
        for one in &ran.signalled {
            let of = |what: &str, number: Option<u8>| {
                number.map(|number| format!(", {what} {number}")).unwrap_or_default()
            };
            let (cpu, port) = (of("CPU", one.noted.cpu), of("port", one.noted.port));
            // It cannot fail.
            let _ = writeln!(
                signalled,
                "{:.3} us, cluster {}{cpu}{port}: {}",
                one.at.micros(),
                one.cluster,
                one.noted.fault
            );
        }
    }
    if !signalled.is_empty() {
        signalled.insert_str(0, "\nSignalled by the blocks of clusters:\n");
    }
    summary + "\n" + &table.render() + &computed(all) + &signalled
}

/// What functions took, as text: none if the command line names none.
fn computed(all: &[Ran]) -> String {
    let mut table = Table::new(&[
        ("function", Align::Left),
        ("core", Align::Right),
        ("over", Align::Left),
        ("calls", Align::Right),
        ("computed ms", Align::Right),
    ]);
    let (mut named, mut called) = (BTreeSet::new(), BTreeSet::new());
    for ran in all {
        let over = ran.mechanism.map_or("memory", Mechanism::name);
        for program in &ran.programs {
            for Function { function, calls, computed_ms } in &program.functions {
                named.insert(function);
                if *calls == 0 {
                    continue;
                }
                called.insert(function);
                let (core, calls) = (program.core.to_string(), calls.to_string());
                let computed = number(*computed_ms);
                table.row(vec![function.clone(), core, over.to_owned(), calls, computed]);
            }
        }
    }
    let mut text = String::new();
    if !called.is_empty() {
        text += &format!("\n{}", table.render());
    }
    for function in named.difference(&called) {
        let flag = "a program tells of them if it is compiled with -finstrument-functions";
        text += &format!("\n{}", wrap("", &format!("No call of {function} was counted; {flag}.")));
    }
    text
}
