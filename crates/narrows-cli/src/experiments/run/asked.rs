//! What is asked of a run.

use crate::base::failure::{Failure, Kind};
use crate::base::options::Global;
use crate::experiments::run::flags::Run;
use crate::formats::strategy::Policy;
use crate::formats::workload::{self, Presence, Work, Workload};

/// Whether what was asked for goes together.
pub(super) fn check(
    global: &Global,
    args: &Run,
    workload: &Workload,
    strategies: &[Policy],
) -> Result<(), Failure> {
    let usage = |text: String| Err(Failure::new(Kind::Usage, text));
    if args.live && global.json {
        return usage("--live draws where --json prints: take one of them".into());
    }
    if args.details && global.json {
        return usage("--details says nothing to --json, which has all: leave one out".into());
    }
    let decodes = |flow: &workload::Flow| matches!(flow.work, Work::Decode(_));
    if args.out.is_some() && !workload.flows.iter().any(decodes) {
        return usage(
            "--out is for audio, and no flow of this workload decodes any: leave it out".into(),
        );
    }
    let controlled = strategies.contains(&Policy::Auto);
    for (flag, given) in [("--memory", args.memory.is_some()), ("--costs", args.costs.is_some())] {
        if given && !controlled {
            return usage(format!(
                "{flag} says something to `auto` only: add --strategy auto, or leave it out"
            ));
        }
    }
    let further = workload.flows.iter().find(|flow| flow.dsp.is_some_and(|dsp| dsp > 0));
    if let (Some(flow), None) = (further, args.place.platform()) {
        let text = format!(
            "flow {} is for another core than the first that is called, and here one process is: name \
             a chip with --on, or leave dsp out",
            flow.name
        );
        return Err(Failure::new(Kind::Workload, text));
    }
    let without = workload.flows.iter().find(|flow| flow.r#static.is_none());
    if let (Some(flow), true) = (without, strategies.contains(&Policy::Static)) {
        let text = format!(
            "flow {} has no strategy of its own: write static = \"...\" into the workload for each \
             flow, or leave `static` out",
            flow.name
        );
        return Err(Failure::new(Kind::Workload, text));
    }
    let once = |flow: &&workload::Flow| matches!(flow.presence, Presence::Once { .. });
    let duration = args.duration.unwrap_or(workload.duration);
    let late = workload.flows.iter().filter(once).find(|flow| match flow.presence {
        Presence::Once { arrives, .. } => arrives.is_some_and(|time| time >= duration),
        _ => false,
    });
    match late {
        Some(flow) => Err(Failure::new(
            Kind::Workload,
            format!(
                "flow {} arrives when the run is over: let it arrive earlier, or take a longer \
                 --duration than {}",
                flow.name,
                humantime::format_duration(duration)
            ),
        )),
        None => Ok(()),
    }
}
