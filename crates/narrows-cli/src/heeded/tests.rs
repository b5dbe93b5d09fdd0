use super::shown::{definition, of_completions, parse};
use super::*;

/// Each option, and its letter below. The last two are for benches.
const OPTIONS: [(&str, char); 7] = [
    ("--priority 5", 'P'),
    ("--lock-memory", 'L'),
    ("--cores 0,1", 'C'),
    ("--carrier stream", 'F'),
    ("--json", 'J'),
    ("--trace x", 'T'),
    ("--details", 'D'),
];

/// Each command in each way in which it runs, and which of the options it takes.
const CASES: &[(&str, &str)] = &[
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
    ("bridge", ""),
    ("view a.pftrace", ""),
    ("man", ""),
    ("completions bash", ""),
    ("bench limit", "PLCJT"),
    ("bench limit --on davinci", "CJTD"),
    ("bench bounds", "PLCFJT"),
    ("bench bounds --on davinci", "CJTD"),
    ("bench pingpong", "PLCFJT"),
    ("bench pingpong --on davinci", "CJTD"),
    ("bench throughput", "PLCFJT"),
    ("bench throughput --on bmm-clusters", "CJTD"),
    ("bench phases", "PLCFJT"),
    ("bench phases --on davinci", "CJTD"),
    ("bench sizes", "PLCFJT"),
    ("bench sizes --on davinci", "CJTD"),
    ("bench storm", "PCFJT"),
    ("bench storm --members 3", "FJT"),
    ("bench storm --on davinci", "CJTD"),
    ("bench soak", "CFJT"),
    ("bench soak --on davinci", "CJTD"),
    ("bench scaling", "PLCFJT"),
    ("bench scaling --on davinci", "CJTD"),
    ("bench clients", "CFJT"),
    ("bench mcapi", "PLCFJT"),
    ("bench mcapi --on davinci", "CJTD"),
    ("bench advise", "CJD"),
    ("bench advise --on host", "CFJT"),
    ("bench grid", "CJD"),
    ("bench tune", "J"),
    ("bench tune --against host", "PLCFJT"),
    ("bench tune --against simulator", "CJD"),
    ("bench sim", "J"),
    ("bench sra", "JTD"),
    ("bench sra --on host", "FJT"),
    ("bench susan", "FJT"),
    ("bench susan --on bmm-clusters", "JTD"),
    ("bench t0", "FJT"),
    ("bench t0 --on davinci", "JTD"),
    ("bench t1", "FJT"),
    ("bench t1 --on davinci", "JTD"),
    ("bench t2", "FJT"),
    ("bench t2 --on davinci", "JTD"),
    ("bench t3", "FJT"),
    ("bench t3 --on davinci", "JTD"),
    ("bench t4", "FJT"),
    ("bench t4 --on davinci", "JTD"),
    ("bench t5", "FJT"),
    ("bench t5 --on davinci", "JTD"),
    ("bench t6", "FJT"),
    ("bench t6 --on davinci", "JTD"),
];

/// The options that a command may have: all, or those of every command.
fn options(command: &str) -> impl Iterator<Item = (&'static str, char)> {
    let bench = command.starts_with("bench");
    OPTIONS.into_iter().filter(move |(_, letter)| bench || !"TD".contains(*letter))
}

/// How an option is named, without its value.
fn flag(option: &str) -> &str {
    option.split(' ').next().unwrap_or(option)
}

/// Each command that does something itself: its name, and its definition.
fn commands(definition: &clap::Command) -> Vec<(String, &clap::Command)> {
    let mut found = Vec::new();
    for sub in definition.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let name = sub.get_name().to_owned();
        match sub.has_subcommands() {
            false => found.push((name, sub)),
            true => found.extend(
                commands(sub).into_iter().map(|(below, of)| (format!("{name} {below}"), of)),
            ),
        }
    }
    found
}

