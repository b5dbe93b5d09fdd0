//! Traffic between two cores of a simulated chip.

use narrows::endpoint::{Limits, Node};
use narrows::link::{LinkId, Name};
use narrows_sim::cpu::Cpu;

use super::load::{Load, PORT, Profile, Trouble};
use super::record::Counts;
use super::{INBOX, LONGEST, PATIENCE};
use crate::base::failure::{Failure, Kind};

/// Makes traffic until that is over; why it is.
pub fn work(node: &mut Node<Cpu>, link: LinkId, profile: Profile, counts: &Counts) -> Trouble {
    let mut load = match Load::new(node, link, profile) {
        Ok(load) => load,
        Err(trouble) => return trouble,
    };
    loop {
        let turned = match load.turn(node, counts) {
            Ok(true) => Ok(()),
            Ok(false) => load.rest(node, counts),
            Err(trouble) => Err(trouble),
        };
        if let Err(trouble) = turned {
            return trouble;
        }
    }
}

/// A node and its link to the other side's: one hunts and the other is hunted.
///
/// # Errors
/// The chip has no room for a link.
pub fn linked(
    cpu: &Cpu,
    name: &str,
    other: &str,
    hunts: bool,
) -> Result<(Node<Cpu>, LinkId), Failure> {
    let unlinked = |why: String| {
        Failure::new(Kind::Peer, format!("nodes cannot be linked on this chip: {why}"))
    };
    let limits = Limits { links: 4, endpoints: 4, flows: 8, inbox: INBOX, longest: LONGEST };
    let parsed = |name: &str| name.parse::<Name>().map_err(|_| unlinked("a name is none".into()));
    let node = cpu.node(parsed(name)?, limits);
    let mut node = node.map_err(|error| unlinked(error.to_string()))?;
    node.open(PORT).map_err(|error| unlinked(error.to_string()))?;
    let other = parsed(other)?;
    if hunts {
        let link =
            node.hunt(&other, Some(PATIENCE)).map_err(|error| unlinked(error.to_string()))?;
        return Ok((node, link));
    }
    let deadline = cpu.time() + PATIENCE.into();
    loop {
        node.poll();
        let found = node.links().find(|(_, of)| *of == other).map(|(link, _)| link);
        match found {
            Some(link) => return Ok((node, link)),
            None if cpu.time() >= deadline => return Err(unlinked("nobody hunts".into())),
            None => {
                node.wait_any(Some(PATIENCE));
            }
        }
    }
}
