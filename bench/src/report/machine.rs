//! What the figures were taken on.

use std::fs::read_to_string;
use std::process::Command;

/// The facts about this machine and what was built on it.
pub fn facts() -> Vec<(&'static str, String)> {
    let cpu = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = cpu.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let flags = field("flags").unwrap_or_default();
    let virtual_machine = flags.split(' ').any(|flag| flag == "hypervisor");
    let uname = rustix::system::uname();
    let kernel = format!(
        "{} {} {}",
        uname.sysname().to_string_lossy(),
        uname.release().to_string_lossy(),
        uname.machine().to_string_lossy()
    );
    let file = |path: &str| read_to_string(path).ok().map(|text| text.trim().to_owned());
    let governor = file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    let clock = file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let memory = file("/proc/meminfo").and_then(|text| {
        let kib: u64 = text.lines().next()?.split_whitespace().nth(1)?.parse().ok()?;
        Some(format!("{} GiB", kib.div_ceil(1 << 20)))
    });
    let load = file("/proc/loadavg");
    let load = load.and_then(|text| Some(text.split(' ').next()?.to_owned()));
    let or = |fact: Option<String>, none: &str| fact.unwrap_or_else(|| none.to_owned());
    let load = format!("load average {} when it ended", or(load, "unknown"));
    vec![
        ("processor", or(field("model name"), "unknown")),
        ("cores", format!("{} that this may use", narrows_host::system::cores().len())),
        (
            "virtual",
            if virtual_machine { "yes, under a hypervisor" } else { "no sign of it" }.into(),
        ),
        ("governor", or(governor, "none that can be seen")),
        ("memory", or(memory, "unknown")),
        ("kernel", kernel),
        ("clock", or(clock, "unknown")),
        ("other work", load),
        ("compiler", or(said("rustc", &["--version"]), "unknown")),
        ("Narrows", or(said("git", &["describe", "--always", "--dirty"]), "unknown revision")),
    ]
}

/// The first line that a program says, in this checkout.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    let output = command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(str::to_owned)
}
