//! What there is to say of what was found: for each flow, as rows and as text.

use super::file::Chosen;
use super::flags::Advise;
use super::row::{AdviceRow, RunnerUp};
use super::words::{Group, Speaker, Verdict, p99, time};
use crate::answers::tune::flags::Objective;
use crate::base::options::HOST;
use crate::base::table::{listed, number, wrap};
use crate::experiments::advice::trial::Trial;
use crate::experiments::advice::{Found, Judge};
use crate::formats::workload::Workload;
use std::path::Path;

/// What there is to say.
pub(super) struct Said {
    pub found: Found,
    pub judge: Judge,
    pub objective: Objective,
    /// How many cores are called.
    pub dsps: u8,
    pub groups: Vec<Group>,
    /// How trials were made, in a sentence.
    pub how: String,
    /// The clock of the calling core, where it was chosen, in hertz.
    pub clock: Option<u64>,
    /// Which functions take no time, in a sentence.
    pub untimed: Option<String>,
}

impl Said {
    /// The verdict on each group of flows.
    pub fn verdicts(&self) -> Vec<(&Group, Verdict<'_>)> {
        let speaker = Speaker { found: &self.found, judge: &self.judge };
        let Some(best) = self.found.best() else { return Vec::new() };
        self.groups.iter().map(|group| (group, speaker.verdict(best, group))).collect()
    }

    /// The strategy of each flow of the file, by its name there, and the core that serves it if it
    /// is to be named.
    pub fn chosen(&self, workload: &Workload) -> Vec<Chosen> {
        let Some(best) = self.found.best() else { return Vec::new() };
        let (mut all, mut sessions) = (Vec::new(), Vec::new());
        for (at, (flow, by)) in workload.flows.iter().zip(&best.assignment).enumerate() {
            let dsp = best.fit.dsps.get(at).copied().flatten();
            let named = |name: &str| Chosen { name: name.to_owned(), strategy: *by, dsp };
            all.push(named(&flow.name));
            sessions.extend(flow.name.rsplit_once('-').map(|(stem, _)| named(stem)));
        }
        // A flow may be called what another's name begins with.
        all.append(&mut sessions);
        all
    }

    pub fn rows(&self, workload: &Workload) -> Vec<AdviceRow> {
        let mut rows: Vec<Option<AdviceRow>> = workload.flows.iter().map(|_| None).collect();
        for (group, verdict) in self.verdicts() {
            let Verdict { best, runner_up, reason } = verdict;
            for flow in &group.flows {
                let at = |trial: &Trial| p99(trial, *flow);
                let by = |trial: &Trial| {
                    trial.assignment.get(*flow).map(ToString::to_string).unwrap_or_default()
                };
                let standing = runner_up.map(|other| self.judge.standing(best, other));
                let Some((row, one)) = rows.get_mut(*flow).zip(workload.flows.get(*flow)) else {
                    continue;
                };
                *row = Some(AdviceRow {
                    flow: one.name.clone(),
                    strategy: by(best),
                    dsp: self.dsp(*flow),
                    reason: reason.clone(),
                    load_percent: best.load(),
                    p99_us: at(best),
                    deadline_us: one.deadline.map(|time| time.as_secs_f64() * 1e6),
                    memory_bytes: best.fit.memory.get(*flow).copied().unwrap_or_default(),
                    confidence: standing.map_or(1.0, |standing| standing.confidence),
                    runner_up: runner_up.zip(standing).map(|(other, standing)| RunnerUp {
                        strategy: by(other),
                        load_percent: other.load(),
                        p99_us: at(other),
                        equal: standing.equal,
                    }),
                });
            }
        }
        rows.into_iter().flatten().collect()
    }

    /// Which core serves a flow by the choice.
    fn dsp(&self, flow: usize) -> u8 {
        let said = self.found.best().and_then(|best| best.fit.dsps.get(flow).copied().flatten());
        said.unwrap_or((flow % usize::from(self.dsps.max(1))) as u8)
    }

    /// What the figures rest on, and within what two are equal.
    pub fn uncertainty(&self) -> String {
        let Some(best) = self.found.best() else { return String::new() };
        let all = best.efforts.iter().copied();
        let (least, most) =
            all.fold((f64::INFINITY, 0.0_f64), |(a, b), one| (a.min(one), b.max(one)));
        let unit = if best.is_paced() { "% of the calling core" } else { "µs of it for a call" };
        let [load, latency] = Judge::WITHIN.map(|part| number(100.0 * part));
        let noise = match best.noisy {
            true => ", and so does what differs by no more than the repeats do",
            false => "",
        };
        let chosen = match self.found.equal {
            0 | 1 => String::new(),
            equal => format!(
                " {equal} of them are equal in {}: the choice is the first of these in {}, then in \
                 least internal memory, then in what is simplest.",
                self.judge.words()[0],
                self.judge.words()[1]
            ),
        };
        format!(
            "{}; the repeats of the choice are between {} and {} {unit}. Loads within {load} % of \
             each other or {} % of a core and latencies within {latency} % count as equal{noise}.{chosen}",
            self.how,
            number(least),
            number(most),
            Judge::LITTLE,
        )
    }

