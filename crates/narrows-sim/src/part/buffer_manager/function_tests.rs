//! What functions at ports are given, in which order, and what is refused.

use super::*;

const SHAPE: Shape =
    Shape { partitioning: Partitioning::AtReceiver, cpus: 1, ports: 8, requests: 2, shared: 4096 };
const THERE: Endpoint = Endpoint { cluster: 1, cpu: 0, port: 3 };
const SEND: (Way, Kind) = (Way::Write, Kind::Indirect);
const SENDER: (Way, Kind) = (Way::Write, Kind::Setup);
const RECEIVER: (Way, Kind) = (Way::Read, Kind::Setup);
/// The number of the function, behind the CPU's.
const FUNCTION: u8 = 1;

fn ask(
    block: &mut BufferManager,
    (way, kind): (Way, Kind),
    (port, cpu): (u8, u8),
    words: &[u32],
) -> Result<Stored, Fault> {
    let mut last = Ok(Stored::More);
    for (at, word) in words.iter().enumerate() {
        let access = Access { way, kind, end: at + 1 == words.len(), port, cpu };
        last = block.store(access.address(), *word);
    }
    last
}

/// A block with a function that takes two words. It receives at ports 0 and 2, into FIFOs of eight
/// words, and sends at 1 and 3 with credit for three.
fn block() -> BufferManager {
    let mut block = BufferManager::with_functions(SHAPE, [2].into_iter());
    for (port, base) in [(0, 0), (2, 32)] {
        let entered = ask(&mut block, RECEIVER, (port, FUNCTION), &[THERE.word(), base, 8]);
        assert_eq!(entered, Ok(Stored::Entered));
        let entered = ask(&mut block, SENDER, (port + 1, FUNCTION), &[THERE.word(), 3]);
        assert_eq!(entered, Ok(Stored::Entered));
    }
    block
}

fn come(block: &mut BufferManager, port: u8, words: u32) {
    block.arrive(port, words).expect("there is room");
    block.written(port, words);
}

/// Reads the next block as the BMR does, whose bytes are all `byte`; its port.
fn read(block: &mut BufferManager, byte: u8) -> Option<u8> {
    let taken = block.next_read()?;
    assert_eq!((taken.cpu, taken.words), (FUNCTION, 2));
    block.fill(FUNCTION, &[byte; 4]);
    assert_eq!(block.take_block(FUNCTION), None, "half of it is there");
    block.fill(FUNCTION, &[byte; 4]);
    block.filled(FUNCTION);
    block.read(&taken);
    Some(taken.port)
}

#[test]
fn a_function_asks_for_whole_blocks_of_its_ports_in_turn() {
    let mut block = block();
    assert!(!block.feed(), "nothing has come");
    come(&mut block, 2, 1);
    assert!(!block.feed(), "half a block has come");
    come(&mut block, 2, 5);
    come(&mut block, 0, 4);
    let mut ports = Vec::new();
    for byte in 0..5 {
        assert!(block.feed() && !block.feed(), "it asks for one block at a time");
        ports.push(read(&mut block, byte));
        let (port, bytes) = block.take_block(FUNCTION).expect("it is there");
        assert_eq!((Some(port), bytes), (ports[usize::from(byte)], vec![byte; 8]));
    }
    assert_eq!(ports, [0, 2, 0, 2, 2].map(Some));
    assert!(!block.feed(), "all were read");
    assert!(block.faults.is_empty());
}

#[test]
fn a_result_goes_when_there_is_credit_and_the_next_has_to_wait_for_it() {
    let mut block = block();
    assert!(block.is_free(FUNCTION));
    assert_eq!(block.give(FUNCTION, 0, vec![1, 2, 3, 4, 5, 6, 7, 8]), Ok(()));
    assert!(!block.is_free(FUNCTION));
    let write = block.next_write().expect("there is credit");
    assert_eq!((write.cpu, write.port, write.bytes), (FUNCTION, 1, 8));
    assert_eq!(block.result(FUNCTION, 4, 4), Some(vec![5, 6, 7, 8]));
    assert_eq!(block.result(FUNCTION, 4, 5), None);
    assert_eq!(block.result(0, 0, 4), None, "that is a CPU");
    block.sent(&write);
    block.gone(FUNCTION);
    assert_eq!(block.give(FUNCTION, 0, vec![0; 8]), Ok(()));
    assert_eq!(block.next_write(), None, "credit for one word is left");
    assert_eq!(block.credit(1, 1), Ok(()));
    assert!(block.next_write().is_some());
    assert_eq!(block.credits(1), Some(0));
}

