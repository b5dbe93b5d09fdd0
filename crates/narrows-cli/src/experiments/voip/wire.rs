//! The packets on loopback: captured by `dumpcap`, which is what `tshark` captures with, and read
//! by `tshark`.
//!
//! Capturing takes the right to open a packet socket: root has it, and Debian gives it to the group
//! `wireshark` if asked. RTP is not counted elsewhere instead: the times between packets are what
//! the published table has, and only the kernel stamps them where they pass.

use crate::base::failure::{Failure, Kind};
use crate::experiments::house::helper::{Helper, Start};
use crate::experiments::house::{self, House};
use rustix::process::Signal;
use std::ffi::OsStr;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes of a file without packets.
const EMPTY: u64 = 24;

/// A capture that is under way.
pub(super) struct Capture {
    helper: Helper,
    file: PathBuf,
    ports: Vec<u16>,
}

/// A packet of RTP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Packet {
    /// When it passed, in seconds.
    pub at: f64,
    /// The port that it went to.
    pub to: u16,
    /// Its number.
    pub number: u16,
}

impl Capture {
    /// Starts to capture what goes to these ports, and waits until it does.
    ///
    /// # Errors
    /// [`Kind::Internal`] if this user may not.
    pub fn start(house: &House, ports: Vec<u16>) -> Result<Capture, Failure> {
        let probe = house::free_port()?;
        let all = ports.iter().chain([&probe]);
        let filter = all.map(|port| format!("udp dst port {port}")).collect::<Vec<_>>();
        let filter = filter.join(" or ");
        let file = house.path("calls.pcap");
        let words = ["dumpcap", "-q", "-P", "-i", "lo", "-f", filter.as_str(), "-w"];
        let words: Vec<&OsStr> = words.into_iter().map(OsStr::new).chain([file.as_ref()]).collect();
        let log = house.path("dumpcap.log");
        let name = "the capture (dumpcap)".to_owned();
        let mut helper = Helper::start(Start { name, words, environment: Vec::new(), log })?;
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).ok();
        let started = helper.wait_for(house, "begun to capture", PATIENCE, |_| {
            if let Some(socket) = &socket {
                // That nobody has this port open is said at the next call.
                let _ = socket.send_to(b"?", (Ipv4Addr::LOCALHOST, probe));
            }
            std::fs::metadata(&file).is_ok_and(|file| file.len() > EMPTY)
        });
        started.map_err(|failure| refusal(&failure, &helper.text()))?;
        Ok(Capture { helper, file, ports })
    }

    /// Ends it. The packets of RTP, in the order of time.
    ///
    /// # Errors
    /// [`Kind::Internal`].
    pub fn end(mut self, house: &House) -> Result<Vec<Packet>, Failure> {
        self.helper.signal(Signal::INT);
        self.helper.leave(house)?;
        let mut command = Command::new("tshark");
        command.arg("-r").arg(&self.file).env("PATH", house::path());
        for port in &self.ports {
            command.args(["-d", &format!("udp.port=={port},rtp")]);
        }
        command.args(["-Y", "rtp", "-T", "fields", "-E", "separator= "]);
        for field in ["frame.time_epoch", "udp.dstport", "rtp.seq"] {
            command.args(["-e", field]);
        }
        let failed = |why: &dyn std::fmt::Display| {
            Failure::new(Kind::Internal, format!("tshark cannot read the capture: {why}"))
        };
        let output = command.output().map_err(|error| failed(&error))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(failed(&said.lines().last().unwrap_or_default()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(packet).collect())
    }
}

fn packet(line: &str) -> Option<Packet> {
    let mut words = line.split_whitespace();
    let at = words.next()?.parse().ok()?;
    let to = words.next()?.parse().ok()?;
    Some(Packet { at, to, number: words.next()?.parse().ok()? })
}

/// Why nothing is captured.
fn refusal(failure: &Failure, log: &str) -> Failure {
    if failure.kind != Kind::Peer || !log.contains("permission") {
        return failure.clone();
    }
    let text = "this user may not capture packets: run it as root, or let the group wireshark \
                capture (dpkg-reconfigure wireshark-common) and join it";
    Failure::new(Kind::Internal, text)
}

/// Milliseconds between packets.
pub(super) fn between(packets: &[Packet], to: u16) -> Vec<f64> {
    let there = packets.iter().filter(|packet| packet.to == to);
    let times: Vec<f64> = there.map(|packet| packet.at).collect();
    let gaps = times.windows(2).filter_map(|pair| Some(pair.last()? - pair.first()?));
    gaps.map(|seconds| seconds * 1000.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_and_their_times_told() {
        assert_eq!(packet("12.5 7000 42"), Some(Packet { at: 12.5, to: 7000, number: 42 }));
        for cut in ["", "12.5", "12.5 7000", "x 7000 42", "12.5 70000 42"] {
            assert_eq!(packet(cut), None, "{cut}");
        }
        let lines = ["1.00 8 1", "1.25 9 7", "1.50 8 2", "2.50 8 3"];
        let packets: Vec<Packet> = lines.into_iter().filter_map(packet).collect();
        assert_eq!(between(&packets, 8), [500.0, 1000.0]);
        assert_eq!(between(&packets, 9), [0.0; 0]);
    }
}
