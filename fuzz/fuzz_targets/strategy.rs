//! See `narrows_fuzz::strategy`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| narrows_fuzz::strategy::run(data));
