//! Manual pages and completions, from the one definition of the flags.

use crate::base::failure::{Failure, Kind};
use crate::base::output;
use crate::base::{offered, options};
use crate::flags::{Completions, Man, definition};
use clap_complete::Shell;
use std::path::Path;

/// `narrows man`: the main page to the screen, or every page into a directory.
///
/// # Errors
/// [`Kind::Output`] if a page cannot be written.
pub fn man(args: &Man) -> Result<(), Failure> {
    let Some(directory) = &args.out else {
        let main = definition().disable_help_subcommand(true);
        return output::print(&render(main, "narrows")?);
    };
    output::make_directory(directory)?;
    // Without a page of its own, `help` would be a reference to nothing.
    let mut main = definition().disable_help_subcommand(true);
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
    clap_complete::generate(args.shell, &mut definition(), "narrows", &mut script);
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
    // What follows the help becomes one section called EXTRA; its parts have names of their own,
    // and lines that are laid out already.
    let page = String::from_utf8_lossy(&page)
        .replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n.nf\n")
        .replace("\nExit codes:\n", "\n.fi\n.SH \"EXIT STATUS\"\n.nf\n")
        .replace("\n.SH VERSION\n", "\n.fi\n.SH VERSION\n");
    Ok(page.into_bytes())
}
