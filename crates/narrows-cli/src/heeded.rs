//! Which of the options of every command mean something to which command: one that would do nothing
//! is refused.

use crate::base::failure::{Failure, Kind};
use crate::base::options::{Cores, Global, HOST, Place, TraceFile};
use crate::experiments::bench::against::flags::Beside;
use crate::experiments::bench::flags::{Storm, Which};
use crate::flags::{Command, Flags};
use crate::formats::platform::flags::Platform;

/// An option of every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heeded {
    Priority,
    LockMemory,
    Cores,
    Carrier,
    Json,
}

use Heeded::{Carrier, Json, LockMemory, Priority};

impl Heeded {
    const ALL: [Heeded; 5] = [Priority, LockMemory, Heeded::Cores, Carrier, Json];

    fn name(self) -> &'static str {
        match self {
            Priority => "--priority",
            LockMemory => "--lock-memory",
            Heeded::Cores => "--cores",
            Carrier => "--carrier",
            Json => "--json",
        }
    }

    fn is_given(self, global: &Global) -> bool {
        match self {
            Priority => global.priority.is_some(),
            LockMemory => global.lock_memory,
            Heeded::Cores => global.cores.is_some(),
            Carrier => global.carrier.is_some(),
            Json => global.json,
        }
    }
}

/// What a simulated chip heeds.
const CHIP: &[Heeded] = &[Heeded::Cores, Json];

/// A command as it was given, and what it heeds.
struct Given {
    name: String,
    heeds: &'static [Heeded],
    /// Whether it runs on a chip where it might run on this machine.
    on_chip: bool,
}

impl Given {
    fn always(name: &str, heeds: &'static [Heeded]) -> Given {
        Given { name: name.to_owned(), heeds, on_chip: false }
    }

    /// What heeds all that is `here` on this machine, and what there is to say to a chip on one.
    fn at(name: &str, here: &'static [Heeded], on: Option<&str>) -> Given {
        match on.is_some_and(|on| on != HOST) {
            true => Given { name: name.to_owned(), heeds: CHIP, on_chip: true },
            false => Given::always(name, here),
        }
    }

    fn of(command: &Command) -> Given {
        let all = &Heeded::ALL;
        match command {
            Command::Run(run) => Given::at("run", all, run.place.platform()),
            Command::Bench(bench) => Given::bench(&bench.which),
            Command::Doctor(_) => Given::always("doctor", &[Json]),
            Command::Platform { what } => {
                let what = match what {
                    Platform::List => "list",
                    Platform::Check(_) => "check",
                    Platform::Show(_) => "show",
                };
                Given::always(&format!("platform {what}"), &[Json])
            }
            Command::Calibrate(args) if args.function.is_some() => {
                let heeds = &[Priority, LockMemory, Heeded::Cores, Json];
                Given::always("calibrate --function", heeds)
            }
            Command::Calibrate(_) => Given::always("calibrate", all),
            Command::Sweep(_) => Given::always("sweep", CHIP),
            Command::Advise(args) => Given::at("advise", all, Some(&args.on)),
            Command::Tune(args) => Given::at("tune", all, Some(&args.on)),
            Command::Compare(_) => Given::always("compare", &[Json]),
            Command::Why(_) => Given::always("why", &[Json]),
            Command::Papers(_) => Given::always("papers", &[Json]),
            Command::Mcapi(_) => Given::always("mcapi", &[Json]),
            Command::Voip(_) => Given::always("voip", &[Priority, Heeded::Cores, Carrier, Json]),
            Command::Gateway(_) => {
                Given::always("gateway", &[Priority, Heeded::Cores, Carrier, Json])
            }
            Command::Record(_) => Given::always("record", &[Json]),
            Command::Replay(args) => Given::at("replay", all, args.place.platform()),
            Command::Ps(_) => Given::always("ps", &[Json]),
            Command::Top(_) => Given::always("top", &[]),
            Command::Bridge(_) => Given::always("bridge", &[]),
            Command::View(_) => Given::always("view", &[]),
            Command::Man(_) => Given::always("man", &[]),
            Command::Completions(_) => Given::always("completions", &[]),
        }
    }

