//! Stations of LINX at both ends: the drivers of its test cases, over memory of this machine or of
//! a chip, and what the other core's process does when it is ordered to take part.

pub(crate) mod around;
pub(crate) mod carrier;
pub(crate) mod desk;
pub(crate) mod driver;
pub(crate) mod end;
pub(crate) mod hand;
pub(crate) mod memory;
pub(crate) mod processes;
pub(crate) mod side;
pub(crate) mod station;
pub(crate) mod threads;
pub(crate) mod way;
