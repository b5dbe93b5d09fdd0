//! Manual pages and completions, from the one definition of the flags.

use crate::base::failure::{Failure, Kind};
use crate::base::output;
use crate::base::{offered, options};
use crate::flags::{Completions, Man};
use crate::heeded::shown;
use clap_complete::Shell;
use std::path::Path;

/// `narrows man`: the main page to the screen, or every page into a directory.
///
/// # Errors
/// [`Kind::Output`] if a page cannot be written.
pub fn man(args: &Man) -> Result<(), Failure> {
    let Some(directory) = &args.out else {
        let main = shown::definition().disable_help_subcommand(true);
        return output::print(&render(main, "narrows")?);
    };
    output::make_directory(directory)?;
    // Without a page of its own, `help` would be a reference to nothing.
    let mut main = shown::definition().disable_help_subcommand(true);
    main.build();
    pages(directory, &main, "narrows")
}

/// The page of a command, and those of its subcommands.
fn pages(directory: &Path, command: &clap::Command, name: &str) -> Result<(), Failure> {
    let page = render(command.clone(), name)?;
    output::write_file(&directory.join(format!("{name}.1")), &page)?;
    for sub in command.get_subcommands() {
        pages(directory, sub, &format!("{name}-{}", sub.get_name()))?;
    }
    Ok(())
}

/// `narrows completions SHELL`: the script to the screen.
///
/// # Errors
/// [`Kind::Output`] if it cannot be written.
pub fn completions(args: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut shown::of_completions(), "narrows", &mut script);
    if args.shell == Shell::Zsh {
        script = with_files(&script).into_bytes();
    }
    output::print(&script)
}

/// Offers files beside the words for which zsh would otherwise offer nothing else.
fn with_files(script: &[u8]) -> String {
    let mut script = String::from_utf8_lossy(script).into_owned();
    for words in [
        offered::workloads(),
        offered::flows(),
        offered::sweeps(),
        options::places(),
        offered::platforms(),
    ] {
        let words = words.join(" ");
        script = script.replace(&format!(":({words})"), &format!(":{{_files; compadd - {words}}}"));
    }
    script
}

fn render(command: clap::Command, title: &str) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .title(title.to_uppercase())
        .source(concat!("narrows ", env!("CARGO_PKG_VERSION")))
        .manual("Narrows")
        .render(&mut page)
        .map_err(|error| {
            Failure::new(
                Kind::Internal,
                format!("the manual page of {title} cannot be made: {error}"),
            )
        })?;
    Ok(parted(&String::from_utf8_lossy(&page)).into_bytes())
}

/// Divides what follows the help, which comes as one section called EXTRA: examples and exit codes,
/// whose lines are laid out already, have sections of their own, and words go to the description.
fn parted(page: &str) -> String {
    const SECTION: &str = "\n.SH ";
    let Some((before, rest)) = page.split_once(".SH EXTRA\n") else { return page.to_owned() };
    let (extra, after) = rest.split_at(rest.find(SECTION).map_or(rest.len(), |at| at + 1));
    let (mut words, mut sections) = (String::new(), String::new());
    for part in extra.trim_end().split("\n\n") {
        let (title, lines) = part.split_once('\n').unwrap_or((part, ""));
        match title {
            "Examples:" => sections += &format!(".SH EXAMPLES\n.nf\n{lines}\n.fi\n"),
            "Exit codes:" => sections += &format!(".SH \"EXIT STATUS\"\n.nf\n{lines}\n.fi\n"),
            _ => words += &format!(".PP\n{part}\n"),
        }
    }
    let described = before.find(".SH DESCRIPTION").unwrap_or(0);
    let end = before[described..].find(SECTION).map_or(before.len(), |at| described + at + 1);
    let (described, others) = before.split_at(end);
    [described, &words, others, &sections, after].concat()
}
