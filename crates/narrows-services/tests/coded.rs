//! Values that serde encodes, and what a program sends that is none.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use narrows_services::{Coded, Error, Node, Options, Payload, described};
use serde::{Deserialize, Serialize};

const SOON: Option<Duration> = Some(Duration::from_secs(20));

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Order {
    Stop,
    Go { to: String, by: Vec<(i32, Option<f64>)> },
    Names(BTreeMap<String, Vec<u8>>),
}

mod other {
    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    pub enum Order {
        Stop,
    }
}

fn open(directory: &Path, name: &str) -> Node {
    Node::with(Options::new(name).directory(directory)).unwrap()
}

fn orders() -> [Order; 3] {
    [
        Order::Stop,
        Order::Go { to: "harbour".into(), by: vec![(-1, None), (i32::MAX, Some(0.5))] },
        Order::Names((0..20).map(|number| (format!("n{number}"), vec![number; 9])).collect()),
    ]
}

#[test]
fn what_is_encoded_goes_there_and_back() {
    let directory = tempfile::tempdir().unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let dsp = scope.spawn(|| {
            let node = open(directory.path(), "dsp");
            let same = |order: &Coded<Order>| Coded::new(order.clone().into_inner()).unwrap();
            node.serve::<Coded<Order>, Coded<Order>>("same", same).unwrap();
            let orders =
                node.topic("orders").limit(0).history(4).publisher::<Coded<Order>>().unwrap();
            for order in self::orders() {
                orders.send(&Coded::new(order).unwrap()).unwrap();
            }
            let long = Coded::new(Order::Go { to: "x".repeat(2000), by: vec![] }).unwrap();
            let refused = orders.send(&long).unwrap_err();
            assert!(matches!(refused, Error::Limit { .. }), "{refused}");
            while !over.load(Ordering::Relaxed) {
                node.run(Some(Duration::from_millis(5))).unwrap();
            }
        });
        let node = open(directory.path(), "gpp");
        let same = node.client::<Coded<Order>, Coded<Order>>("same").unwrap();
        let wish = node.subscribe("orders").history(4);
        let received = wish.subscriber::<Coded<Order>>().unwrap();
        for order in orders() {
            let coded = Coded::new(order.clone()).unwrap();
            assert_eq!(same.call(&coded).as_deref(), Ok(&order));
            assert_eq!(*received.receive(SOON).unwrap().read().unwrap(), order);
        }
        let differs = node.client::<Coded<other::Order>, Coded<Order>>("same").err();
        assert!(matches!(&differs, Some(Error::Types { .. })), "{differs:?}");
        let differs = node.subscriber::<Coded<other::Order>>("orders").err();
        assert!(matches!(&differs, Some(Error::Types { .. })), "{differs:?}");
        over.store(true, Ordering::Relaxed);
        dsp.join().unwrap();
    });
}

#[test]
fn a_hostile_encoding_is_no_value() {
    let of = |bytes: &[u8]| {
        let fill = |to: &mut [u8]| {
            to.copy_from_slice(bytes);
            Ok::<_, ()>(bytes.len())
        };
        Coded::<Order>::receive(bytes.len(), fill, || ()).ok()
    };
    for order in orders() {
        let whole = Coded::new(order.clone()).unwrap();
        let bytes = whole.bytes();
        assert_eq!(of(bytes).as_deref(), Some(&order));
        for len in 0..bytes.len() {
            assert_eq!(of(&bytes[..len]), None, "cut to {len}");
        }
        assert_eq!(of(&[bytes, &[0]].concat()), None, "longer");
        // Whatever it is, it is no panic, and no more memory than it came in.
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bytes = bytes.to_vec();
                bytes[at] = value;
                let _ = of(&bytes);
            }
        }
    }
    assert_eq!(of(&[9]), None, "no such variant");
    assert_eq!(of(&[1, 0xff, 0xff, 0xff, 0xff, 0x0f]), None, "4 GiB of text");
    let longer = Coded::<Order>::receive(4, |_| Ok(usize::MAX), || "wrong");
    assert_eq!(longer, Err("wrong"));
}

/// The same name, another encoding: what another program might call its own.
#[test]
fn a_program_that_sends_what_it_did_not_promise_is_an_error_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use narrows::endpoint::{Function, Sink, Source};
            let mut liar = Options::new("liar").directory(directory.path()).node().unwrap();
            let types = described::<Coded<Order>>();
            let signature = narrows_services::Signature::new("liar", "()", &types).unwrap();
            signature.offer(&mut liar).unwrap();
            let mut run = |_: &dyn Source, to: &mut dyn Sink| to.write(0, &[1, 200, 2]);
            let mut library = [Function { name: *signature.function(), run: &mut run }];
            while !over.load(Ordering::Relaxed) {
                let _ = liar.serve(&mut library, Some(Duration::from_millis(5)));
            }
        });
        let node = open(directory.path(), "gpp");
        let called = node.client::<(), Coded<Order>>("liar").map(|liar| liar.call(&()));
        over.store(true, Ordering::Relaxed);
        assert_eq!(called.unwrap(), Err(Error::Length("liar".into())));
    });
}

#[test]
fn what_has_no_encoding_is_refused_by_name() {
    struct Unknown;
    impl Serialize for Unknown {
        fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            serde::ser::SerializeSeq::end(to.serialize_seq(None)?)
        }
    }
    let made = Coded::new(Unknown).err();
    assert!(
        matches!(&made, Some(Error::Encoding(name, _)) if name.ends_with("Unknown")),
        "{made:?}"
    );
    assert!(described::<Coded<Vec<(u8, String)>>>().chars().all(|letter| !letter.is_whitespace()));
}
