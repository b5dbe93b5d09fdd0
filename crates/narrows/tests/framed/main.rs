//! What the endpoint promises, over a carrier of frames that lies in memory: the tests of
//! `endpoint`, the same files, where the two nodes share no memory.
#![cfg(not(loom))]

#[path = "../endpoint/answers.rs"]
mod answers;
#[path = "../endpoint/calls.rs"]
mod calls;
#[path = "../common/mod.rs"]
mod common;
#[path = "../endpoint/death.rs"]
mod death;
#[path = "../endpoint/growth.rs"]
mod growth;
#[path = "../endpoint/links.rs"]
mod links;
#[path = "../endpoint/loans.rs"]
mod loans;
#[path = "../endpoint/messages.rs"]
mod messages;
#[path = "../endpoint/news.rs"]
mod news;
#[path = "../endpoint/outstanding.rs"]
mod outstanding;
#[path = "../endpoint/quick.rs"]
mod quick;
#[path = "../endpoint/room.rs"]
mod room;
#[path = "../endpoint/several.rs"]
mod several;
#[path = "../endpoint/switching.rs"]
mod switching;
#[path = "../endpoint/timers.rs"]
mod timers;
#[path = "../endpoint/urgent.rs"]
mod urgent;
#[path = "../endpoint/walk.rs"]
mod walk;
