//! `narrows view`: which requests are answered, and what is said of files that are no traces.

use crate::common::{BOUND, narrows, stdout, text};
use narrows_trace::{Category, Message, Row, Writer};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A small trace, as a file of a folder.
fn trace(folder: &Path) -> PathBuf {
    let path = folder.join("small.pftrace");
    let mut writer = Writer::new(fs::File::create(&path).unwrap());
    writer.group(1, 1, "arm").unwrap();
    writer.thread(Row(2), 1, 1, 1, "caller").unwrap();
    writer.begin(Row(2), 1_000, Category::Call, "endpoint").unwrap();
    writer.sent(Row(2), 1_200, &Message { id: 1, began: 1_000, ..Message::default() }).unwrap();
    writer.end(Row(2), 1_300).unwrap();
    path
}

/// The command at work, and where its page is.
struct Viewing {
    child: Child,
    port: u16,
    secret: String,
}

impl Viewing {
    fn start(trace: &Path) -> Viewing {
        let mut child = Command::new(env!("CARGO_BIN_EXE_narrows"))
            .args(["view", "--no-open", trace.to_str().unwrap()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines
            .find_map(|line| Some(line.unwrap().strip_prefix("http://127.0.0.1:")?.to_owned()));
        let address = address.unwrap();
        let (port, path) = address.split_once('/').unwrap();
        let secret = path.trim_end_matches('/').to_owned();
        assert_eq!(secret.len(), 32, "{address}");
        Viewing { child, port: port.parse().unwrap(), secret }
    }

    /// Status, head and body of an answer.
    fn ask(&self, method: &str, path: &str, host: &str) -> (u16, String, Vec<u8>) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let head = text(&answer[..end]).to_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head, answer[end + 4..].to_vec())
    }

    fn get(&self, path: &str) -> (u16, String, Vec<u8>) {
        let path = format!("/{}/{path}", self.secret);
        self.ask("GET", &path, &format!("127.0.0.1:{}", self.port))
    }

    /// Ends it as Ctrl-C does. Its exit code.
    fn stop(mut self) -> Option<i32> {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Viewing {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_page_and_its_trace_are_handed_out_until_ctrl_c() {
    let place = tempfile::tempdir().unwrap();
    let viewing = Viewing::start(&trace(place.path()));
    let (status, head, page) = viewing.get("");
    assert_eq!(status, 200, "{head}");
    assert!(text(&page).starts_with("<!DOCTYPE html>"), "{head}");
    for said in ["cache-control: no-store", "default-src 'none'", "x-content-type-options: nosniff"]
    {
        assert!(head.contains(said), "{head}");
    }
    assert!(!head.contains("access-control"), "{head}");
    let (status, head, bytes) = viewing.get("trace/0");
    assert_eq!((status, &bytes[..8]), (200, &b"narview1"[..]), "{head}");
    assert_eq!(viewing.stop(), Some(0));
}

#[test]
fn nobody_else_is_answered() {
    let place = tempfile::tempdir().unwrap();
    let viewing = Viewing::start(&trace(place.path()));
    let host = format!("127.0.0.1:{}", viewing.port);
    let path = format!("/{}/", viewing.secret);
    let wrong = path.replace(&viewing.secret, &"0".repeat(32));
    let status = |method: &str, path: &str, host: &str| viewing.ask(method, path, host).0;
    assert_eq!(status("GET", "/", &host), 403);
    assert_eq!(status("GET", &wrong, &host), 403);
    assert_eq!(status("GET", &path, "rebound.example"), 403);
    assert_eq!(status("GET", &path, "127.0.0.1:1"), 403);
    assert_eq!(status("POST", &path, &host), 405);
    assert_eq!(status("OPTIONS", &path, &host), 405);
    assert_eq!(viewing.get("trace/1").0, 404);
    assert_eq!(viewing.get("../../etc/passwd").0, 404);
    let other = Viewing::start(&trace(place.path()));
    assert!(other.port != viewing.port && other.secret != viewing.secret);
    assert_eq!(other.ask("GET", &path, &format!("127.0.0.1:{}", other.port)).0, 403);
    assert_eq!((viewing.get("").0, other.get("").0), (200, 200));
}

/// A client that asks for the trace and does not read it.
#[test]
fn a_reader_that_stands_still_holds_up_nobody() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("large.pftrace");
    let mut writer = Writer::new(std::io::BufWriter::new(fs::File::create(&path).unwrap()));
    for at in 0..400_000 {
        writer.begin(Row(1), 2 * at, Category::Call, "a").unwrap();
        writer.end(Row(1), 2 * at + 1).unwrap();
    }
    writer.flush().unwrap();
    let viewing = Viewing::start(&path);
    let mut still = TcpStream::connect(("127.0.0.1", viewing.port)).unwrap();
    let host = format!("127.0.0.1:{}", viewing.port);
    let request = format!("GET /{}/trace/0 HTTP/1.1\r\nHost: {host}\r\n\r\n", viewing.secret);
    still.write_all(request.as_bytes()).unwrap();
    still.read_exact(&mut [0; 1]).unwrap();
    assert_eq!(viewing.get("").0, 200);
    assert_eq!(viewing.stop(), Some(0));
}

#[test]
fn a_port_that_is_taken_is_said() {
    let place = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let file = trace(place.path());
    let output = narrows(&["view", "--no-open", "--port", &port, file.to_str().unwrap()]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("the port is in use: choose another with --port"), "{said}");
}

#[test]
fn what_is_no_trace_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("x");
    for (bytes, why) in [
        (&b""[..], "there is nothing in it"),
        (b"{\"traceEvents\": []}", "byte 0 begins no packet"),
        (&[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f], "byte 0 begins no packet"),
    ] {
        fs::write(&file, bytes).unwrap();
        let output = narrows(&["view", file.to_str().unwrap(), "--no-open"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(said.contains(why) && said.contains("name a file that --trace wrote"), "{said}");
        assert!(said.starts_with("narrows: cannot show ") && said.lines().count() == 1, "{said}");
    }
    let output = narrows(&["view", "/no/such.pftrace"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stderr).contains("no such file"), "{}", text(&output.stderr));
}

#[test]
fn an_export_is_one_file() {
    let place = tempfile::tempdir().unwrap();
    let file = trace(place.path());
    let out = place.path().join("out.html");
    let mut bytes = fs::read(&file).unwrap();
    // As if its writer had been killed.
    bytes.truncate(bytes.len() - 1);
    fs::write(&file, bytes).unwrap();
    let printed = stdout(&narrows(&[
        "view",
        file.to_str().unwrap(),
        file.to_str().unwrap(),
        "--export",
        out.to_str().unwrap(),
    ]));
    assert!(printed.contains("the file ends in the middle of an event"), "{printed}");
    let page = fs::read_to_string(&out).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    assert_eq!(page.matches("class=\"trace\"").count(), 2);
    let nowhere = place.path().join("none/out.html");
    let output = narrows(&["view", file.to_str().unwrap(), "--export", nowhere.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
}
