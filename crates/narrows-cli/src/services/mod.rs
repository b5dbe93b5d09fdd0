//! What runs beside programs of users, or as long as somebody looks: [`bridge`] links their nodes
//! with those of other machines, [`record`] keeps what they send, [`view`] shows traces in a
//! browser.

pub mod bridge;
pub mod record;
pub mod view;
