//! Nodes that link with a LINX program and break its rules in every way that WIRE.md leaves.

use std::path::Path;
use std::time::{Duration, Instant};

use narrows::connection::{Header, UDATA};
use narrows::endpoint::{Address, Limits, Message, Node};
use narrows::link::LinkId;
use narrows::platform::Platform;
use narrows_host::Host;
use narrows_host::linx::{Options, Select, Signal};

/// The port at which frames arrive.
const FRAMES: u16 = 1;
const SOON: Duration = Duration::from_secs(20);
/// As in check.h.
const LAST: u32 = 99;
const HUNT: u32 = 251;
/// How often frames are random, beside those that are wrong in one way each.
const RANDOM: u64 = 40;

/// A frame's tag and its bytes.
type Frame = (u16, Vec<u8>);

/// The tag of frames whose sender and receiver those without a header may have, and of the latter.
const NAMES: u16 = 1;
const BARE: u16 = 1 << 15;

fn frame(header: Header, sequence: u16, freed: u16, payload: &[u8]) -> Frame {
    let mut bytes = [0; UDATA];
    let len = header.write(sequence, freed, &mut bytes);
    plain([bytes.get(..len).expect("it fits"), payload].concat())
}

fn plain(bytes: Vec<u8>) -> Frame {
    (0, bytes)
}

fn bare(given: u16, bytes: &[u8]) -> Frame {
    (BARE | given, bytes.to_vec())
}

fn hello() -> Frame {
    frame(Header::Hello { window: 8, longest: 65536 }, 0, 0, &[])
}

/// Frames that are each wrong in one way, behind a right beginning but for the first ones.
fn wrong() -> Vec<Vec<Frame>> {
    let udata = |size, to| Header::Udata { size, from: 1, to };
    let frag = |offset| Header::Frag { offset };
    // To an endpoint that is not there: such a signal is dropped.
    let named = || (NAMES, frame(udata(8, 7), 1, 0, &[0; 8]).1);
    let after = |frames: &[Frame]| [&[hello()], frames].concat();
    vec![
        vec![plain(vec![])],
        vec![plain(vec![1; 7])],
        vec![bare(0, &[0; 8])],
        vec![frame(Header::Alive, 0, 0, &[])],
        vec![frame(Header::Hello { window: 0, longest: 1 }, 0, 0, &[])],
        vec![frame(Header::Hello { window: u16::MAX, longest: 1 }, 0, 0, &[])],
        after(&[hello()]),
        after(&[frame(Header::Alive, 2, 0, &[])]),
        after(&[frame(Header::Alive, 1, 1, &[])]),
        after(&[frame(Header::Alive, 1, 0, &[0; 5])]),
        after(&[frame(frag(0), 1, 0, &[0; 8])]),
        after(&[frame(udata(u32::MAX, 7), 1, 0, &[0; 8])]),
        after(&[frame(udata(4, 7), 1, 0, &[0; 8])]),
        after(&[frame(udata(9, 7), 1, 0, &[0; 8]), frame(frag(u32::MAX), 2, 0, &[0; 8])]),
        after(&[frame(udata(64, 0), 1, 0, &[0xff; 64])]),
        after(&[frame(udata(4, 0), 1, 0, &[1, 0, 0, 0])]),
        after(&[frame(udata(8, 0), 1, 0, &[1, 0, 0, 0, b'/', b'/', b'/', b'/'])]),
        after(&[plain(vec![0xff; 60_000])]),
        // Nobody was named, what named somebody was wrong, more is given back than was sent, and it
        // is too short for a number.
        after(&[bare(0, &[0; 8])]),
        after(&[(NAMES, vec![2; 7])]),
        after(&[(NAMES, frame(frag(0), 1, 0, &[0; 8]).1), bare(0, &[0; 8])]),
        after(&[named(), bare(1, &[0; 8])]),
        after(&[named(), bare(0x7fff, &[])]),
        after(&[named(), bare(0, &[0; 3])]),
    ]
}

