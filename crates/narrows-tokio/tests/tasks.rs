//! Tasks of one node, beside a peer in a thread of its own: what is awaited comes, and what is
//! dropped half-way leaves nothing behind.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;

use futures_util::StreamExt as _;
use narrows_host::Options;
use narrows_services::{Error, Overflow};
use narrows_tokio::{Node, Publisher, Subscriber, watched};

const SOON: Duration = Duration::from_secs(20);

fn blocking(directory: &Path, name: &str) -> narrows_services::Node {
    narrows_services::Node::with(Options::new(name).directory(directory)).unwrap()
}

fn open(directory: &Path, name: &str) -> Node {
    watched(blocking(directory, name)).unwrap()
}

/// Runs a program of one thread, which ends in time.
fn run(program: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    let program = async { tokio::time::timeout(SOON, program).await.expect("it ends") };
    local.block_on(&runtime, program);
}

/// A node that does something again and again in a thread of its own, until it is dropped.
struct Peer {
    thread: Option<JoinHandle<()>>,
    over: &'static AtomicBool,
}

impl Peer {
    fn start<T>(
        directory: PathBuf,
        name: &'static str,
        begin: impl FnOnce(&narrows_services::Node) -> T + Send + 'static,
        mut turn: impl FnMut(&narrows_services::Node, &T) + Send + 'static,
    ) -> Peer {
        let over: &'static AtomicBool = Box::leak(Box::default());
        let thread = std::thread::spawn(move || {
            let node = blocking(&directory, name);
            let state = begin(&node);
            while !over.load(Ordering::Relaxed) {
                turn(&node, &state);
            }
        });
        Peer { thread: Some(thread), over }
    }

