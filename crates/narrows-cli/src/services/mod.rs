//! What runs beside programs of users: [`bridge`] links their nodes with those of other machines,
//! [`record`] keeps what they send.

pub mod bridge;
pub mod record;
