//! What the stack's tests of the endpoint stand on, with a carrier of its own.
#![allow(dead_code, unused_imports, reason = "some of it is for other tests of the stack")]

use narrows::{conformance, connection, driver, link, memory, platform, span};

pub mod frames;

#[path = "../../../../narrows/tests/common/carried.rs"]
pub mod carried;
#[path = "../../../../narrows/tests/common/ground.rs"]
pub mod ground;
#[path = "../../../../narrows/tests/common/heap.rs"]
pub mod heap;
#[path = "../../../../narrows/tests/common/pair.rs"]
pub mod pair;
#[path = "../../../../narrows/tests/common/world.rs"]
pub mod world;
