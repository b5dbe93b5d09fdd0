//! What several test programs use.
#![allow(dead_code, unused_imports, reason = "each test file uses its part of it")]

use narrows::{conformance, connection, driver, link, memory, platform, span};

pub mod carried;
pub mod forge;
pub mod frames;
pub mod ground;
pub mod heap;
pub mod pair;
pub mod tables;
pub mod world;
