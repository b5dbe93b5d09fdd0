//! What the block does with each kind of request, and what it signals where something is wrong.

use super::*;

const SHAPE: Shape =
    Shape { partitioning: Partitioning::AtReceiver, cpus: 2, ports: 4, requests: 2, shared: 4096 };
const THERE: Endpoint = Endpoint { cluster: 1, cpu: 0, port: 3 };

fn register(way: Way, kind: Kind, end: bool, port: u8, cpu: u8) -> u32 {
    Access { way, kind, end, port, cpu }.address()
}

/// Makes a request of a CPU in all the writes that it takes.
fn ask(
    block: &mut BufferManager,
    (way, kind): (Way, Kind),
    (port, cpu): (u8, u8),
    words: &[u32],
) -> Result<Stored, Fault> {
    let mut last = Ok(Stored::More);
    for (at, word) in words.iter().enumerate() {
        let end = at + 1 == words.len();
        last = block.store(register(way, kind, end, port, cpu), *word);
        if at + 1 < words.len() {
            assert_eq!(last, Ok(Stored::More), "write {at} of {kind:?}");
        }
    }
    last
}

const SEND: (Way, Kind) = (Way::Write, Kind::Indirect);
const WORD: (Way, Kind) = (Way::Write, Kind::Direct);
const COPY: (Way, Kind) = (Way::Write, Kind::Address);
const RECEIVE: (Way, Kind) = (Way::Read, Kind::Indirect);
const SENDER: (Way, Kind) = (Way::Write, Kind::Setup);
const RECEIVER: (Way, Kind) = (Way::Read, Kind::Setup);

/// A block whose port 0 sends with credit for 8 words, and whose port 1 receives into a FIFO of 8
/// words, with credit given back at each read.
fn block() -> BufferManager {
    let mut block = BufferManager::new(SHAPE);
    assert_eq!(ask(&mut block, SENDER, (0, 0), &[THERE.word(), 8]), Ok(Stored::Entered));
    assert_eq!(ask(&mut block, RECEIVER, (1, 0), &[THERE.word(), 64, 8]), Ok(Stored::Entered));
    assert!(block.faults.is_empty());
    block
}

/// The block takes a fault's note and works on.
fn refuses(block: &mut BufferManager, fault: Fault, what: impl FnOnce(&mut BufferManager)) {
    block.faults.clear();
    what(block);
    let noted: Vec<Fault> = block.faults.iter().map(|noted| noted.fault).collect();
    assert_eq!(noted, [fault]);
    block.faults.clear();
}

#[test]
fn requests_take_three_two_and_one_write() {
    let mut block = block();
    assert_eq!(ask(&mut block, COPY, (9, 0), &[16, 32, 5]), Ok(Stored::Queued(Way::Write)));
    assert_eq!(ask(&mut block, SEND, (0, 0), &[64, 12]), Ok(Stored::Queued(Way::Write)));
    assert_eq!(ask(&mut block, WORD, (0, 1), &[7]), Err(Fault::Race), "CPU 0 uses the port");
    let whats = [(); 3].map(|()| {
        let write = block.next_write()?;
        block.sent(&write);
        Some((write.what, write.bytes, write.port))
    });
    let expected = [
        Some((What::Copy { from: 16, to: 32 }, 5, 9)),
        Some((What::Buffer { from: 64, to: THERE }, 12, 0)),
        None,
    ];
    assert_eq!(whats, expected);
    assert_eq!(ask(&mut block, WORD, (0, 1), &[7]), Ok(Stored::Queued(Way::Write)));
    let word = block.next_write().map(|write| (write.what, write.cpu));
    assert_eq!(word, Some((What::Word { word: 7, to: THERE }, 1)));
    assert_eq!(block.credits(0), Some(8 - 3 - 1));
}

