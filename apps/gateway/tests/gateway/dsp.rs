//! A DSP that dies, hangs, is slow or was never there.

use crate::machine::Machine;
use crate::rtp::{Receiver, Sender, numbers};

fn call(machine: &mut Machine, name: &str) -> (Sender, Receiver) {
    let receiver = Receiver::new();
    let port = machine.call(name, "audio", 0, 8, receiver.port);
    (Sender::new(port, 0), receiver)
}

#[test]
fn a_dsp_that_is_killed_in_a_call_is_not_missed_and_used_again_when_it_is_back() {
    let mut machine = Machine::start(&[], &[]);
    let (mut sender, receiver) = call(&mut machine, "alive");
    sender.send(25);
    machine.dsp.signal("KILL");
    sender.send(25);
    machine.dsp.wait();
    machine.restart_dsp();
    sender.send(50);
    let packets = receiver.all();
    // 100 ms of silence would be five frames. Not one is missing.
    assert_eq!(numbers(&packets), (0..100).collect::<Vec<_>>());
    let tone = |packet: &crate::rtp::Packet| packet.payload[..157] == packets[0].payload[..157];
    assert!(packets.iter().all(tone), "the same sound, whoever coded it");
    let ended = machine.end();
    assert!(ended.served(0) > 0, "it is used again");
    let (dropped, own) = (ended.of("alive", "dropped"), ended.of("alive", "own"));
    assert!(dropped > 0 && dropped == own, "{dropped} not carried, {own} coded here");
    for line in ["the DSP dsp is gone: frames are coded by the gateway", "the DSP dsp is back"] {
        assert_eq!(ended.said.matches(line).count(), 1, "{}", ended.said);
    }
}

#[test]
fn a_dsp_that_hangs_is_helped_out_for_until_it_answers() {
    let mut machine = Machine::start(&[], &[]);
    let (mut sender, receiver) = call(&mut machine, "alive");
    sender.send(20);
    machine.dsp.signal("STOP");
    sender.send(40);
    machine.dsp.signal("CONT");
    sender.send(20);
    let packets = receiver.all();
    assert_eq!(numbers(&packets), (0..80).collect::<Vec<_>>());
    let ended = machine.end();
    assert!(ended.of("alive", "late") > 0, "what it had was given up");
    assert!(ended.of("alive", "dropped") > 0, "and it got no more");
    for line in ["the DSP dsp does not answer in time", "the DSP dsp keeps up again"] {
        assert!(ended.said.contains(line), "{}", ended.said);
    }
}

#[test]
fn without_any_dsp_calls_are_carried_all_the_same() {
    let mut machine = Machine::start(&[], &["--dsp", "nobody"]);
    let (mut sender, receiver) = call(&mut machine, "alone");
    sender.send(20);
    assert_eq!(receiver.all().len(), 20);
    let ended = machine.end();
    assert_eq!(ended.served(0), 0);
    assert_eq!(ended.of("alone", "own"), 20);
}

#[test]
fn a_slow_dsp_takes_as_much_longer_as_it_is_slower() {
    let mut machine = Machine::start(&["--speed", "5"], &[]);
    let (mut sender, receiver) = call(&mut machine, "slow");
    sender.send(50);
    assert_eq!(receiver.all().len(), 50);
    let ended = machine.end();
    let function = &ended.dsp["functions"][0];
    let [worked, busy] = ["cpu_ms", "busy_ms"].map(|key| function[key].as_f64().unwrap());
    // Twenty times as long, give or take what sleeps add and what a busy machine does.
    assert!(busy > 15.0 * worked, "{worked} ms of work were {busy} ms");
}

#[test]
fn with_auto_what_is_chosen_is_written_down_and_what_does_not_fit_is_refused() {
    // So slow that few directions fit.
    let mut machine = Machine::start(&["--speed", "1"], &["--strategy", "auto"]);
    let (mut sender, _receiver) = call(&mut machine, "first");
    sender.send(40);
    let mut refused = None;
    for number in 0..40 {
        let name = format!("{number}");
        let sdp = crate::machine::sdp("audio", 9, 0, "sendonly");
        let answer = machine.ask(&[
            ("command", "offer"),
            ("call-id", &name),
            ("from-tag", "a"),
            ("sdp", &sdp),
        ]);
        if answer.contains("5:error") {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("not forty directions fit");
    assert!(refused.contains("refused: "), "{refused}");
    let ended = machine.end();
    assert_eq!(ended.gateway["refused"], 1);
    let decisions = ended.gateway["decisions"].as_array().unwrap();
    assert!(decisions.iter().any(|row| row["flow"] == "audio" && row["why"] == "arrived"));
}
