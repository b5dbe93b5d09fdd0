//! See `narrows_fuzz::link`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| narrows_fuzz::link::run(data));
