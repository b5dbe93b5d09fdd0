//! The two ends of a session: processes of others that send and receive RTP. GStreamer has the
//! audio, as ffmpeg sends audio in bursts; ffmpeg has the video.

use super::plan::Kind;
use crate::base::failure::Failure;
use crate::experiments::house::House;
use crate::experiments::house::helper::{Helper, Start};
use crate::formats::wav;
use rustix::process::Signal;
use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};

/// Bytes of a frame of G.711, and its samples.
const FRAME: usize = 160;

/// The SDP of an end that has media sent to this port.
pub(super) fn sdp(kind: Kind, sends: bool, port: u16) -> String {
    let (media, number, name) = match (kind, sends) {
        (Kind::Audio, true) => ("audio", 0, "PCMU/8000"),
        (Kind::Audio, false) => ("audio", 8, "PCMA/8000"),
        (Kind::Video, _) => ("video", 34, "H263/90000"),
    };
    [
        "v=0".to_owned(),
        "o=- 0 0 IN IP4 127.0.0.1".to_owned(),
        "s=-".to_owned(),
        "c=IN IP4 127.0.0.1".to_owned(),
        "t=0 0".to_owned(),
        format!("m={media} {port} RTP/AVP {number}"),
        format!("a=rtpmap:{number} {name}"),
        // So the gateway keeps no room for frames that come back.
        format!("a={}", if sends { "sendonly" } else { "recvonly" }),
        String::new(),
    ]
    .join("\r\n")
}

/// What receives: how many frames have come is in a file.
pub(super) struct Receiver {
    pub helper: Helper,
    kind: Kind,
    pub port: u16,
    file: PathBuf,
}

impl Receiver {
    /// Starts one that listens at a port.
    ///
    /// # Errors
    /// It cannot be started, or a file of it not be written.
    pub fn start(house: &House, kind: Kind, call: &str, port: u16) -> Result<Receiver, Failure> {
        let file = house.path(&format!("{call}.heard"));
        let description = house.write(&format!("{call}.sdp"), &sdp(kind, false, port))?;
        let text = match kind {
            Kind::Audio => format!(
                "gst-launch-1.0 -q udpsrc address=127.0.0.1 port={port} \
                 caps=application/x-rtp,media=audio,clock-rate=8000,encoding-name=PCMA,payload=8 \
                 ! rtppcmadepay ! filesink location=FILE"
            ),
            // Nothing is guessed from the first frames: the description says what comes.
            Kind::Video => "ffmpeg -hide_banner -nostdin -loglevel warning \
                            -protocol_whitelist file,udp,rtp -analyzeduration 1 -i SDP -map 0:v \
                            -fps_mode passthrough -flush_packets 1 -f framecrc -y FILE"
                .to_owned(),
        };
        let words = completed(&text, &[("SDP", &description), ("FILE", &file)]);
        let helper = start(house, call, "receives", &words)?;
        Ok(Receiver { helper, kind, port, file })
    }

    /// Tells it that nothing more comes: as a sender does at its end, where it heeds that.
    pub fn end(&self) {
        match self.kind {
            Kind::Audio => self.helper.signal(Signal::INT),
            Kind::Video => {
                /// A receiver report and a BYE: RFC 3550 wants both in one datagram.
                const BYE: [u8; 16] = [0x80, 201, 0, 1, 0, 0, 0, 1, 0x81, 203, 0, 1, 0, 0, 0, 1];
                let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
                // One that hears nothing is killed in the end.
                let _ = socket
                    .and_then(|socket| socket.send_to(&BYE, (Ipv4Addr::LOCALHOST, self.port + 1)));
            }
        }
    }

    /// How many frames came.
    pub fn heard(&self) -> u64 {
        match self.kind {
            Kind::Audio => {
                std::fs::metadata(&self.file).map_or(0, |file| file.len() / FRAME as u64)
            }
            Kind::Video => {
                let text = std::fs::read_to_string(&self.file).unwrap_or_default();
                text.lines().filter(|line| !line.starts_with('#')).count() as u64
            }
        }
    }
}

/// Starts what sends `frames` frames from one port to another, each when it is due.
///
/// # Errors
/// It cannot be started, or a file of it not be written.
pub(super) fn sender(
    house: &House,
    (kind, call): (Kind, &str),
    frames: u64,
    speech: &[i16],
    [from, to]: [u16; 2],
) -> Result<Helper, Failure> {
    let said = house.path(&format!("{call}.wav"));
    let text = match kind {
        Kind::Audio => {
            let samples = usize::try_from(frames).unwrap_or(usize::MAX).saturating_mul(FRAME);
            let all: Vec<i16> = speech.iter().copied().cycle().take(samples).collect();
            wav::write(&said, &all)?;
            format!(
                "gst-launch-1.0 -q filesrc location=FILE ! wavparse ! mulawenc ! \
                 rtppcmupay min-ptime=20000000 max-ptime=20000000 ! \
                 udpsink host=127.0.0.1 port={to} bind-address=127.0.0.1 bind-port={from}"
            )
        }
        // With so small a buffer a frame fits into a packet, as it does on a real line.
        Kind::Video => format!(
            "ffmpeg -hide_banner -nostdin -loglevel warning -re -f lavfi \
             -i testsrc2=size=128x96:rate=10 -frames:v {frames} -c:v h263 -b:v 64k -maxrate 64k \
             -bufsize 12k -f rtp -rtpflags rfc2190+send_bye \
             rtp://127.0.0.1:{to}?localrtpport={from}"
        ),
    };
    start(house, call, "sends", &completed(&text, &[("FILE", &said)]))
}

/// The words of a command line, with the paths that belong at the end of some.
fn completed(text: &str, paths: &[(&str, &Path)]) -> Vec<OsString> {
    let word = |word: &str| -> OsString {
        let found = paths.iter().find_map(|(name, path)| Some((word.strip_suffix(name)?, path)));
        match found {
            Some((before, path)) => [OsStr::new(before), path.as_os_str()].into_iter().collect(),
            None => word.into(),
        }
    };
    text.split_whitespace().map(word).collect()
}

fn start(house: &House, call: &str, does: &str, words: &[OsString]) -> Result<Helper, Failure> {
    let program = words.first().map(|word| word.to_string_lossy().into_owned());
    Helper::start(Start {
        name: format!("what {does} {call} ({})", program.unwrap_or_default()),
        words: words.iter().map(OsString::as_os_str).collect(),
        environment: Vec::new(),
        log: house.path(&format!("{call}.{does}.log")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_words_whatever_is_in_them() {
        let file = Path::new("/tmp/a b/x");
        let words = completed("play location=FILE now SDP", &[("SDP", file), ("FILE", file)]);
        assert_eq!(words, ["play", "location=/tmp/a b/x", "now", "/tmp/a b/x"]);
    }

    #[test]
    fn each_end_has_its_codec() {
        let first = |kind, sends| super::super::control::port(&sdp(kind, sends, 4002));
        assert_eq!(first(Kind::Audio, true), Some(4002));
        assert!(sdp(Kind::Audio, true, 1).contains("RTP/AVP 0\r\n"));
        assert!(sdp(Kind::Audio, true, 1).ends_with("a=sendonly\r\n"));
        assert!(sdp(Kind::Audio, false, 1).contains("RTP/AVP 8\r\n"));
        assert!(sdp(Kind::Video, true, 1).contains("RTP/AVP 34\r\n"));
    }
}
