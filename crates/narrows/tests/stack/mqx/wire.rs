//! docs/WIRE.md against the frames of the IPC service.

use narrows::mqx::{Control, Frame, Header, LONGEST, QueueId};

use crate::common::tables::{number, table};

const CLASSES: usize = 3;
const CREDIT: [u16; CLASSES] = [0x0201, 0x0403, 0x0605];

fn frames() -> [(&'static str, Frame); 4] {
    let header = Header {
        size: 0x1122_3344,
        target: QueueId::new(0x55, 0x66),
        source: QueueId::new(0x77, 0x88),
        control: Control { priority: 9, urgent: true },
    };
    let message = Frame::Message {
        header,
        origin: 0x99,
        life: 0x0102_0304_aabb_ccdd,
        number: 0xeeff_0102,
        hops: 2,
        soon: true,
        again: true,
        taken: 0xabcd,
    };
    [
        ("HELLO", Frame::Hello { processor: 7, longest: 0x0908_0706 }),
        ("MESSAGE", message),
        ("PART", Frame::Part { offset: 0x0a0b_0c0d }),
        ("CREDIT", Frame::Credit { taken: 0xdcba }),
    ]
}

/// What the page's field has in one of these frames.
fn value(frame: &str, what: &str) -> u64 {
    if let Some((_, value)) = what.split_once(": ") {
        return number(value).into();
    }
    match (frame, what) {
        (_, "zero") => 0,
        ("HELLO", "processor") => 7,
        ("HELLO", "hop limit") => CLASSES as u64,
        ("HELLO", "longest") => 0x0908_0706,
        ("MESSAGE", "urgency") => 9 + 16,
        ("MESSAGE", "taken") => 0xabcd,
        ("MESSAGE", "target") => 0x5566,
        ("MESSAGE", "source") => 0x7788,
        ("MESSAGE", "size") => 0x1122_3344,
        ("MESSAGE", "origin") => 0x99,
        ("MESSAGE", "hops") => 2,
        ("MESSAGE", "marks") => 1 + 2,
        ("MESSAGE", "number") => 0xeeff_0102,
        ("MESSAGE", "life") => 0x0102_0304_aabb_ccdd,
        ("PART", "offset") => 0x0a0b_0c0d,
        ("CREDIT", "taken") => 0xdcba,
        _ => panic!("WIRE.md has a field {what:?} of {frame} that this test does not know"),
    }
}

#[test]
fn frames_lie_as_the_page_says() {
    let rows = table("Frames of the IPC service", "byte");
    for (name, frame) in frames() {
        let mut bytes = [0xff; LONGEST];
        let len = frame.write(&CREDIT, &mut bytes);
        let mut at = 0;
        for row in rows.iter().filter(|row| row[2] == name) {
            assert_eq!(number(&row[0]) as usize, at, "{row:?}");
            if row[3] == "credit" {
                for credit in CREDIT {
                    assert_eq!(bytes[at..at + 2], credit.to_le_bytes(), "{row:?}");
                    at += 2;
                }
                continue;
            }
            let field = &bytes[at..at + number(&row[1]) as usize];
            let read = field.iter().rev().fold(0, |read, byte| read << 8 | u64::from(*byte));
            assert_eq!(read, value(name, &row[3]), "{row:?}");
            at += field.len();
        }
        assert_eq!(at, len, "{name}: the page has all fields");
    }
    assert!(rows.iter().all(|row| frames().iter().any(|(name, _)| row[2] == *name)));
}
