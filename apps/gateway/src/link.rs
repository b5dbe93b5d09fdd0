//! The thread that has the link to the DSP: it gives it frames of all sessions, and sends on what
//! comes back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use narrows::endpoint::FlowError;
use narrows::link::{LinkId, Name};
use narrows::memory::Layout;
use narrows::notify;
use narrows::platform::Platform;
use narrows::strategy::{Notification, Placement};
use narrows_host::{Host, Node};
use narrows_tune::control::{Handle, Switch};

use crate::carry::{Counted, Left, TASKS, Task};
use crate::frame::{Header, Kind};
use crate::lane::{Lane, Told};
use crate::measure::measure;
use crate::transcode::Transcoder;
use crate::tuner::{self, Choices, Tuner};

/// How often the DSP is looked for while it is away.
const HUNT: Duration = Duration::from_millis(100);
/// How often it is said that the DSP falls behind.
const SELDOM: Duration = Duration::from_secs(5);
/// The longest wait.
const LONGEST: Duration = Duration::from_millis(500);

/// Bytes of internal memory that a link has for flows.
fn internal() -> u32 {
    let layout = Layout::standard(Host::LINE).ok();
    let classes = layout.as_ref().map(Layout::classes).unwrap_or_default();
    let inside = classes.iter().filter(|class| class.placement == Placement::Internal);
    inside.map(|class| 2 * class.size * class.count).sum()
}

pub(crate) fn run(
    node: Node,
    dsp: Name,
    choices: Choices,
    log: fn(&str),
    tasks: &Receiver<Task>,
    linked: &AtomicBool,
) -> Left {
    let ways = tuner::ways();
    let mut rooms = tuner::rooms(&ways);
    let deadlines = choices.deadlines;
    let left = Left { decided: Vec::new(), found: 0, lost: 0 };
    let tuner = match Tuner::new(choices, internal(), &ways, &mut rooms) {
        Ok(tuner) => tuner,
        Err(error) => {
            log(&format!("strategies cannot be chosen: {error}"));
            return left;
        }
    };
    let mut link = Link {
        node,
        dsp,
        link: None,
        hunt: Instant::now(),
        lanes: Vec::new(),
        own: Transcoder::default(),
        tuner,
        deadlines,
        switch: None,
        began: Instant::now(),
        measured: false,
        late: (false, None),
        said: None,
        left,
        log,
    };
    loop {
        let next = link.wait(tasks);
        for task in next.into_iter().chain(tasks.try_iter().take(TASKS)) {
            if matches!(task, Task::Stop) {
                link.left.decided = std::mem::take(&mut link.tuner.decided);
                return link.left;
            }
            link.task(task);
        }
        link.turn();
        linked.store(link.link.is_some(), Ordering::Relaxed);
    }
}

struct Link<'a, 's> {
    node: Node,
    dsp: Name,
    link: Option<LinkId>,
    /// When it is looked for next.
    hunt: Instant,
    lanes: Vec<(u64, Lane)>,
    own: Transcoder,
    tuner: Tuner<'a, 's>,
    deadlines: [Duration; 2],
    /// The switch under way, and whether the flow has been told.
    switch: Option<(Switch, bool)>,
    began: Instant,
    measured: bool,
    /// Whether the log has it that the DSP falls behind, and since when it had it last.
    late: (bool, Option<Instant>),
    /// What the log has, until it works.
    said: Option<String>,
    left: Left,
    log: fn(&str),
}

impl Link<'_, '_> {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn lane(&mut self, id: u64) -> Option<&mut Lane> {
        self.lanes.iter_mut().find(|(other, _)| *other == id).map(|(_, lane)| lane)
    }

    /// Says why something does not work, once until it does.
    fn say(&mut self, what: &str, why: &str) {
        if self.said.as_deref() != Some(why) {
            (self.log)(&format!("{what}: {why}: frames are coded by the gateway itself"));
            self.said = Some(why.to_owned());
        }
    }

