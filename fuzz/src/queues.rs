//! Frames of a neighbour of the IPC service, well-formed and raw, while the processor beside it
//! sends, receives, passes on and loses its other link.
//!
//! A neighbour is trusted with whose the messages are that it passes on, so what of others' comes
//! through is not looked at: every buffer comes back, and every queue is sound.

use narrows::mqx::{Control, Frame, Header, LONGEST, Limits, QueueId};

use crate::common::frames::{Line, line};
use crate::input::Input;
use crate::net::{Net, QUEUE, row};

const HOPS: u8 = 3;
/// Messages of the pool of each processor.
const MESSAGES: usize = 32;

fn put(line: &Line, frame: &[u8]) {
    line.out.borrow_mut().frames.push_back(frame.to_vec());
}

/// A frame with the fields that the input has, as large as it says or not.
fn made(input: &mut Input<'_>) -> Vec<u8> {
    let credit = [0; HOPS as usize].map(|_: u16| u16::from(input.byte() % 8));
    let marks = input.byte();
    let header = Header {
        size: u32::from(input.byte()),
        target: QueueId::new(input.byte() % 5, if marks & 4 == 0 { QUEUE } else { input.byte() }),
        source: QueueId::new(3, QUEUE),
        control: Control { priority: input.byte() % 16, urgent: marks & 8 != 0 },
    };
    let frame = match marks >> 5 {
        0 => Frame::Hello { processor: 3, longest: input.word() },
        1 => Frame::Credit { taken: input.short() },
        2 => Frame::Part { offset: u32::from(input.byte()) },
        _ => Frame::Message {
            header,
            origin: 3,
            life: u64::from(input.byte()),
            number: input.word(),
            hops: input.byte() % (HOPS + 2),
            soon: marks & 1 != 0,
            again: marks & 2 != 0,
            taken: u16::from(input.byte() % 4),
        },
    };
    let mut bytes = [0; LONGEST];
    let len = frame.write(&credit, &mut bytes);
    let payload = input.byte() as usize % 64;
    let payload = if marks & 16 == 0 { header.size as usize % 64 } else { payload };
    [&bytes[..len], &vec![7; payload]].concat()
}

/// Each step is a byte: a frame that comes, or what the application or the other link does.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let limits = Limits { processors: 9, hops: HOPS, quota: 2, longest: 1000, ..Limits::default() };
    // 1 and 2 are honest. 3 is the input, at the other end of the line.
    let mut net = Net::new(&row(3), limits, (2048, 100));
    net.cut(1);
    let (mut two, mut three) = line(2048, 100);
    net.of(2).connect(1).expect("a link of the table");
    while !input.is_empty() {
        match input.byte() % 8 {
            0 => put(&three, input.counted()),
            1 | 2 => put(&three, &made(&mut input)),
            3 => {
                let to = input.byte() % 4;
                if let Some(message) = net.message(2, to, b"to anybody")
                    && net.of(2).send(message).is_err()
                {
                    net.of(2).free(message).expect("still the sender's");
                }
            }
            4 => drop(net.text(1 + input.byte() % 3)),
            5 => net.cut(0),
            6 => net.mend(0),
            _ => net.run(),
        }
        if net.of(2).serve(1, &mut two).is_err() {
            (two, three) = line(2048, 100);
            net.of(2).connect(1).expect("a link of the table");
        }
    }
    net.of(2).disconnect(1);
    net.mend(0);
    net.mend(1);
    net.run();
    for number in 1..=3 {
        while net.text(number).is_some() {}
        assert_eq!(net.of(number).test(), Ok(()));
        net.of(number).abandon();
    }
    net.run();
    for number in 1..=3 {
        while net.text(number).is_some() {}
        let free = std::iter::from_fn(|| net.of(number).alloc_system(1).ok()).count();
        assert_eq!(free, MESSAGES, "of {number}");
    }
}
