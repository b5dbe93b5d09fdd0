//! See `narrows_fuzz::platform`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| narrows_fuzz::platform::run(data));
