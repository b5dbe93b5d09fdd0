//! Messages over one link and over several.

use narrows::link::route::{Range, Table};
use narrows::mqx::{Ended, Left, Limits, QueueId, SendError};

use super::net::{Net, QUEUE, TASK, message, node, ring, row, text};
use crate::common::frames::line;

fn limits() -> Limits {
    Limits { processors: 9, ..Limits::default() }
}

#[test]
fn the_same_call_sends_here_next_door_and_further() {
    for (mtu, room) in [(64, 1), (512, 4), (8192, 64)] {
        let mut net = Net::new(&row(4), limits(), (mtu, room));
        for (n, bytes) in [0, 1, 24, 4092, 4096].into_iter().enumerate() {
            for to in 1..=4 {
                let sent = vec![n as u8 + to; bytes];
                let message = net.message(1, to, &sent).expect("one is free");
                let header = net.of(1).header(message).expect("new");
                net.of(1).send(message).expect("room");
                net.run();
                let node = net.of(to);
                let got = node.receive(TASK, QueueId::new(to, QUEUE)).expect("open").expect("one");
                assert_eq!(node.header(got), Ok(header), "{bytes} bytes to {to}");
                assert_eq!(text(node, got), sent);
                node.free(got).expect("received");
            }
        }
        assert_eq!(net.lost(), 0);
        assert_eq!([1, 2, 3, 4].map(|n| net.of(n).counts().forwarded), [0, 10, 5, 0]);
    }
}

#[test]
fn what_was_received_is_answered_as_it_is() {
    let mut net = Net::new(&row(3), limits(), (512, 4));
    let message = net.message(1, 3, b"there").expect("one is free");
    net.of(1).send(message).expect("room");
    for n in 0..100 {
        net.run();
        let (here, there) = if n % 2 == 0 { (3, 1) } else { (1, 3) };
        let node = net.of(here);
        let got = node.receive(TASK, QueueId::new(here, QUEUE)).expect("open").expect("one");
        let at = node.buffer(got).expect("received").as_ptr();
        let header = node.header_mut(got).expect("received");
        (header.target, header.source) = (header.source, header.target);
        assert_eq!(header.target, QueueId::new(there, QUEUE));
        assert_eq!(node.buffer(got).expect("received").as_ptr(), at);
        node.send(got).expect("room");
    }
    net.run();
    assert_eq!(net.text(3), Some(b"there".to_vec()));
    assert_eq!(net.lost(), 0);
}

