//! What several test programs use.
#![allow(dead_code)]

use narrows::{link, platform, span};

pub mod heap;
pub mod tables;
pub mod world;
