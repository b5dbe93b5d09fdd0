//! A media gateway whose codecs run in a second process, the DSP, which it calls over Narrows.

pub mod dsp;
pub mod frame;
pub mod program;
pub mod throttle;
pub mod transcode;
