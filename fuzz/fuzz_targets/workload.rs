//! See `narrows_fuzz::workload`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| narrows_fuzz::workload::run(data));
