//! Two processes at work, of which one is killed at any moment: what the other is told, when, and
//! what it has then.
//!
//! `NARROWS_ROUNDS=20 cargo test -p narrows-host --test alone processes::` runs twenty times as
//! many kills.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::process::{
    INBOX, Peer, Random, Role, alone, node, number, payload, possessions,
};
use crate::common::process::{no_more_than, rounds, take};
use crate::common::{PATIENCE, name};
use narrows::endpoint::{
    Address, CallError, Failure, FlowError, FlowId, Function, PortError, Select, SendError, Sink,
    Source, What,
};
use narrows::link::LinkId;
use narrows::memory::Kind;
use narrows::platform::Lost;
use narrows_host::Node;
use rustix::process::Signal;

const NOTIFICATIONS: [&str; 4] = ["interrupt", "spin", "hybrid", "poll=1ms"];
const TRANSFERS: [&str; 6] = [
    "copy/external",
    "copy_lazy/internal",
    "single_copy/external",
    "in_place/internal",
    "copy_engine/external",
    "copy_batched/external/granularity=4",
];
/// Where messages go.
const WORK: u16 = 1;
/// Where messages come from, and where the end of a link is told.
const NEWS: u16 = 2;

fn echo(request: &dyn Source, response: &mut dyn Sink) -> Result<(), Failure> {
    let mut bytes = [0; 4096];
    let bytes = bytes.get_mut(..request.len()).ok_or(Failure::NoRoom)?;
    request.read(0, bytes)?;
    response.write(0, bytes)
}

/// One turn of a node that serves calls and takes messages. Gives the messages taken, which are
/// numbered from `next` on; whether there was anything to do.
fn turn(node: &mut Node, next: &mut u64, mut taken: impl FnMut(u64)) -> bool {
    node.poll();
    let mut run = echo;
    let mut busy = node.try_serve(&mut [Function { name: name("echo"), run: &mut run }]) > 0;
    while let Some(message) = node.try_receive(WORK, &Select::default()).unwrap() {
        assert_eq!(take(node, message), *next, "messages come in order, each once");
        *next += 1;
        taken(*next);
        busy = true;
    }
    busy
}

/// What a node that makes work has done.
#[derive(Default)]
struct Work {
    sent: u64,
    started: u64,
    finished: u64,
    lost: Option<Lost>,
}

impl Work {
    /// Sends some messages and makes some calls; false once the peer is gone.
    fn go_on(&mut self, node: &mut Node, link: LinkId, flow: FlowId, random: &mut Random) -> bool {
        let done = self.messages(node, link, random).and_then(|()| self.calls(node, flow, random));
        self.lost = done.err();
        self.lost.is_none()
    }

    fn messages(&mut self, node: &mut Node, link: LinkId, random: &mut Random) -> Result<(), Lost> {
        let mut buffer = [0; 4096];
        for _ in 0..random.below(6) {
            let bytes = payload(self.sent, &mut buffer);
            match node.try_send(NEWS, Address { link, port: WORK }, bytes) {
                Ok(()) => self.sent += 1,
                Err(SendError::RingFull | SendError::PoolEmpty) => break,
                Err(SendError::Gone(reason)) => return Err(reason),
                Err(error) => panic!("message {}: {error}", self.sent),
            }
        }
        Ok(())
    }

    fn calls(&mut self, node: &mut Node, flow: FlowId, random: &mut Random) -> Result<(), Lost> {
        let (mut request, mut response) = ([0; 4096], [0; 4096]);
        for _ in 0..1 + random.below(8) {
            match node.flow(flow).start(payload(self.started, &mut request)) {
                Ok(_) => self.started += 1,
                Err(SendError::RingFull | SendError::PoolEmpty) => break,
                Err(SendError::Gone(reason)) => return Err(reason),
                Err(error) => panic!("call {}: {error}", self.started),
            }
        }
        while self.finished < self.started {
            match node.flow(flow).finish(&mut response, Some(PATIENCE)) {
                Ok(done) => assert_eq!(number(&response[..done.len]), self.finished),
                Err(CallError::Gone(reason)) => return Err(reason),
                Err(error) => panic!("call {}: {error}", self.finished),
            }
            self.finished += 1;
        }
        Ok(())
    }
}

#[test]
#[ignore = "what a peer runs; does nothing by itself"]
fn a_peer() {
    let Some(role) = Role::get() else { return };
    let mut node = node(&role.directory, "peer");
    node.open(WORK).unwrap();
    node.open(NEWS).unwrap();
    match role.name.as_str() {
        "serve" => serve_until_alone(&mut node, &role),
        "work" => work_until_alone(&mut node, &role),
        other => panic!("no role {other}"),
    }
}

fn serve_until_alone(node: &mut Node, role: &Role) {
    let (end, mut next, mut linked) = (Instant::now() + PATIENCE, 0, false);
    while Instant::now() < end && !(linked && node.links().count() == 0) {
        linked |= node.links().count() > 0;
        if !turn(node, &mut next, |count| role.report(count)) {
            node.wait_any(Some(PATIENCE));
        }
    }
}

