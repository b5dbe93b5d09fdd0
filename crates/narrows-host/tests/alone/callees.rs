//! A callee that is told in another way than its caller: which of them rings the other.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use crate::common::process::alone;
use crate::common::{PATIENCE, name};
use narrows::endpoint::{Address, Function, Message, Sink, Source};
use narrows::link::LinkId;
use narrows_host::{Node, Options};
use narrows_trace::{Category, Happened, Trace, Value};

const CALLS: usize = 20;
const PORT: u16 = 1;
const FILE: &str = "trace.pftrace";
/// By then a side that sleeps does.
const REST: Duration = Duration::from_millis(2);

fn traced(directory: &Path, name: &str) -> Node {
    Options::new(name).directory(directory).trace(directory.join(FILE)).node().unwrap()
}

fn serve(mut callee: Node) {
    let mut echo = |request: &dyn Source, response: &mut dyn Sink| {
        let mut byte = [0];
        std::thread::sleep(REST);
        request.read(0, &mut byte)?;
        response.write(0, &byte)
    };
    let mut library = [Function { name: name("echo"), run: &mut echo }];
    callee.open(PORT).unwrap();
    let link = callee.hunt(&name("caller"), Some(PATIENCE)).unwrap();
    while callee.link(link).check().is_ok() {
        let mut buffer = [0; 8];
        while callee.try_receive_into(PORT, &mut buffer).unwrap().is_some() {}
        callee.try_serve(&mut library);
        callee.wait_any(Some(PATIENCE));
    }
}

/// Has a caller make a flow to a callee, and use it [`CALLS`] times, with a rest before each. How
/// often the caller rang the callee meanwhile, and the callee the caller.
fn rings<U: FnMut(&mut Node, u8)>(prepare: impl FnOnce(&mut Node, LinkId) -> U) -> [usize; 2] {
    let place = tempfile::tempdir().unwrap();
    let callee = traced(place.path(), "callee");
    std::thread::scope(|threads| {
        threads.spawn(|| serve(callee));
        let mut caller = traced(place.path(), "caller");
        let link = caller.hunt(&name("callee"), Some(PATIENCE)).unwrap();
        let mut used = prepare(&mut caller, link);
        caller.platform().mark(Category::Span, "begin", &[("", Value::Text(""))]);
        for number in 0..CALLS as u8 {
            std::thread::sleep(REST);
            used(&mut caller, number);
        }
        caller.platform().mark(Category::Span, "end", &[("", Value::Text(""))]);
        caller.link(link).close();
    });
    counted(place.path())
}

/// The same of calls by a strategy.
fn rings_of_calls(strategy: &str) -> [usize; 2] {
    rings(|caller, link| {
        let by = strategy.parse().unwrap();
        let flow = caller.open_flow(link, &name("echo"), by, 8, Some(PATIENCE)).unwrap();
        let mut response = [0; 8];
        let mut call = move |caller: &mut Node, number: u8| {
            let len = caller.flow(flow).call(&[number], &mut response, Some(PATIENCE)).unwrap();
            assert_eq!(response[..len], [number]);
        };
        std::thread::sleep(REST);
        // The callee has heard of the flow, and waits as it says.
        call(caller, 0);
        call
    })
}

/// The bells that either node rang between the marks.
fn counted(directory: &Path) -> [usize; 2] {
    let trace: Trace =
        narrows_trace::read(BufReader::new(File::open(directory.join(FILE)).unwrap())).unwrap();
    let is = |moment: &Happened, name: &str| trace.names[moment.name as usize] == name;
    let at = |name: &str| trace.moments.iter().find(|moment| is(moment, name)).unwrap().at;
    let (begin, end) = (at("begin"), at("end"));
    ["caller", "callee"].map(|node| {
        let rang = trace.moments.iter().filter(|moment| {
            is(moment, "ring") && trace.tracks[moment.track as usize].name == node
        });
        rang.filter(|moment| (begin..end).contains(&moment.at)).count()
    })
}

#[test]
fn whoever_polls_is_not_rung_and_whoever_sleeps_is() {
    let _alone = alone();
    for (strategy, rung) in [
        ("interrupt", [true, true]),
        ("interrupt/callee=poll=1ms", [false, true]),
        ("poll=1ms/callee=interrupt", [true, false]),
        ("poll=1ms", [false, false]),
        ("spin/callee=timer=1ms", [false, false]),
    ] {
        let found = rings_of_calls(strategy);
        for (found, rung) in found.into_iter().zip(rung) {
            // Where cores are busy, some come before the other side sleeps.
            assert_eq!(found > 0, rung, "{found} rings for {CALLS} calls by {strategy}");
        }
    }
}

#[test]
fn the_receiver_of_a_flow_to_a_port_waits_as_its_callee() {
    let _alone = alone();
    let found = rings(|caller, link| {
        caller.open(PORT).unwrap();
        let to = Address { link, port: PORT };
        let by = "interrupt/callee=poll=1ms".parse().unwrap();
        let flow = caller.open_flow_to(to, by, Some(PATIENCE)).unwrap();
        std::thread::sleep(REST);
        move |caller: &mut Node, number| {
            caller.flow(flow).send(PORT, Message::new(&[number]), Some(PATIENCE)).unwrap();
        }
    });
    assert_eq!(found, [0, 0]);
}
