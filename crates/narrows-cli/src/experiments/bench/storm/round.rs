//! One life of a victim: it is started, works with the survivor, and is killed at any moment.

use std::io;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use narrows::endpoint::{Node, Source};
use narrows::link::LinkId;
use narrows::memory::Kind;
use narrows::platform::Lost;
use narrows::strategy::Placement;
use rustix::process::Signal;

use super::Scene;
use super::account::{Returned, Tally, account};
use super::cause::{PROMISED, Telling, ms, stolen, stuck, waited};
use super::plan::Life;
use crate::base::failure::{Failure, Kind as Failed};
use crate::base::machine::Root;
use crate::experiments::bench::traffic::{
    Counts, LONGEST, Load, Longest, PATIENCE, Partner, Payloads, Process, Profile, Trouble, number,
};
use crate::rig::place::Place;

/// What a life came to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// How long the survivor took to be told.
    pub telling: Telling,
    /// What became of everything.
    pub tally: Tally,
    /// Each promise that was broken, as a sentence.
    pub broken: Vec<String>,
}

/// What the killer saw.
struct Kill {
    at: Instant,
    ended: Instant,
    victim_waited: Duration,
    survivor_waited_before: Option<Duration>,
    stolen_before: Duration,
    stuck: Option<String>,
}

/// Runs a life.
///
/// # Errors
/// The victim could not be started or does not link.
pub fn run(scene: &mut Scene, life: &Life) -> Result<Outcome, Failure> {
    let ours = Profile { active: life.traffic.here(), strategy: life.strategy, seed: life.seed };
    let role = scene.role(life, Profile { active: life.traffic.there(), ..ours });
    let mut victim = Partner::start(scene.directory.path(), &role)?;
    let link = victim.link(&mut scene.node, &role)?;
    let counts = Counts::default();
    let mut outcome = Outcome::default();
    let lived = std::thread::scope(|scope| {
        // The node's thread is the process's first.
        let (survivor, killer, victim) = (std::process::id(), scene.killer, &victim.process);
        let (ready, awaited) = channel();
        let killer = scope.spawn(move || {
            killer.settle();
            let _ = ready.send(());
            kill(victim, life.moment, survivor)
        });
        // A survivor that spins at a real-time priority lets no thread begin on its core.
        let _ = awaited.recv();
        let Scene { node, bystander, .. } = scene;
        let lived = live(node, link, ours, &counts, |node| bystander.turn(node));
        let told = Instant::now();
        let root = Root::default();
        let waited_now = waited(&root, survivor);
        let taken = stolen(&root);
        let kill = killer.join().map_err(|_| defect("the killer failed"))?;
        let kill = kill.map_err(|error| defect(&format!("the victim was not killed: {error}")))?;
        let (took, ended) = (told.saturating_duration_since(kill.at), kill.ended - kill.at);
        let survivor_waited = waited_now.zip(kill.survivor_waited_before);
        let survivor_waited =
            survivor_waited.map_or(Duration::ZERO, |(now, then)| now.saturating_sub(then));
        // Some of the waiting may lie before the kill: the killer looked a moment earlier.
        outcome.telling = Telling {
            told_ms: ms(took),
            ended_ms: ms(ended),
            victim_waited_ms: ms(kill.victim_waited.min(ended)),
            survivor_waited_ms: ms(survivor_waited.min(took)),
            stolen_ms: ms(taken.saturating_sub(kill.stolen_before)),
            stuck_in: kill.stuck,
        };
        if told < kill.at {
            outcome.broken.push("the survivor was told before the kill".into());
        }
        Ok::<_, Failure>(lived)
    });
    let how = victim.ended(PATIENCE).unwrap_or_default();
    if !how.contains("signal 9") {
        outcome.broken.push(format!("the victim {how} instead of being killed"));
    }
    let mut lived = lived?;
    bury(&mut scene.node, link, &mut lived, (&counts, &victim.record), &mut outcome);
    scene.bystander.settle(&mut scene.node, &mut outcome.broken);
    Ok(outcome)
}

/// Works with the victim until the stack says that it is gone; `beside` is done in every turn.
pub(super) fn live<P: Place>(
    node: &mut Node<P>,
    link: LinkId,
    profile: Profile,
    counts: &Counts,
    mut beside: impl FnMut(&mut Node<P>),
) -> Lived {
    let deadline = node.platform().time() + PATIENCE;
    let mut load = match Load::new(node, link, profile) {
        Ok(load) => load,
        Err(trouble) => {
            return Lived {
                load: None,
                trouble: Some(trouble),
                placement: profile.strategy.placement,
            };
        }
    };
    let trouble = loop {
        let turned = match load.turn(node, counts) {
            Ok(true) => Ok(()),
            Ok(false) => load.rest(node, counts),
            Err(trouble) => Err(trouble),
        };
        match turned {
            Err(trouble) => break Some(trouble),
            Ok(()) if node.platform().time() >= deadline => break None,
            Ok(()) => beside(node),
        }
    };
    Lived { load: Some(load), trouble, placement: profile.strategy.placement }
}

