//! Pools and queues of one processor.

use narrows::link::route::Table;
use narrows::mqx::{
    Control, Limits, Message, MessageError, NoProcessor, PoolError, Processor, QueueError, QueueId,
    SendError, Task,
};
use proptest::prelude::*;

use super::net::{Heap, Node, TASK, node};

fn alone() -> Node {
    node(3, 1, Table::new(3, &[], &[]), Limits { messages: 32, delivered: 0, ..Limits::default() })
}

/// A message to a queue here, whose first byte says which it is.
fn marked(node: &mut Node, to: QueueId, mark: u8) -> Message {
    let message = node.alloc_system(1).expect("one is free");
    node.buffer(message).expect("new")[0] = mark;
    node.header_mut(message).expect("new").target = to;
    message
}

fn mark(node: &mut Node, message: Message) -> u8 {
    let mark = node.buffer(message).expect("received")[0];
    node.free(message).expect("received");
    mark
}

#[test]
fn a_send_here_passes_the_message_itself_and_copies_nothing() {
    let supply = Heap::default();
    let copies = supply.copies.clone();
    let mut node: Node = Processor::new(supply, (3, 1), Table::new(3, &[], &[]), Limits::default())
        .expect("storage");
    let pool = node.create_pool(4092, 1, 0, 1).expect("memory");
    let queue = node.open(TASK, 8, 0).expect("free");
    assert_eq!(queue, node.id(0, 8));
    let sent = node.alloc(pool).expect("one");
    let at = node.buffer(sent).expect("new").as_ptr();
    node.header_mut(sent).expect("new").target = queue;
    node.send(sent).expect("room");
    let (peeked, header) = node.peek(queue).expect("open").expect("one");
    assert_eq!((peeked.as_ptr(), header.size, header.target), (at, 4092, queue));
    let received = node.receive(TASK, queue).expect("open").expect("one");
    assert_eq!(node.buffer(received).expect("received").as_ptr(), at);
    // What was received is sent on as it is.
    node.send(received).expect("room");
    let again = node.receive(TASK, queue).expect("open").expect("one");
    assert_eq!((node.available(pool), copies.get()), (Some(0), 0));
    node.free(again).expect("received");
    assert_eq!(node.available(pool), Some(1));
    assert_eq!(node.counts().local, 2);
}

#[test]
fn a_pool_grows_up_to_its_limit_and_takes_back_what_is_freed() {
    let mut node = alone();
    let pool = node.create_pool(10, 2, 3, 6).expect("memory");
    let all: Vec<_> = std::iter::from_fn(|| node.alloc(pool).ok()).collect();
    assert_eq!(all.len(), 6);
    assert_eq!(node.alloc(pool), Err(PoolError::Empty));
    node.free(all[3]).expect("allocated");
    assert_eq!(node.available(pool), Some(1));
    assert!(node.alloc(pool).is_ok());

    let fixed = node.create_pool(10, 1, 0, 0).expect("memory");
    node.alloc(fixed).expect("one");
    assert_eq!(node.alloc(fixed), Err(PoolError::Empty));
    assert_eq!(node.create_pool(1, 1000, 0, 0), Err(PoolError::NoMemory));
    assert!(node.create_pool(1, 20, 0, 0).is_ok(), "what was made for the failed one is back");
    while node.create_pool(1, 0, 0, 0).is_ok() {}
    assert_eq!(node.create_system_pool(1, 0, 0, 0), Err(PoolError::OutOfPools));
}

