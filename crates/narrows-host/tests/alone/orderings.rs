//! What a model checker cannot see: that the instructions of this processor do what they stand for.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::open;
use crate::common::process::alone;
use narrows::platform::Platform as _;
use narrows_host::Host;

/// Two cores store at the same time and then look at what the other stores.
const ROUNDS: u32 = 200_000;

/// A word on a line of its own.
#[derive(Default)]
#[repr(align(128))]
struct Word(AtomicU32);

impl Word {
    /// Comes back when it is at least `round`.
    fn wait_for(&self, round: u32) {
        let mut looks = 0_u32;
        while self.0.load(Ordering::Acquire) < round {
            looks += 1;
            match looks % 4096 {
                0 => std::thread::yield_now(),
                _ => std::hint::spin_loop(),
            }
        }
    }
}

/// How often neither of two cores saw what the other had stored before `fence`: a message goes
/// unrung for as its sender sees no armed word and its receiver no message.
fn missed(fences: [Box<dyn Fn() + Send>; 2]) -> usize {
    let (words, turns) = <([Word; 2], [Word; 2])>::default();
    let side = |own: usize, fence: Box<dyn Fn() + Send>| {
        let (words, turns) = (&words, &turns);
        move || {
            let looks = (1..=ROUNDS).map(|round| {
                turns[own].0.store(round, Ordering::Release);
                turns[1 - own].wait_for(round);
                words[own].0.store(round, Ordering::Relaxed);
                fence();
                words[1 - own].0.load(Ordering::Relaxed) == round
            });
            looks.collect::<Vec<bool>>()
        }
    };
    let [first, second] = fences;
    let (one, other) = (side(0, first), side(1, second));
    let (one, other) = std::thread::scope(|scope| {
        let (one, other) = (scope.spawn(one), scope.spawn(other));
        (one.join().unwrap(), other.join().unwrap())
    });
    one.iter().zip(&other).filter(|(one, other)| !**one && !**other).count()
}

#[test]
fn behind_the_hosts_fence_one_of_two_cores_sees_what_the_other_stored() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let fence = |name| -> Box<dyn Fn() + Send> {
        let host: Host = open(directory.path(), name);
        Box::new(move || host.fence())
    };
    assert_eq!(missed([fence("a"), fence("b")]), 0);
    // Whether this machine shows it without: one with a single core does not.
    let nothing = || -> Box<dyn Fn() + Send> { Box::new(|| ()) };
    println!("{} of {ROUNDS} without a fence", missed([nothing(), nothing()]));
}