fn work_until_alone(node: &mut Node, role: &Role) {
    let (end, strategy) = (Instant::now() + PATIENCE, role.words.parse().unwrap());
    let link = node.hunt(&name("survivor"), Some(PATIENCE)).unwrap();
    let flow = node.open_flow(link, &name("echo"), strategy, 4096, Some(PATIENCE));
    let (flow, mut work, mut random) = (flow.unwrap(), Work::default(), Random::new(7));
    while Instant::now() < end && work.go_on(node, link, flow, &mut random) {
        role.report(work.sent);
    }
}

/// How long the survivor waits for something to happen, if nothing does.
const WAIT: Duration = Duration::from_secs(10);

/// When a peer is killed.
enum Moment {
    /// By the thread that works with it, after this many turns.
    Turns(u64),
    /// By another thread, after this time.
    After(Duration),
}

impl Moment {
    fn pick(round: u64, random: &mut Random) -> Moment {
        if round.is_multiple_of(2) {
            Moment::Turns(random.below(60))
        } else {
            Moment::After(Duration::from_micros(random.below(20_000)))
        }
    }
}

/// Kills a peer at a moment while `turn` is done again and again, until that gives when it knew.
/// How long it took to know.
fn kill_during(
    peer: &Peer,
    moment: &Moment,
    mut turn: impl FnMut() -> Option<Instant>,
) -> Duration {
    std::thread::scope(|scope| {
        let mut killer = None;
        let mut killed = None;
        if let Moment::After(time) = *moment {
            killer = Some(scope.spawn(move || {
                std::thread::sleep(time);
                peer.kill()
            }));
        }
        let deadline = Instant::now() + PATIENCE;
        for turns in 0.. {
            if matches!(*moment, Moment::Turns(n) if n == turns) {
                killed = Some(peer.kill());
            }
            if let Some(told) = turn() {
                let killed = killed.or_else(|| killer.take().map(|k| k.join().unwrap()));
                let killed = killed.expect("told before the kill");
                assert!(told > killed, "told before the kill");
                return told - killed;
            }
            assert!(Instant::now() < deadline, "nobody tells");
        }
        unreachable!()
    })
}

/// Takes the notice that a link's peer died, and looks at what the link has then.
fn ended(node: &mut Node, link: LinkId) {
    let select = Select { link: Some(link), ..Select::default() };
    let notice = node.receive(NEWS, &select, Some(PATIENCE)).expect("a notice");
    assert_eq!(notice.what, What::PeerGone(Lost::Died));
    node.release(notice);
    assert_eq!(node.link(link).blocks_in_use(), Ok((0, 0)), "every block is back");
}

/// Messages that a peer had sent or taken and its end of a link had not said when it was killed, at
/// most: those of a ring over frames, none in memory.
fn unsaid(node: &mut Node, link: LinkId) -> u64 {
    match std::env::var("NARROWS_CARRIER").as_deref() {
        Ok("stream") => node.link(link).layouts().unwrap().0.slots().into(),
        _ => 0,
    }
}

/// A caller's peer is killed. How long it took until the caller knew.
fn callee_killed(
    node: &mut Node,
    peer: &mut Peer,
    strategy: &str,
    random: &mut Random,
    round: u64,
) -> Duration {
    let link = node.hunt(&name("peer"), Some(PATIENCE)).unwrap();
    node.link(link).attach(NEWS).unwrap();
    let strategy = strategy.parse().unwrap();
    let flow = node.open_flow(link, &name("echo"), strategy, 4096, Some(PATIENCE)).unwrap();
    let moment = Moment::pick(round, random);
    let mut work = Work::default();
    let took =
        kill_during(peer, &moment, || (!work.go_on(node, link, flow, random)).then(Instant::now));
    assert_eq!(work.lost, Some(Lost::Died));
    ended(node, link);
    peer.wait();

    // What the peer never had is the end of what was sent, as it was sent.
    let (mut messages, mut requests) = (Vec::new(), 0);
    let count = node.link(link).undelivered(|d, source| match d.kind {
        Kind::Message => messages.push((d.target, number(source))),
        _ => requests += 1,
    });
    assert_eq!(count, Ok(messages.len() as u32 + requests));
    let had = work.sent - messages.len() as u64;
    assert_eq!(messages, (had..work.sent).map(|n| (WORK, n)).collect::<Vec<_>>());
    let reported = peer.reported();
    let least = reported.saturating_sub(unsaid(node, link));
    assert!(
        (least..=reported + INBOX as u64 + 1).contains(&had),
        "{} sent, {reported} taken, {} back",
        work.sent,
        messages.len()
    );
    assert!(work.finished + u64::from(requests) <= work.started);

    assert_eq!(node.flow(flow).close(), Ok(()));
    node.link(link).close();
    assert_eq!(node.flow(flow).is_ready(), Err(FlowError::Unknown));
    took
}

