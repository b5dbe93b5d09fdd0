//! Messages that are longer than usual need no option, and take no memory until they come.

use std::sync::mpsc;
use std::time::Duration;

use narrows_services::{Node, Options};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Bytes of the longest message that there can be.
const LONGEST: usize = (1 << 24) - 1;

/// Bytes of shared memory that this process has touched.
fn touched() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssShmem:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<usize>().unwrap() << 10
}

#[test]
fn long_values_need_no_option_and_take_memory_when_they_come() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let (over, is_over) = mpsc::channel::<()>();
    let server = std::thread::spawn(move || {
        let node = Node::with(Options::new("dsp").directory(path)).unwrap();
        let flipped = |all: &[u8]| all.iter().map(|byte| !byte).collect();
        node.serve::<[u8], [u8]>("flipped", flipped).unwrap();
        while is_over.try_recv() == Err(mpsc::TryRecvError::Empty) {
            node.run(Some(Duration::from_millis(2))).unwrap();
        }
    });
    let node = Node::with(Options::new("gpp").directory(directory.path())).unwrap();
    let client = node.find("flipped").longest(LONGEST).client::<[u8], [u8]>().unwrap();
    assert_eq!(client.call(&[1; 100]), Ok(vec![!1; 100]));
    // What the nodes' threads make of a link while there is nothing to do takes some 5 ms.
    std::thread::sleep(Duration::from_millis(300));
    let before = touched();
    assert!(before < 24 << 20, "{before} bytes for two halves of a link");
    for (value, len) in [(2, 100_000), (3, 1 << 20), (4, LONGEST), (5, 48), (6, LONGEST)] {
        assert_eq!(client.call(&vec![value; len]), Ok(vec![!value; len]), "{len}");
    }
    let after = touched();
    assert!(after > before + 2 * LONGEST, "{before} bytes, and {after} with long messages");
    let refused = client.call(&vec![7; LONGEST + 1]).unwrap_err().to_string();
    assert!(refused.contains("16777215"), "{refused}");
    assert_eq!(client.call(&[8; 100]), Ok(vec![!8; 100]));
    drop(over);
    server.join().unwrap();

    let usual = |name| {
        let node = Node::with(Options::new(name).directory(directory.path())).unwrap();
        node.below().unwrap().platform().longest_message()
    };
    let Rlimit { current, maximum } = getrlimit(Resource::As);
    setrlimit(Resource::As, Rlimit { current: Some(1 << 40), maximum }).unwrap();
    assert_eq!(usual("narrow"), 65536);
    setrlimit(Resource::As, Rlimit { current, maximum }).unwrap();
    assert_eq!(usual("wide"), LONGEST as u32);
    let small = Rlimit { current: Some(8 << 20), maximum: Some(8 << 20) };
    setrlimit(Resource::Fsize, small).unwrap();
    assert_eq!(usual("modest"), 65536);
    let vast = Options::new("vast").directory(directory.path()).longest_message(LONGEST);
    let refused = Node::with(vast).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("ulimit -f"), "{refused}");
}
