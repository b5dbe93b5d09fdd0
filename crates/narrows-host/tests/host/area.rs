//! The frame drivers over areas between nodes of this host: in two threads, and in two processes of
//! which one dies in each of the states.

use std::process::{Command, ExitStatus};
use std::thread;
use std::time::Duration;

use crate::common::process::test_of;
use narrows::driver::area::{Acknowledges, AreaState, Copied, Copies, Gathered};
use narrows::driver::{Frames, NoFrame, NotSent};
use narrows::platform::{Event, Lost, Platform, Wait};
use narrows_host::area::{Block, Hand, Shape, Unit};
use narrows_host::{Host, Options};

const HEADER: usize = 20;
const MTU: usize = 4096;
const SOON: Duration = Duration::from_secs(20);

fn shape() -> Shape {
    Shape::new(MTU, MTU).unwrap()
}

fn open(name: &str, directory: &std::path::Path) -> Host {
    Options::new(name).directory(directory).layout(shape().layout()).open().unwrap()
}

/// Sleeps until something happens at a node.
fn sleep(host: &Host) {
    let _ = host.wait(std::iter::empty(), Wait::Bell, Some(host.now() + SOON));
}

fn linked(host: &Host) -> Unit {
    loop {
        match host.event() {
            Some(Ok(Event::Connected(link))) => return Unit::new(shape(), link).unwrap(),
            _ => sleep(host),
        }
    }
}

/// One end, by whichever driver.
enum End {
    Copied(Copied<Hand>),
    Gathered(Gathered<Hand>),
}

const ACK: Acknowledges = Acknowledges::Interrupt;
const NO_ACK: Acknowledges = Acknowledges::Lazily;
/// The five drivers; none is by the receiver's engine.
const DRIVERS: [(Option<Copies>, Acknowledges); 5] = [
    (Some(Copies::Both), ACK),
    (Some(Copies::Both), NO_ACK),
    (Some(Copies::Receiver), ACK),
    (None, ACK),
    (None, NO_ACK),
];

impl End {
    fn new(driver: (Option<Copies>, Acknowledges), unit: &Unit, host: &Host) -> End {
        match driver {
            (Some(copies), ack) => End::Copied(unit.copied(copies, ack).unwrap()),
            (None, ack) => End::Gathered(unit.gathered(host, ack).unwrap()),
        }
    }

    fn frames(&mut self) -> &mut dyn Frames<Buffer = Block> {
        match self {
            End::Copied(copied) => copied,
            End::Gathered(gathered) => gathered,
        }
    }

    fn state(&self) -> Option<AreaState> {
        match self {
            End::Copied(copied) => copied.sending(),
            End::Gathered(gathered) => gathered.sending(),
        }
    }
}

fn length(number: usize) -> usize {
    [0, 1, 4, 31, 32, 33, 64, 700, MTU - HEADER - 1, MTU - HEADER, 5][number % 11]
}

fn pattern(number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + number * 31 + 1) as u8).collect()
}

#[test]
fn frames_of_every_length_come_whole_and_in_order_by_each_driver() {
    const FRAMES: usize = 330;
    for driver in DRIVERS {
        let directory = tempfile::tempdir().unwrap();
        let host = open("receiver", directory.path());
        let path = directory.path().to_owned();
        let sender = thread::spawn(move || {
            let host = open("sender", &path);
            host.hunt(&"receiver".parse().unwrap()).unwrap();
            let mut unit = linked(&host);
            let mut end = End::new(driver, &unit, &host);
            let (sleeps, mut held) = (driver.1 == ACK, Vec::new());
            for number in 0..FRAMES {
                let bytes = pattern(number, length(number));
                let block = unit.make().unwrap();
                unit.write(&block, 0, &bytes).unwrap();
                let payload = (!bytes.is_empty()).then_some((&block, 0, bytes.len()));
                let header = pattern(number + 100, HEADER);
                while let Err(why) = end.frames().try_send(&header, payload) {
                    assert_eq!(why, NotSent::Full, "frame {number}");
                    if sleeps { sleep(&host) } else { thread::yield_now() }
                }
                held.push(block);
                if !end.frames().holds() {
                    held.drain(..).for_each(|block| unit.give(block));
                }
            }
            // Until all was taken: the engine reads this node's memory.
            while end.frames().holds() || end.state() != Some(AreaState::Read) {
                thread::yield_now();
            }
        });
        let mut unit = linked(&host);
        let mut end = End::new(driver, &unit, &host);
        for number in 0..FRAMES {
            let mut header = [0; HEADER];
            let len = loop {
                match end.frames().try_receive(&mut header) {
                    Ok(len) => break len - HEADER,
                    Err(why) => assert_eq!(why, NoFrame::Empty, "{driver:?}, frame {number}"),
                }
                sleep(&host);
            };
            assert_eq!((len, &header[..]), (length(number), &pattern(number + 100, HEADER)[..]));
            let mut block = unit.make().unwrap();
            assert!(end.frames().read(HEADER + len, 1, &mut block, 0).is_err(), "behind its end");
            end.frames().read(HEADER, len, &mut block, 0).unwrap();
            end.frames().release();
            let mut bytes = vec![0; len];
            unit.read(&block, 0, &mut bytes).unwrap();
            assert!(bytes == pattern(number, len), "{driver:?}, frame {number}");
            unit.give(block);
        }
        sender.join().unwrap();
    }
}

