//! Calls in one configuration: what was measured of them.

use super::dsp::Dsp;
use super::flags::Voip;
use super::phone::{Made, Phone};
use super::plan::Configuration;
use super::registrar::Registrar;
use super::sound::{self, Heard};
use super::statistics::Statistics;
use super::wire::{Capture, Packet};
use crate::base::failure::{Failure, Kind};
use crate::base::options::Cores;
use crate::experiments::house::House;
use crate::experiments::house::load;
use crate::formats::wav;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

const PATIENCE: Duration = Duration::from_secs(30);
/// From when all talk until it is measured: jitter buffers have filled.
const SETTLE: Duration = Duration::from_millis(500);
/// By how much more is said than calls take: the time to set them up.
const MARGIN: usize = 15;
/// How long a DSP that was killed is away.
const AWAY: Duration = Duration::from_secs(1);

/// The two ends of a call, and what became of them.
pub(super) struct Ended {
    pub caller: Statistics,
    pub answerer: Statistics,
    /// Where the answerer got packets.
    pub rtp: u16,
    /// What the answerer heard; none if nothing.
    pub heard: Option<Heard>,
}

/// What was measured.
pub(super) struct Measured {
    pub ends: Vec<Ended>,
    pub packets: Vec<Packet>,
    pub talked: Talked,
    /// Frames that the DSP has coded since it was started, as it counts them at its end.
    pub served: Option<u64>,
    /// What the plugins said.
    pub notes: Vec<String>,
}

/// While all talked.
pub(super) struct Talked {
    /// From when to when, in seconds as packets have them, it was measured.
    pub from: f64,
    pub to: f64,
    /// Nanoseconds of processor time: the mean of the telephones that are measured, and the DSP's;
    /// none if it was not the same process all the time.
    pub client: f64,
    pub dsp: Option<u64>,
    /// How the DSP left, if it did so by itself.
    pub left: Option<String>,
}

/// All that runs during calls.
struct Calls<'a> {
    house: &'a House,
    registrar: Registrar,
    dsp: Option<Dsp>,
    callers: Vec<Phone>,
    answerers: Vec<Phone>,
}

/// Makes the calls, and more for as long as was asked for: with other telephones, but the same
/// registrar and the same DSP. What was measured each time.
///
/// # Errors
/// What prevents them, in a sentence.
pub(super) fn make(
    house: &House,
    args: &Voip,
    plugin: &Path,
    cores: Option<Cores>,
    configuration: &Configuration,
    speech: &[i16],
) -> Result<Vec<Measured>, Failure> {
    let nodes = house.folder("nodes")?;
    let source = house.path("said.wav");
    let said = sound::repeated(speech, args.length.as_secs() as usize + MARGIN);
    wav::write(&source, &said)?;
    let registrar = Registrar::start(house, args.port)?;
    let dsp = match configuration.strategy {
        Some(_) => {
            let core = cores.map(|cores| cores.callee);
            Some(Dsp::start(house, plugin, &nodes, configuration.work, core)?)
        }
        None => None,
    };
    let port = registrar.port;
    let phone = |user: String, offloads: bool| {
        let strategy = configuration.strategy.as_deref().filter(|_| offloads);
        let made = Made {
            user: &user,
            registrar: port,
            law: args.law,
            source: &source,
            plugin,
            strategy,
            nodes: &nodes,
            core: cores.map(|cores| cores.caller),
        };
        Phone::start(house, &made)
    };
    let (callers, answerers) = (Vec::new(), Vec::new());
    let mut calls = Calls { house, registrar, dsp, callers, answerers };
    let mut first: Option<Instant> = None;
    let mut all: Vec<Measured> = Vec::new();
    loop {
        let round = all.len();
        let named = |end: &str, number: u16| match round {
            0 => format!("{end}{number}"),
            _ => format!("{end}{number}-{round}"),
        };
        for number in 1..=args.calls {
            calls.callers.push(phone(named("caller", number), true)?);
            calls.answerers.push(phone(named("answerer", number), configuration.both)?);
        }
        calls.register()?;
        let ports = calls.phones().map(|phone| phone.rtp).collect();
        let capture = Capture::start(house, ports)?;
        calls.begin()?;
        let talked = calls.talk(args, configuration)?;
        calls.end()?;
        let packets = capture.end(house)?;
        let measured = calls.measured(&said, talked, packets, args.keep.is_some())?;
        let since = first.get_or_insert_with(Instant::now).elapsed();
        let goes_on = args.again.is_some_and(|time| since < time);
        let goes_on = goes_on && measured.talked.left.is_none();
        all.push(measured);
        if !goes_on {
            break;
        }
    }
    let served = calls.dsp.map(|dsp| dsp.stop(house)).transpose()?.flatten();
    if let Some(last) = all.last_mut() {
        last.served = served;
    }
    Ok(all)
}

