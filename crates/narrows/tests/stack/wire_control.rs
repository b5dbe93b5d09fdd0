//! docs/WIRE.md against the code: what two stacks say to each other, and how calls travel.

use crate::common::heap::Heap;
use crate::common::tables::{find, number, table};
use crate::common::world::{Pair, SECOND, name, pair, pair_with, serve};
use narrows::endpoint::{Address, CallError, FlowError, Limits, Message};
use narrows::strategy::Strategy;

/// A message as it lies in the region of its sender.
struct Sent {
    kind: u32,
    priority: u32,
    ports: [u32; 3],
    bytes: Vec<u8>,
}

/// The first messages that a node has sent, by the page's words; the line has 64 bytes.
fn sent(region: &Heap) -> Vec<Sent> {
    let header = |name| region.word(find(&table("Header", "word"), 1, name) * 4);
    let slots = number(&table("Region", "from")[2][0]);
    let slot = |n: u32, part: &str| {
        slots + (n % header("slots")) * 64 + find(&table("Slots", "byte"), 2, part)
    };
    let of = |first: u32| {
        let get = |name: &str| {
            let rows = table("Descriptors", "word");
            let row = rows.iter().find(|row| row[2] == name).expect("the page has the field");
            bits(region.word(slot(first, &row[0])), &row[1])
        };
        let len = get("length") as usize;
        let from = match get("block") {
            0xffff => slot(first, "payload, line 64") as usize,
            block => {
                let class = |at| region.word((16 + 4 * (block >> 12) + at) * 4);
                let stride = class(find(&table("Classes", "word"), 1, "block size"));
                let start = class(find(&table("Classes", "word"), 1, "offset"));
                (start + (block & 0xfff) * stride.next_multiple_of(64)) as usize
            }
        };
        Sent {
            kind: get("kind"),
            priority: get("priority"),
            ports: [get("source"), get("target"), get("tag")],
            bytes: region.bytes()[from..from + len].to_vec(),
        }
    };
    let start = header("start");
    let here = |n: &u32| region.word(slot(*n, "sequence")) == n.wrapping_add(1);
    (0..header("slots")).map(|n| start.wrapping_add(n)).take_while(here).map(of).collect()
}

fn bits(word: u32, range: &str) -> u32 {
    let (high, low) = range.split_once("..").expect("bits are high..low");
    word << (31 - number(high)) >> (31 - number(high)) >> number(low)
}

fn both(pair: &Pair) -> (Vec<Sent>, Vec<Sent>) {
    (sent(&pair.world.region("a", "b")), sent(&pair.world.region("b", "a")))
}

/// Checks a control message against the row of its operation. Gives its question.
fn control(message: &Sent, operation: &str, flow: u32) -> u32 {
    let rows = table("Control messages", "op");
    let row = rows.iter().find(|row| row[1] == operation).expect("the page has the operation");
    assert_eq!(message.kind, find(&table("Descriptors", "kind"), 1, "control"));
    assert_eq!(u32::from(message.bytes[0]), number(&row[0]), "{operation}");
    for (field, said) in message.ports.into_iter().zip(&row[2..5]) {
        match said.as_str() {
            "flow" => assert_eq!(field, flow, "{operation}"),
            "question" => assert_ne!(field, 0, "{operation}"),
            "port that is not open" => assert_eq!(field, 9),
            "port it came from" => assert_eq!(field, 1),
            "tag it had" => assert_eq!(field, 77),
            zero => assert_eq!(field, number(zero), "{operation}"),
        }
    }
    match row[5].strip_suffix(" and the name") {
        Some(bytes) => assert!(message.bytes.len() > number(bytes) as usize),
        None => assert_eq!(message.bytes.len(), number(&row[5]) as usize, "{operation}"),
    }
    message.ports[2]
}

/// The bytes of a field of a control message.
fn part<'a>(message: &'a Sent, operation: &str, field: &str) -> &'a [u8] {
    let rows = table("Control messages", "field of");
    let is = |row: &&Vec<String>| row[0] == operation && row[3].starts_with(field);
    let row = rows.iter().find(is).expect("the page has the field");
    let from = number(&row[1]) as usize;
    match row[2].as_str() {
        "as long" => &message.bytes[from..],
        bytes => &message.bytes[from..from + number(bytes) as usize],
    }
}

