//! What two processes write to one trace: every message once, its two halves together, in order.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use crate::common::process::{Peer, Role, alone};
use crate::common::{PATIENCE, name};
use narrows::endpoint::{Address, Channel, Function, Select, Sink, Source};
use narrows::link::LinkId;
use narrows::memory::Layout;
use narrows::strategy::{Placement, Strategy};
use narrows_host::{Node, OpenError, Options};
use narrows_trace::{Category, Journey, Kind, Trace, Value, state};
use rustix::fs::{FileType, Mode};

const WORK: u16 = 1;
const FILE: &str = "trace.pftrace";

fn traced(directory: &Path, name: &str) -> Node {
    Options::new(name).directory(directory).trace(directory.join(FILE)).node().unwrap()
}

fn trace(directory: &Path) -> Trace {
    narrows_trace::read(BufReader::new(File::open(directory.join(FILE)).unwrap())).unwrap()
}

#[test]
#[ignore = "plays the peer of the other tests"]
fn a_peer() {
    let Some(role) = Role::get() else { return };
    let mut node = traced(&role.directory, "peer");
    node.open(WORK).unwrap();
    let mut run = |request: &dyn Source, response: &mut dyn Sink| {
        let mut byte = [0];
        request.read(0, &mut byte)?;
        response.write(0, &byte)
    };
    let mut library = [Function { name: name("first"), run: &mut run }];
    let mut taken = 0;
    let most: u64 = role.words.parse().unwrap();
    while taken < most {
        node.poll();
        node.try_serve(&mut library);
        while let Some(message) = node.try_receive(WORK, &Select::default()).unwrap() {
            node.release(message);
            taken += 1;
        }
        if taken < most {
            node.wait_any(Some(PATIENCE));
        }
    }
}

/// Sends that many messages and as many calls.
fn talk(node: &mut Node, count: u64) {
    let link = node.hunt(&name("peer"), Some(PATIENCE)).unwrap();
    node.open(WORK).unwrap();
    let flow =
        node.open_flow(link, &name("first"), "copy/spin".parse().unwrap(), 8, Some(PATIENCE));
    let flow = flow.unwrap();
    let mut byte = [0];
    for number in 0..count {
        let bytes = vec![number as u8; 1 + number as usize * 97 % 3000];
        node.flow(flow).call(&bytes[..], &mut byte, Some(PATIENCE)).unwrap();
        node.send(WORK, Address { link, port: WORK }, &bytes[..], Some(PATIENCE)).unwrap();
    }
}

/// Links two nodes of this thread, of which the second is called other: the link as each has it.
fn linked(one: &mut Node, other: &mut Node) -> [LinkId; 2] {
    let link = one.hunt(&name("other"), Some(PATIENCE)).unwrap();
    while other.links().next().is_none() {
        other.wait_any(Some(PATIENCE));
        other.poll();
    }
    [link, other.links().next().unwrap().0]
}

fn of<'a>(trace: &'a Trace, kind: &str) -> Vec<&'a Journey> {
    trace.messages.iter().filter(|journey| journey.kind == kind).collect()
}

#[test]
fn both_halves_of_every_message_of_two_processes_are_in_one_trace() {
    const COUNT: u64 = 300;
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let mut peer = Peer::start(module_path!(), "peer", directory.path(), &COUNT.to_string());
    let mut node = traced(directory.path(), "caller");
    talk(&mut node, COUNT);
    node.platform().mark(Category::Span, "done", &[("<b>", Value::Text("&"))]);
    assert!(peer.wait().success());
    drop(node);

    let trace = trace(directory.path());
    assert_eq!((trace.dropped, trace.cut), (0, false));
    for kind in ["message", "request", "response"] {
        let all = of(&trace, kind);
        assert_eq!(all.len() as u64, COUNT, "{kind}");
        let mut numbers = BTreeSet::new();
        for journey in &all {
            let (from, sent) = journey.sent.unwrap();
            let (_, taken) = journey.taken.unwrap();
            let (to, received) = journey.received.unwrap();
            assert!(journey.began <= sent, "{journey:?}");
            assert!(taken <= received, "{journey:?}");
            // Two clocks that are read one behind the other on two cores.
            assert!(sent <= taken + 2_000, "{journey:?}");
            let name = |track: u32| trace.tracks[track as usize].name.as_str();
            let ends = if kind == "response" { ("peer", "caller") } else { ("caller", "peer") };
            assert_eq!((name(from), name(to)), ends);
            assert_eq!(journey.peer, ends.1);
            assert!(numbers.insert(journey.number), "{journey:?}");
        }
    }
    let bytes: u32 = of(&trace, "message").iter().map(|journey| journey.bytes).sum();
    assert_eq!(bytes, (0..COUNT as u32).map(|number| 1 + number * 97 % 3000).sum());
    let mark = trace.moments.iter().find(|moment| moment.category == Category::Span).unwrap();
    assert_eq!(mark.values, [("<b>".to_owned(), "&".to_owned())]);
    let chosen = trace.moments.iter().find(|moment| moment.category == Category::Decision).unwrap();
    assert_eq!(chosen.values[1], ("strategy".to_owned(), "copy/spin/external".to_owned()));
}

