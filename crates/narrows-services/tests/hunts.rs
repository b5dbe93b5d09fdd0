//! Services and topics found by patterns of their names.

use std::path::Path;
use std::time::Duration;

use narrows_host::Options;
use narrows_services::{Error, Node};

const SOON: Option<Duration> = Some(Duration::from_secs(20));

fn open(directory: &Path, name: &str) -> Node {
    Node::with(Options::new(name).directory(directory)).unwrap()
}

fn names(node: &Node, pattern: &str) -> Vec<String> {
    let found = node.services_matching(pattern).unwrap();
    found.iter().map(|offer| offer.service.to_string()).collect()
}

#[test]
fn names_that_match_are_found_and_no_others() {
    let directory = tempfile::tempdir().unwrap();
    let (left, right) = (open(directory.path(), "left"), open(directory.path(), "right"));
    let _topics = [
        left.publisher::<[u8]>("camera.left").unwrap(),
        right.publisher::<[u8]>("camera.right").unwrap(),
        right.publisher::<[u8]>("camera_").unwrap(),
    ];
    left.serve::<u32, u32>("camera.mode", |mode| *mode).unwrap();
    let node = open(directory.path(), "viewer");
    let rows: [(&str, &[&str]); 9] = [
        ("camera.*", &["camera.left", "camera.mode", "camera.right"]),
        ("*", &["camera.left", "camera.mode", "camera.right", "camera_"]),
        ("camera.left", &["camera.left"]),
        ("camera", &[]),
        ("", &[]),
        ("camera?", &["camera_"]),
        ("*.{left,right}", &["camera.left", "camera.right"]),
        ("camera.[l-m]*", &["camera.left", "camera.mode"]),
        // What is no pattern matches nothing.
        ("camera.[", &[]),
    ];
    for (pattern, expected) in rows {
        assert_eq!(names(&node, pattern), expected, "{pattern}");
    }
    let texts: Vec<_> = node.services_matching("camera.mode").unwrap();
    assert_eq!((texts[0].node.as_str(), texts[0].text.as_str()), ("left", "call u32 u32"));
}

#[test]
fn a_hunt_waits_until_one_is_there_and_not_for_ever() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let (told, heard) = std::sync::mpsc::channel();
    let hunter = std::thread::spawn(move || {
        let node = open(&path, "hunter");
        let briefly = Some(Duration::from_millis(20));
        let nobody = node.hunt("b*", briefly).map(|_| ());
        assert_eq!(nobody, Err(Error::NotFound("b*".into())));
        told.send(()).unwrap();
        node.hunt("b*", SOON).map(|found| found[0].service.to_string())
    });
    let node = open(directory.path(), "node");
    node.serve::<(), ()>("a", |()| ()).unwrap();
    heard.recv().unwrap();
    std::thread::sleep(Duration::from_millis(30));
    node.serve::<(), ()>("bc", |()| ()).unwrap();
    assert_eq!(hunter.join().unwrap().as_deref(), Ok("bc"));
}
