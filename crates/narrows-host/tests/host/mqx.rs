//! Queues in MQX's terms between threads and processes, over one link and over several.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::process::{Peer, Random, Role};
use crate::common::{Over, PATIENCE};
use narrows_host::Carrier;
use narrows_host::mqx::{
    Counts, HEAD, Limits, Message, MessageError, NotLinked, PoolError, Processor, QueueError,
    QueueId, SendError, Task,
};

const SOON: Option<Duration> = Some(PATIENCE);
const QUEUE: u8 = 8;
const LINE: &[(u8, u8)] = &[(1, 2), (2, 3)];
const RING: &[(u8, u8)] = &[(1, 2), (2, 3), (3, 4), (4, 1)];
const MESH: &[(u8, u8)] = &[(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)];

fn neighbours(number: u8, adjacent: &[(u8, u8)]) -> Vec<u8> {
    let other = |&(a, b): &(u8, u8)| match number {
        n if n == a => Some(b),
        n if n == b => Some(a),
        _ => None,
    };
    adjacent.iter().filter_map(other).collect()
}

fn open(number: u8, adjacent: &[(u8, u8)], directory: &Path, carrier: Carrier) -> Processor {
    let limits = Limits { processors: 9, hops: 12, delivered: 256, ..Limits::default() };
    let around = neighbours(number, adjacent);
    let host = |options: narrows_host::Options| options.directory(directory).carrier(carrier);
    let processor = Processor::open(number, &around, adjacent, limits, host).expect("a node");
    processor.create_system_pool(4096, 4, 4, 64).expect("memory");
    processor
}

/// Processors from 1 on, which are linked.
fn all(adjacent: &[(u8, u8)], directory: &Path, carriers: &[Carrier]) -> Vec<Processor> {
    let count = adjacent.iter().map(|(a, b)| *a.max(b)).max().expect("a pair");
    let carrier = |n: u8| carriers[usize::from(n) % carriers.len()];
    let all: Vec<_> = (1..=count).map(|n| open(n, adjacent, directory, carrier(n))).collect();
    for (n, processor) in (1..).zip(&all) {
        for neighbour in neighbours(n, adjacent) {
            processor.wait_for(neighbour, SOON).expect("it is there");
        }
    }
    all
}

/// A message with a number, and bytes that follow from it.
fn message(task: &Task, to: QueueId, number: u32, bytes: usize) -> Option<Message> {
    let mut message = task.alloc_system(bytes.max(4) as u32).ok()?;
    message.fill(number as u8);
    message[..4].copy_from_slice(&number.to_le_bytes());
    message.header.target = to;
    Some(message)
}

fn number(message: &Message) -> u32 {
    let number = u32::from_le_bytes(message[..4].try_into().expect("four bytes"));
    assert!(message[4..].iter().all(|byte| *byte == number as u8), "other bytes than were sent");
    number
}

/// Sends, again if there is no room or no way, until the deadline.
fn send(task: &Task, to: QueueId, number: u32, bytes: usize) {
    let end = Instant::now() + PATIENCE;
    loop {
        let Some(message) = message(task, to, number, bytes) else {
            assert!(Instant::now() < end, "no message becomes free");
            thread::yield_now();
            continue;
        };
        match task.send(message) {
            Ok(()) => return,
            Err((why, _)) => {
                assert!(matches!(why, SendError::Full | SendError::NoRoute), "{why}");
                assert!(Instant::now() < end, "{why}");
                thread::yield_now();
            }
        }
    }
}

#[test]
fn a_message_goes_there_and_back_over_links_of_any_mix_of_carriers() {
    use Carrier::{Memory, Stream};
    for carriers in [&[Memory][..], &[Stream], &[Memory, Stream]] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let all = all(LINE, directory.path(), carriers);
        let tasks: Vec<_> = all.iter().map(Processor::task).collect();
        let queues: Vec<_> = tasks.iter().map(|task| task.open(QUEUE, 0).expect("free")).collect();
        for bytes in [24, 4092] {
            for there in 0..3 {
                let mut out = message(&tasks[0], queues[there], 7, bytes).expect("one is free");
                out.header.source = queues[0];
                let at = out.as_ptr();
                tasks[0].send(out).map_err(|(why, _)| why).expect("room");
                let mut got =
                    tasks[there].receive(queues[there], SOON).expect("open").expect("one");
                assert_eq!((number(&got), got.len()), (7, bytes));
                assert!(there > 0 || got.as_ptr() == at, "passed, not copied");
                // It is sent back as it is.
                got.header.target = got.header.source;
                tasks[there].send(got).map_err(|(why, _)| why).expect("room");
                let back = tasks[0].receive(QueueId::ANY, SOON).expect("open").expect("one");
                assert_eq!((number(&back), back.len()), (7, bytes));
            }
        }
        assert_eq!(all.iter().map(|one| one.counts().lost()).sum::<u64>(), 0);
        assert_eq!(all[1].counts().forwarded, 4);
    }
}

