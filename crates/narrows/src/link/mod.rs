//! Names, hunting, attaching, and what is left when a peer dies.

mod name;

pub use name::{Name, NameError};