#[test]
fn a_link_that_ends_has_its_messages_go_the_other_way_round() {
    let mut net = Net::new(&ring(4), limits(), (512, 100));
    // The last of the wires is that between 4 and 1, by which nothing goes from 1 to 3 as yet.
    for n in 0..8 {
        let message = net.message(1, 3, &[n]).expect("one is free");
        net.of(1).send(message).expect("room");
    }
    // Some are on the wire, some with 2, some at 1.
    net.serve(0, 0).expect("up");
    net.serve(0, 1).expect("up");
    net.serve(1, 0).expect("up");
    net.cut(1);
    net.run();
    let mut got: Vec<_> = std::iter::from_fn(|| net.text(3)).flatten().collect();
    got.sort_unstable();
    assert_eq!(got, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(net.of(2).counts().rerouted > 0);
    assert_eq!(net.lost(), 0);
    // What is sent now is turned round by the node that lost its link.
    let message = net.message(1, 3, b"round").expect("one is free");
    net.of(1).send(message).expect("room");
    net.run();
    assert_eq!(net.text(3), Some(b"round".to_vec()));
    net.mend(1);
    net.run();
    let before = net.of(4).counts().forwarded;
    let message = net.message(1, 3, b"back").expect("one is free");
    net.of(1).send(message).expect("room");
    net.run();
    assert_eq!(net.text(3), Some(b"back".to_vec()));
    assert_eq!(net.of(4).counts().forwarded, before);
}

#[test]
fn what_the_neighbour_had_and_could_not_say_is_not_doubled() {
    let mut net = Net::new(&ring(4), limits(), (512, 100));
    let message = net.message(1, 2, b"once").expect("one is free");
    net.of(1).send(message).expect("room");
    net.serve(0, 0).expect("up");
    net.serve(0, 1).expect("up");
    // 2 has it, and the wire is cut before 1 hears of that.
    net.cut(0);
    net.run();
    assert_eq!(net.text(2), Some(b"once".to_vec()));
    assert_eq!(net.text(2), None);
    assert_eq!((net.of(1).counts().rerouted, net.of(2).counts().doubled), (1, 1));
    assert_eq!(net.lost(), 0);
}

#[test]
fn what_can_go_nowhere_is_an_error_or_is_counted() {
    let mut net = Net::new(&row(3), limits(), (512, 100));
    // At the sender.
    for to in [4, 9, 10, 255] {
        let message = net.message(1, to, b"x").expect("one is free");
        assert_eq!(net.of(1).send(message), Err(SendError::NoRoute), "{to}");
        net.of(1).free(message).expect("still the sender's");
    }
    // Behind a link.
    let message = net.message(1, 3, b"x").expect("one is free");
    net.of(1).header_mut(message).expect("new").target = QueueId::new(3, 77);
    net.of(1).send(message).expect("room");
    net.run();
    assert_eq!(net.of(3).counts().unknown_queue, 1);
    net.of(3).open_system(77, 1, None).expect("free");
    for _ in 0..3 {
        let message = net.message(1, 3, b"x").expect("one is free");
        net.of(1).header_mut(message).expect("new").target = QueueId::new(3, 77);
        net.of(1).send(message).expect("room");
    }
    net.run();
    assert_eq!(net.of(3).counts().queue_full, 2);
    // The wire behind the next node is cut: the node keeps what comes until it is told not to.
    net.cut(1);
    let message = net.message(1, 3, b"x").expect("one is free");
    net.of(1).send(message).expect("room");
    net.run();
    assert_eq!((net.of(2).counts().stranded, net.of(2).counts().no_route), (1, 0));
    net.of(2).abandon();
    assert_eq!((net.of(2).is_stranded(), net.of(2).counts().no_route), (false, 1));
    net.cut(0);
    let message = net.message(1, 2, b"x").expect("one is free");
    assert_eq!(net.of(1).send(message), Err(SendError::NoRoute));
    // Nothing is stuck, and nothing is gone of any pool.
    net.mend(0);
    net.mend(1);
    net.run();
    // The sender had not heard that the next node took its message, and sent it again.
    assert_eq!(net.text(3), Some(b"x".to_vec()));
    for _ in 0..300 {
        let message = net.message(1, 3, b"y").expect("one is free");
        net.of(1).send(message).expect("room");
        net.run();
        assert_eq!(net.text(3), Some(b"y".to_vec()));
    }
}

#[test]
fn what_has_no_way_left_waits_for_one_by_urgency_and_is_lost_only_when_it_is_abandoned() {
    for (wire, at) in [(0, 1), (1, 2)] {
        let mut net = Net::new(&row(3), limits(), (512, 100));
        for number in 0..6_u8 {
            let message = net.message(1, 3, &[number]).expect("one is free");
            net.of(1).send_priority(message, if number == 4 { 9 } else { 0 }).expect("room");
            if wire == 0 && number == 2 {
                // Some are under way, and perhaps there.
                net.run();
            }
        }
        net.cut(wire);
        net.run();
        // The next node has credit for some; the others wait for it at the sender.
        assert!(net.of(at).counts().stranded >= 3, "wire {wire}");
        net.mend(wire);
        net.run();
        let mut came: Vec<_> = std::iter::from_fn(|| net.text(3)).map(|text| text[0]).collect();
        came.sort_unstable();
        assert_eq!(came, [0, 1, 2, 3, 4, 5], "wire {wire}");
        assert!(!net.of(at).is_stranded());
        assert_eq!(net.lost(), 0);
    }
}

#[test]
fn what_waits_at_its_sender_for_a_link_that_ends_is_freed_and_counted() {
    let mut net = Net::new(&row(2), limits(), (512, 100));
    for _ in 0..5 {
        let message = net.message(1, 2, b"x").expect("one is free");
        net.of(1).send(message).expect("room");
    }
    net.cut(0);
    assert_eq!((net.of(1).counts().stranded, net.of(1).counts().no_route), (5, 0));
    net.of(1).abandon();
    assert_eq!(net.of(1).counts().no_route, 5);
    assert_eq!((0..40).filter(|_| net.message(1, 2, b"x").is_some()).count(), 32);
}

#[test]
fn a_pool_that_the_application_keeps_empty_drops_and_recovers() {
    let few = Limits { delivered: 2, ..limits() };
    let mut net = Net::new(&row(2), few, (512, 100));
    let send = |net: &mut Net| {
        let message = net.message(1, 2, b"x").expect("one is free");
        net.of(1).send(message).expect("room");
        net.run();
    };
    (0..4).for_each(|_| send(&mut net));
    assert_eq!(net.of(2).counts().pool_empty, 2);
    assert_eq!(net.text(2), Some(b"x".to_vec()));
    send(&mut net);
    assert_eq!(net.of(2).counts().pool_empty, 2);
    assert_eq!(net.of(2).counts().delivered, 3);
}

#[test]
fn a_sender_is_told_that_the_queue_of_the_way_is_full() {
    let few = Limits { outgoing: 3, ..limits() };
    let mut net = Net::new(&row(3), few, (512, 100));
    let sent: Vec<_> = (0..5)
        .map(|_| {
            let message = net.message(1, 3, b"x").expect("one is free");
            net.of(1).send(message)
        })
        .collect();
    assert_eq!(sent, [Ok(()), Ok(()), Ok(()), Err(SendError::Full), Err(SendError::Full)]);
    net.run();
    let message = net.message(1, 3, b"x").expect("one is free");
    assert_eq!(net.of(1).send(message), Ok(()));
}

#[test]
fn routes_that_lead_round_and_round_end_at_the_hop_limit() {
    let mut net = Net::new(&ring(3), Limits { hops: 5, ..limits() }, (512, 100));
    // 1 sends to 9 by 2, 2 by 3, 3 by 1. The wires are 1-2, 2-3, 3-1.
    for (number, link) in [(1u8, 0u8), (2, 1), (3, 1)] {
        let neighbours = [[2, 3], [1, 3], [2, 1]][usize::from(number) - 1];
        let mut table = Table::new(number, &neighbours, &ring(3));
        table.prefer(Range { from: 9, to: 9, link }).expect("a place");
        let place = usize::from(number) - 1;
        net.nodes[place] = node(number, 2, table, net.limits);
        net.nodes[place].create_system_pool(64, 4, 0, 4).expect("memory");
    }
    (0..3).for_each(|wire| net.mend(wire));
    net.run();
    for _ in 0..20 {
        let message = message(net.of(1), 9, b"x").expect("one is free");
        net.of(1).send(message).expect("a route is written down");
        net.run();
    }
    assert_eq!([1, 2, 3].map(|n| net.of(n).counts().hop_limit), [0, 0, 20]);
    assert_eq!([1, 2, 3].map(|n| net.of(n).counts().forwarded), [20, 40, 20]);
}

#[test]
fn a_processor_that_starts_anew_under_its_number_is_heard_at_once() {
    let mut net = Net::new(&row(3), limits(), (512, 100));
    for life in 2..6 {
        for n in 0..3 {
            let message = net.message(1, 3, &[n]).expect("one is free");
            net.of(1).send(message).expect("room");
        }
        net.run();
        assert_eq!([(); 3].map(|()| net.text(3)), [0, 1, 2].map(|n| Some(vec![n])), "{life}");
        net.cut(0);
        net.nodes[0] = net.born(1, life);
        net.mend(0);
        net.run();
    }
    assert_eq!(net.lost(), 0);
}

#[test]
fn urgent_messages_overtake_what_waits_for_the_same_link() {
    let mut net = Net::new(&row(3), limits(), (512, 100));
    for n in 0..4 {
        let message = net.message(1, 3, &[n]).expect("one is free");
        net.of(1).send_priority(message, n % 2).expect("room");
    }
    let message = net.message(1, 3, &[9]).expect("one is free");
    net.of(1).send_urgent(message).expect("room");
    net.run();
    let got: Vec<_> = std::iter::from_fn(|| net.text(3)).flatten().collect();
    assert_eq!(got, [9, 1, 3, 0, 2]);
}

#[test]
fn a_message_longer_than_the_next_node_takes_is_refused_or_counted() {
    let mut net = Net::new(&row(3), limits(), (512, 100));
    net.limits.longest = 100;
    net.nodes[2] = net.born(3, 2);
    net.mend(1);
    net.run();
    let message = net.message(2, 3, &[0; 101]).expect("one is free");
    assert_eq!(net.of(2).send(message), Err(SendError::Size));
    let message = net.message(1, 3, &[0; 101]).expect("one is free");
    net.of(1).send(message).expect("2 takes it");
    net.run();
    assert_eq!(net.of(2).counts().too_long, 1);
}

#[test]
fn a_pool_of_one_message_is_free_again_as_soon_as_the_neighbour_has_it() {
    let mut net = Net::new(&row(3), limits(), (512, 100));
    let pool = net.of(1).create_pool(64, 1, 0, 1).expect("memory");
    // Nothing comes back that could bring the word along.
    for n in 0..10 {
        let message = net.of(1).alloc(pool).expect("it was freed");
        net.of(1).header_mut(message).expect("new").target = QueueId::new(3, QUEUE);
        net.of(1).send(message).expect("room");
        net.run();
        assert_eq!(net.of(3).count(TASK, QueueId::new(3, QUEUE)), Ok(n + 1));
    }
}

#[test]
fn a_link_that_is_down_or_unknown_says_so() {
    let mut net = Net::new(&row(2), limits(), (512, 100));
    let (mut side, _other) = line::<Vec<u8>>(512, 4);
    assert_eq!(net.of(1).connect(1), Err(Ended::Down));
    assert_eq!(net.of(1).serve(1, &mut side), Err(Ended::Down));
    assert_eq!(net.of(1).serve(99, &mut side), Err(Ended::Down));
    net.of(1).disconnect(99);
    assert!(!net.of(1).wants(99) && !net.of(1).is_up(99));
    net.cut(0);
    assert_eq!(net.of(1).serve(0, &mut side), Err(Ended::Down));
    net.of(1).connect(0).expect("a link of the table");
    assert_eq!(net.of(1).serve(0, &mut side), Ok(Left::Nothing));
    side.into.borrow_mut().gone = true;
    assert_eq!(net.of(1).serve(0, &mut side), Err(Ended::Gone));
}
