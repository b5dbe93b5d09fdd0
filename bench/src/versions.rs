//! Which versions of the contenders were built in: what Cargo.lock says.

const LOCK: &str = include_str!("../Cargo.lock");

/// The version of a crate that is linked in.
pub fn of(name: &str) -> String {
    let entry = format!("name = \"{name}\"");
    let mut lines = LOCK.lines().skip_while(|line| *line != entry);
    let version = lines.nth(1).and_then(|line| line.strip_prefix("version = \""));
    version.map_or("unknown", |version| version.trim_end_matches('"')).to_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_linked_is_known_and_nothing_else() {
        for name in ["rtrb", "iceoryx2", "zmq", "nng-c", "nng-c-sys", "ipc-channel"] {
            assert!(super::of(name).starts_with(|c: char| c.is_ascii_digit()), "{name}");
        }
        assert_eq!(super::of("no-such-crate"), "unknown");
    }
}
