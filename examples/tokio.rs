//! A node in an asynchronous program: its doorbell is a file descriptor, which tokio waits on.
//!
//! ```text
//!   process gpp, tokio                          process dsp
//!
//!     send ───────────────── 1, 2, 3 ──────────► port 1
//!     arm, await doorbell ◄─── rings ─── publish ───┘
//!     hear, poll, receive
//! ```
//!
//! No wake-up is lost: once armed, the node is asked whether something came before it was, and
//! only if not is the doorbell waited for.
//!
//! Expected output:
//!
//! ```text
//! received: 1 comes back
//! received: 2 comes back
//! received: 3 comes back
//! ```

use std::error::Error;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;
use std::time::Duration;

use narrows::endpoint::{Address, Select};
use narrows_host::{Node, Options};
use tokio::io::unix::AsyncFd;

const SOON: Duration = Duration::from_secs(5);

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1) {
        None => tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(gpp()),
        Some(directory) => dsp(&directory),
    }
}

async fn gpp() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let mut other = Command::new(std::env::current_exe()?).arg(directory.path()).spawn()?;

    let mut node = Options::new("gpp").directory(directory.path()).node()?;
    node.open(1)?;
    #[allow(deprecated, reason = "for descriptors that may close early; this one is owned")]
    let doorbell = AsyncFd::new(node.platform().as_fd().try_clone_to_owned()?)?;
    let link = node.hunt(&"dsp".parse()?, Some(SOON))?;

    for number in 1..=3 {
        let text = number.to_string();
        node.try_send(1, Address { link, port: 1 }, &text)?;
        let answer = tokio::time::timeout(SOON, receive(&mut node, &doorbell, 1)).await??;
        println!("received: {}", String::from_utf8(answer)?);
    }
    other.wait()?;
    Ok(())
}

/// The next message of a port. Other tasks run meanwhile, and dropping this loses nothing.
async fn receive(
    node: &mut Node,
    doorbell: &AsyncFd<OwnedFd>,
    port: u16,
) -> Result<Vec<u8>, Box<dyn Error>> {
    loop {
        if let Some(message) = node.try_receive(port, &Select::default())? {
            let mut bytes = vec![0; message.len];
            node.read(&message, 0, &mut bytes)?;
            node.release(message);
            return Ok(bytes);
        }
        if !node.arm() {
            // Cleared before it is heard: what rings after that makes it ready again.
            doorbell.readable().await?.clear_ready();
        }
        node.disarm();
        node.platform().hear();
        node.poll();
    }
}

fn dsp(directory: &str) -> Result<(), Box<dyn Error>> {
    let mut node = Options::new("dsp").directory(directory).node()?;
    node.open(1)?;
    for _ in 1..=3 {
        let mut text = [0; 32];
        let message = node.receive_into(1, &mut text, Some(SOON))?;
        let text = format!("{} comes back", std::str::from_utf8(message.bytes(&text))?);
        node.send(1, message.from, &text, Some(SOON))?;
    }
    Ok(())
}
