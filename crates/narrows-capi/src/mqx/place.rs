//! The header of a message as C has it: the first bytes of the message, in this machine's order.

use narrows_host::mqx::{Control, HEAD, Header, QueueId};

/// The header is little endian, and so are the data behind it.
const LITTLE: u8 = 0x60;
/// Which bits of `CONTROL` say that.
const ENDIAN: u8 = 0x60;
const HEADER_ENDIAN: u8 = 0x40;
const DATA_ENDIAN: u8 = 0x20;

/// The order of this machine's bytes.
const NATIVE: u8 = if cfg!(target_endian = "little") { LITTLE } else { 0 };

/// `CONTROL` of a message.
const CONTROL: usize = 6;

/// Writes a message's header, whose `SIZE` counts itself.
pub(super) fn write(header: &Header, whole: &mut [u8]) {
    let size = u16::try_from(header.size as usize + HEAD).unwrap_or(u16::MAX);
    let control = NATIVE | header.control.bits().unwrap_or(0);
    let [s, z] = size.to_ne_bytes();
    let [t, g] = header.target.0.to_ne_bytes();
    let [f, m] = header.source.0.to_ne_bytes();
    if let Some(head) = whole.get_mut(..HEAD) {
        head.copy_from_slice(&[s, z, t, g, f, m, control, 0]);
    }
}

/// Reads a message's header. None, if `SIZE` does not even count the header.
pub(super) fn read(whole: &[u8]) -> Option<Header> {
    let &[s, z, t, g, f, m, control, _] = whole.get(..HEAD)? else { return None };
    Some(Header {
        size: usize::from(u16::from_ne_bytes([s, z])).checked_sub(HEAD)? as u32,
        target: QueueId(u16::from_ne_bytes([t, g])),
        source: QueueId(u16::from_ne_bytes([f, m])),
        control: Control::of(control & !(ENDIAN | 0x80)).unwrap_or_default(),
    })
}

/// Swaps the bytes of each field of a header, which is in this machine's order then.
pub(super) fn swap_header(whole: &mut [u8]) {
    if let Some(head) = whole.get_mut(..HEAD) {
        for field in head[..CONTROL].chunks_exact_mut(2) {
            field.reverse();
        }
        head[CONTROL] = head[CONTROL] & !HEADER_ENDIAN | NATIVE & HEADER_ENDIAN;
    }
}

/// Swaps the bytes of fields of the data: as many bytes for each as `fields` says. A field that is
/// not all in the message stays as it is, and so do those behind it.
pub(super) fn swap_data(whole: &mut [u8], fields: &[u8]) {
    let mut at = HEAD;
    for &len in fields {
        let end = at + usize::from(len);
        let Some(field) = whole.get_mut(at..end) else { break };
        field.reverse();
        at = end;
    }
    if let Some(control) = whole.get_mut(CONTROL) {
        *control = *control & !DATA_ENDIAN | NATIVE & DATA_ENDIAN;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let control = Control { priority: 15, urgent: true };
        let (target, source) = (QueueId::new(3, 8), QueueId::new(1, 9));
        for size in [0, 1, 65527] {
            let header = Header { size, target, source, control };
            let mut whole = [0xff; HEAD + 1];
            write(&header, &mut whole);
            assert_eq!(read(&whole), Some(header));
            assert_eq!((whole[7], whole[8]), (0, 0xff));
        }
    }

    #[test]
    fn a_size_below_the_headers_is_none() {
        let mut whole = [0; HEAD];
        whole[..2].copy_from_slice(&7u16.to_ne_bytes());
        assert_eq!(read(&whole), None);
        assert_eq!(read(&whole[..7]), None);
    }

    #[test]
    fn swapped_twice_is_as_before() {
        let mut whole: Vec<u8> = (0..16).collect();
        swap_data(&mut whole, &[2, 1, 4, 2]);
        assert_eq!(whole[8..], [9, 8, 10, 14, 13, 12, 11, 15], "the last field is not all there");
        swap_data(&mut whole, &[2, 1, 4]);
        swap_header(&mut whole);
        assert_eq!(whole[..6], [1, 0, 3, 2, 5, 4]);
        assert_eq!(whole[6], 6 & !ENDIAN | NATIVE);
        assert_eq!(whole[8..], [8, 9, 10, 11, 12, 13, 14, 15]);
    }
}
