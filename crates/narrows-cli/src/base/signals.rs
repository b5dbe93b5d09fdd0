//! Ctrl-C and its like.

use crate::base::failure::{Failure, Kind};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that Ctrl-C and its like set. A second one ends the process at once.
pub fn catch_signals() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let code = i32::from(Kind::Stopped.code());
        signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .map_err(|error| {
                let sentence = format!("the system refuses to tell of Ctrl-C: {error}");
                Failure::new(Kind::Internal, sentence)
            })?;
    }
    Ok(stop)
}