/// Sees to what the dead has left: takes what had come and the notice, asks for what it had not
/// taken, and adds everything up.
pub(super) fn bury<P: Place>(
    node: &mut Node<P>,
    link: LinkId,
    lived: &mut Lived,
    (survivor, victim): (&Counts, &Counts),
    outcome: &mut Outcome,
) {
    settle(node, link, lived, survivor, outcome);
    let returned = returned(node, link, lived.placement, outcome);
    let (tally, broken) = account(survivor, victim, &returned);
    outcome.tally = tally;
    outcome.broken.extend(broken);
    match node.link(link).blocks_in_use() {
        Ok((0, 0)) => {}
        Ok((lent, held)) => outcome.broken.push(format!(
            "blocks are not back: {lent} with the dead peer, {held} with the application"
        )),
        Err(error) => outcome.broken.push(format!("the ended link is not known: {error}")),
    }
    node.link(link).close();
}

/// What was left of the survivor's side when the stack said that the victim is gone.
pub(super) struct Lived {
    load: Option<Load>,
    /// What it said; none if it said nothing in time.
    trouble: Option<Trouble>,
    placement: Placement,
}

/// Kills the victim at the moment. What it saw.
fn kill(victim: &Process, moment: Duration, survivor: u32) -> io::Result<Kill> {
    std::thread::sleep(moment);
    let root = Root::default();
    let waited_before = waited(&root, victim.id()).unwrap_or_default();
    let survivor_waited_before = waited(&root, survivor);
    let stolen_before = stolen(&root);
    let at = Instant::now();
    victim.signal(Signal::KILL)?;
    let stuck = match victim.await_end(PROMISED) {
        true => None,
        false => stuck(&root, victim.id()),
    };
    if !victim.await_end(PATIENCE) {
        return Err(io::Error::from(io::ErrorKind::TimedOut));
    }
    let ended = Instant::now();
    let victim_waited =
        waited(&root, victim.id()).unwrap_or_default().saturating_sub(waited_before);
    Ok(Kill { at, ended, victim_waited, survivor_waited_before, stolen_before, stuck })
}

/// Takes all that had come and the notice behind it.
fn settle<P: Place>(
    node: &mut Node<P>,
    link: LinkId,
    lived: &mut Lived,
    counts: &Counts,
    outcome: &mut Outcome,
) {
    match &lived.trouble {
        Some(Trouble::Lost(Lost::Died)) => {}
        Some(Trouble::Lost(other)) => {
            outcome.broken.push(format!("the survivor was told that {other}"));
        }
        Some(Trouble::Defect(what)) => outcome.broken.push(what.clone()),
        None => {
            let patience = PATIENCE.as_secs();
            outcome.broken.push(format!("the survivor was told nothing within {patience} s"));
        }
    }
    let Some(load) = &mut lived.load else { return };
    let deadline = node.platform().time() + PATIENCE;
    loop {
        match load.drain(node, counts) {
            Ok(true) => break,
            Ok(false) if node.platform().time() < deadline => {}
            Ok(false) => {
                outcome.broken.push("no notice came behind the last message".into());
                break;
            }
            Err(trouble) => {
                outcome.broken.push(format!("after the end: {trouble:?}"));
                break;
            }
        }
    }
    if load.noticed.is_some_and(|reason| reason != Lost::Died) {
        outcome.broken.push("the notice has another reason than the death".into());
    }
    if node.link(link).check().is_ok() {
        outcome.broken.push("the link to the dead is still up".into());
    }
}

/// Asks for all that the dead had not taken.
fn returned<P: Place>(
    node: &mut Node<P>,
    link: LinkId,
    placement: Placement,
    outcome: &mut Outcome,
) -> Returned {
    let mut returned = Returned::default();
    let longest = Longest::of(node, link, placement);
    let (payloads, mut buffer) = (Payloads::default(), vec![0; LONGEST]);
    let said = node.link(link).undelivered(|descriptor, source| {
        let mut read = |longest| whole(source, &mut buffer, &payloads, longest);
        match descriptor.kind {
            Kind::Message => returned.messages.push(read(longest.message)),
            Kind::Request => returned.requests.push(read(longest.call)),
            _ => returned.responses += 1,
        }
    });
    match said {
        Ok(count) => returned.said = u64::from(count),
        Err(error) => outcome.broken.push(format!("what came back is not known: {error}")),
    }
    returned
}

/// The number of a payload that is whole.
fn whole(
    source: &dyn Source,
    buffer: &mut [u8],
    payloads: &Payloads,
    longest: usize,
) -> Option<u64> {
    let bytes = buffer.get_mut(..source.len())?;
    source.read(0, bytes).ok()?;
    let number = number(bytes)?;
    payloads.is(number, longest, bytes).then_some(number)
}

fn defect(what: &str) -> Failure {
    Failure::new(Failed::Internal, format!("{what}: report this defect"))
}