/// What a process does before it dies, by what it leaves to its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaves {
    /// Nothing was sent.
    Empty,
    /// Its frame, which nobody has taken.
    Written,
    /// The peer's frame, looked at.
    Reading,
    /// The peer's frame, taken.
    Read,
}

const LEAVES: [Leaves; 4] = [Leaves::Empty, Leaves::Written, Leaves::Reading, Leaves::Read];
/// Where a child finds what it is to do.
const TASK: &str = "NARROWS_TEST_AREA";

/// The child's side of the test below: nothing, where it is not a child.
#[test]
fn a_process_that_dies() {
    let Ok(task) = std::env::var(TASK) else { return };
    let (numbers, directory) = task.split_once(' ').unwrap();
    let [driver, leaves] = [0, 1].map(|at| usize::from(numbers.as_bytes()[at] - b'0'));
    let host = open("child", directory.as_ref());
    host.hunt(&"parent".parse().unwrap()).unwrap();
    let mut unit = linked(&host);
    let mut end = End::new(DRIVERS[driver], &unit, &host);
    let take = |end: &mut End| {
        while end.frames().try_receive(&mut [0; HEADER]).is_err() {
            sleep(&host);
        }
    };
    match LEAVES[leaves] {
        Leaves::Empty => {}
        Leaves::Written => {
            let block = unit.make().unwrap();
            unit.write(&block, 0, &pattern(3, 100)).unwrap();
            end.frames().try_send(&[9; HEADER], Some((&block, 0, 100))).unwrap();
            // An engine of the other's may be at work: it is let finish.
            sleep(&host);
        }
        Leaves::Reading => take(&mut end),
        Leaves::Read => {
            take(&mut end);
            end.frames().release();
        }
    }
    std::process::abort();
}

fn child(driver: usize, leaves: usize, directory: &std::path::Path) -> ExitStatus {
    let task = format!("{driver}{leaves} {}", directory.display());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", &test_of(module_path!(), "a_process_that_dies"), "--test-threads", "1"])
        .env(TASK, task);
    command.output().unwrap().status
}

#[test]
fn a_peer_that_dies_in_any_state_leaves_one_that_can_be_read() {
    for (driver, by) in DRIVERS.into_iter().enumerate() {
        for (number, leaves) in LEAVES.into_iter().enumerate() {
            let directory = tempfile::tempdir().unwrap();
            let host = open("parent", directory.path());
            let path = directory.path().to_owned();
            let child = thread::spawn(move || child(driver, number, &path));
            let mut unit = linked(&host);
            let mut end = End::new(by, &unit, &host);
            let sent = unit.make().unwrap();
            unit.write(&sent, 0, &pattern(5, 64)).unwrap();
            if matches!(leaves, Leaves::Reading | Leaves::Read) {
                end.frames().try_send(&[1; HEADER], Some((&sent, 0, 64))).unwrap();
            }
            let mut came = false;
            loop {
                if leaves == Leaves::Written && !came && end.frames().try_receive(&mut []).is_ok() {
                    came = true;
                    // The child sleeps until something happens.
                    end.frames().try_send(&[2; HEADER], None).unwrap();
                }
                match host.event() {
                    Some(Ok(Event::Lost { reason, .. })) => {
                        assert_eq!(reason, Lost::Died);
                        break;
                    }
                    _ => sleep(&host),
                }
            }
            assert!(!child.join().unwrap().success(), "it aborts");
            let case = format!("{by:?}, {leaves:?}");
            let state = end.state();
            let mut header = [0; HEADER];
            match leaves {
                Leaves::Empty => assert_eq!(state, Some(AreaState::Empty), "{case}"),
                Leaves::Reading => {
                    assert_eq!(state, Some(AreaState::Reading), "{case}");
                    assert_eq!(end.frames().try_send(&[1; HEADER], None), Err(NotSent::Full));
                }
                Leaves::Read => {
                    assert_eq!(state, Some(AreaState::Read), "{case}");
                    assert_eq!(end.frames().try_send(&[1; HEADER], None), Ok(()));
                }
                Leaves::Written => {
                    // What it had sent is still there, wherever its bytes are.
                    assert_eq!(end.frames().try_receive(&mut header), Ok(HEADER + 100), "{case}");
                    let mut block = unit.make().unwrap();
                    end.frames().read(HEADER, 100, &mut block, 0).unwrap();
                    end.frames().release();
                    let mut bytes = [0; 100];
                    unit.read(&block, 0, &mut bytes).unwrap();
                    assert_eq!((header, &bytes[..]), ([9; HEADER], &pattern(3, 100)[..]), "{case}");
                }
            }
            if leaves != Leaves::Written {
                assert_eq!(end.frames().try_receive(&mut header), Err(NoFrame::Empty), "{case}");
            }
        }
    }
}
