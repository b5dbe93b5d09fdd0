//! Strategies as text: what is read can be used, and is written so that it is read again.

use narrows::strategy::Strategy;

/// The bytes are the text.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match text.parse::<Strategy>() {
        Ok(strategy) => {
            assert_eq!(strategy.check(), Ok(strategy), "{text:?}");
            assert_eq!(strategy.to_string().parse(), Ok(strategy), "{text:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