#[test]
fn a_result_for_a_wrong_port_is_signalled_and_dropped() {
    let mut block = block();
    for (came, bytes, fault, port) in [
        (4, 8, Fault::Unconnected, 5),
        (1, 8, Fault::Unconnected, 2),
        (7, 8, Fault::NoPort, 8),
        (255, 8, Fault::NoPort, 255),
        (0, 16, Fault::TooLong, 1),
        (0, 6, Fault::Size, 1),
    ] {
        assert_eq!(block.give(FUNCTION, came, vec![0; bytes]), Err(fault), "{came}");
        let noted = Noted { fault, cpu: Some(FUNCTION), port: Some(port) };
        assert_eq!(std::mem::take(&mut block.faults), [noted]);
        assert!(block.is_free(FUNCTION));
    }
    // A CPU has the port.
    assert_eq!(ask(&mut block, SEND, (1, 0), &[0, 4]), Ok(Stored::Queued(Way::Write)));
    assert_eq!(block.give(FUNCTION, 0, vec![0; 8]), Err(Fault::Race));
}

#[test]
fn nobody_makes_requests_in_the_name_of_a_function_but_to_set_its_ports_up() {
    let mut block = block();
    for (way, kind) in [SEND, (Way::Read, Kind::Indirect), (Way::Write, Kind::Address)] {
        let words = [0, 4, 4];
        let words = &words[..kind.writes(way, SHAPE.partitioning)];
        assert_eq!(ask(&mut block, (way, kind), (0, FUNCTION), words), Err(Fault::NotARequest));
    }
    let access = |kind| Access { way: Way::Read, kind, end: true, port: 0, cpu: FUNCTION };
    assert_eq!(block.load(access(Kind::Direct).address()), Err(Fault::NotARequest));
    assert_eq!(block.load(access(Kind::Setup).address()), Ok(Loaded::Word(0)));
    let nobody = [THERE.word(), 64, 8];
    assert_eq!(ask(&mut block, RECEIVER, (4, 2), &nobody), Err(Fault::NoCpu));
}

#[test]
fn a_fifo_that_never_holds_a_block_is_no_entry_of_a_function() {
    let mut block = block();
    for (sizes, expected) in [
        (1, Err(Fault::Setup)),
        (2, Ok(Stored::Entered)),
        (2 | 1 << 16, Ok(Stored::Entered)),
        (2 | 2 << 16, Err(Fault::Setup)),
        (3 | 2 << 16, Ok(Stored::Entered)),
    ] {
        let entered = ask(&mut block, RECEIVER, (4, FUNCTION), &[THERE.word(), 64, sizes]);
        assert_eq!(entered, expected, "{sizes:x}");
    }
    assert_eq!(ask(&mut block, RECEIVER, (5, 0), &[THERE.word(), 128, 1]), Ok(Stored::Entered));
}

#[test]
fn a_port_that_is_set_up_for_a_cpu_is_no_longer_the_functions() {
    let mut block = block();
    let entry = [THERE.word(), 0, 8];
    assert_eq!(ask(&mut block, RECEIVER, (0, 0), &entry), Ok(Stored::Entered));
    come(&mut block, 0, 4);
    assert!(!block.feed());
    come(&mut block, 2, 2);
    assert!(block.feed());
    assert_eq!(ask(&mut block, RECEIVER, (2, 0), &entry), Err(Fault::InUse));
}

#[test]
fn what_a_cpu_reads_from_a_functions_port_is_not_the_functions() {
    let mut block = block();
    assert!(ask(&mut block, (Way::Read, Kind::Indirect), (0, 0), &[0, 8]).is_ok());
    come(&mut block, 0, 4);
    assert!(!block.feed(), "the CPU has the port");
    let taken = block.next_read().expect("two words have come");
    assert_eq!(taken.cpu, 0);
    block.read(&taken);
    assert!(block.feed());
    assert_eq!(read(&mut block, 1), Some(0));
}

#[test]
fn functions_and_cpus_have_their_turns_at_the_bmi() {
    let mut block = block();
    assert_eq!(ask(&mut block, SENDER, (4, 0), &[THERE.word(), 8]), Ok(Stored::Entered));
    for _ in 0..2 {
        assert!(ask(&mut block, SEND, (4, 0), &[0, 4]).is_ok());
    }
    assert!(block.give(FUNCTION, 2, vec![0; 4]).is_ok());
    let order = [(); 4].map(|()| block.next_write().map(|write| write.cpu));
    assert_eq!(order, [Some(0), Some(FUNCTION), Some(0), None]);
}
