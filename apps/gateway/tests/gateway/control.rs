//! What a proxy may say, and what nobody should.

use crate::machine::{Machine, sdp};
use crate::rtp::{Receiver, Sender};

#[test]
fn what_is_no_request_is_an_error_in_words_and_harms_nobody() {
    let mut machine = Machine::start(&[], &[]);
    let mut random = fastrand::Rng::with_seed(2);
    for _ in 0..300 {
        let mut noise = vec![0; random.usize(0..2000)];
        random.fill(&mut noise);
        machine.throw(&noise);
    }
    for byte in [b'l', b'd', b'i', b'9', 0] {
        let mut bomb = b"1 d1:x".to_vec();
        bomb.resize(65_000, byte);
        machine.throw(&bomb);
    }
    let long = sdp("audio", 9, 0, "sendonly") + &"a=x\r\n".repeat(9000);
    let six = sdp("audio", 9, 0, "sendonly").replace("IN IP4 127.0.0.1\r\nt", "IN IP6 ::1\r\nt");
    let opus = sdp("audio", 9, 96, "sendonly");
    let offer = |sdp| [("command", "offer"), ("call-id", "x"), ("from-tag", "a"), ("sdp", sdp)];
    let wrong: [(&[(&str, &str)], &str); 9] = [
        (&[], "no key command"),
        (&[("command", "conquer"), ("call-id", "x")], "no command conquer"),
        (&[("command", "offer")], "no key call-id"),
        (&[("command", "offer"), ("call-id", "x")], "no key sdp"),
        (&[("command", "delete"), ("call-id", "x")], "no call x"),
        (&[("command", "query"), ("call-id", "x")], "no call x"),
        (&offer("v=1"), "cannot be read"),
        (&offer(&long), "longer than"),
        (&offer(&six), "IPv4"),
    ];
    for (request, word) in wrong {
        let answer = machine.ask(request);
        assert!(answer.contains("6:result5:error") && answer.contains(word), "{word}: {answer}");
    }
    let answer = machine.ask(&offer(&opus));
    assert!(answer.contains("no media line that can be carried"), "{answer}");
    assert_eq!(machine.ask(&[("command", "ping")]), "d6:result4:ponge");
    let ended = machine.end();
    assert_eq!(ended.gateway["sessions"].as_array().unwrap().len(), 0);
}

#[test]
fn a_request_that_comes_twice_is_carried_out_once() {
    let machine = Machine::start(&[], &[]);
    let proxy = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    proxy.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
    let text = sdp("audio", 9, 0, "sendonly");
    let request =
        format!("same d7:command5:offer7:call-id1:x8:from-tag1:a3:sdp{}:{text}e", text.len());
    let mut answers = Vec::new();
    for _ in 0..2 {
        proxy.send_to(request.as_bytes(), ("127.0.0.1", machine.port)).unwrap();
        let mut answer = vec![0; 4096];
        let length = proxy.recv(&mut answer).unwrap();
        answers.push(answer[..length].to_vec());
    }
    assert_eq!(answers[0], answers[1], "with the same ports");
    machine.end();
}

#[test]
fn a_second_gateway_on_a_port_says_so_and_the_first_goes_on() {
    let mut machine = Machine::start(&[], &[]);
    let mut second = machine.another_gateway();
    assert_eq!(second.wait(), Some(7));
    let said = second.said();
    assert!(said.contains(&format!("cannot listen at 127.0.0.1:{}", machine.port)), "{said}");
    assert_eq!(machine.ask(&[("command", "ping")]), "d6:result4:ponge");
    machine.end();
}

