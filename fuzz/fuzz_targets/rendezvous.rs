//! See `narrows_fuzz::rendezvous`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| narrows_fuzz::rendezvous::run(data));
