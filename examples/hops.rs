//! What an extra hop costs: messages in MQX's terms along a line of four processors.
//!
//! ```text
//!   processor 1 ── processor 2 ── processor 3 ── processor 4
//!     task           task           task           task
//!     sends, and     each sends what it receives back to its source
//!     measures
//! ```
//!
//! The same call sends to a queue of the own processor, of the next, and of one further on: only
//! the queue's id differs. Each processor is a node with a thread, here all of one process.
//! `NARROWS_CARRIER=stream` has frames carry the links.
//!
//! Expected output:
//!
//! ```text
//! round trips of … each, in turns; medians in µs
//! bytes    here   1 hop  2 hops  3 hops  an extra hop beside one
//!    24…
//!  4092…
//! messages of 24 bytes a second: … to the next, … through a middle one
//! ```

use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use narrows_host::Carrier;
use narrows_host::mqx::{Limits, Message, Processor, QueueId, SendError, Task};

const SOON: Option<Duration> = Some(Duration::from_secs(20));
/// Whatever a processor's task receives here, it sends back.
const ECHO: u8 = 8;
/// Whatever comes here is counted; every eighth message is sent back.
const COUNT: u8 = 9;
const EACH: u32 = 8;
/// Messages that are on their way at most.
const AHEAD: u32 = 32;
const LAST: u8 = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let trips: usize = std::env::args().nth(1).map_or(Ok(200), |text| text.parse())?;
    let carrier = Carrier::of_environment()?;
    let adjacent: Vec<(u8, u8)> = (1..LAST).map(|n| (n, n + 1)).collect();
    let open = |number: u8| {
        let around: Vec<u8> =
            [number - 1, number + 1].into_iter().filter(|n| (1..=LAST).contains(n)).collect();
        let host = |o: narrows_host::Options| o.directory(directory.path()).carrier(carrier);
        Processor::open(number, &around, &adjacent, Limits::default(), host)
    };
    let all = (1..=LAST).map(open).collect::<Result<Vec<_>, _>>()?;
    for (here, next) in all.iter().zip(2..=LAST) {
        here.wait_for(next, SOON)?;
    }
    all[0].create_system_pool(4096, 64, 0, 64)?;
    let mut tasks = Vec::new();
    for processor in &all {
        let task = processor.task();
        task.open(ECHO, 0)?;
        task.open(COUNT, 0)?;
        tasks.push(task);
    }
    // Each ends when its task is sent a message of no bytes.
    let echoes: Vec<_> = tasks.into_iter().map(|task| thread::spawn(move || echo(&task))).collect();

    let task = all[0].task();
    let answers = task.open(0, 0)?;
    println!("round trips of {trips} each, in turns; medians in µs");
    println!("bytes    here   1 hop  2 hops  3 hops  an extra hop beside one");
    for bytes in [24, 4092] {
        let mut took = vec![Vec::new(); usize::from(LAST)];
        for _ in 0..trips {
            for (took, to) in took.iter_mut().zip(1..) {
                took.push(trip(&task, answers, QueueId::new(to, ECHO), bytes)?);
            }
        }
        let medians: Vec<f64> = took.into_iter().map(median).collect();
        let columns: String = medians.iter().map(|us| format!("{us:8.1}")).collect();
        let extra = (medians[2] - medians[1]) / medians[1];
        println!("{bytes:5}{columns}  {extra:.2} times");
    }
    let [next, beyond] = [2, 3].map(|to| rate(&task, answers, QueueId::new(to, COUNT), trips));
    println!(
        "messages of 24 bytes a second: {:.0} to the next, {:.0} through a middle one",
        next?, beyond?
    );

    for to in 1..=LAST {
        let mut end = task.alloc_system(0)?;
        end.header.target = QueueId::new(to, ECHO);
        task.send(end).map_err(|(why, _)| why)?;
    }
    for echo in echoes {
        echo.join().map_err(|_| "an echo panicked")?;
    }
    Ok(())
}

/// Sends back what comes, until a message of no bytes does.
fn echo(task: &Task) {
    let mut counted = 0;
    while let Ok(Some(mut message)) = task.receive(QueueId::ANY, None) {
        if message.is_empty() {
            return;
        }
        if message.header.target.queue() == COUNT {
            counted += 1;
            if counted % EACH != 0 {
                continue;
            }
        }
        message.header.target = message.header.source;
        if let Err((why, _)) = task.send(message) {
            eprintln!("an echo was not sent: {why}");
        }
    }
}

/// One message there and back. How long that took, in microseconds.
fn trip(task: &Task, answers: QueueId, to: QueueId, bytes: u32) -> Result<f64, Box<dyn Error>> {
    let before = Instant::now();
    let mut message = message(task, answers, to, bytes)?;
    message.fill(7);
    task.send(message).map_err(|(why, _)| why)?;
    let back = task.receive(answers, SOON)?.ok_or("no answer came")?;
    let took = before.elapsed();
    if back.len() != bytes as usize || back.iter().any(|byte| *byte != 7) {
        return Err("other bytes came back than were sent".into());
    }
    Ok(took.as_secs_f64() * 1e6)
}

/// Messages a second to a queue, with few of them on their way at a time.
fn rate(task: &Task, answers: QueueId, to: QueueId, trips: usize) -> Result<f64, Box<dyn Error>> {
    let all = (trips as u32 * 20).next_multiple_of(EACH);
    let (mut sent, mut counted) = (0, 0);
    let before = Instant::now();
    while counted < all {
        if sent < all && sent - counted < AHEAD {
            let message = message(task, answers, to, 24)?;
            match task.send(message) {
                Ok(()) => sent += 1,
                Err((SendError::Full, _)) => thread::yield_now(),
                Err((why, _)) => return Err(why.into()),
            }
        } else {
            task.receive(answers, SOON)?.ok_or("no answer came")?;
            counted += EACH;
        }
    }
    Ok(f64::from(all) / before.elapsed().as_secs_f64())
}

fn message(
    task: &Task,
    answers: QueueId,
    to: QueueId,
    bytes: u32,
) -> Result<Message, narrows_host::mqx::PoolError> {
    let mut message = task.alloc_system(bytes)?;
    (message.header.source, message.header.target) = (answers, to);
    Ok(message)
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
