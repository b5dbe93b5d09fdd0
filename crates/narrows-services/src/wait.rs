//! Waiting for many things at once.

use std::time::{Duration, Instant};

use narrows::strategy::Notification;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::deadline::Deadline;
use crate::error::Error;
use crate::node::Node;
use crate::reader::Reader;
use crate::subscriber::Subscriber;
use crate::typed::Payload;

/// How long a node that spins does so until it looks at descriptors, which takes a system call.
const SPIN: Duration = Duration::from_micros(20);
/// The longest sleep that is asked of the system.
const LONGEST: Duration = Duration::from_secs(1 << 30);

/// What of a [`WaitSet`] is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(usize);

enum Member<'a> {
    Subscriber(&'a Reader),
    Descriptor(BorrowedFd<'a>, PollFlags),
    Timer { every: Duration, next: Instant },
    Removed,
}

/// Waits for many things at once: subscribers, descriptors and timers. Meanwhile the functions that
/// the node serves are called, and subscribers to its topics are let in.
///
/// ```
/// use narrows_services::{Node, WaitSet};
/// # use std::{io::{Read as _, Write as _}, os::unix::net::UnixStream, time::Duration};
/// # use narrows_host::Options;
/// # let dir = tempfile::tempdir()?;
/// # let node = Node::with(Options::new("dsp").directory(dir.path()))?;
/// # let (mut client, mut socket) = UnixStream::pair()?;
/// # client.write_all(b"x")?;
///
/// node.serve::<u32, u64>("square", |number| u64::from(*number).pow(2))?;
/// let mut set = WaitSet::new(&node);
/// let (asked, tick) = (set.fd(&socket), set.every(Duration::from_secs(1)));
/// for ready in set.wait(None)? {
///     if *ready == asked {
///         (&socket).read(&mut [0; 64])?;
///     } else if *ready == tick {
///         println!("a second more");
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What it waits for outlives it:
///
/// ```compile_fail,E0505
/// # fn example(node: &narrows_services::Node) -> Result<(), narrows_services::Error> {
/// let frames = node.subscriber::<[u8]>("frames")?;
/// let mut set = narrows_services::WaitSet::new(node);
/// set.subscriber(&frames)?;
/// drop(frames);
/// set.wait(None)?;
/// # Ok(()) }
/// ```
pub struct WaitSet<'a> {
    node: Node,
    members: Vec<Member<'a>>,
    ready: Vec<Key>,
}

