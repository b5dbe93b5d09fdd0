//! Both processes, and a proxy that speaks to them.

use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

const SOON: Duration = Duration::from_secs(10);

/// A process that ends with its test.
pub struct Process {
    pub child: Child,
    statistics: PathBuf,
    errors: Option<std::thread::JoinHandle<String>>,
}

impl Process {
    fn start(program: &str, directory: &TempDir, name: &str, arguments: &[&str]) -> Process {
        let statistics = directory.path().join(format!("{name}.json"));
        let mut child = Command::new(program)
            .env("NARROWS_DIR", directory.path().join("narrows"))
            .args(["--statistics", statistics.to_str().unwrap()])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut errors = child.stderr.take().unwrap();
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = errors.read_to_string(&mut text);
            text
        });
        Process { child, statistics, errors: Some(errors) }
    }

    /// Waits for the line that says that others can come.
    fn ready(mut self) -> Process {
        let mut line = String::new();
        let out = self.child.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "{}", self.said());
        self
    }

    pub fn signal(&self, name: &str) {
        let done = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status();
        assert!(done.unwrap().success());
    }

    /// Waits until it has ended; its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        let until = Instant::now() + SOON;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("it does not end");
    }

    /// What it wrote to standard error until it ended.
    pub fn said(&mut self) -> String {
        self.errors.take().map_or(String::new(), |errors| errors.join().unwrap())
    }

    /// Ends it in order: its statistics and what it said.
    pub fn end(&mut self) -> (Value, String) {
        self.signal("TERM");
        let code = self.wait();
        let said = self.said();
        assert_eq!(code, Some(0), "{said}");
        let text = std::fs::read_to_string(&self.statistics).unwrap();
        (serde_json::from_str(&text).unwrap(), said)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A gateway with its DSP.
pub struct Machine {
    pub dsp: Process,
    pub gateway: Process,
    pub port: u16,
    directory: TempDir,
    proxy: UdpSocket,
    asked: u32,
}

/// What has become of both.
pub struct Ended {
    pub gateway: Value,
    pub dsp: Value,
    pub said: String,
}

impl Machine {
    pub fn start(dsp: &[&str], gateway: &[&str]) -> Machine {
        let directory = tempfile::tempdir().unwrap();
        let dsp = start_dsp(&directory, dsp);
        // A port that was free a moment ago, below those that the system hands out to others.
        let (port, gateway) = (0..20)
            .find_map(|_| {
                let port = fastrand::u16(10_000..19_000);
                UdpSocket::bind(("127.0.0.1", port)).ok()?;
                Some((port, start_gateway(&directory, port, gateway).ready()))
            })
            .unwrap();
        let proxy = UdpSocket::bind("127.0.0.1:0").unwrap();
        proxy.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        Machine { dsp, gateway, port, directory, proxy, asked: 0 }
    }

    /// Another DSP in the place of the one that ended.
    pub fn restart_dsp(&mut self) {
        self.dsp = start_dsp(&self.directory, &[]);
    }

    pub fn another_gateway(&self) -> Process {
        start_gateway(&self.directory, self.port, &[])
    }

    /// Sends a datagram as it is; nothing need come back.
    pub fn throw(&self, datagram: &[u8]) {
        self.proxy.send_to(datagram, ("127.0.0.1", self.port)).unwrap();
    }

    /// Asks for something; the answer as it is.
    pub fn ask(&mut self, pairs: &[(&str, &str)]) -> String {
        self.asked += 1;
        let mut text = format!("{}_7 d", self.asked);
        for (key, value) in pairs {
            text += &format!("{}:{key}{}:{value}", key.len(), value.len());
        }
        text.push('e');
        let cookie = format!("{}_7 ", self.asked);
        let mut answer = vec![0; 65_536];
        let until = Instant::now() + SOON;
        self.throw(text.as_bytes());
        loop {
            assert!(Instant::now() < until, "no answer to {text}");
            let Ok(length) = self.proxy.recv(&mut answer) else {
                // As a proxy does: the socket may have been full.
                self.throw(text.as_bytes());
                continue;
            };
            // Others are to what was thrown.
            let text = String::from_utf8_lossy(&answer[..length]).into_owned();
            if let Some(rest) = text.strip_prefix(&cookie) {
                return rest.to_owned();
            }
        }
    }

    /// Makes a call one way from a sender of `from` to this receiver of `to`, both payload types:
    /// the port that its media are to be sent to.
    pub fn call(&mut self, name: &str, kind: &str, from: u8, to: u8, receiver: u16) -> u16 {
        let offer = sdp(kind, 9, from, "sendonly");
        let answer = self.ask(&[
            ("command", "offer"),
            ("call-id", name),
            ("from-tag", "caller"),
            ("sdp", &offer),
        ]);
        assert!(answer.contains("6:result2:ok"), "{answer}");
        let sdp = sdp(kind, receiver, to, "recvonly");
        let answer = self.ask(&[
            ("command", "answer"),
            ("call-id", name),
            ("from-tag", "caller"),
            ("to-tag", "callee"),
            ("sdp", &sdp),
        ]);
        media_port(&answer, kind)
    }

    pub fn end(mut self) -> Ended {
        let (gateway, said) = self.gateway.end();
        let (dsp, _) = self.dsp.end();
        let left: Vec<_> = walk(&self.directory.path().join("narrows"));
        assert!(left.is_empty(), "left behind: {left:?}");
        Ended { gateway, dsp, said }
    }
}

impl Ended {
    /// A figure of a call's only direction.
    pub fn of(&self, call: &str, figure: &str) -> u64 {
        let rows = self.gateway["sessions"].as_array().unwrap();
        let row = rows.iter().find(|row| row["call"] == call);
        let row = row.unwrap_or_else(|| panic!("no {call} in {rows:?}"));
        row[figure].as_u64().unwrap_or_else(|| panic!("no {figure} in {row}"))
    }

    /// Calls that the DSP has served.
    pub fn served(&self, function: usize) -> u64 {
        self.dsp["functions"][function]["calls"].as_u64().unwrap()
    }
}

fn start_dsp(directory: &TempDir, arguments: &[&str]) -> Process {
    let arguments = [&["--domain", "test"], arguments].concat();
    Process::start(env!("CARGO_BIN_EXE_narrows-gateway-dsp"), directory, "dsp", &arguments).ready()
}

fn start_gateway(directory: &TempDir, port: u16, arguments: &[&str]) -> Process {
    let control = format!("127.0.0.1:{port}");
    let arguments = [&["--domain", "test", "--control", &control], arguments].concat();
    Process::start(env!("CARGO_BIN_EXE_narrows-gateway"), directory, "gateway", &arguments)
}

/// Files in a folder and those below.
fn walk(folder: &std::path::Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

pub fn sdp(kind: &str, port: u16, payload_type: u8, direction: &str) -> String {
    format!(
        "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n\
         m={kind} {port} RTP/AVP {payload_type}\r\na={direction}\r\n"
    )
}

/// The port of a media line of an answer.
pub fn media_port(answer: &str, kind: &str) -> u16 {
    let (_, rest) = answer.split_once(&format!("m={kind} ")).unwrap_or_else(|| panic!("{answer}"));
    rest.split(' ').next().unwrap().parse().unwrap()
}
