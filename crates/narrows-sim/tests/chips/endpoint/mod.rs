//! The tests of the endpoint, the same files as over the heap, over a simulated chip. Both ends are
//! one process of its first core, as there they are one thread; what needs two cores is in the
//! suite of all drivers, and the death of a process in the tests of faults.

pub mod ground;
#[allow(dead_code, reason = "some of it is for tests over the heap alone")]
#[path = "../../../../narrows/tests/common/pair.rs"]
mod pair;
#[allow(dead_code, reason = "some of it is for tests over the heap alone")]
#[path = "../../../../narrows/tests/common/world.rs"]
pub mod world;

#[path = "../../../../narrows/tests/endpoint/answers.rs"]
mod answers;
#[path = "../../../../narrows/tests/endpoint/calls.rs"]
mod calls;
#[path = "../../../../narrows/tests/endpoint/death.rs"]
mod death;
#[path = "../../../../narrows/tests/endpoint/links.rs"]
mod links;
#[path = "../../../../narrows/tests/endpoint/loans.rs"]
mod loans;
#[path = "../../../../narrows/tests/endpoint/messages.rs"]
mod messages;
#[path = "../../../../narrows/tests/endpoint/outstanding.rs"]
mod outstanding;
#[path = "../../../../narrows/tests/endpoint/quick.rs"]
mod quick;
#[path = "../../../../narrows/tests/endpoint/room.rs"]
mod room;
#[path = "../../../../narrows/tests/endpoint/several.rs"]
mod several;
#[path = "../../../../narrows/tests/endpoint/switching.rs"]
mod switching;
#[path = "../../../../narrows/tests/endpoint/timers.rs"]
mod timers;
#[path = "../../../../narrows/tests/endpoint/walk.rs"]
mod walk;
