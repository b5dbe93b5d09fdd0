//! See `narrows_fuzz::status`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| narrows_fuzz::status::run(data));
