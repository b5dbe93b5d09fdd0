//! Clients that are not ours: GStreamer for sound, ffmpeg for pictures.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::machine::Machine;
use crate::rtp::{Receiver, longest_hole};

/// Ends with its test.
struct Client(Child);

impl Client {
    fn start(program: &str, arguments: &str) -> Client {
        let child = Command::new(program)
            .args(arguments.split(' '))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Client(child.unwrap_or_else(|error| panic!("{program}: {error}: run ci/setup gateway")))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn sound_of_gstreamer_and_pictures_of_ffmpeg_go_through_at_once() {
    let mut machine = Machine::start(&[], &[]);
    let heard = Receiver::new();
    let sound = machine.call("sound", "audio", 0, 8, heard.port);
    // Whatever is free now: ffmpeg opens it by its number.
    let seen = Receiver::new().port;
    let pictures = machine.call("pictures", "video", 34, 34, seen);

    let directory = tempfile::tempdir().unwrap();
    let described = directory.path().join("pictures.sdp");
    std::fs::write(&described, crate::machine::sdp("video", seen, 34, "recvonly")).unwrap();
    let shown = directory.path().join("shown.yuv");
    let receiver = format!(
        "-v error -protocol_whitelist file,rtp,udp -i {} -fps_mode passthrough -frames:v 22 -f rawvideo {}",
        described.display(),
        shown.display()
    );
    let mut receiver = Client::start("ffmpeg", &receiver);
    let speaker = format!(
        "-q audiotestsrc is-live=true samplesperbuffer=160 ! audio/x-raw,rate=8000,channels=1 ! \
         mulawenc ! rtppcmupay ! udpsink host=127.0.0.1 port={sound}"
    );
    let camera = format!(
        "-v error -re -f lavfi -i testsrc=size=128x96:rate=10 -c:v h263 -b:v 64k -g 10 -ps 1 \
         -f rtp -rtpflags rfc2190 -payload_type 34 rtp://127.0.0.1:{pictures}"
    );
    let speaker = Client::start("gst-launch-1.0", &speaker);
    let camera = Client::start("ffmpeg", &camera);

    let until = Instant::now() + Duration::from_secs(20);
    while receiver.0.try_wait().unwrap().is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(receiver.0.wait().unwrap().success(), "22 pictures come in time");
    drop((speaker, camera));

    let bytes = std::fs::read(&shown).unwrap();
    assert_eq!(bytes.len(), 22 * 128 * 96 * 3 / 2, "pictures of the size that was sent");
    // One of ten needs no other, so ffmpeg has met two. The test picture has bars of all
    // brightnesses; a decoder that lost its way shows grey.
    let last = &bytes[21 * 128 * 96 * 3 / 2..][..128 * 96];
    let (least, most) = (last.iter().min().unwrap(), last.iter().max().unwrap());
    assert!(*least < 60 && *most > 180, "from {least} to {most}");
    let packets = heard.all();
    assert!(packets.len() > 20);
    assert_eq!(longest_hole(&packets), 0);
    let ended = machine.end();
    assert_eq!(ended.of("sound", "frames"), ended.served(0));
    assert_eq!(ended.of("pictures", "frames"), ended.served(1));
    assert_eq!(ended.of("pictures", "failed"), 0);
}

#[test]
fn pictures_go_on_when_the_dsp_is_killed_and_when_it_is_back() {
    let mut machine = Machine::start(&[], &[]);
    let seen = Receiver::new();
    let port = machine.call("pictures", "video", 34, 34, seen.port);
    let camera = format!(
        "-v error -re -f lavfi -i testsrc=size=128x96:rate=10 -c:v h263 -b:v 64k -g 5 -ps 1 \
         -f rtp -rtpflags rfc2190 -payload_type 34 rtp://127.0.0.1:{port}"
    );
    let camera = Client::start("ffmpeg", &camera);
    seen.first();
    std::thread::sleep(Duration::from_millis(700));
    machine.dsp.signal("KILL");
    machine.dsp.wait();
    std::thread::sleep(Duration::from_millis(700));
    machine.restart_dsp();
    std::thread::sleep(Duration::from_millis(700));
    drop(camera);
    let packets = seen.all();
    let ended = machine.end();
    let (frames, own) = (ended.of("pictures", "frames"), ended.of("pictures", "own"));
    assert!(own > 0 && ended.served(1) > 0, "{own} coded here, {} later", ended.served(1));
    assert_eq!(ended.of("pictures", "failed"), 0);
    // Each picture is one packet at least.
    assert!(packets.len() as u64 + 1 >= frames, "{} packets of {frames} frames", packets.len());
}

#[test]
#[ignore = "needs what ci/setup telephone installs"]
fn two_telephones_talk_through_kamailio_and_the_gateway() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/sip/call");
    let built = std::path::Path::new(env!("CARGO_BIN_EXE_narrows-gateway")).parent().unwrap();
    let done = Command::new(script).arg("5").env("GATEWAY_DIR", built).output().unwrap();
    let (out, errors) =
        (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{out}{errors}");
    for (from, to) in [("PCMU", "PCMA"), ("PCMA", "PCMU")] {
        let row = format!("\"from\": \"{from}\",\n      \"to\": \"{to}\"");
        assert_eq!(out.matches(&row).count(), 1, "{out}");
    }
    assert_eq!(out.matches("\"dropped\": 0").count(), 2, "{out}");
    for name in ["caller", "answerer"] {
        let (_, heard) = out.split_once(&format!("{name} heard ")).expect("it heard something");
        let (seconds, rest) = heard.split_once(" s, at ").unwrap();
        let loud: f64 = rest.split(' ').next().unwrap().parse().unwrap();
        assert!(seconds.parse::<f64>().unwrap() > 3.0 && loud > -40.0, "{name} heard {heard}");
    }
}