#[test]
fn a_pool_is_destroyed_when_all_its_messages_are_free() {
    let mut node = alone();
    let pool = node.create_pool(10, 30, 0, 0).expect("memory");
    let queue = node.open(TASK, 0, 0).expect("free");
    let message = node.alloc(pool).expect("one");
    assert_eq!(node.destroy_pool(pool), Err(PoolError::InUse), "a task has one");
    node.header_mut(message).expect("new").target = queue;
    node.send(message).expect("room");
    assert_eq!(node.destroy_pool(pool), Err(PoolError::InUse), "one is in a queue");
    let received = node.receive(TASK, queue).expect("open").expect("one");
    node.free(received).expect("received");
    assert_eq!(node.destroy_pool(pool), Ok(()));

    assert_eq!(node.destroy_pool(pool), Err(PoolError::Unknown));
    assert_eq!(node.alloc(pool), Err(PoolError::Unknown));
    assert_eq!(node.available(pool), None);
    // Its place and its blocks are another's, which neither its id nor its messages name.
    let next = node.create_pool(20, 30, 0, 0).expect("memory");
    assert_eq!(node.alloc(pool), Err(PoolError::Unknown));
    assert_eq!(node.destroy_pool(pool), Err(PoolError::Unknown));
    let all: Vec<_> = std::iter::from_fn(|| node.alloc(next).ok()).collect();
    assert_eq!(all.len(), 30);
    assert!(all.iter().all(|new| *new != message));
    assert_eq!(node.free(message), Err(MessageError::Invalid));
    assert_eq!(node.buffer(all[0]).expect("new").len(), 20);
    assert_eq!(node.destroy_pool(next), Err(PoolError::InUse));
}

#[test]
fn a_pool_of_messages_without_bytes_is_one() {
    let mut node = alone();
    let pool = node.create_pool(0, 1, 0, 0).expect("no memory is needed");
    let queue = node.open(TASK, 0, 0).expect("free");
    let message = node.alloc(pool).expect("one");
    let header = node.header_mut(message).expect("new");
    (header.target, header.size) = (queue, 1);
    assert_eq!(node.send(message), Err(SendError::Size));
    node.header_mut(message).expect("new").size = 0;
    node.send(message).expect("room");
    assert_eq!(node.receive(TASK, queue).map(|got| got.is_some()), Ok(true));
}

#[test]
fn the_smallest_system_pool_that_has_one_gives_it() {
    let mut node = alone();
    for bytes in [100, 10, 50] {
        node.create_system_pool(bytes, 1, 0, 1).expect("memory");
    }
    let mut rooms = Vec::new();
    for _ in 0..2 {
        let message = node.alloc_system(20).expect("one");
        assert_eq!(node.header(message).expect("new").size, 20);
        rooms.push(node.buffer(message).expect("new").len());
    }
    assert_eq!(rooms, [50, 100]);
    assert_eq!(node.alloc_system(20), Err(PoolError::Empty));
    assert_eq!(node.available_system(), 1);
    assert!(node.alloc_system(10).is_ok());
    assert_eq!(node.available_system(), 0);
}

#[test]
fn whoever_uses_a_message_that_is_gone_is_told() {
    let mut node = alone();
    node.create_system_pool(16, 2, 0, 2).expect("memory");
    let queue = node.open(TASK, 0, 1).expect("free");
    let message = marked(&mut node, queue, 1);
    let other = marked(&mut node, queue, 2);

    node.header_mut(message).expect("here").size = 17;
    assert_eq!(node.send(message), Err(SendError::Size));
    node.header_mut(message).expect("here").size = 16;
    assert_eq!(node.send_priority(message, 16), Err(SendError::Priority));
    node.header_mut(message).expect("here").target = QueueId::new(3, 200);
    assert_eq!(node.send_priority(message, 0), Err(SendError::UnknownQueue));
    node.header_mut(message).expect("here").target = QueueId::new(4, 8);
    assert_eq!(node.send(message), Err(SendError::NoRoute));
    node.header_mut(message).expect("here").target = queue;
    node.send(message).expect("room");

    assert_eq!(node.send(message), Err(SendError::Queued));
    assert_eq!(node.free(message), Err(MessageError::Queued));
    assert_eq!(node.buffer(message).err(), Some(MessageError::Queued));
    assert_eq!(node.send(other), Err(SendError::Full));
    node.free(other).expect("it is still the sender's");
    assert_eq!(node.free(other), Err(MessageError::Invalid));
    assert_eq!(node.send(other), Err(SendError::Invalid));
    // Its memory is another message now, which the old name does not reach.
    let next = marked(&mut node, queue, 3);
    assert_eq!(node.header(other), Err(MessageError::Invalid));
    assert_eq!(node.free(next), Ok(()));
    let received = node.receive(TASK, queue).expect("open").expect("one");
    assert_eq!(received, message, "it was passed, and is the receiver's");
    assert_eq!(node.free(received), Ok(()));
    assert_eq!(node.test(), Ok(()));
}

