//! A text answer of a given size.

/// Fills `text` with readable lines that name the call; every byte is printable ASCII or a
/// line's end, and the last one is a line's end.
pub fn write(call: u32, text: &mut [u8]) {
    let mut line = 0u64;
    let mut rest = &mut *text;
    while !rest.is_empty() {
        line += 1;
        let sentence = format!("call {call}, line {line}: the other core is well\n");
        let length = sentence.len().min(rest.len());
        let (now, later) = rest.split_at_mut(length);
        now.copy_from_slice(sentence.as_bytes().get(..length).unwrap_or_default());
        rest = later;
    }
    if let Some(last) = text.last_mut() {
        *last = b'\n';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_filled_with_text() {
        for size in 0..200 {
            let mut text = vec![0; size];
            write(42, &mut text);
            assert!(text.iter().all(|byte| *byte == b'\n' || (32..127).contains(byte)));
            assert!(text.is_empty() || text.ends_with(b"\n"));
        }
        let mut text = vec![0; 100];
        write(42, &mut text);
        assert!(text.starts_with(b"call 42, line 1: "));
    }
}
