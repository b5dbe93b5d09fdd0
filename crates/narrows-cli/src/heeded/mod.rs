//! Which of the options that many commands take mean something to which command: one that would do
//! nothing is refused, and not [shown].

pub mod shown;
#[cfg(test)]
mod tests;

use crate::base::failure::{Failure, Kind};
use crate::base::options::{Cores, HOST};
use crate::experiments::bench::against::flags::Beside;
use crate::experiments::bench::flags::{Bench, Storm, Which};
use crate::flags::{Command, Flags};
use crate::formats::platform::flags::Platform;

/// An option of every command, or one of every bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heeded {
    Priority,
    LockMemory,
    Cores,
    Carrier,
    Json,
    /// Of every bench; a command that is none has it only if it heeds it.
    Trace,
    /// As [`Heeded::Trace`].
    Details,
}

use Heeded::{Carrier, Details, Json, LockMemory, Priority, Trace};

impl Heeded {
    const ALL: [Heeded; 7] = [Priority, LockMemory, Heeded::Cores, Carrier, Json, Trace, Details];

    /// How the definition of the command line names it.
    fn id(self) -> &'static str {
        match self {
            Priority => "priority",
            LockMemory => "lock_memory",
            Heeded::Cores => "cores",
            Carrier => "carrier",
            Json => "json",
            Trace => "trace",
            Details => "details",
        }
    }

    /// How users name it.
    fn name(self) -> String {
        format!("--{}", self.id().replace('_', "-"))
    }

    fn is_given(self, flags: &Flags) -> bool {
        let global = &flags.global;
        let bench = match &flags.command {
            Command::Bench(bench) => Some(bench),
            _ => None,
        };
        match self {
            Priority => global.priority.is_some(),
            LockMemory => global.lock_memory,
            Heeded::Cores => global.cores.is_some(),
            Carrier => global.carrier.is_some(),
            Json => global.json,
            Trace => bench.is_some_and(|bench| bench.trace.trace.is_some()),
            Details => bench.is_some_and(|bench| bench.details),
        }
    }
}

/// Where or how a command runs, as far as that decides what it heeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// On this machine, or nowhere in particular.
    Here,
    /// On a simulated chip.
    Chip,
    /// `calibrate --function`.
    Function,
    /// `bench storm --members`.
    Members,
    /// `bench tune --against host`.
    Host,
    /// `bench tune --against simulator`.
    Simulator,
}

use Way::{Chip, Function, Here, Host, Members, Simulator};

/// What nodes of this machine heed that are pinned.
const MACHINE: &[Heeded] = &[Priority, LockMemory, Heeded::Cores, Carrier, Json, Trace];
/// What a simulated chip heeds.
const CHIP: &[Heeded] = &[Heeded::Cores, Json, Trace, Details];
/// What a simulated chip heeds that says itself which cores run what.
const WHOLE_CHIP: &[Heeded] = &[Json, Trace, Details];
/// What simulations heed that are many at a time.
const MANY_CHIPS: &[Heeded] = &[Heeded::Cores, Json, Details];
/// What nodes of this machine heed.
const NODES: &[Heeded] = &[Heeded::Cores, Carrier, Json, Trace];
/// What nodes of this machine heed that are where the system puts them.
const FREE_NODES: &[Heeded] = &[Carrier, Json, Trace];
const CALLS: &[Heeded] = &[Priority, Heeded::Cores, Carrier, Json, Trace];
const NO_LINKS: &[Heeded] = &[Priority, LockMemory, Heeded::Cores, Json, Trace];

/// Commands, and what they heed in which way.
const TABLE: &[(&[&str], Way, &[Heeded])] = &[
    (&["run", "replay", "advise", "tune"], Here, MACHINE),
    (&["run", "replay", "advise", "tune"], Chip, CHIP),
    (&["calibrate"], Here, MACHINE),
    (&["calibrate"], Function, NO_LINKS),
    (&["sweep"], Here, CHIP),
    (&["voip", "gateway"], Here, CALLS),
    (&["doctor", "platform list", "platform check", "platform show"], Here, &[Json]),
    (&["compare", "why", "papers", "mcapi", "record", "ps"], Here, &[Json]),
    (&["top", "bridge", "view", "man", "completions"], Here, &[]),
    (&["bench bounds", "bench pingpong", "bench throughput", "bench phases"], Here, MACHINE),
    (&["bench bounds", "bench pingpong", "bench throughput", "bench phases"], Chip, CHIP),
    (&["bench sizes", "bench scaling", "bench mcapi"], Here, MACHINE),
    (&["bench sizes", "bench scaling", "bench mcapi"], Chip, CHIP),
    (&["bench limit"], Here, NO_LINKS),
    (&["bench storm"], Here, CALLS),
    (&["bench storm"], Members, FREE_NODES),
    (&["bench soak", "bench clients", "bench advise"], Here, NODES),
    (&["bench limit", "bench storm", "bench soak"], Chip, CHIP),
    (&["bench advise", "bench grid"], Chip, MANY_CHIPS),
    (&["bench tune"], Here, &[Json]),
    (&["bench tune"], Host, MACHINE),
    (&["bench tune"], Simulator, MANY_CHIPS),
    (&["bench sim"], Here, &[Json]),
    (&["bench sra", "bench susan"], Here, FREE_NODES),
    (&["bench sra", "bench susan"], Chip, WHOLE_CHIP),
    (&["bench t0", "bench t1", "bench t2", "bench t3"], Here, FREE_NODES),
    (&["bench t0", "bench t1", "bench t2", "bench t3"], Chip, WHOLE_CHIP),
    (&["bench t4", "bench t5", "bench t6"], Here, FREE_NODES),
    (&["bench t4", "bench t5", "bench t6"], Chip, WHOLE_CHIP),
];

