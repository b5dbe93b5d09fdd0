//! Two linked places and what is measured between them; no experiment.
//!
//! A [`place`] is a core of this machine or of a simulated chip ([`sim`]). [`peer`] starts the
//! other core's side and links to it, [`callee`] is what runs there, [`service`] what it can be
//! asked about itself. A [`pair`] takes batches of the stack and of the [`limit`], which is what
//! the machine allows without the stack; a [`series`] collects them, [`phases`] reads the stamps of
//! both sides. `costs` measures what the model of `plan` is told. [`susan`] is an application for
//! measurements.

pub mod callee;
pub mod cluster;
pub(crate) mod costs;
pub(crate) mod crowd;
pub(crate) mod ipc;
pub mod limit;
pub(crate) mod linx;
pub(crate) mod mcapi;
pub mod pair;
pub mod peer;
pub mod phases;
pub mod place;
pub(crate) mod plan;
pub mod series;
pub mod service;
pub mod sim;
pub mod sink;
pub mod susan;
