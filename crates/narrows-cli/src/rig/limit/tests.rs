use std::io::ErrorKind;
use std::os::fd::{AsFd, IntoRawFd};
use std::sync::atomic::Ordering::Release;
use std::thread;
use std::time::{Duration, Instant};

use super::raw::{Area, LENGTH, Line};
use super::side::Command;
use super::*;

const IDLE: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(50);
/// Far more than `SHORT`, for a machine that is busy.
const SOON: Duration = Duration::from_secs(10);

/// Both sides in one process, the callee by way of the argument, as a child would.
fn pair() -> (Limits, Callee) {
    let (limits, _) = Limits::create().unwrap();
    let number = |descriptor: std::os::fd::BorrowedFd| {
        let copy = descriptor.try_clone_to_owned().unwrap();
        copy.into_raw_fd().to_string()
    };
    let argument = [
        number(limits.memory.as_fd()),
        number(limits.side.bells.theirs.as_fd()),
        number(limits.side.bells.mine.as_fd()),
    ];
    let callee = Limits::inherit(&argument.join(",")).unwrap();
    (limits, callee)
}

fn served(mut callee: Callee, work: impl FnOnce(&mut Limits), mut limits: Limits) {
    let serving = thread::spawn(move || callee.serve(IDLE));
    work(&mut limits);
    drop(limits);
    serving.join().unwrap().unwrap();
}

#[test]
fn every_kind_gives_a_time_and_sound_payloads() {
    let (limits, callee) = pair();
    served(
        callee,
        |limits| {
            for kind in Kind::ALL {
                // Sizes below, at and off a stamp and a line, and the largest.
                for bytes in [0, 1, 8, 48, 100, 4096, MAX_BYTES] {
                    let ns = limits.batch_at(Pace::default(), kind, bytes, 3).unwrap();
                    assert!(ns > 0.0, "{} of {bytes} bytes", kind.name());
                }
            }
        },
        limits,
    );
}

#[test]
fn batches_of_all_kinds_interleave_and_keep_in_step() {
    let (limits, callee) = pair();
    served(
        callee,
        |limits| {
            for round in 1..20 {
                for kind in Kind::ALL {
                    let pace = Pace::TRIED[round as usize % Pace::TRIED.len()];
                    limits.batch_at(pace, kind, 64 * round as usize, round).unwrap();
                }
            }
        },
        limits,
    );
}

#[test]
fn a_sample_has_as_many_figures_as_rounds() {
    let (limits, callee) = pair();
    served(
        callee,
        |limits| {
            assert_eq!(limits.sample(Kind::SlotRate, 0, 5).unwrap().len(), 5);
            let pace = limits.settle(Kind::SlotRate, 0).unwrap();
            assert!(Pace::TRIED.contains(&pace));
        },
        limits,
    );
}

#[test]
fn bytes_that_did_not_cross_are_noticed() {
    let (mut limits, mut callee) = pair();
    let kind = Kind::CopyBothWays;
    let answering = thread::spawn(move || {
        assert!(callee.side.bells.listen_for(IDLE).unwrap());
        let Command::Run(batch) = callee.side.take().unwrap() else { panic!("dismissed") };
        let number = callee.side.number;
        callee
            .side
            .attempt(&batch, |turns, first| {
                turns.shared.mapping.line(Line::Begun).store(number, Release);
                let timed = first + WARM_UP;
                turns.callee(kind, first..timed)?;
                // Answers by the line alone, and claims that all is well.
                turns.callee(Kind::LineEachWay, timed..timed + batch.iterations)?;
                turns.shared.mapping.word::<1>(Line::Ended).store(1, Release);
                turns.shared.mapping.line(Line::Ended).store(number, Release);
                Ok(())
            })
            .unwrap();
    });
    let failure = limits.batch_at(Pace::default(), kind, 256, 10).unwrap_err();
    assert_eq!(failure.kind(), ErrorKind::InvalidData);
    answering.join().unwrap();
}

#[test]
fn a_callee_that_never_answers_ends_the_batch_and_all_later_ones() {
    for kind in Kind::ALL {
        let (mut limits, _callee) = pair();
        limits.set_patience(SHORT);
        let start = Instant::now();
        let failure = limits.batch_at(Pace::default(), kind, 64, 10).unwrap_err();
        assert_eq!(failure.kind(), ErrorKind::TimedOut, "{failure}");
        let failure = limits.caller_batch(kind, 64, 10).unwrap_err();
        assert_eq!(failure.kind(), ErrorKind::BrokenPipe, "{failure}");
        assert!(start.elapsed() < SOON);
    }
}

#[test]
fn a_callee_that_dies_within_a_batch_ends_it() {
    for kind in Kind::ALL {
        let (mut limits, callee) = pair();
        limits.set_patience(SHORT);
        // Has begun, as far as the caller can tell, and does nothing more.
        callee.side.mapping.line(Line::Begun).store(1, Release);
        let failure = limits.batch_at(Pace::default(), kind, 64, 1000).unwrap_err();
        assert_eq!(failure.kind(), ErrorKind::TimedOut, "{}", kind.name());
    }
}

#[test]
fn a_caller_that_dies_within_a_batch_ends_it() {
    for kind in Kind::ALL {
        let (mut limits, mut callee) = pair();
        callee.set_patience(SHORT);
        let batch = side::Batch { kind, bytes: 64, iterations: 10, pace: Pace::default() };
        limits.side.give(Command::Run(batch)).unwrap();
        let failure = callee.serve_one(SOON).unwrap_err();
        assert_eq!(failure.kind(), ErrorKind::TimedOut, "{}", kind.name());
    }
}

