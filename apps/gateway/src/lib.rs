//! A media gateway whose codecs run in a second process, the DSP, which it calls over Narrows.
//!
//! In the order in which a call meets them: [`control`] has the socket by which a proxy speaks
//! [`ng`], [`sdp`] what it says of media, [`call`] the two sides. [`media`] receives and sends RTP.
//! [`carry`] leads to the thread that has the `link` to the DSP, with a `lane` for each direction,
//! and [`tuner`] says how frames travel. [`frame`] is what travels; [`dsp`], [`transcode`] and
//! [`throttle`] are at the other end.

pub mod call;
pub mod carry;
pub mod control;
pub mod dsp;
pub mod figures;
pub mod frame;
mod lane;
mod link;
mod measure;
pub mod media;
pub mod ng;
pub mod program;
pub mod sdp;
pub mod statistics;
pub mod throttle;
pub mod transcode;
pub mod tuner;
