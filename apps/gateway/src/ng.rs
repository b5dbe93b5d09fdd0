//! The datagrams by which a proxy says what a call is to be: `COOKIE SPACE DICTIONARY`, the
//! dictionary bencoded, as kamailio's module rtpengine sends them.

use std::collections::BTreeMap;

/// The longest datagram that is read.
pub const LONGEST: usize = 65_536;
/// The longest cookie: a proxy's has some twenty characters.
const COOKIE: usize = 256;

/// What a proxy asks for.
#[derive(Debug, PartialEq, Eq)]
pub struct Request<'a> {
    pub command: &'a str,
    pub call: Option<&'a str>,
    pub from_tag: Option<&'a str>,
    pub to_tag: Option<&'a str>,
    pub sdp: Option<&'a str>,
}

/// A value of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Text(String),
    Number(u64),
    Dictionary(Dictionary),
}

/// In the order of the keys, as bencoding wants it.
pub type Dictionary = BTreeMap<&'static str, Value>;

/// The cookie of a datagram and the rest of it.
#[must_use]
pub fn cookie(datagram: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = datagram.iter().take(COOKIE + 1).position(|byte| *byte == b' ')?;
    let (cookie, rest) = datagram.split_at_checked(space)?;
    (space > 0).then_some((cookie, rest.get(1..)?))
}

/// Reads a dictionary. Keys that mean nothing here are skipped, whatever they hold.
///
/// # Errors
/// What is wrong with it, as a sentence.
pub fn request(dictionary: &[u8]) -> Result<Request<'_>, &'static str> {
    const BROKEN: &str = "this is no bencoded dictionary";
    let mut reader = Reader(dictionary);
    if reader.byte() != Some(b'd') {
        return Err(BROKEN);
    }
    let mut found: [Option<&str>; 5] = [None; 5];
    loop {
        match reader.0.first() {
            Some(b'e') if reader.0.len() == 1 => break,
            Some(b'e') => return Err("something follows the dictionary"),
            _ => {}
        }
        let key = reader.text().ok_or(BROKEN)?;
        let at = match key {
            b"command" => 0,
            b"call-id" => 1,
            b"from-tag" => 2,
            b"to-tag" => 3,
            b"sdp" => 4,
            _ => {
                reader.skip().ok_or(BROKEN)?;
                continue;
            }
        };
        let text = reader.text().ok_or("a value that has to be a text is none")?;
        let text = str::from_utf8(text).map_err(|_| "a text is not UTF-8")?;
        if let Some(found) = found.get_mut(at) {
            *found = Some(text);
        }
    }
    let [command, call, from_tag, to_tag, sdp] = found;
    let command = command.ok_or("there is no key command")?;
    Ok(Request { command, call, from_tag, to_tag, sdp })
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// `5:hello`.
    fn text(&mut self) -> Option<&'a [u8]> {
        let mut length = 0usize;
        let mut digits = 0;
        loop {
            match self.byte()? {
                digit @ b'0'..=b'9' if digits < 6 => {
                    length = length * 10 + usize::from(digit - b'0');
                    digits += 1;
                }
                b':' if digits > 0 => break,
                _ => return None,
            }
        }
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text)
    }

    /// Passes over a value. Depth is counted and no call is made for it, so that a datagram of
    /// nothing but beginnings of lists takes no stack.
    fn skip(&mut self) -> Option<()> {
        let mut depth = 0usize;
        loop {
            match self.0.first()? {
                b'd' | b'l' => {
                    self.byte();
                    depth += 1;
                }
                b'i' => while self.byte()? != b'e' {},
                b'e' => {
                    self.byte();
                    depth = depth.checked_sub(1)?;
                }
                _ => {
                    self.text()?;
                }
            }
            if depth == 0 {
                return Some(());
            }
        }
    }
}

/// An answer with the cookie of its request.
#[must_use]
pub fn answer(cookie: &[u8], dictionary: &Dictionary) -> Vec<u8> {
    let mut datagram = cookie.to_vec();
    datagram.push(b' ');
    write(dictionary, &mut datagram);
    datagram
}

fn write(dictionary: &Dictionary, into: &mut Vec<u8>) {
    let text = |text: &str, into: &mut Vec<u8>| {
        into.extend(format!("{}:{text}", text.len()).bytes());
    };
    into.push(b'd');
    for (key, value) in dictionary {
        text(key, into);
        match value {
            Value::Text(value) => text(value, into),
            Value::Number(number) => into.extend(format!("i{number}e").bytes()),
            Value::Dictionary(inner) => write(inner, into),
        }
    }
    into.push(b'e');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kamailio_sends_is_read_with_keys_in_its_own_order() {
        let sent = b"d8:supportsl10:load limite3:ICE6:remove5:flagsl16:loop-protection-1:xe\
            7:call-id3:abc13:received-froml3:IP49:127.0.0.1e8:from-tag1:f3:sdp5:v=0\r\n\
            7:command5:offere";
        let read = request(sent).unwrap();
        assert_eq!((read.command, read.call), ("offer", Some("abc")));
        assert_eq!((read.from_tag, read.to_tag, read.sdp), (Some("f"), None, Some("v=0\r\n")));
    }

    #[test]
    fn what_is_no_dictionary_is_refused_wherever_it_is_cut_or_broken() {
        let whole = b"d3:ICEd1:ali-5e1:bee4:flagli1e2:xxe7:command4:pinge";
        assert_eq!(request(whole).unwrap().command, "ping");
        for cut in 0..whole.len() {
            assert!(request(&whole[..cut]).is_err(), "{cut} bytes");
        }
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..20_000 {
            let mut broken = whole.to_vec();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(..broken.len());
                broken[at] = random.u8(..);
            }
            let _ = request(&broken);
        }
        for text in ["de", "d7:commandi1ee", "d7:command99999:xe", "d7:command9999999:xe", "le"] {
            assert!(request(text.as_bytes()).is_err(), "{text}");
        }
        assert!(request(b"d7:command4:pingee").is_err(), "more than a dictionary");
    }

    #[test]
    fn a_datagram_of_nothing_but_lists_takes_no_stack() {
        let mut bomb = b"d1:x".to_vec();
        bomb.resize(LONGEST, b'l');
        assert!(request(&bomb).is_err());
        let mut deep = b"d1:x".to_vec();
        deep.resize(30_000, b'd');
        deep.resize(60_000 - 4, b'e');
        deep.extend(b"7:command4:pinge");
        assert_eq!(request(&deep).map(|read| read.command), Ok("ping"));
    }

    #[test]
    fn an_answer_has_the_cookie_and_its_keys_in_order() {
        let totals = Dictionary::from([("sent", Value::Number(3))]);
        let dictionary = Dictionary::from([
            ("totals", Value::Dictionary(totals)),
            ("result", Value::Text("ok".into())),
        ]);
        let sent = answer(b"5_1", &dictionary);
        assert_eq!(sent, b"5_1 d6:result2:ok6:totalsd4:senti3eee");
        assert_eq!(cookie(&sent).unwrap().0, b"5_1");
        for none in [b"".as_slice(), b" de", b"cookie", &[b'x'; 4000]] {
            assert_eq!(cookie(none), None);
        }
    }
}
