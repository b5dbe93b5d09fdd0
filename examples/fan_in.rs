//! Three processes send to one. What is urgent overtakes what came before it; messages of one
//! urgency keep their order.
//!
//! ```text
//!   process log     ── priority 7 ──┐
//!   process sensor  ── priority 3 ──┼──► port 1 of process hub
//!   process alarm   ── priority 0 ──┘
//! ```
//!
//! Each sends two messages, and then says on port 2 that it has.
//!
//! Expected output:
//!
//! ```text
//! log has sent
//! sensor has sent
//! alarm has sent
//! received with priority 0: alarm 1
//! received with priority 0: alarm 2
//! received with priority 3: sensor 1
//! received with priority 3: sensor 2
//! received with priority 7: log 1
//! received with priority 7: log 2
//! ```

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use narrows::endpoint::{Address, Message};
use narrows_host::Options;

const SOON: Option<Duration> = Some(Duration::from_secs(5));
const SENDERS: [(&str, u8); 3] = [("log", 7), ("sensor", 3), ("alarm", 0)];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next(), arguments.next(), arguments.next()) {
        (Some(directory), Some(name), Some(priority)) => {
            sender(&directory, &name, priority.parse()?)
        }
        _ => hub(),
    }
}

fn hub() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let mut node = Options::new("hub").directory(directory.path()).node()?;
    node.open(1)?;
    node.open(2)?;

    for (name, priority) in SENDERS {
        let mut sender = Command::new(std::env::current_exe()?)
            .arg(directory.path())
            .args([name, &priority.to_string()])
            .spawn()?;
        let _ = node.receive_into(2, &mut [], SOON)?;
        println!("{name} has sent");
        sender.wait()?;
    }

    // All six wait by now: a link keeps its order, and each sender's last message is here.
    for _ in 0..2 * SENDERS.len() {
        let mut text = [0; 32];
        let message = node.receive_into(1, &mut text, SOON)?;
        let text = std::str::from_utf8(message.bytes(&text))?;
        println!("received with priority {}: {text}", message.priority);
    }
    Ok(())
}

fn sender(directory: &str, name: &str, priority: u8) -> Result<(), Box<dyn Error>> {
    let mut node = Options::new(name).directory(directory).node()?;
    node.open(1)?;
    let link = node.hunt(&"hub".parse()?, SOON)?;
    for number in 1..=2 {
        let text = format!("{name} {number}");
        node.send(1, Address { link, port: 1 }, Message::new(&text).priority(priority), SOON)?;
    }
    node.send(1, Address { link, port: 2 }, Message::new(b"").priority(priority), SOON)?;
    Ok(())
}
