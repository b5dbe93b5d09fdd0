//! The server of the page: on this machine alone, for a browser that knows the address.
//!
//! Other users of the machine reach its ports, and pages of other sites reach them through the
//! user's browser. So every path begins with a secret, a request has to name this server as its
//! host, and nothing allows other origins to read an answer.

use crate::base::failure::{Failure, Kind};
use rustix::rand::{GetRandomFlags, getrandom};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tiny_http::{Header, Method, Request, Response, Server};

/// How often it is seen whether somebody wants it to end.
const LOOK: Duration = Duration::from_millis(50);
/// Bytes of the secret.
const SECRET: usize = 16;

/// What is handed out.
pub(super) struct Content {
    pub page: String,
    pub policy: String,
    pub traces: Vec<Vec<u8>>,
}

/// A server, and what it answers.
pub(super) struct Serving {
    server: Server,
    at: SocketAddr,
    secret: String,
    content: Arc<Content>,
}

/// What a request gets.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Page,
    Trace(usize),
    Refused(u16, &'static str),
}

impl Serving {
    /// A server at a port of 127.0.0.1, or at any that is free.
    ///
    /// # Errors
    /// [`Kind::Usage`] if the port is taken, [`Kind::Internal`] for other refusals of the system.
    pub fn new(port: Option<u16>, content: Content) -> Result<Serving, Failure> {
        let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or(0)));
        let refused = |cause: String, advice: &str, kind: Kind| {
            Failure::new(kind, format!("cannot serve the page at {wanted}: {cause}: {advice}"))
        };
        let server = Server::http(wanted).map_err(|error| {
            let taken = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
            match taken {
                Some(std::io::ErrorKind::AddrInUse) => {
                    let advice = "choose another with --port, or leave --port out";
                    refused("the port is in use".into(), advice, Kind::Usage)
                }
                _ => refused(error.to_string(), "write a page with --export", Kind::Internal),
            }
        })?;
        let at = server.server_addr().to_ip().unwrap_or(wanted);
        let content = Arc::new(content);
        Ok(Serving { server, at, secret: secret()?, content })
    }

    /// Where the page is.
    pub fn address(&self) -> String {
        format!("http://{}/{}/", self.at, self.secret)
    }

    /// Answers until `stop` is set.
    pub fn serve(&self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            if let Ok(Some(request)) = self.server.recv_timeout(LOOK) {
                self.answer(request);
            }
        }
    }

    fn answer(&self, request: Request) {
        let hosts = request.headers().iter().filter(|one| one.field.equiv("Host"));
        let hosts: Vec<&str> = hosts.map(|one| one.value.as_str()).collect();
        let count = self.content.traces.len();
        let answer = decide(request.method(), request.url(), &hosts, self.at, &self.secret, count);
        let content = Arc::clone(&self.content);
        // A reader that is slow, or does not read at all, holds up nobody else.
        thread::spawn(move || {
            // A browser that has gone away needs no answer.
            let _ = match answer {
                Answer::Page => {
                    let page = content.page.as_bytes();
                    let kind = "text/html; charset=utf-8";
                    request.respond(response(200, kind, &content.policy, page))
                }
                Answer::Trace(which) => {
                    let bytes = &content.traces[which];
                    let policy = "default-src 'none'";
                    request.respond(response(200, "application/octet-stream", policy, bytes))
                }
                Answer::Refused(status, says) => {
                    let policy = "default-src 'none'";
                    let mut refusal = response(status, "text/plain", policy, says.as_bytes());
                    if let (405, Some(allow)) = (status, header("Allow", "GET")) {
                        refusal.add_header(allow);
                    }
                    request.respond(refusal)
                }
            };
        });
    }
}