#[test]
fn a_queue_is_its_tasks_and_a_system_queue_is_everybodys() {
    let mut node = alone();
    node.create_system_pool(16, 8, 0, 8).expect("memory");
    let (one, other) = (Task(1), Task(2));
    let queue = node.open(one, 8, 0).expect("free");
    assert_eq!(node.open(other, 8, 0), Err(QueueError::InUse));
    let system = node.open_system(9, 0, Some(7)).expect("free");
    assert_eq!(node.receive(other, queue), Err(QueueError::NotOwner));
    assert_eq!(node.poll(other, queue), Err(QueueError::NotOwner));
    assert_eq!(node.close(other, queue), Err(QueueError::NotOwner));
    assert_eq!(node.receive(one, system), Err(QueueError::NotOwner));
    assert_eq!(node.receive(other, QueueId::ANY), Err(QueueError::NotOpen));
    assert_eq!(node.owner(queue), Ok(Some(one)));
    assert_eq!(node.owner(system), Ok(None));
    assert_eq!(node.owner(QueueId::new(3, 10)), Err(QueueError::NotOpen));

    for to in [queue, system, system] {
        let message = marked(&mut node, to, to.queue());
        node.send(message).expect("room");
    }
    assert_eq!([node.notice(), node.notice(), node.notice()], [Some(7), Some(7), None]);
    assert_eq!(node.count(other, system), Ok(2));
    assert_eq!(node.count(one, QueueId::ANY), Ok(1), "its own");
    let polled = node.poll(other, system).expect("open").expect("one");
    assert_eq!(mark(&mut node, polled), 9);
    assert_eq!(node.set_notification(system, None), Ok(Some(7)));
    let message = marked(&mut node, system, 0);
    node.send(message).expect("room");
    assert_eq!(node.notice(), None);

    // What is in a queue that is closed is freed.
    node.close(other, system).expect("anybody may");
    node.close(one, queue).expect("its own");
    assert_eq!(node.receive(one, queue), Err(QueueError::NotOpen));
    assert_eq!((0..8).filter(|_| node.alloc_system(1).is_ok()).count(), 8);
    assert_eq!(node.open(one, 255, 0), Ok(QueueId::new(3, 255)));
    while node.open(one, 0, 0).is_ok() {}
    assert_eq!(node.open(one, 0, 0), Err(QueueError::TooMany));
}

#[test]
fn any_queue_gives_the_most_urgent_message_of_all() {
    let mut node = alone();
    node.create_system_pool(16, 8, 0, 8).expect("memory");
    let queues = [0; 3].map(|any| node.open(TASK, any, 0).expect("free"));
    for (n, queue) in queues.into_iter().enumerate() {
        let message = marked(&mut node, queue, n as u8);
        node.send_priority(message, n as u8 % 2).expect("room");
    }
    let got = [(); 3].map(|()| {
        let message = node.receive(TASK, QueueId::ANY).expect("open").expect("one");
        mark(&mut node, message)
    });
    assert_eq!(got, [1, 0, 2]);
    assert_eq!(node.receive(TASK, QueueId::ANY), Ok(None));
}

