//! What is understood of a session description, and how one is rewritten so that media come here.

use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};

use sdp_types::{Attribute, Connection, Media, Session};

use crate::frame::{Codec, Kind};

/// The longest description, in bytes, and the most media lines in one.
const LONGEST: usize = 16_384;
const LINES: usize = 8;

/// A media line that can be carried: where that side receives, and how it codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub kind: Kind,
    pub remote: SocketAddrV4,
    /// The first that it names of those that are known here.
    pub codec: Codec,
    pub sends: bool,
    pub receives: bool,
}

/// A description and its media lines; none for one that is not carried.
#[derive(Debug)]
pub struct Described {
    session: Session,
    pub lines: Vec<Option<Line>>,
}

/// Reads a description.
///
/// # Errors
/// Why it cannot be used, as a sentence.
pub fn read(text: &str) -> Result<Described, String> {
    if text.len() > LONGEST {
        return Err(format!("the session description is longer than {LONGEST} bytes"));
    }
    let session = Session::parse(text.as_bytes())
        .map_err(|error| format!("the session description cannot be read: {error}"))?;
    if session.medias.len() > LINES {
        return Err(format!("the session description has more than {LINES} media lines"));
    }
    let lines = session.medias.iter().map(|media| line(&session, media));
    let lines: Vec<Option<Line>> = lines.collect::<Result<_, String>>()?;
    Ok(Described { session, lines })
}

fn line(session: &Session, media: &Media) -> Result<Option<Line>, String> {
    let kind = match media.media.as_str() {
        "audio" => Kind::Audio,
        "video" => Kind::Video,
        _ => return Ok(None),
    };
    let known = media.fmt.split_whitespace().filter_map(|format| format.parse().ok());
    let codec = known.filter_map(Codec::of_payload_type).find(|codec| codec.kind() == kind);
    let plain = matches!(media.proto.as_str(), "RTP/AVP" | "RTP/AVPF");
    let Some(codec) = codec.filter(|_| plain && media.port != 0) else { return Ok(None) };
    let connection = media.connections.first().or(session.connection.as_ref());
    let address = connection.map(|connection| connection.connection_address.clone());
    let address = address.ok_or("a media line has no address (c=)")?;
    let Ok(IpAddr::V4(address)) = address.parse() else {
        return Err(format!("media are sent to addresses of IPv4 only, not to {address}"));
    };
    let has = |name: &str| {
        let of = |attributes: &[Attribute]| attributes.iter().any(|one| one.attribute == name);
        of(&media.attributes) || of(&session.attributes)
    };
    Ok(Some(Line {
        kind,
        remote: SocketAddrV4::new(address, media.port),
        codec,
        sends: !has("recvonly") && !has("inactive"),
        receives: !has("sendonly") && !has("inactive"),
    }))
}