    fn task(&mut self, task: Task) {
        match task {
            Task::Admit { id, from, to, reply } => {
                let kind = from.kind();
                let admitted = self.tuner.arrive(id, kind, self.now());
                let admitted = admitted.map(|(handle, strategy)| {
                    let deadline = self.deadlines[usize::from(kind == Kind::Video)];
                    let header = Header { session: id, from, to };
                    self.lanes.push((id, Lane::new(header, strategy, deadline, handle)));
                });
                let _ = reply.send(admitted);
            }
            Task::Begin { id, codecs: [from, to], output } => {
                if let Some(lane) = self.lane(id) {
                    lane.header = Header { session: id, from, to };
                    lane.output = Some(output);
                }
            }
            Task::Frame { id, frame } => {
                let linked = self.link.is_some();
                let Link { lanes, own, .. } = self;
                let lane = lanes.iter_mut().find(|(other, _)| *other == id);
                if let Some((_, lane)) = lane {
                    lane.take(frame, linked, own);
                }
            }
            Task::Figures { id, end, reply } => {
                let told = self.lane(id).filter(|lane| !lane.is_over()).map(|lane| {
                    let figures = lane.figures.clone();
                    Box::new(Counted { figures, strategy: lane.strategy.to_string() })
                });
                if end && told.is_some() {
                    self.end(id);
                }
                let _ = reply.send(told);
            }
            Task::Stop => {}
        }
    }

    fn end(&mut self, id: u64) {
        let Link { lanes, own, tuner, switch, began, .. } = self;
        let Some((_, lane)) = lanes.iter_mut().find(|(other, _)| *other == id) else { return };
        lane.end(own);
        let handle = lane.handle.take();
        if switch.is_some_and(|(switch, _)| Some(switch.flow) == handle) {
            *switch = None;
        }
        tuner.leave(id, handle, began.elapsed());
    }

    fn turn(&mut self) {
        self.node.poll();
        let now = Instant::now();
        self.look_for(now);
        self.measure();
        let mut missed: Vec<(Handle, Duration)> = Vec::new();
        if let Some(link) = self.link {
            let mut refused = None;
            let mut work: [Vec<u32>; 2] = [Vec::new(), Vec::new()];
            for (_, lane) in &mut self.lanes {
                let mut told = Told::default();
                lane.turn(&mut self.node, link, now, &mut self.own, &mut told);
                work[usize::from(lane.kind() == Kind::Video)].append(&mut told.work);
                missed.extend(lane.handle.zip(told.missed));
                refused = refused.or(told.refused);
            }
            if let Some(why) = refused {
                self.say("a flow to the DSP does not open", &why);
            }
            self.learn(&work);
        }
        self.lanes.retain(|(_, lane)| !lane.is_gone());
        let late = self.lanes.iter().any(|(_, lane)| lane.is_behind() && !lane.is_over());
        self.say_late(late, now);
        for (handle, took) in missed {
            let now = self.now();
            self.tuner.miss(handle, took, now);
        }
        self.steer();
    }

    /// Says that the DSP falls behind, and that it no longer does: seldom, as one that has a little
    /// too much to do does both many times a second.
    fn say_late(&mut self, late: bool, now: Instant) {
        let (was, last) = self.late;
        let recently = last.is_some_and(|last| now.duration_since(last) < SELDOM);
        if late == was || (late && recently) {
            return;
        }
        self.late = (late, if late { Some(now) } else { last });
        let dsp = self.dsp;
        (self.log)(&match late {
            true => format!(
                "the DSP {dsp} does not answer in time: what it does not get done is coded by the \
                 gateway itself"
            ),
            false => format!("the DSP {dsp} keeps up again"),
        });
    }

    fn learn(&mut self, work: &[Vec<u32>; 2]) {
        let now = self.now();
        for (kind, all) in [Kind::Audio, Kind::Video].into_iter().zip(work) {
            for nanos in all {
                let lanes = self.lanes.iter().filter(|(_, lane)| lane.kind() == kind);
                let handles = lanes.filter_map(|(_, lane)| lane.handle);
                self.tuner.learn(kind, *nanos, now, handles);
            }
        }
    }

