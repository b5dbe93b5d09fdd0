//! `narrows bridge`: nodes of two network namespaces talk; what is wrong is said.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use narrows::endpoint::{Address, LinkError, Node};
use narrows::link::LinkId;
use narrows_host::{Host, Options};

const PATIENCE: Duration = Duration::from_secs(30);
const SOON: Option<Duration> = Some(PATIENCE);

fn narrows(args: &[&str]) -> (Option<i32>, String, String) {
    let ran = Command::new(env!("CARGO_BIN_EXE_narrows")).args(args).output();
    let ran = ran.expect("narrows can be started");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (ran.status.code(), text(&ran.stdout), text(&ran.stderr))
}

/// Runs `ip` of iproute2.
#[track_caller]
fn ip(args: &str) {
    let ran = Command::new("ip").args(args.split(' ')).output();
    let ran = ran.expect("ip can be started: run ci/setup, or install Debian's package iproute2");
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "ip {args}: {said}(it has to be root's)");
}

/// Two network namespaces with a wire between them, until this is dropped.
struct Wired([String; 2]);

impl Wired {
    fn new() -> Wired {
        let id = std::process::id();
        let wired = Wired(["a", "b"].map(|end| format!("narrows-{id}-{end}")));
        let [a, b] = &wired.0;
        for name in &wired.0 {
            ip(&format!("netns add {name}"));
        }
        ip(&format!("-n {a} link add wire type veth peer name wire netns {b}"));
        for (at, name) in wired.0.iter().enumerate() {
            ip(&format!("-n {name} address add 10.9.8.{}/24 dev wire", at + 1));
            ip(&format!("-n {name} link set wire up"));
        }
        wired
    }
    fn set(&self, state: &str) {
        ip(&format!("-n {} link set wire {state}", self.0[0]));
    }
}

impl Drop for Wired {
    fn drop(&mut self) {
        for name in &self.0 {
            let _ = Command::new("ip").args(["netns", "delete", name]).status();
        }
    }
}

/// A bridge in a namespace, and its lines.
struct Bridge(Child, Receiver<String>);

impl Bridge {
    fn start(namespace: &str, directory: &Path, args: &[&str]) -> Bridge {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace, env!("CARGO_BIN_EXE_narrows"), "bridge"]);
        command.args(args).env("NARROWS_DIR", directory).stdout(Stdio::piped());
        let mut child = command.spawn().expect("ip can be started");
        let out = BufReader::new(child.stdout.take().expect("it is piped"));
        let (told, lines) = channel();
        std::thread::spawn(move || {
            out.lines().map_while(Result::ok).try_for_each(|l| told.send(l))
        });
        Bridge(child, lines)
    }
    /// Waits for a line with this in it.
    #[track_caller]
    fn says(&self, what: &str) {
        let end = Instant::now() + PATIENCE;
        let mut all = Vec::new();
        while let Ok(line) = self.1.recv_timeout(end.saturating_duration_since(Instant::now())) {
            if line.contains(what) {
                return;
            }
            all.push(line);
        }
        panic!("'{what}' is not among {all:#?}");
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn node(directory: &Path, name: &str) -> Node<Host> {
    let mut node = Options::new(name).directory(directory).node().expect("a node");
    node.open(1).expect("a port");
    node
}

/// A message each way.
fn talk(gpp: &mut Node<Host>, dsp: &mut Node<Host>) -> LinkId {
    let link = gpp.hunt(&"dsp".parse().expect("a name"), SOON).expect("it is reached");
    gpp.send(1, Address { link, port: 1 }, b"hello", SOON).expect("there is room");
    let mut bytes = [0; 8];
    let got = dsp.receive_into(1, &mut bytes, SOON).expect("it came");
    dsp.send(1, got.from, got.bytes(&bytes), SOON).expect("there is room");
    let back = gpp.receive_into(1, &mut bytes, SOON).expect("it came back");
    assert_eq!(back.bytes(&bytes), b"hello");
    link
}

#[test]
fn nodes_in_two_network_namespaces_talk_lose_each_other_with_the_wire_and_meet_again() {
    let (wired, directory) = (Wired::new(), tempfile::tempdir().expect("a directory"));
    let [here, there] = ["here", "there"].map(|name| directory.path().join(name));
    let [own, other] = ["own", "other"].map(|name| directory.path().join(name));
    let [own, other] = [&own, &other].map(|path| path.to_str().expect("it is text"));
    let key = |file| {
        let (code, out, error) = narrows(&["bridge", "--new-key", file]);
        assert_eq!(code, Some(0), "{error}");
        out.trim().to_owned()
    };
    let keys = [key(own), key(other)];
    let offer =
        ["--listen", "10.9.8.2:7000", "--offer", "dsp", "--key", other, "--trust", &keys[0]];
    let offers = Bridge::start(&wired.0[1], &there, &offer);
    offers.says("listens at 10.9.8.2:7000 and offers dsp");
    let reach = ["--reach", "dsp=10.9.8.2:7000", "--key", own, "--trust", &keys[1]];
    let reaches = Bridge::start(&wired.0[0], &here, &reach);
    reaches.says("stands for dsp at 10.9.8.2:7000");

    let (mut gpp, mut dsp) = (node(&here, "gpp"), node(&there, "dsp"));
    let link = talk(&mut gpp, &mut dsp);
    offers.says("dsp and gpp at 10.9.8.1:");
    wired.set("down");
    let end = Instant::now() + PATIENCE;
    while gpp.link(link).check().is_ok() {
        assert!(Instant::now() < end, "nobody noticed");
        gpp.wait_any(Some(Duration::from_millis(20)));
        gpp.poll();
    }
    assert!(matches!(gpp.link(link).check(), Err(LinkError::Gone(_))));
    reaches.says("are not linked any more");
    offers.says("are not linked any more");
    gpp.link(link).close();
    wired.set("up");
    talk(&mut gpp, &mut dsp);
}

#[test]
fn what_is_wrong_with_a_bridge_is_said_in_a_sentence() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = |name: &str| directory.path().join(name).to_str().expect("it is text").to_owned();
    std::fs::write(text("no-key"), "nothing").expect("it can be written");
    let zeros = "0".repeat(64);
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--plain"], 2, "a bridge reaches nodes or offers some"),
        (&["--reach", "dsp=127.0.0.1:1"], 2, "--plain to go without"),
        (&["--reach", "dsp"], 2, "such as dsp=192.168.7.2:7000"),
        (&["--reach", "dsp=nowhere", "--plain"], 2, "'nowhere' is no address"),
        (&["--offer", "dsp", "--plain"], 2, "--listen"),
        (&["--listen", "127.0.0.1:0", "--plain"], 2, "--offer"),
        (&["--reach", "a/b=127.0.0.1:1", "--plain"], 7, "a/b"),
        (
            &["--reach", "dsp=127.0.0.1:1", "--key", &text("no-key"), "--trust", &zeros],
            4,
            "no Ed25519 key",
        ),
        (
            &["--reach", "dsp=127.0.0.1:1", "--key", &text("no-key"), "--trust", "1"],
            2,
            "64 hexadecimal",
        ),
        (&["--new-key", &text("no-key")], 5, "exists"),
    ];
    for (args, code, what) in cases {
        let (ended, _, error) = narrows(&[&["bridge"], *args].concat());
        assert_eq!(ended, Some(*code), "{args:?}: {error}");
        assert!(error.contains(what), "{args:?}: {error}");
    }
}
