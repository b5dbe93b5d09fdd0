//! Being told of services that come: a node that wants to be has a pipe in the domain's directory,
//! and a node that offers a service writes to all of them.
//!
//! A watch of the system's on the directory (inotify) would need nobody's help, but to close one
//! waits in the kernel for 8 to 16 ms: its node would serve no link for that long, and a process
//! that is killed meanwhile could be known to be dead that much later. It would also wake its node
//! for each file of the directory, and a user may have 128 of them.

use rustix::event::epoll;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::{self, Errno};

use narrows::link::Name;

use super::directory::Directory;
use super::notes::NOTE;
use super::{News, OFFERS, Rendezvous};
use crate::bells::set::listen_to;

/// What the names of pipes begin with, behind [`NOTE`]; the node's name follows.
const WATCH: &str = "watch@";
/// Reads of a pipe in a turn.
const READS: usize = 16;

/// The pipe of this node, for as long as somebody wants it.
#[derive(Default)]
pub(super) struct Pipe {
    wanted: usize,
    end: Option<OwnedFd>,
    /// How often services came.
    pub(super) heard: u32,
}

/// The file that is a node's pipe.
fn pipe_of(node: &Name) -> String {
    format!("{NOTE}{WATCH}{node}")
}

/// The node whose pipe a note is, if it is one.
pub(super) fn node_of(note: &str) -> Option<Name> {
    note.strip_prefix(WATCH)?.parse().ok()
}

impl Directory {
    /// An end of a pipe. Both are opened: so it is never without a reader, whose end a writer would
    /// hear of by a signal, nor without a writer.
    fn open_pipe(&self, file: &str) -> io::Result<OwnedFd> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(self.file(), file, flags, Mode::empty())
    }

    /// Makes a node's pipe, in place of what an earlier life left.
    fn make_pipe(&self, node: &Name) -> io::Result<OwnedFd> {
        let file = pipe_of(node);
        self.remove_note(&file);
        rustix::fs::mkfifoat(self.file(), &file, Mode::RUSR | Mode::WUSR)?;
        self.open_pipe(&file).inspect_err(|_| self.remove_note(&file))
    }

    fn has_pipe(&self, node: &Name) -> bool {
        self.is_mine(&pipe_of(node), FileType::Fifo)
    }

    fn remove_pipe(&self, node: &Name) {
        self.remove_note(&pipe_of(node));
    }

    /// Tells all that want to know it that services have come.
    pub(super) fn tell_offers(&self) {
        for note in self.notes() {
            let file = format!("{NOTE}{note}");
            if node_of(&note).is_some()
                && self.is_mine(&file, FileType::Fifo)
                && let Ok(pipe) = self.open_pipe(&file)
            {
                // One that is full has not been heard yet, so nothing is lost.
                let _ = io::write(&pipe, &[0]);
            }
        }
    }
}

impl Rendezvous {
    /// Has this node told of services that come, until it is wanted as often no more.
    ///
    /// # Errors
    /// The system's: there can be no pipe.
    pub(crate) fn watch_offers(&mut self) -> io::Result<()> {
        if self.is_copy() {
            return Err(Errno::CHILD);
        }
        if self.pipe.end.is_none() {
            let end = self.directory.make_pipe(&self.me.name)?;
            let listened = listen_to(&self.sets.rendezvous, end.as_fd(), OFFERS, false);
            listened.inspect_err(|_| self.directory.remove_pipe(&self.me.name))?;
            self.pipe.end = Some(end);
        }
        self.pipe.wanted += 1;
        Ok(())
    }

    /// It is wanted once less.
    pub(crate) fn watch_offers_no_more(&mut self) {
        self.pipe.wanted = self.pipe.wanted.saturating_sub(1);
        if self.pipe.wanted == 0 {
            self.remove_own_pipe();
        }
    }

    pub(super) fn remove_own_pipe(&mut self) {
        if !self.is_copy() && self.let_go_of_pipe() {
            self.directory.remove_pipe(&self.me.name);
        }
    }

    /// Whether there was one.
    fn let_go_of_pipe(&mut self) -> bool {
        let end = self.pipe.end.take();
        if let Some(end) = &end {
            // Not left to closing: a process that was forked may have it open as well.
            let _ = epoll::delete(&self.sets.rendezvous, end);
        }
        end.is_some()
    }

    /// Makes the pipe again if it is gone from the directory.
    pub(super) fn keep_pipe(&mut self) {
        if self.pipe.wanted > 0 && !self.directory.has_pipe(&self.me.name) {
            self.let_go_of_pipe();
            let wanted = std::mem::take(&mut self.pipe.wanted);
            // What cannot be made now is made when it is looked for again.
            let _ = self.watch_offers();
            self.pipe.wanted = wanted;
            self.offers_came();
        }
    }

    /// Takes what others have said.
    pub(super) fn hear_offers(&mut self) {
        if let Some(end) = &self.pipe.end {
            // As much as a pipe holds. If somebody writes all the time, the set tells again.
            for _ in 0..READS {
                if io::read(end, &mut [0; 4096]).map_or(true, |read| read == 0) {
                    break;
                }
            }
        }
        self.offers_came();
    }

    fn offers_came(&mut self) {
        self.pipe.heard = self.pipe.heard.wrapping_add(1);
        if !self.news.iter().any(|news| matches!(news, News::Offers)) {
            self.news.push_back(News::Offers);
        }
    }

    /// How often services came.
    pub(crate) fn offers_heard(&self) -> u32 {
        self.pipe.heard
    }
}