/// Whether a command heeds an option, in one way or in any.
fn heeds(command: &str, way: Option<Way>, option: Heeded) -> bool {
    TABLE.iter().any(|(commands, of, heeded)| {
        commands.contains(&command) && way.is_none_or(|way| way == *of) && heeded.contains(&option)
    })
}

/// A command as it was given.
struct Given {
    name: String,
    way: Way,
    /// Whether it runs on a chip where it might run on this machine.
    on_chip: bool,
}

impl Given {
    fn always(name: &str, way: Way) -> Given {
        Given { name: name.to_owned(), way, on_chip: false }
    }

    /// What runs on this machine, or on a chip that is named.
    fn at(name: &str, on: Option<&str>) -> Given {
        let on_chip = on.is_some_and(|on| on != HOST);
        Given { name: name.to_owned(), way: if on_chip { Chip } else { Here }, on_chip }
    }

    fn of(command: &Command) -> Given {
        match command {
            Command::Run(run) => Given::at("run", run.place.platform()),
            Command::Bench(bench) => Given::bench(&bench.which),
            Command::Doctor(_) => Given::always("doctor", Here),
            Command::Platform { what } => {
                let what = match what {
                    Platform::List => "list",
                    Platform::Check(_) => "check",
                    Platform::Show(_) => "show",
                };
                Given::always(&format!("platform {what}"), Here)
            }
            Command::Calibrate(args) if args.function.is_some() => {
                Given::always("calibrate", Function)
            }
            Command::Calibrate(_) => Given::always("calibrate", Here),
            Command::Sweep(_) => Given::always("sweep", Here),
            Command::Advise(args) => Given::at("advise", Some(&args.on)),
            Command::Tune(args) => Given::at("tune", Some(&args.on)),
            Command::Compare(_) => Given::always("compare", Here),
            Command::Why(_) => Given::always("why", Here),
            Command::Papers(_) => Given::always("papers", Here),
            Command::Mcapi(_) => Given::always("mcapi", Here),
            Command::Voip(_) => Given::always("voip", Here),
            Command::Gateway(_) => Given::always("gateway", Here),
            Command::Record(_) => Given::always("record", Here),
            Command::Replay(args) => Given::at("replay", args.place.platform()),
            Command::Ps(_) => Given::always("ps", Here),
            Command::Top(_) => Given::always("top", Here),
            Command::Bridge(_) => Given::always("bridge", Here),
            Command::View(_) => Given::always("view", Here),
            Command::Man(_) => Given::always("man", Here),
            Command::Completions(_) => Given::always("completions", Here),
        }
    }

    fn bench(which: &Which) -> Given {
        let name = format!("bench {}", which.name());
        let place = which.common().place;
        let on = place.platform();
        match which {
            Which::Storm(Storm { members: Some(_), .. }) if on.is_none() => {
                Given::always(&name, Members)
            }
            Which::Advise(args) if args.place.on.as_deref() == Some(HOST) => {
                Given::always(&name, Here)
            }
            Which::Advise(_) | Which::Grid(_) => Given::always(&name, Chip),
            Which::Tune(args) => match args.against.against {
                Some(Beside::Simulator) => Given::always(&name, Simulator),
                Some(Beside::Host) => Given::always(&name, Host),
                None => Given::always(&name, Here),
            },
            Which::Sra(args) if args.on != HOST => Given::always(&name, Chip),
            Which::Sim(_) | Which::Sra(_) | Which::Clients(_) => Given::always(&name, Here),
            _ => Given::at(&name, on),
        }
    }

    /// How a sentence names it.
    fn called(&self) -> String {
        match self.way {
            Function => format!("{} --function", self.name),
            _ => self.name.clone(),
        }
    }

    /// Why an option does nothing here.
    fn refusal(&self, option: Heeded, bench: Option<&Bench>) -> String {
        let (flag, called) = (option.name(), self.called());
        match option {
            Details => {
                let instead = match bench.map(|bench| &bench.which) {
                    _ if !heeds(&self.name, None, Details) => {
                        ", and this bench is of this machine: leave it out"
                    }
                    Some(Which::Tune(_)) => ": add --against simulator, or leave it out",
                    _ => ": name one with --on, or leave it out",
                };
                format!("{flag} says what a simulated chip did{instead}")
            }
            Trace if self.on_chip => {
                format!("{flag} says nothing to {called} on a chip: leave it or --on out")
            }
            Priority | LockMemory | Carrier if self.on_chip => {
                format!("{flag} is for this machine, not for a chip: leave it or --on out")
            }
            _ => format!("{flag} says nothing to {called}: leave it out"),
        }
    }
}

/// Whether every option of the table means something to the command that was given.
///
/// # Errors
/// [`Kind::Usage`] with the first that does not.
pub fn check(flags: &Flags) -> Result<(), Failure> {
    let given = Given::of(&flags.command);
    let bench = match &flags.command {
        Command::Bench(bench) => Some(bench),
        _ => None,
    };
    let silent = |one: &Heeded| one.is_given(flags) && !heeds(&given.name, Some(given.way), *one);
    if let Some(option) = Heeded::ALL.into_iter().find(silent) {
        return Err(Failure::new(Kind::Usage, given.refusal(option, bench)));
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
