//! Links over TCP, between directories that have nothing in common.

mod refusals;
mod unsteady;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::PATIENCE;
use crate::common::rig::Threads;
use narrows::conformance::{self, Rig, Side};
use narrows::endpoint::{Address, Limits, LinkError, SendError};
use narrows::link::LinkId;
use narrows::memory::Layout;
use narrows::platform::Lost;
use narrows_host::bridge::{Bridge, Event, Keys, Options as Across, Why};
use narrows_host::{Carrier, Host, Node, Options};

const SOON: Option<Duration> = Some(PATIENCE);

/// Two directories, as of two machines.
struct Two(tempfile::TempDir);

impl Two {
    fn new() -> Two {
        let two = Two(tempfile::tempdir().expect("a directory"));
        for name in ["here", "there"] {
            std::fs::create_dir(two.0.path().join(name)).expect("a directory");
        }
        two
    }
    fn here(&self) -> PathBuf {
        self.0.path().join("here")
    }
    fn there(&self) -> PathBuf {
        self.0.path().join("there")
    }
    /// Two keys, each of which trusts the other.
    fn keys(&self) -> [Keys; 2] {
        let files = ["one", "two"].map(|name| self.0.path().join(name));
        let public = files.each_ref().map(|file| Keys::make(file).expect("a key"));
        let read = |file: &Path, trusted| Keys::read(file, vec![trusted]).expect("it was made");
        [read(&files[0], public[1]), read(&files[1], public[0])]
    }
}

/// What a bridge told.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<Event>>>);

impl Told {
    fn tell(&self) -> impl Fn(&Event) + Send + Sync + 'static {
        let told = Arc::clone(&self.0);
        move |event: &Event| told.lock().expect("nobody panics").push(event.clone())
    }
    /// Waits until something like it was told.
    fn wait(&self, like: impl Fn(&Event) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !self.0.lock().expect("nobody panics").iter().any(&like) {
            assert!(Instant::now() < end, "told was {:?}", self.0);
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn offer(two: &Two, name: &str, keys: Option<&Keys>, told: &Told) -> Bridge {
    let bridge = Across::new().directory(two.there()).listen(any()).offer(name);
    let bridge = keys.cloned().into_iter().fold(bridge, Across::keys);
    bridge.start(told.tell()).expect("it starts")
}

fn reach(two: &Two, name: &str, at: SocketAddr, keys: Option<&Keys>, told: &Told) -> Bridge {
    let bridge = Across::new().directory(two.here()).reach(name, at);
    let bridge = keys.cloned().into_iter().fold(bridge, Across::keys);
    bridge.start(told.tell()).expect("it starts")
}

fn any() -> SocketAddr {
    "127.0.0.1:0".parse().expect("an address")
}

fn node(directory: &Path, name: &str) -> Node {
    let mut node = Options::new(name).directory(directory).node().expect("a node");
    node.open(1).expect("a port");
    node
}

fn hunt(node: &mut Node, name: &str) -> Result<LinkId, LinkError> {
    node.hunt(&name.parse().expect("a name"), SOON)
}

/// Sends until that fails: why.
fn until_lost(node: &mut Node, link: LinkId) -> Lost {
    let end = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < end, "the link stays up");
        match node.link(link).check() {
            Err(LinkError::Gone(why)) => return why,
            Err(other) => panic!("{other}"),
            Ok(()) => {
                node.wait_any(Some(Duration::from_millis(5)));
                node.poll();
            }
        }
    }
}

#[test]
fn a_node_that_is_elsewhere_is_found_talked_to_and_parted_from() {
    for keyed in [false, true] {
        let (two, told, told_there) = (Two::new(), Told::default(), Told::default());
        let keys = keyed.then(|| two.keys());
        let [ours, theirs] = [0, 1].map(|at| keys.as_ref().map(|keys| &keys[at]));
        let offers = offer(&two, "dsp", theirs, &told_there);
        let _reaches = reach(&two, "dsp", offers.address().expect("it listens"), ours, &told);
        let mut dsp = node(&two.there(), "dsp");
        let answers = std::thread::spawn(move || {
            let mut bytes = vec![0; 70_000];
            loop {
                let got = dsp.receive_into(1, &mut bytes, SOON).expect("a message");
                let len = got.len;
                if len == 1 {
                    return (dsp, got.from.link);
                }
                dsp.send(1, got.from, &bytes[..len], SOON).expect("it takes it");
            }
        });
        // Its links would be over memory.
        let mut gpp = node(&two.here(), "gpp");
        let link = hunt(&mut gpp, "dsp").expect("it is offered");
        let to = Address { link, port: 1 };
        let mut back = vec![0; 70_000];
        for len in [0, 48, 500, 5000, 65_536] {
            let bytes: Vec<u8> = (0..len).map(|at| (at * 7 % 251) as u8).collect();
            gpp.send(1, to, &bytes, SOON).expect("there is room");
            let got = gpp.receive_into(1, &mut back, SOON).expect("an answer");
            assert_eq!(got.bytes(&back), bytes);
        }
        assert_eq!((offers.links(), offers.refused()), (1, 0));
        gpp.send(1, to, b"!", SOON).expect("there is room");
        let (mut dsp, from) = answers.join().expect("it answered");
        gpp.link(link).close();
        assert_eq!(until_lost(&mut dsp, from), Lost::Closed);
        told.wait(|event| matches!(event, Event::Up(who) if who.peer.as_str() == "dsp"));
        told.wait(|event| matches!(event, Event::Over(_, Why::Here | Why::There)));
        told_there.wait(|event| matches!(event, Event::Over(who, _) if who.node.as_str() == "dsp"));
        // And again.
        hunt(&mut gpp, "dsp").expect("it is still offered");
    }
}

