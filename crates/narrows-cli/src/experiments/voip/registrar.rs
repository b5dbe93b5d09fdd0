//! The registrar: `kamailio` on loopback, which telephones register at and calls go through.

use crate::base::failure::{Failure, Kind};
use crate::experiments::house::helper::{Helper, Start};
use crate::experiments::house::{self, House};
use std::ffi::OsStr;
use std::net::Ipv4Addr;
use std::net::UdpSocket;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

/// One process with one child for UDP; locations in memory; dialogs stay on its path, so that their
/// ends pass it as well. What passes is said in its log, by which this command knows it.
const CONFIGURATION: &str = r#"#!KAMAILIO
debug=-1
log_stderror=yes
fork=no
children=1
auto_aliases=no
disable_tcp=yes
listen=udp:127.0.0.1:PORT
loadmodule "tm.so"
loadmodule "sl.so"
loadmodule "rr.so"
loadmodule "pv.so"
loadmodule "xlog.so"
loadmodule "textops.so"
loadmodule "siputils.so"
loadmodule "usrloc.so"
loadmodule "registrar.so"
modparam("usrloc", "db_mode", 0)
modparam("registrar", "gruu_enabled", 0)
request_route {
    if (is_method("OPTIONS")) { sl_send_reply("200", "OK"); exit; }
    if (is_method("REGISTER")) {
        save("location");
        xlog("L_ERR", "passed REGISTER $fU\n");
        exit;
    }
    if (!is_method("ACK")) xlog("L_ERR", "passed $rm $fU\n");
    if (has_totag()) {
        if (loose_route()) { t_relay(); exit; }
        if (is_method("ACK") && t_check_trans()) t_relay();
        exit;
    }
    if (is_method("CANCEL")) { if (t_check_trans()) t_relay(); exit; }
    if (!lookup("location")) { sl_send_reply("404", "Not Found"); exit; }
    record_route();
    t_relay();
}
"#;

/// A registrar that answers.
pub(super) struct Registrar {
    pub helper: Helper,
    pub port: u16,
}

impl Registrar {
    /// Starts it, at this port or a free one, and waits until it answers.
    ///
    /// # Errors
    /// The port is taken, or it leaves or stays silent.
    pub fn start(house: &House, port: Option<u16>) -> Result<Registrar, Failure> {
        let port = match port {
            Some(port) => {
                is_free(port)?;
                port
            }
            None => house::free_port()?,
        };
        let text = CONFIGURATION.replace("PORT", &port.to_string());
        let file = house.write("kamailio.cfg", &text)?;
        let words: Vec<&OsStr> = ["kamailio", "-D", "-E", "-m", "16", "-M", "4", "-f"]
            .into_iter()
            .map(OsStr::new)
            .chain([file.as_os_str()])
            .collect();
        let log = house.path("kamailio.log");
        let name = "the registrar (kamailio)".to_owned();
        let mut helper = Helper::start(Start { name, words, environment: Vec::new(), log })?;
        let asks = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| {
            socket.set_nonblocking(true)?;
            Ok(socket)
        });
        let answers = |_: &str| {
            let Ok(socket) = &asks else { return false };
            if socket.recv(&mut [0; 2048]).is_ok() {
                return true;
            }
            let own = socket.local_addr().map_or(0, |address| address.port());
            // A refused port says so at the next call: it does not listen yet.
            let _ = socket.send_to(options(port, own).as_bytes(), (Ipv4Addr::LOCALHOST, port));
            false
        };
        helper.wait_for(house, "answered", PATIENCE, answers)?;
        Ok(Registrar { helper, port })
    }

    /// How often a kind of request of a telephone has passed.
    pub fn passed(text: &str, method: &str, user: &str) -> usize {
        let line = format!("passed {method} {user}");
        text.lines().filter(|one| one.trim_end().ends_with(&line)).count()
    }
}

/// The question of RFC 3261 whether somebody is there.
fn options(port: u16, own: u16) -> String {
    [
        format!("OPTIONS sip:127.0.0.1:{port} SIP/2.0"),
        format!("Via: SIP/2.0/UDP 127.0.0.1:{own};branch=z9hG4bK-narrows"),
        "Max-Forwards: 70".to_owned(),
        format!("From: <sip:narrows@127.0.0.1:{own}>;tag=1"),
        format!("To: <sip:127.0.0.1:{port}>"),
        format!("Call-ID: narrows-{own}"),
        "CSeq: 1 OPTIONS".to_owned(),
        "Content-Length: 0".to_owned(),
        String::new(),
        String::new(),
    ]
    .join("\r\n")
}

/// # Errors
/// [`Kind::Name`] if another has the port.
pub(super) fn is_free(port: u16) -> Result<(), Failure> {
    match UdpSocket::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => Ok(()),
        Err(error) => {
            let text = format!(
                "UDP port {port} cannot be had for the registrar: {error}: name another with \
                 --port, or leave it out"
            );
            Err(Failure::new(Kind::Name, text))
        }
    }
}
