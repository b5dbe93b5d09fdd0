//! Frames without a header: of signals between the same two as one before, whose header said so.

use narrows::connection::{Header, UDATA};

/// The tag of a frame that is a whole signal, and whose ends those behind it may have.
pub(super) const NAMES: u16 = 1;
/// The tag of a frame without its header, if it gives nothing back. Such a signal has the ends that
/// were named last; the tag says more by how many signals it gives back.
const BARE: u16 = 1 << 15;

/// The tag of a frame without its header that gives this many signals back, if that can be said.
#[inline]
pub(super) fn tag(given: u16) -> Option<u16> {
    (given < BARE).then_some(BARE | given)
}

/// How many signals a frame of this tag gives back, if it has no header.
#[inline]
pub(super) fn given(tag: u16) -> Option<u16> {
    (tag & BARE != 0).then_some(tag & !BARE)
}

/// Sender and receiver of a link's signals, as they were named last; 0 until then.
pub(super) type Ends = [u32; 2];

/// Completes a frame that came with this tag and has `len` bytes with its header: notes the ends
/// that it names, or writes the header that was left out, from the numbers that it has to have. The
/// header of signals whose ends nobody named is none.
pub(super) fn complete(
    tag: u16,
    ends: &mut Ends,
    [number, returned]: [u16; 2],
    header: &mut [u8; UDATA],
    len: usize,
) {
    if let Some(given) = given(tag) {
        *header = [0; UDATA];
        let [from, to] = *ends;
        let size = u32::try_from(len.saturating_sub(UDATA)).ok().filter(|_| to != 0);
        if let Some(size) = size {
            let udata = Header::Udata { size, from, to };
            udata.write(number, returned.wrapping_add(given), header);
        }
    } else if tag == NAMES
        && let Ok((Header::Udata { from, to, .. }, ..)) = Header::read(header, len)
    {
        *ends = [from, to];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_was_left_out_is_the_one_that_was_named_with_the_next_numbers() {
        let header = |number, freed, size| {
            let mut bytes = [0; UDATA];
            Header::Udata { size, from: 7, to: 9 }.write(number, freed, &mut bytes);
            bytes
        };
        let (mut ends, mut bytes) = ([0; 2], [3; UDATA]);
        complete(BARE, &mut ends, [1, 0], &mut bytes, UDATA + 5);
        assert_eq!((ends, bytes), ([0; 2], [0; UDATA]), "nobody was named");
        let mut named = header(1, 0, 5);
        complete(0, &mut ends, [1, 0], &mut named, UDATA + 5);
        assert_eq!((ends, named), ([0; 2], header(1, 0, 5)), "it names nobody");
        complete(NAMES, &mut ends, [1, 0], &mut named, UDATA + 5);
        assert_eq!((ends, named), ([7, 9], header(1, 0, 5)));
        complete(BARE | 3, &mut ends, [2, 65535], &mut bytes, UDATA + 30);
        assert_eq!((ends, bytes), ([7, 9], header(2, 2, 30)));
    }

    #[test]
    fn a_tag_says_what_is_given_back_or_that_there_is_a_header() {
        for more in [0, 1, 0x7fff] {
            assert_eq!(tag(more).and_then(given), Some(more));
        }
        assert_eq!((tag(0x8000), given(0), given(NAMES)), (None, None, None));
    }
}
