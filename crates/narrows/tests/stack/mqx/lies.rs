//! What a neighbour sends that it must not.

use narrows::link::route::Lie;
use narrows::mqx::{Broken, Control, Ended, Frame, Header, LONGEST, Limits, QueueId};

use super::net::{Net, QUEUE, Random, TASK, cases, row};
use crate::common::frames::{Line, line};

const HOPS: u8 = 3;

fn limits() -> Limits {
    Limits { processors: 9, hops: HOPS, quota: 2, longest: 1000, ..Limits::default() }
}

/// 1 and 2 are honest. 3 is the test, at the other end of the line, which has heard who 2 is.
fn scene() -> (Net, Line, Line) {
    let mut net = Net::new(&row(3), limits(), (2048, 100));
    net.cut(1);
    net.of(2).connect(1).expect("a link of the table");
    let (mut two, three) = line(2048, 100);
    net.of(2).serve(1, &mut two).expect("nothing came");
    (net, two, three)
}

fn send(line: &Line, frame: Frame, credit: &[u16; HOPS as usize], payload: &[u8]) {
    let mut bytes = [0; LONGEST];
    let len = frame.write(credit, &mut bytes);
    line.out.borrow_mut().frames.push_back([&bytes[..len], payload].concat());
}

const HELLO: Frame = Frame::Hello { processor: 3, longest: 1000 };

fn to(processor: u8, size: u32, number: u32, hops: u8) -> Frame {
    let header = Header {
        size,
        target: QueueId::new(processor, QUEUE),
        source: QueueId::new(3, QUEUE),
        control: Control::default(),
    };
    let (soon, again, taken) = (false, false, 0);
    Frame::Message { header, origin: 3, life: 0, number, hops, soon, again, taken }
}

#[test]
fn every_lie_ends_its_link_with_its_reason_and_no_other() {
    let taken = |taken| Frame::Credit { taken };
    let full = [0; 3];
    type Said = Vec<(Frame, [u16; 3], usize)>;
    let lies: Vec<(Broken, Said)> = vec![
        (Broken::Begin, vec![(to(2, 0, 0, 1), full, 0)]),
        (Broken::Begin, vec![(HELLO, full, 0), (HELLO, full, 0)]),
        (Broken::Processor, vec![(Frame::Hello { processor: 4, longest: 9 }, full, 0)]),
        (Broken::Size, vec![(HELLO, full, 0), (to(2, 1001, 0, 1), full, 1001)]),
        (Broken::Size, vec![(HELLO, full, 0), (to(2, 10, 0, 1), full, 11)]),
        (
            Broken::Size,
            vec![
                (HELLO, full, 0),
                (to(2, 10, 0, 1), full, 9),
                (Frame::Part { offset: 9 }, full, 2),
            ],
        ),
        (Broken::Part, vec![(HELLO, full, 0), (Frame::Part { offset: 0 }, full, 1)]),
        (
            Broken::Part,
            vec![
                (HELLO, full, 0),
                (to(2, 10, 0, 1), full, 5),
                (Frame::Part { offset: 4 }, full, 1),
            ],
        ),
        (
            Broken::Part,
            vec![(HELLO, full, 0), (to(2, 10, 0, 1), full, 5), (to(2, 10, 1, 1), full, 5)],
        ),
        (Broken::Credit(Lie::Credit), vec![(HELLO, full, 0), (to(2, 1, 0, 0), full, 1)]),
        (Broken::Credit(Lie::Credit), vec![(HELLO, full, 0), (to(2, 1, 0, HOPS + 1), full, 1)]),
        (
            // Three messages where two have room: the third goes nowhere, so the others stay.
            Broken::Credit(Lie::Credit),
            vec![
                (HELLO, full, 0),
                (to(1, 1, 0, 1), full, 1),
                (to(1, 1, 1, 1), full, 1),
                (to(1, 1, 2, 1), full, 1),
            ],
        ),
        (Broken::Credit(Lie::Taken), vec![(HELLO, full, 0), (taken(1), full, 0)]),
        (Broken::Credit(Lie::Grant), vec![(HELLO, [5; 3], 0), (taken(0), [4; 3], 0)]),
    ];
    for (reason, said) in lies {
        let (mut net, mut two, three) = scene();
        // The others are in the middle of something.
        let message = net.message(1, 2, b"honest").expect("one is free");
        net.of(1).send(message).expect("room");
        for (frame, credit, bytes) in &said {
            send(&three, *frame, credit, &vec![7; *bytes]);
        }
        assert_eq!(net.of(2).serve(1, &mut two), Err(Ended::Broken(reason)), "{said:?}");
        assert_eq!(net.of(2).counts().broken, 1);
        assert!(!net.of(2).is_up(1) && net.of(2).is_up(0));
        net.run();
        let got: Vec<_> = std::iter::from_fn(|| net.text(2)).collect();
        assert!(got.contains(&b"honest".to_vec()));
        // An honest neighbour at the same link has all buffers.
        net.mend(1);
        net.run();
        for n in 0..50 {
            let message = net.message(3, 1, &[n]).expect("one is free");
            net.of(3).send(message).expect("room");
            net.run();
        }
        while net.text(1).is_some() {}
        assert_eq!(net.of(1).counts().delivered, 50 + message_count(&said));
    }
}