impl Described {
    /// The same description with media to come to these ports of `address`, coded so: a line that
    /// has none is declined.
    #[must_use]
    pub fn rewritten(&self, address: Ipv4Addr, lines: &[Option<(u16, Vec<Codec>)>]) -> String {
        let mut session = self.session.clone();
        session.connection = Some(Connection::from_ip_addr(address));
        for (number, media) in session.medias.iter_mut().enumerate() {
            media.connections.clear();
            let Some(Some((port, codecs))) = lines.get(number) else {
                media.port = 0;
                media.attributes.clear();
                continue;
            };
            media.port = *port;
            media.num_ports = None;
            let types = codecs.iter().map(|codec| codec.payload_type().to_string());
            media.fmt = types.collect::<Vec<_>>().join(" ");
            let kept = |one: &Attribute| {
                matches!(
                    one.attribute.as_str(),
                    "sendonly" | "recvonly" | "sendrecv" | "inactive" | "ptime"
                )
            };
            media.attributes.retain(kept);
            for codec in codecs {
                let value =
                    format!("{} {}/{}", codec.payload_type(), codec.name(), codec.clock_rate());
                media.attributes.push(Attribute::with_value("rtpmap", value));
                if *codec == Codec::H263 {
                    // Ten pictures a second or fewer: every three of the standard's clock.
                    let value = format!("{} SQCIF=3", codec.payload_type());
                    media.attributes.push(Attribute::with_value("fmtp", value));
                }
            }
        }
        // Candidates, keys and feedback are between the two sides and mean nothing to the gateway.
        let of_media = ["ice-", "candidate", "crypto", "fingerprint", "rtcp", "group"];
        session
            .attributes
            .retain(|one| !of_media.iter().any(|word| one.attribute.starts_with(word)));
        let mut text = Vec::new();
        // A vector takes all that is written to it.
        let _ = session.write(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHONE: &str = "v=0\r\no=a 1 1 IN IP4 127.0.0.1\r\ns=Talk\r\nc=IN IP4 127.0.0.1\r\n\
        t=0 0\r\na=ice-pwd:x\r\nm=audio 7078 RTP/AVP 96 0 101\r\na=rtpmap:96 opus/48000/2\r\n\
        a=rtpmap:101 telephone-event/8000\r\na=candidate:1 1 UDP 2 127.0.0.1 7078 typ host\r\n\
        a=ptime:20\r\nm=video 9078 RTP/AVP 34\r\na=sendonly\r\nm=audio 9 TCP/MSRP *\r\n";

    #[test]
    fn the_first_codec_that_is_known_is_taken_and_what_is_not_carried_is_none() {
        let described = read(PHONE).unwrap();
        let [Some(audio), Some(video), None] = described.lines[..] else {
            panic!("{:?}", described.lines)
        };
        assert_eq!(audio.codec, Codec::Pcmu);
        assert_eq!(audio.remote, "127.0.0.1:7078".parse().unwrap());
        assert!(audio.sends && audio.receives && video.sends && !video.receives);
    }

    #[test]
    fn a_rewritten_description_has_this_address_and_what_it_is_to_have_and_no_more() {
        let described = read(PHONE).unwrap();
        let to =
            [Some((20_000, vec![Codec::Pcmu, Codec::Pcma])), Some((20_002, vec![Codec::H263]))];
        let text = described.rewritten(Ipv4Addr::new(127, 0, 0, 2), &to);
        let again = read(&text).unwrap();
        assert_eq!(again.lines[0].unwrap().remote, "127.0.0.2:20000".parse().unwrap());
        assert!(text.contains("m=audio 20000 RTP/AVP 0 8\r\n") && text.contains("a=ptime:20"));
        assert!(text.contains("m=audio 0 TCP/MSRP *\r\n"), "{text}");
        for gone in ["opus", "telephone-event", "candidate", "ice-pwd"] {
            assert!(!text.contains(gone), "{gone} in {text}");
        }
        assert!(!again.lines[1].unwrap().receives);
    }

    #[test]
    fn what_is_none_or_too_much_is_refused_in_words() {
        let six = PHONE.replace("IN IP4 127.0.0.1\r\nt", "IN IP6 ::1\r\nt");
        let nowhere = PHONE.replace("c=IN IP4 127.0.0.1\r\n", "");
        let many = format!("{PHONE}{}", "m=audio 9 RTP/AVP 0\r\n".repeat(20));
        let long = format!("{PHONE}{}", "a=x\r\n".repeat(9000));
        for (text, word) in [
            ("", "cannot be read"),
            (&six, "IPv4"),
            (&nowhere, "c="),
            (&many, "8"),
            (&long, "bytes"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..5_000 {
            let mut broken = PHONE.as_bytes().to_vec();
            for _ in 0..random.usize(1..6) {
                let at = random.usize(..broken.len());
                broken[at] = random.u8(..);
            }
            if let Ok(described) = read(&String::from_utf8_lossy(&broken)) {
                let _ = described.rewritten(Ipv4Addr::LOCALHOST, &[]);
            }
        }
    }
}
