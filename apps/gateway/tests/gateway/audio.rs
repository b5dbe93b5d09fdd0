//! Sound as networks and strangers bring it.

use crate::machine::Machine;
use crate::rtp::{Receiver, Sender, longest_hole, numbers};

const PCMU: u8 = 0;
const PCMA: u8 = 8;

/// Sound of one law that is sent as it should be.
fn call(machine: &mut Machine, name: &str) -> (Sender, Receiver) {
    let receiver = Receiver::new();
    let port = machine.call(name, "audio", PCMU, PCMA, receiver.port);
    (Sender::new(port, PCMU), receiver)
}

#[test]
fn every_frame_goes_through_the_dsp_and_comes_out_in_the_other_law() {
    let mut machine = Machine::start(&[], &[]);
    let (mut sender, receiver) = call(&mut machine, "plain");
    sender.send(60);
    let packets = receiver.all();
    assert_eq!(numbers(&packets), (0..60).collect::<Vec<_>>());
    assert_eq!(longest_hole(&packets), 0);
    for packet in &packets {
        assert_eq!(packet.payload_type, PCMA);
        // µ-law 0x10 is -15996 and 0x90 is 15996, by the published tables; A-law has -16128 and
        // 16128 for them.
        let expected: Vec<u8> =
            (3..160).map(|sample| if sample % 16 < 8 { 0x3a } else { 0xba }).collect();
        assert_eq!(packet.payload[..157], expected);
    }
    let ended = machine.end();
    assert_eq!(ended.served(0), 60, "the DSP counts each");
    for (figure, value) in [("received", 60), ("frames", 60), ("sent", 60), ("lost", 0)] {
        assert_eq!(ended.of("plain", figure), value, "{figure}");
    }
    assert_eq!(ended.of("plain", "dropped"), 0);
}

#[test]
fn lost_packets_are_concealed_and_others_come_in_order_and_once() {
    let mut machine = Machine::start(&[], &[]);
    let (mut sender, receiver) = call(&mut machine, "lossy");
    for number in 0..80 {
        let packet = sender.packet();
        match number % 16 {
            7 => {}
            10 => {
                sender.step();
                let next = sender.packet();
                sender.throw(&next);
                sender.throw(&packet);
            }
            12 => {
                sender.throw(&packet);
                sender.throw(&packet);
            }
            _ => sender.throw(&packet),
        }
        sender.step();
    }
    let packets = receiver.all();
    assert_eq!(longest_hole(&packets), 0, "there is a frame for each that was lost");
    let ended = machine.end();
    assert_eq!(ended.of("lossy", "lost"), 5);
    assert_eq!(ended.of("lossy", "concealed"), 5);
    // Each of five doubles was received, and five that were not were made up.
    assert_eq!(packets.len() as u64, ended.of("lossy", "received"));
    let places = (0..).zip(numbers(&packets)).zip(&packets);
    for ((place, number), packet) in places {
        // Of every seventeen frames the eighth was lost. What is made up has no number, and sounds.
        match place % 17 {
            7 => assert!(packet.payload.iter().any(|byte| byte ^ 0xd5 > 8), "silence at {place}"),
            _ => assert_eq!(number, place),
        }
    }
}

#[test]
fn what_strangers_send_is_thrown_away_and_the_session_does_not_notice() {
    let mut machine = Machine::start(&[], &[]);
    let (mut sender, receiver) = call(&mut machine, "quiet");
    sender.send(5);
    let mut stranger = Sender::new(sender.to, PCMU);
    stranger.sequence = sender.sequence;
    let mut random = fastrand::Rng::with_seed(11);
    for _ in 0..40 {
        // RTP that would do, of somebody else.
        stranger.throw(&stranger.packet());
        stranger.sequence = stranger.sequence.wrapping_add(random.u16(..));
        stranger.time = random.u32(..);
        // What is none, of both.
        let mut noise = vec![0; random.usize(0..1500)];
        random.fill(&mut noise);
        stranger.throw(&noise);
        if noise.first().is_none_or(|first| first >> 6 != 2) {
            sender.throw(&noise);
        }
        // A header that says more than there is.
        let mut cut = sender.packet();
        cut[0] = 0xbf;
        cut.truncate(random.usize(1..20));
        sender.throw(&cut);
        sender.send(1);
    }
    let packets = receiver.all();
    assert_eq!(numbers(&packets), (0..45).collect::<Vec<_>>());
    let ended = machine.end();
    assert_eq!(ended.of("quiet", "received"), 45);
    assert!(ended.of("quiet", "rejected") >= 80, "{}", ended.of("quiet", "rejected"));
    assert_eq!(ended.of("quiet", "late") + ended.of("quiet", "failed"), 0);
}

