//! Calls with types: between threads that have a node each, and where something is wrong.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use narrows::endpoint::{CallError, Failure, FlowError, Function, Sink, Source};
use narrows::link::Name;
use narrows::memory::Layout;
use narrows::platform::{Lost, Platform as _};
use narrows_host::{Host, Options};
use narrows_services::{Error, FromBytes, Immutable, IntoBytes, KnownLayout, Node, Typed};

const SOON: Option<Duration> = Some(Duration::from_secs(20));
const AT_ONCE: Option<Duration> = Some(Duration::ZERO);

#[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout, Typed)]
#[repr(C)]
struct Point {
    x: i32,
    y: i32,
}

/// The same name and size, other fields.
mod other {
    use narrows_services::{FromBytes, Immutable, IntoBytes, KnownLayout, Typed};

    #[derive(Debug, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout, Typed)]
    #[repr(C)]
    pub struct Point {
        pub y: i32,
        pub x: i32,
    }
}

fn open(directory: &Path, name: &str) -> Node {
    Node::with(Options::new(name).directory(directory)).unwrap()
}

/// What a service of these types is looked up by: FNV-1a of what is in its note.
fn function(service: &str, types: &str) -> Name {
    let hash = types
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{service}-{hash:08x}").parse().unwrap()
}

/// Bytes of the longest message of a node that is opened for long ones.
const LONG: usize = 1 << 20;

fn open_for_long_ones(directory: &Path, name: &str) -> Node {
    Node::with(Options::new(name).directory(directory).longest_message(LONG)).unwrap()
}

fn open_for_short_ones(directory: &Path, name: &str) -> Node {
    Node::with(Options::new(name).directory(directory).longest_message(65536)).unwrap()
}

/// A node that serves what `offer` offers, until it is dropped.
struct Server {
    thread: Option<JoinHandle<()>>,
    over: &'static AtomicBool,
}

impl Server {
    fn start(directory: PathBuf, offer: impl FnOnce(&Node) + Send + 'static) -> Server {
        Server::with(move || open(&directory, "dsp"), offer)
    }

    fn with(
        open: impl FnOnce() -> Node + Send + 'static,
        offer: impl FnOnce(&Node) + Send + 'static,
    ) -> Server {
        let over: &'static AtomicBool = Box::leak(Box::default());
        let (ready, there) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let node = open();
            offer(&node);
            ready.send(()).unwrap();
            while !over.load(Ordering::Relaxed) {
                node.run(Some(Duration::from_millis(5))).unwrap();
            }
        });
        there.recv().unwrap();
        Server { thread: Some(thread), over }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

fn offer_all(node: &Node) {
    node.serve::<Point, Point>("turn", |point| Point { x: -point.y, y: point.x }).unwrap();
    node.serve::<[Point], [i32]>("squares", |points| {
        points.iter().map(|point| point.x * point.x + point.y * point.y).collect()
    })
    .unwrap();
    node.serve::<(), u64>("seven", |()| 7).unwrap();
}

#[test]
fn values_and_slices_go_there_and_back() {
    let directory = tempfile::tempdir().unwrap();
    let _server = Server::start(directory.path().into(), offer_all);
    let node = open(directory.path(), "gpp");
    let turn = node.client::<Point, Point>("turn").unwrap();
    let squares = node.find("squares").longest(3).client::<[Point], [i32]>().unwrap();
    let seven = node.client::<(), u64>("seven").unwrap();
    for number in 0..100 {
        let point = Point { x: number, y: 2 };
        assert_eq!(turn.call(&point), Ok(Point { x: -2, y: number }));
        for count in 0..=3 {
            let points = vec![point; count];
            assert_eq!(squares.call(&points), Ok(vec![number * number + 4; count]));
        }
        assert_eq!(seven.call(&()), Ok(7));
    }
    let long = squares.call(&[Point { x: 1, y: 1 }; 4]);
    let too_long = Error::Call("squares".into(), CallError::Failed(Failure::TooLong));
    assert_eq!(long, Err(too_long));
    assert_eq!(squares.call(&[Point { x: 1, y: 1 }]), Ok(vec![2]));
}

#[test]
fn types_that_differ_are_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let _server = Server::start(directory.path().into(), offer_all);
    let node = open(directory.path(), "gpp");
    let there = "call Point{x@0:i32,y@4:i32}8 Point{x@0:i32,y@4:i32}8".to_owned();
    let here = "call Point{y@0:i32,x@4:i32}8 Point{x@0:i32,y@4:i32}8".to_owned();
    let made = node.client::<other::Point, Point>("turn");
    let Err(error) = made else { panic!("the types differ") };
    let (service, of) = ("turn".to_owned(), "dsp".to_owned());
    assert_eq!(error, Error::Types { service, node: of, there: there.clone(), here });
    assert!(error.to_string().contains(&there), "{error}");
    for bad in [node.client::<u32, Point>("turn").err(), node.client::<Point, u64>("turn").err()] {
        assert!(matches!(bad, Some(Error::Types { .. })), "{bad:?}");
    }
}