    fn serving(directory: &Path) -> Peer {
        let serve = |node: &narrows_services::Node| {
            node.serve::<u32, u64>("square", |number| u64::from(*number).pow(2)).unwrap();
            let slow = |wait: &u64| {
                std::thread::sleep(Duration::from_millis(*wait));
                *wait
            };
            node.serve::<u64, u64>("slow", slow).unwrap();
        };
        let turn = |node: &narrows_services::Node, (): &()| {
            node.run(Some(Duration::from_millis(5))).unwrap();
        };
        Peer::start(directory.into(), "dsp", serve, turn)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

/// Polls a future this many times, whatever it waits for, and drops it. Whether it was done.
async fn dropped<F: Future>(future: F, polls: usize) -> bool {
    let mut future = pin!(future);
    for _ in 0..polls {
        if future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    false
}

#[test]
fn calls_of_many_tasks_are_answered_each_with_its_own() {
    let directory = tempfile::tempdir().unwrap();
    run(async {
        let node = open(directory.path(), "gpp");
        // It waits for the service, which comes later.
        let begun = tokio::task::spawn_local({
            let node = node.clone();
            async move { node.client::<u32, u64>("square").await.unwrap() }
        });
        tokio::time::sleep(Duration::from_millis(30)).await;
        let _peer = Peer::serving(directory.path());
        let square = std::rc::Rc::new(begun.await.unwrap());
        let other = node.client::<u32, u64>("square").await.unwrap();
        let tasks: Vec<_> = (0..20)
            .map(|number| {
                let square = std::rc::Rc::clone(&square);
                tokio::task::spawn_local(async move {
                    for round in 0..20 {
                        let number = number * 100 + round;
                        assert_eq!(square.call(&number).await, Ok(u64::from(number).pow(2)));
                    }
                })
            })
            .collect();
        for number in 0..100 {
            assert_eq!(other.call(&number).await, Ok(u64::from(number).pow(2)));
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn a_node_serves_while_its_tasks_call_and_publish() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    run(async {
        let node = open(directory.path(), "gpp");
        node.serve::<u32, u32>("next", |number| number + 1).unwrap();
        let _peer = Peer::serving(directory.path());
        let served = tokio::task::spawn_local({
            let node = node.clone();
            async move { node.run().await.map(|_| ()) }
        });
        let numbers: Publisher<u64> = node.publisher("numbers").unwrap();
        let asks = std::thread::spawn(move || {
            let node = blocking(&path, "asker");
            let next = node.client::<u32, u32>("next").unwrap();
            let numbers = node.subscriber::<u64>("numbers").unwrap();
            for number in 0..300 {
                assert_eq!(next.call(&number), Ok(number + 1));
            }
            numbers.receive(Some(SOON)).unwrap().read().unwrap()
        });
        let square = node.client::<u32, u64>("square").await.unwrap();
        let mut published = 0;
        while !asks.is_finished() {
            assert_eq!(square.call(&7).await, Ok(49));
            published += 1;
            numbers.send(&published).await.unwrap();
        }
        assert!((1..=published).contains(&asks.join().unwrap()));
        served.abort();
    });
}

#[test]
fn a_call_that_is_dropped_half_way_leaves_the_next_its_own_response() {
    let directory = tempfile::tempdir().unwrap();
    let _peer = Peer::serving(directory.path());
    run(async {
        let node = open(directory.path(), "gpp");
        for polls in 0..5 {
            let find = node.blocking().find("slow");
            dropped(node.client_of::<u64, u64>(find), polls).await;
        }
        let slow = node.client::<u64, u64>("slow").await.unwrap();
        for polls in 0..5 {
            dropped(slow.call(&(20 + polls as u64)), polls).await;
            assert_eq!(slow.call(&polls.try_into().unwrap()).await, Ok(polls as u64), "{polls}");
        }
        // One that waits for its turn is dropped, too.
        let mut first = pin!(slow.call(&9));
        assert!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert!(!dropped(slow.call(&8), 2).await);
        assert_eq!(first.await, Ok(9));
        let open = |node: &Node| node.blocking().below().unwrap().links().count();
        assert_eq!(open(&node), 1, "all went over one link");
    });
}

#[test]
fn clients_that_are_dropped_half_way_leave_their_flows() {
    let directory = tempfile::tempdir().unwrap();
    let _peer = Peer::serving(directory.path());
    run(async {
        let node = open(directory.path(), "gpp");
        let _first = node.client::<u32, u64>("square").await.unwrap();
        // More often than a node has flows.
        for round in 0..200 {
            dropped(node.client::<u32, u64>("square"), 1 + round % 3).await;
        }
        let square = node.client::<u32, u64>("square").await.unwrap();
        assert_eq!(square.call(&3).await, Ok(9));
    });
}

/// Publishes numbers as fast as they are taken.
fn counting(directory: &Path, count: u64) -> Peer {
    let (mut next, topic) = (0, "numbers");
    let begin = move |node: &narrows_services::Node| {
        let topic = node.topic(topic).slots(64).patience(Some(Duration::from_millis(5)));
        topic.publisher::<u64>().unwrap()
    };
    Peer::start(directory.into(), "source", begin, move |_, publisher| {
        publisher.attend().unwrap();
        if publisher.subscribers() == Ok(0) || next == count {
            std::thread::sleep(Duration::from_micros(100));
        } else if publisher.send(&next).is_ok() {
            next += 1;
            if next % 50 == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    })
}

#[test]
fn a_stream_has_all_that_is_published_and_drops_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let peer = counting(directory.path(), 1000);
    run(async {
        let node = open(directory.path(), "sink");
        for polls in 0..4 {
            let wish = node.blocking().subscribe("other").overflow(Overflow::Wait);
            assert!(!dropped(node.subscriber_of::<u64>(wish), polls).await);
        }
        let wish = node.blocking().subscribe("numbers").depth(4).overflow(Overflow::Wait);
        let mut numbers: Subscriber<u64> = node.subscriber_of(wish).await.unwrap();
        let mut next = 0;
        while next < 500 {
            // What is not done is dropped, and the next has it.
            let mut receive = pin!(numbers.receive());
            if let Poll::Ready(sample) =
                receive.as_mut().poll(&mut Context::from_waker(Waker::noop()))
            {
                assert_eq!(sample.unwrap().read(), Ok(next));
                next += 1;
            } else if next % 3 == 0 {
                assert_eq!(receive.await.unwrap().read(), Ok(next));
                next += 1;
            }
            tokio::task::yield_now().await;
        }
        while next < 1000 {
            assert_eq!(numbers.next().await.unwrap().unwrap().read(), Ok(next));
            next += 1;
        }
        drop(peer);
        let gone = numbers.next().await.unwrap();
        assert_eq!(gone.err(), Some(Error::Gone("numbers".into())));
        // The stream goes on with the next publisher.
        let _next = counting(directory.path(), 3);
        for number in 0..3 {
            assert_eq!(numbers.next().await.unwrap().unwrap().read(), Ok(number));
        }
    });
}

#[test]
fn a_publisher_waits_for_room_and_one_that_is_dropped_published_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    run(async {
        let node = open(directory.path(), "source");
        let mut numbers: Publisher<u64> = node.publisher("numbers").unwrap();
        let reader = std::thread::spawn(move || {
            let node = blocking(&path, "reader");
            let wish = node.subscribe("numbers").depth(2).holds(1).overflow(Overflow::Wait);
            let numbers = wish.subscriber::<u64>().unwrap();
            let mut all = Vec::new();
            while let Ok(sample) = numbers.receive(Some(SOON)) {
                all.push(sample.read().unwrap());
                if all.len() % 10 == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            all
        });
        numbers.subscribed(1).await.unwrap();
        let mut sent = Vec::new();
        for number in 0..300 {
            match number % 3 {
                0 => numbers.send(&number).await.unwrap(),
                1 => futures_util::SinkExt::send(&mut numbers, number).await.unwrap(),
                _ => {
                    // Dropped where it waits, or done.
                    if !dropped(numbers.send(&number), usize::from(number % 2 == 0)).await {
                        let mut loan = numbers.loan().await.unwrap();
                        *loan = number + 1000;
                        loan.send().unwrap();
                        sent.push(number + 1000);
                        continue;
                    }
                }
            }
            sent.push(number);
        }
        drop((numbers, node));
        assert_eq!(reader.join().unwrap(), sent);
    });
}

#[test]
fn tasks_that_are_dropped_while_they_wait_do_not_pile_up_and_others_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let _peer = counting(directory.path(), 200);
    run(async {
        let node = open(directory.path(), "sink");
        let wish = node.blocking().subscribe("numbers").overflow(Overflow::Wait);
        let numbers = std::rc::Rc::new(node.subscriber_of::<u64>(wish).await.unwrap());
        let other = std::rc::Rc::clone(&numbers);
        let (mut all, (tell, told)) = (Vec::new(), std::sync::mpsc::channel());
        let task = tokio::task::spawn_local(async move {
            loop {
                let sample = other.receive().await.unwrap();
                let _ = tell.send(sample.read().unwrap());
            }
        });
        while all.len() < 200 {
            // Two wait for one subscriber; this one is dropped again and again.
            let short = Duration::from_micros(300);
            if let Ok(sample) = tokio::time::timeout(short, numbers.receive()).await {
                all.push(sample.unwrap().read().unwrap());
            }
            while let Ok(number) = told.try_recv() {
                all.push(number);
            }
        }
        task.abort();
        all.sort_unstable();
        assert_eq!(all, (0..200).collect::<Vec<_>>());
    });
}

#[test]
fn what_blocks_the_thread_in_between_does_not_put_a_task_to_sleep_for_good() {
    let directory = tempfile::tempdir().unwrap();
    let _peers = (Peer::serving(directory.path()), counting(directory.path(), 300));
    run(async {
        let node = open(directory.path(), "gpp");
        let wish = node.blocking().subscribe("numbers").overflow(Overflow::Wait);
        let numbers = node.subscriber_of::<u64>(wish).await.unwrap();
        let task = tokio::task::spawn_local(async move {
            for number in 0..300 {
                assert_eq!(numbers.receive().await.unwrap().read(), Ok(number));
            }
        });
        let square = node.blocking().client::<u32, u64>("square").unwrap();
        while !task.is_finished() {
            assert_eq!(square.call(&5), Ok(25));
            tokio::task::yield_now().await;
        }
        task.await.unwrap();
    });
}

#[test]
fn a_hunt_by_pattern_awaits_the_first_that_matches() {
    let directory = tempfile::tempdir().unwrap();
    run(async {
        let node = open(directory.path(), "hunter");
        let briefly = Some(Duration::from_millis(20));
        let nobody = node.hunt("b*", briefly).await.map(|_| ());
        assert_eq!(nobody, Err(Error::NotFound("b*".into())));
        let server = blocking(directory.path(), "server");
        let offer = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            server.serve::<(), ()>("bc", |()| ()).unwrap();
        };
        let (found, ()) = tokio::join!(node.hunt("b*", Some(SOON)), offer);
        assert_eq!(found.unwrap()[0].service.as_str(), "bc");
    });
}
