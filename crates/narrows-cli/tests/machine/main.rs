//! The command as a user starts it, where it carries and measures between processes of this
//! machine. `cargo test -p narrows-cli --test machine storm::` runs one theme.

mod bench;
mod bridge;
mod calibrate;
#[path = "../common/mod.rs"]
mod common;
mod gateway;
mod linx;
mod peer;
mod ps;
mod record;
mod run;
mod sessions;
mod storm;
mod voip;