#[test]
fn a_client_that_does_not_look_finds_no_function() {
    let directory = tempfile::tempdir().unwrap();
    let _server = Server::start(directory.path().into(), offer_all);
    let mut node = Options::new("raw").directory(directory.path()).node().unwrap();
    let link = node.hunt(&"dsp".parse().unwrap(), SOON).unwrap();
    for name in ["turn", "turn-00000000"] {
        let opened = node.open_flow(link, &name.parse().unwrap(), Default::default(), 8, SOON);
        assert_eq!(opened.err(), Some(FlowError::NotFound), "{name}");
    }
}

#[test]
fn a_request_that_is_no_value_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let _server = Server::start(directory.path().into(), offer_all);
    let mut node = Options::new("raw").directory(directory.path()).node().unwrap();
    let link = node.hunt(&"dsp".parse().unwrap(), SOON).unwrap();
    let name = function("turn", "call Point{x@0:i32,y@4:i32}8 Point{x@0:i32,y@4:i32}8");
    let flow = node.open_flow(link, &name, Default::default(), 8, SOON).unwrap();
    let mut response = [0; 8];
    for len in [0, 1, 7, 9, 16, 1000] {
        let request = vec![1; len];
        let called = node.flow(flow).call(&request, &mut response, SOON);
        assert_eq!(called, Err(CallError::Failed(Failure::Refused)), "{len}");
    }
    assert_eq!(node.flow(flow).call(&[1; 8], &mut response, SOON), Ok(8));
}

#[test]
fn a_response_that_is_no_value_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut liar = Options::new("liar").directory(&path).node().unwrap();
            let name = function("liar", "call () u32");
            let mut run = |_: &dyn Source, to: &mut dyn Sink| to.write(0, &[1, 2, 3]);
            let mut library = [Function { name, run: &mut run }];
            liar.platform().offer(&"liar".parse().unwrap(), "call () u32").unwrap();
            while !over.load(Ordering::Relaxed) {
                let _ = liar.serve(&mut library, Some(Duration::from_millis(5)));
            }
        });
        let node = open(directory.path(), "gpp");
        let called = node.client::<(), u32>("liar").map(|liar| liar.call(&()));
        over.store(true, Ordering::Relaxed);
        assert_eq!(called.unwrap(), Err(Error::Length("liar".into())));
    });
}

#[test]
fn a_service_that_comes_back_is_called_again() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "gpp");
    let mut server = Server::start(directory.path().into(), offer_all);
    let turn = node.find("turn").patience(SOON).client::<Point, Point>().unwrap();
    for _ in 0..3 {
        assert_eq!(turn.call(&Point { x: 1, y: 2 }), Ok(Point { x: -2, y: 1 }));
        drop(server);
        let lost = turn.call(&Point { x: 1, y: 2 });
        assert_eq!(lost, Err(Error::Call("turn".into(), CallError::Gone(Lost::Closed))));
        server = Server::start(directory.path().into(), offer_all);
    }
    assert_eq!(turn.call(&Point { x: 1, y: 2 }), Ok(Point { x: -2, y: 1 }));
}

#[test]
fn what_nobody_offers_is_not_found_and_an_odd_name_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "gpp");
    let made = node.find("turn").patience(AT_ONCE).client::<u32, u32>();
    assert_eq!(made.err(), Some(Error::NotFound("turn".into())));
    for name in ["", ".turn", "a/b", "twenty-three-letters-xx"] {
        assert_eq!(node.client::<u32, u32>(name).err(), Some(Error::Name(name.into())));
        assert_eq!(node.serve::<u32, u32>(name, |x| *x).err(), Some(Error::Name(name.into())));
    }
    node.serve::<u32, u32>("same", |number| *number).unwrap();
    let again = node.serve::<u8, u8>("same", |number| *number);
    assert_eq!(again, Err(Error::Offered("same".into())));
    let offers = node.services().unwrap();
    assert_eq!(offers.len(), 1);
    assert_eq!((offers[0].service.as_str(), offers[0].text.as_str()), ("same", "call u32 u32"));
    node.withdraw("same").unwrap();
    assert_eq!(node.services().unwrap(), []);
}

