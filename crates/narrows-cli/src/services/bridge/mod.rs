//! `narrows bridge`: links with nodes of other machines, for as long as it runs.

pub mod flags;

use crate::base::failure::{Failure, Kind};
use crate::base::output;
use crate::base::signals::catch_signals;
use flags::BridgeFlags;
use narrows_host::bridge::{BridgeError, Event, KeyError, Keys, Options};
use std::io::Write as _;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often it is seen whether somebody wants it to end.
const LOOK: Duration = Duration::from_millis(50);

/// Runs a bridge until it is stopped, or makes a key.
///
/// # Errors
/// [`Kind::Usage`] for what makes no bridge, [`Kind::Name`] for names that cannot be had,
/// [`Kind::Input`] and [`Kind::Output`] for keys, [`Kind::Internal`] for the system's refusals.
pub fn run(args: &BridgeFlags) -> Result<(), Failure> {
    if let Some(file) = &args.new_key {
        let key = Keys::make(file).map_err(|error| key_failure(Kind::Output, file, &error))?;
        return output::print(format!("{key}\n").as_bytes());
    }
    let stop = catch_signals()?;
    let mut lines = Vec::new();
    let mut options = Options::new().domain(&args.domain);
    for name in &args.offer {
        options = options.offer(name);
    }
    for (name, at) in &args.reach {
        let address = address(at)?;
        lines.push(format!("stands for {name} at {address}"));
        options = options.reach(name, address);
    }
    if let Some(at) = &args.listen {
        options = options.listen(address(at)?);
    }
    match &args.key {
        Some(file) => {
            let keys = Keys::read(file, args.trust.clone());
            let keys = keys.map_err(|error| key_failure(Kind::Input, file, &error))?;
            lines.push(format!("its key is {}", keys.own()));
            options = options.keys(keys);
        }
        None if args.plain => lines.push("without keys: anybody can link, and read".to_owned()),
        None => {
            let sentence = "say which key this end has (--key, --trust), or --plain to go without";
            return Err(Failure::new(Kind::Usage, sentence));
        }
    }
    let bridge = options.start(|event: &Event| say(&event.to_string())).map_err(failure)?;
    if let Some(address) = bridge.address() {
        lines.push(format!("listens at {address} and offers {}", args.offer.join(", ")));
    }
    lines.iter().for_each(|line| say(line));
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Prints a line now. Nobody may be there to read it: the bridge goes on.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn address(text: &str) -> Result<SocketAddr, Failure> {
    let wrong = |why: &str| {
        let sentence = format!("'{text}' is no address: {why}; write it as 192.168.7.2:7000");
        Failure::new(Kind::Usage, sentence)
    };
    let mut all = text.to_socket_addrs().map_err(|error| wrong(&error.to_string()))?;
    all.next().ok_or_else(|| wrong("the name has none"))
}

fn key_failure(kind: Kind, file: &Path, error: &KeyError) -> Failure {
    Failure::new(kind, format!("the key {}: {error}", file.display()))
}

fn failure(error: BridgeError) -> Failure {
    let kind = match error {
        BridgeError::Idle | BridgeError::Half | BridgeError::Listen(..) => Kind::Usage,
        BridgeError::Open(_) => Kind::Name,
        _ => Kind::Internal,
    };
    Failure::new(kind, error.to_string())
}
