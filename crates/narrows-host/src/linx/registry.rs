//! Which endpoint has which name and which address: notes in the domain's directory, one for each
//! endpoint.
//!
//! A note's name is the address and what hunts know the endpoint by, its text the node, the process
//! and the endpoint's whole name. So an address that a program was handed is found, and so are
//! endpoints whose node has another name than they have.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use narrows::link::Name;
use narrows::linx::{Path, PathError, Spid};
use narrows::platform::Instant as Moment;
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use super::Error;
use crate::OpenError;
use crate::memory::fork::Maker;
use crate::rendezvous::directory::{Directory, PATIENCE};
use crate::rendezvous::notes::{LONGEST, NOTE};

/// How often a node sees to it that its notes are there: cleaners of temporary directories remove
/// what looks old.
const KEEP: Duration = Duration::from_secs(5);
/// How long a node that was seen to live is taken to.
const LIVES: Duration = Duration::from_secs(1);
/// How long a name is taken to be in one place alone, as long as its note is there: to read the
/// directory takes the longer the more hunt, and each hunt asks again and again.
const ALONE: Duration = Duration::from_secs(10);
/// Every endpoint's address is at least this; those of links are below.
pub(super) const FIRST: u32 = 1 << 31;
/// What names begin with that stand for others: for addresses, and for names that are none of the
/// stack's.
const STANDS: char = '-';

/// What is known of an endpoint by its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The name that it was opened as; empty if it has none.
    pub name: String,
    /// The process that it is in.
    pub process: u32,
    pub(super) node: Name,
}

/// The notes of a node.
pub(super) struct Registry {
    directory: Directory,
    asked: (Option<PathBuf>, Name),
    /// A copy in a process that was forked leaves the notes alone.
    maker: Maker,
    pub node: Name,
    own: Vec<(Spid, String, String)>,
    /// When it is looked next whether the notes are there.
    pub due: Moment,
    seen: Vec<(Name, Instant)>,
    /// The one note of a name.
    alone: Vec<(Name, String, Instant)>,
}

fn random() -> Result<u32, Error> {
    let mut bytes = [0; 4];
    getrandom(&mut bytes, GetRandomFlags::empty())
        .map_err(|error| OpenError::system("get a random number", error))?;
    Ok(u32::from_ne_bytes(bytes))
}

/// An address for links: below those of endpoints, and hardly another node's.
pub(super) fn first_of_links() -> Result<u32, Error> {
    Ok(random()? % (FIRST - (1 << 20)))
}

/// What stands in hunts and link handlers for a name of any length: itself, if it is a name of the
/// stack's, else a digest of it.
pub(super) fn key(name: &str) -> Option<Name> {
    if name.is_empty() || name.len() > LONGEST || name.contains(['/', '\0']) {
        return None;
    }
    if let Ok(name) = name.parse()
        && !name_stands(&name)
    {
        return Some(name);
    }
    // FNV-1a of 128 bits, of which 108 are left.
    let prime = (1_u128 << 88) + 0x13b;
    let offset = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    let digest =
        name.bytes().fold(offset, |so_far, byte| (so_far ^ u128::from(byte)).wrapping_mul(prime));
    format!("{STANDS}{STANDS}{:027x}", digest >> 20).parse().ok()
}

fn name_stands(name: &Name) -> bool {
    name.as_str().starts_with(STANDS)
}

/// The path of names of any length.
pub(super) fn path(text: &str) -> Result<Path, PathError> {
    let (links, last) =
        text.rsplit_once('/').map_or((None, text), |(links, last)| (Some(links), last));
    let mut path = String::new();
    for link in links.iter().flat_map(|links| links.split('/')) {
        path += key(link).ok_or(PathError)?.as_str();
        path.push('/');
    }
    if !last.is_empty() || links.is_none() {
        path += key(last).ok_or(PathError)?.as_str();
    }
    path.parse()
}

fn parse(note: &str) -> Option<(Spid, &str)> {
    let (spid, key) = note.split_once('=')?;
    Some((Spid(u32::from_str_radix(spid, 16).ok()?), key))
}

impl Registry {
    pub fn open(asked: Option<PathBuf>, domain: Name, node: Name) -> Result<Registry, Error> {
        let (directory, _) = Directory::open(asked.as_deref(), &domain, PATIENCE)?;
        Ok(Registry {
            directory,
            asked: (asked, domain),
            maker: Maker::this(),
            node,
            own: Vec::new(),
            due: Moment(0),
            seen: Vec::new(),
            alone: Vec::new(),
        })
    }

    /// Makes the note of an endpoint of this node's, with an address that nobody has.
    pub fn enter(&mut self, key: Option<&Name>, name: &str) -> Result<Spid, Error> {
        let text = format!("{}/{}/{name}", self.node, std::process::id());
        loop {
            let spid = Spid(random()? | FIRST);
            if self.files(|of, _| of == spid).next().is_some() {
                continue;
            }
            let key = key.map_or("", Name::as_str);
            let file = format!("{NOTE}{:08x}={key}", spid.0);
            match self.directory.note(&file, &text) {
                Ok(()) => {}
                Err(Errno::EXIST) => continue,
                Err(error) => return Err(OpenError::system("note an endpoint", error).into()),
            }
            self.own.push((spid, file, text));
            return Ok(spid);
        }
    }

