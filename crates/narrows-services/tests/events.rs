//! What happens, as a program hears it that has set a subscriber of `tracing` or a recorder of
//! `metrics`.

use std::collections::BTreeMap;
use std::io;
use std::pin::pin;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use narrows_host::Options;
use narrows_services::asynchronous::{self, Watch};
use narrows_services::{Error, Node};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};

const MOMENT: Option<Duration> = Some(Duration::from_millis(1));

/// Keeps what events say, as words.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

struct Words(String);

impl Visit for Words {
    fn record_str(&mut self, _: &Field, value: &str) {
        self.0 = format!("{} {value}", self.0);
    }
    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

struct Listener(Arc<Heard>);

impl tracing::Subscriber for Listener {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::INFO
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut words = Words(event.metadata().level().to_string());
        event.record(&mut words);
        self.0.0.lock().unwrap().push(words.0);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Keeps counters by their labels.
#[derive(Default)]
struct Counted(Mutex<BTreeMap<String, Arc<AtomicU64>>>);

impl Counted {
    fn of(&self, labels: &str) -> u64 {
        self.0.lock().unwrap().get(labels).map_or(0, |count| count.load(Relaxed))
    }
}

impl Recorder for Counted {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let labels: Vec<&str> = key.labels().map(|label| label.value()).collect();
        let mut all = self.0.lock().unwrap();
        Counter::from_arc(Arc::clone(all.entry(labels.join(" ")).or_default()))
    }
    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }
    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

/// A publisher and a subscriber that come and go, and one that does not fit.
fn published(directory: &std::path::Path) -> Result<(), Error> {
    let open = |name: &str| Node::with(Options::new(name).directory(directory));
    let source = open("source")?;
    let numbers = source.topic("numbers").patience(MOMENT).publisher::<u32>()?;
    std::thread::scope(|scope| {
        let taken = scope.spawn(|| {
            let node = open("taker")?;
            assert!(matches!(node.subscriber::<u64>("numbers"), Err(Error::Types { .. })));
            let numbers = node.subscriber::<u32>("numbers")?;
            (0..3).try_for_each(|_| numbers.receive(None).map(drop))
        });
        while numbers.subscribers()? == 0 && !taken.is_finished() {
            source.run(MOMENT)?;
        }
        (0..3).try_for_each(|number| numbers.send(&number))?;
        taken.join().unwrap()
    })?;
    while numbers.subscribers()? > 0 {
        source.run(MOMENT)?;
    }
    Ok(())
}

#[test]
fn what_happens_to_topics_is_told_and_counted() {
    let (heard, counted) = (Arc::<Heard>::default(), Counted::default());
    let directory = tempfile::tempdir().unwrap();
    // Of this thread, which is the publisher's.
    tracing::subscriber::with_default(Listener(Arc::clone(&heard)), || {
        metrics::with_local_recorder(&counted, || published(directory.path()).unwrap());
    });
    let heard = heard.0.lock().unwrap();
    assert_eq!(*heard, ["INFO let in numbers", "INFO left numbers"]);
    assert_eq!(counted.of("published numbers"), 3);
    assert_eq!((counted.of("let in numbers"), counted.of("left numbers")), (1, 1));
}

/// A runtime that looks again and again.
struct Looking;

impl Watch for Looking {
    fn poll_readable(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn finished<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
        std::thread::yield_now();
    }
}

/// What is told and counted, while a program calls a service twice, and once more when it has gone.
fn calls(program: impl FnOnce(Node, &dyn Fn())) {
    let (heard, counted) = (Arc::<Heard>::default(), Counted::default());
    let directory = tempfile::tempdir().unwrap();
    let options = |name: &str| Options::new(name).directory(directory.path());
    let called = || {
        let (stop, stopped) = std::sync::mpsc::channel();
        let server = options("server");
        let serving = std::thread::spawn(move || {
            let node = Node::with(server).unwrap();
            node.serve::<u32, u32>("next", |number| number + 1).unwrap();
            while stopped.try_recv().is_err() {
                node.run(MOMENT).unwrap();
            }
        });
        let node = Node::with(options("client")).unwrap();
        program(node, &|| {
            stop.send(()).unwrap();
            while !serving.is_finished() {
                std::thread::yield_now();
            }
        });
    };
    tracing::subscriber::with_default(Listener(Arc::clone(&heard)), || {
        metrics::with_local_recorder(&counted, called);
    });
    assert_eq!(*heard.0.lock().unwrap(), ["INFO found next", "WARN lost next"]);
    assert_eq!((counted.of("called next"), counted.of("lost next")), (2, 1));
}

#[test]
fn what_happens_to_a_client_is_told_and_counted() {
    calls(|node, stop| {
        let next = node.find("next").patience(Some(Duration::from_secs(20)));
        let next = next.client::<u32, u32>().unwrap();
        assert_eq!((next.call(&1), next.call(&2)), (Ok(2), Ok(3)));
        stop();
        assert!(next.call(&3).is_err());
    });
}

#[test]
fn what_happens_to_a_client_that_is_awaited_is_told_and_counted() {
    calls(|node, stop| {
        let node = asynchronous::Node::new(node, |_| Ok(Looking)).unwrap();
        let next = finished(node.client::<u32, u32>("next")).unwrap();
        assert_eq!((finished(next.call(&1)), finished(next.call(&2))), (Ok(2), Ok(3)));
        stop();
        assert!(finished(next.call(&3)).is_err());
    });
}
