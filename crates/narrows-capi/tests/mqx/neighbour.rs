//! A processor in Rust beside a program in C: it sends back what comes, until it is told to end.

use std::path::Path;
use std::time::Duration;

use narrows_host::mqx::{Limits, Processor, QueueId};

const QUEUE: u8 = 8;
const END: u32 = 1_000_000;
/// The program ends by itself before this.
const PATIENCE: Option<Duration> = Some(Duration::from_secs(200));

pub fn run(directory: &Path) {
    let open = |host: narrows_host::Options| host.directory(directory);
    let processor = Processor::open(2, &[1], &[(1, 2)], Limits::default(), open);
    let processor = processor.expect("its name is free");
    let task = processor.task();
    let queue = task.open(QUEUE, 0).expect("free");
    let mut value = None;
    while value != Some(END) {
        let Some(mut message) = task.receive(queue, PATIENCE).expect("open") else { return };
        // The data alone: no header is in front of them.
        value = <[u8; 4]>::try_from(&message[..]).ok().map(u32::from_ne_bytes);
        assert!(value.is_some() || message.is_empty(), "{} bytes", message.len());
        message.header.target = message.header.source;
        message.header.source = QueueId::new(2, QUEUE);
        task.send(message).expect("there is a way back");
    }
}
