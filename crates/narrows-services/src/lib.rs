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
//! A topic is for many: its publisher writes each message once, and lends it to all subscribers.
//!
//! ```
//! use narrows_services::Node;
//! # use narrows_host::Options;
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().to_owned();
//! # let open = move |name: &str| Node::with(Options::new(name).directory(&path));
//!
//! let camera = open("camera")?;
//! let frames = camera.topic("frames").longest(640 * 480).publisher::<[u8]>()?;
//!
//! let viewer = std::thread::spawn(move || {
//!     let node = open("viewer")?;
//!     let frames = node.subscriber::<[u8]>("frames")?;
//!     frames.receive(None)?.read()
//! });
//!
//! while frames.subscribers()? == 0 {
//!     frames.attend()?;
//! }
//! let mut frame = frames.loan(640 * 480)?;
//! frame.fill(128);
//! frame.send()?;
//! assert_eq!(viewer.join().unwrap()?, vec![128; 640 * 480]);
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
//! - Of a topic, what is held stays as it is; each subscriber has its own end of a full queue.
//!   (`what_is_held_stays_as_it_is_however_much_is_published`,
//!   `each_subscriber_meets_its_own_end_of_a_full_queue`)
//! - A topic's memory grows with its messages and subscribers, up to a limit, and nothing is lost
//!   of what lies in it.
//!   (`longer_and_longer_messages_come_in_their_order_to_slow_subscribers_of_each_kind`,
//!   `the_limit_is_an_error_by_name_and_shorter_messages_go_on`,
//!   `what_grew_is_taken_after_its_publisher_died`)
//! - Several publishers of a topic are heard beside each other, and none disturbs another.
//!   (`processes_that_come_die_and_come_again_are_heard_beside_each_other`,
//!   `a_slow_subscriber_holds_up_or_loses_of_each_publisher_apart`)
//! - Publishers that come later, and services that are waited for, are told of while the node
//!   sleeps without an end.
//!   (`a_publisher_that_comes_while_a_subscriber_sleeps_without_an_end_is_heard`,
//!   `a_client_and_a_hunt_that_wait_are_told`,
//!   `with_many_files_that_come_and_go_nothing_is_missed`)
//! - A set misses nothing, in whichever way its node waits.
//!   (`a_set_misses_nothing_where_its_node_sleeps` and others)
//! - A late answer is for no other join, and a subscriber that comes and goes leaves nothing
//!   behind. (`an_answer_that_comes_late_is_taken_for_no_other`,
//!   `joins_that_time_out_leave_no_port_and_no_queue_behind`)
//! - Whatever is done ends as a model on lists says.
//!   (`whatever_is_done_ends_as_the_model_says`)
//! - A process that dies half-way, or keeps what it was lent, holds nobody up.
//!   (`a_subscriber_that_dies_with_what_it_was_lent_holds_nobody_up`,
//!   `a_publisher_that_dies_between_a_loan_and_its_message_published_nothing_of_it`)
//! - A subscriber that lies hurts nobody else, and one that does not fit is refused by name.
//!   (`a_subscriber_that_lies_hurts_nobody_else`, `who_does_not_fit_is_refused_by_name`)
#![deny(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../../../docs/SERVICES.md")]
mod page {}

pub mod asynchronous;
mod client;
#[cfg(feature = "serde")]
mod coded;
mod deadline;
mod error;
mod events;
mod hunt;
mod join;
mod loan;
mod lookout;
#[cfg(doctest)]
mod misuse;
mod node;
mod outlet;
mod parked;
mod publisher;
mod reader;
mod sample;
mod seek;
mod share;
mod signature;
mod stock;
mod subscriber;
mod topic;
mod typed;
mod wait;

/// Topics without Rust types: what programs in other languages use. No promise is made for it.
#[doc(hidden)]
pub mod untyped {
    pub use crate::loan::Lent;
    pub use crate::outlet::Outlet;
    pub use crate::reader::Reader;
    pub use crate::sample::Taken;
}

pub use client::{Client, Find};
#[cfg(feature = "serde")]
pub use coded::Coded;
pub use error::Error;
pub use join::Refusal;
pub use loan::Loan;
pub use narrows::memory::Overflow;
pub use narrows_host::Options;
pub use narrows_services_derive::Typed;
pub use node::Node;
pub use publisher::Publisher;
pub use sample::Sample;
pub use share::{Shared, SharedClient, SharedFind, SharedPublisher, SharedTopic};
pub use signature::Signature;
pub use subscriber::{Subscribe, Subscriber};
pub use topic::Topic;
pub use typed::{Payload, Struct, Typed, described};
pub use wait::{Key, WaitSet};
pub use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