    /// Notices that the DSP is gone, and looks for it while it is.
    fn look_for(&mut self, now: Instant) {
        if let Some(link) = self.link {
            if self.node.link(link).check().is_ok() {
                return;
            }
            self.node.link(link).close();
            self.link = None;
            self.left.lost += 1;
            self.hunt = now;
            (self.log)(&format!(
                "the DSP {} is gone: frames are coded by the gateway itself until it is back",
                self.dsp
            ));
            for (_, lane) in &mut self.lanes {
                lane.lost(&mut self.own);
            }
        }
        if now < self.hunt {
            return;
        }
        self.hunt = now + HUNT;
        match self.node.try_hunt(&self.dsp) {
            Ok(Some(link)) => self.found(link),
            Ok(None) => {}
            Err(error) => {
                // Begun anew at the next look.
                self.node.give_up(&self.dsp);
                self.say("the DSP cannot be looked for", &error.to_string());
            }
        }
    }

    fn found(&mut self, link: LinkId) {
        self.link = Some(link);
        self.left.found += 1;
        self.said = None;
        let word = if self.left.found > 1 { "back" } else { "there" };
        (self.log)(&format!("the DSP {} is {word}", self.dsp));
        for (_, lane) in &self.lanes {
            lane.forget(&mut self.own);
        }
    }

    /// Measures the machine for the controller, once: while there is no session, since frames of
    /// one would wait for that.
    fn measure(&mut self) {
        let Some(link) = self.link else { return };
        if self.measured || !self.tuner.is_auto() || !self.lanes.is_empty() {
            return;
        }
        self.measured = true;
        match measure(&mut self.node, link) {
            Some(costs) => {
                let now = self.now();
                self.tuner.costs(costs, now);
            }
            None => {
                (self.log)("the machine could not be measured: calls are taken to cost nothing");
            }
        }
    }

    /// Goes on with what the controller wants to be otherwise.
    fn steer(&mut self) {
        loop {
            let now = self.now();
            if self.switch.is_none() {
                self.switch = self.tuner.next(now).map(|switch| (switch, false));
            }
            let Some((switch, told)) = self.switch else { return };
            let lane = self.lanes.iter_mut().find(|(_, lane)| lane.handle == Some(switch.flow));
            let Some((_, lane)) = lane else {
                self.switch = None;
                return;
            };
            let failed = match lane.flow() {
                // It opens with that one.
                None => None,
                Some(flow) if !told => match self.node.flow(flow).begin_switch(switch.to) {
                    Ok(()) => {
                        self.switch = Some((switch, true));
                        continue;
                    }
                    Err(error) => {
                        Some(matches!(error, FlowError::Infeasible | FlowError::Strategy(_)))
                    }
                },
                Some(flow) if self.node.flow(flow).is_switching() => return,
                Some(flow) => {
                    let done = self.node.flow(flow).strategy() == Some(switch.to);
                    if done { None } else { Some(true) }
                }
            };
            if failed.is_none() {
                lane.strategy = switch.to;
            }
            let kind = lane.kind();
            self.switch = None;
            self.tuner.ended(kind, &switch, failed, now);
        }
    }

    /// Waits for a task, an answer, or until something is due: as the quickest of the flows wants
    /// it whose answer is awaited. Where all are polled nobody rings, and a look is a turn.
    fn wait(&mut self, tasks: &Receiver<Task>) -> Option<Task> {
        if let Ok(task) = tasks.try_recv() {
            return Some(task);
        }
        let now = Instant::now();
        let hunt = self.link.is_none().then_some(self.hunt);
        let due = self.lanes.iter().filter_map(|(_, lane)| lane.due()).chain(hunt).min();
        let most = due.map_or(LONGEST, |due| due.saturating_duration_since(now)).min(LONGEST);
        let asked = self.switch.is_some().then_some(Notification::Interrupt);
        let awaited = self.lanes.iter().filter_map(|(_, lane)| lane.awaits()).chain(asked);
        match notify::quickest(awaited) {
            Some(Notification::Poll { .. }) => tasks.recv_timeout(most).ok(),
            _ => {
                self.node.set_notification(Notification::Interrupt);
                self.node.wait_any(Some(most));
                None
            }
        }
    }
}