#[test]
fn nothing_is_sent_without_credit_and_cpus_have_their_turns() {
    let mut block = block();
    assert_eq!(ask(&mut block, SENDER, (2, 0), &[THERE.word(), 2]), Ok(Stored::Entered));
    for _ in 0..2 {
        assert!(ask(&mut block, SEND, (0, 0), &[0, 20]).is_ok());
        assert!(ask(&mut block, WORD, (2, 1), &[1]).is_ok());
    }
    let mut next = || block.next_write().map(|write| (write.cpu, write.bytes));
    assert_eq!([next(), next(), next()], [Some((0, 20)), Some((1, 4)), Some((1, 4))]);
    assert_eq!(next(), None, "CPU 0 has credit for three words, and wants to send five");
    assert_eq!(block.credit(0, 2), Ok(()));
    assert_eq!(block.next_write().map(|write| write.cpu), Some(0));
    assert_eq!((block.credits(0), block.credits(2)), (Some(0), Some(0)));
}

#[test]
fn what_has_come_is_read_in_order_and_its_room_given_back() {
    let mut block = block();
    assert_eq!(ask(&mut block, RECEIVE, (1, 0), &[100, 24]), Ok(Stored::Queued(Way::Read)));
    assert_eq!(block.next_read(), None, "nothing has come");
    assert_eq!(block.arrive(1, 5), Ok(vec![(64, 5)]));
    block.written(1, 5);
    assert_eq!(block.next_read(), None, "six words are asked for");
    assert_eq!(block.arrive(1, 3), Ok(vec![(84, 3)]));
    assert_eq!(block.next_read(), None, "they are not there yet");
    block.written(1, 3);
    let taken = block.next_read().expect("all have come");
    assert_eq!((taken.to, taken.words, &taken.places), (Some(100), 6, &vec![(64, 6)]));
    assert_eq!(block.arrive(1, 1), Err(Fault::Overrun), "they are still being read");
    assert_eq!(block.read(&taken), Some((THERE, 6)));
    // A CPU reads a word by itself, and the tables.
    let next = register(Way::Read, Kind::Direct, true, 1, 1);
    let Ok(Loaded::Next(taken)) = block.load(next) else { panic!("two words have come") };
    assert_eq!((taken.to, taken.places.clone()), (None, vec![(88, 1)]));
    assert_eq!(block.read(&taken), Some((THERE, 1)));
    let come = register(Way::Read, Kind::Setup, true, 1, 0);
    assert_eq!(block.load(come), Ok(Loaded::Word(1)));
    let credit = register(Way::Write, Kind::Setup, true, 0, 0);
    assert_eq!(block.load(credit), Ok(Loaded::Word(8)));
}

#[test]
fn credit_goes_back_once_the_threshold_is_reached() {
    let mut block = BufferManager::new(SHAPE);
    let sizes = 8 | 4 << 16;
    assert!(ask(&mut block, RECEIVER, (1, 0), &[THERE.word(), 64, sizes]).is_ok());
    let mut given = Vec::new();
    for words in [1, 2, 1, 3, 5] {
        block.arrive(1, words).expect("there is room");
        block.written(1, words);
        assert!(ask(&mut block, RECEIVE, (1, 0), &[0, words * 4]).is_ok());
        let taken = block.next_read().expect("it has come");
        given.push(block.read(&taken).map(|(_, words)| words));
    }
    assert_eq!(given, [None, None, Some(4), None, Some(8)]);
}

#[test]
fn a_word_that_was_asked_for_before_is_not_overtaken() {
    let mut block = block();
    block.arrive(1, 1).expect("there is room");
    block.written(1, 1);
    assert!(ask(&mut block, RECEIVE, (1, 0), &[0, 8]).is_ok());
    let own = register(Way::Read, Kind::Direct, true, 1, 0);
    assert_eq!(block.load(own), Ok(Loaded::Nothing));
    refuses(&mut block, Fault::Race, |block| {
        let other = register(Way::Read, Kind::Direct, true, 1, 1);
        assert_eq!(block.load(other), Err(Fault::Race));
    });
}