#[test]
fn a_receive_waits_as_long_as_it_says_and_is_woken_by_what_comes() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let one = open(1, LINE, directory.path(), Carrier::Memory);
    let task = one.task();
    let queue = task.open(0, 1).expect("free");
    let before = Instant::now();
    assert!(task.receive(queue, Some(Duration::from_millis(30))).expect("open").is_none());
    assert!(task.receive_ticks(queue, 2).expect("open").is_none());
    assert!(before.elapsed() >= Duration::from_millis(40), "it did not wait");
    assert_eq!(one.wait_for(2, Some(Duration::from_millis(1))), Err(NotLinked));
    assert_eq!(one.wait_for(7, None), Err(NotLinked));

    let other = one.task();
    assert_eq!(other.receive(queue, None).err(), Some(QueueError::NotOwner));
    thread::scope(|scope| {
        let waiter =
            scope.spawn(|| task.receive_ticks(queue, 0).expect("open").map(|m| number(&m)));
        send(&other, queue, 5, 10);
        assert_eq!(waiter.join().expect("it ends"), Some(5));
    });

    // A system queue tells of each message, and its function may use the processor.
    let (told, again) = (Arc::new(AtomicUsize::new(0)), one.task());
    let count = Arc::clone(&told);
    let notification = Arc::new(move || {
        let _ = again.count(QueueId::new(1, 9));
        count.fetch_add(1, Ordering::Relaxed);
    });
    let system = other.open_system(9, 0, Some(notification)).expect("free");
    (0..3).for_each(|n| send(&task, system, n, 10));
    assert_eq!(told.load(Ordering::Relaxed), 3);
    assert_eq!(task.peek(system).expect("open").map(|(_, bytes)| bytes.len()), Some(10));
    assert_eq!(task.poll(system).expect("open").map(|m| number(&m)), Some(0));
    assert_eq!((task.count(system), task.test()), (Ok(2), Ok(())));
    let kept = message(&task, queue, 1, 10).expect("one is free");
    send(&task, queue, 2, 10);
    let (why, kept) = task.send(kept).expect_err("the queue takes one");
    assert_eq!((why, number(&kept)), (SendError::Full, 1));
    let pool = one.create_pool(16, 1, 0, 1).expect("memory");
    let targets = [system, queue];
    let (done, kept) = task.send_broadcast(kept, &targets, pool).expect("a message");
    assert_eq!((done.sent, done.failed), (1, Some((queue, SendError::Full))));
    assert_eq!(kept.map(|message| number(&message)), Some(1));
    assert_eq!(one.available(pool), Some(0));
    task.close(system).expect("anybody may");
    assert_eq!(one.available(pool), Some(1));
}

#[test]
fn a_message_keeps_its_place_and_what_is_in_front_of_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let one = open(1, &[], directory.path(), Carrier::Memory);
    let (task, other) = (one.task(), one.task());
    let pool = one.create_pool(10, 1, 0, 1).expect("memory");
    let queue = task.open(8, 0).expect("free");
    let mut sent = task.alloc(pool).expect("one");
    sent.header.target = queue;
    sent[0] = 7;
    let whole = sent.whole();
    assert_eq!(whole.len(), HEAD + 10);
    whole[0] = 9;
    let (place, name) = (whole.as_ptr() as usize, sent.name());
    assert_eq!(task.held(name), Ok(()));
    task.send(sent).expect("room");

    assert_eq!(task.held(name), Err(MessageError::Queued));
    assert_eq!(one.destroy_pool(pool), Err(PoolError::InUse));
    assert_eq!((task.owner(queue), other.number()), (Ok(Some(task.number())), task.number() + 1));
    assert_eq!(other.look(queue, |_, _| ()), Err(QueueError::NotOwner));
    let seen =
        task.look(queue, |header, whole| (header.size, whole.as_ptr() as usize, whole[HEAD]));
    assert_eq!(seen, Ok(Some((10, place, 7))));
    let mut received = task.poll(queue).expect("open").expect("one");
    assert_eq!((received.whole().as_ptr() as usize, received.whole()[0]), (place, 9));
    drop(received);
    assert_eq!(task.held(name), Err(MessageError::Invalid));
    assert_eq!(one.destroy_pool(pool), Ok(()));
    assert_eq!(task.alloc(pool).err(), Some(PoolError::Unknown));
    assert_eq!(one.available_system(), 4);

    // A task that ends leaves no queue behind, but those of others.
    let system = task.open_system(9, 0, None).expect("free");
    send(&other, queue, 1, 10);
    assert_eq!((task.owner(system), one.available_system()), (Ok(None), 3));
    other.end();
    assert_eq!(task.count(queue), Ok(1));
    task.end();
    assert_eq!(task.count(queue), Err(QueueError::NotOpen));
    assert_eq!((task.count(system), one.available_system()), (Ok(0), 4));
}