#[test]
fn a_sleep_that_the_guard_ends_is_no_ring() {
    let (limits, callee) = pair();
    let (mine, theirs) = (&limits.side.bells, &callee.side.bells);
    let failure = mine.watched(SHORT, || {
        theirs.ring().unwrap();
        mine.sleep().unwrap();
        // That ring is still there, and wakes nobody twice.
        mine.sleep()
    });
    assert_eq!(failure.unwrap_err().kind(), ErrorKind::TimedOut);
}

#[test]
fn rings_left_by_sleeps_are_counted_when_taken() {
    let (limits, callee) = pair();
    let (mine, theirs) = (&limits.side.bells, &callee.side.bells);
    for (rings, kind) in [(3, None), (4, Some(ErrorKind::TimedOut))] {
        let taken = mine.watched(SOON, || {
            for _ in 0..3 {
                theirs.ring().unwrap();
                mine.sleep().unwrap();
            }
            (3..rings).for_each(|_| theirs.ring().unwrap());
            mine.take(3)
        });
        assert_eq!(taken.err().map(|failure| failure.kind()), kind);
    }
}

#[test]
fn waiting_for_a_batch_gives_way() {
    let (limits, mut callee) = pair();
    assert_eq!(callee.serve_one(Duration::ZERO).unwrap(), Served::Nothing);
    let failure = callee.serve(SHORT).unwrap_err();
    assert_eq!(failure.kind(), ErrorKind::TimedOut);
    drop(limits);
    assert_eq!(callee.serve_one(IDLE).unwrap(), Served::Dismissed);
}

#[test]
fn a_command_that_makes_no_sense_is_refused() {
    let spoil: [fn(&Limits); 4] = [
        |limits| word::<1>(limits, Kind::ALL.len() as u64),
        |limits| word::<2>(limits, MAX_BYTES as u64 + 1),
        |limits| word::<3>(limits, 0),
        |limits| word::<0>(limits, 7),
    ];
    for spoil in spoil {
        let (mut limits, mut callee) = pair();
        let batch =
            side::Batch { kind: Kind::Copy, bytes: 64, iterations: 10, pace: Pace::default() };
        limits.side.give(Command::Run(batch)).unwrap();
        spoil(&limits);
        let failure = callee.serve_one(SOON).unwrap_err();
        assert_eq!(failure.kind(), ErrorKind::InvalidData, "{failure}");
    }
}

fn word<const INDEX: usize>(limits: &Limits, value: u64) {
    let command = limits.side.mapping.word::<INDEX>(Line::Command);
    command.store(value, Release);
}

#[test]
fn what_cannot_be_measured_is_refused_and_harms_nothing() {
    let (limits, callee) = pair();
    served(
        callee,
        |limits| {
            let pace = Pace::default();
            for (bytes, iterations) in [(MAX_BYTES + 1, 10), (64, 0), (64, MAX_ITERATIONS + 1)] {
                let failure = limits.batch_at(pace, Kind::Copy, bytes, iterations);
                assert_eq!(failure.unwrap_err().kind(), ErrorKind::InvalidInput);
            }
            limits.batch_at(pace, Kind::Copy, 64, 10).unwrap();
        },
        limits,
    );
}

#[test]
fn an_argument_that_is_not_ours_is_refused() {
    let number = || {
        let file = std::fs::File::open("/dev/null").unwrap();
        file.into_raw_fd()
    };
    let others = format!("{},{},{}", number(), number(), number());
    for argument in ["", "x", "3,4", "0,1,2", "9,9,9", "3,4,5,6", "70000,70001,70002", &others] {
        let failure = Limits::inherit(argument).err().unwrap();
        assert_eq!(failure.kind(), ErrorKind::InvalidInput, "{argument}");
        assert!(failure.to_string().contains("--limits"), "{failure}");
    }
}

#[test]
fn descriptors_are_left_open_only_while_lent() {
    let (limits, _) = Limits::create().unwrap();
    let flags = || rustix::io::fcntl_getfd(&limits.memory).unwrap();
    let closes = rustix::io::FdFlags::CLOEXEC;
    assert_eq!(flags(), closes);
    limits
        .lend(|| {
            assert!(!flags().contains(closes));
            Ok(())
        })
        .unwrap();
    assert_eq!(flags(), closes);
}

#[test]
fn buffers_stay_inside_their_area() {
    let (limits, _) = Limits::create().unwrap();
    let mapping = &limits.side.mapping;
    for bytes in [0, 1, 64, 4096, MAX_BYTES] {
        for (area, most) in [(Area::There, 64), (Area::Back, 1)] {
            let buffers = mapping.buffers(area, bytes, most).unwrap();
            assert!(buffers.count() >= most.min(8) as u64, "{bytes} bytes");
            let sent = vec![7; bytes];
            let mut read = vec![0; bytes];
            buffers.write(u64::MAX, &sent);
            buffers.read(buffers.count() - 1, &mut read);
            assert_eq!(sent, read);
        }
    }
    assert!(mapping.buffers(Area::There, LENGTH, 1).is_none());
    assert!(mapping.buffers(Area::There, usize::MAX, 1).is_none());
}
