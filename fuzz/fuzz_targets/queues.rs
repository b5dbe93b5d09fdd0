//! See `narrows_fuzz::queues`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| narrows_fuzz::queues::run(data));
