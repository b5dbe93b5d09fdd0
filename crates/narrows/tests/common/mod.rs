//! What several test programs use.

use narrows::{link, platform, span};

pub mod heap;
pub mod tables;
