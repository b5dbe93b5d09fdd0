//! The process whose calls fail: it opens a node, links, works with its partner and closes.

use std::fmt::Display;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use narrows::endpoint::{Address, Failure, Function, Sink, Source};
use narrows::link::LinkId;
use narrows_host::{Carrier, Node, Options};

use super::common::name;

/// What the process is told: its scene, its directory, how many calls fail, whether they may fail
/// however often they are tried, and whether no more descriptors can be had.
pub const SCENE: &str = "NARROWS_TEST_SCENE";
pub const PLACE: &str = "NARROWS_TEST_PLACE";
pub const FAULTS: &str = "NARROWS_TEST_FAULTS";
pub const AGAIN: &str = "NARROWS_TEST_AGAIN";
pub const LASTING: &str = "NARROWS_TEST_LASTING";

/// The subject opens where nobody was, or where a node of its name died, and only once; it hunts
/// its partner, is hunted by it, or hunts it over a stream of frames.
pub const SCENES: [&str; 5] = ["opens", "succeeds", "hunts", "hunted", "framed"];

/// Whether there is a partner in a scene.
pub fn links(scene: &str) -> bool {
    !["opens", "succeeds"].contains(&scene)
}

/// A path that stands in the trace where the life begins and where it is over.
pub const MARK: &str = "/narrows-mark";

/// What one operation is given. A bell that was lost costs one of them.
const WITHIN: Duration = Duration::from_secs(2);
/// What nothing takes that ends at all: several operations of which each had its deadline.
pub const HANG: Duration = Duration::from_secs(60);

pub const PORT: u16 = 1;
/// The lengths of messages: in a slot, and in blocks.
const LENGTHS: [usize; 3] = [8, 3000, 60_000];

pub fn echo(request: &dyn Source, response: &mut dyn Sink) -> Result<(), Failure> {
    let mut bytes = [0; 64];
    let bytes = bytes.get_mut(..request.len()).ok_or(Failure::NoRoom)?;
    request.read(0, bytes)?;
    response.write(0, bytes)
}

fn mark() {
    assert!(std::fs::metadata(MARK).is_err());
}

/// Runs the life that the environment asks for. Prints the errors that it met.
pub fn main() {
    let scene = std::env::var(SCENE).expect("a scene");
    let directory = PathBuf::from(std::env::var_os(PLACE).expect("a place"));
    let told = |variable| std::env::var(variable).is_ok_and(|word| word == "1");
    let (again, lasting) = (told(AGAIN), told(LASTING));
    let faults = std::env::var(FAULTS).ok().map_or(1, |text| text.parse().expect("a number"));
    let before = held().expect("what this process has");
    let mut errors = Vec::new();
    mark();
    let lived = Life { scene: &scene, directory, errors: &mut errors, faults, again }.run();
    mark();
    for error in &errors {
        println!("error: {error}");
    }
    lived.unwrap_or_else(|why| panic!("{why}"));
    if lasting {
        // Counting takes descriptors too.
        return;
    }
    // What was sent to nobody is closed by another thread.
    let end = Instant::now() + WITHIN;
    loop {
        // A life that made fewer calls than the one that was traced leaves its fault to this.
        let now = held();
        if now.as_ref().is_ok_and(|now| *now == before) {
            return;
        }
        assert!(Instant::now() < end, "{before:?} at first, {now:?} left");
        std::thread::yield_now();
    }
}

/// What this process has: descriptors, and mappings of regions.
fn held() -> std::io::Result<(usize, usize)> {
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let regions = maps.lines().filter(|line| line.contains("memfd:")).count();
    Ok((std::fs::read_dir("/proc/self/fd")?.count(), regions))
}

struct Life<'a> {
    scene: &'a str,
    directory: PathBuf,
    errors: &'a mut Vec<String>,
    /// How many calls fail, each of which may end one attempt.
    faults: usize,
    again: bool,
}

