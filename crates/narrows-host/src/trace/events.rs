//! What nodes note, as events of the crate `tracing`, if that feature is on.

use super::event::Event;

/// Whether a subscriber wants them, when a node opens.
#[cfg(feature = "tracing")]
pub(super) fn wanted() -> bool {
    tracing::enabled!(target: "narrows", tracing::Level::TRACE)
}

/// Tells the subscriber.
#[cfg(feature = "tracing")]
pub(super) fn tell(event: &Event) {
    use narrows::span::{Edge, Note, Passage};
    use tracing::trace;
    let passed = |what: &str, passage: &Passage| {
        let Passage { link, number, kind, bytes, source, target, priority, tag } = *passage;
        let kind = kind.name();
        trace!(target: "narrows", what, link, number, kind, bytes, source, to = target, priority, tag);
    };
    match *event {
        Event::Stamp(span, edge, id) => {
            let what = if edge == Edge::Enter { "enter" } else { "leave" };
            trace!(target: "narrows", what, span = span.name(), id);
        }
        Event::Note(Note::Begins) => trace!(target: "narrows", what = "begin"),
        Event::Note(Note::Sent(passage)) => passed("send", &passage),
        Event::Note(Note::Taken(passage, _)) => passed("take", &passage),
        Event::Note(Note::Used { link, entry }) => {
            trace!(target: "narrows", what = "receive", link, entry);
        }
        Event::Note(Note::Waits(reason)) => {
            trace!(target: "narrows", what = "wanting", reason = ?reason);
        }
        Event::Waits(how) => trace!(target: "narrows", what = "wait", how = ?how),
        Event::Woken(by) => trace!(target: "narrows", what = "wake", by = ?by),
        Event::Linked(_) => trace!(target: "narrows", what = "linked"),
        Event::Lost(link) => trace!(target: "narrows", what = "lost", link),
        Event::Rang => trace!(target: "narrows", what = "ring"),
    }
}

#[cfg(not(feature = "tracing"))]
pub(super) fn wanted() -> bool {
    false
}

#[cfg(not(feature = "tracing"))]
pub(super) fn tell(_: &Event) {}

#[cfg(all(test, feature = "tracing"))]
mod tests {
    use crate::Options;
    use narrows::endpoint::Address;
    use std::fmt::Write as _;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    /// Keeps the events as lines.
    struct Lines(Arc<Mutex<Vec<String>>>);

    struct Line(String);

    impl Visit for Line {
        fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
            write!(self.0, "{field}={value:?} ").unwrap();
        }
    }

    impl Subscriber for Lines {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == "narrows"
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, event: &Event<'_>) {
            let mut line = Line(String::new());
            event.record(&mut line);
            self.0.lock().unwrap().push(line.0);
        }
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn a_subscriber_hears_of_each_message() {
        let lines = Arc::default();
        let subscriber = Lines(Arc::clone(&lines));
        tracing::subscriber::with_default(subscriber, || {
            let directory = tempfile::tempdir().unwrap();
            let mut node = Options::new("n").directory(directory.path()).node().unwrap();
            let soon = Some(Duration::from_secs(5));
            let mut other = Options::new("o").directory(directory.path()).node().unwrap();
            node.open(1).unwrap();
            other.open(2).unwrap();
            let link = node.hunt(&"o".parse().unwrap(), soon).unwrap();
            node.send(1, Address { link, port: 2 }, b"hello", soon).unwrap();
            other.receive_into(2, &mut [0; 8], soon).unwrap();
        });
        let lines = lines.lock().unwrap();
        let found = |what: &str| lines.iter().find(|line| line.contains(what)).cloned();
        let sent = found("what=\"send\"").unwrap();
        assert!(sent.contains("kind=\"message\"") && sent.contains("bytes=5"), "{sent}");
        assert!(found("what=\"receive\"").is_some() && found("span=\"endpoint\"").is_some());
    }
}