#[test]
fn a_broadcast_is_copied_for_all_but_the_last() {
    let mut node = alone();
    let pool = node.create_pool(16, 2, 0, 2).expect("memory");
    let small = node.create_pool(4, 2, 0, 2).expect("memory");
    node.create_system_pool(16, 2, 0, 2).expect("memory");
    let queues = [8, 9, 10].map(|number| node.open(TASK, number, 1).expect("free"));
    let message = marked(&mut node, QueueId::ANY, 5);
    let done = node.send_broadcast(message, &queues, pool).expect("a message");
    assert_eq!((done.sent, done.failed), (3, None));
    for queue in queues {
        let message = node.receive(TASK, queue).expect("open").expect("one");
        assert_eq!(node.header(message).map(|header| header.target), Ok(queue));
        assert_eq!(mark(&mut node, message), 5);
    }
    // The second queue is full: the rest is not sent to, and no copy stays.
    let first = marked(&mut node, queues[1], 1);
    node.send(first).expect("room");
    let message = marked(&mut node, QueueId::ANY, 6);
    let done = node.send_broadcast(message, &queues, pool).expect("a message");
    assert_eq!((done.sent, done.failed), (1, Some((queues[1], SendError::Full))));
    assert_eq!(node.available(pool), Some(1));
    node.header_mut(message).expect("still the sender's").size = 5;
    let done = node.send_broadcast(message, &queues, small).expect("a message");
    assert_eq!((done.sent, done.failed), (0, Some((queues[0], SendError::Size))));
    assert_eq!(node.available(small), Some(2));
    assert_eq!(node.send_broadcast(first, &queues, pool), Err(SendError::Queued));
}

#[test]
fn a_processor_without_room_is_not_made() {
    let table = || Table::new(1, &[2], &[(1, 2)]);
    let make = |number, limits| {
        Processor::<Heap, u32>::new(Heap::default(), (number, 1), table(), limits).err()
    };
    assert_eq!(make(0, Limits::default()), Some(NoProcessor::Number));
    let few = Limits { processors: 4, ..Limits::default() };
    assert_eq!(make(5, few), Some(NoProcessor::Number));
    let limits = Limits::default();
    let messages = limits.service(1) as u16;
    assert_eq!(make(1, Limits { messages: messages - 1, ..limits }), Some(NoProcessor::Messages));
    assert_eq!(make(1, Limits { messages, ..limits }), None);
    let little = Heap::default();
    little.left.set(Some(5));
    let made = Processor::<Heap, u32>::new(little, (1, 1), table(), limits);
    assert_eq!(made.err(), Some(NoProcessor::Messages));
}

proptest! {
    #[test]
    fn urgent_ones_come_first_then_priorities_then_what_came_first(
        steps in proptest::collection::vec((0u8..4, 0u8..16), 1..60),
    ) {
        let mut node = alone();
        node.create_system_pool(1, 16, 0, 16).expect("memory");
        let queue = node.open(TASK, 8, 12).expect("free");
        let mut expected: Vec<(Control, u8)> = Vec::new();
        for (number, (kind, priority)) in steps.into_iter().enumerate() {
            if kind == 0 {
                let got = node.receive(TASK, queue).expect("open");
                let got = got.map(|message| mark(&mut node, message));
                let next = (!expected.is_empty()).then(|| expected.remove(0).1);
                prop_assert_eq!(got, next);
            } else {
                let message = marked(&mut node, queue, number as u8);
                let priority = if kind == 3 { 0 } else { priority };
                let control = Control { priority, urgent: kind == 3 };
                let sent = match kind {
                    3 => node.send_urgent(message),
                    _ => node.send_priority(message, priority),
                };
                if expected.len() == 12 {
                    prop_assert_eq!(sent, Err(SendError::Full));
                    node.free(message).expect("still the sender's");
                } else {
                    prop_assert_eq!(sent, Ok(()));
                    let rank = |control: Control| (control.urgent, control.priority);
                    let at = expected.iter().position(|(other, _)| rank(*other) < rank(control));
                    expected.insert(at.unwrap_or(expected.len()), (control, number as u8));
                }
            }
            prop_assert_eq!(node.count(TASK, queue), Ok(expected.len() as u16));
            prop_assert_eq!(node.test(), Ok(()));
        }
        // As many are free as are not in the queue.
        let free = (0..16).filter(|_| node.alloc_system(1).is_ok()).count();
        prop_assert_eq!(free, 16 - expected.len());
    }
}
