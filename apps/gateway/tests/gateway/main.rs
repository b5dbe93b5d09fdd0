//! The gateway and its DSP as processes, with RTP that is sent to them from here and by others.

mod audio;
mod clients;
mod control;
mod dsp;
mod machine;
mod rtp;
