//! Message passing between the cores of asymmetric chips: the stack, without an operating system
//! and without allocation.
//!
//! It sends messages between ports, calls functions by name on another core, chooses for each flow
//! how that is done, and stamps the time of every step. It runs on whatever implements
//! [`Platform`](platform::Platform): `narrows-host` does for Linux processes.
//!
//! It never allocates once a link is up, starts no thread, compares and swaps no shared word,
//! trusts nothing a peer wrote, and calls none of your code while something is half done.
//!
//! ```
//! use narrows::endpoint::{Address, Node, SendError};
//! use narrows::platform::Platform;
//! use narrows::strategy::{Strategy, Transfer};
//!
//! // What is written against a platform runs on each of them.
//! fn greet<P: Platform>(node: &mut Node<P>, to: Address) -> Result<(), SendError> {
//!     node.send(1, to, b"hello", None)
//! }
//!
//! // How a flow travels is a value: chosen at run time, changed while the flow runs.
//! let strategy: Strategy = "in_place/spin/internal".parse()?;
//! assert_eq!(strategy.transfer, Transfer::InPlace);
//! assert_eq!(strategy.to_string(), "in_place/spin/internal");
//! # Ok::<(), narrows::strategy::StrategyError>(())
//! ```
//!
//! The page of `narrows-host` has two nodes that say hello, and `examples/` whole programs.
//!
//! # A message's way
//!
//! The layers, in the order in which a message that is sent passes them; one that is received
//! passes them upwards. Nothing imports upwards. (Held by `a_message_passes_every_layer_in_order`
//! and `ci/imports`.)
//!
//! 1. [`endpoint`]: ports, priorities, calls, flows. The [`Node`](endpoint::Node) is here.
//! 2. [`link`]: names, hunting, the inbox of each link, what is left when a peer dies.
//! 3. [`connection`]: what turns a driver's messages into the link's; between two cores that share
//!    memory, nothing.
//! 4. [`driver`]: how payload gets into shared memory and out again: by this core or by a copy
//!    engine.
//! 5. [`notify`]: how a core passes the time until something comes.
//! 6. [`memory`]: regions, layout, pool, ring.
//! 7. [`platform`]: what the stack asks of the machine below it.
//!
//! Beside the endpoint stand [`linx`], which has signals, hunts and paths instead of ports and
//! calls, and [`mqx`], which has queues, pools and ways over several links. Beside the way lie
//! [`strategy`], what can be chosen for a flow, and [`span`], the names of the stretches that are
//! measured. The bytes in shared memory are specified in `docs/WIRE.md`,
//! the reasons for all this in `docs/DESIGN.md`.
//!
//! # Promises
//!
//! Behind each promise are tests that hold it. The order of a flow is that in which its messages
//! were sent over it; an endpoint then hands out what has come by urgency.
//!
//! ## Order
//!
//! - **P1** While both nodes live, every message that was sent is received once, whole, and behind
//!   those of its flow that were sent before it. (`pressed`,
//!   `every_size_travels_there_and_back_in_every_way`,
//!   `messages_arrive_whole_and_in_order_and_slots_are_used_again`)
//! - **P2** Calls of one flow are answered in the order they were started, each once: one at a
//!   time, many outstanding, or many in one message. (`blocking`,
//!   `many_are_outstanding_and_come_back_in_order`, `gathered`)
//! - **P3** A call that was given up is not answered to another.
//!   (`a_late_response_is_dropped_and_the_next_call_gets_its_own`)
//! - **P4** Changing a flow's strategy loses, doubles and reorders nothing.
//!   (`nothing_is_lost_doubled_or_reordered`, `switched`)
//! - **P5** Of the messages that were published for an endpoint and not received, the most urgent
//!   is received first, and among equally urgent ones the one that came first. An urgent message
//!   overtakes as many of its link as the ring has slots; only where the link's
//!   [inbox](endpoint::Limits) and as many more wait off the ring already do these come before it.
//!   On a node with 16 links or more, one message for each 16 links may come before it as well:
//!   such a node looks at its rings again behind that many.
//!   (`the_urgent_come_first_and_equals_in_order`,
//!   `an_urgent_message_comes_first_however_many_were_sent_before_it`,
//!   `of_many_urgent_messages_each_comes_before_what_is_less_urgent`,
//!   `the_short_way_differs_in_nothing`,
//!   `an_urgent_message_of_one_link_waits_for_few_of_the_others`,
//!   `messages_of_several_links_come_whichever_was_the_last_to_bring_one`)
//!
//! ## Loss
//!
//! - **P6** A message is never dropped for want of room: its sender is told so at once, or waits.
//!   (`a_full_ring_holds_the_sender_and_loses_nothing`,
//!   `as_many_are_sent_as_there_is_room_for_and_the_rest_is_the_callers`,
//!   `a_pool_that_is_used_up_recovers_when_messages_are_released`,
//!   `a_full_inbox_leaves_messages_in_the_ring`)
//! - **P7** What could not be sent was not sent, and a block made for it is still its maker's.
//!   (`a_reserved_payload_is_sent_cancelled_and_kept_when_sending_fails`)
//! - **P8** A message for a port that is not open comes back to its sender as a refusal.
//!   (`a_message_for_a_closed_port_comes_back_as_a_refusal`)
//! - **P9** When a peer dies, whatever killed it, this node is told, whichever way it waits.
//!   What the peer had sent before is received first. How soon it is told depends on the platform:
//!   docs/measured/killed-peer.md has what two of these tests measured between processes of a host.
//!   (`a_caller_hears_of_its_callees_death_has_everything_back_and_goes_on_with_the_next`,
//!   `a_callee_hears_of_its_callers_death_has_all_it_sent_and_serves_the_next`,
//!   `a_killed_peer_is_reported_whatever_the_wait_and_its_name_is_free_at_once`,
//!   `the_notice_comes_behind_the_last_message_however_many_there_are`,
//!   `a_peer_that_writes_on_after_its_end_does_not_put_off_the_notice`,
//!   `a_dead_peers_messages_for_closed_ports_do_not_put_off_the_notice`,
//!   `calls_end_with_the_peer_behind_the_responses_that_arrived`,
//!   `a_peer_may_die_at_each_of_its_stores_in_turn`)
//! - **P10** Then all that the peer's stack had not taken can be had back, and every block it had
//!   is free again. What its stack had taken and its application not yet used died with it.
//!   (`what_the_dead_had_not_taken_comes_back_in_order`,
//!   `what_a_dead_peer_had_not_taken_is_known_and_its_blocks_come_back`,
//!   `what_a_dead_receiver_had_taken_is_not_touched_by_it_any_more`,
//!   `every_run_ends_in_delivery_or_a_reported_error`)
//! - **P11** The next life of the peer can be hunted under the same name.
//!   (`closing_tells_the_peer_which_can_be_hunted_again`,
//!   `the_next_life_is_linked_to_and_names_of_the_last_stay_dead`)
//!
//! ## Blocking
//!
//! - **P12** No wake-up is lost: a node that sleeps until a message, credit or a block comes is
//!   woken when it does. (`a_sleeping_receiver_is_rung_for_the_first_message`,
//!   `a_sleeping_receiver_is_rung_for_messages_sent_together`,
//!   `a_sleeping_receiver_is_rung_for_the_message_it_named`,
//!   `a_sender_that_sleeps_for_credit_is_rung`, `a_sender_that_sleeps_for_a_block_is_rung`) A node
//!   that waits for a hunt is told when it fails, however many fail at once.
//!   (`each_hunt_that_failed_is_told_however_many_fail_at_once`)
//! - **P13** Credit and blocks that are held back for a batch never stop a sender for good.
//!   (`what_is_held_back_for_a_batch_starves_no_sender`,
//!   `before_a_wait_every_link_is_given_what_was_held_back`,
//!   `a_receiver_that_never_waits_gives_credit_for_what_it_keeps`)
//! - **P14** Two nodes that send to each other until both are full do not stop each other.
//!   (`two_that_send_to_each_other_until_full_do_not_stop_each_other`)
//! - **P15** A peer that floods one link, or links again and again, disturbs no other link and puts
//!   off no deadline. (`a_flood_on_one_link_leaves_another_undisturbed`,
//!   `a_message_comes_before_most_of_those_who_wait_to_link`,
//!   `news_without_end_puts_no_deadline_off`, `one_turn_sees_to_a_few_of_those_who_wait`,
//!   `a_link_that_has_carried_nothing_has_few_pages`,
//!   `a_peer_that_asks_for_slow_polling_does_not_slow_those_that_were_there`,
//!   `a_peer_that_asks_for_slow_polling_does_not_slow_those_that_come_later`)
//! - **P16** A receiver that does not sleep is never rung for a message.
//!   (`a_receiver_is_rung_only_if_it_is_armed`)
//! - **P17** Once a link is up, nothing allocates until another comes up, for which tables grow.
//!   (`nothing_is_allocated_once_a_link_is_up`, `nothing_allocates_once_links_and_flows_are_up`,
//!   `a_node_links_with_more_peers_than_its_tables_begin_with`)
//!
//! ## Over frames
//!
//! All this holds where frames carry a link instead of memory, with two exceptions, both at a
//! death. Of P9: what a peer had sent and its end of the frames had not yet carried dies with it.
//! Of P10: what the peer's stack had taken and had not yet said so comes back too.
//! (`what_was_sent_before_an_end_in_order_arrives`,
//! `what_a_killed_peer_did_not_take_is_handed_back_in_order`,
//! `a_stopped_peer_keeps_nobody_waiting_and_goes_on_where_it_was`,
//! `whatever_a_liar_sends_ends_its_link_and_no_other`)
//!
//! ## Trust
//!
//! - **P18** A peer cannot write to this node's memory.
//!   (`what_the_owner_writes_the_peer_reads_and_the_header_is_the_owners`,
//!   `whoever_gets_the_descriptor_can_read_and_nothing_else`)
//! - **P19** Whatever a peer writes to its own, this node refuses it or reads nonsense within that
//!   peer's blocks; the worst that happens is the end of that one link.
//!   (`whatever_a_peer_writes_its_link_goes_on_or_ends_with_a_reason_and_no_other_notices`,
//!   `whatever_comes_nothing_of_it_stays_and_honest_peers_meet`,
//!   `every_lie_ends_its_link_with_its_reason_and_no_other`,
//!   `responses_that_answer_something_else_end_the_link`,
//!   `an_impossible_descriptor_ends_the_link`, `a_slot_of_any_words_is_taken_or_refused`,
//!   `a_header_of_any_words_is_no_danger`,
//!   `a_process_that_flips_words_of_a_stack_in_order_disturbs_nobody_else`,
//!   `a_process_that_forges_all_it_sends_disturbs_nobody_else`,
//!   `a_thread_that_forges_all_it_sends_disturbs_nobody_else`,
//!   `a_block_that_was_not_lent_cannot_come_back`,
//!   `credit_is_believed_only_between_what_was_freed_and_what_was_sent`,
//!   `a_peer_brings_no_larger_region_than_is_allowed`,
//!   `a_gigabyte_of_holes_is_not_made_where_memory_is_locked`,
//!   `a_descriptor_that_hangs_who_closes_it_does_not_hang_the_node`,
//!   `while_too_many_hang_other_users_wait_and_this_one_does_not`,
//!   `files_whose_closing_never_ends_keep_no_node_from_answering`,
//!   `what_another_user_keeps_of_links_that_ended_is_little`)
//! - **P20** What is for one peer no other can see, and a user that is not allowed does not become
//!   a peer. (`a_third_node_gets_nothing_of_a_link_between_two`,
//!   `another_user_links_only_if_each_allows_the_other`,
//!   `another_user_who_comes_without_this_library_is_turned_away_by_the_kernel_or_the_node`,
//!   `a_user_without_a_number_here_is_nobodys_equal_unless_demanded_by_name`)
//!
//! ## The system below
//!
//! - **P21** On a host, whichever system call fails, what was asked of the node ends well or with
//!   its error, in time; works when it is asked again; leaves nothing behind; and is not held
//!   against a peer. (`whichever_call_fails_what_was_asked_ends_in_time_and_nothing_stays`,
//!   `a_peer_whose_region_is_too_large_for_this_process_is_an_error_and_not_its_end`,
//!   `a_region_larger_than_files_may_be_is_an_error_and_kills_nobody`)
//!
//! ## Over several hops
//!
//! - **P22** Processors whose buffers are all full go on, whatever the routes are, and a processor
//!   that receives nothing stops nobody else.
//!   (`full_lines_rings_and_meshes_go_on_and_lose_nothing`,
//!   `routes_that_lead_round_and_round_end_at_the_hop_limit`,
//!   `a_processor_that_receives_nothing_stops_nobody_else`,
//!   `lines_rings_and_meshes_under_full_load_lose_nothing_and_end`)
//! - **P23** No message comes twice in one life of its receiver. One that does not come, though the
//!   processors that had it live, is counted where it was dropped; if a link comes back, it comes.
//!   (`with_another_way_left_nothing_is_lost_or_doubled_while_links_come_and_go`,
//!   `without_another_way_messages_wait_and_are_lost_only_by_going_round_too_often`,
//!   `processors_that_start_anew_get_nothing_twice_in_one_life`,
//!   `while_links_end_and_come_back_nothing_is_lost_or_doubled`)
//! - **P24** Whatever a neighbour sends, the worst that happens to its processor is the end of that
//!   one link; every buffer is free again. But whose the messages are that it passes on, and their
//!   numbers, are believed.
//!   (`whatever_comes_the_link_goes_on_or_ends_and_no_buffer_is_lost`,
//!   `a_message_that_a_driver_may_still_read_is_kept_whatever_the_neighbour_says`)
#![no_std]

#[cfg(feature = "_conformance")]
pub mod conformance;
pub mod connection;
pub mod driver;
pub mod endpoint;
pub mod link;
pub mod linx;
pub mod memory;
pub mod mqx;
mod name;
pub mod notify;
pub mod platform;
pub mod span;
pub mod strategy;

#[cfg(test)]
extern crate std;
