//! The socket by which a proxy says which calls there are.

use std::collections::{HashMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use crate::call::{Call, Tools};
use crate::carry::Carrier;
use crate::media::Ports;
use crate::ng::{self, Dictionary, Request, Value};
use crate::sdp;
use crate::statistics::{Row, totals};

/// How long the socket is waited for before it is looked whether the gateway is to end.
const LOOK: Duration = Duration::from_millis(100);
/// Answers that are kept for requests that come again.
const KEPT: usize = 64;
/// An offer that nobody answered is forgotten after three minutes, as a proxy's INVITE is, and a
/// call of which nothing was heard after two.
const UNANSWERED: Duration = Duration::from_secs(180);
const SILENT: Duration = Duration::from_secs(120);
const SWEEP: Duration = Duration::from_secs(1);
/// Calls at once, and calls whose figures are kept.
const CALLS: usize = 1000;
const ROWS: usize = 100_000;

/// Calls and what they need.
pub struct Control {
    socket: UdpSocket,
    address: Ipv4Addr,
    carrier: Carrier,
    ports: Ports,
    calls: HashMap<String, Call>,
    kept: VecDeque<(SocketAddr, Vec<u8>, Vec<u8>)>,
    next: u64,
    began: Instant,
    swept: Instant,
    log: fn(&str),
    pub rows: Vec<Row>,
    pub refused: u64,
}

impl Control {
    /// # Errors
    /// What the system says of the socket.
    pub fn new(
        socket: UdpSocket,
        address: Ipv4Addr,
        carrier: Carrier,
        log: fn(&str),
    ) -> std::io::Result<Control> {
        socket.set_read_timeout(Some(LOOK))?;
        Ok(Control {
            socket,
            address,
            carrier,
            ports: Ports::new(address),
            calls: HashMap::new(),
            kept: VecDeque::new(),
            // The DSP may have sessions of other gateways: the upper half tells them apart.
            next: u64::from(fastrand::u32(..)) << 32,
            began: Instant::now(),
            swept: Instant::now(),
            log,
            rows: Vec::new(),
            refused: 0,
        })
    }

    /// Takes a datagram if one comes soon, and answers it.
    ///
    /// # Errors
    /// The socket is of no use any more.
    pub fn turn(&mut self) -> std::io::Result<()> {
        if self.swept.elapsed() >= SWEEP {
            self.swept = Instant::now();
            self.sweep();
        }
        let mut datagram = [0; ng::LONGEST];
        let (length, from) = match self.socket.recv_from(&mut datagram) {
            Ok(received) => received,
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock
                        | std::io::ErrorKind::TimedOut
                        | std::io::ErrorKind::Interrupted
                        // An answer went to a sender that had closed.
                        | std::io::ErrorKind::ConnectionRefused
                ) =>
            {
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        // Without a cookie there is nothing to answer with.
        let Some((cookie, rest)) = ng::cookie(datagram.get(..length).unwrap_or_default()) else {
            return Ok(());
        };
        let again = self.kept.iter().find(|(to, of, _)| *to == from && of == cookie);
        let answer = match again {
            Some((_, _, answer)) => answer.clone(),
            None => {
                let answer = ng::answer(cookie, &self.answer(rest));
                if self.kept.len() == KEPT {
                    self.kept.pop_front();
                }
                self.kept.push_back((from, cookie.to_vec(), answer.clone()));
                answer
            }
        };
        // One that does not come makes the proxy ask again.
        let _ = self.socket.send_to(&answer, from);
        Ok(())
    }

    fn answer(&mut self, dictionary: &[u8]) -> Dictionary {
        let done = ng::request(dictionary).map_err(str::to_owned);
        done.and_then(|request| self.carry_out(&request)).unwrap_or_else(|why| {
            Dictionary::from([
                ("result", Value::Text("error".into())),
                ("error-reason", Value::Text(why)),
            ])
        })
    }

    fn carry_out(&mut self, request: &Request<'_>) -> Result<Dictionary, String> {
        if request.command == "ping" {
            return Ok(Dictionary::from([("result", Value::Text("pong".into()))]));
        }
        let name = request.call.ok_or("there is no key call-id")?;
        match request.command {
            "offer" | "answer" => {
                let sdp = sdp::read(request.sdp.ok_or("there is no key sdp")?)?;
                let tag = request.from_tag.ok_or("there is no key from-tag")?;
                let text = match request.command {
                    "offer" => self.offer(name, tag, &sdp),
                    _ => self.with(name, |call, tools| {
                        // The answering side is the one that did not call, whose tag is to-tag.
                        let from = match request.to_tag {
                            Some(to) => call.side(to).max(1 - call.side(tag)),
                            None => 1 - call.side(tag),
                        };
                        call.answer(from, request.to_tag, &sdp, tools)
                    }),
                }?;
                Ok(ok("sdp", Value::Text(text)))
            }
            "query" => {
                let rows = self.with(name, |call, tools| Ok(call.rows(tools, false)))?;
                Ok(ok("totals", Value::Dictionary(totals(&rows))))
            }
            "delete" => {
                let rows = self.end(name)?;
                Ok(ok("totals", Value::Dictionary(totals(&rows))))
            }
            other => Err(format!("there is no command {other}")),
        }
    }

    fn with<T>(
        &mut self,
        name: &str,
        act: impl FnOnce(&mut Call, &mut Tools<'_>) -> Result<T, String>,
    ) -> Result<T, String> {
        let Control { calls, carrier, ports, address, began, log, next, .. } = self;
        let call = calls.get_mut(name).ok_or_else(|| format!("there is no call {name}"))?;
        let mut next = counter(next);
        let mut tools =
            Tools { carrier, ports, address: *address, began: *began, log: *log, next: &mut next };
        act(call, &mut tools)
    }

    fn offer(
        &mut self,
        name: &str,
        tag: &str,
        described: &sdp::Described,
    ) -> Result<String, String> {
        if !self.calls.contains_key(name) {
            if self.calls.len() >= CALLS {
                return Err(format!("refused: there are {CALLS} calls"));
            }
            let Control { carrier, ports, address, began, log, next, .. } = self;
            let mut next = counter(next);
            let mut tools = Tools {
                carrier,
                ports,
                address: *address,
                began: *began,
                log: *log,
                next: &mut next,
            };
            match Call::new(name, tag, described, &mut tools) {
                Ok(call) => self.calls.insert(name.to_owned(), call),
                Err(why) => {
                    self.refused += u64::from(why.starts_with("refused"));
                    return Err(why);
                }
            };
        }
        self.with(name, |call, tools| {
            let from = call.side(tag);
            call.offer(from, described, tools)
        })
    }

    fn end(&mut self, name: &str) -> Result<Vec<Row>, String> {
        let rows = self.with(name, |call, tools| Ok(call.end(tools)))?;
        self.calls.remove(name);
        // One row for a call at least, and none for a direction that nobody used.
        let used = rows.iter().any(Row::is_used);
        let kept = rows.iter().enumerate().filter(|(at, row)| match used {
            true => row.is_used(),
            false => *at == 0,
        });
        let room = ROWS.saturating_sub(self.rows.len());
        self.rows.extend(kept.map(|(_, row)| row.clone()).take(room));
        Ok(rows)
    }

    /// Ends calls that nobody ended.
    fn sweep(&mut self) {
        let mut over = Vec::new();
        for (name, call) in &mut self.calls {
            let received = call.received();
            if received != call.heard.0 {
                call.heard = (received, Instant::now());
            }
            if !call.answered && call.offered.elapsed() > UNANSWERED {
                over.push((name.clone(), "was never answered"));
            } else if call.answered && call.heard.1.elapsed() > SILENT {
                over.push((name.clone(), "was silent for two minutes"));
            }
        }
        for (name, why) in over {
            (self.log)(&format!("call {name} {why}: it ends"));
            let _ = self.end(&name);
        }
    }

    /// Ends all calls.
    pub fn end_all(&mut self) {
        let names: Vec<String> = self.calls.keys().cloned().collect();
        for name in names {
            let _ = self.end(&name);
        }
    }
}

/// Numbers of directions, one after the other.
fn counter(next: &mut u64) -> impl FnMut() -> u64 + '_ {
    move || {
        *next = next.wrapping_add(1);
        *next
    }
}

fn ok(key: &'static str, value: Value) -> Dictionary {
    Dictionary::from([("result", Value::Text("ok".into())), (key, value)])
}
