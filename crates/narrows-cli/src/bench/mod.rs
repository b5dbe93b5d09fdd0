//! `narrows bench`: the stack beside what the machine itself allows.

pub mod limit;