impl Life<'_> {
    /// Does something that may end with an error, once for each call that fails: then it has to
    /// work. Where calls go on failing it need not.
    fn again<T, E: Display>(
        &mut self,
        what: &str,
        mut act: impl FnMut() -> Result<T, E>,
    ) -> Result<Option<T>, String> {
        for attempt in 0..=self.faults {
            match act() {
                Ok(done) => return Ok(Some(done)),
                Err(error) if attempt < self.faults || self.again => {
                    self.errors.push(format!("{what}: {error}"));
                }
                Err(error) => return Err(format!("{what}, tried again: {error}")),
            }
        }
        Ok(None)
    }

    fn run(mut self) -> Result<(), String> {
        let framed = if self.scene == "framed" { Carrier::Stream } else { Carrier::Memory };
        let options = Options::new("subject").directory(&self.directory).carrier(framed);
        // Calls are counted thread by thread: one that is to fail once would fail in each.
        let options = options.background(!links(self.scene));
        if !links(self.scene) {
            // Not again: what the failed attempt left would be taken away.
            self.errors.extend(options.node().err().map(|error| format!("open: {error}")));
            return Ok(());
        }
        let opened = self.again("open", || options.clone().node())?;
        let Some(mut node) = opened else { return Ok(()) };
        node.open(PORT).map_err(|error| error.to_string())?;
        let scene = self.scene;
        self.again("work", || {
            let link = match scene {
                "hunted" => wait_for_link(&mut node)?,
                _ => node.hunt(&name("partner"), Some(WITHIN)).map_err(|e| format!("hunt: {e}"))?,
            };
            let worked = work(&mut node, link);
            node.link(link).close();
            worked
        })?;
        drop(node);
        Ok(())
    }
}

fn wait_for_link(node: &mut Node) -> Result<LinkId, String> {
    let end = Instant::now() + WITHIN;
    while Instant::now() < end {
        node.poll();
        if let Some((link, _)) = node.links().next() {
            return Ok(link);
        }
        node.wait_any(Some(end.saturating_duration_since(Instant::now())));
    }
    Err("nobody came".into())
}

/// Messages there and back, a call there and a call from there.
fn work(node: &mut Node, link: LinkId) -> Result<(), String> {
    let to = Address { link, port: PORT };
    let (mut bytes, mut back) = (vec![0; 60_000], vec![0; 60_000]);
    for (number, len) in (0..).zip(LENGTHS) {
        bytes[..len].iter_mut().enumerate().for_each(|(at, to)| *to = (number + at) as u8);
        node.send(PORT, to, &bytes[..len], Some(WITHIN)).map_err(|e| format!("send: {e}"))?;
        let came = node.receive_into(PORT, &mut back, Some(WITHIN));
        let came = came.map_err(|e| format!("receive: {e}"))?;
        assert!(came.len == len && back[..len] == bytes[..len], "message {number} is whole");
    }
    let strategy = "copy/interrupt".parse().expect("a strategy");
    let flow = node.open_flow(link, &name("echo"), strategy, 64, Some(WITHIN));
    let flow = flow.map_err(|e| format!("flow: {e}"))?;
    for request in [b"one", b"two"] {
        let done = node.flow(flow).call(request, &mut back, Some(WITHIN));
        let done = done.map_err(|e| format!("call: {e}"))?;
        assert_eq!(&back[..done], request);
    }
    // The partner calls back once it has been asked to: this message says so.
    node.send(PORT, to, b"call", Some(WITHIN)).map_err(|e| format!("send: {e}"))?;
    let end = Instant::now() + WITHIN;
    let mut run = echo;
    while Instant::now() < end {
        let _ =
            node.serve(&mut [Function { name: name("echo"), run: &mut run }], Some(WITHIN / 100));
        if let Some(came) = node.try_receive_into(PORT, &mut back).map_err(|e| e.to_string())? {
            assert_eq!(&back[..came.len], b"called");
            return node.flow(flow).close().map_err(|e| e.to_string());
        }
        node.link(link).check().map_err(|e| format!("serve: {e}"))?;
    }
    Err("serve: it was not called".into())
}
