//! Services and topics in asynchronous programs over tokio.
//!
//! ```
//! use narrows_tokio::Node;
//! # use narrows_host::Options;
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().to_owned();
//! # let other = path.clone();
//! # let run = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # let serving = std::thread::spawn(move || {
//! # let dsp = narrows_services::Node::with(Options::new("dsp").directory(&other)).unwrap();
//! # dsp.serve::<u32, u64>("square", |number| u64::from(*number).pow(2)).unwrap();
//! # dsp.run(Some(std::time::Duration::from_secs(1))).unwrap();
//! # });
//! # let open = |name: &str| {
//! #     let node = narrows_services::Node::with(Options::new(name).directory(&path));
//! #     node.and_then(narrows_tokio::watched)
//! # };
//! # run.block_on(async {
//!
//! let gpp: Node = open("gpp")?;
//! let square = gpp.client::<u32, u64>("square").await?;
//! assert_eq!(square.call(&12).await?, 144);
//! # Ok::<(), narrows_services::Error>(())
//! # })?;
//! # serving.join().unwrap();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```no_run
//! use futures_util::StreamExt as _;
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), narrows_services::Error> {
//!     let node = narrows_tokio::open("mixer")?;
//!     node.serve::<u32, u64>("square", |number| u64::from(*number).pow(2))?;
//!
//!     let decode = node.client::<[u8], [f32]>("decode").await?;
//!     let mut frames = node.subscriber::<[u8]>("frames").await?;
//!     let sound = node.publisher::<[f32]>("sound")?;
//!     let work = async {
//!         while let Some(frame) = frames.next().await {
//!             let samples = decode.call(&frame?.read()?).await?;
//!             sound.send(&samples).await?;
//!         }
//!         Ok(())
//!     };
//!     tokio::select! {
//!         done = work => done,
//!         served = node.run() => served.map(drop),
//!     }
//! }
//! ```
//!
//! A node belongs to one thread, and so do its tasks: they are awaited in a runtime of one thread,
//! or spawned with `spawn_local`. All else is in [`narrows_services::asynchronous`]; this crate
//! brings tokio's way to watch a descriptor.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};

use narrows_services::{Error, asynchronous};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A node in a program of tokio.
pub type Node = asynchronous::Node<Descriptor>;
/// A client in a program of tokio.
pub type Client<Q, R> = asynchronous::Client<Descriptor, Q, R>;
/// A subscriber in a program of tokio, which is a stream.
pub type Subscriber<T> = asynchronous::Subscriber<Descriptor, T>;
/// A publisher in a program of tokio, which is a sink.
pub type Publisher<T> = asynchronous::Publisher<Descriptor, T>;

/// A descriptor that tokio watches.
#[derive(Debug)]
pub struct Descriptor(AsyncFd<OwnedFd>);

impl asynchronous::Watch for Descriptor {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut guard = ready!(self.0.poll_read_ready(cx))?;
        guard.clear_ready();
        Poll::Ready(Ok(()))
    }
}

/// A node of this name, in a runtime of tokio.
///
/// # Errors
/// [`Error::Open`]; [`Error::Descriptor`].
///
/// # Panics
/// Outside a runtime whose input and output are enabled.
pub fn open(name: &str) -> Result<Node, Error> {
    watched(narrows_services::Node::open(name)?)
}

/// Has the runtime watch a node.
///
/// # Errors
/// [`Error::Descriptor`].
///
/// # Panics
/// As [`open`].
pub fn watched(node: narrows_services::Node) -> Result<Node, Error> {
    #[allow(deprecated, reason = "for descriptors that may close early; this one is owned")]
    let watch = |descriptor| AsyncFd::with_interest(descriptor, Interest::READABLE).map(Descriptor);
    Node::new(node, watch)
}