    /// What a trial takes of the calling core, in words.
    pub fn taken(&self, trial: &Trial) -> String {
        match trial.is_paced() {
            true => format!("{} % of the calling core", number(trial.load())),
            false => format!("{} µs of the calling core for a call", number(trial.effort())),
        }
    }

    /// What to type to try it.
    pub fn command(&self, args: &Advise, written: Option<&Path>) -> String {
        let on = if args.on == HOST { String::new() } else { format!(" --on {}", args.on) };
        let assignment = self.found.best().map(|best| best.assignment.clone()).unwrap_or_default();
        let same = assignment.first().filter(|first| assignment.iter().all(|by| by == *first));
        match (written, same) {
            (Some(path), _) => format!("narrows run {}{on}", path.display()),
            (None, Some(by)) if let Some(file) = &args.from => {
                format!("narrows replay {}{on} --strategy {by}", file.display())
            }
            (None, None) if let Some(file) = &args.from => {
                format!("narrows replay {}{on} --strategy auto", file.display())
            }
            (None, Some(by)) => {
                format!("narrows run {}{on} --strategy {by}", args.workload.display())
            }
            (None, None) => {
                format!("narrows advise {}{on} --out tuned", args.workload.display())
            }
        }
    }

    /// What the next best takes, in a sentence.
    pub fn next(&self, group: &Group, verdict: &Verdict<'_>) -> Option<String> {
        let Verdict { best, runner_up: Some(other), .. } = verdict else { return None };
        let by = other.assignment.get(*group.flows.first()?)?;
        let speaker = Speaker { found: &self.found, judge: &self.judge };
        let standing = self.judge.standing(best, other);
        let sure = match (standing.equal, self.judge.holds(other)) {
            (true, _) => " (the trials cannot tell them apart)".to_owned(),
            (false, false) => String::new(),
            _ => format!(" (so in {:.0} of 100 resamplings)", 100.0 * standing.confidence),
        };
        Some(format!("Next best: {by}, which {}{sure}.", speaker.costs(best, other, group)))
    }

    pub fn text(&self, workload: &Workload, heading: &str, command: &str) -> String {
        let Some(best) = self.found.best() else { return String::new() };
        let Said { objective, judge, .. } = self;
        let clock = self.clock.map_or(String::new(), |hertz| {
            format!(": the calling core at {} MHz", number(hertz as f64 / 1e6))
        });
        let heading = format!("{} {heading}, least {}{clock}", workload.name, objective.name());
        let mut text = wrap("", &heading);
        let taken = self.taken(best);
        for (group, verdict) in self.verdicts() {
            let Some(flow) = group.flows.first().copied() else { continue };
            let Some(by) = best.assignment.get(flow) else { continue };
            let deadline = workload.flows.get(flow).and_then(|flow| flow.deadline);
            let deadline = deadline.map_or(String::new(), |it| {
                format!(" of {} that it has", time(it.as_secs_f64() * 1e6))
            });
            let (together, takes) =
                if workload.flows.len() > 1 { ("all flows", "take") } else { ("it", "takes") };
            text.push('\n');
            let cores: Vec<String> =
                group.flows.iter().map(|flow| self.dsp(*flow).to_string()).collect();
            let cores: Vec<&str> = cores.iter().map(String::as_str).collect();
            let on = match self.dsps {
                1 => String::new(),
                _ => format!(", on called core {}", listed(&cores)),
            };
            text.push_str(&wrap("", &format!("{}: choose {by}{on}", group.name)));
            let what = format!(
                "With that {together} {takes} {taken}, and {}{deadline}.",
                group.soon(best)
            );
            text.push_str(&wrap("  ", &what));
            text.push_str(&wrap("  ", &verdict.reason));
            if let Some(next) = self.next(group, &verdict) {
                text.push_str(&wrap("  ", &next));
            }
        }
        text.push('\n');
        if !judge.holds(best) {
            text.push_str(&wrap(
                "",
                &format!(
                    "Nothing that was tried keeps all deadlines: {} of {} responses were late or \
                     missing with the best.",
                    best.late,
                    best.received + best.late
                ),
            ));
        }
        text.push_str(&wrap("", &self.uncertainty()));
        text.push_str(&format!("To try it: {command}\n"));
        if let Some(note) = &self.untimed {
            text.push_str(&wrap("- ", note));
        }
        text
    }
}
