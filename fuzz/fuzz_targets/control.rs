//! See `narrows_fuzz::control`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| narrows_fuzz::control::run(data));
