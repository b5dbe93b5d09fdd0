//! The medium is one of frames, and survives what a peer writes.

use std::sync::Arc;

use narrows::conformance::frames::{self, Medium};
use narrows::driver::{Frames as _, NoFrame};
use narrows::memory::Layout;
use narrows::platform::{Memory as _, OwnMemory as _};
use rustix::net::{SendFlags, send};

use super::stream::{Stream, pair};
use crate::memory::Region;

struct Streams;

impl Medium for Streams {
    type End = Stream<Region>;

    fn pair(&self) -> [Stream<Region>; 2] {
        let (a, b) = pair().expect("two ends");
        [a, b].map(|end| Stream::new(Arc::new(end)))
    }
    fn buffer(&self, bytes: &[u8]) -> Region {
        let (region, _) =
            Region::new(&Layout::standard(crate::memory::LINE).expect("a line")).expect("memory");
        region.write(0, bytes).expect("it is longer");
        region
    }
    fn show(&self, buffer: &Region, to: &mut [u8]) {
        buffer.read(0, to).expect("it is longer");
    }
    fn push(&self, end: &mut Stream<Region>) {
        // What ended it, the next frame is told.
        let _ = end.flush();
    }
}

#[test]
fn a_stream_is_a_medium_of_frames() {
    frames::run(&Streams);
}

#[test]
fn what_cannot_be_understood_ends_it_and_what_is_cut_is_no_frame() {
    for bytes in [&[0xff; 8][..], &[1, 0x80, 0, 0, 0], &[5, 0, 0, 0, 1, 2, 3, 4], &[9, 0]] {
        let (a, b) = pair().expect("two ends");
        send(&a, bytes, SendFlags::empty()).expect("room");
        drop(a);
        assert_eq!(
            Stream::<Region>::new(Arc::new(b)).try_receive(&mut [0; 4]),
            Err(NoFrame::Gone),
            "{bytes:?}"
        );
    }
}