#[test]
fn words_and_packets_of_channels_are_in_a_trace() {
    const COUNT: u32 = 50;
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let layout =
        Layout::standard(narrows_host::LINE).and_then(|layout| layout.with_channels(3, 8)).unwrap();
    let [mut one, mut other] = ["one", "other"].map(|name| {
        let options = Options::new(name).directory(directory.path()).layout(layout);
        options.trace(directory.path().join(FILE)).node().unwrap()
    });
    let [link, back] = linked(&mut one, &mut other);
    for number in 0..COUNT {
        let ring = (number % 3) as u16;
        let to = Channel { link, ring };
        let bytes = vec![7; number as usize];
        match ring {
            0 => one.channel(to).try_send_word(number.into(), 4, 5).unwrap(),
            _ => one.channel(to).try_send_packet(&bytes, Placement::External, 9).unwrap(),
        }
        let from = Channel { link: back, ring };
        let arrival = other.channel(from).try_take().unwrap().unwrap();
        if let Some(block) = arrival.block {
            other.channel(from).release(block);
        }
    }
    drop((one, other));
    let trace = trace(directory.path());
    for (kind, bytes, tag) in [("scalar", None, 5), ("packet", Some(()), 9)] {
        let all = of(&trace, kind);
        let wanted = |number: &u32| number.is_multiple_of(3) == (kind == "scalar");
        let sent: Vec<u32> = (0..COUNT).filter(wanted).collect();
        assert_eq!(all.len(), sent.len(), "{kind}");
        let mut all = all;
        all.sort_by_key(|journey| journey.sent.unwrap().1);
        for (journey, number) in all.into_iter().zip(sent) {
            assert_eq!(journey.bytes, bytes.map_or(4, |()| number), "{journey:?}");
            assert_eq!((journey.target, journey.number), (number % 3, 1 + number / 3));
            assert_eq!((journey.tag, journey.peer.as_str()), (tag, "other"));
            let (_, received) = journey.received.expect("its other half");
            assert!(journey.sent.unwrap().1 <= received, "{journey:?}");
        }
    }
}

#[test]
fn a_state_follows_the_other_without_a_gap_and_calls_lie_within_each_other() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let mut peer = Peer::start(module_path!(), "peer", directory.path(), "20");
    let mut node = traced(directory.path(), "caller");
    talk(&mut node, 20);
    assert!(peer.wait().success());
    drop(node);
    let trace = trace(directory.path());
    let mut rows = 0;
    for (place, track) in trace.tracks.iter().enumerate() {
        let slices: Vec<_> = trace.slices.iter().filter(|s| s.track as usize == place).collect();
        if (track.kind, track.name.as_str()) == (Kind::Part, "state") {
            rows += 1;
            for pair in slices.windows(2) {
                assert_eq!(pair[0].end, pair[1].begin);
            }
            let name = |slice: u32| trace.names[slice as usize].as_str();
            assert!(slices.iter().any(|slice| name(slice.name) == state::RUNNING));
        }
        for slice in &slices {
            let outer = slices.iter().filter(|outer| outer.depth < slice.depth);
            let around = outer.filter(|o| o.begin <= slice.begin && slice.end <= o.end).count();
            assert!(around >= usize::from(slice.depth), "{slice:?}");
        }
    }
    assert_eq!(rows, 2);
}

