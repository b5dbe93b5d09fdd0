//! A third process, linked with the survivor all the while, whose calls nothing may disturb.

use std::path::Path;
use std::time::{Duration, Instant};

use narrows::endpoint::{CallError, FlowId, SendError};
use narrows::link::LinkId;
use narrows_host::Node;

use crate::base::failure::{Failure, Kind};
use crate::experiments::bench::traffic::{
    ECHO, LONGEST_CALL, PATIENCE, Part, Partner, Payloads, Profile, Role,
};
use crate::formats::strategy::literal;

/// How long after an answer the next call is made.
const PAUSE: Duration = Duration::from_millis(1);

/// The bystander, and what became of the calls to it.
pub struct Bystander {
    link: LinkId,
    flow: FlowId,
    payloads: Payloads,
    buffer: Vec<u8>,
    begun: Option<Instant>,
    next: Instant,
    /// Calls that were answered.
    pub answered: u64,
    /// The longest that an answer took.
    pub longest: Duration,
    broken: Option<String>,
    // Last: its process ends when its link is closed.
    partner: Partner,
}

impl Bystander {
    /// Starts it and links with it.
    ///
    /// # Errors
    /// It cannot be started or does not answer.
    pub fn start(
        node: &mut Node,
        directory: &Path,
        core: usize,
        priority: Option<u8>,
    ) -> Result<Bystander, Failure> {
        let strategy = literal("copy/interrupt");
        let profile = Profile { active: false, strategy, seed: 0 };
        let name = "bystander";
        let role =
            Role { name, core, priority, engine: false, hunts: true, profile, part: Part::Traffic };
        let mut partner = Partner::start(directory, &role)?;
        let link = partner.link(node, &role)?;
        let name = ECHO.parse().map_err(|error| failed(&error))?;
        let flow = node.open_flow(link, &name, strategy, LONGEST_CALL as u32, Some(PATIENCE));
        Ok(Bystander {
            link,
            flow: flow.map_err(|error| failed(&error))?,
            payloads: Payloads::default(),
            buffer: vec![0; LONGEST_CALL],
            begun: None,
            next: Instant::now(),
            answered: 0,
            longest: Duration::ZERO,
            broken: None,
            partner,
        })
    }

    /// Makes a call and waits for its answer. How long that took.
    pub fn trip(&mut self, node: &mut Node) -> Duration {
        let begun = Instant::now();
        let request = self.payloads.make(self.answered, LONGEST_CALL);
        match node.flow(self.flow).call(request, &mut self.buffer, Some(PATIENCE)) {
            Ok(len) => {
                let bytes = self.buffer.get(..len).unwrap_or_default();
                if !self.payloads.is(self.answered, LONGEST_CALL, bytes) {
                    self.fail(&"an answer is not the call's");
                }
                self.answered += 1;
            }
            Err(error) => self.fail(&error),
        }
        begun.elapsed()
    }

    /// Takes the answer of the call under way, or makes the next call, without waiting.
    pub fn turn(&mut self, node: &mut Node) {
        match self.begun {
            Some(_) => self.finish(node),
            None if self.broken.is_none() && Instant::now() >= self.next => self.call(node),
            None => {}
        }
    }

    fn call(&mut self, node: &mut Node) {
        match node.flow(self.flow).start(self.payloads.make(self.answered, LONGEST_CALL)) {
            Ok(_) => self.begun = Some(Instant::now()),
            Err(SendError::RingFull | SendError::PoolEmpty) => {}
            Err(error) => self.fail(&error),
        }
    }

    fn finish(&mut self, node: &mut Node) {
        match node.flow(self.flow).try_finish(&mut self.buffer) {
            Ok(None) => {}
            Ok(Some(done)) => {
                let bytes = self.buffer.get(..done.len).unwrap_or_default();
                if !self.payloads.is(self.answered, LONGEST_CALL, bytes) {
                    self.fail(&"an answer is not the call's");
                }
                let took = self.begun.take().map(|begun| begun.elapsed());
                self.longest = self.longest.max(took.unwrap_or_default());
                self.answered += 1;
                self.next = Instant::now() + PAUSE;
            }
            Err(error) => self.fail(&error),
        }
    }

    fn fail(&mut self, why: &dyn std::fmt::Display) {
        self.begun = None;
        self.broken.get_or_insert(format!("a bystander was disturbed: {why}"));
    }

    /// Waits for the answer of the call under way, and says if anything went wrong since the last
    /// time.
    pub fn settle(&mut self, node: &mut Node, broken: &mut Vec<String>) {
        let deadline = Instant::now() + PATIENCE;
        while self.begun.is_some() {
            if Instant::now() >= deadline {
                self.fail(&CallError::Deadline);
                break;
            }
            node.flow(self.flow).wait(Some(PAUSE));
            self.finish(node);
        }
        broken.extend(self.broken.take());
    }

    /// Lets it go.
    pub fn end(mut self, node: &mut Node) -> Result<(), Failure> {
        node.link(self.link).close();
        match self.partner.ended(PATIENCE) {
            Some(how) if how.contains("exit status: 0") => Ok(()),
            how => {
                let how = how.unwrap_or_else(|| "does not end when its link is closed".into());
                Err(Failure::new(Kind::Peer, format!("the bystander's process {how}")))
            }
        }
    }
}

fn failed(why: &dyn std::fmt::Display) -> Failure {
    Failure::new(Kind::Internal, format!("the bystander cannot be called: {why}"))
}
