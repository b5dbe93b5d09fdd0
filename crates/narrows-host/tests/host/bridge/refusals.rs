//! Connections that are turned away, and how either side hears of it.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use narrows::endpoint::LinkError;
use narrows::platform::HuntError;
use narrows_host::bridge::{Bridge, BridgeError, Event, KeyError, Keys, Options as Across, Why};

use super::{Told, Two, any, hunt, node, offer, reach};
use crate::common::until;

fn at(bridge: &Bridge) -> SocketAddr {
    bridge.address().expect("it listens")
}

/// What a hunt for the node says.
fn looked(two: &Two, at: SocketAddr, keys: Option<&Keys>, told: &Told) -> LinkError {
    let _reaches = reach(two, "dsp", at, keys, told);
    let mut gpp = node(&two.here(), "gpp");
    hunt(&mut gpp, "dsp").expect_err("it is refused")
}

const FORBIDDEN: LinkError = LinkError::Hunt(HuntError::Forbidden);

#[test]
fn an_end_with_a_wrong_key_is_told_so_and_so_is_the_other() {
    let (two, other) = (Two::new(), Two::new());
    let [ours, theirs] = two.keys();
    let [stranger, _] = other.keys();
    let _dsp = node(&two.there(), "dsp");
    // Neither knows the other; or only one does.
    let know = |file: &str, trusted| {
        Keys::read(&two.0.path().join(file), vec![trusted]).expect("it was made")
    };
    for (mine, its) in [
        (stranger.clone(), theirs.clone()),
        (ours.clone(), know("two", stranger.own())),
        (know("one", stranger.own()), theirs.clone()),
    ] {
        let (told, told_there) = (Told::default(), Told::default());
        let offers = offer(&two, "dsp", Some(&its), &told_there);
        assert_eq!(looked(&two, at(&offers), Some(&mine), &told), FORBIDDEN);
        told.wait(|event| matches!(event, Event::Unreached(_, Why::Key)));
        told_there.wait(|event| matches!(event, Event::Refused(_, Why::Key)));
        assert_eq!((offers.links(), offers.refused()), (0, 1));
    }
}

#[test]
fn a_node_that_is_not_offered_is_not_reached_though_it_is_there() {
    let (two, told) = (Two::new(), Told::default());
    let _dsp = node(&two.there(), "dsp");
    let offers = offer(&two, "other", None, &told);
    assert_eq!(looked(&two, at(&offers), None, &told), FORBIDDEN);
    told.wait(
        |event| matches!(event, Event::Refused(_, Why::NotOffered(name)) if name.as_str() == "dsp"),
    );
}

#[test]
fn garbage_and_silence_at_the_port_are_counted_and_keep_nobody_out() {
    let (two, told) = (Two::new(), Told::default());
    let [ours, theirs] = two.keys();
    let _dsp = node(&two.there(), "dsp");
    for keys in [None, Some(&theirs)] {
        let offers = offer(&two, "dsp", keys, &told);
        let garbage: [&[u8]; 5] = [
            b"GET / HTTP/1.1\r\n\r\n",
            &[0xff; 4096],
            // A first record of no bytes, one of a version to come, and a packet before it.
            &[0, 0, 0, 1],
            &[8, 0, 0, 1, 0x52, 0x42, 0x52, 0x4e, 9, 0, 0, 0],
            &[4, 0, 0, 2, 1, 2, 3, 4],
        ];
        for (count, bytes) in (1..).zip(garbage) {
            let mut stranger = TcpStream::connect(at(&offers)).expect("it listens");
            stranger.write_all(bytes).expect("it is taken");
            let _ = stranger.shutdown(std::net::Shutdown::Write);
            let mut answer = Vec::new();
            let _ = stranger.read_to_end(&mut answer);
            until(&[], || offers.refused() == count);
        }
        // Connections that say nothing wait in places of their own: the others are turned away at
        // once.
        let silent: Vec<_> =
            (0..16).map(|_| TcpStream::connect(at(&offers)).expect("it listens")).collect();
        until(&[], || {
            drop(TcpStream::connect(at(&offers)));
            let all = told.0.lock().expect("nobody panics");
            all.iter().any(|event| matches!(event, Event::Refused(_, Why::Full)))
        });
        drop(silent);
        let _reaches = reach(&two, "dsp", at(&offers), keys.map(|_| &ours), &told);
        let mut gpp = node(&two.here(), "gpp");
        hunt(&mut gpp, "dsp").expect("it is let in");
    }
}

#[test]
fn an_end_with_a_key_and_one_without_do_not_link() {
    let (two, told) = (Two::new(), Told::default());
    let [ours, theirs] = two.keys();
    let _dsp = node(&two.there(), "dsp");
    let offers = offer(&two, "dsp", Some(&theirs), &told);
    let looked = looked(&two, at(&offers), None, &told);
    assert_eq!(looked, LinkError::Hunt(HuntError::Incompatible));
    drop(offers);
    let offers = offer(&two, "dsp", None, &told);
    let _reaches = reach(&two, "dsp", at(&offers), Some(&ours), &told);
    let mut gpp = node(&two.here(), "gpp");
    let name = "dsp".parse().expect("a name");
    assert!(gpp.hunt(&name, Some(Duration::from_millis(100))).is_err());
    told.wait(|event| matches!(event, Event::Refused(_, Why::Garbage)));
}

#[test]
fn what_cannot_be_a_bridge_does_not_start() {
    let two = Two::new();
    let start = |across: Across| across.directory(two.here()).start(|_| ()).map(drop);
    assert!(matches!(start(Across::new()), Err(BridgeError::Idle)));
    assert!(matches!(start(Across::new().offer("a")), Err(BridgeError::Half)));
    let idle = Across::new().listen(any()).reach("a", any());
    assert!(matches!(start(idle), Err(BridgeError::Half)));
    assert!(matches!(start(Across::new().reach("a/b", any())), Err(BridgeError::Open(_))));
    let _a = node(&two.here(), "a");
    assert!(matches!(start(Across::new().reach("a", any())), Err(BridgeError::Open(_))));
    let taken = std::net::TcpListener::bind(any()).expect("a port");
    let taken = Across::new().listen(taken.local_addr().expect("it has one")).offer("a");
    assert!(matches!(start(taken), Err(BridgeError::Listen(..))));

    let file = two.0.path().join("key");
    std::fs::write(&file, "no key").expect("it can be written");
    assert!(matches!(Keys::read(&file, Vec::new()), Err(KeyError::NoKey)));
    assert!(matches!(Keys::make(&file), Err(KeyError::File(_))));
    assert!(matches!(Keys::read(&two.here(), Vec::new()), Err(KeyError::File(_))));
    for text in ["", "12", &"g".repeat(64), &"0".repeat(63), "é"] {
        assert!(text.parse::<narrows_host::bridge::PublicKey>().is_err(), "{text}");
    }
    let own = Keys::make(&two.0.path().join("new")).expect("a key");
    assert_eq!(own.to_string().parse(), Ok(own));
}
