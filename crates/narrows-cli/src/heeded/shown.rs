//! The command line as users see it: no command shows an option of all commands, or of all benches,
//! that it refuses in every way in which it runs. Help, manual pages and completions come from
//! here.

use super::{Heeded, TABLE, heeds};
use crate::flags::Flags;
use clap::{Arg, Command, CommandFactory, FromArgMatches};
use std::ffi::OsString;

/// The command line that was given.
///
/// # Errors
/// Help and version, if they are asked for, or what is wrong with the command line.
pub fn parse<T: Into<OsString> + Clone>(
    arguments: impl IntoIterator<Item = T>,
) -> Result<Flags, clap::Error> {
    let mut command = definition();
    let mut given = command.try_get_matches_from_mut(arguments)?;
    Flags::from_arg_matches_mut(&mut given).map_err(|error| error.format(&mut command))
}

/// The definition of the command line and its help: what a command refuses is hidden there, and
/// still understood.
pub fn definition() -> Command {
    handing(Flags::command(), &|arg, refused| refused.then(|| arg.clone().hide(true)))
}

/// The definition for completions, which offer what is hidden too: what a command refuses is not in
/// it.
pub fn of_completions() -> Command {
    local(handing(Flags::command(), &|arg, refused| (!refused).then(|| arg.clone())))
}

/// Gives each command, of the options that it has from those above it, what `give` makes of one
/// that it refuses, or of one that it does not. `clap` gives it the others.
fn handing(command: Command, give: &dyn Fn(&Arg, bool) -> Option<Arg>) -> Command {
    let global = globals(&command);
    command.mut_subcommands(|sub| handed(sub, "", &global, give))
}

fn handed(
    command: Command,
    group: &str,
    inherited: &[Arg],
    give: &dyn Fn(&Arg, bool) -> Option<Arg>,
) -> Command {
    let name = [group, command.get_name()].join(" ").trim_start().to_owned();
    let passed = [inherited, &globals(&command)].concat();
    let given = inherited.iter().filter_map(|arg| give(arg, is_refused(&name, arg)));
    command.args(given).mut_subcommands(|sub| handed(sub, &name, &passed, give))
}

/// The options of a command that its subcommands have too.
fn globals(command: &Command) -> Vec<Arg> {
    command.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect()
}

/// Whether a command, and each of its subcommands, refuses an option in every way in which it runs.
fn is_refused(command: &str, arg: &Arg) -> bool {
    let Some(option) = Heeded::ALL.into_iter().find(|one| arg.get_id() == one.id()) else {
        return false;
    };
    let all = TABLE.iter().flat_map(|(commands, ..)| commands.iter());
    let mut meant = all.filter(|one| {
        one.strip_prefix(command).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    });
    !meant.any(|one| heeds(one, None, option))
}

/// A command that gives its subcommands no options.
fn local(command: Command) -> Command {
    command.mut_args(|arg| arg.global(false)).mut_subcommands(local)
}