/// Whether a command takes an option in one of the ways in which it runs.
fn is_taken(command: &str, letter: char) -> bool {
    let ways = CASES.iter().filter(|(line, _)| {
        line.strip_prefix(command).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    });
    let takes: Vec<&str> = ways.map(|(_, takes)| *takes).collect();
    assert!(!takes.is_empty(), "no case of {command}");
    takes.iter().any(|takes| takes.contains(letter))
}

#[test]
fn the_definition_is_sound() {
    definition().debug_assert();
    of_completions().debug_assert();
}

#[test]
fn an_option_that_does_nothing_is_refused() {
    for (command, takes) in CASES {
        for (option, letter) in options(command) {
            let line = format!("narrows {command} {option}");
            let flags = parse(line.split(' ')).expect("a command line");
            match (check(&flags), takes.contains(letter)) {
                (Ok(()), true) => {}
                (Err(failure), false) => {
                    assert_eq!(failure.kind, Kind::Usage, "{line}");
                    let said = failure.to_string();
                    assert!(said.starts_with(flag(option)), "{said}");
                    assert!(said.contains("leave it"), "{said}");
                }
                (found, _) => panic!("{line}: {found:?}"),
            }
        }
    }
}

/// What a command refuses in every way in which it runs is in neither its help nor its completions.
#[test]
fn only_options_that_may_do_something_are_shown() {
    let (definition, completions) = (definition(), of_completions());
    let (helped, offered) = (commands(&definition), commands(&completions));
    assert_eq!(helped.len(), offered.len());
    for ((command, _), (same, offered)) in helped.iter().zip(&offered) {
        assert_eq!(command, same);
        for ask in ["-h", "--help"] {
            let help = parse(format!("narrows {command} {ask}").split(' ')).unwrap_err();
            let help = help.to_string();
            let lines: Vec<&str> = help.lines().map(|line| flag(line.trim_start())).collect();
            for (option, letter) in options(command) {
                let shown = lines.contains(&flag(option));
                assert_eq!(shown, is_taken(command, letter), "{command} {ask}: {option}\n{help}");
            }
        }
        for (option, letter) in options(command) {
            let mut ids = offered.get_arguments().filter_map(clap::Arg::get_long);
            let is_offered = ids.any(|long| format!("--{long}") == flag(option));
            assert_eq!(is_offered, is_taken(command, letter), "{command}: {option}");
        }
    }
}

/// A line of help reaches to column 80 at most, and no word is alone in the middle of a paragraph:
/// what is laid out by hand must not be broken once more.
#[test]
fn help_fits_eighty_columns() {
    let definition = definition();
    let groups = definition.get_subcommands().filter(|sub| sub.has_subcommands());
    let mut names: Vec<String> = groups.map(|sub| sub.get_name().to_owned()).collect();
    names.push(String::new());
    names.extend(commands(&definition).into_iter().map(|(name, _)| name));
    let indent = |line: &str| line.len() - line.trim_start().len();
    for (name, of) in commands(&definition) {
        for line in of.get_after_help().map(ToString::to_string).unwrap_or_default().lines() {
            assert!(line.chars().count() <= 80, "narrows {name}: {line}");
        }
    }
    for name in names {
        for ask in ["-h", "--help"] {
            let line = format!("narrows {name} {ask}");
            let help = parse(line.split_whitespace()).unwrap_err().to_string();
            let lines: Vec<&str> = help.lines().collect();
            for line in &lines {
                assert!(line.chars().count() <= 80, "narrows {name} {ask}: {line}");
            }
            for three in lines.windows(3) {
                let [before, line, behind] = three else { continue };
                let alone = line.split_whitespace().count() == 1
                    && !before.trim().is_empty()
                    && !behind.trim().is_empty()
                    && indent(before) == indent(line)
                    && indent(behind) >= indent(line);
                assert!(!alone, "narrows {name} {ask}: '{line}' is alone behind '{before}'");
            }
        }
    }
}