#[test]
fn strategies_that_were_named_are_refused_when_memory_is_short() {
    let mut machine = Machine::start(&[], &["--memory", "2048"]);
    let text = sdp("audio", 9, 0, "sendonly");
    let mut refused = None;
    for number in 0..100 {
        let name = format!("{number}");
        let request = [("command", "offer"), ("call-id", &name), ("from-tag", "a"), ("sdp", &text)];
        let answer = machine.ask(&request);
        if answer.contains("5:error") {
            refused = Some((number, answer, request.map(|(key, value)| (key, value.to_owned()))));
            break;
        }
    }
    let (number, answer, request) = refused.expect("not a hundred fit");
    assert!(number > 0 && answer.contains("refused: "), "{number} fit: {answer}");
    assert!(answer.contains("bytes of internal memory"), "{answer}");
    // Room for one is room for one again when it has left.
    machine.ask(&[("command", "delete"), ("call-id", "0")]);
    let request = request.each_ref().map(|(key, value)| (*key, value.as_str()));
    let answer = machine.ask(&request);
    assert!(answer.contains("6:result2:ok"), "{answer}");
    assert_eq!(machine.end().gateway["refused"], 1);
}

#[test]
fn a_gateway_that_is_ended_in_a_call_leaves_nothing_and_writes_down_what_was() {
    let mut machine = Machine::start(&[], &[]);
    let receiver = Receiver::new();
    let port = machine.call("cut", "audio", 0, 8, receiver.port);
    let mut sender = Sender::new(port, 0);
    sender.send(10);
    let ended = machine.end();
    assert!(ended.of("cut", "received") > 0);
}

#[test]
fn calls_that_come_and_go_leave_nothing_at_the_dsp_or_here() {
    let mut machine = Machine::start(&[], &[]);
    let threads = |machine: &Machine| {
        let tasks = format!("/proc/{}/task", machine.gateway.child.id());
        std::fs::read_dir(tasks).unwrap().count()
    };
    let descriptors = |machine: &Machine| {
        let open = format!("/proc/{}/fd", machine.gateway.child.id());
        std::fs::read_dir(open).unwrap().count()
    };
    let mut before = (0, 0);
    for number in 0..15 {
        let receiver = Receiver::new();
        let name = format!("call-{number}");
        let port = machine.call(&name, "audio", 0, 8, receiver.port);
        Sender::new(port, 0).send(4);
        let answer = machine.ask(&[("command", "delete"), ("call-id", &name)]);
        assert!(answer.contains("6:result2:ok"), "{answer}");
        if number == 4 {
            // GStreamer keeps some of what its first pipelines made.
            before = (threads(&machine), descriptors(&machine));
        }
    }
    let after = (threads(&machine), descriptors(&machine));
    assert!(after.0 <= before.0 + 2 && after.1 <= before.1 + 2, "{before:?} became {after:?}");
    machine.end();
}

#[test]
fn requests_in_any_order_with_any_sides_and_media_leave_a_gateway_that_works() {
    let mut machine = Machine::start(&[], &[]);
    let mut random = fastrand::Rng::with_seed(13);
    let receiver = Receiver::new();
    let descriptions: Vec<String> = [
        ("audio", 0, "sendrecv"),
        ("audio", 8, "sendonly"),
        ("audio", 8, "recvonly"),
        ("audio", 0, "inactive"),
        ("audio", 96, "sendrecv"),
        ("video", 34, "sendrecv"),
    ]
    .map(|(kind, payload_type, way)| sdp(kind, receiver.port, payload_type, way))
    .into_iter()
    .collect();
    let two = format!("{}m=video 9 RTP/AVP 34\r\n", descriptions[0]);
    for _ in 0..250 {
        let command = ["offer", "offer", "answer", "answer", "query", "delete"][random.usize(..6)];
        let call = ["a", "b", ""][random.usize(..3)];
        let mut tag = || ["x", "y", "z"][random.usize(..3)];
        let (from, to) = (tag(), tag());
        let text = match random.usize(..8) {
            7 => &two,
            number => &descriptions[number % 6],
        };
        let answer = machine.ask(&[
            ("command", command),
            ("call-id", call),
            ("from-tag", from),
            ("to-tag", to),
            ("sdp", text),
        ]);
        assert!(answer.contains("6:result2:ok") || answer.contains("12:error-reason"), "{answer}");
    }
    for call in ["a", "b", ""] {
        machine.ask(&[("command", "delete"), ("call-id", call)]);
    }
    let port = machine.call("after", "audio", 0, 8, receiver.port);
    receiver.all();
    Sender::new(port, 0).send(20);
    assert_eq!(receiver.all().len(), 20);
    assert_eq!(machine.end().of("after", "frames"), 20);
}
