//! See `narrows_fuzz::descriptor`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| narrows_fuzz::descriptor::run(data));
