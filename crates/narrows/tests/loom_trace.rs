//! The ring between a traced node and the thread that writes its trace, under the model checker.
#![cfg(loom)]

use std::sync::Arc;

use loom::thread::spawn;
use ring::Ring;

/// An event as the ring needs it: three words.
mod event {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Event(pub u64);

    impl Event {
        pub fn pack(&self) -> [u64; 3] {
            [self.0; 3]
        }

        pub fn unpack(words: [u64; 3]) -> Option<Event> {
            assert!(words.iter().all(|word| *word == words[0]), "{words:?}");
            Some(Event(words[0]))
        }
    }
}

#[path = "../../narrows-host/src/trace/ring.rs"]
#[allow(dead_code)]
mod ring;

#[test]
fn each_event_is_read_whole_and_in_order_or_counted() {
    const EVENTS: u64 = 4;
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let ring = Arc::new(Ring::new());
        let writer = Arc::clone(&ring);
        let node = spawn(move || {
            for number in 1..=EVENTS {
                writer.put(number, &event::Event(number));
            }
        });
        let (mut last, mut read) = (0, 0);
        let mut take = || {
            ring.take(|ticks, event| {
                assert_eq!(event.0, ticks);
                assert!(ticks > last, "{ticks} behind {last}");
                (last, read) = (ticks, read + 1);
            });
        };
        take();
        take();
        node.join().unwrap();
        take();
        assert_eq!(read + ring.dropped(), EVENTS);
    });
}