#[test]
fn a_function_that_uses_its_own_node_is_told_so() {
    let directory = tempfile::tempdir().unwrap();
    let _server = Server::start(directory.path().into(), |node| {
        let own = node.clone();
        node.serve::<(), u8>("inner", move |()| {
            let busy = own.services().err() == Some(Error::Busy)
                && own.run(AT_ONCE).err() == Some(Error::Busy)
                && own.serve::<(), u8>("more", |()| 1).err() == Some(Error::Busy);
            u8::from(busy)
        })
        .unwrap();
    });
    let node = open(directory.path(), "gpp");
    assert_eq!(node.client::<(), u8>("inner").unwrap().call(&()), Ok(1));
}

#[test]
fn what_a_node_offers_is_gone_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let node = open(directory.path(), "gpp");
    let server = Server::start(directory.path().into(), offer_all);
    let names = |node: &Node| {
        let offers = node.services().unwrap();
        offers.iter().map(|offer| offer.service.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(&node), ["seven", "squares", "turn"]);
    drop(server);
    assert_eq!(names(&node), [""; 0]);
}

#[test]
fn clients_that_are_dropped_leave_their_flows_to_others() {
    let directory = tempfile::tempdir().unwrap();
    let _server = Server::start(directory.path().into(), offer_all);
    let node = open(directory.path(), "gpp");
    // More often than a node has flows.
    for round in 0..100 {
        let find = node.find("seven").patience(SOON);
        let client = find.client::<(), u64>().unwrap();
        assert_eq!(client.call(&()), Ok(7), "{round}");
    }
}

#[test]
fn a_mebibyte_goes_there_and_back_between_nodes_that_are_opened_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let _server = Server::with(
        move || open_for_long_ones(&path, "dsp"),
        |node| {
            let flipped = |all: &[u8]| all.iter().map(|byte| !byte).collect();
            node.serve::<[u8], [u8]>("flipped", flipped).unwrap();
        },
    );
    let node = open_for_long_ones(directory.path(), "gpp");
    let flipped = node.find("flipped").longest(LONG).client::<[u8], [u8]>().unwrap();
    for value in 0..10 {
        assert_eq!(flipped.call(&vec![value; LONG]), Ok(vec![!value; LONG]));
    }
    let short = open_for_short_ones(directory.path(), "short");
    let client = short.find("flipped").longest(LONG).client::<[u8], [u8]>().unwrap();
    let refused = client.call(&vec![1; LONG]).unwrap_err().to_string();
    assert!(refused.contains("the 65536 bytes of this node's longest message"), "{refused}");
    assert!(refused.contains("Options::longest_message"), "{refused}");
    let vast = Options::new("vast").directory(directory.path()).longest_message(1 << 31);
    let refused = Node::with(vast).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("2147483648"), "{refused}");
}

#[test]
fn values_that_no_message_has_room_for_are_refused_before_a_call() {
    type Long = [u8; 100_000];
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let _long = Server::with(
        move || open_for_long_ones(&path, "long"),
        |node| {
            node.serve::<Long, u8>("first", |all| all[0]).unwrap();
            node.serve::<u8, Long>("all", |each| [*each; 100_000]).unwrap();
        },
    );
    let path = directory.path().to_owned();
    // What it looks for itself has longer messages.
    let standard = Layout::standard(Host::LINE).unwrap();
    let _short = Server::with(
        move || {
            let options = Options::new("short").directory(path).longest_message(100_000);
            Node::with(options.incoming_layout(standard)).unwrap()
        },
        |node| {
            node.serve::<u8, Long>("short", |each| [*each; 100_000]).unwrap();
        },
    );
    let long = open_for_long_ones(directory.path(), "gpp");
    assert_eq!(long.client::<Long, u8>("first").unwrap().call(&[7; 100_000]), Ok(7));
    assert_eq!(long.client::<u8, Long>("all").unwrap().call(&7), Ok([7; 100_000]));
    let refused = |made: Result<(), Error>, whose: &str| {
        let said = made.unwrap_err().to_string();
        let all = [whose, "100000 bytes", "at most 65536", "Options::longest_message(100000)"];
        assert!(all.iter().all(|part| said.contains(part)), "{said}");
    };
    // More than there are flows: each is closed.
    for _ in 0..40 {
        let made = long.client::<u8, Long>("short").map(|_| ());
        refused(made, "a response of short has");
    }
    let node = open_for_short_ones(directory.path(), "brief");
    refused(node.client::<Long, u8>("first").map(|_| ()), "a request of first has");
    let served = node.serve::<u8, Long>("own", |each| [*each; 100_000]);
    refused(served, "a response of own has");
    assert!(node.services_matching("own").unwrap().is_empty(), "nothing is offered");
}
