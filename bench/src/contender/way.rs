//! Narrows: what carries the links of either end's node.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use narrows_host::bridge::{self, Bridge, Event};
use narrows_host::{Carrier, Node, Options};

use super::{Mode, Over, Role, Setup, failed};
use crate::control::Control;

/// The callee's node, which the caller's looks for.
pub(super) const CALLEE: &str = "callee";

/// What carries a link.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Memory that both processes map.
    Memory,
    /// Frames over a Unix stream socket.
    Stream,
    /// Frames to a bridge in the same process, from there over TCP to the other end's, without
    /// keys.
    Bridges,
}

impl Way {
    /// What its bytes go over.
    pub(super) fn over(self) -> Over {
        match self {
            Way::Memory => Over::Machine,
            Way::Stream => Over::Unix,
            Way::Bridges => Over::Tcp,
        }
    }

    /// How often what is copied by the application's own node is copied in all; none if that
    /// depends on its length.
    pub(super) fn copies(self) -> Option<&'static str> {
        match self {
            Way::Memory => None,
            Way::Stream => {
                Some("4 or more: into the slot or pool, the kernel, the replica, out of it")
            }
            Way::Bridges => {
                Some("8 or more: as over a Unix socket to the bridge, by TCP, and so to the node")
            }
        }
    }

    /// How it waits.
    pub(super) fn waits(self, mode: Mode) -> &'static str {
        match (self, mode) {
            (Way::Memory, Mode::Spinning) => "`spin`",
            (_, Mode::Spinning) => "`spin`; a thread that sleeps carries, or the wait itself",
            (_, Mode::Blocked) => "`interrupt`: sleeps in epoll; rung only if it sleeps",
            (_, Mode::Hybrid) => "`hybrid`, the default: looks for up to 50 µs, then sleeps",
        }
    }

    /// Opens a node of this end's own, and the bridge that its links go over, if they do: it has to
    /// stay as long as the node.
    pub(super) fn open(
        self,
        role: Role,
        setup: &Setup,
        control: &mut Control,
    ) -> io::Result<(Node, Option<Bridge>)> {
        let name = match role {
            Role::Caller => "caller",
            Role::Callee => CALLEE,
        };
        let (directory, bridge) = match self {
            Way::Memory | Way::Stream => (setup.directory.clone(), None),
            Way::Bridges => {
                // As on a machine of its own.
                let directory = setup.directory.join(name);
                std::fs::create_dir(&directory)?;
                let bridge = start(role, &directory, control)?;
                (directory, Some(bridge))
            }
        };
        let node = node(name, self, directory).map_err(|error| failed("open a node", error))?;
        Ok((node, bridge))
    }
}

fn node(name: &str, way: Way, directory: PathBuf) -> Result<Node, narrows_host::OpenError> {
    let carrier = match way {
        Way::Stream => Carrier::Stream,
        Way::Memory | Way::Bridges => Carrier::Memory,
    };
    Options::new(name).directory(directory).carrier(carrier).node()
}

/// Starts this end's bridge: the callee's listens, the caller's connects.
fn start(role: Role, directory: &Path, control: &mut Control) -> io::Result<Bridge> {
    let options = bridge::Options::new().directory(directory);
    let start = |options: bridge::Options| {
        options.start(|_: &Event| {}).map_err(|error| failed("start a bridge", error))
    };
    match role {
        Role::Caller => {
            let address = control.hear()?;
            let address: SocketAddr = address.parse().map_err(|error| failed(&address, error))?;
            start(options.reach(CALLEE, address))
        }
        Role::Callee => {
            let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            let bridge = start(options.listen(any).offer(CALLEE))?;
            let address = bridge.address().ok_or_else(|| failed("bridge", "it has no address"))?;
            control.say(&address.to_string())?;
            Ok(bridge)
        }
    }
}