/// The next of a row of numbers that look random.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// A beginning, and frames of random length and content, of which some have a kind that there is.
fn random(seed: u64) -> Vec<Frame> {
    let mut state = seed;
    let mut frames = vec![hello()];
    for number in 1..20_u16 {
        let len = next(&mut state) as usize % 120;
        let mut bytes: Vec<u8> = (0..len).map(|_| next(&mut state) as u8).collect();
        if let Some(head) = bytes.get_mut(..8).filter(|_| !next(&mut state).is_multiple_of(4)) {
            let [low, high] = number.to_le_bytes();
            head.copy_from_slice(&[(next(&mut state) % 7) as u8, 0, low, high, 0, 0, 0, 0]);
        }
        let tag = [0, 0, NAMES, BARE, BARE | 1, next(&mut state) as u16];
        frames.push((tag[next(&mut state) as usize % tag.len()], bytes));
    }
    // Whatever became of those before.
    frames.push(plain(vec![0xff; 8]));
    frames
}

fn node(directory: &Path, name: &str) -> Node<Host> {
    let layout = narrows::memory::Layout::new(
        Host::LINE,
        64,
        &[narrows::memory::Class {
            placement: narrows::strategy::Placement::External,
            size: 65536 + 64,
            count: 8,
        }],
    );
    let options = narrows_host::Options::new(name).domain("linx").directory(directory);
    let host = options.layout(layout.expect("a layout")).open().expect("free");
    let mut node = Node::new(host, Limits::default()).expect("memory");
    node.open(FRAMES).expect("a port");
    node
}

/// Sends frames until the other side has ended the link.
fn attack(node: &mut Node<Host>, link: LinkId, frames: &[Frame], what: &str) {
    let to = Address { link, port: FRAMES };
    for (tag, frame) in frames {
        let message = Message::new(frame).tag(*tag);
        if node.send(FRAMES, to, message, Some(SOON)).is_err() {
            break;
        }
    }
    let until = Instant::now() + SOON;
    while node.link(link).check().is_ok() {
        assert!(Instant::now() < until, "{what}: the link is still there");
        node.wait_any(Some(Duration::from_millis(10)));
        node.poll();
    }
    node.link(link).close();
}

/// Attacks the program `victim`, and ends it as one of its proper peers.
pub fn run(directory: &Path) {
    let victim = "victim".parse().expect("a name");
    let client = Options::new("client").directory(directory).open().expect("free");
    let echo = |number| {
        client.hunt("victim", Signal::with(HUNT, &[])).expect("room");
        let found = client.receive(&Select::only(&[HUNT]), Some(SOON)).expect("it lives").sender();
        client
            .send(found, Signal::with(number, b"all is well"))
            .map_err(|(why, _)| why)
            .expect("room");
        let back = client.receive(&Select::only(&[number]), Some(SOON)).expect("it answers");
        assert_eq!(&back.bytes()[4..], b"all is well");
        if number == LAST {
            client.send(found, Signal::with(LAST, &[])).map_err(|(why, _)| why).expect("room");
        }
    };
    // The one that it is attached to: it hunts the link, and is answered by a right beginning.
    let mut attacker = node(directory, "attacker");
    let link = attacker.hunt(&victim, Some(SOON)).expect("it is there");
    attack(&mut attacker, link, &[hello(), plain(vec![0xff; 8])], "attached");
    drop(attacker);
    let mut attacker = node(directory, "stranger");
    for (number, frames) in wrong().into_iter().enumerate() {
        let link = attacker.hunt(&victim, Some(SOON)).expect("it lives");
        attack(&mut attacker, link, &frames, &format!("attack {number}"));
    }
    echo(1);
    for seed in 0..RANDOM {
        let link = attacker.hunt(&victim, Some(SOON)).expect("it lives");
        attack(&mut attacker, link, &random(seed), &format!("seed {seed}"));
    }
    echo(LAST);
}