impl Calls<'_> {
    fn phones(&mut self) -> impl Iterator<Item = &mut Phone> {
        self.callers.iter_mut().chain(&mut self.answerers)
    }

    /// Waits until all are registered.
    fn register(&mut self) -> Result<(), Failure> {
        let all = self.callers.iter().chain(&self.answerers);
        let users: Vec<String> = all.map(|phone| phone.user.clone()).collect();
        let all =
            |text: &str| users.iter().all(|user| Registrar::passed(text, "REGISTER", user) > 0);
        self.registrar.helper.wait_for(self.house, "registered all telephones", PATIENCE, all)
    }

    /// Calls, and waits until all talk.
    fn begin(&mut self) -> Result<(), Failure> {
        let port = self.registrar.port;
        for (caller, answerer) in self.callers.iter_mut().zip(&self.answerers) {
            caller.call(&answerer.user, port);
        }
        self.wait_for("begun to talk", |text| text.contains("Media streams established"))?;
        self.house.pause(SETTLE)
    }

    /// Waits until all telephones have said something.
    fn wait_for(&mut self, what: &str, said: fn(&str) -> bool) -> Result<(), Failure> {
        let begun = Instant::now();
        loop {
            // Without it they would wait for good.
            self.registrar.helper.see()?;
            let late = begun.elapsed() >= PATIENCE;
            let mut all = true;
            for phone in self.phones() {
                if !said(&phone.helper.text()) {
                    all = false;
                    phone.helper.see()?;
                    if late {
                        return Err(phone.helper.silent(what, PATIENCE));
                    }
                }
            }
            if all {
                return Ok(());
            }
            self.house.pause(Duration::from_millis(20))?;
        }
    }

    /// Talks for as long as was asked for.
    fn talk(&mut self, args: &Voip, configuration: &Configuration) -> Result<Talked, Failure> {
        /// How often it is seen whether all are still there.
        const TURN: Duration = Duration::from_millis(100);
        let measured: Vec<u32> = match configuration.both {
            true => self.phones().map(|phone| phone.helper.pid()).collect(),
            false => self.callers.iter().map(|phone| phone.helper.pid()).collect(),
        };
        let look = |pids: &[u32]| pids.iter().map(|pid| load::threads(*pid)).collect::<Vec<_>>();
        let dsp: Vec<u32> = self.dsp.iter().map(Dsp::pid).collect();
        let (began, from) = (Instant::now(), now());
        let before = (look(&measured), look(&dsp));
        let mut left = None;
        let mut kill = args.kill.filter(|_| self.dsp.is_some());
        let mut back = None;
        while began.elapsed() < args.length {
            self.house.pause(TURN.min(args.length.saturating_sub(began.elapsed())))?;
            self.registrar.helper.see()?;
            self.phones().try_for_each(|phone| phone.helper.see())?;
            let Some(dsp) = &mut self.dsp else { continue };
            if kill.is_some_and(|at| began.elapsed() >= at) {
                kill = None;
                dsp.kill();
                back = Some(began.elapsed() + AWAY);
            } else if back.is_some_and(|at| began.elapsed() >= at) {
                back = None;
                dsp.start_again(self.house)?;
            } else if back.is_none() && left.is_none() {
                left = dsp.ended();
            }
        }
        let after = (look(&measured), look(&dsp));
        let sum = |before: &[BTreeMap<u32, u64>], after: &[BTreeMap<u32, u64>]| {
            before.iter().zip(after).map(|(before, after)| load::used(before, after)).sum::<u64>()
        };
        let client = sum(&before.0, &after.0) as f64 / measured.len().max(1) as f64;
        // The time of one that was started again is not that of the calls.
        let whole = args.kill.is_none() && left.is_none() && !dsp.is_empty();
        let dsp = whole.then(|| sum(&before.1, &after.1));
        Ok(Talked { from, to: now(), client, dsp, left })
    }

    /// Hangs up, and sees that all of it went through the registrar.
    fn end(&mut self) -> Result<(), Failure> {
        for caller in &mut self.callers {
            caller.helper.say("terminate");
        }
        self.wait_for("ended its call", |text| text.contains(" ended ("))?;
        let text = self.registrar.helper.text();
        for caller in &self.callers {
            for method in ["INVITE", "BYE"] {
                if Registrar::passed(&text, method, &caller.user) == 0 {
                    let user = &caller.user;
                    let text = format!("no {method} of {user} has passed the registrar");
                    return Err(Failure::new(Kind::Peer, text));
                }
            }
        }
        Ok(())
    }

    /// Switches the telephones off.
    fn measured(
        &mut self,
        said: &[i16],
        talked: Talked,
        packets: Vec<Packet>,
        keeps: bool,
    ) -> Result<Measured, Failure> {
        let house = self.house;
        let mut notes = Vec::new();
        let mut ends = Vec::new();
        let callers = std::mem::take(&mut self.callers);
        for (caller, answerer) in callers.into_iter().zip(std::mem::take(&mut self.answerers)) {
            for phone in [&caller, &answerer] {
                notes.extend(
                    phone.notes().into_iter().map(|note| format!("{}: {note}", phone.user)),
                );
            }
            let users = [caller.user.clone(), answerer.user.clone()];
            let (rtp, recording) = (answerer.rtp, answerer.recording.clone());
            let caller = caller.switch_off(house)?;
            let answerer = answerer.switch_off(house)?;
            let recorded = sound::recorded(&recording).unwrap_or_default();
            let heard = sound::compare(said, &recorded);
            if heard.is_none() {
                let [_, answerer] = &users;
                let seconds = recorded.len() as f64 / f64::from(wav::RATE);
                notes.push(format!("{answerer}: heard nothing: its recording has {seconds:.2} s"));
            }
            ends.push(Ended { caller, answerer, rtp, heard });
            if !keeps {
                users.iter().for_each(|user| house.forget(user));
            }
        }
        Ok(Measured { ends, packets, talked, served: None, notes })
    }
}

/// Seconds as packets are stamped.
fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