#[test]
fn a_jump_of_time_stamps_and_sequence_is_a_new_beginning() {
    let mut machine = Machine::start(&[], &[]);
    let (mut sender, receiver) = call(&mut machine, "jumpy");
    sender.send(20);
    sender.time = sender.time.wrapping_add(40_000_000);
    sender.send(20);
    sender.time = sender.time.wrapping_sub(90_000_000);
    sender.sequence = sender.sequence.wrapping_sub(20_000);
    sender.send(40);
    let packets = receiver.all();
    let ended = machine.end();
    // GStreamer's buffer takes five packets to believe in a new sequence. No hour of silence is
    // made up.
    assert!((60..=85).contains(&packets.len()), "{} packets", packets.len());
    assert!(ended.of("jumpy", "concealed") < 10);
    assert_eq!(ended.of("jumpy", "late"), 0);
}

#[test]
fn a_sender_that_pauses_is_followed_and_its_pause_kept() {
    let mut machine = Machine::start(&[], &[]);
    let (mut sender, receiver) = call(&mut machine, "pause");
    sender.send(10);
    for _ in 0..25 {
        let sequence = sender.sequence;
        sender.step();
        sender.sequence = sequence;
    }
    sender.send(10);
    let packets = receiver.all();
    assert_eq!(packets.len(), 20);
    let hole = longest_hole(&packets);
    assert!((20..=30).contains(&hole), "25 frames of silence are {hole}");
    assert_eq!(machine.end().of("pause", "concealed"), 0);
}

#[test]
fn a_codec_that_was_not_agreed_is_ignored_and_said_once() {
    let mut machine = Machine::start(&[], &[]);
    let (mut sender, receiver) = call(&mut machine, "wrong");
    sender.payload_type = PCMA;
    sender.send(10);
    sender.payload_type = PCMU;
    sender.send(10);
    let packets = receiver.all();
    let ended = machine.end();
    assert_eq!(packets.len(), 10);
    assert_eq!(ended.of("wrong", "rejected"), 10);
    let line = "call wrong: packets of payload type 8 come where 0 was agreed";
    assert_eq!(ended.said.matches(line).count(), 1, "{}", ended.said);
}

#[test]
fn both_ways_of_a_call_are_carried_at_once() {
    let mut machine = Machine::start(&[], &[]);
    let (near, far) = (Receiver::new(), Receiver::new());
    let answers =
        [("offer", near.port, PCMU), ("answer", far.port, PCMA)].map(|(command, port, law)| {
            let sdp = crate::machine::sdp("audio", port, law, "sendrecv");
            machine.ask(&[
                ("command", command),
                ("call-id", "both"),
                ("from-tag", "a"),
                ("to-tag", "b"),
                ("sdp", &sdp),
            ])
        });
    let [to_far, to_near] = answers.map(|answer| crate::machine::media_port(&answer, "audio"));
    let mut senders = [Sender::new(to_near, PCMU), Sender::new(to_far, PCMA)];
    for _ in 0..30 {
        for sender in &senders {
            sender.throw(&sender.packet());
        }
        senders.iter_mut().for_each(Sender::step);
    }
    for (receiver, law) in [(far, PCMA), (near, PCMU)] {
        let packets = receiver.all();
        assert_eq!(packets.len(), 30);
        assert!(packets.iter().all(|packet| packet.payload_type == law));
    }
    let totals = machine.ask(&[("command", "delete"), ("call-id", "both")]);
    assert!(totals.contains("8:receivedi60e"), "{totals}");
    assert_eq!(machine.end().served(0), 60);
}
