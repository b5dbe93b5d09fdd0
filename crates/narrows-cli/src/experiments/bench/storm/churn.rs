//! A node that others link with and leave again all the while, and its honest peer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use narrows_host::Options;

use super::bystander::Bystander;
use super::interrupted;
use crate::base::failure::Failure;
use crate::base::options::Cores;
use crate::experiments::bench::traffic::churn::{Churn, Churning, PLACES};
use crate::experiments::bench::traffic::{self, STARTER, prioritise};
use crate::rig::peer;

/// Measures round trips and deadlines beside `rate` link-ups a second, for `time`.
///
/// # Errors
/// A process could not be started, or does not link.
pub fn run(
    priority: Option<u8>,
    cores: Cores,
    (rate, time): (u32, Duration),
    stopped: &AtomicBool,
) -> Result<Churn, Failure> {
    let directory = peer::directory()?;
    let options = Options::new(STARTER).directory(directory.path()).core(cores.caller);
    let mut node = traffic::node(options, PLACES + 4)?;
    prioritise(priority)?;
    let mut bystander = Bystander::start(&mut node, directory.path(), cores.callee, priority)?;
    let turn = || {
        node.wait_any(Some(Duration::from_millis(1)));
        node.poll();
    };
    let mut churning = Churning::start(directory.path(), cores.callee, rate, turn)?;
    let begun = Instant::now();
    while begun.elapsed() < time && !stopped.load(Ordering::Relaxed) {
        churning.trip(bystander.trip(&mut node));
        churning.wait(&mut node);
    }
    let mut churn = churning.end();
    bystander.settle(&mut node, &mut churn.broken);
    let left = bystander.end(&mut node);
    churn.broken.extend(left.err().map(|failure| failure.to_string()));
    drop(node);
    if stopped.load(Ordering::Relaxed) {
        return Err(interrupted());
    }
    Ok(churn)
}
