//! A peer that is stopped for seconds and goes on: sends to it end with their deadlines, it is not
//! taken for dead, and nothing is lost or doubled.

use std::time::{Duration, Instant};

use narrows::link::LinkId;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::Scene;
use super::cause::ms;
use super::plan::Life;
use crate::base::failure::Failure;
use crate::experiments::bench::traffic::{
    Count, Counts, Load, PATIENCE, Partner, Profile, Trouble, agree, lull,
};

/// How long the peer is stopped.
pub const STOPPED: Duration = Duration::from_secs(2);
/// Full traffic before and behind that.
const BESIDE: Duration = Duration::from_millis(200);
/// The lull behind the traffic.
const LULL: Duration = Duration::from_millis(500);
/// The deadline of a send to a peer that is stopped.
const DEADLINE: Duration = Duration::from_millis(20);

/// What a stop came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// How both sides waited.
    pub notification: String,
    /// How long the peer was stopped, in milliseconds.
    pub stopped_ms: f64,
    /// Messages for which there was still room while it was stopped.
    pub sent: u64,
    /// Sends that ended with their deadline while it was stopped.
    pub deadlines: u64,
    /// The longest that such a send took beyond its deadline, in milliseconds.
    pub over_ms: f64,
    /// Messages to the peer and from it, all told.
    pub messages: [u64; 2],
    /// Calls to the peer and from it, all told.
    pub calls: [u64; 2],
    /// Calls to the bystander that were answered while the peer was stopped.
    pub bystander: u64,
    /// The longest of them, in milliseconds.
    pub bystander_ms: f64,
    /// Each promise that was broken, as a sentence.
    pub broken: Vec<String>,
}

/// Stops a peer under full load and lets it go on.
///
/// # Errors
/// It could not be started, or does not link.
pub fn run(scene: &mut Scene, life: &Life) -> Result<Stop, Failure> {
    let profile = Profile { active: true, strategy: life.strategy, seed: life.seed };
    let role = scene.role(life, profile);
    let mut peer = Partner::start(scene.directory.path(), &role)?;
    let link = peer.link(&mut scene.node, &role)?;
    let mut stop = Stop { notification: life.notification.clone(), ..Stop::default() };
    let counts = Counts::default();
    let worked = work(scene, &peer, link, profile, &counts, &mut stop);
    if let Err(trouble) = worked {
        stop.broken.push(match trouble {
            Trouble::Lost(reason) => {
                format!("a peer that was stopped was taken for lost: {reason}")
            }
            Trouble::Defect(what) => what,
        });
    }
    let wrong = counts.get(Count::Wrong) + peer.record.get(Count::Wrong);
    if wrong > 0 {
        stop.broken.push(format!("{wrong} payloads came damaged, doubled or out of order"));
    }
    let unrung = counts.get(Count::Unrung) + peer.record.get(Count::Unrung);
    if unrung > 0 {
        stop.broken.push(format!("{unrung} waits ended by deadline though something was there"));
    }
    stop.messages = [peer.record.get(Count::Received), counts.get(Count::Received)];
    stop.calls = [peer.record.get(Count::Served), counts.get(Count::Served)];
    scene.node.link(link).close();
    if peer.ended(PATIENCE).is_none_or(|how| !how.contains("exit status: 0")) {
        stop.broken.push("the peer does not end when its link is closed".into());
    }
    scene.bystander.settle(&mut scene.node, &mut stop.broken);
    Ok(stop)
}

fn work(
    scene: &mut Scene,
    peer: &Partner,
    link: LinkId,
    profile: Profile,
    counts: &Counts,
    stop: &mut Stop,
) -> Result<(), Trouble> {
    let signal = |signal| {
        peer.process
            .signal(signal)
            .map_err(|error| Trouble::Defect(format!("no signal is sent: {error}")))
    };
    let mut load = Load::new(&mut scene.node, link, profile)?;
    go_on(scene, &mut load, counts, BESIDE)?;

    signal(Signal::STOP)?;
    let start = Instant::now();
    let (sent, calls) = (counts.get(Count::Sent), scene.bystander.answered);
    let before = std::mem::take(&mut scene.bystander.longest);
    while start.elapsed() < STOPPED {
        let asked = Instant::now();
        if !load.send(&mut scene.node, counts, Some(DEADLINE))? {
            stop.deadlines += 1;
            stop.over_ms = stop.over_ms.max(ms(asked.elapsed().saturating_sub(DEADLINE)));
        }
        scene.bystander.turn(&mut scene.node);
    }
    stop.stopped_ms = ms(start.elapsed());
    stop.sent = counts.get(Count::Sent) - sent;
    stop.bystander = scene.bystander.answered - calls;
    stop.bystander_ms = ms(scene.bystander.longest);
    scene.bystander.longest = scene.bystander.longest.max(before);
    if stop.deadlines == 0 {
        stop.broken.push("no send to the stopped peer ended with its deadline".into());
    }
    if stop.bystander == 0 {
        stop.broken.push("no call to the bystander was answered meanwhile".into());
    }
    signal(Signal::CONT)?;

    go_on(scene, &mut load, counts, BESIDE)?;
    if let Some(what) = finish(scene, peer, link, &mut load, counts)? {
        stop.broken.push(what);
    }
    Ok(())
}

/// Makes traffic for a while.
fn go_on(
    scene: &mut Scene,
    load: &mut Load,
    counts: &Counts,
    time: Duration,
) -> Result<(), Trouble> {
    let end = Instant::now() + time;
    while Instant::now() < end {
        if !load.turn(&mut scene.node, counts)? {
            load.rest(&mut scene.node, counts)?;
        }
        scene.bystander.turn(&mut scene.node);
    }
    Ok(())
}

/// Lets both sides fall quiet and everything arrive. What is missing then.
fn finish(
    scene: &mut Scene,
    peer: &Partner,
    link: LinkId,
    load: &mut Load,
    counts: &Counts,
) -> Result<Option<String>, Trouble> {
    load.settle(&mut scene.node, counts, &peer.record, |node| scene.bystander.turn(node))?;
    lull(load, &mut scene.node, counts, LULL, |node| scene.bystander.turn(node))?;
    if !agree(counts, &peer.record) {
        return Ok(Some(format!(
            "when all was quiet, what was sent was not what arrived: {counts:?} and {:?}",
            **peer.record
        )));
    }
    let blocks = scene.node.link(link).blocks_in_use();
    Ok((blocks != Ok((0, 0))).then(|| format!("blocks are not back: {blocks:?}")))
}