    /// Removes the note of an endpoint of this node's.
    pub fn leave(&mut self, spid: Spid) {
        let at = self.own.iter().position(|(own, ..)| *own == spid);
        if let Some((_, file, _)) = at.map(|at| self.own.swap_remove(at))
            && !self.maker.is_another()
        {
            self.directory.remove_note(&file);
        }
    }

    fn files(&self, wanted: impl Fn(Spid, &str) -> bool) -> impl Iterator<Item = String> {
        let notes = self.directory.notes().into_iter();
        let meant =
            notes.filter(move |note| parse(note).is_some_and(|(spid, key)| wanted(spid, key)));
        meant.map(|note| format!("{NOTE}{note}"))
    }

    /// Whether a node is there. It is asked now and then.
    pub fn lives(&mut self, node: &Name) -> bool {
        self.seen.retain(|(_, since)| since.elapsed() < LIVES);
        if self.seen.iter().any(|(seen, _)| seen == node) {
            return true;
        }
        let lives = self.directory.lives(node.as_str());
        if lives {
            self.seen.push((*node, Instant::now()));
        }
        lives
    }

    /// What is known of an endpoint, unless its node is gone.
    pub fn about(&mut self, spid: Spid) -> Option<About> {
        let file = self.files(|of, _| of == spid).next()?;
        let (node, rest) = self.directory.read_note(&file)?;
        let (process, name) = rest.split_once('/')?;
        let about = About { name: name.into(), process: process.parse().ok()?, node };
        (node == self.node || self.lives(&node)).then_some(about)
    }

    /// A node that has an endpoint that is hunted by this name: the one of that name rather than
    /// another, one that lives rather than one that is gone.
    pub fn node_of(&mut self, name: &Name) -> Option<Name> {
        self.alone.retain(|(.., since)| since.elapsed() < ALONE);
        let alone = self.alone.iter().find(|(found, ..)| found == name);
        if let Some((node, _)) = alone.and_then(|(_, file, _)| self.directory.read_note(file)) {
            return Some(node);
        }
        let files = self.files(|_, key| key == name.as_str());
        let mut nodes: Vec<(Name, String)> =
            files.filter_map(|file| Some((self.directory.read_note(&file)?.0, file))).collect();
        nodes.sort_by_key(|(node, _)| (node != name, node.as_str().to_owned()));
        nodes.dedup_by_key(|(node, _)| *node);
        if let [(node, file)] = &mut nodes[..] {
            self.alone.retain(|(found, ..)| found != name);
            self.alone.push((*name, std::mem::take(file), Instant::now()));
            return Some(*node);
        }
        nodes.into_iter().map(|(node, _)| node).find(|node| self.lives(node))
    }

    /// Makes notes again that are gone, now and then.
    pub fn keep(&mut self, now: Moment) {
        if now < self.due || self.maker.is_another() {
            return;
        }
        self.due = now + KEEP;
        if !self.directory.is_current() {
            let (asked, domain) = &self.asked;
            let Ok((directory, _)) = Directory::open(asked.as_deref(), domain, Duration::ZERO)
            else {
                return;
            };
            self.directory = directory;
        }
        for (_, file, text) in &self.own {
            let _ = self.directory.note(file, text);
        }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        while let Some((spid, ..)) = self.own.last() {
            self.leave(*spid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_the_stacks_stands_for_itself_and_every_other_has_one_of_its_own() {
        let key = |name: &str| key(name).map(|name| name.as_str().to_owned());
        assert_eq!(key("server"), Some("server".into()));
        let long = "x".repeat(LONGEST);
        let others = ["two words", "-.00000001", "--", "\u{e4}", &long, &long[1..], ".hidden"];
        let keys: Vec<_> = others.iter().filter_map(|name| key(name)).collect();
        assert_eq!(keys.len(), others.len());
        for (at, one) in keys.iter().enumerate() {
            assert!(one.starts_with("--") && !keys[..at].contains(one), "{}", others[at]);
        }
        for none in ["", "a/b", "a\0", &"x".repeat(LONGEST + 1)] {
            assert_eq!(key(none), None, "{none}");
        }
    }

    #[test]
    fn a_path_is_of_names_of_any_length_and_none_is_empty_but_the_last() {
        let text = |path: &str| super::path(path).map(|path| path.as_str().to_owned());
        assert_eq!(text("a/b/c"), Ok("a/b/c".into()));
        assert_eq!(text("a/"), Ok("a/".into()));
        let digest = key("two words").expect("a name");
        assert_eq!(text("a/two words"), Ok(format!("a/{digest}")));
        for none in ["", "/", "/a", "a//b", "a//"] {
            assert_eq!(text(none), Err(PathError), "{none}");
        }
    }
}