/// Each processor sends `each` messages to each other, at most `ahead` of them unanswered; a thread
/// each. Answers are the messages themselves. They come in order unless links end.
fn load(all: &[Processor], each: u32, ahead: u32, in_order: bool) {
    let count = all.len() as u8;
    let start = std::sync::Barrier::new(all.len());
    thread::scope(|scope| {
        for (here, processor) in (1..=count).zip(all) {
            let start = &start;
            scope.spawn(move || {
                let task = processor.task();
                let requests = task.open(QUEUE, 0).expect("free");
                let answers = task.open(QUEUE + 1, 0).expect("free");
                start.wait();
                let others: Vec<u8> = (1..=count).filter(|n| *n != here).collect();
                let (mut sent, mut back) = (vec![0; others.len()], vec![0; others.len()]);
                let mut came = vec![vec![false; each as usize]; others.len()];
                let mut served = 0;
                let all_served = each * others.len() as u32;
                let mut end = Instant::now() + PATIENCE;
                while served < all_served || back.iter().any(|n| *n < each) {
                    assert!(
                        Instant::now() < end,
                        "{here}: sent {sent:?}, back {back:?}, {served}; {:?}",
                        processor.counts()
                    );
                    for (n, &to) in others.iter().enumerate() {
                        if sent[n] < each && sent[n] - back[n] < ahead {
                            let to = QueueId::new(to, QUEUE);
                            let Some(mut message) = message(&task, to, sent[n], 100) else {
                                continue;
                            };
                            message.header.source = answers;
                            sent[n] += u32::from(task.send(message).is_ok());
                        }
                    }
                    let got = task.receive(QueueId::ANY, Some(Duration::from_millis(1)));
                    let Some(mut got) = got.expect("open") else { continue };
                    end = Instant::now() + PATIENCE;
                    if got.header.target == requests {
                        served += 1;
                        let from = got.header.source;
                        (got.header.source, got.header.target) = (QueueId::new(here, 0), from);
                        let mut again = Some(got);
                        while let Some(message) = again.take() {
                            again = task.send(message).err().map(|(_, message)| message);
                            assert!(Instant::now() < end, "no room for an answer");
                        }
                    } else {
                        let from = got.header.source.processor();
                        let n =
                            others.iter().position(|other| *other == from).expect("one of them");
                        let number = number(&got);
                        assert!(!in_order || number == back[n], "{number} instead of {}", back[n]);
                        let before = std::mem::replace(&mut came[n][number as usize], true);
                        assert!(!before, "{number} came twice");
                        back[n] += 1;
                    }
                }
            });
        }
    });
}

#[test]
fn lines_rings_and_meshes_under_full_load_lose_nothing_and_end() {
    for (adjacent, carrier) in [
        (LINE, Carrier::Memory),
        (RING, Carrier::Stream),
        (RING, Carrier::Memory),
        (MESH, Carrier::Memory),
    ] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let all = all(adjacent, directory.path(), &[carrier]);
        load(&all, 300, 8, true);
        let counts: Vec<_> = all.iter().map(Processor::counts).collect();
        assert_eq!(counts.iter().map(|counts| counts.lost()).sum::<u64>(), 0, "{counts:?}");
    }
}