impl<'a> WaitSet<'a> {
    /// A set of nothing yet, which waits as this node does.
    #[must_use]
    pub fn new(node: &Node) -> WaitSet<'a> {
        WaitSet { node: node.clone(), members: Vec::new(), ready: Vec::new() }
    }

    fn add(&mut self, member: Member<'a>) -> Key {
        self.members.push(member);
        Key(self.members.len() - 1)
    }

    /// Waits for a subscriber too. It is ready for as long as [`Subscriber::take`] has something:
    /// a message, or that its publishers have gone. The set has it find others.
    ///
    /// # Errors
    /// [`Error::OtherNode`].
    pub fn subscriber<T>(&mut self, subscriber: &'a Subscriber<T>) -> Result<Key, Error>
    where
        T: Payload + ?Sized,
    {
        let reader = &subscriber.reader;
        if !self.node.is(reader.node()) {
            return Err(Error::OtherNode);
        }
        Ok(self.add(Member::Subscriber(reader)))
    }

    /// Waits for a descriptor too. It is ready for as long as it can be read from, and where its
    /// other end is closed or something is wrong with it.
    pub fn fd(&mut self, descriptor: &'a impl AsFd) -> Key {
        self.add(Member::Descriptor(descriptor.as_fd(), PollFlags::IN))
    }

    /// As [`WaitSet::fd`], for one that can be written to.
    pub fn fd_to_write(&mut self, descriptor: &'a impl AsFd) -> Key {
        self.add(Member::Descriptor(descriptor.as_fd(), PollFlags::OUT))
    }

    /// Waits for a timer too, which is ready again and again, first when this much time is over.
    /// Periods that were missed make it ready once.
    pub fn every(&mut self, every: Duration) -> Key {
        let now = Instant::now();
        let next = now.checked_add(every).unwrap_or(now + LONGEST);
        self.add(Member::Timer { every, next })
    }

    /// Waits for one of them no more.
    pub fn remove(&mut self, key: Key) {
        if let Some(member) = self.members.get_mut(key.0) {
            *member = Member::Removed;
        }
    }

    /// Waits until something is ready, and says what; nothing if the time is over.
    ///
    /// # Errors
    /// [`Error::Busy`], and [`Error::Descriptor`] if the system does not wait for a descriptor.
    pub fn wait(&mut self, within: Option<Duration>) -> Result<&[Key], Error> {
        let deadline = Deadline::within(within);
        let mut glances = true;
        loop {
            self.node.turn()?;
            self.ready.clear();
            let left = self.look(deadline)?;
            if !self.ready.is_empty() || deadline.is_over() {
                return Ok(&self.ready);
            }
            glances = self.pass(left, glances)?;
        }
    }

    /// Looks what is ready, and has each that is not end the wait that comes. How long that may be.
    fn look(&mut self, deadline: Deadline) -> Result<Option<Duration>, Error> {
        let mut left = deadline.left();
        let now = Instant::now();
        for (key, member) in self.members.iter_mut().enumerate() {
            match member {
                Member::Subscriber(subscriber) => {
                    if subscriber.is_ready()? {
                        self.ready.push(Key(key));
                    }
                }
                Member::Timer { every, next } => {
                    if let Some(behind) = now.checked_duration_since(*next) {
                        self.ready.push(Key(key));
                        *next = now + until_next(*every, behind);
                    }
                    left = least(left, Some(next.saturating_duration_since(now)));
                }
                Member::Descriptor(..) | Member::Removed => {}
            }
        }
        // When each has looked: what one has heard of another may wait for.
        for member in &self.members {
            if let Member::Subscriber(subscriber) = member {
                left = least(left, subscriber.due_in());
            }
        }
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let (keys, mut fds) = self.descriptors();
        if !fds.is_empty() && poll_all(&mut fds, Some(&at_once))? {
            let ready = keys.into_iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty());
            let ready: Vec<Key> = ready.map(|(key, _)| key).collect();
            self.ready.extend(ready);
        }
        Ok(left)
    }

    fn descriptors(&self) -> (Vec<Key>, Vec<PollFd<'a>>) {
        let fds = self.members.iter().enumerate().filter_map(|(key, member)| match member {
            Member::Descriptor(fd, flags) => {
                Some((Key(key), PollFd::from_borrowed_fd(*fd, *flags)))
            }
            _ => None,
        });
        fds.unzip()
    }

    /// Waits once, in the way that the node does. Whether the node may look, before it sleeps, the
    /// next time.
    fn pass(&self, left: Option<Duration>, glances: bool) -> Result<bool, Error> {
        let (_, mut fds) = self.descriptors();
        let mut node = self.node.below()?;
        let how = node.agreed();
        let (arms, left) = match how {
            _ if fds.is_empty() => {
                node.wait_any(left);
                return Ok(glances);
            }
            Notification::Spin => {
                node.wait_any(least(left, Some(SPIN)));
                return Ok(glances);
            }
            Notification::Hybrid { longest } if glances => {
                node.wait_any(least(left, Some(longest)));
                return Ok(false);
            }
            // It looks by itself, and is rung by nobody.
            Notification::Poll { every } | Notification::Timer { every } => {
                (false, least(left, Some(every)))
            }
            _ => (true, left),
        };
        let came = arms && node.arm();
        let slept = if came {
            Ok(false)
        } else {
            let platform = node.platform();
            fds.push(PollFd::new(platform, PollFlags::IN));
            let left = left.map(|left| left.min(LONGEST));
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            let slept = poll_all(&mut fds, timeout.as_ref());
            drop(fds);
            node.platform().hear();
            slept
        };
        if arms {
            node.disarm();
        }
        node.poll();
        slept.map(|_| true)
    }
}

/// Whether one has something.
fn poll_all(fds: &mut [PollFd<'_>], timeout: Option<&Timespec>) -> Result<bool, Error> {
    match poll(fds, timeout) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR | Errno::AGAIN) => Ok(false),
        Err(error) => Err(Error::Descriptor(error.to_string())),
    }
}

fn least(a: Option<Duration>, b: Option<Duration>) -> Option<Duration> {
    a.into_iter().chain(b).min()
}

/// How long until the next end of a period, if the last was `behind` ago.
fn until_next(every: Duration, behind: Duration) -> Duration {
    let over = behind.as_nanos().checked_rem(every.as_nanos()).unwrap_or_default();
    every.saturating_sub(Duration::from_nanos(u64::try_from(over).unwrap_or_default())).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_keeps_its_beat_whatever_was_missed() {
        let ms = Duration::from_millis;
        for (behind, next) in [(0, 10), (3, 7), (10, 10), (1234, 6)] {
            assert_eq!(until_next(ms(10), ms(behind)), ms(next), "{behind}");
        }
        assert_eq!(until_next(Duration::ZERO, ms(5)), Duration::ZERO);
        assert_eq!(until_next(Duration::MAX, ms(5)), LONGEST);
    }
}