    fn bench(which: &Which) -> Given {
        let place: Place = which.common().place;
        let on = place.platform();
        let name = format!("bench {}", which.name());
        let nodes = &[Heeded::Cores, Carrier, Json];
        match which {
            Which::Bounds(_)
            | Which::Pingpong(_)
            | Which::Throughput(_)
            | Which::Phases(_)
            | Which::Sizes(_)
            | Which::Scaling(_)
            | Which::Mcapi(_) => Given::at(&name, &Heeded::ALL, on),
            Which::Limit(_) => Given::at(&name, &[Priority, LockMemory, Heeded::Cores, Json], on),
            Which::Storm(Storm { members: Some(_), .. }) => Given::at(&name, &[Carrier, Json], on),
            Which::Storm(_) => Given::at(&name, &[Priority, Heeded::Cores, Carrier, Json], on),
            Which::Soak(_) => Given::at(&name, nodes, on),
            Which::Clients(_) => Given::always(&name, nodes),
            Which::Advise(args) if args.place.on.as_deref() == Some(HOST) => {
                Given::always(&name, nodes)
            }
            Which::Advise(_) | Which::Grid(_) => Given::always(&name, CHIP),
            Which::Tune(args) => match args.against.against {
                Some(Beside::Simulator) => Given::always(&name, CHIP),
                Some(Beside::Host) => Given::always(&name, &Heeded::ALL),
                None => Given::always(&name, &[Json]),
            },
            Which::Sra(args) if args.on == HOST => Given::always(&name, &[Carrier, Json]),
            Which::Sim(_) | Which::Sra(_) => Given::always(&name, &[Json]),
            Which::Susan(_)
            | Which::T0(_)
            | Which::T1(_)
            | Which::T2(_)
            | Which::T3(_)
            | Which::T4(_)
            | Which::T5(_)
            | Which::T6(_) => match on {
                Some(_) => Given { name, heeds: &[Json], on_chip: true },
                None => Given::always(&name, &[Carrier, Json]),
            },
        }
    }
}

/// The trace that is asked for, and whether what was asked for is traced.
fn trace<'f>(command: &'f Command, given: &Given) -> (&'f TraceFile, bool) {
    match command {
        Command::Run(run) => (&run.trace, true),
        Command::Replay(replay) => (&replay.trace, true),
        Command::Voip(voip) => (&voip.trace, true),
        Command::Gateway(gateway) => (&gateway.trace, true),
        Command::Bench(bench) => {
            // On a chip too, or by nodes of this machine: something carries links there.
            let on_both = matches!(
                bench.which,
                Which::Limit(_)
                    | Which::Bounds(_)
                    | Which::Pingpong(_)
                    | Which::Throughput(_)
                    | Which::Phases(_)
                    | Which::Sizes(_)
                    | Which::Scaling(_)
                    | Which::Mcapi(_)
                    | Which::Soak(_)
                    | Which::Sra(_)
                    | Which::Storm(_)
                    | Which::Susan(_)
                    | Which::T0(_)
                    | Which::T1(_)
                    | Which::T2(_)
                    | Which::T3(_)
                    | Which::T4(_)
                    | Which::T5(_)
                    | Which::T6(_)
            );
            (&bench.trace, on_both || given.heeds.contains(&Carrier))
        }
        _ => (&TraceFile { trace: None }, true),
    }
}