/// A callee's peer is killed. How long it took until the callee knew.
fn caller_killed(node: &mut Node, peer: &mut Peer, random: &mut Random, round: u64) -> Duration {
    let deadline = Instant::now() + PATIENCE;
    let link = loop {
        node.poll();
        if let Some((link, _)) = node.links().next() {
            break link;
        }
        assert!(Instant::now() < deadline, "the caller does not come");
        node.wait_any(Some(PATIENCE));
    };
    node.link(link).attach(NEWS).unwrap();
    let moment = Moment::pick(round, random);
    let mut next = 0;
    let took = kill_during(peer, &moment, || {
        if !turn(node, &mut next, |_| ()) && node.link(link).check().is_ok() {
            // A killer of another thread is waited for here; one of this thread needs turns.
            let turns = matches!(moment, Moment::Turns(_));
            node.wait_any(Some(if turns { Duration::from_millis(1) } else { WAIT }));
            node.poll();
        }
        node.link(link).check().is_err().then(Instant::now)
    });
    // All that it had sent arrives, and behind it that it died.
    while turn(node, &mut next, |_| ()) {}
    ended(node, link);
    peer.wait();
    let least = peer.reported().saturating_sub(unsaid(node, link));
    assert!(next >= least, "{next} came, {} sent", peer.reported());
    node.link(link).close();
    took
}

/// The shortest, the middle and the longest of some times.
fn summary(mut times: Vec<Duration>) -> (Duration, Duration, Duration) {
    times.sort_unstable();
    (times[0], times[(times.len() - 1) / 2], times[times.len() - 1])
}

fn kills(directory: &Path, role: &str, each: u64) {
    let mut node = node(directory, "survivor");
    node.open(WORK).unwrap();
    node.open(NEWS).unwrap();
    let mut lives = Vec::new();
    for (row, notification) in (0..).zip(NOTIFICATIONS) {
        let text = format!("copy/{notification}");
        let strategy: narrows::strategy::Strategy = text.parse().unwrap();
        node.set_notification(strategy.notification);
        let mut times = Vec::new();
        for round in 0..each * rounds() {
            let transfer = TRANSFERS[(row + round as usize) % TRANSFERS.len()];
            let strategy = format!("{transfer}/{notification}");
            let mut random = Random::new(1 + row as u64 * 1_000_000 + round);
            let mut peer = Peer::start(module_path!(), role, directory, &strategy);
            times.push(match role {
                "serve" => callee_killed(&mut node, &mut peer, &strategy, &mut random, round),
                _ => caller_killed(&mut node, &mut peer, &mut random, round),
            });
            lives.push(node.links().count());
        }
        let (shortest, middle, longest) = summary(times);
        println!("{role}, {notification}: told after {shortest:?}, {middle:?}, {longest:?}");
        // A wait that the death did not end would have lasted until its deadline.
        assert!(longest < WAIT, "{role}, {notification}: {longest:?}");
    }
    assert!(lives.iter().all(|links| *links == 0));
}

fn nothing_stays(what: impl FnOnce(&Path)) {
    let _alone = alone();
    let before = possessions();
    let directory = tempfile::tempdir().unwrap();
    what(directory.path());
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    no_more_than(before);
}

#[test]
fn a_caller_hears_of_its_callees_death_has_everything_back_and_goes_on_with_the_next() {
    nothing_stays(|directory| kills(directory, "serve", 6));
}

#[test]
fn a_callee_hears_of_its_callers_death_has_all_it_sent_and_serves_the_next() {
    nothing_stays(|directory| kills(directory, "work", 4));
}

#[test]
fn a_peer_that_is_stopped_is_not_dead_and_has_everything_when_it_goes_on() {
    nothing_stays(|directory| {
        let mut node = node(directory, "survivor");
        node.open(NEWS).unwrap();
        let mut peer = Peer::start(module_path!(), "serve", directory, "");
        let link = node.hunt(&name("peer"), Some(PATIENCE)).unwrap();
        node.link(link).attach(NEWS).unwrap();
        let strategy = "copy/interrupt".parse().unwrap();
        let flow = node.open_flow(link, &name("echo"), strategy, 64, Some(PATIENCE)).unwrap();
        peer.signal(Signal::STOP);
        let (mut sent, mut buffer) = (0, [0; 4096]);
        node.flow(flow).start(b"are you there").unwrap();
        let full = loop {
            let to = Address { link, port: WORK };
            match node.try_send(NEWS, to, payload(sent, &mut buffer)) {
                Ok(()) => sent += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(full, SendError::RingFull | SendError::PoolEmpty), "{full}");
        let nothing = node.receive(NEWS, &Select::default(), Some(Duration::from_millis(300)));
        assert_eq!(nothing, Err(PortError::Deadline), "a stopped peer is not gone");
        assert_eq!(node.link(link).check(), Ok(()));
        peer.signal(Signal::CONT);
        let mut response = [0; 64];
        let done = node.flow(flow).finish(&mut response, Some(PATIENCE)).unwrap();
        assert_eq!(&response[..done.len], b"are you there");
        // The next call is behind all messages.
        node.flow(flow).call(b"and now", &mut response, Some(PATIENCE)).unwrap();
        node.link(link).close();
        drop(node);
        assert!(peer.wait().success());
        assert_eq!(peer.reported(), sent);
    });
}
