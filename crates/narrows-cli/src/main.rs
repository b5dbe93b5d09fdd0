//! The command `narrows`.
#![deny(unsafe_code)]

use clap::Parser;
use narrows_cli::answers::doctor::flags::Doctor;
use narrows_cli::answers::{advise, compare, doctor, ps, tune, why};
use narrows_cli::base::checks;
use narrows_cli::base::failure::{Failure, Kind};
use narrows_cli::base::machine::{Machine, Root};
use narrows_cli::base::options::Global;
use narrows_cli::base::output;
use narrows_cli::base::report::Report;
use narrows_cli::base::trace::{traced, traced_here};
use narrows_cli::experiments::bench::susan;
use narrows_cli::experiments::run::flags::Run;
use narrows_cli::experiments::{
    bench, calibrate, gateway, mcapi, papers, replay, run, sweep, voip,
};
use narrows_cli::flags::{Command, Flags, Inner, Process};
use narrows_cli::formats::{platform, workload};
use narrows_cli::heeded::{self, shown};
use narrows_cli::manual;
use narrows_cli::rig::callee;
use narrows_cli::services::{bridge, record, view};
use narrows_host::Carrier;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{self, ExitCode};

fn main() -> ExitCode {
    let done = match Inner::is_meant(std::env::args_os().nth(1).as_deref()) {
        true => Inner::try_parse().map(|inner| serve(&inner)),
        false => shown::parse(arguments()).map(|flags| dispatch(&flags)),
    };
    let done = done.unwrap_or_else(|error| refuse(&error));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Where standard error is closed, the exit code still says what happened.
            let _ = writeln!(std::io::stderr(), "narrows: {failure}");
            ExitCode::from(failure.kind.code())
        }
    }
}

/// The command line; the help of `help`, which has no options, in the way that it can be asked for.
fn arguments() -> Vec<OsString> {
    let mut all: Vec<OsString> = std::env::args_os().collect();
    if let [_, help, option] = all.as_mut_slice()
        && help == "help"
        && (option == "--help" || option == "-h")
    {
        *option = "help".into();
    }
    all
}

/// Help and version, or what is wrong with the command line.
fn refuse(error: &clap::Error) -> Result<(), Failure> {
    if !error.use_stderr() {
        return output::print(error.to_string().as_bytes());
    }
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    Err(Failure::new(Kind::Usage, text.trim_end()))
}

/// Starts this command again with the carrier that was asked for in the environment, from where all
/// of its processes and nodes take it.
fn carried_by(carrier: Carrier) -> Result<(), Failure> {
    let name = carrier.name();
    if std::env::var_os(Carrier::VARIABLE).is_some_and(|set| set == name) {
        return Ok(());
    }
    let failed = |error| Failure::new(Kind::Internal, format!("cannot start again: {error}"));
    let mut again = process::Command::new(std::env::current_exe().map_err(failed)?);
    again.args(std::env::args_os().skip(1)).env(Carrier::VARIABLE, name);
    Err(failed(again.exec()))
}

fn dispatch(flags: &Flags) -> Result<(), Failure> {
    heeded::check(flags)?;
    if let Some(carrier) = flags.global.carrier {
        carried_by(carrier)?;
    }
    match &flags.command {
        Command::Run(args) => carry(&flags.global, args),
        Command::Doctor(args) => examine(&flags.global, args),
        Command::Platform { what } => platform::run(&flags.global, what),
        Command::Calibrate(args) => calibrate::run(&flags.global, args),
        Command::Sweep(args) => sweep::run(&flags.global, args),
        Command::Advise(args) => advise::run(&flags.global, args),
        Command::Tune(args) => tune::run(&flags.global, args),
        Command::Compare(args) => compare::run(&flags.global, args),
        Command::Why(args) => why::run(&flags.global, args),
        Command::Papers(args) => papers::run(&flags.global, args),
        Command::Mcapi(args) => mcapi::run(&flags.global, args),
        Command::Voip(args) => {
            traced_here(&args.trace)?;
            voip::run(&flags.global, args)
        }
        Command::Gateway(args) => {
            traced_here(&args.trace)?;
            gateway::run(&flags.global, args)
        }
        Command::Record(args) => record::run(&flags.global, args),
        Command::Replay(args) => replay::run(&flags.global, args),
        Command::Ps(args) => ps::run(&flags.global, args),
        Command::Top(args) => ps::top(args),
        Command::Bridge(args) => bridge::run(args),
        Command::View(args) => view::run(args),
        Command::Man(args) => manual::man(args),
        Command::Completions(args) => manual::completions(args),
        Command::Bench(args) => bench::run(&flags.global, args),
    }
}

/// Runs a workload: of flows, or of an image that is cut among CPUs.
fn carry(global: &Global, args: &Run) -> Result<(), Failure> {
    let text = workload::text(&args.workload)?;
    match susan::file::parse(&args.workload, &text)? {
        Some(file) if args.place.platform().is_none() => {
            traced_here(&args.trace)?;
            susan::file::run(global, args, file)
        }
        Some(file) => traced(global, &args.trace, |global| susan::file::run(global, args, file)),
        None if args.place.platform().is_none() => {
            traced_here(&args.trace)?;
            run::run(global, args, &text)
        }
        None => traced(global, &args.trace, |global| run::run(global, args, &text)),
    }
}

fn serve(inner: &Inner) -> Result<(), Failure> {
    match &inner.process {
        Process::Callee(args) => callee::run(&inner.global, args),
        Process::Partner(args) => bench::traffic::run(&inner.global, args),
    }
}

fn examine(global: &Global, args: &Doctor) -> Result<(), Failure> {
    let memory = if args.memory { doctor::parts()? } else { Vec::new() };
    let root = Root::default();
    let machine = Machine::look(&root);
    let findings = checks::examine(&root);
    if global.json {
        let found = findings.into_iter().map(doctor::Row::Finding);
        let rows = found.chain(memory.into_iter().map(doctor::Row::Memory)).collect();
        return Report::new("doctor", machine, rows).print();
    }
    let mut text = doctor::text(&machine, &findings);
    if args.memory {
        text.push('\n');
        text.push_str(&doctor::memory_text(&memory));
    }
    output::print(text.as_bytes())
}