#[test]
fn the_stacks_own_tests_pass_over_a_bridge() {
    struct Bridged;
    impl Rig for Bridged {
        type Platform = Host;
        fn run(&self, caller: Side<'_, Host>, callee: Side<'_, Host>) {
            fn node(directory: &Path, name: &str) -> Node {
                let layout = Layout::standard(narrows_host::LINE)
                    .and_then(|layout| layout.with_channels(2, 16));
                let place = if name == "caller" { "here" } else { "there" };
                let options = Options::new(name).directory(directory.join(place));
                let host = options.layout(layout.expect("possible")).copy_engine(None).open();
                Node::new(host.expect("a node"), Limits::default()).expect("storage")
            }
            let (two, told) = (Two::new(), Told::default());
            let offers = offer(&two, "callee", None, &told);
            let at = offers.address().expect("it listens");
            let _reaches = reach(&two, "callee", at, None, &told);
            Threads(node).run_in(two.0.path(), caller, callee);
        }
    }
    // What differs between strategies lies above what carries them.
    for text in ["copy/interrupt/external", "in_place/poll=1ms/internal"] {
        conformance::run(&Bridged, text.parse().expect("a strategy"));
    }
}

#[test]
fn a_node_may_come_after_its_bridges_and_those_after_the_hunt() {
    let (two, told) = (Two::new(), Told::default());
    let offers = offer(&two, "dsp", None, &told);
    let at = offers.address().expect("it listens");
    let mut gpp = node(&two.here(), "gpp");
    let name = "dsp".parse().expect("a name");
    assert_eq!(gpp.try_hunt(&name), Ok(None));
    let _reaches = reach(&two, "dsp", at, None, &told);
    // It looks, and is told to come again.
    assert!(gpp.hunt(&name, Some(Duration::from_millis(100))).is_err());
    let _dsp = node(&two.there(), "dsp");
    hunt(&mut gpp, "dsp").expect("it is there now");
}

#[test]
fn both_may_look_for_each_other_at_once() {
    let (two, told) = (Two::new(), Told::default());
    let across = |directory, name, other: &str| {
        let across = Across::new().directory(directory).listen(any()).offer(name);
        (across, other.to_owned())
    };
    // Each has to know where the other listens.
    let [one, other] = [("here", "gpp"), ("there", "dsp")]
        .map(|(place, name)| across(two.0.path().join(place), name, ""))
        .map(|(across, _)| across.start(told.tell()).expect("it starts"));
    let at = |bridge: &Bridge| bridge.address().expect("it listens");
    let _reaches = reach(&two, "dsp", at(&other), None, &told);
    let back = Across::new().directory(two.there()).reach("gpp", at(&one));
    let _back = back.start(told.tell()).expect("it starts");
    let looks = |directory: PathBuf, name: &'static str, other: &'static str| {
        std::thread::spawn(move || {
            let options = Options::new(name).directory(directory).carrier(Carrier::Stream);
            let mut node = options.node().expect("a node");
            node.open(1).expect("a port");
            let link = hunt(&mut node, other).expect("it is there");
            node.send(1, Address { link, port: 1 }, name.as_bytes(), SOON).expect("room");
            let mut bytes = [0; 8];
            let got = node.receive_into(1, &mut bytes, SOON).expect("a message");
            assert_eq!(got.bytes(&bytes), other.as_bytes());
            assert_eq!(node.links().count(), 1);
            // Until the other has what was sent.
            let _ = node.receive_into(1, &mut bytes, Some(Duration::from_millis(200)));
        })
    };
    let both = [looks(two.here(), "gpp", "dsp"), looks(two.there(), "dsp", "gpp")];
    for one in both {
        one.join().expect("its checks passed");
    }
}

#[test]
fn a_node_that_does_not_take_what_comes_holds_up_its_sender_and_nothing_is_lost() {
    let (two, told) = (Two::new(), Told::default());
    let offers = offer(&two, "dsp", None, &told);
    let _reaches = reach(&two, "dsp", offers.address().expect("it listens"), None, &told);
    let mut dsp = node(&two.there(), "dsp");
    let mut gpp = node(&two.here(), "gpp");
    let link = hunt(&mut gpp, "dsp").expect("it is offered");
    let mut sent = 0_u32;
    let bytes = |number: u32| number.to_le_bytes().repeat(500);
    loop {
        match gpp.send(1, Address { link, port: 1 }, &bytes(sent), Some(Duration::from_millis(300)))
        {
            Ok(()) => sent += 1,
            Err(SendError::RingFull | SendError::PoolEmpty | SendError::Deadline) => break,
            Err(other) => panic!("{other}"),
        }
        assert!(sent < 1_000_000, "nothing holds it up");
    }
    let mut came = vec![0; 4000];
    for number in 0..sent {
        let got = dsp.receive_into(1, &mut came, SOON).expect("it was sent");
        assert_eq!(got.bytes(&came), bytes(number));
    }
}