/// A ring under load, one of whose links at a time ends and comes back.
fn cut(carrier: Carrier, seed: u64) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let all = all(RING, directory.path(), &[carrier]);
    let over = AtomicBool::new(false);
    let cuts = thread::scope(|scope| {
        let cutter = scope.spawn(|| {
            let (mut random, mut cuts) = (Random::new(seed), 0);
            while !over.load(Ordering::Relaxed) {
                let (here, there) = RING[random.below(4) as usize];
                let [a, b] = [here, there].map(|n| &all[usize::from(n) - 1]);
                a.relink(there);
                cuts += 1;
                // One at a time, so that there is always another way.
                let again = [a.wait_for(there, SOON), b.wait_for(here, SOON)];
                assert_eq!(again, [Ok(()); 2], "it does not come back");
                thread::sleep(Duration::from_millis(random.below(3)));
            }
            cuts
        });
        let _over = Over(&over);
        load(&all, 1500, 8, false);
        over.store(true, Ordering::Relaxed);
        cutter.join().expect("links come back")
    });
    let counts: Vec<_> = all.iter().map(Processor::counts).collect();
    let sum = |of: fn(&Counts) -> u64| counts.iter().map(of).sum::<u64>();
    // All had come, so what was dropped were copies: so late that nobody knew them any more, or
    // turned round until the hop limit.
    let copies = sum(|counts| counts.late + counts.hop_limit);
    assert_eq!(sum(Counts::lost), copies, "{counts:?}");
    let rerouted = sum(|counts| counts.rerouted);
    assert!(cuts > 5 && rerouted > 0, "{cuts} cuts, {rerouted} went another way");
    println!("{carrier:?}, seed {seed}: {cuts} cuts, {rerouted} went another way, {copies} copies");
}

#[test]
fn while_links_end_and_come_back_nothing_is_lost_or_doubled() {
    let limit = std::env::var("NARROWS_SECONDS").map_or(0, |text| text.parse().expect("seconds"));
    let begin = Instant::now();
    for seed in 1.. {
        Carrier::ALL.into_iter().for_each(|carrier| cut(carrier, seed));
        if begin.elapsed() >= Duration::from_secs(limit) {
            break;
        }
    }
}

#[test]
#[ignore = "what a peer runs; does nothing by itself"]
fn a_peer() {
    let Some(role) = Role::get() else { return };
    let here: u8 = role.words.parse().expect("a number");
    let domain = role.directory.parent().expect("a directory of the peer's own is in it");
    let processor = open(here, RING, domain, Carrier::Memory);
    let task = processor.task();
    let queue = task.open(QUEUE, 0).expect("free");
    role.report(1);
    while let Ok(Some(mut got)) = task.receive(queue, None) {
        got.header.target = got.header.source;
        let _ = task.send(got);
    }
}

/// A processor in a process of its own.
fn peer(domain: &Path, number: u8, life: u32) -> Peer {
    let own = domain.join(format!("{number}-{life}"));
    std::fs::create_dir(&own).expect("a directory");
    Peer::start(module_path!(), "peer", &own, &number.to_string())
}

/// Sends one message and waits for its answer.
fn answered(task: &Task, to: u8, number_: u32, within: Duration) -> bool {
    let answers = QueueId::new(1, QUEUE);
    let mut message = message(task, QueueId::new(to, QUEUE), number_, 24).expect("one is free");
    message.header.source = answers;
    if task.send(message).is_err() {
        thread::sleep(Duration::from_millis(1));
        return false;
    }
    let end = Instant::now() + within;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        let Some(got) = task.receive(answers, Some(left)).expect("open") else { return false };
        if number(&got) == number_ {
            return true;
        }
    }
    false
}

#[test]
fn a_killed_middle_node_is_gone_round_and_is_used_again_when_it_is_back() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let first = open(1, RING, path, Carrier::Memory);
    let task = first.task();
    task.open(QUEUE, 0).expect("free");
    let mut peers: Vec<Peer> = [2, 3, 4].map(|number| peer(path, number, 0)).into();
    let mut next = 0;
    let mut until = |to: u8, task: &Task| {
        let end = Instant::now() + PATIENCE;
        loop {
            next += 1;
            if answered(task, to, next, Duration::from_millis(200)) {
                return;
            }
            assert!(Instant::now() < end, "{to} does not answer");
        }
    };
    [2, 3, 4].into_iter().for_each(|to| until(to, &task));
    for life in 1..4 {
        peers[0].kill();
        peers[0].wait();
        // By 4, whichever way it went before.
        until(3, &task);
        until(4, &task);
        peers[0] = peer(path, 2, life);
        until(2, &task);
        until(3, &task);
    }
    // With both gone, the sender is told, or waits in vain; nothing is stuck afterwards.
    peers[0].kill();
    peers[2].kill();
    peers[0].wait();
    peers[2].wait();
    next += 1;
    assert!(!answered(&task, 3, next, Duration::from_millis(50)));
    peers[0] = peer(path, 2, 4);
    let end = Instant::now() + PATIENCE;
    loop {
        next += 1;
        if answered(&task, 3, next, Duration::from_millis(200)) {
            break;
        }
        assert!(Instant::now() < end, "3 does not answer");
    }
    let free = (0..64).map_while(|_| message(&task, QueueId::new(3, QUEUE), 0, 24)).count();
    assert!(free > 32, "{free} messages are left");
}