#[test]
fn what_a_killed_process_wrote_can_be_read_and_its_peer_says_that_it_was_lost() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let mut peer = Peer::start(module_path!(), "peer", directory.path(), "1000000");
    let mut node = traced(directory.path(), "caller");
    talk(&mut node, 50);
    // Longer than the peer's thread sleeps between two writes.
    std::thread::sleep(Duration::from_millis(300));
    peer.kill();
    peer.wait();
    while node.links().next().is_some() {
        node.wait_any(Some(PATIENCE));
        node.poll();
    }
    drop(node);
    let trace = trace(directory.path());
    assert_eq!(of(&trace, "message").iter().filter(|j| j.received.is_some()).count(), 50);
    let name = |place: u32| trace.names[place as usize].as_str();
    assert!(trace.moments.iter().any(|moment| name(moment.name) == "peer lost"));
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_and_one_that_fails_later_stops_the_trace_alone() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let open = |file: &Path| Options::new("n").directory(directory.path()).trace(file).node();
    for file in ["/nonexistent/file", "/dev/full"] {
        let opened = open(Path::new(file));
        let Err(error @ OpenError::Trace(_)) = opened else { panic!("{:?}", opened.err()) };
        assert!(error.to_string().contains("NARROWS_TRACE"), "{error}");
    }
    let pipe = directory.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let reader = File::options().read(true).write(true).open(&pipe).unwrap();
    let mut node = open(&pipe).unwrap();
    drop(reader);
    node.open(WORK).unwrap();
    let to = Address { link: node.hunt(&name("n"), Some(PATIENCE)).unwrap(), port: WORK };
    // Far longer than the thread sleeps between two writes.
    for _ in 0..10 {
        node.send(WORK, to, b"on", Some(PATIENCE)).unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn no_thread_and_no_descriptor_is_left_of_a_trace() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    // A thread may end while this looks.
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names = tasks.filter_map(|t| std::fs::read_to_string(t.ok()?.path().join("comm")).ok());
        names.filter(|name| name.trim() == "narrows-trace").count()
    };
    let things = crate::common::process::possessions();
    for _ in 0..3 {
        drop(traced(directory.path(), "caller"));
    }
    crate::common::process::no_more_than(things);
    let deadline = std::time::Instant::now() + PATIENCE;
    while threads() > 0 {
        assert!(std::time::Instant::now() < deadline, "a thread is left");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_trace_with_payload_holds_what_every_message_carries() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let layout =
        Layout::standard(narrows_host::LINE).and_then(|layout| layout.with_channels(2, 8)).unwrap();
    let [mut one, mut other] = [("one", true), ("other", false)].map(|(name, with_payload)| {
        let options = Options::new(name).directory(directory.path()).layout(layout);
        let options = options.trace(directory.path().join(FILE)).trace_payload(with_payload);
        options.node().unwrap()
    });
    for node in [&mut one, &mut other] {
        node.open(WORK).unwrap();
    }
    let [link, back] = linked(&mut one, &mut other);
    let to = Address { link, port: WORK };
    let flow = one.begin_flow_to(to, Strategy::default()).unwrap();
    while !one.flow(flow).is_ready().unwrap() {
        other.poll();
        one.poll();
    }
    let content = |len: usize| (0..len).map(|at| (at * 31 + len) as u8).collect::<Vec<_>>();
    let mut sent = Vec::new();
    for number in 0..200 {
        let bytes = content(usize::from(number % 3 == 0) + number * 37 % 1500);
        if number % 3 == 0 {
            let mut made = one.flow(flow).reserve(bytes.len()).unwrap();
            one.write(&mut made, 0, &bytes).unwrap();
            one.flow(flow).try_send(WORK, &mut made).unwrap();
        } else {
            one.send(WORK, to, &bytes[..], Some(PATIENCE)).unwrap();
        }
        other.poll();
        let message = other.try_receive(WORK, &Select::default()).unwrap().unwrap();
        other.release(message);
        // What this one sends is in the trace, without what it carries.
        other.send(WORK, Address { link: back, port: WORK }, b"back", Some(PATIENCE)).unwrap();
        one.poll();
        let message = one.try_receive(WORK, &Select::default()).unwrap().unwrap();
        one.release(message);
        sent.push(bytes);
    }
    one.channel(Channel { link, ring: 0 }).try_send_word(0x0403_0201, 3, 0).unwrap();
    one.channel(Channel { link, ring: 1 })
        .try_send_packet(&content(300), Placement::External, 0)
        .unwrap();
    drop((one, other));
    let trace = trace(directory.path());
    assert_eq!((trace.dropped, trace.cut), (0, false));
    let of = |kind: &str, peer: &str| {
        let mut all: Vec<_> =
            trace.messages.iter().filter(|j| j.kind == kind && j.peer == peer).collect();
        all.sort_by_key(|journey| journey.sent.unwrap().1);
        all.iter().map(|journey| journey.payload.clone()).collect::<Vec<_>>()
    };
    let kept = of("message", "other");
    assert_eq!(kept.len(), sent.len());
    for (number, (kept, sent)) in kept.into_iter().zip(sent).enumerate() {
        assert_eq!(kept, Some(sent), "{number}");
    }
    assert_eq!(of("message", "one"), vec![None; 200]);
    assert_eq!(of("scalar", "other"), [Some(vec![1, 2, 3])]);
    assert!(of("packet", "other") == [Some(content(300))]);
}