/// A fault, and what has it: a request of a port and a CPU, and its words.
type Wrong = (Fault, (Way, Kind), (u8, u8), &'static [u32]);

#[test]
fn every_mistake_in_a_request_has_its_status_and_is_noted_once() {
    use Fault::*;
    let all: [Wrong; 14] = [
        (NoPort, SEND, (4, 0), &[0, 4]),
        (NoPort, WORD, (255, 0), &[0]),
        (NoPort, RECEIVE, (4, 0), &[0, 4]),
        (NoPort, SENDER, (4, 0), &[0, 4]),
        (Unconnected, SEND, (3, 0), &[0, 4]),
        (Unconnected, WORD, (1, 0), &[0]),
        (Unconnected, RECEIVE, (3, 0), &[0, 4]),
        (Unconnected, RECEIVE, (0, 0), &[0, 4]),
        (TooLong, SEND, (0, 0), &[0, 36]),
        (TooLong, RECEIVE, (1, 0), &[0, 36]),
        (Size, SEND, (0, 0), &[0, 0]),
        (Size, RECEIVE, (1, 0), &[0, 6]),
        (Size, COPY, (0, 0), &[0, 0, 0]),
        (NoCpu, WORD, (0, 2), &[0]),
    ];
    let mut block = block();
    for (fault, kind, at, words) in all {
        refuses(&mut block, fault, |block| {
            assert_eq!(ask(block, kind, at, words), Err(fault), "{kind:?} at {at:?}: {words:?}");
        });
    }
    for (fault, address) in [
        (NotARequest, 0x0050_0000),
        (NotARequest, register(Way::Read, Kind::Direct, true, 1, 0)),
        (NotARequest, register(Way::Read, Kind::Address, false, 1, 0)),
        (NoEnd, register(Way::Write, Kind::Direct, false, 0, 0)),
        (EarlyEnd, register(Way::Write, Kind::Address, true, 0, 0)),
        (EarlyEnd, register(Way::Read, Kind::Indirect, true, 1, 0)),
    ] {
        refuses(&mut block, fault, |block| assert_eq!(block.store(address, 8), Err(fault)));
    }
    for (fault, address) in [
        (NotARequest, 0),
        (NotARequest, register(Way::Write, Kind::Direct, true, 0, 0)),
        (NoPort, register(Way::Read, Kind::Direct, true, 4, 0)),
        (Unconnected, register(Way::Read, Kind::Direct, true, 3, 0)),
        (Unconnected, register(Way::Read, Kind::Setup, true, 0, 0)),
        (NoEnd, register(Way::Read, Kind::Direct, false, 1, 0)),
        (NoCpu, register(Way::Read, Kind::Direct, true, 1, 2)),
    ] {
        refuses(&mut block, fault, |block| assert_eq!(block.load(address), Err(fault)));
    }
    assert_eq!((block.next_write(), block.next_read()), (None, None), "nothing of it is queued");
    assert_eq!(ask(&mut block, SEND, (0, 0), &[0, 32]), Ok(Stored::Queued(Way::Write)));
}

#[test]
fn a_request_without_its_end_is_dropped_whatever_the_cpu_does_next() {
    let mut block = block();
    let first = register(Way::Write, Kind::Indirect, false, 0, 0);
    // It is never said to be complete.
    assert_eq!(block.store(first, 64), Ok(Stored::More));
    refuses(&mut block, Fault::NoEnd, |block| {
        assert_eq!(block.store(first, 4), Err(Fault::NoEnd));
    });
    // The CPU begins another before.
    assert_eq!(block.store(first, 64), Ok(Stored::More));
    refuses(&mut block, Fault::NoEnd, |block| {
        assert_eq!(ask(block, WORD, (0, 0), &[1]), Err(Fault::NoEnd));
    });
    // What another CPU writes between is its own.
    assert_eq!(block.store(first, 64), Ok(Stored::More));
    assert_eq!(ask(&mut block, COPY, (0, 1), &[1, 2, 3]), Ok(Stored::Queued(Way::Write)));
    let end = register(Way::Write, Kind::Indirect, true, 0, 0);
    assert_eq!(block.store(end, 4), Ok(Stored::Queued(Way::Write)));
}

#[test]
fn of_two_cpus_that_race_for_a_port_the_first_has_it_until_it_is_through() {
    let mut block = block();
    assert!(ask(&mut block, WORD, (0, 1), &[1]).is_ok());
    refuses(&mut block, Fault::Race, |block| {
        assert_eq!(ask(block, SEND, (0, 0), &[0, 4]), Err(Fault::Race));
    });
    assert!(ask(&mut block, WORD, (0, 1), &[2]).is_ok(), "the first may ask again");
    let mut finish = || {
        let write = block.next_write().expect("it is queued");
        block.sent(&write);
    };
    finish();
    finish();
    assert!(ask(&mut block, WORD, (0, 0), &[3]).is_ok());
}

#[test]
fn a_queue_that_is_full_leaves_its_port_as_it_was() {
    let mut block = block();
    for word in [1, 2] {
        assert!(ask(&mut block, WORD, (0, 0), &[word]).is_ok());
    }
    refuses(&mut block, Fault::QueueFull, |block| {
        assert_eq!(ask(block, WORD, (0, 0), &[3]), Err(Fault::QueueFull));
    });
    for _ in 0..2 {
        let write = block.next_write().expect("it is queued");
        block.sent(&write);
    }
    assert!(ask(&mut block, WORD, (0, 1), &[3]).is_ok(), "nobody uses the port");
}

#[test]
fn messages_for_ports_that_expect_none_are_signalled_and_change_nothing() {
    let mut block = block();
    for port in [1, 3, 4, 255] {
        refuses(&mut block, Fault::CreditForNobody, |block| {
            assert_eq!(block.credit(port, 1), Err(Fault::CreditForNobody));
        });
    }
    for words in [1, u32::MAX] {
        refuses(&mut block, Fault::CreditOver, |block| {
            assert_eq!(block.credit(0, words), Err(Fault::CreditOver));
        });
    }
    for port in [0, 3, 4, 255] {
        refuses(&mut block, Fault::DataForNobody, |block| {
            assert_eq!(block.arrive(port, 1), Err(Fault::DataForNobody));
        });
    }
    refuses(&mut block, Fault::Overrun, |block| {
        assert_eq!(block.arrive(1, 9), Err(Fault::Overrun));
    });
    assert_eq!(block.credits(0), Some(8));
    assert_eq!(block.arrive(1, 8), Ok(vec![(64, 8)]));
}

#[test]
fn an_entry_that_cannot_be_or_is_in_use_is_refused() {
    let mut block = block();
    for (kind, words) in [
        (SENDER, vec![THERE.word(), 0]),
        (RECEIVER, vec![THERE.word(), 0, 0]),
        (RECEIVER, vec![THERE.word(), 0, 2 | 3 << 16]),
        (RECEIVER, vec![THERE.word(), 4096, 1]),
        // Over the FIFO of port 1.
        (RECEIVER, vec![THERE.word(), 60, 2]),
    ] {
        refuses(&mut block, Fault::Setup, |block| {
            assert_eq!(ask(block, kind, (2, 0), &words), Err(Fault::Setup), "{words:?}");
        });
    }
    assert!(ask(&mut block, WORD, (0, 0), &[1]).is_ok());
    refuses(&mut block, Fault::InUse, |block| {
        assert_eq!(ask(block, SENDER, (0, 0), &[0, 1]), Err(Fault::InUse));
    });
    let write = block.next_write().expect("it is queued");
    block.sent(&write);
    refuses(&mut block, Fault::InUse, |block| {
        assert_eq!(ask(block, SENDER, (0, 0), &[0, 1]), Err(Fault::InUse), "credit is out");
    });
    block.credit(0, 1).expect("a word was sent");
    assert_eq!(ask(&mut block, SENDER, (0, 0), &[0, 1]), Ok(Stored::Entered));
}

fn partitioned(
    partitioning: Partitioning,
    port: u8,
    setup: (Way, Kind),
    words: &[u32],
) -> BufferManager {
    let mut block = BufferManager::new(Shape { partitioning, ..SHAPE });
    assert_eq!(ask(&mut block, setup, (port, 0), words), Ok(Stored::Entered));
    block
}

#[test]
fn a_writer_apart_knows_where_its_words_go_and_tells_its_pointer() {
    let entry = [THERE.word(), 64, 8 | 6 << 16];
    let mut writer = partitioned(Partitioning::Apart, 0, SENDER, &entry);
    let mut reader = partitioned(Partitioning::Apart, 3, RECEIVER, &[THERE.word(), 64, 8]);
    for (at, expected) in [vec![(64, 5)], vec![(84, 3), (64, 2)]].into_iter().enumerate() {
        assert!(ask(&mut writer, SEND, (0, 0), &[0, 20]).is_ok());
        let write = writer.next_write().expect("there is credit");
        assert_eq!(writer.place(0, 5), Some(expected.clone()));
        writer.sent(&write);
        assert_eq!(writer.credits(0), Some(1));
        assert_eq!(reader.pointer(3, 5), Ok(()));
        assert!(ask(&mut reader, RECEIVE, (3, 0), &[0, 20]).is_ok());
        let taken = reader.next_read().expect("all have come");
        assert_eq!((&taken.places, taken.from), (&expected, None), "{at}");
        assert_eq!(reader.read(&taken), Some((THERE, 5)));
        assert_eq!(writer.credit(0, 5), Ok(()));
    }
    refuses(&mut reader, Fault::Overrun, |block| {
        assert_eq!(block.pointer(3, 9), Err(Fault::Overrun));
    });
    refuses(&mut reader, Fault::DataForNobody, |block| {
        assert_eq!(block.pointer(2, 1), Err(Fault::DataForNobody));
    });
    for sizes in [8, 8 | 9 << 16, 0] {
        refuses(&mut writer, Fault::Setup, |block| {
            let entry = [THERE.word(), 0, sizes];
            assert_eq!(ask(block, SENDER, (1, 0), &entry), Err(Fault::Setup), "{sizes:#x}");
        });
    }
}

#[test]
fn a_fifo_at_its_sender_is_read_from_there_and_is_its_own_credit() {
    let mut sender = partitioned(Partitioning::AtSender, 0, SENDER, &[THERE.word(), 64, 8]);
    let mut receiver = partitioned(Partitioning::AtSender, 3, RECEIVER, &[THERE.word(), 8]);
    for words in [6, 5] {
        assert!(ask(&mut sender, SEND, (0, 0), &[0, words * 4]).is_ok());
    }
    let write = sender.next_write().expect("there is room");
    assert_eq!(sender.place(0, 6), Some(vec![(64, 6)]));
    refuses(&mut sender, Fault::NoWords, |block| {
        assert_eq!(block.fetch(0, 1), Err(Fault::NoWords), "they are not there yet");
    });
    sender.written(0, 6);
    sender.sent(&write);
    assert_eq!((sender.next_write(), sender.credits(0)), (None, Some(2)), "no room for five");

    assert!(ask(&mut receiver, RECEIVE, (3, 0), &[0, 24]).is_ok());
    assert_eq!(receiver.next_read(), None, "nobody has said that they are there");
    assert_eq!(receiver.credit(3, 6), Ok(()));
    let taken = receiver.next_read().expect("all are there");
    assert_eq!((&taken.places[..], taken.from), (&[][..], Some(THERE)));
    assert_eq!(sender.fetch(0, 4), Ok(vec![(64, 4)]));
    assert_eq!(sender.next_write(), None, "they are still being read");
    sender.fetched(0, 4);
    assert_eq!(sender.next_write().map(|write| write.bytes), Some(20));
    assert_eq!(sender.place(0, 5), Some(vec![(88, 2), (64, 3)]));
    assert_eq!(receiver.read(&taken), None, "no credit goes back");
    refuses(&mut receiver, Fault::CreditOver, |block| {
        assert_eq!(block.credit(3, 9), Err(Fault::CreditOver));
    });
    refuses(&mut receiver, Fault::NoWords, |block| {
        assert_eq!(block.fetch(3, 1), Err(Fault::NoWords), "it has no FIFO");
    });
    refuses(&mut sender, Fault::Setup, |block| {
        let over = [THERE.word(), 60, 2];
        assert_eq!(ask(block, SENDER, (1, 0), &over), Err(Fault::Setup), "over port 0's");
    });
}
