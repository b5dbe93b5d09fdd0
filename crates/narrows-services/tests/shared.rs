//! A node that several threads use.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use narrows_services::{Error, Node, Options, Overflow, Shared, SharedClient, SharedPublisher};

const SOON: Option<Duration> = Some(Duration::from_secs(20));
const THREADS: u64 = 4;
const ROUNDS: u64 = 200;

fn open(directory: &Path, name: &str) -> Node {
    Node::with(Options::new(name).directory(directory)).unwrap()
}

#[test]
fn what_is_shared_may_go_to_any_thread() {
    fn any<T: Send + Sync + Clone>() {}
    any::<Shared>();
    any::<SharedClient<[u8], u64>>();
    any::<SharedPublisher<[u8]>>();
}

/// What each thread does.
fn works(
    thread: u64,
    shared: &Shared,
    square: &SharedClient<u64, u64>,
    numbers: &SharedPublisher<u64>,
) {
    // One of its own, too, which is dropped in this thread.
    let own = shared.find("square").patience(SOON).client::<u64, u64>().unwrap();
    for round in 0..ROUNDS {
        let number = thread * 1000 + round;
        assert_eq!(square.call(&number), Ok(number * number));
        assert_eq!(own.call(&round), Ok(round * round));
        numbers.send(&number).unwrap();
    }
}

#[test]
fn threads_call_and_publish_through_one_node() {
    let directory = tempfile::tempdir().unwrap();
    let over = AtomicBool::new(false);
    let shared = open(directory.path(), "gpp").share().unwrap();
    let numbers = shared.topic("numbers").patience(SOON).publisher::<u64>().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let node = open(directory.path(), "dsp");
            node.serve::<u64, u64>("square", |number| number * number).unwrap();
            while !over.load(Ordering::Relaxed) {
                node.run(Some(Duration::from_millis(5))).unwrap();
            }
        });
        let reader = scope.spawn(|| {
            let node = open(directory.path(), "reader");
            let wish = node.subscribe("numbers").depth(4).overflow(Overflow::Wait);
            let numbers = wish.subscriber::<u64>().unwrap();
            let all = (0..THREADS * ROUNDS).map(|_| numbers.receive(SOON).unwrap().read().unwrap());
            all.collect::<Vec<_>>()
        });
        while numbers.subscribers() == Ok(0) {
            shared.turn().unwrap();
        }
        let square = shared.client::<u64, u64>("square").unwrap();
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (shared, square, numbers) = (shared.clone(), square.clone(), numbers.clone());
                scope.spawn(move || works(thread, &shared, &square, &numbers))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let all = reader.join().unwrap();
        for thread in 0..THREADS {
            let own: Vec<_> = all.iter().filter(|number| **number / 1000 == thread).collect();
            assert!(own.iter().copied().copied().eq(thread * 1000..thread * 1000 + ROUNDS));
        }
        over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_node_of_which_something_is_in_use_is_not_shared() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |node: Node| assert_eq!(node.share().err(), Some(Error::InUse));
    let node = open(directory.path(), "a");
    let clone = node.clone();
    refused(node);
    clone.serve::<u8, u8>("same", |number| *number).unwrap();
    refused(clone);
    let node = open(directory.path(), "a");
    let publisher = node.publisher::<u8>("numbers").unwrap();
    refused(node);
    drop(publisher);
    let node = open(directory.path(), "a");
    drop(node.publisher::<u8>("numbers").unwrap());
    let shared = node.share().unwrap();
    let [one, other] = [(); 2].map(|()| shared.publisher::<u8>("numbers"));
    assert_eq!(other.err(), Some(Error::Offered("numbers".into())));
    drop(one.unwrap());
    assert_eq!(shared.publisher::<u8>("numbers").map(drop), Ok(()));
}

/// Prints what a message costs with the lock and without, in turns.
#[test]
#[ignore = "a measurement"]
fn what_the_lock_costs() {
    let directory = tempfile::tempdir().unwrap();
    let bare = open(directory.path(), "bare");
    let bare = bare.publisher::<u64>("bare").unwrap();
    let shared = open(directory.path(), "shared").share().unwrap();
    let shared = shared.publisher::<u64>("shared").unwrap();
    let per_message = |send: &dyn Fn(&u64)| {
        let begin = Instant::now();
        (0..10_000).for_each(|number| send(&number));
        begin.elapsed().as_nanos() as f64 / 10_000.0
    };
    let mut medians = [Vec::new(), Vec::new()];
    for _ in 0..201 {
        medians[0].push(per_message(&|number| bare.send(number).unwrap()));
        medians[1].push(per_message(&|number| shared.send(number).unwrap()));
    }
    let [bare, shared] = medians.map(|mut all| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    });
    println!("a message without subscribers: {bare:.1} ns; behind the lock {shared:.1} ns");
}
