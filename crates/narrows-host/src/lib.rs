//! Narrows on Linux: nodes as processes or threads, memory that its owner alone can write,
//! doorbells that sit in an epoll set, and word of a peer's death within milliseconds.
//!
//! A node is opened by [`open`], or with [`Options`] where more is to be said of it; the [`Host`]
//! below it is the platform that the stack runs on. What a node does is the stack's:
//! [`narrows::endpoint::Node`]. Nodes find each other by name in a directory of the user's own.
//! There is no daemon, and nothing outlives its process but what a killed one could not remove,
//! which the next node does.
//!
//! Two nodes, here in two threads of one process; between processes it is the same code:
//!
//! ```
//! use narrows::endpoint::Address;
//! use narrows_host::Options;
//! use std::time::Duration;
//!
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path();
//! const SOON: Option<Duration> = Some(Duration::from_secs(5));
//!
//! let mut dsp = Options::new("dsp").directory(dir).node()?;
//! dsp.open(1)?;
//! let other_core = std::thread::spawn(move || {
//!     let mut text = [0; 64];
//!     let request = dsp.receive_into(1, &mut text, SOON).expect("a request in time");
//!     let answer = format!("{} to you", std::str::from_utf8(request.bytes(&text)).unwrap());
//!     dsp.send(1, request.from, &answer, SOON).unwrap();
//! });
//!
//! let mut gpp = Options::new("gpp").directory(dir).node()?;
//! gpp.open(1)?;
//! let link = gpp.hunt(&"dsp".parse()?, SOON)?;
//! gpp.send(1, Address { link, port: 1 }, b"hello", SOON)?;
//!
//! let mut text = [0; 64];
//! let answer = gpp.receive_into(1, &mut text, SOON)?;
//! assert_eq!(answer.bytes(&text), b"hello to you");
//! # other_core.join().unwrap();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The way in
//!
//! - A node touches nothing in its directory but its own socket and those that dead nodes of its
//!   user left. It opens only in a directory where nobody but root and its user can replace names.
//!   (`whoever_swaps_names_while_a_node_opens_has_no_other_file_opened_to_all`,
//!   `a_name_that_is_swapped_during_a_birth_changes_no_other_files_mode`,
//!   `a_directory_in_which_others_can_replace_names_is_refused_in_words`)
//! - Another user cannot keep a node from opening by locking the directory.
//!   (`a_lock_that_another_user_takes_keeps_nobody_from_opening`)
//! - A cleaner of temporary directories can see that a node's socket is alive. A node whose socket
//!   was removed all the same takes its name again within seconds, as long as its application calls
//!   it. (`a_cleaner_of_temporary_directories_finds_a_nodes_socket_among_those_that_live`,
//!   `a_node_whose_name_was_removed_takes_it_again`)
//! - A node is linked with those that look for it while its application is in no call, unless it
//!   was opened without a thread. (`a_node_in_no_call_is_found_and_told_later`,
//!   `a_node_without_a_thread_is_found_in_its_calls_only`,
//!   `the_thread_takes_no_signals_and_ends_with_its_node`)
//! - Many clients of one server are served, those that come at once included. A server that closes
//!   no link keeps the memory of a few that have ended. A birth asks few other nodes whether they
//!   live. (`forty_clients_that_come_at_once_are_all_served`,
//!   `a_server_that_closes_no_link_gives_the_memory_of_ended_ones_back`,
//!   `a_birth_asks_few_of_the_nodes_whether_they_live_and_removes_all_that_it_finds_dead`)
//! - A node that only sends hears of the end of a link with the second message after it.
//!   (`a_node_that_only_sends_hears_of_a_death_with_its_second_message`)
//! - A node belongs to the process that opened it: see [`Host`].
//!   (`a_forked_copy_of_a_node_does_nothing_and_the_parents_goes_on`,
//!   `what_a_forked_copy_sends_reaches_nobody_while_the_parents_node_goes_on`,
//!   `a_forked_copy_waits_for_no_thread_of_its_parents`,
//!   `a_forked_process_adds_as_its_parent_does`)
//! - Nodes in process, network, mount and user namespaces of their own meet if they see one
//!   directory. (`nodes_in_namespaces_of_their_own_meet_talk_and_part`)
//! - A bridge links nodes of two machines or network namespaces, encrypted, and lets in whose key
//!   is trusted and no others; a connection that breaks anywhere is a peer that died.
//!   (`nodes_in_two_network_namespaces_talk_lose_each_other_with_the_wire_and_meet_again`,
//!   `an_end_with_a_wrong_key_is_told_so_and_so_is_the_other`,
//!   `a_connection_that_ends_in_a_frame_is_a_peer_that_died_and_nothing_of_the_frame_comes`)
//! - What a hunt costs does not grow with how long the peer refuses, nor what asking for one name
//!   costs with how many others are hunted.
//!   (`a_node_that_says_again_is_greeted_ever_more_seldom_and_still_found`,
//!   `hunting_ten_times_as_many_names_takes_about_ten_times_as_long`)
//! - A node of the next version links with one of this if it speaks this one too. A peer of no
//!   common version is greeted once in each of its lives.
//!   (`a_peer_that_speaks_this_version_among_others_is_heard`,
//!   `a_node_of_another_version_is_greeted_once_in_each_of_its_lives`)
//! - What the system has not got or forbids is an error in words, not a signal or a wait.
//!   (`a_region_larger_than_files_may_be_is_an_error_and_kills_nobody`,
//!   `without_proc_the_message_says_so`)
//!
//! The programs in `examples/` run one idea each between two processes.
#![deny(unsafe_code)]

pub mod area;
mod bells;
#[cfg(feature = "bridge")]
pub mod bridge;
mod carrier;
mod clock;
mod closing;
mod engine;
mod error;
mod host;
pub mod linx;
mod looks;
mod memory;
pub mod mqx;
pub mod observe;
mod options;
mod peer;
mod rendezvous;
pub mod service;
mod spelling;
mod status;
pub mod system;
mod trace;

pub use bells::Bell;
pub use carrier::Carrier;
pub use error::OpenError;
pub use host::Host;
pub use memory::books::Books;
pub use memory::exposed::{Exposed, Place};
pub use memory::fork::Maker;
pub use memory::sync::full_fence;
pub use memory::words::{OwnWords, PeerWords};
pub use memory::{LINE, PeerRegion, Region};
pub use options::Options;
pub use peer::{Peer, PeerError, Undelivered};
pub use spelling::explain;
pub use trace::{PAYLOAD_VARIABLE, Record, TRACE_VARIABLE, Trace, stamp_cost};

/// A node of the stack on this platform.
pub type Node = narrows::endpoint::Node<Host>;

/// Opens a node of this name, in the domain and directory that are usual, with everything else at
/// its default.
///
/// # Errors
/// See [`OpenError`]; each is a sentence that says what to do.
pub fn open(name: &str) -> Result<Node, OpenError> {
    Options::new(name).node()
}

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/TUTORIAL.md")]
mod tutorial {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/HOWTO.md")]
mod howto {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/CHOOSING.md")]
mod choosing {}
