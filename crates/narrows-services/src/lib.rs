//! Services: functions that other programs of this machine find by name and call with values of
//! Rust types, which travel as they lie in memory.
//!
//! ```
//! use narrows_services::Node;
//! # use narrows_host::Options;
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().to_owned();
//! # let open = move |name: &str| Node::with(Options::new(name).directory(&path));
//!
//! std::thread::spawn({
//! #   let open = open.clone();
//!     move || {
//!         let dsp = open("dsp")?;
//!         dsp.serve::<u32, u64>("square", |number| u64::from(*number).pow(2))?;
//!         dsp.run(None)
//!     }
//! });
//!
//! let gpp = open("gpp")?;
//! let square = gpp.client::<u32, u64>("square")?;
//! assert_eq!(square.call(&12)?, 144);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What holds, and which of the tests shows it:
//!
//! - Types that differ are refused by name before anything is read, by the client, and by a server
//!   whose client does not look.
//!   (`types_that_differ_are_refused_by_name`, `a_client_that_does_not_look_finds_no_function`)
//! - A request of another length than its type is refused; so is a response.
//!   (`a_request_that_is_no_value_is_refused`)
//! - A client goes on when its service comes back. (`a_service_that_comes_back_is_called_again`)
#![deny(unsafe_code)]

mod client;
mod error;
mod node;
mod typed;

pub use client::{Client, Find};
pub use error::Error;
pub use narrows_services_derive::Typed;
pub use node::Node;
pub use typed::{Payload, Struct, Typed, described};
pub use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
