//! A node in an asynchronous program: one task calls a function of another process while others
//! receive what that publishes, all in one thread.
//!
//! ```text
//!   process gpp, tokio                      process dsp
//!
//!     task ── call ── 1, 2, 3 ─────────────► square
//!     task ◄─ stream ── numbers ──────────── publisher
//! ```
//!
//! Expected output:
//!
//! ```text
//! the square of 1 is 1
//! the square of 2 is 4
//! the square of 3 is 9
//! received: 0, 1, 2
//! ```

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use futures_util::StreamExt as _;
use narrows_host::Options;
use narrows_tokio::Subscriber;

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1) {
        None => tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(gpp()),
        Some(directory) => dsp(&directory),
    }
}

async fn gpp() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let mut other = Command::new(std::env::current_exe()?).arg(directory.path()).spawn()?;

    let node = narrows_services::Node::with(Options::new("gpp").directory(directory.path()))?;
    let node = narrows_tokio::watched(node)?;
    let square = node.client::<u32, u64>("square").await?;
    let numbers: Subscriber<u32> = node.subscriber("numbers").await?;

    let call = async {
        let mut squares = Vec::new();
        for number in 1..=3 {
            squares.push((number, square.call(&number).await?));
        }
        Ok::<_, narrows_services::Error>(squares)
    };
    let receive = numbers.take(3).map(|sample| sample?.read()).collect::<Vec<_>>();
    let (squares, received) = tokio::join!(call, receive);

    for (number, square) in squares? {
        println!("the square of {number} is {square}");
    }
    let received: Result<Vec<u32>, _> = received.into_iter().collect();
    let received: Vec<String> = received?.iter().map(u32::to_string).collect();
    println!("received: {}", received.join(", "));
    drop((square, node));
    other.wait()?;
    Ok(())
}

fn dsp(directory: &str) -> Result<(), Box<dyn Error>> {
    let node = narrows_services::Node::with(Options::new("dsp").directory(directory))?;
    node.serve::<u32, u64>("square", |number| u64::from(*number).pow(2))?;
    let numbers = node.publisher::<u32>("numbers")?;
    let moment = Some(Duration::from_millis(5));
    while numbers.subscribers()? == 0 {
        node.run(moment)?;
    }
    for number in 0..3 {
        numbers.send(&number)?;
    }
    while numbers.subscribers()? > 0 {
        node.run(moment)?;
    }
    Ok(())
}