/// Whether every option that all commands take means something to the one that was given.
///
/// # Errors
/// [`Kind::Usage`] with the first that does not.
pub fn check(flags: &Flags) -> Result<(), Failure> {
    let given = Given::of(&flags.command);
    let silent = |one: &Heeded| one.is_given(&flags.global) && !given.heeds.contains(one);
    if let Some(flag) = Heeded::ALL.into_iter().find(silent) {
        let (name, here) = (flag.name(), matches!(flag, Priority | LockMemory | Carrier));
        let text = match given.on_chip && here {
            true => format!("{name} is for this machine, not for a chip: leave it or --on out"),
            false => format!("{name} says nothing to {}: leave it out", given.name),
        };
        return Err(Failure::new(Kind::Usage, text));
    }
    if let (TraceFile { trace: Some(_) }, false) = trace(&flags.command, &given) {
        let text = match given.on_chip {
            true => {
                format!("--trace says nothing to {} on a chip: leave it or --on out", given.name)
            }
            false => format!("--trace says nothing to {}: leave it out", given.name),
        };
        return Err(Failure::new(Kind::Usage, text));
    }
    let one = flags.global.cores.is_some_and(Cores::are_one);
    let may = match &flags.command {
        Command::Run(_) => true,
        Command::Bench(bench) => matches!(bench.which, Which::Pingpong(_)),
        _ => false,
    };
    if one && !may {
        let text = "--cores names one core twice, and this measures what spins on two: only 'run' \
                    and 'bench pingpong' can be had on one";
        return Err(Failure::new(Kind::Usage, text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    const OPTIONS: [&str; 5] =
        ["--priority 5", "--lock-memory", "--cores 0,1", "--carrier stream", "--json"];

    /// Each command, and which of the options it takes, in the order above.
    const TABLE: [(&str, &str); 46] = [
        ("run", "PLCFJ"),
        ("run --on host", "PLCFJ"),
        ("run --on davinci", "CJ"),
        ("doctor", "J"),
        ("platform list", "J"),
        ("platform show davinci", "J"),
        ("platform check x.toml", "J"),
        ("calibrate --out x.toml", "PLCFJ"),
        ("calibrate --function echo", "PLCJ"),
        ("sweep memory", "CJ"),
        ("advise", "PLCFJ"),
        ("advise --on davinci", "CJ"),
        ("tune", "PLCFJ"),
        ("tune --on davinci", "CJ"),
        ("compare a.json b.json", "J"),
        ("why x.pftrace", "J"),
        ("papers", "J"),
        ("mcapi --on davinci 0=x.so", "J"),
        ("voip", "PCFJ"),
        ("gateway", "PCFJ"),
        ("record --out x", "J"),
        ("replay x", "PLCFJ"),
        ("replay x --on davinci", "CJ"),
        ("ps", "J"),
        ("top", ""),
        ("view a.pftrace", ""),
        ("man", ""),
        ("completions bash", ""),
        ("bench limit", "PLCJ"),
        ("bench limit --on davinci", "CJ"),
        ("bench pingpong", "PLCFJ"),
        ("bench sizes --on davinci", "CJ"),
        ("bench storm", "PCFJ"),
        ("bench storm --members 3", "FJ"),
        ("bench soak", "CFJ"),
        ("bench clients", "CFJ"),
        ("bench advise", "CJ"),
        ("bench advise --on host", "CFJ"),
        ("bench grid", "CJ"),
        ("bench tune", "J"),
        ("bench tune --against simulator", "CJ"),
        ("bench sim", "J"),
        ("bench susan", "FJ"),
        ("bench susan --on bmm-clusters", "J"),
        ("bench t0", "FJ"),
        ("bench t5 --on davinci", "J"),
    ];

    #[test]
    fn an_option_that_does_nothing_is_refused() {
        for (command, takes) in TABLE {
            for (option, letter) in OPTIONS.into_iter().zip("PLCFJ".chars()) {
                let line = format!("narrows {command} {option}");
                let flags = Flags::try_parse_from(line.split(' ')).expect("a command line");
                match (check(&flags), takes.contains(letter)) {
                    (Ok(()), true) => {}
                    (Err(failure), false) => {
                        assert_eq!(failure.kind, Kind::Usage, "{line}");
                        let said = failure.to_string();
                        let name = option.split(' ').next().expect("a name");
                        assert!(said.starts_with(name) && said.contains("leave it"), "{said}");
                    }
                    (found, _) => panic!("{line}: {found:?}"),
                }
            }
        }
    }
}
