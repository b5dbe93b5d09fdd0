//! What runs beside programs of users: [`bridge`] links their nodes with those of other machines.

pub mod bridge;