#[test]
fn what_the_stacks_say_to_each_other() {
    let mut pair = pair();
    pair.a.open(1).expect("free");
    pair.b.borrow_mut().open(300).expect_err("out of range");
    pair.b.borrow_mut().open(3).expect("free");
    let strategy: Strategy = "single_copy/granularity=3".parse().expect("possible");
    let echo = pair.flow("long", strategy, 0x1234);
    let port = Address { link: pair.to_b, port: 3 };
    pair.a.open_flow_to(port, Strategy::default(), SECOND).expect("open");
    let absent = pair.a.open_flow(pair.to_b, &name("absent"), strategy, 0, SECOND);
    assert_eq!(absent, Err(FlowError::NotFound));
    pair.a.flow(echo).close().expect("nothing is outstanding");
    let closed = Address { link: pair.to_b, port: 9 };
    pair.a.try_send(1, closed, Message::new(b"nobody is there").priority(3).tag(77)).expect("room");
    serve(&mut pair.b.borrow_mut());

    let (asked, answered) = both(&pair);
    let operations = ["open_function", "propose", "open_port", "propose", "open_function", "close"];
    let flows = [0, 0, 1, 1, 2, 0];
    let questions: Vec<u32> = (0..6).map(|n| control(&asked[n], operations[n], flows[n])).collect();
    assert!(questions.is_sorted_by(|a, b| a < b));
    assert_eq!((asked.len(), asked[6].kind, answered.len()), (7, 1, 6));
    for n in 0..5 {
        let operation = ["opened", "agreed"][n % 2];
        assert_eq!(control(&answered[n], operation, flows[n]), questions[n]);
        assert_eq!(part(&answered[n], operation, "1, or 0"), [u8::from(n < 4)]);
    }
    control(&answered[5], "refused", 0);

    assert_eq!(part(&asked[0], "open_function", "name"), b"long");
    assert_eq!(part(&asked[0], "open_function", "length of the name"), [4]);
    assert_eq!(part(&asked[1], "propose", "longest response"), 0x1234_u32.to_le_bytes());
    let bytes = part(&asked[1], "propose", "strategy");
    let code = find(&table("Strategies", "transfer"), 1, "single_copy");
    assert_eq!((u32::from(bytes[0]), bytes[6]), (code, 3));
    assert_eq!(part(&asked[2], "open_port", "port"), [3, 0]);
    assert_eq!(part(&answered[0], "opened", "the function's number"), [2, 0]);
    assert_eq!(part(&answered[2], "opened", "the function's number"), [3, 0]);
}

/// Checks a request or response against its row.
fn call(message: &Sent, kind: &str, flow: u32, function: u32, number_of: u32, priority: u32) {
    let rows = table("Calls", "kind");
    let row = rows.iter().find(|row| row[0] == kind).expect("the page has the kind");
    assert_eq!(message.kind, find(&table("Descriptors", "kind"), 1, kind));
    let expected = [1, 2, 3].map(|cell: usize| match row[cell].as_str() {
        "flow" => flow,
        "function" => function,
        _ => number_of,
    });
    assert_eq!((message.ports, message.priority), (expected, priority), "{kind}");
}

#[test]
fn calls_one_by_one_and_what_they_come_to() {
    let small = Limits { longest: 100, ..Limits::default() };
    let mut pair = pair_with(Limits::default(), small, |_| {});
    // Each by its number, which is not that of its flow.
    let functions = [("long", 2), ("echo", 0), ("refuse", 1)];
    let flows = functions.map(|(function, _)| pair.flow(function, Strategy::default(), 64));
    let status = |name| find(&table("Calls", "status"), 1, name);
    let mut back = [0; 64];
    let cases: [(usize, &[u8], u32); 4] = [
        (1, b"request", status("done")),
        (2, b"request", status("refused")),
        (0, &[65, 0, 0, 0], status("too long")),
        (1, &[7; 101], status("no room")),
    ];
    for (at, request, status) in cases {
        let got = pair.a.flow(flows[at]).call(request, &mut back, SECOND);
        assert_eq!(matches!(got, Err(CallError::Failed(_))), status != 0, "{got:?}");
    }
    let (requests, responses) = both(&pair);
    for (n, (at, request, status)) in cases.into_iter().enumerate() {
        let (number_of, flow, function) = (u32::from(n == 3), at as u32, functions[at].1);
        call(&requests[6 + n], "request", flow, function, number_of, 0);
        call(&responses[6 + n], "response", flow, function, number_of, status);
        assert_eq!(requests[6 + n].bytes, request);
        assert_eq!(responses[6 + n].bytes.len(), if status == 0 { 7 } else { 0 });
    }
}

#[test]
fn calls_that_are_gathered() {
    // Responses that are copied into a block, and those that are made in one.
    ["copy", "in_place"].into_iter().for_each(gathered_by);
}

fn gathered_by(transfer: &str) {
    let mut pair = pair();
    let strategy = format!("{transfer}/internal/granularity=2");
    let strategy: Strategy = strategy.parse().expect("possible");
    let flow = pair.flow("echo", strategy, 64);
    // What is not written of a block holds what was there before.
    for _ in 0..2 {
        pair.a.flow(flow).start(&[0xff; 20]).expect("room");
    }
    serve(&mut pair.b.borrow_mut());
    assert_eq!(pair.a.flow(flow).complete(|_, _| ()), Ok(2));
    pair.a.arm();
    pair.b.borrow_mut().arm();
    for request in [&b"fives"[..], b"", b"four", b"1"] {
        pair.a.flow(flow).start(request).expect("room");
    }
    serve(&mut pair.b.borrow_mut());
    let (requests, responses) = both(&pair);
    for (n, words) in [(3, [&b"fives"[..], b""]), (4, [b"four", b"1"])] {
        let first = (n as u32 - 2) * 2;
        call(&requests[n], "request", 0, 0, first, 7);
        call(&responses[n], "response", 0, 0, first, 7);
        for message in [&requests[n], &responses[n]] {
            let mut rest = &message.bytes[..];
            for text in words {
                let (word, behind) = rest.split_first_chunk().expect("a word");
                let part =
                    |row: usize| bits(u32::from_le_bytes(*word), &table("Calls", "bits")[row][0]);
                assert_eq!((part(0), part(1)), (0, text.len() as u32));
                let (bytes, behind) = behind.split_at(text.len().next_multiple_of(4));
                assert!(bytes.starts_with(text));
                assert!(bytes[text.len()..].iter().all(|byte| *byte == 0), "{bytes:?}");
                rest = behind;
            }
            assert!(rest.is_empty());
        }
    }
    assert_eq!(pair.a.flow(flow).complete(|_, _| ()), Ok(4));
}
