//! Sessions carried one way: what was measured of them.

use super::control::Control;
use super::flags::Gateway;
use super::plan::{self, Kind, Stay};
use super::processes::{Dsp, Server};
use super::session::{Opened, Ports, Session};
use super::statistics;
use crate::base::failure::Failure;
use crate::base::options::Cores;
use crate::experiments::house::House;
use crate::formats::workload::Workload;
use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often all is looked at.
const TURN: Duration = Duration::from_millis(20);
/// How often the gateway is asked whether a frame was late.
const LOOK: Duration = Duration::from_millis(200);
/// How long a DSP that was killed is away.
const AWAY: Duration = Duration::from_secs(1);
/// Until the gateway and its DSP, which have just begun, have found each other.
const SETTLE: Duration = Duration::from_millis(500);

/// How sessions are carried.
pub(super) struct Way<'a> {
    pub name: &'a str,
    pub args: &'a Gateway,
    /// The folder of the programs.
    pub programs: &'a Path,
    pub cores: Option<Cores>,
    pub workload: &'a Workload,
    /// Bytes of internal memory that sessions may take.
    pub memory: Option<u32>,
    pub speech: &'a [i16],
    /// The most sessions that are added until a frame is late, and the time between two.
    pub adding: Option<(plan::Counts, Duration)>,
}

/// What was measured.
pub(super) struct Measured {
    /// Those that were taken.
    pub sessions: Vec<Session>,
    /// Why sessions were not taken.
    pub refused: Vec<String>,
    pub gateway: statistics::Gateway,
    /// None if the DSP did not run through.
    pub dsp: Option<statistics::Dsp>,
    /// Processor time of the gateway, in nanoseconds, and how long it is of.
    pub load: u64,
    pub seconds: f64,
    /// How many were carried before the first late frame, and what ended it.
    pub carried: Option<(usize, Ended)>,
}

/// What ended the adding of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Late,
    Dropped,
    Refused,
    /// Nothing: there were no more to add.
    Enough,
}

impl Ended {
    pub fn name(self) -> &'static str {
        match self {
            Ended::Late => "late",
            Ended::Dropped => "dropped",
            Ended::Refused => "refused",
            Ended::Enough => "enough",
        }
    }
}

/// All that runs.
struct Carrying<'a> {
    house: &'a House,
    way: &'a Way<'a>,
    dsp: Dsp,
    server: Server,
    control: Control,
    ports: Ports,
    open: Vec<Session>,
    over: Vec<Session>,
    refused: Vec<String>,
    began: Instant,
    kill: Option<Duration>,
    back: Option<Duration>,
}

/// Carries sessions.
///
/// # Errors
/// What prevents it, in a sentence.
pub(super) fn carry(house: &House, way: &Way<'_>) -> Result<Measured, Failure> {
    let dsp = Dsp::start(house, way)?;
    let server = Server::start(house, way)?;
    let control = Control::new(server.port)?;
    house.pause(SETTLE)?;
    let mut carrying = Carrying {
        house,
        way,
        dsp,
        server,
        control,
        ports: Ports::new(),
        open: Vec::new(),
        over: Vec::new(),
        refused: Vec::new(),
        began: Instant::now(),
        kill: way.args.kill,
        back: None,
    };
    let carried = match way.adding {
        None => {
            carrying.come_and_go()?;
            None
        }
        Some((counts, apart)) => Some(carrying.add(counts, apart)?),
    };
    carrying.end(carried)
}

impl Carrying<'_> {
    /// Opens a session; whether it was taken.
    fn open(&mut self, (call, kind): (String, Kind), frames: u64) -> Result<bool, Failure> {
        let named = (call, kind);
        let Carrying { house, control, ports, .. } = self;
        match Session::open(house, control, ports, named, frames)? {
            Opened::Taken(session) => self.open.push(*session),
            Opened::Refused(why) => {
                self.refused.push(why);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A moment of all that is under way.
    fn turn(&mut self) -> Result<(), Failure> {
        self.house.pause(TURN)?;
        self.server.see()?;
        let elapsed = self.began.elapsed();
        if self.kill.is_some_and(|at| elapsed >= at) {
            self.kill = None;
            self.dsp.kill();
            self.back = Some(elapsed + AWAY);
        } else if self.back.is_some_and(|at| elapsed >= at) {
            self.back = None;
            self.dsp.start_again(self.house)?;
        } else if self.back.is_none() {
            self.dsp.see()?;
        }
        let (house, way, control) = (self.house, self.way, &mut self.control);
        for session in &mut self.open {
            session.go_on(house, control, way.speech, way.args.keep.is_some())?;
        }
        let (over, open) = std::mem::take(&mut self.open).into_iter().partition(Session::is_over);
        self.open = open;
        self.over.extend::<Vec<Session>>(over);
        Ok(())
    }

    /// Sessions come when they are due, until all are over.
    fn come_and_go(&mut self) -> Result<(), Failure> {
        let mut due: VecDeque<Stay> = plan::stays(self.way.workload).into();
        while !(due.is_empty() && self.open.is_empty()) {
            while let Some(stay) = due.pop_front_if(|stay| stay.from <= self.began.elapsed()) {
                self.open((stay.call, stay.kind), stay.frames)?;
            }
            self.turn()?;
        }
        Ok(())
    }

    /// Adds one session after the other until a frame is late. How many there were before.
    fn add(&mut self, counts: plan::Counts, apart: Duration) -> Result<(usize, Ended), Failure> {
        let kinds = plan::added(counts);
        let longest = apart * u32::try_from(kinds.len() + 2).unwrap_or(u32::MAX);
        let mut ended = Ended::Enough;
        let mut carried = 0;
        for (number, kind) in kinds.into_iter().enumerate() {
            let frames = (longest.as_micros() / kind.period().as_micros()) as u64;
            if !self.open((format!("{}-{}", kind.name(), number + 1), kind), frames)? {
                ended = Ended::Refused;
                break;
            }
            if let Some(how) = self.watch(apart)? {
                ended = how;
                break;
            }
            carried += 1;
        }
        self.open.iter_mut().for_each(Session::stop);
        while !self.open.is_empty() {
            self.turn()?;
        }
        Ok((carried, ended))
    }

    /// Goes on for a time, or until a frame is late or given up.
    fn watch(&mut self, time: Duration) -> Result<Option<Ended>, Failure> {
        let begun = Instant::now();
        let mut looked = begun;
        while begun.elapsed() < time {
            self.turn()?;
            if looked.elapsed() < LOOK {
                continue;
            }
            looked = Instant::now();
            for session in &self.open {
                let totals = self.control.totals(&session.call)?;
                match (totals.late, totals.dropped) {
                    (0, 0) => {}
                    (0, _) => return Ok(Some(Ended::Dropped)),
                    _ => return Ok(Some(Ended::Late)),
                }
            }
        }
        Ok(None)
    }

    /// Ends the gateway and the DSP, in this order.
    fn end(mut self, carried: Option<(usize, Ended)>) -> Result<Measured, Failure> {
        let load = self.server.load();
        let seconds = self.began.elapsed().as_secs_f64();
        let gateway = self.server.stop(self.house)?;
        let whole = self.way.args.kill.is_none();
        let dsp = self.dsp.stop(self.house)?;
        Ok(Measured {
            sessions: self.over,
            refused: self.refused,
            gateway,
            dsp: Some(dsp).filter(|_| whole),
            load,
            seconds,
            carried,
        })
    }
}