/// Messages to 1 that were taken before the lie.
fn message_count(said: &[(Frame, [u16; 3], usize)]) -> u64 {
    let to_one = |frame: &Frame| match frame {
        Frame::Message { header, .. } => header.target.processor() == 1,
        _ => false,
    };
    said.iter().filter(|(frame, ..)| to_one(frame)).count().saturating_sub(1) as u64
}

#[test]
fn a_frame_that_is_shorter_than_its_header_or_longer_is_refused() {
    for len in 0..LONGEST {
        let (mut net, mut two, three) = scene();
        send(&three, HELLO, &[9; 3], &[]);
        let mut bytes = [0; LONGEST];
        let whole = to(1, 0, 0, 1).write(&[9; 3], &mut bytes);
        three.out.borrow_mut().frames.push_back(bytes[..len.min(whole + 1)].to_vec());
        let served = net.of(2).serve(1, &mut two);
        assert_eq!(served.is_ok(), len == whole, "{len} bytes: {served:?}");
    }
}

#[test]
fn a_message_that_a_driver_may_still_read_is_kept_whatever_the_neighbour_says() {
    let (mut net, mut two, three) = scene();
    send(&three, HELLO, &[2; 3], &[]);
    two.holding = true;
    net.of(2).serve(1, &mut two).expect("a good neighbour");
    let free = |net: &mut Net| {
        let all: Vec<_> = std::iter::from_fn(|| net.message(2, 3, b"x")).collect();
        let count = all.len();
        all.into_iter().for_each(|one| net.of(2).free(one).expect("allocated"));
        count
    };
    let all = free(&mut net);
    let message = net.message(2, 3, b"x").expect("one is free");
    net.of(2).send(message).expect("room");
    net.of(2).serve(1, &mut two).expect("a good neighbour");
    send(&three, Frame::Credit { taken: 1 }, &[2; 3], &[]);
    net.of(2).serve(1, &mut two).expect("a good neighbour");
    assert_eq!(free(&mut net), all - 1);
    two.holding = false;
    net.of(2).serve(1, &mut two).expect("a good neighbour");
    assert_eq!(free(&mut net), all);
}

#[test]
fn whatever_comes_the_link_goes_on_or_ends_and_no_buffer_is_lost() {
    let mut ended = 0;
    for seed in 0..cases(2000) {
        let mut random = Random(seed);
        let (mut net, mut two, three) = scene();
        send(&three, HELLO, &[random.below(4) as u16; 3], &[]);
        for n in 0..10 {
            let size = random.below(12) as u32;
            let (target, hops) = (1 + random.below(4) as u8, random.below(5) as u8);
            let frame = match random.below(6) {
                0 => Frame::Credit { taken: random.below(3) as u16 },
                1 => Frame::Part { offset: random.below(12) as u32 },
                _ => to(target, size, n, hops),
            };
            let payload =
                vec![1; if random.below(3) > 0 { size as usize } else { random.below(12) }];
            send(&three, frame, &[random.below(6) as u16; 3], &payload);
            if random.below(4) == 0 {
                let mut lane = three.out.borrow_mut();
                let last = lane.frames.back_mut().expect("just sent");
                let at = random.below(last.len());
                // A node is trusted with whose the messages are that it passes on.
                if at != 12 && !(20..28).contains(&at) {
                    last[at] = random.below(256) as u8;
                }
            }
            if let Some(message) = net.message(2, 3, b"to the liar")
                && net.of(2).send(message).is_err()
            {
                net.of(2).free(message).expect("still the sender's");
            }
            if net.of(2).serve(1, &mut two).is_err() {
                ended += 1;
                break;
            }
            if random.below(3) == 0 {
                net.run();
            }
        }
        net.of(2).disconnect(1);
        net.mend(1);
        net.run();
        for number in 1..=3 {
            while net.text(number).is_some() {}
            assert_eq!(net.of(number).test(), Ok(()));
        }
        // As many fit as did at first.
        for n in 0..40 {
            let message = net.message(3, 1, &[n]).expect("all are free");
            net.of(3).send(message).expect("room");
            net.run();
            assert_eq!(net.text(1), Some(vec![n]), "seed {seed}");
        }
        assert_eq!((0..40).filter(|_| net.of(2).alloc_system(1).is_ok()).count(), 32);
        assert_eq!(net.of(2).count(TASK, QueueId::new(2, QUEUE)), Ok(0));
    }
    assert!(ended > 100, "{ended} links ended");
}