/// What a request gets. What is wrong with it is said to nobody who does not know the secret.
fn decide(
    method: &Method,
    url: &str,
    hosts: &[&str],
    at: SocketAddr,
    secret: &str,
    traces: usize,
) -> Answer {
    let ours = [at.to_string(), format!("localhost:{}", at.port())];
    let [host] = hosts else { return Answer::Refused(403, "no such page\n") };
    if !ours.iter().any(|one| one == host) {
        return Answer::Refused(403, "no such page\n");
    }
    let path = url.split('?').next().unwrap_or_default();
    let mut parts = path.trim_start_matches('/').splitn(2, '/');
    if !same(parts.next().unwrap_or_default(), secret) {
        return Answer::Refused(403, "no such page\n");
    }
    if *method != Method::Get {
        return Answer::Refused(405, "this page is only read\n");
    }
    match parts.next() {
        Some("") => Answer::Page,
        Some(rest) => {
            let number =
                rest.strip_prefix("trace/").filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
            let number = number.and_then(|number| number.parse().ok());
            match number.filter(|number| *number < traces) {
                Some(number) => Answer::Trace(number),
                None => Answer::Refused(404, "no such page\n"),
            }
        }
        None => Answer::Refused(404, "no such page: the address ends with a slash\n"),
    }
}

/// Whether two texts are the same, in a time that does not tell where they differ.
fn same(one: &str, other: &str) -> bool {
    let differ = one.bytes().zip(other.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
    one.len() == other.len() && differ == 0
}

fn response<'a>(status: u16, kind: &str, policy: &str, bytes: &'a [u8]) -> Response<&'a [u8]> {
    let headers = [
        ("Content-Type", kind),
        ("Content-Security-Policy", policy),
        ("Cache-Control", "no-store"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
    ];
    let headers = headers.into_iter().filter_map(|(name, value)| header(name, value)).collect();
    Response::new(status.into(), headers, bytes, Some(bytes.len()), None)
        .with_chunked_threshold(usize::MAX)
}

/// A header; none if it is not ASCII, and all that are written here are.
fn header(name: &str, value: &str) -> Option<Header> {
    Header::from_bytes(name, value).ok()
}

/// A secret that nobody guesses.
fn secret() -> Result<String, Failure> {
    let mut bytes = [0; SECRET];
    let mut filled = 0;
    while filled < SECRET {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty()).map_err(|error| {
            let sentence = format!("the system gives no random numbers: {error}");
            Failure::new(Kind::Internal, sentence)
        })?;
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_knows_the_secret_is_answered() {
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, 4711));
        let here: &[&str] = &["127.0.0.1:4711"];
        let ask = |method: Method, url: &str, hosts: &[&str]| match decide(
            &method, url, hosts, at, "abc", 2,
        ) {
            Answer::Refused(status, _) => Err(status),
            answer => Ok(answer),
        };
        assert_eq!(ask(Method::Get, "/abc/", here), Ok(Answer::Page));
        assert_eq!(ask(Method::Get, "/abc/?a=b", &["localhost:4711"]), Ok(Answer::Page));
        assert_eq!(ask(Method::Get, "/abc/trace/1", here), Ok(Answer::Trace(1)));
        for hosts in [&["evil.example:4711"][..], &["127.0.0.1"], &[], &["127.0.0.1:4711", "x"]] {
            assert_eq!(ask(Method::Get, "/abc/", hosts), Err(403), "{hosts:?}");
        }
        for url in ["/", "", "/abd/", "/ab/", "/abcd/", "/trace/0", "http://127.0.0.1:4711/abc/"] {
            assert_eq!(ask(Method::Get, url, here), Err(403), "{url}");
        }
        for url in ["/abc", "/abc/x", "/abc/trace/2", "/abc/trace/+1", "/abc/../etc/passwd"] {
            assert_eq!(ask(Method::Get, url, here), Err(404), "{url}");
        }
        for method in [Method::Post, Method::Head, Method::Options, Method::Put] {
            assert_eq!(ask(method.clone(), "/abc/", here), Err(405), "{method}");
            assert_eq!(ask(method.clone(), "/", here), Err(403), "{method}");
        }
    }
}
