//! What the first process of `bench susan` has the others do.

use serde::{Deserialize, Serialize};

use crate::rig::susan::Find;

/// The longest row: a packet's.
pub const LONGEST: usize = super::mcapi::LONGEST;

/// The part of another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Pixels of a row.
    pub width: usize,
    /// Rows of the strip.
    pub rows: usize,
    /// The first row of the results in the strip, and the one behind the last.
    pub keep: (usize, usize),
    /// What is to be found.
    pub finds: [Option<Find>; 3],
    /// The brightness difference threshold.
    pub threshold: u8,
    /// Whether anything is found, and rows do not only go there and back.
    pub computes: bool,
    /// How often.
    pub count: u32,
}

/// What another process is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Open a node of this number and its two channels, which the first process's node connects.
    Open(u32),
    /// Get a strip, and give what is in it.
    Take(Part),
    /// End the node.
    Close,
}

impl Order {
    /// Whether it can be done.
    pub fn is_possible(&self) -> bool {
        let Order::Take(part) = self else { return true };
        let (first, last) = part.keep;
        (1..=LONGEST).contains(&part.width) && first <= last && last <= part.rows
    }
}
