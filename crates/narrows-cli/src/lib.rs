//! What the command `narrows` is made of.
//!
//! It has floors, and each names only those below it, from the ground up: [`base`] is how the
//! command fails and prints, [`formats`] what users write down, [`rig`] two linked places and
//! what is measured between them, [`experiments`] what is carried out on a rig, [`answers`]
//! what follows from it, and [`services`] what runs beside programs of users. [`flags`] gathers
//! what the rooms can be asked for, [`heeded`] refuses what would do nothing and has help not show
//! it, [`manual`] writes pages of the rest, and `main` hands what was asked for to the rooms.
//! `ci/imports` keeps the floors, and the ranks of the rooms of each.
#![deny(unsafe_code)]

pub mod answers;
pub mod base;
pub mod experiments;
pub mod flags;
pub mod formats;
pub mod heeded;
pub mod manual;
pub mod rig;
pub mod services;
