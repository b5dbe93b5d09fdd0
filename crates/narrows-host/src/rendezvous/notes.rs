//! Notes in a domain's directory: what is to be known of a node without asking it.
//!
//! A note is a symbolic link that leads nowhere. Its text begins with the node's name and a slash,
//! its own name with [`NOTE`]. So it is made, read and removed in one step each. A note of a node
//! that is gone is removed with the node's socket.

use narrows::link::Name;
use rustix::fs::{AtFlags, Dir, FileType};
use rustix::io::{self, Errno};

use super::directory::{Directory, Lock, Pulse, sweep_some};
use super::watch;

/// What the names of all notes begin with; no node's does.
pub(crate) const NOTE: &str = ".@";
/// What the names of notes that say where a node's status page is begin with, behind [`NOTE`]; the
/// node's name follows.
const STATUS: &str = "status@";
/// What the names of notes of services begin with, behind [`NOTE`]; the service, an `@` and the
/// node's name follow.
const SERVICE: &str = "service@";
/// Bytes of the longest text.
pub(crate) const LONGEST: usize = 4000;

/// A service that a node offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The service.
    pub service: Name,
    /// The node that offers it.
    pub node: Name,
    /// What the node says of it.
    pub text: String,
}

impl Directory {
    /// Makes a note.
    ///
    /// # Errors
    /// The system's; `EXIST` if there is one of this name.
    pub(crate) fn note(&self, file: &str, text: &str) -> io::Result<()> {
        rustix::fs::symlinkat(text, self.file(), file)
    }

    /// Removes a note, if it is there.
    pub(crate) fn remove_note(&self, file: &str) {
        let _ = rustix::fs::unlinkat(self.file(), file, AtFlags::empty());
    }

    /// The names of all notes, behind [`NOTE`].
    pub(crate) fn notes(&self) -> Vec<String> {
        let entries = Dir::read_from(self.file()).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| {
            let name = entry.file_name().to_str().ok()?;
            Some(name.strip_prefix(NOTE)?.to_owned())
        });
        names.collect()
    }

    /// The node that a note of this user's is of, and what is behind the slash.
    pub(crate) fn read_note(&self, file: &str) -> Option<(Name, String)> {
        if !self.is_mine(file, FileType::Symlink) {
            return None;
        }
        let text = self.text_of(file)?;
        let (node, rest) = text.split_once('/')?;
        Some((node.parse().ok()?, rest.to_owned()))
    }

    /// Whether a file is of this kind, and this user's.
    pub(super) fn is_mine(&self, file: &str, kind: FileType) -> bool {
        let stat = rustix::fs::statat(self.file(), file, AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| {
            let mine = stat.st_uid == rustix::process::geteuid().as_raw();
            mine && FileType::from_raw_mode(stat.st_mode) == kind
        })
    }

    /// Notes where a node's status page is. Without the note the page is not found, and all else is
    /// as with it.
    pub(crate) fn tell_where(&self, node: &Name, whereabouts: &str) {
        let file = format!("{NOTE}{STATUS}{node}");
        // What is there is of an earlier life, or was this node's.
        self.remove_note(&file);
        let _ = self.note(&file, &format!("{node}/{whereabouts}"));
    }

    /// Removes the note that says where a node's status page is.
    pub(crate) fn tell_no_more(&self, node: &Name) {
        self.remove_note(&format!("{NOTE}{STATUS}{node}"));
    }

    /// Where a node's status page is: its process, and the descriptor there.
    pub(crate) fn whereabouts(&self, node: &Name) -> Option<(u32, u32)> {
        let text = self.text_of(&format!("{NOTE}{STATUS}{node}"))?;
        let (_, rest) = text.split_once('/')?;
        let (process, descriptor) = rest.split_once('/')?;
        Some((process.parse().ok()?, descriptor.parse().ok()?))
    }

    /// Notes that a node offers a service.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn offer(&self, service: &Name, node: &Name, text: &str) -> io::Result<()> {
        let file = format!("{NOTE}{SERVICE}{service}@{node}");
        // What is there is of an earlier life, or was this node's.
        self.remove_note(&file);
        self.note(&file, &format!("{node}/{text}"))
    }

    /// Removes the note of a service that a node offers.
    pub(crate) fn withdraw(&self, service: &Name, node: &Name) {
        self.remove_note(&format!("{NOTE}{SERVICE}{service}@{node}"));
    }

    /// The services that nodes of this user offer that live, in the order of their names.
    pub(crate) fn offers(&self) -> Vec<Offer> {
        let offers = self.notes().into_iter().filter_map(|note| {
            let (service, _) = note.strip_prefix(SERVICE)?.split_once('@')?;
            let (node, text) = self.read_note(&format!("{NOTE}{note}"))?;
            Some(Offer { service: service.parse().ok()?, node, text })
        });
        let mut offers: Vec<Offer> =
            offers.filter(|offer| self.pulse(&offer.node) != Pulse::Dead).collect();
        offers.sort_unstable_by(|a, b| {
            let services = a.service.as_str().cmp(b.service.as_str());
            services.then_with(|| a.node.as_str().cmp(b.node.as_str()))
        });
        offers
    }

    /// Removes what an earlier life of a node offered and did not withdraw.
    pub(crate) fn withdraw_all(&self, node: &Name) {
        for note in self.notes() {
            let offer = note.strip_prefix(SERVICE).and_then(|offer| offer.split_once('@'));
            if offer.is_some_and(|(_, of)| of == node.as_str()) {
                self.remove_note(&format!("{NOTE}{note}"));
            }
        }
    }

    /// The text of a note, whichever process made it.
    fn text_of(&self, file: &str) -> Option<String> {
        let text = rustix::fs::readlinkat(self.file(), file, Vec::new()).ok()?;
        text.into_string().ok()
    }

    /// Whether a node is there, as far as can be told.
    pub(crate) fn lives(&self, node: &str) -> bool {
        !matches!(self.connect(node), Err(Errno::CONNREFUSED | Errno::NOENT))
    }

    /// Removes the notes of nodes that have no socket here.
    pub(super) fn sweep_notes(&self, _lock: &Lock) {
        sweep_some(self.notes(), |note| {
            let file = format!("{NOTE}{note}");
            let node = match watch::node_of(note) {
                Some(node) => Some(node).filter(|_| self.is_mine(&file, FileType::Fifo)),
                None => self.read_note(&file).map(|(node, _)| node),
            };
            let Some(node) = node else { return false };
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            let found = rustix::fs::statat(self.file(), node.as_str(), flags);
            let gone = found.err() == Some(Errno::NOENT);
            if gone {
                self.remove_note(&file);
            }
            gone
        });
    }
}
