//! What the endpoint promises, over the Unix stream sockets that carry links of a host: the tests
//! of `endpoint` in the stack, the same files. All nodes are in one thread; what needs two
//! processes is in `host` and `alone`.

#[path = "../../../narrows/tests/endpoint/answers.rs"]
mod answers;
#[path = "../../../narrows/tests/endpoint/calls.rs"]
mod calls;
mod common;
#[path = "../../../narrows/tests/endpoint/death.rs"]
mod death;
#[path = "../../../narrows/tests/endpoint/growth.rs"]
mod growth;
#[path = "../../../narrows/tests/endpoint/links.rs"]
mod links;
#[path = "../../../narrows/tests/endpoint/loans.rs"]
mod loans;
#[path = "../../../narrows/tests/endpoint/messages.rs"]
mod messages;
#[path = "../../../narrows/tests/endpoint/news.rs"]
mod news;
#[path = "../../../narrows/tests/endpoint/outstanding.rs"]
mod outstanding;
#[path = "../../../narrows/tests/endpoint/quick.rs"]
mod quick;
#[path = "../../../narrows/tests/endpoint/room.rs"]
mod room;
#[path = "../../../narrows/tests/endpoint/several.rs"]
mod several;
#[path = "../../src/carrier/stream.rs"]
mod stream;
#[path = "../../../narrows/tests/endpoint/switching.rs"]
mod switching;
#[path = "../../../narrows/tests/endpoint/timers.rs"]
mod timers;
#[path = "../../../narrows/tests/endpoint/urgent.rs"]
mod urgent;
#[path = "../../../narrows/tests/endpoint/walk.rs"]
mod walk;
