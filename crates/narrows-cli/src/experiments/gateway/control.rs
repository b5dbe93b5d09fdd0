//! The gateway's control socket: the protocol `ng`, as kamailio's module rtpengine speaks it.

use crate::base::failure::{Failure, Kind};
use serde_bencode::value::Value;
use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

/// How long an answer may take before the question is asked again.
const PATIENCE: Duration = Duration::from_millis(1500);
const TRIES: u32 = 4;
/// The longest answer: several times what an SDP takes, and too little for the crate that reads it
/// to go so deep into lists of lists that its stack ends.
const LONGEST: usize = 4096;

type Dictionary = HashMap<Vec<u8>, Value>;

/// A control socket that answers.
pub(super) struct Control {
    socket: UdpSocket,
    asked: u64,
}

/// What the gateway says to a session.
pub(super) enum Said {
    /// The SDP of the side that was not named.
    Sdp(String),
    /// Why it does not take it.
    Refused(String),
}

/// What the gateway has counted of a session that is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub late: u64,
    pub dropped: u64,
}

impl Control {
    /// # Errors
    /// [`Kind::Internal`].
    pub fn new(port: u16) -> Result<Control, Failure> {
        let made = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| {
            socket.connect((Ipv4Addr::LOCALHOST, port))?;
            socket.set_read_timeout(Some(PATIENCE))?;
            Ok(socket)
        });
        let failed = |error| {
            let text = format!("cannot reach the gateway's control socket: {error}");
            Failure::new(Kind::Internal, text)
        };
        Ok(Control { socket: made.map_err(failed)?, asked: 0 })
    }

    /// Offers the SDP of the side that sends.
    ///
    /// # Errors
    /// As [`Control::ask`].
    pub fn offer(&mut self, call: &str, sdp: &str) -> Result<Said, Failure> {
        let answer = self.ask("offer", &[("call-id", call), ("from-tag", "a"), ("sdp", sdp)])?;
        Ok(said(&answer))
    }

    /// Answers with the SDP of the side that receives.
    ///
    /// # Errors
    /// As [`Control::ask`].
    pub fn answer(&mut self, call: &str, sdp: &str) -> Result<Said, Failure> {
        let words = [("call-id", call), ("from-tag", "a"), ("to-tag", "b"), ("sdp", sdp)];
        Ok(said(&self.ask("answer", &words)?))
    }

    /// # Errors
    /// As [`Control::ask`].
    pub fn delete(&mut self, call: &str) -> Result<(), Failure> {
        self.ask("delete", &[("call-id", call), ("from-tag", "a")]).map(drop)
    }

    /// # Errors
    /// As [`Control::ask`].
    pub fn totals(&mut self, call: &str) -> Result<Totals, Failure> {
        let answer = self.ask("query", &[("call-id", call)])?;
        let inner = match answer.get(&b"totals"[..]) {
            Some(Value::Dict(inner)) => inner,
            _ => &answer,
        };
        let count = |key: &str| match inner.get(key.as_bytes()) {
            Some(Value::Int(count)) => u64::try_from(*count).unwrap_or(0),
            _ => 0,
        };
        Ok(Totals { late: count("late"), dropped: count("dropped") })
    }

    /// Asks, and again if an answer is late.
    ///
    /// # Errors
    /// [`Kind::Deadline`] if there is none, [`Kind::Peer`] if nobody listens.
    fn ask(&mut self, command: &str, words: &[(&str, &str)]) -> Result<Dictionary, Failure> {
        self.asked += 1;
        let cookie = format!("narrows{}", self.asked);
        let question = question(&cookie, command, words);
        let mut answer = vec![0; LONGEST];
        for _ in 0..TRIES {
            self.socket.send(&question).map_err(|error| gone(&error))?;
            loop {
                match self.socket.recv(&mut answer) {
                    Ok(length) => match read(&cookie, answer.get(..length).unwrap_or_default()) {
                        Some(dictionary) => return Ok(dictionary),
                        // Of a question that was asked twice.
                        None => continue,
                    },
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error)
                        if matches!(
                            error.kind(),
                            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                        ) =>
                    {
                        break;
                    }
                    Err(error) => return Err(gone(&error)),
                }
            }
        }
        let time = PATIENCE * TRIES;
        let text = format!(
            "the gateway has not answered to {command} within {} s: see gateway.log, which --keep \
             keeps",
            time.as_secs()
        );
        Err(Failure::new(Kind::Deadline, text))
    }
}

fn gone(error: &io::Error) -> Failure {
    let text = format!("the gateway's control socket does not listen: {error}: start again");
    Failure::new(Kind::Peer, text)
}

fn question(cookie: &str, command: &str, words: &[(&str, &str)]) -> Vec<u8> {
    let pair = |(key, value): (&str, &str)| (key.into(), Value::Bytes(value.into()));
    let all = words.iter().copied().chain([("command", command)]).map(pair);
    // Texts in a dictionary have no form that it could refuse.
    let body = serde_bencode::to_bytes(&Value::Dict(all.collect())).unwrap_or_default();
    [cookie.as_bytes(), b" ", &body].concat()
}

fn read(cookie: &str, datagram: &[u8]) -> Option<Dictionary> {
    let body = datagram.strip_prefix(cookie.as_bytes())?.strip_prefix(b" ")?;
    match serde_bencode::from_bytes(body).ok()? {
        Value::Dict(dictionary) => Some(dictionary),
        _ => None,
    }
}

fn said(answer: &Dictionary) -> Said {
    let text = |key: &str| match answer.get(key.as_bytes()) {
        Some(Value::Bytes(bytes)) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    };
    match (text("result").as_deref(), text("sdp")) {
        (Some("ok"), Some(sdp)) => Said::Sdp(sdp),
        _ => Said::Refused(text("error-reason").unwrap_or_else(|| "no reason was given".into())),
    }
}

/// Where the SDP of the gateway has media sent.
pub(super) fn port(sdp: &str) -> Option<u16> {
    let line = sdp.lines().find_map(|line| line.strip_prefix("m="))?;
    line.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_a_cookie_and_a_dictionary_in_the_order_of_its_keys() {
        let asked = question("c1", "offer", &[("sdp", "v=0\r\n"), ("call-id", "x")]);
        assert_eq!(asked, b"c1 d7:call-id1:x7:command5:offer3:sdp5:v=0\r\ne");
    }

    #[test]
    fn an_answer_has_the_cookie_of_its_question() {
        let answer = read("c1", b"c1 d6:result2:ok3:sdp5:v=0\r\ne").expect("an answer");
        assert!(matches!(said(&answer), Said::Sdp(sdp) if sdp == "v=0\r\n"));
        let answer = read("c1", b"c1 d12:error-reason4:full6:result5:errore").expect("an answer");
        assert!(matches!(said(&answer), Said::Refused(why) if why == "full"));
        for bad in [&b"c2 de"[..], b"c1", b"c1 ", b"c1 i1e", b"c1 d6:result", b"c1 d1:ai-1"] {
            assert!(read("c1", bad).is_none(), "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn the_port_is_that_of_the_first_media() {
        assert_eq!(port("v=0\r\nm=audio 4002 RTP/AVP 0\r\nm=video 9 RTP/AVP 34\r\n"), Some(4002));
        for bad in ["", "v=0", "m=audio", "m=audio x RTP/AVP 0", "m=audio 70000 RTP/AVP 0"] {
            assert_eq!(port(bad), None, "{bad}");
        }
    }
}
