//! Nodes that link with both nodes of a bench and then sleep, each in a thread of its own: what is
//! around the one link that is active.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use narrows::endpoint::{Limits as Tables, Node, Select, What};
use narrows::platform::Platform;
use narrows::strategy::Notification;
use narrows_host::{Host, Options};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::base::failure::{Failure, Kind};
use crate::rig::peer::{CALLEE, CALLER, DOMAIN, Peer, small};

/// The longest wait for all to be linked.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often this side's node is seen to meanwhile.
const TURN: Duration = Duration::from_millis(5);
/// The port at which a member hears that its links have ended.
const PORT: u16 = 0;

/// What a member has room for.
pub(crate) const TABLES: Tables =
    Tables { links: 2, endpoints: 1, flows: 1, inbox: 8, longest: 64 };
/// Whom a member links with; the caller last, so that once it has the link the callee has too.
const BOTH: [&str; 2] = [CALLEE, CALLER];

/// Sleeping nodes; each ends when both its peers have.
pub struct Crowd {
    members: Vec<JoinHandle<()>>,
}

impl Crowd {
    /// Has this many nodes link with both sides of a bench.
    ///
    /// # Errors
    /// The machine refuses a node or a thread, or they did not all link in time.
    pub fn gather(peer: &mut Peer, count: usize) -> Result<Crowd, Failure> {
        raise_descriptors();
        let (tell, told) = channel();
        let directory = peer.other.directory().to_owned();
        let mut crowd = Crowd { members: Vec::new() };
        for number in 0..count {
            let (tell, directory) = (tell.clone(), directory.clone());
            let member = Builder::new()
                .name(format!("crowd {number}"))
                .spawn(move || member(number, directory, &tell));
            crowd.members.push(member.map_err(|error| {
                refused(&format!("no thread can be started for it: {error}; end other programs"))
            })?);
        }
        let deadline = Instant::now() + PATIENCE;
        let mut linked = 0;
        while linked < count {
            peer.node.wait_any(Some(TURN));
            peer.node.poll();
            while let Ok(joined) = told.try_recv() {
                joined.map_err(|why| refused(&why))?;
                linked += 1;
            }
            if Instant::now() > deadline {
                let text = format!("{linked} of {count} are linked after {PATIENCE:?}; try again");
                return Err(Failure::new(Kind::Deadline, text));
            }
        }
        Ok(crowd)
    }

    /// Waits for all to end, when the nodes they are linked with have.
    pub fn disperse(self) {
        for member in self.members {
            // One that panicked has said so itself.
            let _ = member.join();
        }
    }
}

fn refused(why: &str) -> Failure {
    Failure::new(Kind::Internal, format!("a node to stand by cannot be had: {why}"))
}

/// A node's descriptors are a dozen or so, and many systems allow a thousand at first.
pub fn raise_descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it stays, a node that finds none left says so.
    let _ = setrlimit(Resource::Nofile, limit);
}

fn member(number: usize, directory: PathBuf, tell: &Sender<Result<(), String>>) {
    let joined = join(number, &directory);
    let (node, report) = match joined {
        Ok(node) => (Some(node), Ok(())),
        Err(why) => (None, Err(why)),
    };
    // If nobody listens any more, the links end as well.
    let _ = tell.send(report);
    let Some(mut node) = node else { return };
    stand_by(&mut node);
}

/// Sleeps until both sides of the bench have ended.
pub(crate) fn stand_by<P: Platform>(node: &mut Node<P>) {
    for _ in BOTH {
        while let Ok(message) = node.receive(PORT, &Select::default(), None) {
            let gone = matches!(message.what, What::PeerGone(_));
            node.release(message);
            if gone {
                break;
            }
        }
    }
}

fn join(number: usize, directory: &Path) -> Result<Node<Host>, String> {
    let mut options = Options::new(format!("crowd-{number}")).domain(DOMAIN).directory(directory);
    if let Some(layout) = small() {
        options = options.layout(layout);
    }
    let host = options.open().map_err(|error| error.to_string())?;
    let mut node = Node::new(host, TABLES).map_err(|error| error.to_string())?;
    meet(&mut node)?;
    Ok(node)
}

/// Links a member's node with both sides.
pub(crate) fn meet<P: Platform>(node: &mut Node<P>) -> Result<(), String> {
    node.set_notification(Notification::Interrupt);
    node.open(PORT).map_err(|error| error.to_string())?;
    for peer in BOTH {
        let name = peer.parse().map_err(|_| "a name is none".to_owned())?;
        let link = node.hunt(&name, Some(PATIENCE)).map_err(|error| error.to_string())?;
        node.link(link).attach(PORT).map_err(|error| error.to_string())?;
    }
    Ok(())
}
